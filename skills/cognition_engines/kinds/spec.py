"""Record kinds by number and name, and each kind's definition for the engine, as a single value.

Tables, indexes, ids, file readers, rights and joins are made from these values.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import IntEnum
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pydantic.alias_generators import to_camel

from cognition_engines.models import Sensitivity

# PostgreSQL indexes at most 2,704 bytes; a character takes up to four.
MAX_ID: Final = 512  # characters
WRITTEN: Final = "wire"  # the source of records written by agents
INGESTED: Final = "ingest"  # the transport of records read from files
OTHER_IDS: Final = ("_id", "doc_id")  # names of an id in other systems, for any kind


class Kind(IntEnum):
    """A kind of records. The number is stored with every record, and never reused for another kind."""

    DECISION = 1
    SOURCE = 2
    CHUNK = 3
    CLUSTER = 4
    EXTRACTION = 5
    EPISODE = 6
    ARTIFACT = 7
    ARTIFACT_CHUNK = 8
    TURN = 9
    EVENT = 10
    ENTITY = 11
    EDGE = 12

    @cached_property
    def label(self) -> str:
        """Return the name in files and columns: `artifact_chunk`."""
        return self.name.lower()


KINDS: Final[Mapping[str, Kind]] = {kind.label: kind for kind in Kind}
# The names of kinds as files and requests give them.
KIND_NAMES: Final[Mapping[str, Kind]] = {
    **KINDS,
    **{to_camel(label): kind for label, kind in KINDS.items()},
    "conversation_turn": Kind.TURN,
    "conversationTurn": Kind.TURN,
}
Maker: TypeAlias = Literal["file", "agent", "import"]


def short_key(text: str) -> str:
    """Hash a text that may be too long for an index to 16 hexadecimal digits."""
    return sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Origin:
    """A record's origin.

    `source` is an absolute file path, or a collection's address; `ordinal` is the position among its records, from 0,
    or PART for a part of a document; `digest` identifies the read content. `ingested_as` and `guarded_as` are the
    project and the sensitivity given by run options, each for a scope (see ingest/rights.py); None if none did.

    `repository` and `path` are the file's place, independent of the checkout folder, `given` is the id in the file, if
    it has one. `identity` is a hash (32 hexadecimal digits) that identifies the record in any project; "" for a record
    without a file.

    `recorded_by` is the agent that wrote it, None if the operator did; `via` is the transport: ingest, cstp, mcp or
    a2a.
    """

    source: str
    ordinal: int
    ingested_as: str | None
    digest: str
    repository: str = ""
    path: str = ""
    given: str | None = None
    identity: str = ""
    project_scope: str | None = None
    guarded_as: Sensitivity | None = None
    guard_scope: str | None = None
    recorded_by: str | None = None
    via: str = INGESTED

    @property
    def is_written(self) -> bool:
        """Return whether an agent wrote it, and no file has it."""
        return self.source == WRITTEN

    @property
    def made_by(self) -> Maker:
        """Return the maker: an agent, a file, or an import from a collection or standard input."""
        if self.source == WRITTEN:
            return "agent"
        return "file" if self.recorded_by is None and self.source.startswith("/") else "import"

    @property
    def content_hash(self) -> str:
        """Hash of the content, 64 hexadecimal digits, independent of the record's origin."""
        return sha256(self.digest.partition(".")[0].encode()).hexdigest()

    @property
    def place(self) -> tuple[str, str]:
        """Return the repository and the path in it, by which a file is the same in every checkout."""
        return self.repository, self.path or self.source


class Role(IntEnum):
    """A reference's role in a record; stored, so a number is never reused for another role."""

    SOURCE = 1
    CLUSTER = 2
    CHUNK = 3
    ARTIFACT = 4
    ACTOR = 5
    SUBJECT = 6
    FROM = 7
    TO = 8
    NAME = 9
    CALLED = 10  # of decisions, as the next two: see supersession.py
    SUPERSEDES = 11
    SUPERSEDED_BY = 12
    REPLACED = 13  # of memories: see store/visible_state.py


class Reference(NamedTuple):
    """A reference: an id of the kind; for actors, subjects, edge ends and names a normalized reference."""

    role: Role
    kind: Kind
    target: str


@dataclass(frozen=True, slots=True)
class Facets:
    """Filter values for records of all kinds. A child has the artifact's values; `parent` is the artifact's key.

    `project` and `sensitivity` decide who may see the record, `at` is in UTC, `importance` 0.0 to 1.0; `context` and
    `system` are folded by `fold_text`. `author` wrote or said it, `people` took part, including the author, each in the
    form for name comparison: see `kinds.fields.normal`. It is in force from `since`, None if unknown, until `until`,
    None if no end is known; both are in UTC.
    """

    project: str | None
    sensitivity: Sensitivity
    at: datetime | None = None
    context: str | None = None
    system: str | None = None
    importance: float | None = None
    parent: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    author: str | None = None
    people: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSpec:
    """A kind's definition.

    `table` and `indexed` are the table and the columns of an index on it. `spaces` names the search spaces and lists
    that contain it. `prefix` begins every id, `made_prefix` the computed ids, which come from `identity`: member names
    or a function of the record; None if they are computed elsewhere. `embedding_text` and `keyword_text` are the texts
    for vectors and for words, None if there is none; `title` is their title part, `day` the date at their start;
    `shown_text` is the text in recall answers. `facets` returns the facets stated by a record itself, `ids` are the
    members with ids of other records, and `names` returns the people and things named in a record, in its spelling;
    `references` are others, which depend on the file. `aliases` are member names in other systems' files, in order of
    precedence, `storage` those systems' members about storage. `has_members` returns whether an object with these names
    (in snake_case, without null members) is of the kind; called in the order of `registry.DETECTED`.
    """

    kind: Kind
    model: type[Any]
    table: str
    made_prefix: str | None
    facets: Callable[[Any], Facets]
    given: Any = None  # validates it in files, if that is not the model
    spaces: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()
    prefix: str = ""
    identity: tuple[str, ...] | Callable[[Any], str] | None = None
    embedding_text: Callable[[Any], str | None] = lambda _: None
    keyword_text: Callable[[Any], str | None] | None = None  # None: same as embedding_text
    title: Callable[[Any], str | None] = lambda _: None
    day: Callable[[Any], date | None] = lambda _: None
    shown_text: Callable[[Any], str] | None = None
    ids: Mapping[str, Role] = field(default_factory=dict)
    names: Callable[[Any], Iterator[tuple[Role, str]]] = lambda _: iter(())
    references: Callable[[Any, Origin], Iterator[Reference]] = lambda _record, _origin: iter(())
    aliases: Mapping[str, str] = field(default_factory=dict)
    storage: frozenset[str] = frozenset()
    has_members: Callable[[frozenset[str], Mapping[str, Any]], bool] = lambda _names, _value: False


def named_ids(*names: str) -> dict[str, str]:
    """Return an id's aliases: these names and the general ones."""
    return dict.fromkeys((*names, *OTHER_IDS), "id")


def stated_access(record: Any) -> tuple[str | None, Sensitivity]:
    """Return the facets common to all kinds: the project and the sensitivity stated by the record."""
    return record.project, Sensitivity.NORMAL if record.sensitivity is None else record.sensitivity


def plain_facets(record: Any) -> Facets:
    """Return the facets for a kind without content facets."""
    return Facets(*stated_access(record))


def with_title(title: str | None, content: str) -> str:
    """Return a content below its title."""
    return content if title is None else f"{title}\n{content}"


def first_not_none(*moments: datetime | None) -> datetime | None:
    """Return the first known moment."""
    return next((moment for moment in moments if moment is not None), None)


# The kind of the record identified by a member, by the member's role.
TARGETS: Final[Mapping[Role, Kind]] = {
    Role.SOURCE: Kind.SOURCE,
    Role.CLUSTER: Kind.CLUSTER,
    Role.CHUNK: Kind.CHUNK,
    Role.ARTIFACT: Kind.ARTIFACT,
    Role.REPLACED: Kind.ARTIFACT,
}
