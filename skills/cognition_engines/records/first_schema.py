"""Reading backups of the first schema, which held decisions alone, to tell whether they are whole."""

from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

import orjson
import sqlalchemy as sa

from cognition_engines.kinds.kind import Kind
from cognition_engines.records.transactions import failures
from cognition_engines.records.transfer import PAGE, Contents, Source, Watcher

FIRST: Final = "0001"

_COLUMNS: Final = (
    "category",
    "confidence",
    "date",
    "digest",
    "id",
    "ingested_as",
    "ordinal",
    "outcome",
    "project",
    "reasons",
    "sensitivity",
    "source",
    "stakes",
    "status",
    "status_text",
    "superseded_by",
    "supersedes",
    "tags",
    "text",
    "title",
    "updated_at",
)
_decisions: Final = sa.table("decisions", *map(sa.column, ("key", "seq", *_COLUMNS)))
_vectors: Final = sa.table("vectors", *map(sa.column, ("key", "model", "window", "vector")))


def noted_contents(noted: Mapping[str, Any]) -> Contents:
    """What such a backup notes of itself."""
    return Contents({Kind.DECISION.label: noted["decisions"]}, noted["windows"], noted["digest"])


def first_contents(source: Source, watcher: Watcher) -> Contents:
    """What is in such a backup, with the digest as it was made then."""
    with failures(source.component):
        count = source.connection.execute(sa.select(sa.func.count()).select_from(_decisions)).scalar_one()
    watcher.start("verifying", count)
    total, windows = 0, Counter[str]()
    for rows in _pages(source):
        vectors = _windows(source, [row[0] for row in rows])
        for key, _, *cells in rows:
            hashed = sha256(orjson.dumps(cells))
            for model, window, vector in vectors.get(key, ()):
                windows[model] += 1
                hashed.update(orjson.dumps([model, window, len(vector)]))
                hashed.update(vector)
            total = (total + int.from_bytes(hashed.digest())) % (1 << 256)
        watcher.advance(len(rows))
    return Contents({Kind.DECISION.label: count}, dict(sorted(windows.items())), f"{total:064x}")


def _pages(source: Source) -> Iterator[list[Any]]:
    after = 0
    while True:
        statement = sa.select(_decisions).where(_decisions.c.seq > after).order_by(_decisions.c.seq).limit(PAGE)
        with failures(source.component):
            rows: list[Any] = list(source.connection.execute(statement))
        if not rows:
            return
        yield rows
        after = rows[-1].seq


def _windows(source: Source, keys: list[int]) -> dict[int, list[tuple[str, int, bytes]]]:
    found: dict[int, list[tuple[str, int, bytes]]] = {}
    with failures(source.component):
        for key, *window in source.connection.execute(sa.select(_vectors).where(_vectors.c.key.in_(keys))):
            found.setdefault(key, []).append((window[0], window[1], window[2]))
    return {key: sorted(windows) for key, windows in found.items()}
