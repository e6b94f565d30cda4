"""Reading what a server tells anybody."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def fetch(request_bytes: Any) -> Callable[..., Any]:
    """`fetch(server, "/openrpc.json", {"If-None-Match": "*"}, method="HEAD")`: one answer, asked without a token."""

    def run(server: Any, path: str, headers: dict[str, str] | None = None, method: str = "GET") -> Any:
        with server.connect() as connection:
            connection.send(request_bytes(b"", [("Connection", "close"), *(headers or {}).items()], method, path))
            return connection.read(method)

    return run
