"""Member names of records, ours in both spellings and those of other systems, and the kinds they imply.

Another system's name counts only if our own is not given; else it is kept in the metadata, as are members describing
that system's storage. Only vectors are dropped.
"""

import re
from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from pathlib import PurePath
from typing import Final

from pydantic.alias_generators import to_camel, to_snake

from cognition_engines.drafts.plain_values import Value
from cognition_engines.ingest.statuses import is_of_decisions
from cognition_engines.kinds.artifacts import CONVERSATION
from cognition_engines.kinds.decisions import GivenDecision
from cognition_engines.kinds.extractions import EXTRACTION_TYPES, content_names
from cognition_engines.kinds.registry import DETECTED, SPECS
from cognition_engines.kinds.spec import KIND_NAMES, Kind

VECTORS: Final = frozenset({"embedding", "embeddings", "vector", "centroid_768d", "centroid_5d", "context_embedding"})
# Members of other systems about their storage, in records of any kind or of a single kind.
_STORAGE: Final = VECTORS | frozenset(
    {"artifact_uid", "content_hash", "content_type", "embedding_dimensions", "embedding_model", "embedding_provider"}
    | {"embedding_status", "extraction_run_id", "ingested_at", "is_chunked", "is_latest", "last_embedded_at"}
    | {"last_error", "normalized_name", "num_chunks", "project_id", "retry_count", "revision_id", "schema_version"}
    | {"token_count", "updated_at", "vector_id"}
)
# Content members of an extraction that other systems write next to the content, or into it.
_CONTENT_NAMES: Final = {"tradeoffs": "trade_offs"}
_TITLE: Final = "extraction_title"  # another system's name for the content
_BESIDE: Final = frozenset({"context_level", "context_id", "chunk_ids"})  # of an extraction, which others write into it
KIND: Final = "kind"  # the member naming it
_OF_DECISIONS: Final = frozenset(
    {"alternatives", "considered_options", "decided_by", "decision", "rationale", "reasons", "stakes", "supersedes"}
    | {"superseded_by", "context_and_problem_statement", "decision_drivers", "decision_outcome"}
)
_OF_OTHERS_TOO: Final = frozenset({"category", "confidence", "outcome"})
_TITLES: Final = frozenset({"title", "decision"})
_DECISIONS: Final = frozenset({"decisions", "adrs"})


class DuplicateField(Exception):
    """A member given in both spellings, or in two places with different values; the message begins with its `name`."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} {reason}")
        self.name = name


@dataclass(frozen=True, slots=True)
class Members:
    """A record's members by our names, and members without a name of ours, under their original names.

    `storage` are the latter members that describe another system's storage.
    """

    known: Mapping[str, Value]
    others: Mapping[str, Value]
    storage: frozenset[str]


@lru_cache(maxsize=1024)
def snake(spelling: str) -> str:
    """Return a camelCase name in snake_case; any other name unchanged."""
    name = to_snake(spelling)
    return name if to_camel(name) == spelling else spelling


@cache
def own_names(kind: Kind) -> frozenset[str]:
    """Return the names of a kind's members in files, in snake_case."""
    names = {field.name for field in fields(GivenDecision if kind is Kind.DECISION else SPECS[kind].model)}
    return frozenset(names | {"content"} if kind is Kind.SOURCE else names)


def split_members(members: Mapping[str, Value], names: frozenset[str]) -> tuple[dict[str, Value], dict[str, Value]]:
    """Split members: those with the names, in either spelling, by name; and all others. Raise `DuplicateField`."""
    known: dict[str, Value] = {}
    others: dict[str, Value] = {}
    for spelling, value in members.items():
        name = snake(spelling)
        if name not in names:
            others[spelling] = value
        elif name in known:
            raise DuplicateField(name, "is given in both spellings")
        else:
            known[name] = value
    return known, others


def read_members(kind: Kind, given: Mapping[str, Value]) -> Members:
    """Return a record's members by our names for its kind. Raise `DuplicateField`."""
    known, others = split_members(given, own_names(kind))
    known = {name: value for name, value in known.items() if value is not None}
    spelled = _find_spellings(others, SPECS[kind].aliases.keys())
    for other, name in SPECS[kind].aliases.items():
        if other in spelled and known.get(name) is None and others[spelled[other]] is not None:
            known[name] = others.pop(spelled.pop(other))
    if kind is Kind.EXTRACTION:
        known, others = _with_content(known, others)
    if kind is Kind.TURN and others.get("context") == CONVERSATION:
        del others["context"]  # every turn's
    others = {name: value for name, value in others.items() if value is not None}
    return Members(known, others, frozenset(name for name in others if snake(name) in _tolerated_names(kind)))


def _find_spellings(members: Mapping[str, Value], names: AbstractSet[str]) -> dict[str, str]:
    """Return the given spellings of the names. Raise `DuplicateField`."""
    spelled: dict[str, str] = {}
    for spelling in members:
        if (name := snake(spelling)) in names:
            if name in spelled:
                raise DuplicateField(name, "is given in both spellings")
            spelled[name] = spelling
    return spelled


@cache
def _tolerated_names(kind: Kind) -> frozenset[str]:
    """Return other systems' names allowed next to ours."""
    title = {_TITLE} if kind is Kind.EXTRACTION else frozenset()
    return _STORAGE | SPECS[kind].storage | title | SPECS[kind].aliases.keys() - {"text", "markdown"}


def _with_content(known: dict[str, Value], others: dict[str, Value]) -> tuple[dict[str, Value], dict[str, Value]]:
    """Return an extraction whose content is next to its type, or contains members that belong outside it."""
    type, content = known.get("type"), known.get("content")
    if not isinstance(type, str) or type not in EXTRACTION_TYPES:
        return known, others
    names = content_names(type)
    if isinstance(content, dict):
        inner, strange = split_members(content, names | _BESIDE)
        for name in sorted(_BESIDE & inner.keys()):
            value = inner.pop(name)
            if value is not None and known.setdefault(name, value) != value:
                raise DuplicateField(name, "is given in content and outside it, and the two differ")
    elif content is None:
        inner, others = split_members(others, names)
        strange = {name: others.pop(name) for name in list(others) if name in _CONTENT_NAMES}
    else:
        return known, others
    for spelling in [name for name in strange if name in _CONTENT_NAMES]:
        if inner.get(_CONTENT_NAMES[spelling]) is None:
            inner[_CONTENT_NAMES[spelling]] = strange.pop(spelling)
    heading = next(name for name in ("question", "name", "title", "role") if name in names)
    for title in [of.pop(spelling) for of in (others, strange) for spelling in _find_spellings(of, {_TITLE}).values()]:
        if title is None:
            continue
        if inner.get(heading) is None:
            inner[heading] = title
        elif title != inner[heading] and others.setdefault(_TITLE, title) != title:
            raise DuplicateField(_TITLE, "is given in content and outside it, and the two differ")
    return known | {"content": {**inner, **strange}}, others


def named_kind(value: Mapping[str, Value]) -> str | None:
    """Return the kind named by an object, known or not; None if it names none."""
    kind = value.get(KIND)
    return kind if isinstance(kind, str) else None


def kind_of_members(value: Value) -> Kind | None:
    """Return the kind whose members an object has, a decision last; None when it is no record."""
    if not isinstance(value, dict):
        return None
    names = frozenset(map(snake, (name for name, member in value.items() if member is not None)))
    found = (kind for kind in DETECTED if SPECS[kind].has_members(names, value))
    return next(found, Kind.DECISION if _is_decision(value) else None)


def is_record(value: Value, *, of_decisions: bool = False) -> bool:
    """Return whether an object is a record of a known kind, which makes its file a file of records.

    `of_decisions` says that the file or list calls itself decisions: then a title or a text is enough.
    """
    if not isinstance(value, dict):
        return False
    kind = named_kind(value)
    if kind is not None:
        return kind in KIND_NAMES
    return kind_of_members(value) is not None or (of_decisions and not (_TITLES | {"text"}).isdisjoint(value))


def is_called_decisions(path: str) -> bool:
    """Return whether a file name's last word says decisions, as in `decisions-2024.yaml`."""
    words = re.findall(r"[^\W\d_]+", PurePath(path).stem.casefold())
    return bool(words) and words[-1] in _DECISIONS


def _is_decision(value: Mapping[str, Value]) -> bool:
    """Return whether an object has a title or a text, and members rare in other records.

    An id, a title, a text, tags, a date and a project may belong to any record, and so may a status such as done or
    open. Two members common in other records count in an object with at most one unknown member, three in any; a rare
    status counts twice.
    """
    if "_id" in value and "title" not in value:
        return False  # a question of a test collection
    names = {snake(name) for name, member in value.items() if member is not None}
    status = value.get("status")
    own = len(names & _OF_DECISIONS)
    shared = len(names & _OF_OTHERS_TOO) + 2 * (isinstance(status, str) and is_of_decisions(status))
    if _TITLES.isdisjoint(names):
        return "text" in names and own >= 2
    unknown = len(names - _OF_DECISIONS - own_names(Kind.DECISION))
    return own > 0 or shared >= 3 or (shared == 2 and unknown <= 1)
