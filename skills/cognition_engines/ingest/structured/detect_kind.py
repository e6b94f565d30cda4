"""What kind of record an object is: the one it names, or the one that its members are those of."""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

from cognition_engines.drafts.plain_values import Value
from cognition_engines.ingest.statuses import is_of_decisions
from cognition_engines.ingest.structured.aliases import own_names, snake
from cognition_engines.kinds.kind import KIND_NAMES, Kind
from cognition_engines.kinds.registry import DETECTED, SPECS

KIND: Final = "kind"  # the member that names it
_OF_DECISIONS: Final = frozenset(
    {"alternatives", "considered_options", "decided_by", "decision", "rationale", "reasons", "stakes", "supersedes"}
    | {"superseded_by", "context_and_problem_statement", "decision_drivers", "decision_outcome"}
)
_OF_OTHERS_TOO: Final = frozenset({"category", "confidence", "outcome"})
_TITLES: Final = frozenset({"title", "decision"})
_DECISIONS: Final = frozenset({"decisions", "adrs"})


def named_kind(value: Mapping[str, Value]) -> str | None:
    """The kind that an object names, known or not; None when it names none."""
    kind = value.get(KIND)
    return kind if isinstance(kind, str) else None


def kind_of_members(value: Value) -> Kind | None:
    """The kind whose members an object has, a decision last; None when it is no record."""
    if not isinstance(value, dict):
        return None
    names = frozenset(map(snake, (name for name, member in value.items() if member is not None)))
    found = (kind for kind in DETECTED if SPECS[kind].has_members(names, value))
    return next(found, Kind.DECISION if _is_decision(value) else None)


def is_record(value: Value, *, of_decisions: bool = False) -> bool:
    """Return whether an object is a record of a known kind, so that its file is one of records.

    `of_decisions` says that the file or list calls itself decisions: then a title or a text is enough.
    """
    if not isinstance(value, dict):
        return False
    kind = named_kind(value)
    if kind is not None:
        return kind in KIND_NAMES
    return kind_of_members(value) is not None or (of_decisions and not (_TITLES | {"text"}).isdisjoint(value))


def is_called_decisions(path: str) -> bool:
    """Return whether the last word of the name of a file says decisions, as in `decisions-2024.yaml`."""
    words = re.findall(r"[^\W\d_]+", PurePath(path).stem.casefold())
    return bool(words) and words[-1] in _DECISIONS


def _is_decision(value: Mapping[str, Value]) -> bool:
    """Return whether an object has a title or a text, and members that little else but a decision has.

    An id, a title, a text, tags, a date and a project are of anything, and so is a status such as done or open. Two
    members that much else has as well count in an object with at most one unknown member, three in any; a status that
    few others have counts twice.
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
