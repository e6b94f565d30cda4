"""Decisions, their links and their origins as values of answers."""

from pathlib import PurePosixPath
from typing import Any

from cognition_engines.kinds.decisions import DecisionLink
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision
from cognition_engines.store.reads.decisions import FoundLinks
from cstp.values.decision_links import DecisionEdge, EndedEdge
from cstp.values.decision_searches import DecisionLinks, Provenance
from cstp.values.decisions import DateSource


def decision_members(decision: Decision) -> dict[str, Any]:
    """Return the decision's members common to all answers, without the id."""
    return {
        "title": decision.title,
        "category": decision.category,
        "confidence": decision.confidence,
        "stakes": decision.stakes,
        "status": decision.status,
        "outcome": decision.outcome,
        "date": decision.date,
        "date_source": date_source(decision),
    }


def date_source(record: object) -> DateSource | None:
    """Return the source of a decision's date; None without a date in a file, and for other records."""
    if not isinstance(record, Decision) or record.date is None or record.details is not None:
        return None
    return record.date_source or "file"


def edge_of(link: DecisionLink) -> DecisionEdge:
    """Return a link as a value of answers."""
    return DecisionEdge(
        source_id=link.source,
        target_id=link.target,
        edge_type=link.type,
        weight=link.weight,
        context=link.context,
        created_by=link.agent,
        created_at=link.at,
    )


def ended_edge_of(link: DecisionLink) -> EndedEdge:
    """Return an ended link as a value of answers."""
    assert link.ended_at is not None
    assert link.ended_by is not None
    return EndedEdge(**edge_of(link).model_dump(), ended_at=link.ended_at, ended_by=link.ended_by)


def links_of_match(found: FoundLinks, *, edges: bool) -> DecisionLinks:
    """Return a decision's supersessions, with all links if `edges` are wanted."""
    return DecisionLinks(
        supersedes=list(found.supersedes),
        superseded_by=list(found.superseded_by),
        edges=[edge_of(one) for one in found.edges] if edges else None,
    )


def provenance_of_match(decision: Decision, origin: Origin) -> Provenance:
    """Return the project, the file and the stated status of a decision."""
    # paths of files on the server are not for callers; the address of a collection is
    known = origin.path and origin.path != origin.source
    path = origin.path if known else PurePosixPath(origin.source).name
    return Provenance(project=decision.project, path=path, status_text=decision.status_text)
