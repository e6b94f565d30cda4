"""Superseded memories: out of force for all viewers, named as such, and in force again without their successor."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import open_records
from tests.kinds import entry
from tests.serving import Serving
from tests.stores import Stores
from tests.writing.written import written

Serve = Callable[..., Serving]
LONG = "\n\n".join(f"Paragraph {number} is about berths and tides." for number in range(250))
EVENT = {"category": "Risk", "narrative": "The berth silts up."}


@pytest.fixture
def serving(serve: Serve) -> Serving:
    return serve()


def remember(serving: Serving, content: str, token: str | None = None, **params: Any) -> str:
    return str(serving.ask("remember", token, content=content, **params)["id"])


def listed(serving: Serving, token: str | None = None, **params: Any) -> dict[str, Any]:
    """Return the successors of each listed memory; None if in force."""
    serving.caught_up()
    found = serving.ask("listMemories", token, **params)["memories"]
    return {one["id"]: one.get("supersededBy") for one in found}


def code(serving: Serving, token: str | None = None, **params: Any) -> Any:
    return serving.send("remember", token, content="Berth three.", **params)["error"]


@pytest.mark.parametrize("place", [{}, {"conversationId": "radio"}], ids=["artifacts", "turns"])
def test_a_superseded_memory_is_found_by_all_reads_and_left_out_of_current_ones(
    serving: Serving, place: dict[str, Any]
) -> None:
    old = remember(serving, "The ferry berths at pier two.", events=[EVENT], **place)
    new = remember(serving, "The ferry berths at pier three.", supersedes=[old], **place)
    assert listed(serving) == {new: None, old: [new]}
    assert listed(serving, current=True) == {new: None}
    assert listed(serving, current=False) == {new: None, old: [new]}
    search = {"query": "ferry berths", "kinds": ["artifact", "turn"]}
    found = serving.ask("search", **search)["results"]
    assert {one["id"]: one["supersededBy"] for one in found} == {new: [], old: [new]}
    assert [one["id"] for one in serving.ask("search", **search, current=True)["results"]] == [new]
    assert serving.ask("search", query="silts", kinds=["event"], current=True)["results"] == []
    recalled = serving.ask("recall", query="ferry berths")["results"]
    assert {one["id"]: one["metadata"].get("supersededBy") for one in recalled} == {new: None, old: [new]}
    assert [one["id"] for one in serving.ask("recall", query="ferry", current=True)["results"]] == [new]
    assert serving.ask("recall", id=old)["results"][0]["metadata"]["supersededBy"] == [new]
    assert serving.ask("recall", id=old, current=True)["results"] == []


def test_turns_of_a_conversation_name_their_successors(serving: Serving) -> None:
    old = remember(serving, "Pier two.", conversationId="radio", turnIndex=0)
    new = remember(serving, "Pier three.", conversationId="radio", turnIndex=1, supersedes=[old])
    turns = serving.ask("recall", conversationId="radio")["turns"]
    assert [(one["id"], one.get("supersededBy")) for one in turns] == [(old, [new]), (new, None)]
    assert [one["id"] for one in serving.ask("recall", conversationId="radio", current=True)["turns"]] == [new]


def test_the_passages_of_a_superseded_artifact_are_as_little_current_as_it_is(serving: Serving) -> None:
    old = remember(serving, LONG, source="wiki", sourceId="tides")
    new = remember(serving, "Berths and tides: see the chart.", supersedes=[old])
    serving.caught_up()
    found = serving.ask("search", query="berths tides", kinds=["artifact"])["results"]
    assert {one["id"]: one["supersededBy"] for one in found} == {new: [], old: [new]}
    results = serving.ask("recall", query="berths and tides")["results"]
    assert [one["metadata"]["supersededBy"] for one in results if one["type"] == "chunk"] == [[new]]
    for method in ("search", "recall"):
        assert [one["id"] for one in serving.ask(method, query="berths tides", current=True)["results"]] == [new]
    remember(serving, f"{LONG} And the moon.", source="wiki", sourceId="tides")  # cut again, and still superseded
    serving.caught_up()
    assert [one["id"] for one in serving.ask("search", query="moon tides", current=True)["results"]] == [new]


def test_current_leaves_out_decisions_not_in_force_and_keeps_kinds_without_an_end(serving: Serving) -> None:
    serving.put(
        [
            entry(Kind.DECISION, "kept", title="Tides rule", status="accepted"),
            entry(Kind.DECISION, "ended", title="Tides do not rule", status="deprecated"),
            entry(Kind.CHUNK, "page", content="Tides of the bay", source_id="s", chunk_index=0),
        ]
    )
    serving.caught_up()
    assert {one["id"] for one in serving.ask("search", query="tides", current=True)["results"]} == {"kept", "page"}
    assert {one["id"] for one in serving.ask("recall", query="tides", current=True)["results"]} == {"kept", "page"}


@pytest.mark.parametrize("ended", ["forgotten", "dropped", "hidden"])
def test_a_memory_is_in_force_again_without_its_successor(serving: Serving, ended: str) -> None:
    old = remember(serving, "Pier two.", events=[EVENT])
    new = remember(serving, "Pier three.", source="wiki", sourceId="pier", supersedes=[old])
    assert listed(serving, current=True) == {new: None}
    if ended == "forgotten":
        serving.ask("forget", id=new, confirm=True)
        assert listed(serving, current=True) == listed(serving) == {old: None}
    elif ended == "dropped":
        remember(serving, "Pier three.", source="wiki", sourceId="pier", supersedes=[])
        assert listed(serving, current=True) == {new: None, old: None}
    else:
        remember(serving, "Pier three.", source="wiki", sourceId="pier", sensitivity="sensitive")
        assert listed(serving, current=True) == {new: None, old: None}
    assert new not in str(serving.ask("recall", id=old))
    assert len(serving.ask("search", query="silts", kinds=["event"], current=True)["results"]) == 1


def test_forgetting_the_middle_successor_leaves_the_first_memory_in_force(serving: Serving) -> None:
    first = remember(serving, "Pier one.")
    second = remember(serving, "Pier two.", supersedes=[first])
    third = remember(serving, "Pier three.", supersedes=[second])
    assert listed(serving, current=True) == {third: None}
    serving.ask("forget", id=second, confirm=True)
    assert listed(serving, current=True) == {third: None, first: None}


def test_an_expired_successor_is_no_longer_named(serving: Serving) -> None:
    old = remember(serving, "Pier two.")
    soon = datetime.now(UTC) + timedelta(days=1)
    (new,) = [written(Kind.ARTIFACT, id="art_new", content="Pier three.", supersedes=[old], expires_at=soon)]
    serving.put([new])
    assert listed(serving) == {"art_new": None, old: ["art_new"]}
    serving.records.forgetting.expire([key_of(serving, "art_new")], soon + timedelta(seconds=1))
    assert listed(serving, current=True) == listed(serving) == {old: None}


def key_of(serving: Serving, id: str) -> int:
    (found,) = serving.records.reads.find([(Kind.ARTIFACT, id)], None)
    return found.key


def test_a_change_of_the_old_memory_leaves_it_superseded(serving: Serving) -> None:
    old = remember(serving, "Pier two.", source="wiki", sourceId="pier")
    new = remember(serving, "Pier three.", supersedes=[old])
    assert remember(serving, "Pier two, at low tide.", source="wiki", sourceId="pier") == old
    assert listed(serving) == {old: [new], new: None}
    remember(serving, "Pier three, always.", source="wiki", sourceId="other", supersedes=[old])
    serving.ask("forget", id=new, confirm=True)
    assert list(listed(serving).values()).count(None) == 1


def test_a_change_without_naming_them_keeps_the_superseded_records(serving: Serving) -> None:
    old = remember(serving, "Pier two.")
    new = {"source": "wiki", "sourceId": "pier"}
    id = remember(serving, "Pier three.", supersedes=[old], **new)
    assert serving.ask("remember", content="Pier three.", **new)["status"] == "unchanged"
    assert serving.ask("remember", content="Pier three!", **new)["status"] == "changed"
    assert listed(serving)[old] == [id]


def test_an_impossible_supersession_is_refused_and_nothing_is_written(serving: Serving) -> None:
    old = remember(serving, "Pier two.", source="wiki", sourceId="pier")
    token = serving.token(projects=["farm"], scopes=("read", "write"))
    hidden = remember(serving, "Secret.", sensitivity="highly_sensitive")
    plain = serving.token(scopes=("read", "write"))
    assert code(serving, supersedes=["art_none"])["data"] == {"id": "art_none"}
    assert code(serving, plain, supersedes=[hidden])["data"] == {"id": hidden}
    assert code(serving, token, supersedes=[old])["data"] == {"id": old}
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "cstp.remember",
        "params": {"content": "Mine.", "supersedes": [old]},
    }
    refused = serving.client.post(serving.url, json=request, headers={"Authorization": f"Bearer {plain}"})
    assert (refused.status_code, refused.json()["error"]["data"]) == (403, {"scope": "review"})
    for params, reason in (
        ({"supersedes": [old], "project": "farm"}, "use its project"),
        ({"supersedes": [old], "sensitivity": "sensitive"}, "at most its sensitivity"),
        ({"supersedes": [old, old.removeprefix("art_")]}, "twice"),
        ({"supersedes": [old], "source": "wiki", "sourceId": "pier"}, "another memory"),
        ({"supersedes": [old] * 2}, "each item once"),
        ({"supersedes": [f"art_{number}" for number in range(101)]}, "at most 100"),
    ):
        assert reason in str(code(serving, **params)["data"]), params
    assert listed(
        serving,
    ) == {hidden: None, old: None}


def test_two_memories_do_not_supersede_each_other(serving: Serving) -> None:
    first = remember(serving, "Pier one.", source="wiki", sourceId="pier")
    second = remember(serving, "Pier two.", supersedes=[first])
    third = remember(serving, "Pier three.", supersedes=[second])
    for named in (second, third):
        refused = serving.send("remember", content="Pier.", source="wiki", sourceId="pier", supersedes=[named])
        assert (refused["error"]["code"], refused["error"]["data"]["reason"]) == (-32011, "state"), named


def test_another_agents_memory_is_superseded_with_the_scope_review(serving: Serving) -> None:
    old = remember(serving, "Pier two.")
    reviewer = serving.token(scopes=("read", "write", "review"))
    new = remember(serving, "Pier three.", reviewer, supersedes=[old])
    assert listed(serving)[old] == [new]


def test_a_dry_run_supersedes_nothing_and_a_repeated_key_once(serving: Serving) -> None:
    old = remember(serving, "Pier two.")
    tried = {"content": "Pier three.", "supersedes": [old]}
    serving.ask("remember", **tried, dryRun=True)
    assert listed(serving) == {old: None}
    first, again = (serving.ask("remember", **tried, idempotencyKey="k")["id"] for _ in range(2))
    assert listed(serving) == {first: None, old: [first]}
    assert again == first
    assert "must" in str(code(serving, supersedes=[old, ""], idempotencyKey="k2"))


def test_followers_and_the_audit_see_the_change_of_the_old_memory(serving: Serving) -> None:
    old = remember(serving, "Pier two.", events=[EVENT])
    cursor = serving.ask("changes", since="now")["cursor"]
    new = remember(serving, "Pier three.", supersedes=[old])
    changes = serving.ask("changes", since=cursor)["changes"]
    assert {one["id"] for one in changes if one["kind"] == "artifact"} == {old, new}
    (row,) = [one for one in serving.ask("audit", id=new)["rows"] if one["method"] == "cstp.remember"]
    assert {one["id"] for one in row["records"] if one["kind"] == "artifact"} == {old, new}


def test_files_state_successors_whatever_is_read_first(stores: Stores, tmp_path: Path) -> None:
    records = open_records(stores.records(tmp_path))
    old = entry(Kind.ARTIFACT, "old", content="Pier two.")
    new = entry(Kind.ARTIFACT, "new", content="Pier three.", supersedes=["old"])
    guarded = entry(Kind.ARTIFACT, "guarded", content="Pier four.", supersedes=["old"], sensitivity="sensitive")
    for batches in ([[old], [new]], [[new], [old]], [[new, old]]):
        for batch in batches:
            records.put([*batch, guarded], None)
        (found,) = records.reads.find([(Kind.ARTIFACT, "art_old")], None)
        assert found.facets.until is not None
        records.delete(Kind.ARTIFACT, ["art_new"])
        (found,) = records.reads.find([(Kind.ARTIFACT, "art_old")], None)
        assert found.facets.until is None
        records.delete(Kind.ARTIFACT, ["art_old"])
    records.close()
