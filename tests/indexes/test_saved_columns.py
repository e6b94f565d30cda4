"""Columns in a file: whatever happened to file or records, a start has the records' content."""

import json
import logging
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from cognition_engines.indexes.columns.saved import ColumnsFile, Identity
from cognition_engines.indexes.indexes import Indexes, open_indexes
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision
from cognition_engines.spaces import DECISIONS, SEARCHED
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry
from tests.indexes.made import MADE, Maker, entry
from tests.stores import Stores


def described(indexes: Indexes) -> dict[str, Any]:
    """Return all searchable content of each living record, by space and id."""
    found: dict[str, Any] = {}
    for space in SEARCHED:
        shown = indexes[space].snapshot
        texts = {name: list(codes) for name, codes in shown.codes.items()}
        rows = [row for row in range(len(shown.keys)) if shown.alive[row]]
        for row in rows:
            start, count = int(shown.starts[row]), int(shown.counts[row])
            labels = {
                name: None if column[row] < 0 else texts[name][column[row]] for name, column in shown.labels.items()
            }
            sets = {
                name: sorted(str(text) for text, held in posted.items() if row in held)
                for name, posted in shown.postings.items()
            }
            assert shown.owners[start : start + count].tolist() == [row] * count
            assert int(shown.row_of[shown.keys[row]]) == row
            found[f"{space.name} {shown.ids[row]}"] = (
                int(shown.keys[row]),
                int(shown.seqs[row]),
                int(shown.sensitivity[row]),
                {name: repr(column[row]) for name, column in shown.numbers.items()},
                labels,
                sets,
                shown.vectors[start : start + count].tolist(),
                [word[start : start + count].tolist() for word in shown.sketches],
            )
    return found


def save(indexes: Indexes) -> None:
    for index in indexes.all_spaces:
        index.save_columns(1)


def saved(indexes: Indexes) -> Indexes:
    """Save the columns of indexes; close and return the indexes."""
    save(indexes)
    indexes.close()
    return indexes


def write(records: Records, maker: Maker, model: Any, ids: range) -> None:
    """Write a record of every kind for each number: new records, or new versions."""
    for place, kind in enumerate(MADE):
        made = [maker.record(kind, 10 * id + place) for id in ids]
        texts = [embedding_text(record) for record in made]
        vectors = [None if text is None else model.embed_text(text) for text in texts]
        records.put([entry(*each) for each in zip(made, vectors, strict=True)], model.model)


@pytest.fixture
def maker() -> Maker:
    return Maker(11)


@pytest.fixture
def fresh(records: Records, tmp_path: Path, opened: Callable[..., Indexes]) -> Callable[[Any], dict[str, Any]]:
    """Return the content of records in fresh indexes."""

    def read(model: Any) -> dict[str, Any]:
        indexes = opened(model, ready=False, folder=tmp_path / "another")
        found = described(indexes)
        indexes.close()
        shutil.rmtree(tmp_path / "another")
        return found

    return read


def file_of(tmp_path: Path) -> Path:
    return tmp_path / "indexes" / DECISIONS.name / "columns.zip"


def write_members(tmp_path: Path, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file_of(tmp_path), "w") as file:
        for name, data in members.items():
            file.writestr(name, data)


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_start_over_saved_columns_has_the_content_of_the_records(
    records: Records, seeded: Any, opened: Callable[..., Indexes], maker: Maker, fresh: Any
) -> None:
    model = seeded()
    write(records, maker, model, range(20))
    write(records, maker, model, range(5, 9))  # other versions: their old rows are dead
    records.delete(Kind.DECISION, ["00070"])
    saved(opened(model))

    after = opened(model)

    assert described(after) == fresh(model)
    assert len(described(after)) > 100


def test_a_start_reads_only_changes(records: Records, seeded: Any, opened: Callable[..., Indexes], put: Any) -> None:
    put(seeded(), "alpha", "beta")
    saved(opened(seeded()))
    put(seeded(), "another", "beta", text="changed")
    with records.store.writer.begin() as connection:  # unlike any writer: without a new seq
        connection.execute(sa.text("UPDATE records SET project = 'unread'"))

    after = described(opened(seeded()))

    projects = {name: found[4]["project"] for name, found in after.items()}
    assert projects == {"decisions alpha": None, "decisions beta": "unread", "decisions another": "unread"}


def test_words_behind_the_saved_columns_catch_up(
    records: Records, seeded: Any, opened: Callable[..., Indexes], put: Any, worded: Any, tmp_path: Path
) -> None:
    put(seeded(), "alpha", "beta")
    saved(opened(seeded()))
    shutil.rmtree(tmp_path / "indexes" / DECISIONS.name / "keywords")

    assert worded(opened(seeded()), "beta") == ["beta"]


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_changed_file_is_not_used(
    records: Records,
    seeded: Any,
    opened: Callable[..., Indexes],
    maker: Maker,
    fresh: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = seeded()
    write(records, maker, model, range(20))
    saved(opened(model))
    file, expected = file_of(tmp_path), fresh(model)
    good = file.read_bytes()
    places = [*range(0, len(good), len(good) // 40), len(good) - 1]
    flipped = [good[:place] + bytes([good[place] ^ 0x41]) + good[place + 1 :] for place in places]

    for bad in (b"", b"PK", good[: len(good) // 2], good[:-30], *flipped):
        file.write_bytes(bad)
        with caplog.at_level(logging.WARNING):
            after = opened(model, ready=False)
        assert described(after) == expected
        after.close()
    assert "the saved columns in" in caplog.text


@pytest.mark.parametrize(
    "change", [{"seq": "1"}, {"seq": None}, {"ids": [1, 2]}, {"codes": {"kind": []}}, {"single": 3}]
)
def test_a_file_with_valid_checksums_but_wrong_content_is_not_used(
    opened: Callable[..., Indexes], seeded: Any, put: Any, worded: Any, tmp_path: Path, change: dict[str, Any]
) -> None:
    put(seeded(), "alpha", "beta")
    before = saved(opened(seeded()))
    with zipfile.ZipFile(file_of(tmp_path)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    layout = json.loads(members["layout.json"])
    members["layout.json"] = json.dumps(layout | change).encode()
    write_members(tmp_path, members)

    after = opened(seeded(), ready=False)

    assert {name: found[4] for name, found in described(after).items()} == {
        name: found[4] for name, found in described(before).items()
    }
    assert worded(after, "beta") == ["beta"]


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_file_of_other_columns_is_not_used(
    records: Records, opened: Callable[..., Indexes], seeded: Any, maker: Maker, fresh: Any, tmp_path: Path
) -> None:
    write(records, maker, seeded(), range(20))
    saved(opened(seeded()))
    with zipfile.ZipFile(file_of(tmp_path)) as file:  # as a version without the column of reviews wrote it
        members = {name: file.read(name) for name in file.namelist() if name != "number.review_by"}
    layout = json.loads(members["layout.json"])
    del layout["arrays"]["number.review_by"]
    store, columns, *others = layout["of"]
    layout["of"] = [store, columns.replace(",review_by", ""), *others]
    assert layout["of"][1] != columns
    members["layout.json"] = json.dumps(layout).encode()
    write_members(tmp_path, members)

    after = opened(seeded(), ready=False)

    assert described(after) == fresh(seeded())
    due = {found[3].get("review_by") for found in described(after).values()}
    assert len(due) > 3
    assert not file_of(tmp_path).exists()


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_other_files_unread(opened: Callable[..., Indexes], seeded: Any, put: Any, tmp_path: Path, kind: str) -> None:
    put(seeded(), "alpha", "beta")
    file_of(tmp_path).parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(file_of(tmp_path))
    else:
        file_of(tmp_path).mkdir()

    indexes = opened(seeded())
    save(indexes)

    assert sorted(indexes[DECISIONS].snapshot.ids) == ["alpha", "beta"]


def test_changes_of_a_copy_rebuild(seeded: Any, tmp_path: Path, worded: Any, caplog: pytest.LogCaptureFixture) -> None:
    model, database, earlier = seeded(), tmp_path / "r.sqlite3", tmp_path / "earlier.sqlite3"

    def written(*ids: str) -> Records:
        records = open_records(f"sqlite:///{database}")
        origin = Origin("/x.md", 0, None, "x")
        for id in ids:
            records.put([Entry(Decision(id, id, ""), origin, model.embed_text(id))], model.model)
        return records

    def indexed(records: Records) -> Indexes:
        indexes = open_indexes(tmp_path / "indexes", records, model)
        indexes.start()
        return indexes

    written("alpha", "beta").close()
    shutil.copy(database, earlier)
    records = written("gamma", "delta")
    indexes = indexed(records)
    save(indexes)
    indexes.close()
    records.close()
    for file in tmp_path.glob("r.sqlite3*"):
        file.unlink()
    shutil.copy(earlier, database)
    records = written("epsilon")

    indexes = indexed(records)

    shown = indexes[DECISIONS].snapshot
    living = {shown.ids[row] for row in range(len(shown.keys)) if shown.alive[row]}
    assert living == {"alpha", "beta", "epsilon"}
    assert worded(indexes, "delta") == []
    assert worded(indexes, "epsilon") == ["epsilon"]
    assert "of another state of the records" in caplog.text
    indexes.close()
    records.close()


def test_stale_snapshots_are_not_saved(opened: Callable[..., Indexes], seeded: Any, put: Any, tmp_path: Path) -> None:
    put(seeded(), "alpha", "beta")
    snapshot = opened(seeded())[DECISIONS].snapshot
    file = ColumnsFile(tmp_path, Identity("store", "columns", None, 8))
    file.save(snapshot)
    assert (tmp_path / "columns.zip").exists()

    file.discard(snapshot.seq + 1)
    file.save(snapshot)

    assert not (tmp_path / "columns.zip").exists()
    assert not (tmp_path / "columns.zip.new").exists()
    file.save(replace(snapshot, seq=snapshot.seq + 1))
    assert (tmp_path / "columns.zip").exists()


@pytest.mark.long("makes many records, or rebuilds indexes")
@pytest.mark.parametrize("other", ["model", "dimension", "none"])
def test_columns_of_another_model_are_not_used(
    records: Records, seeded: Any, opened: Callable[..., Indexes], maker: Maker, other: str
) -> None:
    model = seeded()
    write(records, maker, model, range(20))
    before = saved(opened(model))
    another = {"model": seeded(model="seeded-b"), "dimension": seeded(model="seeded-c", dim=4), "none": None}[other]
    of_first = {tuple(vector) for found in described(before).values() for vector in found[6]}

    after = described(opened(another, ready=False))

    assert after.keys() == described(before).keys()
    assert of_first
    assert not of_first & {tuple(vector) for found in after.values() for vector in found[6]}


def test_columns_of_another_store_are_not_used(
    records: Records, stores: Stores, seeded: Any, opened: Callable[..., Indexes], put: Any, tmp_path: Path
) -> None:
    put(seeded(), "alpha", "beta")
    saved(opened(seeded()))
    another = open_records(f"sqlite:///{tmp_path / 'another.sqlite3'}")
    put_there = [entry(Maker(3).record(Kind.DECISION, id), seeded().embed_text(str(id))) for id in range(5)]
    another.put(put_there, seeded().model)

    indexes = open_indexes(tmp_path / "indexes", another, seeded())
    indexes.start()

    assert sorted(indexes[DECISIONS].snapshot.ids) == [f"{id:05}" for id in range(5)]
    indexes.close()
    another.close()


def test_a_removal_discards_the_file_before_searches_show_it(
    records: Records, seeded: Any, opened: Callable[..., Indexes], put: Any, tmp_path: Path, wait_until: Any
) -> None:
    put(seeded(), "alpha", "beta")
    indexes = opened(seeded())
    save(indexes)
    assert file_of(tmp_path).exists()
    index = indexes[DECISIONS]
    seen: list[tuple[int, bool]] = []  # only by this index: others show theirs at any time
    index.watch(lambda: seen.append((index.snapshot.alive_count, file_of(tmp_path).exists())))

    records.delete(Kind.DECISION, ["alpha"])
    indexes.follow_now()
    wait_until(lambda: any(alive == 1 for alive, _ in seen))

    assert not any(exists for alive, exists in seen if alive == 1)


def test_a_start_removes_leftover_drafts_and_files_with_a_vanished_record(
    records: Records, seeded: Any, opened: Callable[..., Indexes], put: Any, tmp_path: Path
) -> None:
    put(seeded(), "alpha", "beta")
    saved(opened(seeded()))
    records.delete(Kind.DECISION, ["alpha"])
    left = file_of(tmp_path).with_name("columns.zip.new")
    left.write_bytes(b"alpha")

    opened(seeded())

    assert not file_of(tmp_path).exists()
    assert not left.exists()


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_file_has_nothing_of_removed_or_changed_records(
    records: Records, seeded: Any, opened: Callable[..., Indexes], maker: Maker, tmp_path: Path
) -> None:
    model = seeded()
    write(records, maker, model, range(3))
    indexes = opened(model)
    secret = maker.record(Kind.DECISION, 9)
    assert isinstance(secret, Decision)
    secret = replace(secret, id="zebra-id", category="zebra-category", tags=("zebra-tag",), status="zebra-status")
    records.put([entry(secret, model.embed_text("zebra"))], model.model)
    indexes.close()
    indexes = opened(model)
    records.delete(Kind.DECISION, ["zebra-id"])
    indexes.close()
    indexes = opened(model)
    save(indexes)

    data = file_of(tmp_path).read_bytes()

    assert b"zebra" not in data
    assert model.embed_text("zebra").tobytes() not in data
    assert b"00010" in data
