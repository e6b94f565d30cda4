"""What tests of collections share: the records of a kind, which no folder has."""

from typing import Any

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records


def stored(records: Records, kind: Kind) -> list[Any]:
    """The records of a kind, by id."""
    return [found.record for _, found in sorted(records.reads.by_ids(kind, records.ids(kind)).items())]
