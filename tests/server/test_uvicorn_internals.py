"""uvicorn internals used by `cstp_server.http.limited_protocol` exist in the permitted versions."""

import inspect
from pathlib import Path
from tomllib import loads

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

PROJECT = loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_a_cycle_writes_through_its_held_transport() -> None:
    assert "self.transport.write(" in source(RequestResponseCycle)


def test_our_response_completion_equals_uvicorns_but_for_the_idle_timer() -> None:
    lines = [line.split("#")[0].strip() for line in source(HttpToolsProtocol.on_response_complete).splitlines()[1:]]
    assert [line for line in lines if line] == [
        "self.server_state.total_requests += 1",
        "if self.transport.is_closing():",
        "return",
        "self._unset_keepalive_if_required()",
        "self.flow.resume_reading()",
        "if self.pipeline:",
        "cycle, app = self.pipeline.pop()",
        "self._start_asgi_task(cycle, app)",
        "else:",
        "self.timeout_keep_alive_task = self.loop.call_later(",
        "self.timeout_keep_alive, self.timeout_keep_alive_handler",
        ")",
    ]


def test_the_version_is_capped() -> None:
    assert "uvicorn[standard]>=0.54,<0.55" in PROJECT["optional-dependencies"]["server"]


def source(of: object) -> str:
    return inspect.getsource(of)  # type: ignore[arg-type]
