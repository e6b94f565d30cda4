"""`cstp.search`: records of all kinds in a single ranking, each parameter, and scores independent of other records."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from tests.kinds import entry

QUERY = "who buys the crane that lifts the mast"
DAYS = [datetime(2024, 5, day, tzinfo=UTC) for day in range(1, 8)]
SETTINGS = {"least_cosine": 0.5}
LONG = "The yard is quiet in winter. " * 40
WHOLE = {
    "decision": ("getDecision", "id"),
    "chunk": ("getChunk", "chunkId"),
    "episode": ("getEpisode", "id"),
    "artifact": ("recall", "id"),
    "turn": ("recall", "id"),
    "event": ("recall", "id"),
}


def some() -> list[Any]:
    mast = "It lifts the mast."
    return [
        entry(Kind.SOURCE, "src-1", title="The Yard"),
        entry(Kind.DECISION, "dec-1", title="Buy a crane", text=mast, tags=("Tools",), date=DAYS[0], project="p"),
        entry(Kind.CHUNK, "chunk-1", content="A crane lifts the mast.", source_id="src-1", tags=("tools",),
              created_at=DAYS[1]),
        entry(Kind.EXTRACTION, "ext-1", type="warning", content={"title": "A crane may fall", "description": mast},
              topics=("tools",), source_id="src-1", extracted_at=DAYS[2]),
        entry(Kind.EPISODE, 1, query="Buy a crane", reward=0.5, reflection="The mast.", tags=("tools",),
              created_at=DAYS[3]),
        entry(Kind.ARTIFACT, "art_note", content="Buy a crane: it lifts the mast.", title="Crane", context="email",
              source_system="Slack", importance=0.9, ts=DAYS[4]),
        entry(Kind.TURN, "art_say", conversation_id="c-1", speaker="Ana", content="Who buys the crane?", ts=DAYS[5]),
        entry(Kind.EVENT, "evt_buy", artifact_id="art_note", category="Commitment", narrative="Ana buys the crane",
              event_time=DAYS[6]),
        entry(Kind.ARTIFACT, "art_long", content=LONG, title="Winter", chunked=True, context="note"),
        entry(Kind.ARTIFACT_CHUNK, "long-0", artifact_id="art_long", content=LONG, chunk_index=0, total_chunks=2),
        entry(Kind.ARTIFACT_CHUNK, "long-1", artifact_id="art_long", content="The crane rusts. " + LONG, chunk_index=1,
              total_chunks=2),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def memory(remembering: Callable[..., Any]) -> Any:
    return remembering(some(), search=SETTINGS)


def found(memory: Any, **params: Any) -> list[dict[str, Any]]:
    reply = memory.answer("search", **{"query": QUERY, "limit": 50, **params})
    assert "result" in reply, reply
    results: list[dict[str, Any]] = reply["result"]["results"]
    return results


def types(memory: Any, **params: Any) -> set[str]:
    return {each["type"] for each in found(memory, **params)}


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_all_kinds_come_in_one_order_with_scores_from_0_to_1(memory: Any, mode: str) -> None:
    results = found(memory, mode=mode)
    assert {each["type"] for each in results} == {"extraction", *WHOLE}
    scores = [each["score"] for each in results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len(set(scores)) > 1


def test_an_id_is_accepted_by_the_method_for_the_whole_record(memory: Any) -> None:
    for each in found(memory):
        if each["type"] in WHOLE:
            method, name = WHOLE[each["type"]]
            assert "result" in memory.answer(method, **{name: each["id"]}), each


def test_an_artifact_and_its_chunks_are_one_result_with_the_id_of_the_artifact(memory: Any) -> None:
    long = [each for each in found(memory, query="the crane rusts in the quiet yard") if each["id"] == "art_long"]
    assert [each["type"] for each in long] == ["artifact"]
    assert long[0]["snippet"].startswith("The crane rusts.")


def test_kinds_restrict_the_results_without_changing_scores(memory: Any) -> None:
    every = {each["id"]: each["score"] for each in found(memory)}
    for kind in ("extraction", *WHOLE):
        results = found(memory, kinds=[kind])
        assert {each["type"] for each in results} == {kind}
        assert all(each["score"] == every[each["id"]] for each in results)


def test_every_filter_leaves_out_kinds_unable_to_meet_it(memory: Any) -> None:
    assert types(memory, project="p") == {"decision"}
    assert types(memory, tags=["tools"]) == {"decision", "chunk", "extraction", "episode"}
    assert types(memory, tags=["TOOLS"]) == {"decision", "chunk", "extraction"}  # tags of episodes are exact
    assert types(memory, context="EMAIL") == {"artifact", "event"}
    assert types(memory, context="conversation") == {"turn"}
    assert types(memory, source="slack") == {"artifact", "event"}
    assert types(memory, minImportance=0.8) == {"artifact", "event"}
    assert found(memory, sensitivity="sensitive") == []


def test_with_a_repository_decisions_in_files_of_others_are_left_out(remembering: Callable[..., Any]) -> None:
    made = [entry(Kind.DECISION, name, title="Buy a crane", text="It lifts the mast.") for name in "abc"]
    places = ("github.com/acme/a", "github.com/acme/b", "")
    decisions = [
        replace(one, origin=replace(one.origin, repository=place)) for one, place in zip(made, places, strict=True)
    ]
    one = remembering([*decisions, *some()[5:6]], search=SETTINGS)
    assert {each["id"] for each in found(one)} == {"a", "b", "c", "art_note"}
    assert {each["id"] for each in found(one, repository=places[0])} == {"a", "c", "art_note"}


def test_titles_count_in_scores_by_meaning(memory: Any) -> None:
    for mode, counts in (("hybrid", True), ("keyword", False)):
        plain = {each["id"]: each["score"] for each in found(memory, query="buy a crane", mode=mode)}
        titled = found(memory, query="buy a crane", mode=mode, titles=True, explain=True)
        shown = {each["id"]: each["score"] for each in titled}
        assert (shown["dec-1"] > plain["dec-1"]) is counts
        assert shown["art_say"] == plain["art_say"]  # a turn has no title
        assert [*shown.values()] == sorted(shown.values(), reverse=True)
        assert all(each["explain"]["score"] == each["score"] for each in titled)
    assert len(found(memory, titles=True, limit=2)) == 2


def test_dates_hold_for_every_kind(memory: Any) -> None:
    assert types(memory, dateFrom="2024-05-03", dateTo="2024-05-05") == {"extraction", "episode", "artifact"}
    assert types(memory, dateTo="2024-05-02") == {"decision", "chunk"}
    assert types(memory, dateFrom="2024-05-06") == {"turn", "event"}
    dates = {each["type"]: each["date"] for each in found(memory) if each["date"] is not None}
    assert dates["event"] == "2024-05-07T00:00:00Z"


def test_limit_bounds_the_results_of_all_kinds_together(memory: Any) -> None:
    every = found(memory)
    assert found(memory, limit=3) == every[:3]
    assert len(memory.answer("search", query=QUERY)["result"]["results"]) == min(10, len(every))


def test_content_and_explanations_come_when_they_are_asked_for(memory: Any) -> None:
    plain, whole = found(memory), found(memory, include=["content"], explain=True)
    assert all("content" not in each and "explain" not in each for each in plain)
    by_id = {each["id"]: each for each in whole}
    assert by_id["dec-1"]["content"] == "It lifts the mast."
    assert all(each["explain"]["score"] == each["score"] for each in whole)
    assert by_id["dec-1"]["explain"]["cosine"] is not None


def test_an_answer_fits_its_tokens(memory: Any) -> None:
    params = {"query": "the crane rusts in the quiet yard", "limit": 50, "include": ["content"], "maxTokens": 500}
    result = memory.answer("search", **params)["result"]
    assert len(str(result).encode()) <= 500 * 3
    assert len(result["results"]) + result["omitted"] == len(found(memory, query=params["query"]))
    cut = [each for each in result["results"] if each["truncated"]]
    assert all(each["content"] in LONG or each["id"] == "art_long" for each in cut)


def test_titles_and_sources_are_those_of_the_kind(memory: Any) -> None:
    shown = {each["type"]: (each["title"], each["source"], each["sourceId"]) for each in found(memory)}
    assert shown["chunk"] == ("The Yard", "The Yard", "src-1")
    assert shown["extraction"] == ("A crane may fall", "The Yard", "src-1")
    assert shown["turn"][0::2] == ("Ana", "c-1")
    assert shown["event"] == ("Commitment", "slack", "art_note")
    assert shown["episode"] == (None, None, None)


def test_a_score_depends_on_no_other_found_record(memory: Any, remembering: Callable[..., Any]) -> None:
    one = remembering([each for each in some() if each.record.id == "art_say"], search=SETTINGS)
    alone = found(one, mode="semantic")
    assert alone == [each for each in found(memory, mode="semantic") if each["type"] == "turn"]


def test_words_in_a_row_raise_a_score(memory: Any) -> None:
    asked = found(memory, query="crane lifts the mast", explain=True, kinds=["chunk"])
    apart = found(memory, query="mast the lifts crane", explain=True, kinds=["chunk"])
    assert asked[0]["explain"]["boosts"]["phrase"] == 1.0
    assert asked[0]["explain"]["cosine"] == pytest.approx(apart[0]["explain"]["cosine"], abs=1e-5)
    assert asked[0]["score"] > apart[0]["score"]


def test_a_time_in_the_query_raises_the_scores_of_its_records_and_is_returned(memory: Any) -> None:
    asked = {"query": "who buys the crane, the month before", "explain": True}
    spoken = {"query": "who buys the crane, last month", "explain": True}

    result = memory.answer("search", **spoken, asOf="2024-06-10")["result"]
    dates = {each["id"]: each["explain"]["boosts"]["date"] for each in result["results"]}
    assert result["interpreted"] == {"dateFrom": "2024-05-01T00:00:00Z", "dateTo": "2024-05-31T23:59:59.999999Z"}
    assert (dates["art_say"], dates["art_long"]) == (1.0, 0.0)

    later = memory.answer("search", **spoken, asOf="2024-08-10")["result"]
    scores = [{each["id"]: each["score"] for each in one["results"]} for one in (result, later)]
    assert scores[0]["art_say"] > scores[1]["art_say"]
    assert scores[0]["art_long"] == scores[1]["art_long"]
    assert "interpreted" not in memory.answer("search", **asked)["result"]
    words = memory.answer("search", **spoken, asOf="2024-06-10", mode="keyword")["result"]
    assert {each["explain"]["boosts"]["date"] for each in words["results"]} == {None}


def test_a_search_waiting_for_a_write_finds_it(memory: Any) -> None:
    seq = memory.records.last_seq()
    assert found(memory, minSeq=seq) == found(memory)
    assert memory.answer("search", query=QUERY, minSeq=seq + 10**12)["error"]["code"] == -32003
