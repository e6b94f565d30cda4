"""What a run of ingest is given, and what it reports: values, which importing costs nothing."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from cognition_engines.models import Problem, Sensitivity

DECISION_FOLDERS: Final = ("adr", "adrs", "decisions", "architecture-decisions", "decision-records")


def bare_name(folder: str) -> str:
    """The letters and digits of a folder's name in lower case: `Decision_Records` is `decisionrecords`."""
    return "".join(character for character in folder.lower() if character.isalnum())


class TextKind(StrEnum):
    """What a text can be."""

    DECISION = "decision"
    DOCUMENT = "document"
    TRANSCRIPT = "transcript"


@dataclass(frozen=True, slots=True)
class Texts:
    """What texts are: all of one `kind`, or each by its marks.

    Numbered files in `decision_folders` (named as by `bare_name`) are decisions. Files of records, by their extension
    JSON or YAML, are read alike whatever stands here.
    """

    kind: TextKind | None = None
    decision_folders: frozenset[str] = frozenset(map(bare_name, DECISION_FOLDERS))


BY_MARKS: Final = Texts()


@dataclass(frozen=True, slots=True)
class Pruned:
    """A record that was deleted, and the file that it was read from. `part`: it is one that a document was cut into."""

    kind: str
    id: str
    file: str
    part: bool


@dataclass(frozen=True, slots=True)
class Options:
    """`project` and `sensitivity` hold for records that do not give their own; None changes none that they have.

    `repository` is the name of the repository that all files belong to; None finds it for each. `texts` says what
    texts are.
    """

    project: str | None = None
    sensitivity: Sensitivity | None = None
    repository: str | None = None
    prune: bool = False
    dry_run: bool = False
    strict: bool = False
    texts: Texts = BY_MARKS


@dataclass(frozen=True, slots=True)
class FollowedSource:
    """A collection to follow. `address` is as `checked_address` returns it; the rest is as in `Options`."""

    address: str
    project: str | None = None
    sensitivity: Sensitivity | None = None
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class SourceState:
    """How following a source goes: seconds since it was last read whole, None before; why the last attempt failed."""

    address: str
    read_seconds_ago: float | None
    failure: str | None


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run came to. `read` counts records, refused ones included; `kinds` those that were not, by kind.

    `skipped` counts the files of the folders that hold none, by extension ("" without one), the most first; `pruned`
    names what was deleted.
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


class Progress(Protocol):
    """Receives how far a run is, in bytes of files."""

    def start(self, total: int) -> None: ...

    def advance(self, done: int) -> None: ...


class Silent:
    """A progress that is not shown."""

    def start(self, total: int) -> None: ...

    def advance(self, done: int) -> None: ...
