"""Conditions on facets common to all records as SQL over `records`, in addition to columns and single records."""

from collections.abc import Mapping
from typing import Any, Final, assert_never

import orjson
import sqlalchemy as sa

from cognition_engines.kinds.spec import KINDS
from cognition_engines.models import AtLeast, AtMost, Condition, Conditions, Governs, HasAll, HasAny, Not, OneOf
from cognition_engines.store.schema import records
from cognition_engines.unicode_forms import fold_text

_LABELS: Final[Mapping[str, bool]] = {
    "project": False,
    "context": True,
    "system": True,
    "author": True,
}  # the value says if the column is stored folded
_NUMBERS: Final = ("at", "importance", "parent", "sensitivity", "until")


def where(conditions: Conditions) -> list[sa.ColumnElement[bool]]:
    """Return conditions on a row of `records`. Raise ValueError for a column that some records lack."""
    return [_condition_sql(condition) for condition in conditions]


def _condition_sql(condition: Condition) -> sa.ColumnElement[bool]:
    match condition:
        case OneOf(columns, texts):
            return sa.or_(*(_one_of(column, texts) for column in columns))
        case AtLeast(column, value):
            return _number(column) >= value
        case AtMost(column, value):
            return _number(column) <= value
        case HasAll(name, texts):
            return sa.and_(sa.true(), *(_holds(name, text) for text in texts))
        case HasAny(name, texts):
            return sa.or_(sa.false(), *(_holds(name, text) for text in texts))
        case Governs(name, _):
            return _holds(name, "")
        case Not(conditions):
            # NOT of unknown, if a number is missing, would be unknown as well
            return sa.case((sa.and_(sa.true(), *where(conditions)), sa.false()), else_=sa.true())
        case _:
            assert_never(condition)


def _one_of(column: str, texts: tuple[str, ...]) -> sa.ColumnElement[bool]:
    if column == "kind":
        return records.c.kind.in_([int(KINDS[text]) for text in texts if text in KINDS])
    if column not in _LABELS:
        raise ValueError(f"{column}: not every record has this column")
    return records.c[column].in_([fold_text(text) if _LABELS[column] else text for text in texts])


def _holds(name: str, text: str) -> sa.ColumnElement[bool]:
    if name != "people":
        raise ValueError(f"{name}: not every record has this set")
    # a list as JSON, in which a whole text is between quotation marks
    return records.c.people.contains(orjson.dumps(fold_text(text)).decode(), autoescape=True)


def _number(column: str) -> sa.ColumnElement[Any]:
    if column not in _NUMBERS:
        raise ValueError(f"{column}: not every record has this column")
    return records.c[column]
