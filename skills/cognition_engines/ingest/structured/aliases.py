"""By which names the members of a record are known: ours in both spellings, and those of other systems.

Another system's name counts only where our own is not given; else it is kept in the metadata, as is what describes
that system's storage. Nothing is left out but vectors.
"""

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from typing import Final

from pydantic.alias_generators import to_camel, to_snake

from cognition_engines.drafts.plain_values import Value
from cognition_engines.kinds.artifacts import CONVERSATION
from cognition_engines.kinds.decisions import GivenDecision
from cognition_engines.kinds.extractions import EXTRACTION_TYPES, content_names
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.registry import SPECS

VECTORS: Final = frozenset({"embedding", "embeddings", "vector", "centroid_768d", "centroid_5d", "context_embedding"})
# What other systems note about their storage, in records of any kind and of one.
_STORAGE: Final = VECTORS | {
    "artifact_uid",
    "content_hash",
    "content_type",
    "embedding_dimensions",
    "embedding_model",
    "embedding_provider",
    "embedding_status",
    "extraction_run_id",
    "ingested_at",
    "is_chunked",
    "is_latest",
    "last_embedded_at",
    "last_error",
    "normalized_name",
    "num_chunks",
    "project_id",
    "retry_count",
    "revision_id",
    "schema_version",
    "token_count",
    "updated_at",
    "vector_id",
}
# Members of an extraction's content that other systems write next to it, or into it.
_CONTENT_NAMES: Final = {"tradeoffs": "trade_offs"}
_TITLE: Final = "extraction_title"  # another system's name for what the content is called
_BESIDE: Final = frozenset({"context_level", "context_id", "chunk_ids"})  # of an extraction, which others write into it


class DuplicateField(Exception):
    """A member is given in both spellings, or in two places that differ; the message begins with its `name`."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} {reason}")
        self.name = name


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a record by our names, and those that have none, under the names they came by.

    `storage` are those of the others that are data about another system's storage.
    """

    known: Mapping[str, Value]
    others: Mapping[str, Value]
    storage: frozenset[str]


@lru_cache(maxsize=1024)
def snake(spelling: str) -> str:
    """The name in snake_case of one in camelCase; any other stays as it is."""
    name = to_snake(spelling)
    return name if to_camel(name) == spelling else spelling


@cache
def own_names(kind: Kind) -> frozenset[str]:
    """The names of a kind's members in files, in snake_case."""
    names = {field.name for field in fields(GivenDecision if kind is Kind.DECISION else SPECS[kind].model)}
    return frozenset(names | {"content"} if kind is Kind.SOURCE else names)


def own(members: Mapping[str, Value], names: frozenset[str]) -> tuple[dict[str, Value], dict[str, Value]]:
    """The members that have one of these names in either spelling, by name; and all others. Raises `Twice`."""
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
    """The members of a record of a kind by our names. Raises `Twice`."""
    known, others = own(given, own_names(kind))
    known = {name: value for name, value in known.items() if value is not None}
    spelled = _spelled(others, SPECS[kind].aliases.keys())
    for other, name in SPECS[kind].aliases.items():
        if other in spelled and known.get(name) is None and others[spelled[other]] is not None:
            known[name] = others.pop(spelled.pop(other))
    if kind is Kind.EXTRACTION:
        known, others = _with_content(known, others)
    if kind is Kind.TURN and others.get("context") == CONVERSATION:
        del others["context"]  # that of every turn
    others = {name: value for name, value in others.items() if value is not None}
    return Members(known, others, frozenset(name for name in others if snake(name) in _tolerated(kind)))


def _spelled(members: Mapping[str, Value], names: AbstractSet[str]) -> dict[str, str]:
    """How those of the names that are given are spelled. Raises `Twice`."""
    spelled: dict[str, str] = {}
    for spelling in members:
        if (name := snake(spelling)) in names:
            if name in spelled:
                raise DuplicateField(name, "is given in both spellings")
            spelled[name] = spelling
    return spelled


@cache
def _tolerated(kind: Kind) -> frozenset[str]:
    """Other systems' names that may stand next to ours, so that both are given."""
    title = {_TITLE} if kind is Kind.EXTRACTION else frozenset()
    return _STORAGE | SPECS[kind].storage | title | SPECS[kind].aliases.keys() - {"text", "markdown"}


def _with_content(known: dict[str, Value], others: dict[str, Value]) -> tuple[dict[str, Value], dict[str, Value]]:
    """An extraction whose content stands next to its type, or holds what belongs outside it."""
    type, content = known.get("type"), known.get("content")
    if not isinstance(type, str) or type not in EXTRACTION_TYPES:
        return known, others
    names = content_names(type)
    if isinstance(content, dict):
        inner, strange = own(content, names | _BESIDE)
        for name in sorted(_BESIDE & inner.keys()):
            value = inner.pop(name)
            if value is not None and known.setdefault(name, value) != value:
                raise DuplicateField(name, "is given in content and outside it, and the two differ")
    elif content is None:
        inner, others = own(others, names)
        strange = {name: others.pop(name) for name in list(others) if name in _CONTENT_NAMES}
    else:
        return known, others
    for spelling in [name for name in strange if name in _CONTENT_NAMES]:
        if inner.get(_CONTENT_NAMES[spelling]) is None:
            inner[_CONTENT_NAMES[spelling]] = strange.pop(spelling)
    heading = next(name for name in ("question", "name", "title", "role") if name in names)
    for title in [of.pop(spelling) for of in (others, strange) for spelling in _spelled(of, {_TITLE}).values()]:
        if title is None:
            continue
        if inner.get(heading) is None:
            inner[heading] = title
        elif title != inner[heading] and others.setdefault(_TITLE, title) != title:
            raise DuplicateField(_TITLE, "is given in content and outside it, and the two differ")
    return known | {"content": {**inner, **strange}}, others
