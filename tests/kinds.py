"""Records of all kinds for tests: generated with any fields, and small handmade ones."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le, MaxLen
from hypothesis import strategies as st
from pydantic import JsonValue
from pydantic_core import PydanticCustomError

from cognition_engines.kinds.extractions import CLASSES
from cognition_engines.kinds.fields import Line, Lines, Text
from cognition_engines.kinds.registry import SPECS, Record, add_prefix, validate_record
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import SUPERSEDED, Decision, Sensitivity
from cognition_engines.store.values import Entry, FloatArray
from cstp.values.decisions import Reason

LETTERS = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])
LINE = st.text(LETTERS, min_size=1, max_size=12).filter(lambda text: not text.isspace())
PROSE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)
INSTANT = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
JSON = st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | PROSE, lambda inner: st.lists(inner))
LARGEST = 2**31 - 1


def entry(kind: Kind, id: str | int, vectors: FloatArray | None = None, **members: Any) -> Entry:
    """Return a record from members, which are the digest; `id` without the prefix."""
    digest = repr(sorted(members.items()))
    origin = Origin("/notes/memory.jsonl", 0, None, digest)
    if kind is Kind.DECISION:
        return Entry(Decision(id=str(id), **members), origin, vectors)
    named = id if kind is Kind.EPISODE else add_prefix(kind, str(id))
    return Entry(validate_record(kind, {"id": named, **members}), origin, vectors)


def records(kind: Kind, id: str | int) -> st.SearchStrategy[Record]:
    """Draw any record of a kind with this id."""
    if kind is Kind.EXTRACTION:
        return st.one_of([_model(model, id=st.just(id)) for model in CLASSES.values()])
    made = _model(SPECS[kind].model, id=st.just(id))
    return made.map(as_shown) if kind is Kind.DECISION else made


def as_shown(decision: Decision) -> Decision:
    """Return a decision as answered: superseded if it names a successor, though that is not stored."""
    return replace(decision, status=SUPERSEDED) if decision.superseded_by else decision


def _model(model: type[Any], **given: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(model, include_extras=True)
    members = {
        name: _field(name, hints[name]) for name in (field.name for field in fields(model)) if name not in given
    } | given
    return st.fixed_dictionaries(members).filter(lambda values: _allowed(model, values)).map(lambda one: model(**one))


def _allowed(model: type[Any], values: Mapping[str, Any]) -> bool:
    try:
        model(**values)
    except PydanticCustomError:
        return False
    return True


def _field(name: str, hint: Any) -> st.SearchStrategy[Any]:
    if name == "turn_index":
        return st.integers(0, LARGEST)
    if name == "total_chunks":
        return st.just(LARGEST)
    return _value(hint)


def _value(hint: Any) -> st.SearchStrategy[Any]:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return st.one_of([_value(part) for part in parts])
    if origin is Annotated:
        return _annotated(parts[0], parts[1:])
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is tuple:
        return st.lists(_value(parts[0]), max_size=3).map(tuple)
    if is_dataclass(hint) and hint is not Reason:
        return _model(hint)
    if origin is dict:
        return st.dictionaries(PROSE, JSON, max_size=2)
    plain: Mapping[Any, st.SearchStrategy[Any]] = {
        str: PROSE,
        type(None): st.none(),
        bool: st.booleans(),
        int: st.integers(0, LARGEST),
        float: st.floats(0, 1),
        datetime: INSTANT,
        Sensitivity: st.sampled_from(Sensitivity),
        Reason: st.builds(Reason, type=LINE, text=st.none() | PROSE),
        JsonValue: JSON,
    }
    return plain[hint]


def _annotated(hint: Any, notes: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    for note in notes:
        if isinstance(note, Line):
            return LINE
        if isinstance(note, Text):
            return PROSE
        if isinstance(note, Lines):
            return st.lists(LINE, min_size=note.least, max_size=min(note.most, note.least + 2)).map(tuple)
    bounds = [bound for note in notes for bound in getattr(note, "metadata", ())]
    low = max((bound.ge for bound in bounds if isinstance(bound, Ge)), default=None)
    high = min((bound.le for bound in bounds if isinstance(bound, Le)), default=None)
    if hint is int:
        return st.integers(0 if low is None else low, LARGEST if high is None else high)
    if hint is float:
        return st.floats(low, high)
    if any(isinstance(bound, MaxLen) for bound in bounds) and hint is str:
        return LINE
    return _value(hint)
