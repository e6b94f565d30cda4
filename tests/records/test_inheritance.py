"""Events and chunks inherit project, clearance and facets from their artifact, in any order of arrival."""

from typing import Any

import pytest

from cognition_engines.kinds.spec import Facets, Kind
from cognition_engines.models import Sensitivity, Viewer
from cognition_engines.spaces import MEMORY
from cognition_engines.store.records import Records
from cognition_engines.store.values import Entry, StoredRecord
from tests.kinds import entry

CLEARED = Viewer(clearance=Sensitivity.HIGHLY_SENSITIVE)


def artifact(**members: Any) -> Entry:
    return entry(Kind.ARTIFACT, "a", content="Minutes", **members)


def event(id: str = "e", **members: Any) -> Entry:
    return entry(Kind.EVENT, id, category="Decision", narrative="Done", artifact_id="a", **members)


def chunk(**members: Any) -> Entry:
    return entry(Kind.ARTIFACT_CHUNK, "part", content="Minutes", artifact_id="art_a", **members)


def edge(**members: Any) -> Entry:
    return entry(Kind.EDGE, "ab", source_id="Ana", target_id="Bo", type="KNOWS", artifact_id="a", **members)


def one(records: Records, kind: Kind, id: str, viewer: Viewer | None = None) -> StoredRecord | None:
    return next(iter(records.reads.find([(kind, id)], viewer)), None)


def facets(records: Records, kind: Kind, id: str) -> Facets:
    (found,) = records.reads.find([(kind, id)], None)
    return found.facets


def changed(records: Records, after: int) -> set[str]:
    return set(records.changes.page(MEMORY, after, 100, None).ids)


@pytest.mark.parametrize("first", ["artifact", "children", "together"])
def test_an_event_is_as_guarded_as_its_artifact(records: Records, first: str) -> None:
    parent = artifact(sensitivity="sensitive", project="p", importance=0.9, context="meeting", ts="2024-03-18")
    batches = {
        "artifact": [[parent], [event(), chunk()]],
        "children": [[event(), chunk()], [parent]],
        "together": [[event(), parent, chunk()]],
    }
    for batch in batches[first]:
        records.put(batch, None)
    owner = one(records, Kind.ARTIFACT, "a")
    assert owner is not None
    for kind, id in ((Kind.EVENT, "e"), (Kind.ARTIFACT_CHUNK, "part")):
        found = facets(records, kind, id)
        assert (found.project, found.sensitivity, found.parent) == ("p", Sensitivity.SENSITIVE, owner.key)
        assert (found.context, found.system, found.importance, found.at) == ("meeting", "manual", 0.9, owner.facets.at)
        assert one(records, kind, id, Viewer()) is None
        assert one(records, kind, id, CLEARED) is not None
        assert one(records, kind, id, Viewer(Sensitivity.SENSITIVE, frozenset({"q"}))) is None
    page = records.changes.page(MEMORY, 0, 10, None)
    assert dict(zip(page.ids, page.sensitivity.tolist(), strict=True)) == {"art_a": 1, "evt_e": 1, "part": 1}


@pytest.mark.parametrize("first", ["artifact", "edge"])
def test_an_edge_is_as_guarded_as_its_artifact(records: Records, first: str) -> None:
    parent = artifact(sensitivity="sensitive", project="p")
    for each in [parent, edge()] if first == "artifact" else [edge(), parent]:
        records.put([each], None)
    found = facets(records, Kind.EDGE, "ab")
    assert (found.project, found.sensitivity) == ("p", Sensitivity.SENSITIVE)
    assert one(records, Kind.EDGE, "ab", Viewer()) is None
    records.delete(Kind.ARTIFACT, ["a"])
    assert facets(records, Kind.EDGE, "ab") == Facets("p", Sensitivity.SENSITIVE)


def test_an_event_arriving_before_its_artifact_inherits_later(records: Records) -> None:
    records.put([event()], None)
    assert facets(records, Kind.EVENT, "e") == Facets(None, Sensitivity.NORMAL)
    seen = records.last_seq()
    records.put([artifact(sensitivity="highly_sensitive")], None)
    assert changed(records, seen) == {"art_a", "evt_e"}
    assert facets(records, Kind.EVENT, "e").sensitivity is Sensitivity.HIGHLY_SENSITIVE


def test_an_event_keeps_its_own_statements_and_clearance_only_grows(records: Records) -> None:
    own = event(project="q", sensitivity="sensitive", event_time="2020-01-01")
    records.put([artifact(project="p", ts="2024-03-18"), own, event("f", sensitivity="normal")], None)
    found = facets(records, Kind.EVENT, "e")
    assert (found.project, found.sensitivity) == ("q", Sensitivity.SENSITIVE)
    assert found.at is not None
    assert found.at.year == 2020
    records.put([artifact(project="r", sensitivity="sensitive")], None)
    assert facets(records, Kind.EVENT, "e").project == "q"
    assert facets(records, Kind.EVENT, "f").sensitivity is Sensitivity.SENSITIVE
    assert one(records, Kind.EVENT, "f").record.sensitivity is Sensitivity.NORMAL  # type: ignore[union-attr]


def test_an_event_of_another_project_reveals_nothing_about_its_artifact(records: Records) -> None:
    parent = artifact(project="p", sensitivity="sensitive", importance=0.9, context="meeting", ts="2024-03-18")
    records.put([parent, event(project="q"), event("f", project="p")], None)
    assert facets(records, Kind.EVENT, "e") == Facets("q", Sensitivity.SENSITIVE)
    assert facets(records, Kind.EVENT, "f").context == "meeting"
    records.put([artifact(project="q", context="meeting")], None)
    assert facets(records, Kind.EVENT, "e").context == "meeting"
    assert facets(records, Kind.EVENT, "f") == Facets("p", Sensitivity.NORMAL)


def test_an_artifact_becoming_sensitive_takes_its_events_and_chunks_along(records: Records) -> None:
    records.put([artifact(), event(), chunk(), entry(Kind.ARTIFACT, "b", content="Other")], None)
    for level, hidden in (("sensitive", True), ("normal", False)):
        seen = records.last_seq()
        records.put([artifact(sensitivity=level)], None)
        assert changed(records, seen) == {"art_a", "evt_e", "part"}
        assert (one(records, Kind.EVENT, "e", Viewer()) is None) is hidden
        assert (one(records, Kind.ARTIFACT_CHUNK, "part", Viewer()) is None) is hidden


def test_an_artifact_changing_only_words_leaves_its_events_alone(records: Records) -> None:
    records.put([artifact(), event()], None)
    seen = records.last_seq()
    records.put([artifact(title="Other words")], None)
    assert changed(records, seen) == {"art_a"}


def test_an_event_moving_to_another_artifact_takes_its_facets(records: Records) -> None:
    records.put([artifact(sensitivity="sensitive"), event(), entry(Kind.ARTIFACT, "b", content="x", project="p")], None)
    records.put([entry(Kind.EVENT, "e", category="Decision", narrative="Done", artifact_id="b")], None)
    found = facets(records, Kind.EVENT, "e")
    assert (found.project, found.sensitivity) == ("p", Sensitivity.NORMAL)
    seen = records.last_seq()
    records.put([artifact()], None)
    assert changed(records, seen) == {"art_a"}


def test_an_event_of_a_turn_is_as_guarded_as_the_turn(records: Records) -> None:
    turn = {"content": "Hello", "conversation_id": "c", "turn_index": 0}
    records.put([entry(Kind.TURN, "a", sensitivity="sensitive", **turn), event()], None)
    assert facets(records, Kind.EVENT, "e").context == "conversation"
    assert one(records, Kind.EVENT, "e", Viewer()) is None


def test_parts_of_a_deleted_artifact_stay_as_guarded_as_before(records: Records) -> None:
    records.put([artifact(sensitivity="sensitive", project="p"), event(), chunk()], None)
    seen = records.last_seq()
    records.delete(Kind.ARTIFACT, ["a"])
    assert changed(records, seen) == {"evt_e", "part"}
    for kind, id in ((Kind.EVENT, "e"), (Kind.ARTIFACT_CHUNK, "part")):
        assert facets(records, kind, id) == Facets("p", Sensitivity.SENSITIVE)
        assert one(records, kind, id, Viewer()) is None
