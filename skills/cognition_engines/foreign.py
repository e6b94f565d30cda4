"""Calls into libraries, whose failures must become ours."""

from types import TracebackType

from cognition_engines.errors import ComponentFailed, EngineError


class ForeignCalls:
    """A block in which whatever a library raises becomes ComponentFailed of the component named.

    The detail is the exception's type alone: a message may quote a text or a key.
    """

    def __init__(self, component: str) -> None:
        self._component = component

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # a Rust panic is no Exception, and its class cannot be imported: it is known by its name
        foreign = isinstance(error, Exception) and not isinstance(error, EngineError)
        if kind is not None and (foreign or kind.__name__ == "PanicException"):
            raise ComponentFailed(self._component, f"raised {kind.__name__}") from error
