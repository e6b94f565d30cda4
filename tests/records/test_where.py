"""Conditions as SQL: equal results to the columns in memory."""

from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random

import numpy as np
import pytest
import sqlalchemy as sa

from cognition_engines.indexes.columns.builder import Columns
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import AtLeast, AtMost, Conditions, HasAny, Not, OneOf, Sensitivity, Viewer
from cognition_engines.queries.answers.filter_conditions import memory_conditions
from cognition_engines.spaces import MEMORY
from cognition_engines.store.reads.conditions import where
from cognition_engines.store.records import Records
from cognition_engines.store.schema import records as table
from cstp.values.recall import RecallParams
from tests.kinds import entry

SYSTEMS = ["Straße", "STRASSE", "slack", "Slack", "İ"]
EVERYONE = Viewer(max(Sensitivity))


@pytest.fixture
def mixed(records: Records) -> Records:
    random = Random(3)
    batch = []
    for number in range(120):
        day = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=random.randrange(9))
        common = {"sensitivity": random.choice(list(Sensitivity)).name.lower(), "project": random.choice([None, "p"])}
        said = {"content": "x", "source_system": random.choice(SYSTEMS), "importance": random.choice([0, 0.5, 1])}
        if number % 3 == 0:
            batch.append(entry(Kind.ARTIFACT, number, **common, **said, ts=day.isoformat()))
        elif number % 3 == 1:
            turn = {"conversation_id": "c", "turn_index": number}
            batch.append(entry(Kind.TURN, number, **common, **said, **turn))
        else:
            event = {"category": "X", "narrative": "x", "artifact_id": str(number - random.choice([1, 2, 9]))}
            batch.append(entry(Kind.EVENT, number, **common, **event))
    records.put(batch, None)
    return records


def ids(url: str, conditions: Conditions) -> set[str]:
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        found = set(connection.execute(sa.select(table.c.id).where(*where(conditions))).scalars())
    engine.dispose()
    return found


@pytest.mark.long("writes many records")
def test_sql_and_columns_find_the_same_records(mixed: Records, url: str) -> None:
    columns = Columns(MEMORY, 1)
    columns.apply(mixed.changes.page(MEMORY, 0, 1000, None))
    snapshot = columns.publish()
    days = (None, datetime(2024, 1, 4, tzinfo=UTC))
    tried = [
        memory_conditions(
            RecallParams.model_construct(
                context=context,
                source=system,
                sensitivity=level,
                min_importance=importance,
                date_from=first,
                date_to=last,
            )
        )
        for context, system, level, importance, first, last in product(
            (None, "NOTE"), (None, "strasse", "SLACK"), (None, "sensitive"), (0.0, 0.5), days, days
        )
    ]
    tried += [(OneOf(("kind", "project"), ("event", "p", "nothing")),), (AtLeast("parent", 0), AtMost("parent", 50))]
    tried += [(Not(conditions),) for conditions in tried]
    found_some = 0
    for conditions in tried:
        expected = {snapshot.ids[row] for row in np.flatnonzero(snapshot.mask(conditions, EVERYONE))}
        assert ids(url, conditions) == expected, conditions
        found_some += bool(expected)
    assert found_some > len(tried) / 2


@pytest.mark.parametrize("condition", [OneOf(("category",), ("X",)), AtLeast("confidence", 0), HasAny("tags", ("x",))])
def test_a_condition_on_a_member_missing_from_some_records_is_refused(condition: OneOf | AtLeast | HasAny) -> None:
    with pytest.raises(ValueError, match="not every record has this"):
        where((condition,))
