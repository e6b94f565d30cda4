"""Changes as seen by viewers: complete, in order, and without a trace of hidden records."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Thread
from time import time_ns

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING, Sensitivity, Viewer
from cognition_engines.store.database import BLOCK
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry
from tests.following.readers import VIEWERS, Follower, any_entry, names, seen, write
from tests.kinds import entry
from tests.stores import Stores

IDS = 12
SECRET = {"sensitivity": Sensitivity.HIGHLY_SENSITIVE}


@pytest.fixture
def records(tmp_path: Path, stores: Stores) -> Iterator[Records]:
    opened = open_records(stores.records(tmp_path))
    yield opened
    opened.close()


def decision(id: str, text: str = "text", **rights: object) -> Entry:
    return entry(Kind.DECISION, id, title="T", text=text, **rights)


def given(records: Records, viewer: Viewer = Viewer(), after: int = 0) -> list[tuple[str, str]]:
    found = records.viewer_changes.after(viewer, after, None, 1000).changes
    return [("delete" if one.gone else "put", one.id) for one in found]


@pytest.mark.long("follows many writes")
@pytest.mark.parametrize("seed", range(2))
def test_a_follower_has_exactly_the_view_of_its_viewer(
    records: Records, tmp_path: Path, stores: Stores, seed: int
) -> None:
    def work(number: int) -> None:
        own, random = open_records(stores.records(tmp_path)), Random(f"{seed} {number}")
        for _ in range(20):
            write(own, random, IDS)
        own.close()

    writers = [Thread(target=work, args=(number,)) for number in range(3)]
    followers = [Follower(records, viewer, Random(seed)) for viewer in VIEWERS]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        for follower in followers:
            follower.step()
    for follower in followers:
        follower.catch_up()
        assert follower.known == seen(records, follower.viewer, names(IDS)), follower.viewer
        assert follower.known or follower.gone


@pytest.mark.long("follows many writes")
def test_records_never_seen_by_a_viewer_leave_no_trace(records: Records) -> None:
    random = Random(5)
    followers = [Follower(records, viewer, Random(1)) for viewer in VIEWERS]
    ever: list[set[tuple[Kind, str]]] = [set() for _ in followers]
    for _ in range(60):
        write(records, random, 5)
        for follower, known in zip(followers, ever, strict=True):
            known.update(seen(records, follower.viewer, names(5)))
            if random.random() < 0.5:
                follower.catch_up()
            assert follower.gone | set(follower.known) <= known
    assert all(follower.gone for follower in followers)


def test_a_record_leaving_the_view_of_some_is_a_delete_for_them_alone(records: Records) -> None:
    normal, cleared = Viewer(), Viewer(Sensitivity.HIGHLY_SENSITIVE)
    records.put([decision("d")], None)
    last = records.last_seq()
    records.put([decision("d", **SECRET)], None)
    assert given(records, normal, last) == [("delete", "d")]
    assert given(records, cleared, last) == [("put", "d")]
    last = records.last_seq()
    records.put([decision("d", "other", **SECRET)], None)
    assert given(records, normal, last) == []
    records.put([decision("d")], None)
    assert given(records, normal) == [("put", "d")]


def test_a_project_change_by_an_ingest_moves_the_record_between_viewers(records: Records) -> None:
    mine, theirs = Viewer(projects=frozenset({"p"})), Viewer(projects=frozenset({"q"}))
    records.put([decision("d", project="p")], None)
    records.put([decision("d", project="q")], None)
    assert given(records, mine) == [("delete", "d")]
    assert given(records, theirs) == [("put", "d")]
    records.delete(Kind.DECISION, ["d"])
    assert given(records, mine) == [("delete", "d")]
    assert given(records, theirs) == [("delete", "d")]
    assert given(records, Viewer(projects=frozenset({"r"}))) == []


def test_children_leave_with_their_artifact(records: Records) -> None:
    event = entry(Kind.EVENT, "e", category="Decision", narrative="Done", artifact_id="a")
    records.put([entry(Kind.ARTIFACT, "a", content="Minutes"), event], None)
    last = records.last_seq()
    records.put([entry(Kind.ARTIFACT, "a", content="Minutes", sensitivity="sensitive")], None)
    assert sorted(given(records, Viewer(), last)) == [("delete", "art_a"), ("delete", "evt_e")]


def test_a_returning_id_is_no_delete(records: Records) -> None:
    records.put([decision("d")], None)
    records.delete(Kind.DECISION, ["d"])
    assert given(records) == [("delete", "d")]
    records.put([decision("d")], None)
    assert given(records) == [("put", "d")]
    records.delete(Kind.DECISION, ["d"])
    records.put([decision("d", **SECRET)], None)
    assert given(records) == [("delete", "d")]


@pytest.mark.long("follows many writes")
def test_a_reader_killed_and_resumed_misses_and_repeats_nothing(records: Records) -> None:
    random = Random(3)
    follower = Follower(records, EVERYTHING, random)
    for _ in range(60):
        write(records, random, IDS)
        for _ in range(random.randint(0, 3)):
            follower = Follower(records, EVERYTHING, random, follower.known, follower.cursor, follower.given)
            follower.step()
    follower.catch_up()
    assert follower.known == seen(records, EVERYTHING, names(IDS))


def test_only_some_kinds_are_given_when_these_are_asked_for(records: Records) -> None:
    random = Random(2)
    records.put(
        list({(type(one.record), one.record.id): one for one in (any_entry(random, 9) for _ in range(30))}.values()),
        None,
    )
    found = records.viewer_changes.after(EVERYTHING, 0, (Kind.TURN, Kind.EVENT), 1000).changes
    assert {one.kind for one in found} == {Kind.TURN, Kind.EVENT}
    every = records.viewer_changes.after(EVERYTHING, 0, None, 1000).changes
    assert [one for one in every if one.kind in (Kind.TURN, Kind.EVENT)] == list(found)


@pytest.mark.long("follows many writes")
def test_hidden_writes_look_like_none(tmp_path: Path, stores: Stores) -> None:
    """Make equal visible writes, alone in a store and among hidden writes in another store."""
    answers = []
    for hidden in (0, 7):
        folder = tmp_path / str(hidden)
        folder.mkdir()
        records = open_records(stores.records(folder))
        times: list[tuple[int, int]] = []
        for number in range(30):
            secrets = [decision(f"s-{number}-{each}", **SECRET) for each in range(hidden)]
            for secret in secrets[:3]:
                records.put([secret], None)
            began = time_ns() // 1000
            records.put([*secrets[3:5], decision(f"d-{number}"), *secrets[5:]], None)
            times.append((began, time_ns() // 1000))
            if hidden:
                records.delete(Kind.DECISION, [f"s-{number}-0"])
        found = records.viewer_changes.after(Viewer(), 0, None, 1000)
        assert records.viewer_changes.last(Viewer()) == found.changes[-1].seq
        slack = 100_000  # a block under a lock, and the clock of another machine
        for change, (began, ended) in zip(found.changes, times, strict=True):
            assert began - slack <= change.seq <= ended + BLOCK + slack, "a number is a time"
        answers.append([(one.gone, one.kind, one.id) for one in found.changes])
        records.close()
    assert answers[0] == answers[1]


@pytest.mark.long("follows many writes")
def test_numbers_within_a_transaction_hide_its_size(records: Records) -> None:
    gaps: dict[int, list[int]] = {0: [], 20: []}
    for number in range(150):
        for hidden, found in gaps.items():
            last = records.last_seq()
            secrets = [decision(f"s-{number}-{each}", **SECRET) for each in range(hidden)]
            ids = [f"{hidden}-{number}-a", f"{hidden}-{number}-b"]
            records.put([decision(ids[0]), *secrets, decision(ids[1])], None)
            one, other = records.viewer_changes.after(Viewer(), last, None, 10).changes
            found.append(other.seq - one.seq)
    means = [sum(found) / len(found) for found in gaps.values()]
    # of two numbers drawn from a block the mean distance is a third of it, with a deviation of 20 for 150 of them
    assert all(abs(mean - BLOCK / 3) < 120 for mean in means), means


def test_the_parts_of_a_deleted_artifact_of_another_project_show_nothing_of_it(records: Records) -> None:
    event = entry(Kind.EVENT, "e", category="Decision", narrative="Done", artifact_id="a", project="q")
    records.put([entry(Kind.ARTIFACT, "a", content="Minutes", project="p"), event], None)
    last = records.last_seq()
    records.delete(Kind.ARTIFACT, ["a"])
    assert given(records, Viewer(projects=frozenset({"q"})), last) == []
