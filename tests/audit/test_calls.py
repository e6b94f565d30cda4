"""Audit rows of calls: the records named in each answer, the search mode, and the outcome."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
import sqlalchemy as sa

from cognition_engines.kinds.spec import KINDS, Kind
from cognition_engines.store.records import open_records
from cstp.methods.registry import METHODS
from cstp.values.base import Names, Wire
from tests.audit.conftest import refusing
from tests.isolation.questions import QUESTIONS, Asker
from tests.isolation.world import World, make_world, put
from tests.serving import SeededEmbedder, Serving, start
from tests.stores import Stores, wait_for

Row = dict[str, Any]
# members of answers with record ids as values; mentions of other records inside a record's text do not count
NAMING = re.compile(r"id|.*Id|supersedes|supersededBy")
CONTENT = {"given", "evidence", "actors", "subject", "conversationId"}


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(Random(5))


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores, world: World) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("audited")
    records = open_records(lasting_stores.records(folder))
    put(records, SeededEmbedder(), world.entries)
    records.close()
    served, stop = start(folder, lasting_stores, SeededEmbedder(), None)
    wait_for(lambda: all(index.snapshot.seq == served.records.last_seq() for index in served.indexes.all_spaces))
    yield served
    stop()


def audit(serving: Serving, **filters: Any) -> Row:
    """Return the answer of cstp.audit."""
    serving.ask("whoami")
    fields = {"Authorization": f"Bearer {serving.tokens[0]}", "Content-Type": "application/json"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.audit", "params": filters}
    found: Row = serving.client.post(serving.url, json=call, headers=fields).json()["result"]
    return found


def latest(serving: Serving, count: int = 1, **filters: Any) -> list[Row]:
    """Return the newest rows of calls except cstp.audit, oldest first."""
    found = serving.ask("audit", limit=500, **filters)["rows"]
    return [row for row in found if row["method"] != "cstp.audit"][:count][::-1]


def named(value: Any, ids: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Yield kinds and ids of the records in an answer; an id may belong to several kinds."""
    if isinstance(value, dict):
        for name, member in value.items():
            if NAMING.fullmatch(name):
                for one in member if isinstance(member, list) else [member]:
                    yield from ((kind, str(one)) for kind in ids.get(str(one), ()))
            if name not in CONTENT:
                yield from named(member, ids)
    elif isinstance(value, list):
        for one in value:
            yield from named(one, ids)


def ids(model: type[Wire]) -> Iterator[tuple[str, bool]]:
    """Yield id-named members of a result and nested models, and whether each is marked."""
    for name, field in model.model_fields.items():
        if NAMING.fullmatch(field.alias or name):
            yield f"{model.__name__}.{name}", any(isinstance(one, Names) for one in field.metadata)
        yield from inner_ids(field.annotation)


def inner_ids(annotation: Any) -> Iterator[tuple[str, bool]]:
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        yield from ids(annotation)
    for inner in get_args(annotation):
        yield from inner_ids(inner)


def test_a_read_leaves_a_row_if_its_answer_names_records() -> None:
    reads = [method for method in METHODS if not method.writes and method.name != "cstp.audit"]
    naming = {method.name for method in reads if any(marked for _, marked in ids(method.result))}
    assert {method.name for method in reads if method.audited} == naming


def test_every_id_in_the_answer_of_a_read_is_marked_with_the_kind_of_its_record() -> None:
    reads = [method for method in METHODS if method.audited and not method.writes]
    found = {method.name: set(ids(method.result)) for method in reads}
    assert {member for members in found.values() for member, marked in members if not marked} == {
        "ArtifactMetadata.conversation_id",
        "ArtifactMetadata.source_id",  # in a separate system
        "AuditCall.request_id",
        "AuditedId.id",  # a look at the audit reads no record
        "GetGraphResult.center_id",  # and ends of links: they are nodes
        "GraphEdge.source_id",
        "GraphEdge.target_id",
        "ListedMemory.conversation_id",
        "NearestEpisode.id",
        "NearestOfAnyKind.id",
        "NearestRecord.id",
        "Quote.chunk_id",  # as the record of the event has it
        "RecallResult.conversation_id",
        "RecordedReview.review_id",
        "WholeDecision.thread_id",
    }


@pytest.mark.long("asks every method, over records of all kinds")
@pytest.mark.parametrize("method", [method.name for method in METHODS if method.name in QUESTIONS and method.audited])
def test_a_row_names_exactly_the_records_in_the_answer(serving: Serving, world: World, method: str) -> None:
    ids: dict[str, set[str]] = {}
    for kind in Kind:
        for id in serving.records.ids(kind):
            ids.setdefault(id, set()).add(kind.label)
    ask, seen = Asker(Random(method), world, model=True), 0
    for _ in range(20):
        reply = serving.send(method.removeprefix("cstp."), **QUESTIONS[method](ask))
        (row,) = latest(serving)
        assert (row["method"], row["via"], row["query"]) == (method, "cstp", None)
        assert row["code"] == reply.get("error", {"code": 0})["code"]
        if method == "cstp.fetch":
            reply.get("result", {}).pop("metadata", None)  # as the record has it
        answered = set(named(reply.get("result"), ids))
        for id in re.findall(r"(?m)^- \[(\S+?);", reply.get("result", {}).get("markdown", "")):
            answered |= {(kind, id) for kind in ids[id]}
        listed = {(one["kind"], one["id"]) for one in row["records"]}
        assert {id for _, id in answered} == {id for _, id in listed if id in ids}
        # an event has an artifact or a turn, and the answer does not say which
        assert {one for one in listed if one[1] in ids and "turn" not in ids[one[1]]} <= answered
        assert all(one["kind"] in KINDS and not one["written"] for one in row["records"])
        assert len(listed) == len(row["records"])
        seen += len(listed)
    assert seen > 0


@pytest.mark.long("asks every method, over records of all kinds")
def test_each_call_of_a_batch_has_a_row_and_a_notification_returns_nothing(serving: Serving, world: World) -> None:
    id = world.ids[Kind.DECISION][0]
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "cstp.getDecision", "params": {"id": id}},
        {"jsonrpc": "2.0", "method": "cstp.getDecision", "params": {"id": id}},
        {"jsonrpc": "2.0", "id": 2, "method": "cstp.getDecision", "params": {"id": "none"}},
        {"jsonrpc": "2.0", "id": 3, "method": "cstp.getDecision", "params": {"what": id}},
        {"jsonrpc": "2.0", "id": 4, "method": "cstp.nothing", "params": {}},
        {"jsonrpc": "2.0", "id": 5, "method": "cstp.whoami"},
    ]
    token = serving.token(clearance="highly_sensitive")
    fields = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "X-Request-ID": "of-a-batch"}
    serving.client.post(serving.url, content=json.dumps(calls), headers=fields)
    rows = [row for row in latest(serving, 10) if row["requestId"] == "of-a-batch"]
    whole = serving.ask("getDecision", token, id=id)["decision"]
    named = list(dict.fromkeys([id, *whole["supersedes"], *whole["supersededBy"]]))  # each once
    assert sorted((row["code"], [one["id"] for one in row["records"]]) for row in rows) == [
        (-32602, []),
        (-32007, []),
        (0, []),
        (0, named),
    ]


def test_a_tool_of_mcp_leaves_the_row_of_its_method(serving: Serving, world: World) -> None:
    id = world.ids[Kind.CHUNK][0]
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "get_chunk", "arguments": {"chunk_id": id, "include_related": False}},
    }
    token = serving.token(clearance="highly_sensitive")
    fields = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    answer = serving.client.post(serving.url.replace("/cstp", "/mcp?tools=all"), json=body, headers=fields)
    assert answer.status_code == 200
    (row,) = latest(serving)
    assert (row["method"], row["via"], row["code"]) == ("cstp.getChunk", "mcp", 0)
    assert ("chunk", id) in {(one["kind"], one["id"]) for one in row["records"]}


def test_the_audit_lists_readers_of_a_decision_in_one_call(serving: Serving, world: World) -> None:
    id = world.ids[Kind.DECISION][1]
    readers = {}
    for _ in range(3):
        token = serving.token(clearance="highly_sensitive")
        readers[token] = serving.ask("whoami", token)["agent"]
        serving.ask("getDecision", token, id=id)
    found = serving.ask("audit", id=id, limit=3)["rows"]
    assert [row["agent"] for row in reversed(found)] == list(readers.values())


def test_pages_are_consecutive_and_every_filter_applies(serving: Serving, world: World) -> None:
    for _ in range(5):
        serving.ask("listEpisodes", limit=1)
    every = audit(serving, method="cstp.listEpisodes", limit=500)["rows"]
    token = serving.token()
    agent = serving.ask("whoami", token)["agent"]
    read, before = [], None
    while True:
        page = audit(serving, method="cstp.listEpisodes", limit=2, **({} if before is None else {"before": before}))
        read += page["rows"]
        before = page["before"]
        if before is None:
            break
    assert read == every
    serving.ask("listEpisodes", token, limit=1)
    (own,) = serving.ask("audit", agent=agent)["rows"]
    assert serving.ask("audit", since=own["at"])["rows"][-1] == own
    assert own not in serving.ask("audit", until=every[-1]["at"])["rows"]
    assert serving.refused("audit", since="2026-02-01", until="2026-01-01") == ["since", "until"]


@pytest.mark.long("asks every method, over records of all kinds")
def test_rows_wait_while_the_store_is_down_and_readyz_reports_it(serve: Callable[..., Serving], tmp_path: Path) -> None:
    serving = serve()
    probe = serving.url.replace("/cstp", "")
    with refusing(serving.settings.store_url):
        serving.ask("listEpisodes")
        wait_for(lambda: serving.client.get(f"{probe}/readyz").json()["parts"]["audit"] == "degraded")
        assert serving.figure("cstp_audit_failing") == 1
        assert serving.failed_part("audit") == "records"
        assert serving.failed_part("recordDecision", decision="Bake bread", confidence=0.5) == "records"
    wait_for(lambda: serving.client.get(f"{probe}/readyz").json()["parts"]["audit"] == "ready")
    assert [row["code"] for row in latest(serving, 5)] == [0, -32003]
    assert serving.records.audit.verify().intact


def test_a_failing_durable_audit_makes_a_server_unready(serve: Callable[..., Serving]) -> None:
    serving = serve(audit={"durable": True})
    serving.ask("listEpisodes")
    assert serving.records.audit.head().number == 1
    with refusing(serving.settings.store_url):
        assert serving.failed_part("listEpisodes") == "records"
        serving.ask("whoami")
        probe = f"{serving.url.removesuffix('/cstp')}/readyz"
        wait_for(lambda: serving.client.get(probe).json()["parts"]["audit"] != "ready")
        answer = serving.client.get(probe)
        assert (answer.status_code, answer.json()["parts"]["audit"]) == (503, "down")


def test_a_row_names_the_other_end_of_an_ended_link(serve: Callable[..., Serving]) -> None:
    serving = serve()
    one, other = (serving.ask("recordDecision", decision=title, confidence=0.5)["id"] for title in ("Bake", "Brew"))
    link = {"sourceId": one, "targetId": other, "edgeType": "relates_to"}
    serving.ask("linkDecisions", **link)
    serving.ask("unlinkDecisions", **link)
    serving.ask("getDecision", id=one)
    (row,) = latest(serving)
    assert [(found["kind"], found["id"]) for found in row["records"]] == [("decision", one), ("decision", other)]


def test_an_audit_without_reads_has_writes_alone(serve: Callable[..., Serving]) -> None:
    serving = serve(audit={"reads": False})
    serving.ask("listEpisodes")
    id = serving.ask("recordDecision", decision="Bake bread", confidence=0.5)["id"]
    serving.send("setStatus", id="none", status="draft", reason="x")
    rows = serving.ask("audit")["rows"]
    assert [(row["method"], row["code"]) for row in rows] == [("cstp.setStatus", -32007), ("cstp.recordDecision", 0)]
    assert rows[1]["records"] == [{"kind": "decision", "id": id, "written": True}]


def test_the_audit_has_no_text_of_records_or_queries(serve: Callable[..., Serving]) -> None:
    serving = serve()
    serving.ask("recordDecision", decision="Unmistakable words", confidence=0.5, context="Unmistakable context")
    serving.ask("queryDecisions", query="unmistakable question", mode="keyword")
    serving.send("getDecision", id="unmistakable id")
    serving.ask("audit", limit=500)
    database = sa.create_engine(serving.settings.store_url)
    with database.connect() as connection:
        held = [connection.execute(sa.text(f"SELECT * FROM {name}")).all() for name in ("audit_rows", "audit_records")]
    database.dispose()
    assert len(held[0]) >= 3
    assert "unmistakable" not in str(held).lower()


@pytest.mark.long("asks every method, over records of all kinds")
def test_a_rate_limited_call_leaves_no_row(serve: Callable[..., Serving]) -> None:
    serving = serve(limits={"default": "3/minute"})
    token = serving.token()
    fields = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.listEpisodes"}
    statuses = [serving.client.post(serving.url, json=call, headers=fields).status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    assert len(serving.ask("audit")["rows"]) == 3
