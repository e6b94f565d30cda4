"""A call to a server, or to the process holding a data folder, with the standard library alone.

Importing pydantic and httpx takes longer than a whole hook may take.
"""

import hashlib
import hmac
import json
import os
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module
from time import monotonic
from typing import Any, Final, NamedTuple

LARGEST: Final = 4 * 1024 * 1024  # bytes of an answer, and of the tokens
_HTTP: Final = "cstp_server.hook.asking_http"  # loaded by name: it takes half of the time of all imports
_SOCKET: Final = "calls.socket"  # in the folder of the indexes, see `cstp_server.holder.folder_socket`


class NoAnswer(Exception):
    """There is no result; the message says the reason and the remedy."""


class NoHolder(NoAnswer):
    """No process holds the data folder, or it starts or ends just now."""


class Target(NamedTuple):
    """A server at `url`, or a data folder; the caller is the newest token of `agent`, or CSTP_TOKEN."""

    url: str | None
    folder: str
    tokens: str
    agent: str | None


def call_method(target: Target, method: str, params: Mapping[str, Any], until: float) -> Any:
    """Return the result of a call by `until`, on the monotonic clock. Raise NoAnswer, of a folder also NoHolder."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    body = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
    try:
        if target.url is not None:
            answer = import_module(_HTTP).ask_server(target.url, body, until)
        else:
            answer = _ask_holder(target, body, until)
        document = json.loads(answer)
        if "error" in document:
            raise NoAnswer(f"{method}: {document['error']['message']}")
        return document["result"]
    except TimeoutError:
        raise NoAnswer(f"{target.url or target.folder}: no answer in time") from None
    except OSError as error:
        raise NoAnswer(f"{target.url or target.folder}: {error.strerror or error}") from None
    except (ValueError, LookupError, TypeError, RecursionError):
        raise NoAnswer(f"{target.url or target.folder}: the answer is not one of CSTP") from None


def _ask_holder(target: Target, body: bytes, until: float) -> bytes:
    line, found = json.dumps({"token": live_token(target), "via": "cstp"}).encode() + b"\n", b""
    try:
        os.chdir(os.path.join(target.folder, "indexes"))  # as the path of a socket is short
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(left_seconds(until))
            connection.connect(_SOCKET)
            connection.sendall(line + body + b"\n")
            while part := connection.recv(65536):
                found += part
                if len(found) > LARGEST:
                    raise NoAnswer(f"{target.folder}: the answer is too large")
                connection.settimeout(left_seconds(until))
    except (FileNotFoundError, ConnectionError):
        found = b""
    if not found:  # or the holder ends just now
        raise NoHolder(f"no process answers for {target.folder}; start cstp serve, or a program with cstp mcp")
    return found


def left_seconds(until: float) -> float:
    """Return the seconds until `until`, on the monotonic clock. Raise TimeoutError."""
    if (left := until - monotonic()) <= 0:
        raise TimeoutError
    return left


def live_token(target: Target) -> Mapping[str, Any]:
    """Return the caller's newest live token in the file of tokens. Raise NoAnswer, OSError."""
    with open(target.tokens, "rb") as file:
        tokens = json.loads(file.read(LARGEST))["tokens"]
    now = datetime.now(UTC)
    live = [one for one in tokens if one["revoked"] is None and now < datetime.fromisoformat(one["expires"])]
    if target.agent is not None:
        found = [one for one in live if one["agent"] == target.agent]
    else:
        _, _, rest = os.environ.get("CSTP_TOKEN", "").partition("_")
        identity, _, secret = rest.partition("_")
        digest = hashlib.sha256(secret.encode()).hexdigest()
        found = [one for one in live if one["id"] == identity and hmac.compare_digest(one["digest"], digest)]
    if not found:
        whose = f"of {target.agent}" if target.agent is not None else "in CSTP_TOKEN"
        raise NoAnswer(f"{target.tokens} has no live token {whose}; create one: cstp token create --agent NAME")
    newest: Mapping[str, Any] = max(found, key=lambda one: datetime.fromisoformat(one["created"]))
    return newest
