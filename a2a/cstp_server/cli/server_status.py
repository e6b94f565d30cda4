"""`cstp status URL`: what a server says of itself, to anybody and to the holder of a token."""

import json
from collections.abc import Mapping
from typing import Any

import httpx

from cstp.client.messages import HttpAnswer
from cstp_server.cli.exit_codes import Unreachable
from cstp_server.cli.remote import Answer, Remote, base_of, code_of, connected, print_error
from cstp_server.describe.agent_card import EXTENSION
from cstp_server.http.discovery import CARD_PATH
from cstp_server.terminal import say


def print_remote(url: str, token: str | None, timeout: float, *, as_json: bool) -> int:
    """Print version, health and methods and, with a token, its agent and remaining limits.

    What is public is printed also where the call with the token fails; the exit code is then that of its error.
    """
    with connected(base_of(url, "URL"), token or "", timeout) as remote:
        found = _public(remote)
        answer = Answer(None, None) if token is None else remote.call("cstp.whoami", {})
    refused = answer.error
    if as_json:
        failure = {} if refused is None else {"error": refused}
        say(json.dumps(found | _private(answer.result) | failure))
        return 0 if refused is None else code_of(refused)
    for name, value in (found | (_private(answer.result) if refused is None else {})).items():
        say(f"{name}: {_shown(name, value)}")
    return 0 if refused is None else print_error(refused, "cstp.whoami", as_json=False)


def _public(remote: Remote) -> dict[str, object]:
    """Raises Unreachable when what answers is no CSTP server."""
    alive = remote.get("/healthz")
    ready = _json(remote.get("/readyz"))
    card = _json(remote.get(CARD_PATH))
    params = next((one.get("params") for one in _extensions(card) if one.get("uri") == EXTENSION), None)
    if not isinstance(params, Mapping):
        raise Unreachable(f"{remote.endpoint}: not a CSTP server (no agent card)")
    methods = params.get("methods")
    return {
        "url": remote.endpoint,
        "agent": card.get("name"),
        "version": card.get("version"),
        "health": _health(alive.status),
        "ready": ready.get("status"),
        "parts": ready.get("parts"),
        "methods": [one.get("name") for one in methods if isinstance(one, Mapping)]
        if isinstance(methods, list)
        else [],
    }


def _health(status: int) -> str:
    if status == httpx.codes.OK:
        return "alive"
    hidden = status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN, httpx.codes.NOT_FOUND)
    # behind a proxy that hands on /cstp alone
    return f"not shown here (HTTP {status})" if hidden else f"HTTP {status}"


def _extensions(card: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    capabilities = card.get("capabilities")
    extensions = capabilities.get("extensions") if isinstance(capabilities, Mapping) else None
    return [one for one in extensions if isinstance(one, Mapping)] if isinstance(extensions, list) else []


def _private(whoami: object) -> dict[str, object]:
    if not isinstance(whoami, Mapping):
        return {"caller": None, "limits": None}
    return {"caller": whoami.get("agent"), "limits": whoami.get("limits")}


def _json(reply: HttpAnswer) -> Mapping[str, Any]:
    """The object that came back; an empty one for anything else."""
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, Mapping) else {}


def _shown(name: str, value: object) -> str:
    if name in ("caller", "limits") and value is None:
        return "unknown without a token (--token or CSTP_TOKEN)"
    if name == "limits" and isinstance(value, list):
        windows = [one for one in value if isinstance(one, Mapping)]
        return ", ".join(
            f"{one.get('remaining')} of {one.get('limit')} left in {one.get('window')} s" for one in windows
        )
    if isinstance(value, Mapping):
        return ", ".join(f"{part} {state}" for part, state in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "unknown" if value is None else str(value)
