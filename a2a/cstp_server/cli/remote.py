"""Calls from the command line to any CSTP server, and output of answers."""

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from time import sleep
from typing import Any, Final, TypeVar

import httpx
import typer
from pydantic.alias_generators import to_camel
from rich.console import Console
from rich.highlighter import JSONHighlighter

from cognition_engines.errors import ConfigurationError
from cognition_engines.escapes import one_line, several_lines
from cstp import DEFAULT_URL
from cstp.call import Call, raw_call
from cstp.client.connections import SyncHttp
from cstp.client.messages import TOO_LARGE, HttpAnswer, read_answer
from cstp.client.transport import HEADERS, deadline_after
from cstp.errors import (
    ERRORS,
    ConnectionLost,
    CstpError,
    DeadlineExceeded,
    Forbidden,
    InvalidParams,
    MethodNotFound,
    Overloaded,
    QueryFailed,
    RateLimited,
    UnexpectedAnswer,
)
from cstp.methods.registry import METHODS
from cstp_server.cli.conventions import (
    FAMILIES,
    JsonOption,
    OptionGroup,
    TimeoutOption,
    TokenOption,
    Unreachable,
    UrlOption,
)
from cstp_server.terminal import say, say_lines

R = TypeVar("R")
_NOTHING: Final[Mapping[str, object]] = {}
_LONGEST_WAIT: Final = 120  # seconds for which a server may ask
_ATTEMPTS: Final = 20  # at a call
_CLASSES: Final[Mapping[int, type[CstpError]]] = {error.code: error for error in ERRORS}


@dataclass(frozen=True, slots=True)
class Remote:
    """A server and call options; `base` has no `/cstp` at the end, `timeout` is the time limit for an answer."""

    base: str
    token: str
    http: SyncHttp
    timeout: float

    @property
    def endpoint(self) -> str:
        return f"{self.base}/cstp"

    def call(self, method: str, params: Mapping[str, object], tries: int = 1) -> Any:
        """Send a call, up to `tries` times if the connection breaks, and return the result as JSON.

        Raise CstpError for an error, and Unreachable if the server does not speak JSON-RPC.
        """
        return self.send(raw_call(method, params), tries)  # type: ignore[arg-type]  # the values are JSON

    def send(self, call: Call[R], tries: int = 1) -> R:
        """Send a typed call and return the result. Raise CstpError for an error, and Unreachable."""
        # lone surrogates of a command line in no known encoding are left to the server to refuse
        body = json.dumps({"jsonrpc": "2.0", "method": call.method, "params": call.params, "id": 1}).encode()
        headers = HEADERS | {"Authorization": f"Bearer {self.token}"}
        received = self._send("POST", self.endpoint, body, headers, tries)
        try:
            return read_answer(received, call)
        except UnexpectedAnswer:
            raise Unreachable(f"{self.endpoint} is no CSTP server (HTTP {received.status})") from None

    def send_patiently(self, call: Call[R], tries: int = 1) -> R:
        """Send a call as `send` does, and again if the server asks to wait for it."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return self.send(call, tries)
            except (RateLimited, Overloaded) as error:
                if error.retry_after > _LONGEST_WAIT:
                    raise
                say(f"cstp: the rate limit is used up; waiting {error.retry_after:g} s", err=True)
                sleep(error.retry_after)
        return self.send(call, tries)

    def get(self, path: str) -> HttpAnswer:
        """Return the answer to a GET for a path below `base`. Raise Unreachable without a complete answer in time."""
        return self._send("GET", self.base + path, b"", {})

    def get_as_caller(self, path: str) -> HttpAnswer:
        """Return the answer to a GET with the token, if any. Raise Unreachable as `get` does."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return self._send("GET", self.base + path, b"", headers)

    def _send(self, verb: str, url: str, body: bytes, headers: Mapping[str, str], tries: int = 1) -> HttpAnswer:
        deadline = deadline_after(self.timeout)
        try:
            outcome = self.http.send(verb, url, deadline, body, headers)
            while isinstance(outcome, ConnectionLost) and (tries := tries - 1) > 0:
                outcome = self.http.send(verb, url, deadline, body, headers)
        except (httpx.InvalidURL, UnicodeError):
            raise typer.BadParameter("must read like http://host:8100", param_hint="URL") from None
        if isinstance(outcome, HttpAnswer):
            return outcome
        if isinstance(outcome, DeadlineExceeded):
            late = f"{url} did not answer within {self.timeout:g} s; check the address, or raise --timeout"
            raise Unreachable(late)
        reason = _printable(str(outcome))
        raise Unreachable(f"{url} does not answer ({reason}); {_remedy(reason)}")


@dataclass(frozen=True)
class AskedServer(OptionGroup):
    """Options for the server to ask, and for printing the answer."""

    url: UrlOption = DEFAULT_URL
    token: TokenOption = None
    timeout: TimeoutOption = 30.0
    as_json: JsonOption = False


@contextmanager
def connect(base: str, token: str, timeout: float) -> Iterator[Remote]:
    """Connect to a server. Raise ConfigurationError for an invalid proxy or certificate file."""
    try:
        http = SyncHttp(httpx.URL(base), connect_seconds=timeout)
    except OSError as error:
        raise ConfigurationError(f"SSL_CERT_FILE or SSL_CERT_DIR cannot be used: {error}") from error
    except (ValueError, ImportError) as error:
        raise ConfigurationError(f"HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used: {error}") from error
    with closing(http):
        yield Remote(base, token, http, timeout)


def _remedy(reason: str) -> str:
    """Return the advice for a network or TLS error."""
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        return "if you have your own CA, set SSL_CERT_FILE to its PEM file"
    if "SSL" in reason:
        return "does the server speak http:// there?"
    if any(word in reason for word in ("disconnected", "reset", "Broken pipe")):
        return "does the server speak https:// there?"
    return "check the address, and that the server is running"


def base_of(url: str, option: str) -> str:
    """Return the address without `/cstp`. Raise BadParameter unless it is an http(s) URL without a user."""
    try:
        parsed = httpx.URL(url)
        usable = parsed.scheme in ("http", "https") and bool(parsed.host) and not (parsed.query or parsed.fragment)
        usable = usable and 0 <= (parsed.port or 0) < 65536
    except (httpx.InvalidURL, UnicodeError, ValueError):
        usable = False
    if not usable:
        raise typer.BadParameter("must read like http://host:8100", param_hint=option)
    if parsed.userinfo:
        raise typer.BadParameter("must not contain a user; use --token or CSTP_TOKEN", param_hint=option)
    return url.rstrip("/").removesuffix("/cstp").rstrip("/")


def given_token(token: str | None) -> str | None:
    """Return the option's token, else CSTP_TOKEN. Raise BadParameter for an invalid header value."""
    secret = token or os.environ.get("CSTP_TOKEN") or None
    if secret is not None and not (secret.isascii() and secret.isprintable()):
        raise typer.BadParameter("must be printable ASCII", param_hint="--token")
    return secret


def required_token(token: str | None) -> str:
    secret = given_token(token)
    if secret is None:
        raise typer.BadParameter("give one, or set CSTP_TOKEN", param_hint="--token")
    return secret


def show(value: object, *, as_json: bool) -> None:
    """Print JSON: in a single line for machines, else indented, and coloured on a terminal."""
    if as_json:
        say(_json(value, None))
        return
    console, text = Console(soft_wrap=True), several_lines(_json(value, 2))
    if console.is_terminal:
        console.print(JSONHighlighter()(text))
    else:
        say_lines(text)


def _json(value: object, indent: int | None) -> str:
    """Return a value as JSON, in ASCII if standard output takes no more."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        several_lines(text).encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


def member_of(error: CstpError) -> Mapping[str, Any]:
    """Return the error as an answer's member."""
    found = {"code": error.code, "message": error.message}
    return found if error.data is None else {**found, "data": error.data}


def code_of(error: CstpError) -> int:
    """Return the exit code for an error's family."""
    return FAMILIES[_CLASSES.get(error.code, CstpError).family]


def print_error(error: CstpError, method: str, given: Mapping[str, object] = _NOTHING, *, as_json: bool) -> int:
    """Print an error answer and the remedy for the params `given`; return the family's exit code."""
    if as_json:
        show(member_of(error), as_json=True)
        return code_of(error)
    say(f"cstp: {_printable(error.message)} ({error.code})", err=True)
    for line in _details(error):
        say(f"  {line}", err=True)
    for line in _list_remedies(error, method, given):
        say(f"next: {line}", err=True)
    return code_of(error)


def _details(error: CstpError) -> list[str]:
    if isinstance(error, InvalidParams):
        return [f"{_printable(wrong.field)}: {_printable(wrong.message)}" for wrong in error.violations]
    if not isinstance(error.data, Mapping):
        return []
    return [f"{_printable(name)}: {_printable(value)}" for name, value in error.data.items()]


def _list_remedies(error: CstpError, method: str, given: Mapping[str, object]) -> list[str]:
    """Return the steps by which the caller can remedy an error."""
    if TOO_LARGE in getattr(error, "__notes__", ()):
        return ["the request exceeds server.max_body_bytes of the server: send less"]
    data = error.data
    known = _CLASSES.get(error.code)
    if known is None:
        return ["the server defines this code; see its documentation"]
    if known is MethodNotFound:
        near = get_close_matches(method, [one.name for one in METHODS], 1)
        found = f"did you mean {near[0]}? " if near else ""
        return [f"{found}cstp status URL lists the methods of a server"]
    if known is Forbidden and isinstance(data, Mapping):
        return [f"use a token with the scope: cstp token create --agent NAME --scope {_printable(data.get('scope'))}"]
    if isinstance(error, InvalidParams):
        hints = [hint for one in error.violations if (hint := _as_json_text(method, given, one.field)) is not None]
        return [_printable(hint) for hint in hints] or [known.meaning]
    if isinstance(error, QueryFailed) and error.reason:
        return [_printable(error.reason)]
    if known in (RateLimited, Overloaded) and isinstance(data, Mapping):
        return [f"wait {_printable(data.get('retryAfter'))} s and retry"]
    return [known.meaning]


def _printable(value: object) -> str:
    """Return any received value as a single line without control characters."""
    return one_line(value if isinstance(value, str) else json.dumps(value))


def _as_json_text(method: str, given: Mapping[str, object], wrong: str) -> str | None:
    """Return the syntax of a parameter if it is wrong because given as text; otherwise None.

    `wrong` is the parameter's path as named by the server, such as `filters.stakes[0]`.
    """
    known = next((one for one in METHODS if one.name == method), None)
    name = next((name for name in given if to_camel(name) == wrong), None)
    text = None if name is None else given[name]
    if known is None or not isinstance(text, str):
        return None
    types = [*types_of(known.params.model_json_schema().get("properties", {}).get(wrong, {}))]
    if not any(types) or "string" in types:
        return None
    try:
        meant = not isinstance(json.loads(text), str)
    except ValueError:
        meant = "array" in types
        text = json.dumps([text], ensure_ascii=False)
    return f"{name}=... is text; write {shlex.quote(f'{name}:={text}')}" if meant else None


def types_of(schema: Mapping[str, Any]) -> Iterator[object]:
    """Yield a schema's allowed types, None for a schema without a type."""
    yield schema.get("type")
    branches = schema.get("anyOf")
    for branch in branches if isinstance(branches, list) else ():
        yield branch.get("type")
