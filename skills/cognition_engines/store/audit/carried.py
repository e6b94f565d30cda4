"""The audit of one store in another: a copy, a backup, or a store that a backup is brought back into."""

from collections.abc import Iterator

import sqlalchemy as sa

from cognition_engines.store.audit.audit_rows import AuditRow, ChainHead
from cognition_engines.store.audit.chain import has_row, head_of, locked_head, put_head, put_rows, rows_after
from cognition_engines.store.transactions import failures


def carry_audit(source: sa.Connection, target: sa.Connection, component: str) -> None:
    """Gives the target the rows that the source has and it lacks. Errors of the source name its `component`.

    A target that has rows keeps them all: rows of the source are added where they continue its chain.
    Otherwise none are, because what happened in the target is not to be erased by bringing back a backup.
    """
    ours = locked_head(target)
    with failures(component):
        theirs = head_of(source)
        continued = ours.number < theirs.number and (ours == ChainHead() or has_row(source, ours))
    if not continued:
        return
    for page in _read(source, ours.number, component):
        put_rows(target, page)
    cut = theirs if ours == ChainHead() else ours
    put_head(target, ChainHead(theirs.number, theirs.hash, cut.pruned, cut.pruned_hash))


def _read(source: sa.Connection, after: int, component: str) -> Iterator[list[AuditRow]]:
    pages = rows_after(source, after)
    while True:
        with failures(component):
            page = next(pages, None)
        if page is None:
            return
        yield page
