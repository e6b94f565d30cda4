"""What can go wrong below the wire.

EngineError
├── ComponentFailed      a part (records, vectors, keywords, embedder) is down, timed out or answered wrongly
│   └── ComponentBusy    it works, but has not come to this call in time
├── NotWanted            no caller waits for the result any more, so that the work has stopped
├── BackupFailed         a backup cannot be written, or is damaged; the message names the file
├── ConfigurationError   a setting, model file or folder cannot be used; the message says what to do
├── WriteRefused, WriteConflict, RecordNotFound, ScopeNeeded: see writing/errors.py
└── FolderInUse          another process holds the indexes of this folder
"""


class EngineError(Exception):
    """Anything that the skills raise on purpose."""


class ComponentFailed(EngineError):
    """A part is down, timed out or answered wrongly. `component` is its short public name."""

    def __init__(self, component: str, detail: str) -> None:
        super().__init__(f"{component}: {detail}")
        self.component = component


class ComponentBusy(ComponentFailed):
    """A part works, but has not come to this call in time: others were first."""


class UnknownChange(ComponentFailed):
    """A caller asks for a change that has not been made: the part works."""


class NotWanted(EngineError):
    """No caller waits for the result any more, so that the work has stopped."""


class BackupFailed(EngineError):
    """A backup cannot be written, or is damaged; the message names the file."""


class ConfigurationError(EngineError):
    """A setting, model file or folder cannot be used."""

    def __init__(self, *reasons: str) -> None:
        super().__init__("\n".join(reasons))
        self.reasons = reasons


class FolderInUse(EngineError):
    """Another process holds the indexes of this folder."""
