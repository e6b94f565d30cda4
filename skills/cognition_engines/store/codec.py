"""Records to table cells and back, from each kind's single definition."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np
import orjson
from pydantic import TypeAdapter

from cognition_engines.errors import PartRaised
from cognition_engines.kinds.affects import governed_texts, named_paths
from cognition_engines.kinds.artifacts import Turn
from cognition_engines.kinds.extractions import CLASSES, CONTENTS
from cognition_engines.kinds.registry import SPECS, Record, kind_of, spec_of
from cognition_engines.kinds.spec import Facets, Kind, Origin, short_key
from cognition_engines.models import Sensitivity, microseconds
from cognition_engines.spaces import OPEN
from cognition_engines.store.values import Entry, FloatArray, StoredRecord
from cognition_engines.unicode_forms import fold_text
from cstp.values.decisions import AffectedPart, Reason

Cell: TypeAlias = str | int | float | bytes | None
CellType: TypeAlias = Literal["text", "whole", "real", "json"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ON_SPINE: Final = ("id", "project", "sensitivity")
_NO_INDEX: Final = 2**31  # after every index
_NO_TIME: Final = -(2**62)  # before every time
UNREADABLE: Final = (ValueError, TypeError, LookupError, OverflowError)  # errors of reading a damaged cell
_LONG: Final = (
    "metadata",
    "details",
    "content",
    "narrative",
    "reflection",
    "query",
    "text",
)  # SQLite walks over them, so last
Row: TypeAlias = Sequence[Any]

ORIGIN: Final = tuple(field.name for field in fields(Origin))
_GUARDED_AS: Final = ORIGIN.index("guarded_as")
# Facet and origin columns, in field order.
_FACETS: Final = tuple(field.name for field in fields(Facets))
# Columns of `records` that `stored` reads by position, before the columns of the kind's table.
_OWN: Final = (
    *("key", "seq", "id", "own_project", "own_sensitivity"),
    *("recorded_at", "updated_at", "revision", "expires_at"),
)
SPINE: Final = (*_OWN, *_FACETS, *ORIGIN)
_OF_ORIGIN: Final = slice(len(_FACETS), len(_FACETS) + len(ORIGIN))


@dataclass(frozen=True, slots=True)
class Column:
    """A kind's field as a column. `write` and `read` turn values other than None into cells and back."""

    name: str
    type: CellType
    nullable: bool
    write: Callable[[Any], Cell] | None = None
    read: Callable[[Any], Any] | None = None


def moment(since_1970: int) -> datetime:
    """Return the UTC time this many microseconds after 1970."""
    return _EPOCH + timedelta(microseconds=since_1970)


def place_key(place: tuple[str, str]) -> str:
    """Return the key for a repository and a path in it."""
    return short_key("\0".join(place))


def title_key(title: str) -> str:
    """Return the key by which sources are found by their title, in any case."""
    return short_key(fold_text(title))


def columns_of(record: Record) -> dict[str, Cell]:
    """Return the cells of a record's row in the kind's table, by column, without `key`."""
    kind = kind_of(record)
    cells = {column.name: _cell(column, getattr(record, column.name)) for column in COLUMNS[kind]}
    derived = {column.name: _cell(column, _DERIVE[column.name](record)) for column in DERIVED.get(kind, ())}
    return cells | derived


def _cell(column: Column, value: Any) -> Cell:
    return value if value is None or column.write is None else column.write(value)


def place_cells(record: Record, ordinal: int) -> dict[str, Cell]:
    """Return the cells that order a turn in a conversation; none for other kinds.

    Turns with an index come first, by index, ties by time. The others follow by time, those without a time first, ties
    by their place in their file.
    """
    if not isinstance(record, Turn):
        return {}
    numbered = record.turn_index is not None
    return {
        "by_index": record.turn_index if numbered else _NO_INDEX,
        "by_time": _NO_TIME if record.ts is None else microseconds(record.ts),
        "by_place": 0 if numbered else ordinal,
    }


def record_of(kind: Kind, id: str, project: str | None, sensitivity: int | None, cells: Sequence[Any]) -> Record:
    """Build a record from id, project, sensitivity and the cells of `COLUMNS[kind]`, in that order.

    Raise PartRaised, naming the record and the column, for cells never written by this program.
    """
    try:
        return _record_of(kind, id, project, sensitivity, cells)
    except UNREADABLE as error:
        damaged = _damaged_column(kind, cells) or type(error).__name__
        raise PartRaised("records", f"the {kind.label} {id} is damaged in the database ({damaged})") from None


def _damaged_column(kind: Kind, cells: Sequence[Any]) -> str | None:
    """Return the first unreadable column; None if each can be read by itself."""
    values = dict(zip(_COLUMN_NAMES[kind], cells, strict=True))
    for name, read in _READ[kind]:
        try:
            if values[name] is not None:
                read(values[name])
        except UNREADABLE:
            return name
    return None


def _record_of(kind: Kind, id: str, project: str | None, sensitivity: int | None, cells: Sequence[Any]) -> Record:
    values: dict[str, Any] = dict(zip(_COLUMN_NAMES[kind], cells, strict=True))
    for name, read in _READ[kind]:
        if values[name] is not None:
            values[name] = read(values[name])
    model = SPECS[kind].model
    if kind is Kind.EXTRACTION:
        model = CLASSES[values["type"]]
        values["content"] = _CONTENTS[values["type"]].validate_json(values["content"])
    values["id"] = int(id) if kind is Kind.EPISODE else id
    values["project"] = project
    values["sensitivity"] = None if sensitivity is None else _SENSITIVITIES[sensitivity]
    record: Record = model(**values)
    return record


def _column(name: str, hint: Any) -> Column:
    hint, nullable = _without_none(hint)
    plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    if plain is str or get_origin(plain) is Literal:
        return Column(name, "text", nullable)
    if plain is bool:
        return Column(name, "whole", nullable, int, bool)
    if plain is int:
        return Column(name, "whole", nullable)
    if plain is float:
        return Column(name, "real", nullable)
    if plain is datetime:
        return Column(name, "whole", nullable, microseconds, moment)
    if plain == tuple[str, ...]:
        return Column(name, "json", nullable, _dump, _load_texts)
    if plain == tuple[Reason, ...]:  # by hand: every search reads them
        return Column(name, "json", nullable, _dump_reasons, _reasons)
    if plain == tuple[AffectedPart, ...]:  # by hand, too
        return Column(name, "json", nullable, _dump_parts, _load_parts)
    if name == "content":  # of an extraction: read by its type
        return Column(name, "json", nullable, _dump_content)
    if get_origin(plain) is dict:
        return Column(name, "json", nullable, _dump, orjson.loads)
    adapter: TypeAdapter[Any] = TypeAdapter(hint)
    return Column(name, "json", nullable, lambda value: adapter.dump_json(value).decode(), adapter.validate_json)


def _without_none(hint: Any) -> tuple[Any, bool]:
    parts = get_args(hint)
    if type(None) not in parts or get_origin(hint) is Annotated:
        return hint, False
    (only,) = (part for part in parts if part is not type(None))
    return only, True


def _dump(value: object) -> str:
    return orjson.dumps(value).decode()


def _load_texts(cell: str) -> tuple[str, ...]:
    return () if cell == "[]" else tuple(orjson.loads(cell))


def _dump_reasons(reasons: Sequence[Reason]) -> str:
    return _dump([(reason.type, reason.text, reason.strength) for reason in reasons])


def _reasons(cell: str) -> tuple[Reason, ...]:
    return () if cell == "[]" else tuple([Reason(*parts) for parts in orjson.loads(cell)])


def _dump_parts(parts: Sequence[AffectedPart]) -> str:
    return _dump([(part.type, part.pattern) for part in parts])


def _load_parts(cell: str) -> tuple[AffectedPart, ...]:
    return () if cell == "[]" else tuple([AffectedPart(*part) for part in orjson.loads(cell)])


def _dump_content(content: object) -> str:
    return _CONTENT_OF[type(content)].dump_json(content).decode()


def _columns(kind: Kind) -> tuple[Column, ...]:
    hints = get_type_hints(SPECS[kind].model, include_extras=True)
    names = [field.name for field in fields(SPECS[kind].model) if field.name not in _ON_SPINE]
    names.sort(key=lambda name: _LONG.index(name) + 1 if name in _LONG else 0)
    return tuple(_column(name, hints[name]) for name in names)


_SENSITIVITIES: Final = tuple(Sensitivity)
_CONTENTS: Final[Mapping[str, TypeAdapter[Any]]] = {type_: TypeAdapter(model) for type_, model in CONTENTS.items()}
_CONTENT_OF: Final[Mapping[type[Any], TypeAdapter[Any]]] = {
    model: _CONTENTS[type_] for type_, model in CONTENTS.items()
}

# In each kind's table order.
COLUMNS: Final[Mapping[Kind, tuple[Column, ...]]] = {kind: _columns(kind) for kind in Kind}
_COLUMN_NAMES: Final = {kind: tuple(column.name for column in columns) for kind, columns in COLUMNS.items()}
_READ: Final = {
    kind: tuple((column.name, column.read) for column in columns if column.read is not None)
    for kind, columns in COLUMNS.items()
}
# More columns, derived from the others. The decision's own statements are in `own_status` and `own_outcome`; the
# columns `status` and `outcome` have the visible state, with reviews and successors.
DERIVED: Final[Mapping[Kind, tuple[Column, ...]]] = {
    Kind.SOURCE: (Column("title_key", "text", False),),
    Kind.DECISION: (
        Column("own_status", "text", True),
        Column("own_outcome", "text", True),
        Column("review_by", "whole", True, microseconds),
        Column("governs", "json", True, _dump),
        Column("mentions", "json", True, _dump),
    ),
}
_DERIVE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "title_key": lambda source: title_key(source.title),
    "own_status": lambda decision: decision.status,
    "own_outcome": lambda decision: decision.outcome,
    "review_by": lambda decision: decision.review_by,
    "governs": lambda decision: governed_texts(decision.affects) or None,
    "mentions": lambda decision: named_paths(decision) or None,
}


def spine_of(entry: Entry) -> dict[str, Cell]:
    """Return an entry's row in `records` without `key`, `seq` and `updated_at`, as for a record without an artifact."""
    record, origin, own = entry.record, entry.origin, spec_of(entry.record).facets(entry.record)
    return {
        "kind": int(kind_of(record)),
        "id": str(record.id),
        "own_project": record.project,
        "own_sensitivity": None if record.sensitivity is None else int(record.sensitivity),
        **facet_cells(own),
        **{name: getattr(origin, name) for name in ORIGIN},
        "guarded_as": None if origin.guarded_as is None else int(origin.guarded_as),
        "expires_at": None if entry.expires_at is None else microseconds(entry.expires_at),
        "source_key": place_key(origin.place),
    }


def origin_of(cells: Sequence[Any]) -> Origin:
    """Make an origin from the cells of `ORIGIN`."""
    values = list(cells)
    if values[_GUARDED_AS] is not None:
        values[_GUARDED_AS] = _SENSITIVITIES[values[_GUARDED_AS]]
    return Origin(*values)


def facet_cells(facets: Facets) -> dict[str, Cell]:
    """Return facets as cells, by column."""
    return {
        "project": facets.project,
        "sensitivity": int(facets.sensitivity),
        "at": None if facets.at is None else microseconds(facets.at),
        "context": facets.context,
        "system": facets.system,
        "importance": facets.importance,
        "parent": facets.parent,
        "since": None if facets.since is None else microseconds(facets.since),
        "until": OPEN if facets.until is None else microseconds(facets.until),
        "author": facets.author,
        "people": orjson.dumps(facets.people).decode() if facets.people else None,
    }


def people_of(cell: str | None) -> tuple[str, ...]:
    """Return the names in the cell `people`."""
    return () if cell is None else tuple(orjson.loads(cell))


def stored_record(kind: Kind, row: Row) -> StoredRecord:
    """Return the record in a row of `SELECT_STORED[kind]`."""
    key, seq, id, own_project, own_sensitivity, recorded, updated, revision, expires, *others = row
    try:
        facets, origin = _facets_of(others[: len(_FACETS)]), origin_of(others[_OF_ORIGIN])
        recorded_at, updated_at = moment(recorded), moment(updated)
        expires_at = None if expires is None else moment(expires)
    except UNREADABLE:
        raise PartRaised("records", f"the {kind.label} {id} is damaged in the database") from None
    record = record_of(kind, id, own_project, own_sensitivity, others[_OF_ORIGIN.stop :])
    return StoredRecord(key, seq, kind, record, facets, origin, updated_at, recorded_at, revision, expires_at)


def _facets_of(cells: Sequence[Any]) -> Facets:
    project, level, at, context, system, importance, parent, since, until, author, people = cells
    return Facets(
        project,
        _SENSITIVITIES[level],
        None if at is None else moment(at),
        context,
        system,
        importance,
        parent,
        None if since is None else moment(since),
        None if until == OPEN else moment(until),
        author,
        people_of(people),
    )


def window_rows(key: int, model: str, vectors: FloatArray) -> list[dict[str, Cell]]:
    """Return a record's rows in table `vectors`."""
    return [
        {"key": key, "model": model, "window": window, "vector": vector.tobytes()}
        for window, vector in enumerate(vectors.astype("<f4", copy=False))
    ]


def matrix(vectors: Sequence[bytes]) -> FloatArray:
    """Return cells of the column `vector`, all from one model, as a read-only array (vectors, dimensions)."""
    if not vectors:
        return np.empty((0, 0), np.float32)
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1).astype(np.float32, copy=False)
