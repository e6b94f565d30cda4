"""Conditions on records, from the parameters of methods."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from cognition_engines.models import (
    SENSITIVITIES,
    STATUSES,
    SUPERSEDED,
    AtMost,
    Conditions,
    HasAll,
    Not,
    between,
    between_dates,
    collapse_blanks,
    either,
    governing,
    in_force,
    microseconds,
    one_of,
)
from cognition_engines.unicode_forms import fold_text
from cstp.values.decision_reads import ListDecisionsParams
from cstp.values.decision_searches import QueryFilters
from cstp.values.everything import SearchParams
from cstp.values.memories import ListMemoriesParams
from cstp.values.recall import RecallParams

_YES_OR_NO: Final = {True: "yes", False: "no"}


def query_conditions(filters: QueryFilters) -> Conditions:
    """Return the conditions that a decision must meet now.

    Texts match whole values in any case. `current` leaves out decisions that are superseded, deprecated, rejected or
    expired; `as_of` keeps decisions that were in force then, and leaves out decisions without a date. The patterns of a
    decision must match at least one of `paths`.
    """
    return (
        *one_of("category", filters.category),
        *one_of("stakes", filters.stakes),
        *_of_status(filters.status),
        *between("confidence", filters.min_confidence, filters.max_confidence),
        *between_dates("at", filters.date_after, filters.date_before),
        *one_of("project", filters.project),
        *one_of("recorded_by", filters.agent),
        *one_of("feature", filters.feature),
        *one_of("pr", filters.pr),
        *((HasAll("tags", tuple(filters.tags)),) if filters.tags else ()),
        *one_of("has_outcome", None if filters.has_outcome is None else _YES_OR_NO[filters.has_outcome]),
        *in_force("until", datetime.now(UTC) if filters.current else None),
        *(() if filters.as_of is None else between_dates("since", None, filters.as_of)),
        *in_force("until", filters.as_of),
        *governing(tuple(filters.paths or ())),
    )


def list_conditions(params: ListDecisionsParams) -> Conditions:
    """Return the conditions that a listed decision must meet now."""
    overdue = () if params.overdue is None else overdue_at(datetime.now(UTC))
    return (
        *one_of("category", params.category),
        *one_of("stakes", params.stakes),
        *_of_status(None if params.status is None else [params.status]),
        *between_dates("at", params.date_from, params.date_to),
        *one_of("project", params.project),
        *one_of("recorded_by", params.agent),
        *((HasAll("tags", tuple(params.tags)),) if params.tags else ()),
        *one_of("has_outcome", None if params.has_outcome is None else _YES_OR_NO[params.has_outcome]),
        *in_force("until", datetime.now(UTC) if params.current else None),
        *((Not(overdue),) if params.overdue is False else overdue),
        *governing(tuple(params.paths or ())),
    )


def _of_status(texts: Sequence[str] | None) -> Conditions:
    """Return the condition that the shown status is among the texts, or the file's words if they are no status."""
    words = [text for text in texts or () if fold_text(collapse_blanks(text)) not in STATUSES]
    shown, stated = one_of("status", texts), one_of("status_text", words)
    return shown if not words else either(shown, stated)


def overdue_at(moment: datetime) -> Conditions:
    """Return the conditions for a decision overdue for review: with a `review_by` before the moment.

    It also has no outcome, and is not superseded.
    """
    return (
        AtMost("review_by", microseconds(moment) - 1),
        *one_of("has_outcome", _YES_OR_NO[False]),
        Not(one_of("status", SUPERSEDED)),
    )


def memory_conditions(params: ListMemoriesParams | RecallParams | SearchParams) -> Conditions:
    """Return the conditions that a record must meet now, on fields common to all kinds of records.

    A given condition leaves out records without the field; a `min_importance` of 0 is no condition. `current` leaves
    out superseded memories, with their passages and events, and decisions out of force.
    """
    level = None if params.sensitivity is None else SENSITIVITIES[params.sensitivity]
    author = None if params.author is None else collapse_blanks(params.author)
    people = tuple(map(collapse_blanks, params.participants or ()))
    return (
        *in_force("until", datetime.now(UTC) if params.current else None),
        *one_of("context", params.context),
        *one_of("system", params.source),
        *between("sensitivity", level, level),
        *between("importance", params.min_importance or None, None),
        *between_dates("at", params.date_from, params.date_to),
        *one_of("project", params.project),
        *one_of("author", author),
        *((HasAll("people", people),) if people else ()),
    )
