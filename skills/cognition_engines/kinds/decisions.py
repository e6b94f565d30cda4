"""Decisions, their reviews and links: their names, and how references resolve.

The names are texts in the table `links`: an id; an id in a file, within the file's repository, and everywhere if it is
unique; a file's name, stem and number within their folder. Callers use stem and number in any folder.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, JsonValue, WithJsonSchema

from cognition_engines.kinds.affects import GivenParts
from cognition_engines.kinds.fields import (
    MAX_MEMBERS,
    MAX_METADATA,
    MAX_REF,
    Id,
    Instant,
    Level,
    Line,
    Lines,
    Metadata,
    Model,
    OrText,
    Share,
    Text,
    a_line,
)
from cognition_engines.kinds.spec import (
    MAX_ID,
    Facets,
    Kind,
    KindSpec,
    Origin,
    Reference,
    Role,
    first_not_none,
    short_key,
    stated_access,
)
from cognition_engines.models import SENSITIVITIES, SUPERSEDED, Decision
from cognition_engines.unicode_forms import fold_text
from cstp.values.decisions import Evidence

BY_ID: Final = "id "  # before an id as answers have it
ANYWHERE: Final = "given "  # before an id given by a file: a name that counts if exactly one decision has it
IN_ANY_FOLDER: Final = "file "  # before a file's stem or number
ENDED: Final = (SUPERSEDED, "deprecated", "rejected")  # statuses of decisions not in force
UNDECIDED: Final = ("draft", "proposed", "pending")  # statuses that agents may set for their own decisions
EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ENDINGS: Final = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt")  # of single-decision files
_PAGES: Final = ("readme", "index")  # such a file has its folder's name
_NUMBERED: Final = re.compile(r"(?:[a-z]{1,10}[-_ ]?)?(?!\d{4}-\d{2}-\d{2})(0*(\d{1,6}))(?!\d)")
_NUMBER: Final = re.compile(r"(?:[a-z]{1,10}[ #._-]{0,2})?#?0*(\d{1,6})")
_ASKED: Final = re.compile(
    r"(?:(?:adr|madr|rfc|dr|ad|decision|record|number|no)[ #._-]{0,2})?#?0*(\d{1,6})(?:[-_][^\W\d_][^\s/]{0,200})?"
)
_STEM: Final = re.compile(r"(?:(?:adr|madr|rfc|dr|ad|decision)[-_]?)?0*(\d{1,6})[-_][^\W\d_](?:[^.]|\.(?!\w{2,8}$))*")
_NONE: Final = frozenset(  # of templates and forms
    {"", "?", "0", "n/a", "na", "nil", "no", "none", "null", "false", "tbc", "tbd", "unknown", "not yet", "none yet"}
    | {"not applicable", "nothing", "n", "anything", "keine", "keiner", "noch keine", "aucun", "aucune", "ninguna"}
    | {"ninguno", "nessuna", "nessuno", "nenhum", "nenhuma", "geen", "ingen", "нет", "无", "無", "なし", "없음"}
)
# The number of a form that was never filled in, as ADR-XXXX, NNNN-title.md or ADR-<number>.
_BLANK_NUMBER: Final = re.compile(
    r"(?:[a-z]{1,10}[ _-]?)?(?:x{2,8}|n{2,8}|#{1,8}|\?{1,8}|[<{][a-z _-]{1,30}[>}])(?![^\W_])", re.IGNORECASE
)
_AROUND: Final = " \t.,;:!*_`~\"'“”()[]{}<>-–—"

TITLE_LENGTH: Final = 32_768  # as in calls, whose statement may be a single line
TEXT_LENGTH: Final = 1_000_000
LABEL_LENGTH: Final = 256  # characters of a category, a tag or a project, as in calls
MOST_TAGS: Final = 100  # as in calls
_Label: TypeAlias = Annotated[Annotated[str, Line(LABEL_LENGTH)] | None, Field(description=a_line(LABEL_LENGTH))]
_Refs: TypeAlias = Annotated[
    tuple[str, ...],
    Lines(MAX_REF, 64),
    Field(
        description="an id, a number or a file name, or a list of at most 64 of them, each of at most 200 characters"
    ),
]
LinkType: TypeAlias = Literal["supersedes", "depends_on", "relates_to", "contradicts", "refines", "caused_by", "blocks"]
ACYCLIC: Final[tuple[LinkType, ...]] = ("supersedes", "depends_on")  # of these a circle would mean nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenReason(Model):
    """A reason in a file."""

    type: Annotated[str, Line(64)]
    text: Annotated[str, Text(TEXT_LENGTH, shortest=0)] | None = None
    strength: Share | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenDecision(Model):
    """A decision in a file; a member's description completes "must be ..."."""

    id: Annotated[
        Id | None, Field(description="text of 1 to 200 printable characters without blanks, or an integer")
    ] = None
    title: Annotated[str, Line(TITLE_LENGTH), Field(description=a_line(TITLE_LENGTH))]
    text: Annotated[
        str, Text(TEXT_LENGTH, shortest=0), Field(description=f"text of at most {TEXT_LENGTH:,} characters")
    ] = ""
    category: _Label = None
    confidence: Annotated[Share | None, Field(description="a number from 0 to 1")] = None
    stakes: _Label = None
    status: _Label = None
    outcome: _Label = None
    date: Annotated[
        Instant | None,
        WithJsonSchema({"type": "string"}),
        Field(description="an ISO 8601 date or timestamp as text, of a year from 1900 to 2199"),
    ] = None
    reasons: Annotated[
        tuple[Annotated[GivenReason, OrText(lambda type: GivenReason(type=type), 64)], ...],
        Field(
            description="a list of reasons, each a type (not blank, at most 64 characters) or an object with type and, "
            "optionally, text and strength (0 to 1)"
        ),
    ] = ()
    tags: Annotated[
        tuple[str, ...],
        Lines(LABEL_LENGTH, MOST_TAGS),
        Field(
            description=f"a list of at most {MOST_TAGS} texts, each one line, not blank, of at most {LABEL_LENGTH} "
            "characters"
        ),
    ] = ()
    project: _Label = None
    sensitivity: Annotated[Level | None, Field(description="one of " + ", ".join(SENSITIVITIES))] = None
    supersedes: _Refs = ()
    superseded_by: _Refs = ()
    affects: GivenParts = ()
    metadata: Annotated[
        Metadata,
        Field(description=f"an object of at most {MAX_MEMBERS} members and {MAX_METADATA:,} characters as JSON"),
    ] = field(default_factory=dict[str, JsonValue])


def names_none(reference: str) -> bool:
    """Return whether a reference, in any markup, only says that there is none, or is the blank of a form."""
    text = reference.strip(_AROUND).casefold()
    return text in _NONE or any(map(_BLANK_NUMBER.match, (text, reference.strip())))


def names_of(id: str, origin: Origin) -> list[str]:
    """Return the names of a decision with this id and origin."""
    names = [f"{BY_ID}{id}"]
    if origin.given is not None:
        names += [in_repository(origin.repository, origin.given), f"{ANYWHERE}{origin.given}"]
    folder, stem, ending = _split_place(origin)
    if ending in _ENDINGS:
        names += [_path_within(folder, stem + ending), _path_within(folder, stem)]
        if number := _NUMBERED.match(stem):
            names.append(_path_within(folder, f"#{number[2]}"))
    return names


def is_shareable(name: str) -> bool:
    """Return whether several files may have this name, which then means none of them: an id in files, a number."""
    return name.startswith(ANYWHERE) or name.partition(" ")[2].startswith("#")


def named_by(reference: str, origin: Origin) -> list[str]:
    """Return the possible names for a reference from this origin, the likeliest first."""
    if len(reference) > MAX_ID:
        return []  # no record has such a name, and the index takes no longer names
    id = reference.strip()
    if "/" in id:
        named = in_repository(origin.repository, id), *_named_by_path(id, origin)
        return [*dict.fromkeys(named), f"{BY_ID}{id}", f"{ANYWHERE}{id}"]
    folder, text = _split_place(origin)[0], fold_text(id)
    names = [in_repository(origin.repository, id), _path_within(folder, text)]
    if number := _NUMBER.fullmatch(text) or _STEM.fullmatch(text):
        names.append(_path_within(folder, f"#{number[1]}"))
    return [*names, f"{BY_ID}{id}", f"{ANYWHERE}{id}"]


def asked_names(reference: str) -> list[str]:
    """Return the names, in any folder, that a caller may mean by a number, or the name or path of a decision's file.

    The likeliest comes first; any other text has none.
    """
    text = fold_text(reference.strip())
    _, stem, ending = _split_path(text)
    if ending in _ENDINGS:
        return [f"{IN_ANY_FOLDER}{stem}"] if len(stem) <= MAX_ID else []
    number = _ASKED.fullmatch(text)
    return [] if number is None else [f"{IN_ANY_FOLDER}{text}", f"{IN_ANY_FOLDER}#{number[1]}"]


def has_path(path: str, reference: str) -> bool:
    """Return whether a file has the path in a reference, from any folder, or the reference is no path."""
    parts = [part for part in fold_text(reference.strip()).split("/") if part not in ("", ".", "..")]
    pairs = zip(reversed(parts), reversed(fold_text(path).split("/")), strict=False)
    return _split_path(reference)[2] not in _ENDINGS or all(one == other for one, other in pairs)


def file_names(path: str) -> list[str]:
    """Return the names in any folder of a decision's file: stem and number."""
    _, stem, ending = _split_path(path)
    number = _NUMBERED.match(stem)
    return [f"{IN_ANY_FOLDER}{each}" for each in (stem, number and f"#{number[2]}") if each and ending in _ENDINGS]


def number_in(path: str) -> str | None:
    """Return the number in the name of a decision's file, as written; None without a number."""
    _, stem, ending = _split_path(path)
    number = _NUMBERED.match(stem)
    return None if number is None or ending not in _ENDINGS else number[1]


def _named_by_path(path: str, origin: Origin) -> Iterator[str]:
    """Yield the names for a path: in the file's folder if that ends as the path's, else from there or the root."""
    repository, own = origin.place
    own = posixpath.dirname(own)
    folder, name = posixpath.split(path)
    if name.lower().startswith(_PAGES):
        folder, name = posixpath.split(folder)
    here = posixpath.normpath(posixpath.join("/", repository, own))
    if (here + "/").endswith(posixpath.normpath(f"/{folder}") + "/") and not folder.startswith("."):
        folders = [(repository, own)]
    elif path.startswith("/"):
        folders = [(repository, folder.strip("/")), (repository, own)]
    else:
        roots = (own,) if folder.startswith(".") else (own, "")
        folders = [(repository, posixpath.normpath(posixpath.join(root, folder))) for root in roots]
        if repository.startswith("/"):  # each folder outside checkouts is a repository
            folders.append((posixpath.normpath(posixpath.join(here, folder)), ""))
    for root, inside in folders:
        yield _path_within(f"{root}\0{'' if inside == '.' else inside}", fold_text(name))


def _references(decision: Decision, origin: Origin) -> Iterator[Reference]:
    """Yield a decision's names, and all possible names for the references."""
    for name in names_of(str(decision.id), origin):
        yield Reference(Role.CALLED, Kind.DECISION, name)
    names, folder, stem = file_names(origin.place[1]), *_split_place(origin)[:2]
    number = decision.metadata.get("number")  # as the program adrs gives it
    if isinstance(number, int) and not _NUMBERED.match(stem):
        names += [_path_within(folder, f"#{number}"), f"{IN_ANY_FOLDER}#{number}"]
    for name in names:
        yield Reference(Role.CALLED, Kind.DECISION, name)
    for role, references in ((Role.SUPERSEDES, decision.supersedes), (Role.SUPERSEDED_BY, decision.superseded_by)):
        for reference in references:
            for name in named_by(reference, origin):
                yield Reference(role, Kind.DECISION, name)


def in_repository(repository: str, id: str) -> str:
    """Return the name of a decision with this id in a repository's file."""
    return f"{_folder_key(repository)} id {id}"


def of_any_repository(name: str) -> str | None:
    """Return the id in a name shared by every repository; None for another name."""
    for start in (BY_ID, ANYWHERE):
        if name.startswith(start):
            return name.removeprefix(start)
    return None


def _path_within(folder: str, name: str) -> str:
    return f"{_folder_key(folder)} {name}"


_folder_key: Final = lru_cache(1024)(short_key)  # decisions share few folders


def _split_place(origin: Origin) -> tuple[str, str, str]:
    """Return a file's folder in its repository, and in lower case the name without ending, and the ending."""
    folder, stem, ending = _split_path(origin.place[1])
    return f"{origin.place[0]}\0{folder}", stem, ending


def _split_path(path: str) -> tuple[str, str, str]:
    folder, file = posixpath.split(path)
    stem, ending = posixpath.splitext(fold_text(file))
    if stem in _PAGES and ending in _ENDINGS:
        folder, stem = posixpath.split(folder)
    return folder, fold_text(stem), ending


def _facets(decision: Decision) -> Facets:
    since = first_not_none(decision.valid_from, decision.date)
    until = EARLIEST if decision.status in ENDED else decision.valid_to  # when it ended is not known
    return Facets(*stated_access(decision), decision.date, context="decision", since=since, until=until)


DECISION: Final = KindSpec(
    kind=Kind.DECISION,
    model=Decision,
    given=GivenDecision,
    table="decisions",
    made_prefix="dec_",
    spaces=("decisions", "timeline"),
    embedding_text=lambda decision: f"{decision.title}\n{decision.text}",
    title=lambda decision: decision.title,
    shown_text=lambda decision: "\n\n".join(filter(None, (decision.title, decision.text))),
    facets=_facets,
    references=_references,
)


@dataclass(frozen=True, slots=True)
class ReviewContent:
    """A reviewer's statements other than the outcome; `affected_kpis` are numbers by name."""

    actual_result: str | None = None
    lessons: str | None = None
    notes: str | None = None
    affected_kpis: Mapping[str, float] = field(default_factory=dict)
    observed_at: datetime | None = None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Review:
    """A review. `self_review`: the reviewer recorded the decision; `number` counts from 1."""

    id: str
    number: int
    at: datetime
    agent: str
    via: str
    self_review: bool
    outcome: str
    previous_outcome: str | None
    content: ReviewContent


@dataclass(frozen=True, slots=True)
class DecisionLink:
    """A link made by an agent, with the ids of both ends.

    `effective_at` is the start of a supersession's effect; None without an effect, and for other types. `ended_at` and
    `ended_by` are set if an agent ended or replaced the link.
    """

    source: str
    target: str
    type: LinkType
    agent: str
    at: datetime
    weight: float | None = None
    context: str | None = None
    effective_at: datetime | None = None
    ended_at: datetime | None = None
    ended_by: str | None = None
