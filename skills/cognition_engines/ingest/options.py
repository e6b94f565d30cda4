"""The options and the report of an ingest: values, in a module without expensive imports."""

import re
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final, Protocol

from cognition_engines.ingest.maps.field_map import FieldMap
from cognition_engines.ingest.text_kinds import TextKind
from cognition_engines.masking.policy import FILES, SecretPolicy
from cognition_engines.models import Problem, Sensitivity

DECISION_FOLDERS: Final = (
    "adr", "adrs", "madr", "decisions", "decision-log", "decision-logs", "decision-record", "decision-records",
    "architecture-decision", "architecture-decisions", "architecture-decision-log", "architecture-decision-record",
    "architecture-decision-records", "architectural-decisions", "architectural-decision-log",
    "architectural-decision-records", "design-decisions", "technical-decisions", "rfc", "rfcs", "itd", "itds",
)  # fmt: skip
_MARKS: Final = re.compile(r"[\W_]+")


def bare_name(folder: str) -> str:
    """Return the letters and digits of a folder's name in lower case: `Decision_Records` is `decisionrecords`."""
    return _MARKS.sub("", folder.lower())


@dataclass(frozen=True, slots=True)
class Texts:
    """The way to read texts: all as a single `kind`, or each by marks.

    Numbered files in `decision_folders` (named as by `bare_name`) are decisions. Files of records, JSON or YAML by
    extension, do not depend on these options, except on `map`. With `bots`, exported conversations include messages of
    bots, with `system_messages` also tool calls; `day_first` resolves ambiguous dates.
    """

    kind: TextKind | None = None
    decision_folders: frozenset[str] = frozenset(map(bare_name, DECISION_FOLDERS))
    bots: bool = False
    system_messages: bool = False
    day_first: bool | None = None
    map: FieldMap | None = None


BY_MARKS: Final = Texts()


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of files in folders; explicitly named files are always read.

    Patterns are as in a `.gitignore`, relative to the named folder: `include` selects files matching any pattern,
    `exclude` skips files matching any. With `only`, absolute paths, only these files are read. With `any_extension`,
    `include` chooses files with every extension, and without any.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    only: frozenset[Path] | None = None
    any_extension: bool = False


ALL_FILES: Final = Selection()


@dataclass(frozen=True, slots=True)
class Pruned:
    """A deleted record and the file it was read from. `part` says that the record is a part of a document."""

    kind: str
    id: str
    file: str
    part: bool


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Records kept from deletion: `lost` of a source's `stored` records, too large a share."""

    source: str
    lost: int
    stored: int

    def __str__(self) -> str:
        said = f"{self.lost:,} of {self.stored:,} records are gone from {self.source}, which is more than a third"
        return f"{said}; --prune --yes deletes them (a disk that is not mounted looks the same)"


@dataclass(frozen=True, slots=True)
class MovedFolder:
    """A missing folder, the folder that now has the files, and the number of moved records."""

    old: str
    new: str
    records: int


@dataclass(frozen=True, slots=True)
class Options:
    """`project` and `sensitivity` apply to records without their own; None keeps stored values.

    `repository` names the repository of all files; None detects it for each. `texts` says how to read texts. A run ends
    after `limit` records; a document with its chunks counts as a single record. With `prune`, a source loses at most a
    third of its records unless the run is `sure`; with `gone`, a missing path counts as empty. `secrets` is the policy
    for secrets in texts.
    """

    project: str | None = None
    sensitivity: Sensitivity | None = None
    repository: str | None = None
    prune: bool = False
    dry_run: bool = False
    strict: bool = False
    texts: Texts = BY_MARKS
    selection: Selection = ALL_FILES
    limit: int | None = None
    sure: bool = False
    gone: bool = False
    secrets: SecretPolicy = FILES


@dataclass(frozen=True, slots=True)
class FollowedSource:
    """A collection, folder or file to follow, and the options of each read.

    `address` is a collection's, as returned by `checked_address`, or an absolute path. Records no longer in a
    collection are always deleted, those of a folder if `options` prune, up to a third of its records.
    """

    address: str
    options: Options = Options()


@dataclass(frozen=True, slots=True)
class SourceState:
    """A followed source's state: seconds since its last full read, None before; the last attempt's failure."""

    address: str
    read_seconds_ago: float | None
    failure: str | None


@dataclass(frozen=True, slots=True)
class Summary:
    """A run's result. `read` counts records, rejected ones included; `kinds` accepted records by kind.

    `skipped` counts the folders' files without records, by extension ("" without an extension), the most first;
    `ignored` files and folders excluded by patterns; `pruned` names deleted records, `held_back` records deleted only
    by a run that is `sure`, `moved` the folders with moved records. `limited` says that there were more records than
    `Options.limit`.
    """

    read: int
    new: int
    changed: int
    unchanged: int
    deleted: int
    rejected: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    kinds: dict[str, int]
    skipped: dict[str, int]
    pruned: tuple[Pruned, ...] = ()
    ignored: int = 0
    limited: bool = False
    held_back: tuple[HeldBack, ...] = ()
    moved: tuple[MovedFolder, ...] = ()


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount to read or already read: bytes of files, files, and records, counting a document as one."""

    size: int
    files: int = 0
    records: int = 0


class Progress(Protocol):
    """Receiver of a run's progress; the number of records is not known in advance."""

    def start(self, total: Amount) -> None: ...

    def advance(self, done: Amount) -> None: ...


class Silent:
    """Progress without output."""

    def start(self, total: Amount) -> None: ...

    def advance(self, done: Amount) -> None: ...


class Stopped(Exception):
    """The run was to stop."""


class UntilStopped:
    """The progress of a run that raises `Stopped` between two batches once `stop` is set."""

    def __init__(self, stop: Event, shown: Progress) -> None:
        self._stop = stop
        self._shown = shown

    def start(self, total: Amount) -> None:
        self._check()
        self._shown.start(total)

    def advance(self, done: Amount) -> None:
        self._check()
        self._shown.advance(done)

    def _check(self) -> None:
        if self._stop.is_set():
            raise Stopped
