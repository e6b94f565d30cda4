"""Extractions from sources: seven types with different content."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, make_dataclass
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args, get_origin, get_type_hints

from pydantic import Field

from cognition_engines.kinds.fields import Base, Count, Instant, Line, Lines, Model, Ref, Share, Text
from cognition_engines.kinds.spec import Facets, Kind, KindSpec, Role, named_ids, stated_access

LONG: Final = 100_000  # characters per text

Long: TypeAlias = Annotated[str, Text(LONG)]
Name: TypeAlias = Annotated[str, Line(500)]
Short: TypeAlias = Annotated[tuple[str, ...], Lines(20_000, 200)]
Item: TypeAlias = Annotated[str, Line(20_000)]
ExtractionType: TypeAlias = Literal["decision", "pattern", "warning", "methodology", "checklist", "persona", "workflow"]
EXTRACTION_TYPES: Final[tuple[str, ...]] = get_args(ExtractionType)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionContent(Model):
    """A question and the answer."""

    question: Long
    options: Short = ()
    considerations: Short = ()
    recommended_approach: Long | None = None
    context: Long | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternContent(Model):
    """A recurring solution."""

    name: Name
    problem: Annotated[str, Text(LONG, shortest=0)] = ""
    solution: Long
    code_example: Long | None = None
    context: Long | None = None
    trade_offs: Short = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningContent(Model):
    """A failure, and the signs."""

    title: Name
    description: Long
    symptoms: Short = ()
    consequences: Short = ()
    prevention: Long | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodStep(Model):
    """A methodology step."""

    order: Count | None = None
    title: Name
    description: Long | None = None
    tips: Short = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodologyContent(Model):
    """A method, step by step."""

    name: Name
    steps: Annotated[tuple[MethodStep | Item, ...], Field(max_length=200)] = ()
    prerequisites: Short = ()
    outputs: Short = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistItem(Model):
    """A thing to check."""

    item: Item
    required: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistContent(Model):
    """A list of checks."""

    name: Name
    items: Annotated[tuple[ChecklistItem | Item, ...], Field(max_length=200)] = ()
    context: Long | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaContent(Model):
    """A role with tasks."""

    role: Name
    responsibilities: Short = ()
    expertise: Short = ()
    communication_style: Long | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowStep(Model):
    """A workflow step."""

    order: Count | None = None
    action: Long
    outputs: Short = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowContent(Model):
    """A sequence of steps."""

    name: Name
    trigger: Long | None = None
    steps: Annotated[tuple[WorkflowStep | Item, ...], Field(max_length=200)] = ()
    decision_points: Short = ()


Content: TypeAlias = (
    DecisionContent
    | PatternContent
    | WarningContent
    | MethodologyContent
    | ChecklistContent
    | PersonaContent
    | WorkflowContent
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction(Base):
    """A statement extracted from a source. `CLASSES` has a class for each type."""

    type: ExtractionType
    content: Content
    topics: Annotated[tuple[str, ...], Lines(100, 64)] = ()
    source_id: Ref | None = None
    source_title: Name | None = None
    chunk_id: Ref | None = None
    chunk_ids: Annotated[tuple[str, ...], Lines(200, 500)] = ()
    context_level: Literal["chapter", "section", "chunk"] | None = None
    context_id: Ref | None = None
    confidence: Share | None = None
    schema_version: Annotated[str, Line(32)] | None = None
    extracted_at: Instant | None = None


def _class_of(type: str, content: type[Model]) -> type[Extraction]:
    """Make the extraction class for a type."""
    return make_dataclass(
        f"{type.capitalize()}Extraction",
        [("type", Literal[type], type), ("content", content)],
        bases=(Extraction,),
        namespace={"__doc__": f"An extraction of the type {type}.", "__module__": __name__},
        frozen=True,
        slots=True,
        kw_only=True,
    )


CONTENTS: Final[Mapping[str, type[Model]]] = dict(zip(EXTRACTION_TYPES, get_args(Content), strict=True))
CLASSES: Final[Mapping[str, type[Extraction]]] = {name: _class_of(name, content) for name, content in CONTENTS.items()}
HEADINGS: Final = ("question", "name", "title", "role")  # every extraction's content has exactly one


def heading(extraction: Extraction) -> str:
    """Return an extraction's name: the question, name, title or role."""
    found: str = next(getattr(extraction.content, name) for name in HEADINGS if hasattr(extraction.content, name))
    return found


@cache
def _content_hints(type: str) -> Mapping[str, Any]:
    content = CONTENTS.get(type)
    if content is None:
        return {}
    hints = get_type_hints(content)
    return {field.name: hints[field.name] for field in fields(content)}


def content_names(type: str) -> frozenset[str]:
    """Return the member names in a type's content."""
    return frozenset(_content_hints(type))


@cache
def content_lists(type: str) -> frozenset[str]:
    """Return the names of the list members in a type's content."""
    return frozenset(name for name, hint in _content_hints(type).items() if get_origin(hint) is tuple)


def _searched_texts(extraction: Extraction) -> Iterator[str]:
    """Yield the heading, then all other content texts in member order, then the topics."""
    yield heading(extraction)
    for field in fields(extraction.content):
        if field.name not in HEADINGS:
            yield from _texts_in(getattr(extraction.content, field.name))
    yield from extraction.topics


def _texts_in(value: object) -> Iterator[str]:
    """Yield the texts in a member: a text, a list of texts or objects, an object; no numbers and truth values."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts_in(item)
    elif isinstance(value, Model):
        for field in fields(value):
            yield from _texts_in(getattr(value, field.name))


def _is_extraction(names: frozenset[str], value: Mapping[str, Any]) -> bool:
    type = value.get("type")
    known = content_names(type) if isinstance(type, str) else frozenset()
    return bool(known) and ("content" in names or len(names & known) >= 2)


EXTRACTION: Final = KindSpec(
    kind=Kind.EXTRACTION,
    model=Extraction,
    given=Annotated[reduce(or_, CLASSES.values()), Field(discriminator="type")],
    table="extractions",
    made_prefix="ext_",
    spaces=("knowledge", "extractions"),
    identity=("source_id", "chunk_id", "content"),
    embedding_text=lambda extraction: "\n".join(_searched_texts(extraction)),
    title=heading,
    facets=lambda extraction: Facets(*stated_access(extraction), extraction.extracted_at),
    ids={"source_id": Role.SOURCE, "chunk_id": Role.CHUNK, "chunk_ids": Role.CHUNK},
    aliases=named_ids("extraction_id"),
    has_members=_is_extraction,
)
