"""Claims of links over a real socket, and a real browser."""

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from cstp_server.ui.grants import LINK_LIFETIME, make_grant, write_grant
from tests.ui.visits import browser, demo_data, library, picture, visits, windows

__all__ = ["browser", "demo_data", "library", "picture", "visits", "windows"]
Live = Any


@pytest.fixture
def link() -> Callable[..., str]:
    """`link(server, agent="ui")`: the code of a new link with the rights that `cstp ui` would give it."""

    def make(
        live: Live,
        agent: str = "ui",
        *,
        scopes: tuple[str, ...] = ("read",),
        clearance: str = "normal",
        projects: tuple[str, ...] | None = None,
        lifetime: timedelta = timedelta(hours=12),
        link_lifetime: timedelta = LINK_LIFETIME,
    ) -> str:
        grant = make_grant(
            agent,
            scopes=scopes,
            clearance=clearance,
            projects=projects,
            lifetime=lifetime,
            link_lifetime=link_lifetime,
        )
        return write_grant(live.settings.ui_links_path, grant)

    return make


@pytest.fixture
def claim(request_bytes: Callable[..., bytes]) -> Callable[..., Any]:
    """`claim(server, code, Origin="http://x")`: a `POST /ui/session`; None leaves a header out."""

    def send(
        live: Live,
        code: object = None,
        *,
        body: bytes | None = None,
        method: str = "POST",
        source: str = "127.0.0.1",
        **given: str | None,
    ) -> Any:
        data = json.dumps({"code": code}).encode() if body is None else body
        fields: Mapping[str, str | None] = {
            "Host": f"127.0.0.1:{live.port}",
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in given.items()},
        }
        headers = [(name, value) for name, value in fields.items() if value is not None]
        with live.connect(source) as connection:
            connection.send_if_open(request_bytes(data, [*headers, ("Connection", "close")], method, "/ui/session"))
            return connection.read(method)

    return send
