"""Records of every kind: stored and read back, distinguished, counted, deleted, copied."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import ValidationError

from cognition_engines.kinds.registry import embedding_text, keyword_text, validate_record
from cognition_engines.kinds.spec import Kind, Origin, Role
from cognition_engines.models import Viewer
from cognition_engines.spaces import DECISIONS, EPISODES, EXTRACTIONS, KNOWLEDGE, MEMORY, TIMELINE
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.transfer.backup import opened_backup, restore_backup, write_backup
from cognition_engines.store.transfer.copy import Watcher
from cognition_engines.store.values import PART, Entry, IdTaken, Outcome, Replaces
from tests import kinds
from tests.kinds import entry
from tests.stored import Removal, changes_of

ORIGIN = Origin("/notes/a.jsonl", 3, "alpha", "digest")
IDS = {Kind.EPISODE: 7, Kind.ARTIFACT: "art_one", Kind.TURN: "art_two", Kind.EVENT: "evt_one"}
SMALL: dict[Kind, dict[str, Any]] = {
    Kind.DECISION: {"title": "Use SQLite"},
    Kind.SOURCE: {"title": "A book"},
    Kind.CHUNK: {"content": "A passage", "source_id": "b", "tags": ["One"]},
    Kind.CLUSTER: {"name": "A group"},
    Kind.EXTRACTION: {"type": "warning", "content": {"title": "Mind", "description": "the gap"}, "topics": ["Rag"]},
    Kind.EPISODE: {"query": "What now?", "reward": -1, "tags": ["x", "y"]},
    Kind.ARTIFACT: {"content": "Minutes", "ts": "2024-03-18"},
    Kind.ARTIFACT_CHUNK: {"content": "Minutes", "artifact_id": "a"},
    Kind.TURN: {"content": "Hello", "conversation_id": "c", "turn_index": 0, "speaker": "Ana  Maria"},
    Kind.EVENT: {"category": "Decision", "narrative": "Done", "actors": ["ANA"], "subject": "Ship"},
    Kind.ENTITY: {"name": "Ana", "aliases": ["A."]},
    Kind.EDGE: {"source_id": "Ana", "target_id": "Bob", "type": "works with"},
}


def small(kind: Kind, id: str | int = "one", **more: Any) -> Entry:
    return entry(kind, 7 if kind is Kind.EPISODE and id == "one" else id, **SMALL[kind] | more)


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Records]:
    store = open_records(f"sqlite:///{tmp_path}/target.sqlite3")
    yield store
    store.close()


@pytest.mark.long("writes many records")
@pytest.mark.parametrize("kind", Kind)
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_every_kind_comes_back_as_it_was_put(records: Records, kind: Kind, data: st.DataObject) -> None:
    id = IDS.get(kind, "one")
    record = data.draw(kinds.records(kind, id))
    records.delete(kind, [str(id)])
    records.put([Entry(record, ORIGIN)], None)
    (stored,) = records.reads.find([(kind, str(id))], None)
    assert (stored.kind, stored.record, stored.origin) == (kind, record, ORIGIN)
    assert records.reads.by_keys([stored.key], None) == {stored.key: stored}
    changed = data.draw(kinds.records(kind, id))
    records.put([Entry(changed, Origin("/b", 0, None, "other"))], None)
    (again,) = records.reads.find([(kind, str(id))], None)
    assert (again.key, again.record) == (stored.key, changed)


def test_an_id_may_be_used_by_two_kinds(records: Records) -> None:
    used = [kind for kind in Kind if kind not in (Kind.EPISODE, Kind.ARTIFACT, Kind.TURN, Kind.ARTIFACT_CHUNK)]
    assert records.put([small(kind, "17") for kind in used], None) == (Outcome.NEW,) * len(used)
    assert records.put([small(kind, "17") for kind in used], None) == (Outcome.UNCHANGED,) * len(used)
    assert records.delete(Kind.CHUNK, ["17"]) == ("17",)
    assert records.counts() == {kind: 1 for kind in used if kind is not Kind.CHUNK}
    assert (
        sum(records.counts().values()),
        records.counts().get(Kind.CHUNK, 0),
        records.counts().get(Kind.ENTITY, 0),
    ) == (len(used) - 1, 0, 1)


@pytest.mark.parametrize("second", [Kind.TURN, Kind.ARTIFACT_CHUNK])
def test_an_artifact_and_a_turn_cannot_share_an_id(records: Records, second: Kind) -> None:
    records.put([small(Kind.ARTIFACT, "x"), small(Kind.CHUNK)], None)
    with pytest.raises(IdTaken, match="of the kind artifact") as caught:
        records.put([small(Kind.CLUSTER), small(second, "art_x")], None)
    assert (caught.value.kind, caught.value.id) == (Kind.ARTIFACT, "art_x")
    with pytest.raises(ValueError, match="'art_y' is twice in the batch"):
        records.put([small(Kind.ARTIFACT, "y"), small(second, "art_y")], None)
    assert sum(records.counts().values()) == 2


def test_deleting_leaves_a_tombstone_of_its_kind(records: Records) -> None:
    records.put([small(Kind.CHUNK, "a"), small(Kind.TURN, "b")], None)
    chunk, turn = records.reads.find([(Kind.CHUNK, "a"), (Kind.TURN, "b")], None)
    before = records.last_seq()
    assert records.delete(Kind.TURN, ["b", "nobody"]) == ("b",)
    assert records.delete(Kind.CHUNK, ["a"]) == ("a",)
    gone = [replace(each, seq=0) for each in changes_of(records, before, 10, None)]
    assert gone == [Removal(0, turn.key, Kind.TURN, "art_b"), Removal(0, chunk.key, Kind.CHUNK, "a")]
    assert records.changes.page(MEMORY, before, 10, None).removed.tolist() == [turn.key]
    assert records.changes.page(KNOWLEDGE, before, 10, None).removed.tolist() == [chunk.key]
    assert len(records.changes.page(DECISIONS, before, 10, None)) == 0


def test_ids_are_found_with_and_without_their_prefix(records: Records) -> None:
    records.put([small(Kind.ARTIFACT, "x"), small(Kind.EVENT, "x"), small(Kind.TURN, "y")], None)
    for ids in (["x", "x", "y"], ["art_x", "evt_x", "art_y"]):
        asked = list(zip((Kind.ARTIFACT, Kind.EVENT, Kind.TURN), ids, strict=True))
        assert [one.record.id for one in records.reads.find(asked, Viewer())] == ["art_x", "evt_x", "art_y"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (Entry(validate_record(Kind.SOURCE, {"title": "t"}), ORIGIN), "id: must be settled"),
        (Entry(validate_record(Kind.ARTIFACT, {"id": "x", "content": "t"}), ORIGIN), "id: 'x' must begin with art_"),
        (Entry(validate_record(Kind.SOURCE, {"id": "x", "title": "t"}), ORIGIN, np.ones((1, 3), "f4")), "vectors"),
    ],
)
def test_unsettled_records_are_refused(records: Records, bad: Entry, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        records.put([bad], "m" if bad.vectors is not None else None)


def test_vectors_are_given_for_texts_to_embed(records: Records) -> None:
    vectors = np.ones((1, 3), np.float32)
    whole, cut = small(Kind.ARTIFACT, "a"), small(Kind.ARTIFACT, "b", chunked=True)
    batch = [Entry(whole.record, ORIGIN, vectors), Entry(cut.record, ORIGIN), small(Kind.ENTITY)]
    assert records.put(batch, "m") == (Outcome.NEW,) * 3
    assert records.put(batch, "m") == (Outcome.UNCHANGED,) * 3
    with pytest.raises(ValueError, match="vectors: 'art_b'"):
        records.put([Entry(cut.record, ORIGIN, vectors)], "m")
    assert [one.record.id for one in records.reads.without_vectors(MEMORY, "other", 0, 9)] == ["art_a"]
    assert records.reads.without_vectors(MEMORY, "m", 0, 9) == []
    assert [records.reads.windows(space, "m", records.last_seq()) for space in (MEMORY, DECISIONS)] == [1, 0]


def test_pages_have_the_columns_of_their_space(records: Records) -> None:
    for kind in Kind:  # in sequence: records of a transaction come in any order
        if kind is not Kind.ARTIFACT_CHUNK:
            records.put([small(kind, "two") if kind is Kind.TURN else small(kind)], None)
    memory = records.changes.page(MEMORY, 0, 9, None)
    assert memory.labels["kind"] == ("artifact", "turn", "event")
    assert memory.labels["category"] == (None, None, "Decision")
    assert [list(texts) for texts in memory.sets["actors"]] == [[], ["ana maria"], ["ana"]]
    assert [list(texts) for texts in memory.sets["subjects"]] == [[], [], ["ship"]]
    knowledge = records.changes.page(KNOWLEDGE, 0, 9, None)
    assert knowledge.labels["type"] == ("chunk", "warning")
    assert knowledge.labels["source_id"] == ("b", None)
    assert [list(texts) for texts in knowledge.sets["topics"]] == [["One"], ["Rag"]]
    assert [list(texts) for texts in records.changes.page(EPISODES, 0, 9).sets["tags"]] == [["x", "y"]]
    assert records.changes.page(EXTRACTIONS, 0, 9).labels["type"] == ("warning",)
    assert records.changes.page(TIMELINE, 0, 9).labels["context"] == ("decision", "note", "conversation")
    for space in (MEMORY, KNOWLEDGE, EPISODES, EXTRACTIONS, TIMELINE, DECISIONS):
        page = records.changes.page(space, 0, 9, None)
        assert tuple(page.labels) == tuple(label.name for label in space.labels)
        assert tuple(page.numbers) == tuple(number.name for number in space.numbers)
        assert page.seq == records.last_seq()


@pytest.mark.long("writes many records")
def test_pages_of_a_mixed_space_are_whole_and_in_order(records: Records) -> None:
    for number in range(40):
        records.put([small(kind, f"{kind}-{number}") for kind in (Kind.TURN, Kind.EVENT, Kind.DECISION)], None)
        if number % 5 == 0:
            records.delete(Kind.EVENT, [f"{Kind.EVENT}-{number}"])
    whole = records.changes.page(MEMORY, 0, 1000, None)
    for limit in (1, 7):
        seqs: list[int] = []
        removed: list[int] = []
        after = 0
        while page := records.changes.page(MEMORY, after, limit, None):
            assert len(page) <= limit
            seqs += page.seqs.tolist()
            removed += page.removed.tolist()
            after = page.seq
        assert (seqs, removed) == (whole.seqs.tolist(), whole.removed.tolist())
        assert page.seq == records.last_seq()


def part(id: str, source_id: str = "s", file: str = "/notes/memory.jsonl") -> Entry:
    return replace(small(Kind.CHUNK, id, source_id=source_id), origin=Origin(file, PART, None, "1"))


def test_a_reread_document_drops_its_former_parts(records: Records) -> None:
    own = small(Kind.CHUNK, "own", source_id="s")
    others = [part("other", "s-2"), part("moved", file="/notes/before.jsonl"), own, small(Kind.SOURCE, "s")]
    records.put([*map(part, "abc"), *others], None)
    records.put([part("d")], None, [Replaces(Kind.SOURCE, "s", frozenset({(Kind.CHUNK, "b"), (Kind.CHUNK, "d")}))])
    kept = ["b", "d", "other", "own", "s"]
    assert sorted(row.id for row in records.origins.read_below("/notes")) == kept
    records.put([], None, [Replaces(Kind.ARTIFACT, "s", frozenset()), Replaces(Kind.SOURCE, "unknown", frozenset())])
    assert sum(records.counts().values()) == len(kept)


def test_dangling_references_are_reported_by_file_and_role(records: Records) -> None:
    batch = [
        small(Kind.CHUNK, "a", source_id="s-1", cluster_ids=["c-1", "c-2"]),
        small(Kind.CHUNK, "b", source_id="s-2", cluster_ids=["c-1"]),
        small(Kind.EVENT, artifact_id="lost"),
        small(Kind.EVENT, "two", artifact_id="here"),
        small(Kind.ARTIFACT, "here"),
        small(Kind.EDGE),
        small(Kind.ENTITY),
    ]
    records.put([*batch, small(Kind.SOURCE, "s-2"), small(Kind.CLUSTER, "c-2")], None)
    found = {
        (each.kind, each.role): (each.count, each.example)
        for each in records.origins.dangling_references([("", "/notes/memory.jsonl")])
    }
    assert found == {
        (Kind.CHUNK, Role.SOURCE): (1, "s-1"),
        (Kind.CHUNK, Role.CLUSTER): (2, "c-1"),
        (Kind.EVENT, Role.ARTIFACT): (1, "art_lost"),
        (Kind.EDGE, Role.TO): (1, "bob"),
    }
    assert records.origins.dangling_references([("", "/notes/other.jsonl")]) == []


@pytest.mark.long("writes many records")
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_a_copy_and_a_backup_hold_records_of_all_kinds(
    records: Records, target: Records, tmp_path: Path, quiet: Watcher, data: st.DataObject
) -> None:
    for kind in Kind:
        records.put([Entry(data.draw(kinds.records(kind, IDS.get(kind, "one"))), ORIGIN)], None)
    records.put(
        [small(Kind.EVENT, "late", artifact_id="one"), small(Kind.ARTIFACT_CHUNK, "part", artifact_id="one")], None
    )
    contents = write_backup(records.store, tmp_path / "backup", "test", {}, replace=True, watcher=quiet).contents
    assert contents.records == sum(records.counts().values()) == len(Kind) + 2
    with opened_backup(tmp_path / "backup", quiet) as backup:
        done = restore_backup(backup, target.store, replace=True, watcher=quiet)
    assert done.contents == contents
    for asked in [(kind, str(IDS.get(kind, "one"))) for kind in Kind] + [(Kind.EVENT, "late")]:
        (one,), (other,) = records.reads.find([asked], None), target.reads.find([asked], None)
        assert (one.record, one.origin, one.updated_at) == (other.record, other.origin, other.updated_at)
        parents = {found.key for found in target.reads.find([(Kind.ARTIFACT, "one")], None)} | {None}
        assert other.facets.parent in parents
        assert one.facets == other.facets or (one.facets.parent is not None and other.facets.parent is not None)


def test_searches_get_a_text_of_each_embeddable_kind() -> None:
    said = {kind: embedding_text(small(kind).record) for kind in Kind}
    assert said[Kind.DECISION] == "Use SQLite\n"
    assert said[Kind.CHUNK] == "A passage"
    assert said[Kind.EXTRACTION] == "Mind\nthe gap\nRag"
    assert said[Kind.EPISODE] == "What now?"
    assert said[Kind.TURN] == "Ana  Maria: Hello"
    assert said[Kind.EVENT] == "Decision: Done\nANA, Ship"
    assert said[Kind.ARTIFACT] == "Minutes"
    assert [kind for kind in Kind if said[kind] is None] == [2, 4, 11, 12]
    dated = small(Kind.TURN, ts="2023-05-08T10:00:00Z").record
    assert embedding_text(dated) == "2023-05-08 Ana  Maria: Hello"
    event = small(Kind.EVENT, event_time="2024-03-18", evidence=[{"quote": "we will"}], actors=[]).record
    assert keyword_text(event) == "2024-03-18 Decision: Done\nShip\nwe will"
    assert embedding_text(small(Kind.ARTIFACT, chunked=True).record) is None


def test_an_edge_to_itself_and_a_chunk_after_the_last_are_refused() -> None:
    for kind, members in ((Kind.EDGE, {"target_id": "ANA"}), (Kind.CHUNK, {"chunk_index": 2, "total_chunks": 2})):
        with pytest.raises(ValidationError):
            validate_record(kind, SMALL[kind] | members)
