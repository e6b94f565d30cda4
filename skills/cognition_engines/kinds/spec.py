"""The kinds of records by number and by name, and what the engine knows of a kind: one value for each.

Tables, indexes, ids, readers of files, rights and joins are made of these values.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import IntEnum
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pydantic.alias_generators import to_camel

from cognition_engines.models import Sensitivity

# PostgreSQL indexes at most 2,704 bytes; a character takes up to four.
MAX_ID: Final = 512  # characters
WRITTEN: Final = "wire"  # the source of what agents wrote
INGESTED: Final = "ingest"  # the way of what was read from files
OTHER_IDS: Final = ("_id", "doc_id")  # names of an id in other systems, for any kind


class Kind(IntEnum):
    """A kind of records. Its number is stored with every record, and is never given to another kind."""

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

    @property
    def label(self) -> str:
        """Its name in files and columns: `artifact_chunk`."""
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
    """Where a record came from.

    `source` is an absolute file path, or the address of a collection; `ordinal` is the position among its records, from
    0, or PART for what a document was cut into; `digest` identifies the content that was read. `ingested_as` and
    `guarded_as` are the project and the sensitivity that options of runs gave it, each for a scope (see
    ingest/rights.py); None where none did.

    `repository` and `path` are the place of the file whatever the folder of the checkout, `given` the id as the file
    gives it, where it gives one. `identity` is 32 hexadecimal digits of what makes it this record in any project; ""
    of a record that no file gave.

    `recorded_by` is the agent that wrote it, None where the operator did; `via` is the way: ingest, cstp, mcp or a2a.
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
        """Whether an agent wrote it, and no file has it."""
        return self.source == WRITTEN

    @property
    def made_by(self) -> Maker:
        """Return who made it: an agent, a file, or an import of a collection or of standard input."""
        if self.is_written:
            return "agent"
        return "file" if self.recorded_by is None and self.source.startswith("/") else "import"

    @property
    def content_hash(self) -> str:
        """64 hexadecimal digits of the content, independent of the record's origin."""
        return sha256(self.digest.partition(".")[0].encode()).hexdigest()

    @property
    def place(self) -> tuple[str, str]:
        """The repository and the path in it, by which a file is the same in every checkout."""
        return self.repository, self.path or self.source


class Role(IntEnum):
    """What a reference in a record is; stored, so a number is never given to another role."""

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


class Reference(NamedTuple):
    """A reference: an id of the kind, or for actors, subjects, ends of edges and names a normal reference."""

    role: Role
    kind: Kind
    target: str


@dataclass(frozen=True, slots=True)
class Facets:
    """What records of all kinds are filtered by. A child has those of its artifact, whose key is `parent`.

    `project` and `sensitivity` are what isolation goes by, `at` is in UTC, `importance` 0.0 to 1.0; `context` and
    `system` are folded by `fold_text`. `author` is who wrote or said it, `people` are those who took part, the author
    among them, each as names are compared: see `kinds.fields.normal`. It holds from `since`, None where that is
    unknown, until `until`, None where no end is known; both are in UTC.
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
    """One kind of records.

    `table` and `indexed` are its table and the columns of an index of it. `spaces` names what it is searched and listed
    in. `prefix` begins every id of it, `made_prefix` those that are made: `identity` is what such an id is made of, the
    names of members or a function of the record; None where it is made otherwise. `embedding_text` and `keyword_text`
    are the texts that vectors and words are of, None where there is none; `title` is the part of them that is a
    title, `day` the date that they begin with; `shown_text` is the text as recall shows it, of a kind that it shows.
    `facets` are what a record states of itself,
    `ids` are the members that hold ids of other records, and `names` whom and what a record names, as it spells them;
    `references` are others, which depend on its file. `aliases` are names of members in other systems' files, in the
    order in which they count, `storage` what these note about their storage. `has_members` is whether an object of
    these names (in snake_case, those that are not null) is of the kind; asked in the order of `registry.DETECTED`.
    """

    kind: Kind
    model: type[Any]
    table: str
    made_prefix: str | None
    facets: Callable[[Any], Facets]
    given: Any = None  # what validates it in files, where that is not the model
    spaces: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()
    prefix: str = ""
    identity: tuple[str, ...] | Callable[[Any], str] | None = None
    embedding_text: Callable[[Any], str | None] = lambda _: None
    keyword_text: Callable[[Any], str | None] | None = None  # None: that of embedding_text
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
    """Return the aliases of an id: these names and the general ones."""
    return dict.fromkeys((*names, *OTHER_IDS), "id")


def own(record: Any) -> tuple[str | None, Sensitivity]:
    """Return the first facets of every kind: the project and the sensitivity that the record states."""
    return record.project, Sensitivity.NORMAL if record.sensitivity is None else record.sensitivity


def plain_facets(record: Any) -> Facets:
    """Return the facets of a kind that states no others."""
    return Facets(*own(record))


def with_title(title: str | None, content: str) -> str:
    """Return a content below its title."""
    return content if title is None else f"{title}\n{content}"


def first(*moments: datetime | None) -> datetime | None:
    """Return the first that is known."""
    return next((moment for moment in moments if moment is not None), None)


# Of which kind the record is whose id a member holds, by the member's role.
TARGETS: Final[Mapping[Role, Kind]] = {
    Role.SOURCE: Kind.SOURCE,
    Role.CLUSTER: Kind.CLUSTER,
    Role.CHUNK: Kind.CHUNK,
    Role.ARTIFACT: Kind.ARTIFACT,
}
