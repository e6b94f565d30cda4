"""What the protocol classes here use of the insides of uvicorn's HTTP protocol.

`tests/server/test_library_internals.py` fails when an upgrade changes them, and `pyproject.toml` caps the version.
"""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class UvicornProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol. Its `cycle` runs the application for the newest request."""

    @property
    def asked(self) -> bool:
        """Whether the connection has had a request."""
        return self.cycle is not None

    @property
    def answering(self) -> bool:
        """Whether the newest request is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def answer_begun(self) -> bool:
        """Whether the answer to the newest request has begun to be sent."""
        return self.cycle.response_started

    @property
    def request_state(self) -> dict[str, Any]:
        """The state in the scope of the newest request."""
        return self.cycle.scope["state"]

    def answer_through(self, transport: object) -> None:
        """Make the newest request's answer go through another transport."""
        self.cycle.transport = transport  # type: ignore[assignment]

    def drop_answer(self) -> None:
        """Let the application write on without effect: uvicorn learns that the connection is gone a little later."""
        if self.answering:
            self.cycle.disconnected = True
            self.cycle.waiting_for_100_continue = False  # it would be written after a refusal
            self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        # uvicorn's own, without its timer for each response: the deadlines here end idle connections
        self.server_state.total_requests += 1
        if not self.transport.is_closing():
            self.flow.resume_reading()
            if self.pipeline:
                self._start_asgi_task(*self.pipeline.pop())
