"""A decision that an agent states, as a title and a text, and how complete it is."""

from collections.abc import Iterator, Sequence
from typing import Final

from cognition_engines.models import Alternative, Reason
from cognition_engines.writing.requests import CompletenessScore, DecisionFields

RULE: Final = "completeness-1"
_LONG_TEXT: Final = 20  # characters
_LONG_CONTEXT: Final = 10


def title_and_text(fields: DecisionFields) -> tuple[str, str]:
    """The first line of the decision, and as Markdown all else that is searched."""
    title, _, rest = fields.decision.strip().partition("\n")
    parts = [
        rest.strip(),
        _section("Context and Problem Statement", fields.context),
        _section("Considered Options", "\n".join(_options(fields.alternatives))),
        _section("Reasons", "\n".join(_reasons(fields.reasons))),
        _section("Pattern", fields.pattern),
    ]
    return title.strip(), "\n\n".join(filter(None, parts))


def _section(heading: str, text: str | None) -> str:
    return f"## {heading}\n\n{text.strip()}" if text and text.strip() else ""


def _options(alternatives: Sequence[Alternative]) -> Iterator[str]:
    for each in alternatives:
        yield f"* {each.option}" if each.why is None else f"* {each.option}: {each.why}"


def _reasons(reasons: Sequence[Reason]) -> Iterator[str]:
    for each in reasons:
        yield f"* {each.type}" if each.text is None else f"* {each.type}: {each.text}"


def completeness(fields: DecisionFields, project: str | None) -> CompletenessScore:
    """The share of what makes a decision useful later that it has: RULE, whose parts add up to 1."""
    types = {reason.type for reason in fields.reasons}
    parts = (
        (0.15, fields.pattern is not None, "name the pattern that it follows"),
        (0.15, bool(fields.tags), "add tags"),
        (0.15, len(types) > 1, "give reasons of two types"),
        (0.10, bool(types), "give a reason"),
        (0.10, bool(fields.alternatives), "name an alternative, and why not"),
        (0.10, len(fields.decision) > _LONG_TEXT, "say in a sentence what was decided"),
        (0.10, len(fields.context or "") > _LONG_CONTEXT, "say what made it necessary"),
        (0.10, any((project, fields.feature, fields.pr, fields.file)), "say where it applies: project, feature, pr"),
        (0.05, fields.review_by is not None, "say when to look again: reviewIn"),
    )
    score = round(sum(share for share, has, _ in parts if has), 2)
    return CompletenessScore(score, RULE, tuple(advice for _, has, advice in parts if not has))
