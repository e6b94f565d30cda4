"""Records opened for reading only, while other processes may write them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from cognition_engines.store.database import failures
from cognition_engines.store.opening import open_store
from cognition_engines.store.read_only import may_be_written, read_only_store
from cognition_engines.store.record_reads import RecordReads


@contextmanager
def readable_records(url: str, named: str) -> Iterator[RecordReads]:
    """Open the records for reading, also if this user may not write them. Raise ComponentFailed."""
    if not may_be_written(url, named):
        with read_only_store(url, named) as store:
            yield RecordReads(store)
        return
    with failures():
        store = open_store(url, named=named)
    with closing(RecordReads(store)) as records:
        yield records
