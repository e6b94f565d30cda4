"""Link claims over a real socket, and a real browser."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from cstp_server.ui.grants import make_grant, write_grant
from tests.ui.visits import browser, demo_data, library, picture, visits, windows

__all__ = ["browser", "demo_data", "library", "picture", "visits", "windows"]
Live = Any


@pytest.fixture
def link() -> Callable[..., str]:
    """Return `link(server, agent="ui")`: the code of a new link with the rights from `cstp ui`."""

    def make(live: Live, agent: str = "ui", **rights: Any) -> str:
        usual = {"scopes": ("read",), "clearance": "normal", "projects": None, "lifetime": timedelta(hours=12)}
        return write_grant(live.settings.ui_links_path, make_grant(agent, **usual | rights))

    return make


@pytest.fixture
def claim() -> Callable[..., Any]:
    """Return `claim(server, code, Origin="http://x")`: sends a `POST /ui/session`; None leaves a header out."""

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
        headers = {"Host": f"127.0.0.1:{live.port}", "Content_Type": "application/json", **given}
        return live.ask("/ui/session", data, headers, method, source)

    return send
