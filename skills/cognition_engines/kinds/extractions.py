"""What was drawn from a source: seven types, each with content of its own."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from cognition_engines.kinds.fields import Base, Count, Instant, Line, Lines, Model, Ref, Share, Text

LONG: Final = 100_000  # characters of a text of the content

Long: TypeAlias = Annotated[str, Text(LONG)]
Name: TypeAlias = Annotated[str, Line(500)]
Short: TypeAlias = Annotated[tuple[str, ...], Lines(20_000, 200)]
Item: TypeAlias = Annotated[str, Line(20_000)]
ExtractionType: TypeAlias = Literal["decision", "pattern", "warning", "methodology", "checklist", "persona", "workflow"]
EXTRACTION_TYPES: Final = ("decision", "pattern", "warning", "methodology", "checklist", "persona", "workflow")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionContent(Model):
    """A question and how to answer it."""

    question: Long
    options: Short = ()
    considerations: Short = ()
    recommended_approach: Long | None = None
    context: Long | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternContent(Model):
    """A solution that comes back."""

    name: Name
    problem: Annotated[str, Text(LONG, shortest=0)] = ""
    solution: Long
    code_example: Long | None = None
    context: Long | None = None
    trade_offs: Short = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningContent(Model):
    """What goes wrong, and how it shows."""

    title: Name
    description: Long
    symptoms: Short = ()
    consequences: Short = ()
    prevention: Long | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodStep(Model):
    """One step of a methodology."""

    order: Count | None = None
    title: Name
    description: Long | None = None
    tips: Short = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodologyContent(Model):
    """How something is done, step by step."""

    name: Name
    steps: Annotated[tuple[MethodStep | Item, ...], Field(max_length=200)] = ()
    prerequisites: Short = ()
    outputs: Short = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistItem(Model):
    """One thing to check."""

    item: Item
    required: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistContent(Model):
    """What to check."""

    name: Name
    items: Annotated[tuple[ChecklistItem | Item, ...], Field(max_length=200)] = ()
    context: Long | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaContent(Model):
    """Who does something."""

    role: Name
    responsibilities: Short = ()
    expertise: Short = ()
    communication_style: Long | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowStep(Model):
    """One step of a workflow."""

    order: Count | None = None
    action: Long
    outputs: Short = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowContent(Model):
    """What follows on what."""

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
    """What was drawn from a source. Each type is a class of its own, below."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionExtraction(Extraction):
    """An extraction of the type decision."""

    type: Literal["decision"] = "decision"
    content: DecisionContent


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternExtraction(Extraction):
    """An extraction of the type pattern."""

    type: Literal["pattern"] = "pattern"
    content: PatternContent


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningExtraction(Extraction):
    """An extraction of the type warning."""

    type: Literal["warning"] = "warning"
    content: WarningContent


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodologyExtraction(Extraction):
    """An extraction of the type methodology."""

    type: Literal["methodology"] = "methodology"
    content: MethodologyContent


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistExtraction(Extraction):
    """An extraction of the type checklist."""

    type: Literal["checklist"] = "checklist"
    content: ChecklistContent


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaExtraction(Extraction):
    """An extraction of the type persona."""

    type: Literal["persona"] = "persona"
    content: PersonaContent


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowExtraction(Extraction):
    """An extraction of the type workflow."""

    type: Literal["workflow"] = "workflow"
    content: WorkflowContent


AnyExtraction: TypeAlias = (
    DecisionExtraction
    | PatternExtraction
    | WarningExtraction
    | MethodologyExtraction
    | ChecklistExtraction
    | PersonaExtraction
    | WorkflowExtraction
)
