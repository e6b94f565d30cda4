"""Both clients against a real server: every method, batches, pages, errors, and reused connections."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from typing import Any

import pytest
from pydantic.alias_generators import to_snake

from cstp import (
    Client,
    Filters,
    InvalidParams,
    KnowledgeFilters,
    LookUp,
    NotFound,
    QueryDecisionsResult,
    Violation,
    WhoamiResult,
    calls,
)
from cstp.call import Call
from cstp.methods.registry import METHODS
from tests.calls import CALLED, CALLS, SAMPLE, fill, has_content
from tests.serving import Serving, serve

__all__ = ["serve"]


def in_python(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a call in client spelling, over docs/sample."""
    return {to_snake(name): value for name, value in fill(params, SAMPLE).items()}


NAMES = {method.name: to_snake(method.name.rpartition(".")[2]) for method in METHODS} | {"cstp.changes": "changes_page"}
ASKED: list[tuple[str, Mapping[str, Any]]] = [
    *((NAMES[method.name], in_python(CALLS[method.name])) for method in CALLED if not method.writes),
    ("query_decisions", {"query": "sqlite", "filters": Filters(stakes=["high"]), "include_reasons": True, "limit": 3}),
    ("list_episodes", {"since": "2026-01-01", "tags": ["filters"]}),
    ("find_episodes", {"query": "measure a filter", "min_reward": -1.0, "tags": ["filters"]}),
    ("search", {"query": "index", "kinds": ["decision", "chunk", "turn"], "include": ["content"], "limit": 50}),
    ("search_knowledge", {"query": "index", "filters": KnowledgeFilters(type=["extraction"]), "limit": 50}),
    ("recall", {"query": "power cut", "graph_budget": 50, "limit": 50}),
    ("recall", {"query": "sqlite", "limit": 50}),
    ("recall", {"conversation_id": "slow-filters"}),
    ("recall", {"id": "art_power-cut"}),
    ("recall", {"context": "document", "include_events": False}),
    ("get_session_context", {"task_description": "choose an index", "since": 0, "max_tokens": 600}),
]
CHANGES = {"queryTimeMs", "remaining", "expiresAt", "head"}


@pytest.fixture
def client(connect: Any, sample: Serving) -> Any:
    return connect(sample.url, sample.token(clearance="highly_sensitive", scopes=("read", "admin")))


def lasting(value: Any) -> Any:
    """Return the JSON without members that vary between calls."""
    if isinstance(value, dict):
        return {name: lasting(member) for name, member in value.items() if name not in CHANGES}
    return [lasting(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("name", "asked"), ASKED, ids=lambda value: str(value)[:40])
def test_every_method_gives_the_whole_answer_as_its_model(client: Any, name: str, asked: Mapping[str, Any]) -> None:
    if "DECISION" in asked.values():
        asked = fill(asked, {"DECISION": client.list_decisions(limit=1).decisions[0].id})
    if name == "audit":  # each call adds a row
        asked = {"until": "2026-01-01"}
    call: Call[Any] = getattr(calls, name)(**asked)
    found = getattr(client, name)(**asked)
    method = next(one for one in METHODS if one.name == call.method)
    assert type(found) is method.result
    sent = client.call(call.method, call.params)
    assert lasting(found.model_dump(mode="json", by_alias=True)) == lasting(sent)
    assert has_content(sent) or name == "audit"


@pytest.mark.long("asks every method")
def test_every_write_returns_its_result_and_sends_a_key(connect: Any, serve: Callable[..., Serving]) -> None:
    server = serve()
    scopes = ("read", "write", "review", "ratify", "admin")
    client = connect(server.url, server.token(scopes=scopes, clearance="highly_sensitive"))
    first = client.record_decision("Keep orders in PostgreSQL", 0.8, tags=["orders"], review_in="2w")
    second = client.record_decision("Keep orders in files", 0.2, supersedes=[first.id])
    updated = client.update_decision(first.id, {"context": "They must last."}, expected_revision=1)
    linked = client.link_decisions(first.id, second.id, "relates_to", weight=0.5)
    accepted = client.set_status(second.id, "accepted", "Agreed.")
    reviewed = client.review_decision(first.id, "partial", affected_kpis={"lost": 0.0})
    ended = client.unlink_decisions(first.id, second.id, "relates_to")
    episode = client.store_episode("Store orders", 0.0, "Measure first.", tags=["orders"])
    memory = client.remember("Orders are late.", context="note")
    knowledge = client.store_knowledge([{"kind": "chunk", "content": "Orders are durable."}])
    assert client.put_records(look_up=LookUp(guards=True)).seq == knowledge.seq
    third = client.record_decision("Keep no orders", 0.1)
    gone = client.forget(third.id, confirm=True, reason="a mistake")
    assert (gone.deleted, gone.receipt.remaining.records, gone.cascade.revisions) == (True, 0, 1)
    done = (first, second, updated, linked, accepted, reviewed, ended, episode, memory, knowledge, third, gone)
    assert any(one.indexed for one in done)  # on a busy machine an answer may not wait for the indexes
    assert client.get_episode(episode.id).reflection == "Measure first."
    assert [one.seq for one in done] == sorted({one.seq for one in done})
    assert (updated.updated_fields, updated.revision) == (["context"], 2)
    assert (reviewed.status, reviewed.self_review, accepted.ratified_by is not None) == ("superseded", True, True)
    (found,) = client.query_decisions("orders", filters=Filters(current=True)).decisions
    assert found.id == second.id
    sent = [calls.set_status("a", "draft", "b").params["idempotencyKey"] for _ in range(2)]
    assert len(set(sent)) == 2
    writing = {method.name for method in METHODS if method.writes}
    assert {one.method for one in (calls.set_status("a", "draft", "b"),)} < writing
    assert len(writing) == len({type(one) for one in done}) + 2  # two of them have a shared result, and one puts


def test_filters_are_made_by_python_names_and_take_pythons_times(client: Any) -> None:
    early = datetime(2026, 11, 20, tzinfo=UTC)
    everything = client.query_decisions("records", limit=50)
    narrow = client.query_decisions("records", limit=50, filters=Filters(min_confidence=0.95))
    assert 0 < narrow.total < everything.total
    assert all(one.confidence >= 0.95 for one in narrow.decisions)
    assert client.query_decisions("records", filters=Filters(date_before=datetime(2020, 1, 1))).total == 0
    assert client.query_decisions("records", filters=Filters(date_after=early, category="storage")).total > 0


@pytest.mark.parametrize("moment", ["2026-11-07", date(2026, 11, 7), datetime(2026, 11, 7, tzinfo=UTC)])
def test_a_time_may_be_a_text_a_date_or_a_datetime(client: Any, moment: Any) -> None:
    since = client.list_episodes(date_from=moment)
    assert 0 < since.total_count < client.list_episodes().total_count
    assert calls.list_episodes(date_from=moment).params["dateFrom"] == "2026-11-07T00:00:00Z"


def test_a_bare_date_as_an_upper_bound_means_its_end() -> None:
    for moment in ("2026-11-07", date(2026, 11, 7)):
        assert calls.list_episodes(date_to=moment).params["dateTo"] == "2026-11-07T23:59:59.999999Z"
    naive = calls.list_episodes(date_to=datetime(2026, 11, 7))
    assert naive.params["dateTo"] == "2026-11-07T00:00:00Z"


@pytest.mark.parametrize("page_size", [1, 3, 100])
def test_an_iterator_pages_by_itself_and_gives_everything_once_in_order(client: Any, page_size: int) -> None:
    whole = client.list_episodes(limit=100)
    found = client.all_of("iter_episodes", page_size=page_size)
    assert [one.id for one in found] == [one.id for one in whole.episodes]
    assert len(found) == whole.total_count > 3


@pytest.mark.parametrize("kind", ["decisions", "patterns", "warnings"])
def test_the_extractions_can_be_iterated_with_their_filters(client: Any, kind: str) -> None:
    for topic in (None, "search"):
        whole = getattr(client, f"get_{kind}")(topic=topic)
        found = client.all_of(f"iter_{kind}", topic=topic, page_size=1)
        assert [one.id for one in found] == [one.id for one in whole.results]


def test_an_iterator_over_nothing_is_empty(client: Any) -> None:
    assert client.all_of("iter_episodes", category="no such") == []


def page_of(call: Call[Any], ids: list[int], total: int) -> Any:
    """Return the result of a call with these episodes."""
    bare = {"query": "q", "reward": 0, "createdAt": None, "tags": [], "category": None}
    page = {"limit": call.params["limit"], "offset": call.params["offset"], "totalCount": total, "status": "success"}
    return call.read({"episodes": [{"id": id, **bare} for id in ids], **page})


def test_an_iterator_gives_an_item_once_though_the_pages_move() -> None:
    class Moving(Client):
        """A sender whose list gains items at the front between two pages."""

        def send(self, call: Call[Any], *, timeout: float | None = None) -> Any:
            limit, offset = call.params["limit"], call.params["offset"]
            ids = [*range(100 + offset // 2, 99, -1), 3, 2, 1][offset : offset + limit]
            return page_of(call, ids, 10)

    with Moving("http://127.0.0.1:9", "t") as moving:
        found = [one.id for one in moving.iter_episodes(page_size=2)]
    assert len(found) == len(set(found))
    assert found[-1] == 1


@pytest.mark.parametrize("page_size", [1, 2, 3, 7])
@pytest.mark.parametrize("gone", [[0], [3], [9], [4, 5], [0, 1, 2, 3, 4, 5], list(range(12))])
def test_an_iterator_gives_every_remaining_item_once_despite_deletions(page_size: int, gone: list[int]) -> None:
    class Shrinking(Client):
        """A sender whose list loses items after the fourth item was read."""

        def send(self, call: Call[Any], *, timeout: float | None = None) -> Any:
            limit, offset = call.params["limit"], call.params["offset"]
            ids = [id for id in range(20) if len(found) < 4 or id not in gone]
            return page_of(call, ids[offset : offset + limit], len(ids))

    found: list[int] = []
    with Shrinking("http://127.0.0.1:9", "t") as shrinking:
        for episode in shrinking.iter_episodes(page_size=page_size):
            found.append(episode.id)  # noqa: PERF401 - the pages depend on what was found
    assert found == sorted(set(found))
    assert set(range(20)) - set(gone) <= set(found)


def test_a_batch_hands_back_each_result_or_error_in_its_place(client: Any) -> None:
    found = client.batch(
        [calls.whoami(), calls.recall(id="art_nowhere"), calls.query_decisions("sqlite"), calls.whoami()]
    )
    assert [type(one) for one in found] == [WhoamiResult, NotFound, QueryDecisionsResult, WhoamiResult]
    assert found[1].id == "art_nowhere"


def test_wrong_parameters_are_named_before_anything_is_sent_and_by_the_server(client: Any) -> None:
    with pytest.raises(InvalidParams) as here:
        client.query_decisions("", limit=51)
    with pytest.raises(InvalidParams) as there:
        client.call("cstp.queryDecisions", {"query": "", "limit": 51})
    assert here.value.violations == there.value.violations
    assert Violation("limit", "must be at most 50") in here.value.violations


@pytest.mark.long("asks every method")
def test_a_spent_limit_is_waited_for(connect: Any, live_server: Callable[..., Any]) -> None:
    server = live_server({"limits.default": "2/second"})
    client = connect(f"http://127.0.0.1:{server.port}", server.token())
    assert [client.whoami().agent for _ in range(4)] == ["agent-0"] * 4


def test_calls_share_a_connection(connect: Any, live_server: Callable[..., Any]) -> None:
    server = live_server()
    one = connect(f"http://127.0.0.1:{server.port}", server.token())
    for _ in range(5):
        one.whoami()
        assert len(server.state.connections) == 1


def test_threads_share_a_client(sample: Serving) -> None:
    with Client(sample.url, sample.token()) as client, ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda limit: client.list_episodes(limit=limit).limit, range(1, 41)))
    assert found == list(range(1, 41))


def test_a_closed_client_refuses_to_send(sample: Serving) -> None:
    with Client(sample.url, sample.token()) as client:
        client.whoami()
    with pytest.raises(RuntimeError, match="closed"):
        client.whoami()
