"""The shared target of both clients: address, token, time limit and number of tries."""

import logging
import os
import ssl
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import random
from typing import Any, Final

import httpx
from pydantic import SecretStr

from cstp.call import Call
from cstp.client.messages import HttpAnswer
from cstp.client.transport import HEADERS, Deadline, deadline_after, endpoint, pause_before_retry
from cstp.errors import TransportError

TOKEN_VARIABLE: Final = "CSTP_TOKEN"


def read_token(token: SecretStr | None, token_file: str | Path | None, environment: Mapping[str, str]) -> SecretStr:
    """Return the given token, else the file's token, else `CSTP_TOKEN`.

    Raise ValueError for a missing or invalid token, or if both are given; OSError for the file.
    """
    around = SecretStr(environment.get(TOKEN_VARIABLE, ""))
    del environment  # a traceback of an error raised here may show this frame's variables
    if token is not None and token_file is not None:
        raise ValueError("give token or token_file, not both")
    if token is not None:
        return _check_secret(token, "token")
    if token_file is not None:
        return _check_secret(_read_token_file(Path(token_file)), str(token_file))
    if around:
        return _check_secret(around, TOKEN_VARIABLE)
    raise ValueError(f"no token: give token or token_file, or set {TOKEN_VARIABLE}")


def _read_token_file(file: Path) -> SecretStr:
    # an error of decoding would contain the bytes; their placeholder is no part of a token
    return SecretStr(file.read_bytes().decode("ascii", errors="replace").strip())


def _check_secret(secret: SecretStr, source: str) -> SecretStr:
    if not _is_token(secret):
        raise ValueError(f"{source}: a token is printable ASCII without spaces")
    return secret


def _is_token(secret: SecretStr) -> bool:
    text = secret.get_secret_value()
    return isinstance(text, str) and text != "" and all("!" <= character <= "~" for character in text)


class BearerAuth(httpx.Auth):
    """Authentication adding the token to each request when sending, so no client holds it in headers."""

    def __init__(self, secret: SecretStr) -> None:
        self._secret = secret

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._secret.get_secret_value()}"
        yield request


URL_VARIABLE: Final = "CSTP_URL"
_log = logging.getLogger("cstp.client")


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A target of calls, with timeout and number of retries."""

    url: httpx.URL
    timeout: float
    retries: int

    def attempts(self, calls: Sequence[Call[Any]], timeout: float | None = None) -> "Attempts":
        """Return attempts at a request, with the earliest deadline among `timeout` and the calls, else the client's."""
        given = [seconds for seconds in (timeout, *(call.timeout for call in calls)) if seconds is not None]
        deadline = min(map(deadline_after, given or [self.timeout]), key=lambda deadline: deadline.at)
        return Attempts(deadline, self.retries, all(call.repeatable for call in calls))


@dataclass(slots=True, eq=False)
class Attempts:
    """Attempts at a request: the wait before the next attempt, and outcomes."""

    deadline: Deadline
    retries: int
    repeatable: bool
    outcomes: list[HttpAnswer | TransportError] = field(default_factory=list)

    def pause_after(self, outcome: HttpAnswer | TransportError) -> float | None:
        """Return the seconds until the next attempt; None if `outcome` is final."""
        self.outcomes.append(outcome)
        pause = pause_before_retry(
            outcome,
            len(self.outcomes),
            self.retries,
            repeatable=self.repeatable,
            left=self.deadline.left,
            draw=random(),
        )
        if pause is not None and isinstance(outcome, HttpAnswer) and outcome.status == httpx.codes.TOO_MANY_REQUESTS:
            _log.warning("the agent's limit is used up: the call is sent again in %.1f s", pause)
        return pause

    def answer(self) -> HttpAnswer:
        """Return the last answer. An error has the previous attempt's error as cause."""
        last = self.outcomes[-1]
        before = self.outcomes[-2] if len(self.outcomes) > 1 else None
        if isinstance(last, TransportError):
            raise last from before if isinstance(before, TransportError) else None
        return last


class Targeted:
    """Client constructor: `_target` is the target, and `_open_connections` opens connections."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        *,
        token_file: str | Path | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        secret = None if token is None else SecretStr(token)
        del token  # a traceback of later errors may show this frame's variables
        self._target = make_target(url, timeout, retries)
        self._open_connections(
            ssl_context, {"auth": BearerAuth(read_token(secret, token_file, os.environ)), "headers": HEADERS}
        )

    def __repr__(self) -> str:
        # a client whose constructor failed has no target
        target = getattr(self, "_target", None)
        return f"<{type(self).__name__} {'without a target' if target is None else target.url}>"

    def _open_connections(self, ssl_context: ssl.SSLContext | None, options: dict[str, Any]) -> None:
        """Open connections to the target, with these options of httpx."""
        raise NotImplementedError


def make_target(url: str | None, timeout: float, retries: int) -> Target:
    """Return the URL for calls. Raise ValueError."""
    if url is None:
        url = os.environ.get(URL_VARIABLE)
        if not url:
            raise ValueError(f"no url: give url, or set {URL_VARIABLE}")
    deadline_after(timeout)
    if retries < 0:
        raise ValueError("retries must not be negative")
    return Target(endpoint(url), timeout, retries)
