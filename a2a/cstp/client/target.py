"""What both clients have in common: where they ask, how long and how often, and what a last outcome means."""

import os
from dataclasses import dataclass
from pathlib import Path
from random import random
from typing import Any, Final

import httpx
from pydantic import SecretStr

from cstp.client.auth import BearerAuth, read_token
from cstp.client.errors import TransportError
from cstp.client.messages import HttpAnswer
from cstp.client.retries import pause_before_retry
from cstp.client.transport import HEADERS, Deadline, deadline_after, endpoint

VARIABLE: Final = "CSTP_URL"


@dataclass(frozen=True, slots=True)
class Target:
    """Where calls go, and how long and how often they are tried."""

    url: httpx.URL
    timeout: float
    retries: int

    def pause(
        self, outcome: HttpAnswer | TransportError, tried: int, deadline: Deadline, repeatable: bool
    ) -> float | None:
        return pause_before_retry(
            outcome, tried, self.retries, repeatable=repeatable, left=deadline.left, draw=random()
        )

    def deadline(self, timeout: float | None) -> Deadline:
        return deadline_after(self.timeout if timeout is None else timeout)


def make_target(url: str | None, timeout: float, retries: int) -> Target:
    if url is None:
        url = os.environ.get(VARIABLE)
        if not url:
            raise ValueError(f"no url: give url, or set {VARIABLE}")
    deadline_after(timeout)
    if retries < 0:
        raise ValueError("retries must not be negative")
    return Target(endpoint(url), timeout, retries)


def described(client: object) -> str:
    """A client's `repr`. One whose constructor failed has no target, and is still shown in the traceback of that."""
    target = getattr(client, "_target", None)
    return f"<{type(client).__name__} {target.url if isinstance(target, Target) else 'without a target'}>"


def settled(outcome: HttpAnswer | TransportError, before: HttpAnswer | TransportError | None) -> HttpAnswer:
    """The answer. An error is raised with the one of the try before, which says why there was no answer earlier."""
    if isinstance(outcome, TransportError):
        raise outcome from before if isinstance(before, TransportError) else None
    return outcome


def httpx_options(token: SecretStr | None, token_file: str | Path | None) -> dict[str, Any]:
    """What both of httpx's clients are made with; how the server is reached is in `cstp.client.connections`."""
    auth = BearerAuth(read_token(token, token_file, os.environ))
    return {"auth": auth, "headers": HEADERS, "trust_env": False}
