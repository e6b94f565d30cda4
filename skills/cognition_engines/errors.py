"""The errors below the wire.

    EngineError
    ├── ComponentFailed       a part (records, vectors, keywords, embedder) is down, timed out or answered wrongly
    │   └── ComponentBusy     it works, but did not begin this call in time
    ├── NoGoodMatch           no record is near enough to a question
    ├── NotWanted             no caller waits for the result any more, so the work has stopped
    ├── BackupFailed          a backup cannot be written, or is damaged; the message names the file
    ├── ConfigurationError    a setting, model file or folder cannot be used; the message says what to do
    └── FolderInUse           another process holds the indexes of this folder

Method functions also raise the protocol's errors, `cstp.errors`.
"""

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Final

_REASONS: Final[Mapping[re.Pattern[str], str]] = {
    # messages from tantivy, the system and SQLite
    re.compile("StorageFull|No space left on device|database or disk is full"): "the disk is full",
    re.compile("index writer was killed"): "the disk is full, or fails",  # tantivy does not say which
}


class EngineError(Exception):
    """Base class for all errors raised on purpose by the skills."""


class ComponentFailed(EngineError):
    """A part is down, timed out or answered wrongly. `component` is the part's short public name."""

    def __init__(self, component: str, detail: str) -> None:
        super().__init__(f"{component}: {detail}")
        self.component = component


class DiskFull(ComponentFailed):
    """The store cannot write: the disk is full. Reads continue."""


class ComponentBusy(ComponentFailed):
    """A part works, but did not begin this call in time, because others were first."""


class PartRaised(ComponentFailed):
    """An unforeseen exception from a library or function of a part; a single record may be the cause."""


class UnknownChange(ComponentFailed):
    """A caller asks for a change never made; the part works."""


class StatedError(ValueError):
    """An invalid value; the message names the member and the fault, without record content."""


class NotWanted(EngineError):
    """No caller waits for the result any more, so the work has stopped."""


class NoGoodMatch(EngineError):
    """No record is near enough to a question with `abstain`.

    `id` names the nearest record, `cosine` is its cosine to the question, -1 to 1; both None if nothing was found.
    """

    def __init__(self, id: str | None = None, cosine: float | None = None, key: int | None = None) -> None:
        super().__init__("nothing is near enough to the question")
        self.id = id
        self.key = key
        self.cosine = cosine


class BackupFailed(EngineError):
    """A backup cannot be written, or is damaged; the message names the file."""


class ConfigurationError(EngineError):
    """A setting, model file or folder cannot be used."""

    def __init__(self, *reasons: str) -> None:
        super().__init__("\n".join(reasons))
        self.reasons = reasons


class FolderInUse(EngineError):
    """Another process holds the indexes in this folder."""


class ForeignCalls:
    """A block that turns every library exception into ComponentFailed for the named component.

    The detail is a full disk, or the exception's type alone: a message may quote a text or a key. The exceptions `down`
    mean a failure of the component; any other may be due to a single record.
    """

    def __init__(self, component: str, *down: type[Exception]) -> None:
        self._component = component
        self._down = down

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # a Rust panic is no Exception, and its class cannot be imported: the name identifies it
        foreign = isinstance(error, Exception) and not isinstance(error, EngineError)
        if kind is not None and (foreign or kind.__name__ == "PanicException"):
            for pattern, reason in _REASONS.items():
                if pattern.search(str(error)):
                    raise ComponentFailed(self._component, reason) from error
            failure = ComponentFailed if isinstance(error, self._down) else PartRaised
            raise failure(self._component, f"raised {kind.__name__}") from error
