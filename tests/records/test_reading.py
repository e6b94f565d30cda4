"""Reads by viewers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cognition_engines.errors import ComponentFailed
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity, Viewer
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry, FloatArray
from tests.kinds import entry as entry_of
from tests.stored import Upsert, changes_of, models

Make = Callable[..., Entry]
Floats = Callable[[int, float], FloatArray]


def test_by_keys_maps_each_key_to_its_record(records: Records, entry: Make) -> None:
    records.put([entry(f"d-{number}") for number in range(3)], None)
    everything = {stored.key: stored for stored in records.reads.by_ids(Kind.DECISION, ["d-0", "d-1", "d-2"]).values()}
    assert records.reads.by_keys(list(everything), Viewer()) == everything
    assert records.reads.by_keys([], Viewer()) == {}


@pytest.mark.long("writes many records")
def test_a_viewer_of_thousands_of_projects_is_served(records: Records, entry: Make) -> None:
    records.put([entry("a", project="p7"), entry("b", project="q")], None)
    viewer = Viewer(projects=frozenset(f"p{number}" for number in range(20_000)))
    assert records.reads.find([(Kind.DECISION, "a")], viewer)
    assert not records.reads.find([(Kind.DECISION, "b")], viewer)


def test_sources_under_a_folder_are_those_in_it_and_below(records: Records, entry: Make) -> None:
    paths = ["/n/a.md", "/n/sub/b.md", "/nn/c.md", "/N/d.md", "/n", "/n.md", "/n_/e.md", "/nx/f.md", "/%/g.md"]
    records.put([entry(path, source=path) for path in paths], None)

    def found(folder: str) -> list[str]:
        return [row.origin.source for row in records.origins.read_below(folder)]

    assert found("/n") == found("/n/") == ["/n/a.md", "/n/sub/b.md", "/n"]
    assert found("/n_") == ["/n_/e.md"]
    assert found("/%") == ["/%/g.md"]
    assert found("/") == paths
    assert found("/none") == []
    (row,) = records.origins.read_below("/nn")
    assert (row.kind, row.id, row.project, row.origin) == (
        Kind.DECISION,
        "/nn/c.md",
        None,
        records.reads.by_ids(Kind.DECISION, ["/nn/c.md"])["/nn/c.md"].origin,
    )
    with pytest.raises(ValueError, match="folder: must be an absolute path"):
        found("n")


def test_records_without_vectors_of_a_model_come_in_pages_by_key(records: Records, entry: Make) -> None:
    records.put([entry(f"d-{number}", windows=1 + number % 2) for number in range(3)], "m")
    records.put([entry(f"e-{number}") for number in range(5)], None)
    first = records.reads.without_vectors(DECISIONS, "m", 0, 3)
    assert [stored.record.id for stored in first] == ["e-0", "e-1", "e-2"]
    assert [stored.record.id for stored in records.reads.without_vectors(DECISIONS, "m", first[-1].key, 3)] == [
        "e-3",
        "e-4",
    ]
    assert len(records.reads.without_vectors(DECISIONS, "n", 0, 100)) == 8
    with pytest.raises(ValueError, match="limit: must be at least 1"):
        records.reads.without_vectors(DECISIONS, "m", 0, 0)


def test_put_vectors_skips_deleted_keys(records: Records, entry: Make, floats: Floats) -> None:
    records.put([entry("a"), entry("b"), entry("c")], None)
    keys = {id: stored.key for id, stored in records.reads.by_ids(Kind.DECISION, ["a", "b", "c"]).items()}
    updated = records.reads.by_ids(Kind.DECISION, ["a"])["a"].updated_at
    records.delete(Kind.DECISION, ["b"])
    before = records.last_seq()
    records.put_vectors([(keys["c"], floats(1, 1)), (keys["b"], floats(1, 2)), (keys["a"], floats(2, 3))], "m")
    changes = changes_of(records, before, 10, "m")
    assert len(changes) == 2
    held = {
        change.stored.record.id: change.vectors.tolist()
        for change in changes
        if isinstance(change, Upsert) and change.vectors is not None
    }
    assert held == {"a": floats(2, 3).tolist(), "c": floats(1, 1).tolist()}
    assert records.reads.by_ids(Kind.DECISION, ["a"])["a"].updated_at == updated
    assert models(records) == {"m": 2}


def test_put_vectors_replaces_those_of_its_model_only(records: Records, entry: Make, floats: Floats) -> None:
    records.put([entry("a", windows=3)], "m")
    key = records.reads.by_ids(Kind.DECISION, ["a"])["a"].key
    records.put_vectors([(key, floats(2, 7))], "n")
    records.put_vectors([(key, floats(1, 9))], "m")
    for model, expected in (("m", floats(1, 9)), ("n", floats(2, 7))):
        (change,) = changes_of(records, 0, 10, model)
        assert isinstance(change, Upsert)
        assert change.vectors is not None
        assert change.vectors.tolist() == expected.tolist()


def test_put_vectors_skips_keys_with_newer_texts(records: Records, entry: Make, floats: Floats) -> None:
    records.put([entry("a", "old"), entry("b")], None)
    as_of = records.last_seq()
    keys = [stored.key for stored in records.reads.without_vectors(DECISIONS, "m", 0, 10)]
    records.put([entry("a", "new")], None)
    records.put_vectors([(key, floats(1, 1)) for key in keys], "m", as_of)
    assert [stored.record.id for stored in records.reads.without_vectors(DECISIONS, "m", 0, 10)] == ["a"]


def test_a_key_twice_in_put_vectors_is_refused(records: Records, entry: Make, floats: Floats) -> None:
    records.put([entry("a")], None)
    with pytest.raises(ValueError, match="a key is given twice"):
        records.put_vectors([(1, floats(1, 1)), (1, floats(1, 2))], "m")


def test_drop_vectors_keeps_one_model(records: Records, entry: Make, floats: Floats) -> None:
    records.put([entry("a", windows=2), entry("b", windows=1)], "m")
    key = records.reads.by_ids(Kind.DECISION, ["a"])["a"].key
    records.put_vectors([(key, floats(4, 1))], "n")
    before = records.last_seq()
    assert records.drop_vectors("n") == 3
    assert models(records) == {"n": 1}
    assert records.drop_vectors("n") == 0
    assert records.last_seq() == before


def test_vectors_are_the_same_float32_values_and_cannot_be_written(records: Records, entry: Make) -> None:
    special = np.array([[1 / 3, -0.0, 1e-45], [3.4e38, -1.5, 0]], np.float32)
    records.put([Entry(entry("a").record, entry("a").origin, special)], "m")
    (change,) = changes_of(records, 0, 1, "m")
    assert isinstance(change, Upsert)
    assert change.vectors is not None
    assert change.vectors.dtype == np.float32
    assert change.vectors.tobytes() == special.tobytes()
    assert not change.vectors.flags.writeable


def test_a_record_is_read_as_it_is_now(url: str, records: Records) -> None:
    other, sensitive = open_records(url), Viewer(Sensitivity.SENSITIVE)
    event = entry_of(Kind.EVENT, "e", category="Decision", narrative="Done", artifact_id="a")
    records.put([event], None)
    (found,) = records.reads.find([(Kind.EVENT, "e")], None)

    def agree(sees: tuple[Viewer, ...], others: tuple[Viewer, ...] = ()) -> None:
        """Check a read twice, since the second read is answered from the first."""
        fresh = open_records(url)
        for _ in range(2):
            for viewer in (None, *sees):
                assert records.reads.by_keys([found.key], viewer) == fresh.reads.by_keys([found.key], viewer) != {}
            for viewer in others:
                assert records.reads.by_keys([found.key], viewer) == {}
        fresh.close()

    agree((Viewer(),), (Viewer(projects=frozenset({"q"})),))
    other.put([entry_of(Kind.EVENT, "e", category="Decision", narrative="Undone", artifact_id="a")], None)
    agree((Viewer(),))
    other.put([entry_of(Kind.ARTIFACT, "a", content="Minutes", sensitivity="sensitive", project="q")], None)
    agree((sensitive, Viewer(Sensitivity.SENSITIVE, frozenset({"q"}))), (Viewer(),))
    other.delete(Kind.ARTIFACT, ["art_a"])
    agree((sensitive,), (Viewer(),))
    other.delete(Kind.EVENT, ["evt_e"])
    assert records.reads.by_keys([found.key], None) == {}
    other.close()


def test_an_unopenable_database_is_an_outage_of_the_records(sqlite_url: str, tmp_path: Path) -> None:
    records = open_records(sqlite_url)
    records.put([entry_of(Kind.DECISION, "d", title="Use a queue", text="Use a queue")], None)
    (found,) = records.reads.find([(Kind.DECISION, "d")], None)
    assert records.reads.by_keys([found.key], None)
    records.store.reader.dispose()
    (tmp_path / "store").rename(tmp_path / "away")
    for read in (records.last_seq, lambda: records.reads.by_keys([found.key], None)):
        with pytest.raises(ComponentFailed, match="cannot be opened"):
            read()
    records.close()
