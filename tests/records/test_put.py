"""Effects of `put` and `delete` on a store."""

from collections.abc import Callable
from datetime import UTC, datetime
from threading import Barrier, Thread

import numpy as np
import pytest

from cognition_engines.errors import ComponentFailed
from cognition_engines.kinds.spec import MAX_ID, Kind, Origin
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry, FloatArray, Outcome
from tests.stored import Removal, Upsert, changes_of, models

Make = Callable[..., Entry]


@pytest.mark.parametrize("id", ["\U0010ffff" * MAX_ID, "a'b\"c%_\\;--", "é", "e\u0301", "İ", "ß", "\u202e\t\n"])
def test_ids_of_any_characters_are_distinguished(records: Records, entry: Make, id: str) -> None:
    records.put([entry(id), entry("E"), entry("e")], None)
    (found,) = records.reads.find([(Kind.DECISION, id)], None)
    assert found.record.id == id
    assert sum(records.counts().values()) == 3
    assert set(records.reads.by_ids(Kind.DECISION, [id, "e"])) == {id, "e"}


def test_a_first_put_is_new_and_a_repeated_put_changes_nothing(records: Records, entry: Make) -> None:
    assert records.put([entry("a"), entry("b")], None) == (Outcome.NEW, Outcome.NEW)
    before, last = records.reads.by_ids(Kind.DECISION, ["a", "b"]), records.last_seq()
    assert records.put([entry("b"), entry("c")], None) == (Outcome.UNCHANGED, Outcome.NEW)
    (change,) = changes_of(records, last, 10, None)
    assert isinstance(change, Upsert)
    assert change.stored.record.id == "c"
    assert records.reads.by_ids(Kind.DECISION, ["a", "b"]) == before


def test_an_unchanged_batch_takes_no_seq(records: Records, entry: Make) -> None:
    records.put([entry("a", windows=2)], "m")
    last = records.last_seq()
    assert records.put([entry("a", windows=2, first=9)], "m") == (Outcome.UNCHANGED,)
    assert records.put([entry("a")], None) == (Outcome.UNCHANGED,)
    assert records.last_seq() == last


def test_another_digest_keeps_the_key_and_takes_a_new_seq(records: Records, entry: Make) -> None:
    records.put([entry("a", "old"), entry("b", "old")], None)
    before, last = records.reads.by_ids(Kind.DECISION, ["a"])["a"], records.last_seq()
    assert records.put([entry("a", "new", project="p")], None) == (Outcome.CHANGED,)
    after = records.reads.by_ids(Kind.DECISION, ["a"])["a"]
    assert after.key == before.key
    assert after.seq > last >= before.seq
    assert (after.record.text, after.record.project, after.origin.digest) == ("new", "p", "new")
    assert after.updated_at >= before.updated_at


def test_updated_at_is_the_time_of_the_put(records: Records, entry: Make) -> None:
    before = datetime.now(UTC)
    records.put([entry("a")], None)
    assert before <= records.reads.by_ids(Kind.DECISION, ["a"])["a"].updated_at <= datetime.now(UTC)


def test_a_changed_text_loses_the_vectors_of_every_model(records: Records, entry: Make) -> None:
    records.put([entry("a", "old", windows=2)], "m")
    key = records.reads.by_ids(Kind.DECISION, ["a"])["a"].key
    records.put_vectors([(key, np.ones((3, 2), np.float32))], "other")
    assert models(records) == {"m": 1, "other": 1}
    records.put([entry("a", "new", windows=1, first=5)], "m")
    assert models(records) == {"m": 1}
    (change,) = changes_of(records, 0, 10, "m")
    assert isinstance(change, Upsert)
    assert change.vectors is not None
    assert change.vectors.tolist() == [[5, 6, 7]]
    records.put([entry("a", "newer")], None)
    assert models(records) == {}


def test_the_same_text_with_vectors_of_a_second_model_keeps_those_of_the_first(records: Records, entry: Make) -> None:
    records.put([entry("a", windows=1)], "m")
    before = records.reads.by_ids(Kind.DECISION, ["a"])["a"]
    assert records.put([entry("a", windows=2)], "n") == (Outcome.CHANGED,)
    after = records.reads.by_ids(Kind.DECISION, ["a"])["a"]
    assert models(records) == {"m": 1, "n": 1}
    assert (after.key, after.updated_at) == (before.key, before.updated_at)
    assert after.seq > before.seq


@pytest.mark.long("writes many records")
def test_a_batch_larger_than_a_statement_is_stored_whole_and_in_order(records: Records, entry: Make) -> None:
    batch = [entry(f"d-{number}", windows=2) for number in range(2500)]
    assert set(records.put(batch, "m")) == {Outcome.NEW}
    found = records.reads.by_ids(Kind.DECISION, [item.record.id for item in batch])
    assert [found[item.record.id].key for item in batch] == list(range(1, 2501))
    assert len({found[item.record.id].seq for item in batch}) == 2500
    assert models(records) == {"m": 2500}
    assert set(records.put(batch, "m")) == {Outcome.UNCHANGED}
    assert len(records.delete(Kind.DECISION, [item.record.id for item in batch])) == 2500
    assert (sum(records.counts().values()), models(records)) == (0, {})


def test_an_empty_batch_is_no_work(records: Records) -> None:
    assert records.put([], None) == ()
    assert records.delete(Kind.DECISION, []) == ()
    assert records.reads.by_ids(Kind.DECISION, []) == {}
    records.put_vectors([], "m")
    assert records.last_seq() == 0


WRONG_VECTORS = [
    np.ones((0, 3), np.float32),
    np.ones((1, 0), np.float32),
    np.ones(3, np.float32),
    np.ones((1, 3), np.float64),
    np.full((1, 3), np.nan, np.float32),
    np.full((1, 3), np.inf, np.float32),
]


@pytest.mark.parametrize(
    "vectors", WRONG_VECTORS, ids=lambda array: f"{array.shape} {array.dtype} {array.max(initial=0)}"
)
def test_vectors_of_the_wrong_kind_are_refused(records: Records, entry: Make, vectors: FloatArray) -> None:
    good = entry("a", windows=1)
    with pytest.raises(ValueError, match="vectors"):
        records.put([good, Entry(entry("b").record, good.origin, vectors)], "m")
    records.put([good], "m")
    last = records.last_seq()
    with pytest.raises(ValueError, match="vectors"):
        records.put_vectors([(1, vectors)], "m")
    assert (sum(records.counts().values()), records.last_seq()) == (1, last)


def test_a_batch_of_several_dimensions_is_refused(records: Records, entry: Make) -> None:
    wide = Entry(entry("b").record, entry("b").origin, np.ones((1, 4), np.float32))
    with pytest.raises(ValueError, match=r"dimensions: \[3, 4\]"):
        records.put([entry("a", windows=1), wide], "m")


def test_vectors_with_another_dimension_than_the_stored_vectors_of_the_model_are_refused(
    records: Records, entry: Make
) -> None:
    other = np.ones((2, 5), np.float32)
    records.put([entry("d-1", windows=1)], "model-a")
    last = records.last_seq()
    changed = Entry(entry("d-1").record, Origin("/notes/a.md", 0, None, "later"), other)
    for write in (lambda: records.put([changed], "model-a"), lambda: records.put_vectors([(1, other)], "model-a")):
        with pytest.raises(ComponentFailed, match="5 dimensions; those stored of model-a have 3") as refused:
            write()
        assert refused.value.component == "embedder"
    assert (records.dimension("model-a"), records.last_seq()) == (3, last)
    assert records.dimension("model-b") is None
    records.put([changed], "model-b")
    assert records.dimension("model-b") == 5


def test_a_model_with_dropped_vectors_may_return_with_another_dimension(records: Records, entry: Make) -> None:
    records.put([entry("d-1", windows=1)], "model-a")
    records.put([entry("d-2", windows=1)], "model-b")
    records.drop_vectors("model-b")
    assert (records.dimension("model-a"), records.dimension("model-b")) == (None, 3)


def test_vectors_and_model_come_together_or_not_at_all(records: Records, entry: Make) -> None:
    with pytest.raises(ValueError, match="exactly when a model is named"):
        records.put([entry("a", windows=1), entry("b")], "m")
    with pytest.raises(ValueError, match="exactly when a model is named"):
        records.put([entry("a", windows=1)], None)
    with pytest.raises(ValueError, match="model"):
        records.put([entry("a", windows=1)], "")
    assert sum(records.counts().values()) == 0


def test_an_id_twice_in_a_batch_is_refused(records: Records, entry: Make) -> None:
    with pytest.raises(ValueError, match="'a' is twice"):
        records.put([entry("a"), entry("a", "other")], None)
    assert sum(records.counts().values()) == 0


@pytest.mark.parametrize("id", ["", "x" * (MAX_ID + 1)])
def test_an_empty_or_overlong_id_is_refused(records: Records, entry: Make, id: str) -> None:
    with pytest.raises(ValueError, match="id: must have 1 to 512 characters"):
        records.put([entry(id)], None)


def test_a_failing_entry_leaves_nothing_of_its_batch(records: Records, entry: Make) -> None:
    with pytest.raises(ValueError, match="surrogates not allowed"):
        records.put([entry("a"), entry("b", "\ud800")], None)
    assert (sum(records.counts().values()), records.last_seq()) == (0, 0)
    assert records.put([entry("a")], None) == (Outcome.NEW,)


def test_delete_names_deleted_records_and_leaves_a_removal_for_each(records: Records, entry: Make) -> None:
    records.put([entry("a", windows=2), entry("b", windows=2), entry("c", windows=2)], "m")
    keys = {id: stored.key for id, stored in records.reads.by_ids(Kind.DECISION, ["a", "b", "c"]).items()}
    last = records.last_seq()
    assert records.delete(Kind.DECISION, ["c", "x", "a", "c"]) == ("c", "a")
    gone = changes_of(records, last, 10, "m")
    assert all(isinstance(each, Removal) and each.kind is Kind.DECISION for each in gone)
    assert sorted(each.id for each in gone if isinstance(each, Removal) and each.key == keys[each.id]) == ["a", "c"]
    last = records.last_seq()
    assert (sum(records.counts().values()), models(records)) == (1, {"m": 1})
    assert not records.reads.find([(Kind.DECISION, "a")], None)
    assert records.delete(Kind.DECISION, ["a", "x"]) == ()
    assert records.last_seq() == last


def test_a_returning_id_has_a_new_key(records: Records, entry: Make) -> None:
    keys = []
    for _ in range(3):
        assert records.put([entry("a")], None) == (Outcome.NEW,)
        keys.append(records.reads.by_ids(Kind.DECISION, ["a"])["a"].key)
        records.delete(Kind.DECISION, ["a"])
    assert len(set(keys)) == 3
    assert keys == sorted(keys)


def test_two_writers_at_once_insert_an_id_only_once(url: str, entry: Make) -> None:
    barrier = Barrier(4)
    outcomes: list[tuple[Outcome, ...]] = []
    batch = [entry(f"d-{number}", windows=1) for number in range(200)]

    def write() -> None:
        records = open_records(url)
        barrier.wait()
        outcomes.append(records.put(batch, "m"))
        records.close()

    threads = [Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted({each for outcome in outcomes for each in outcome}) == [Outcome.NEW, Outcome.UNCHANGED]
    assert sum(outcome.count(Outcome.NEW) for outcome in outcomes) == 200
    records = open_records(url)
    assert len(changes_of(records, 0, 1000, None)) == sum(records.counts().values()) == 200
    records.close()
