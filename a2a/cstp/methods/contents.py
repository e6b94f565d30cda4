"""What an extraction holds, by its type. Members are null or empty where the record does not say."""

from typing import TypeAlias

from cstp.contract import WireResult


class DecisionContent(WireResult):
    """A question and how to answer it."""

    question: str
    options: list[str]
    considerations: list[str]
    recommended_approach: str | None
    context: str | None


class PatternContent(WireResult):
    """A solution that comes back."""

    name: str
    problem: str
    solution: str
    code_example: str | None
    context: str | None
    trade_offs: list[str]


class WarningContent(WireResult):
    """What goes wrong, and how it shows."""

    title: str
    description: str
    symptoms: list[str]
    consequences: list[str]
    prevention: str | None


class MethodStep(WireResult):
    """One step of a methodology."""

    order: int | None
    title: str
    description: str | None
    tips: list[str]


class MethodologyContent(WireResult):
    """How something is done; a step is an object or a text, as it was recorded."""

    name: str
    steps: list[MethodStep | str]
    prerequisites: list[str]
    outputs: list[str]


class ChecklistItem(WireResult):
    """One thing to check."""

    item: str
    required: bool | None


class ChecklistContent(WireResult):
    """What to check; an item is an object or a text, as it was recorded."""

    name: str
    items: list[ChecklistItem | str]
    context: str | None


class PersonaContent(WireResult):
    """Who does something."""

    role: str
    responsibilities: list[str]
    expertise: list[str]
    communication_style: str | None


class WorkflowStep(WireResult):
    """One step of a workflow."""

    order: int | None
    action: str
    outputs: list[str]


class WorkflowContent(WireResult):
    """What follows on what; a step is an object or a text, as it was recorded."""

    name: str
    trigger: str | None
    steps: list[WorkflowStep | str]
    decision_points: list[str]


AnyContent: TypeAlias = (
    DecisionContent
    | PatternContent
    | WarningContent
    | MethodologyContent
    | ChecklistContent
    | PersonaContent
    | WorkflowContent
)
