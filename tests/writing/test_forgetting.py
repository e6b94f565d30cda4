"""Erasure: complete, everywhere, permanent; and expiry without a call."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate, count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from cognition_engines.clock_guard import ClockGuard
from cognition_engines.embedding.base import Embedder
from cognition_engines.engine import Engine, EngineOptions
from cognition_engines.errors import ConfigurationError
from cognition_engines.exchange.lines import object_of
from cognition_engines.exchange.runs import export_lines, import_file
from cognition_engines.indexes.published import PublishedSeq
from cognition_engines.ingest.options import Options
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import EVERYTHING, Sensitivity, Viewer
from cognition_engines.set_aside import SetAside
from cognition_engines.store.erasure.cascade import ErasedRecord
from cognition_engines.store.erasure.ledger import Erasure, append_ledger, read_ledger
from cognition_engines.store.reads.decisions import GraphRequest
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.schema import records
from cognition_engines.store.transfer.backup import opened_backup, restore_backup, write_backup
from cognition_engines.store.transfer.copy import Watcher
from cognition_engines.store.values import PART, Entry
from cognition_engines.writing.erasing import ErasureCheck, Forgotten, LedgerFile, Retention
from cognition_engines.writing.requests import WriteCaller
from cstp.errors import Conflict, Forbidden, InvalidParams, NotFound
from cstp.values.decision_links import LinkDecisionsParams
from cstp.values.decision_searches import QueryDecisionsParams
from cstp.values.decision_writes import RecordDecisionResult
from cstp.values.recall import RecallParams
from cstp.values.records import ForgetRemaining, ForgetResult, PutRecordsParams
from tests.serving import SeededEmbedder
from tests.stored import Quiet
from tests.stores import Stores
from tests.writing.written import forget, new, review, write, written

SCOPES = frozenset({"read", "write", "review"})
ANN = WriteCaller("ann", EVERYTHING, SCOPES)
BEN = WriteCaller("ben", EVERYTHING, SCOPES)
ROOT = WriteCaller("root", EVERYTHING, frozenset({"admin"}))
ADR = "# Use a queue\n\n* Status: accepted\n* Date: 2024-03-01\n\n## Context\n\nWe poll a table.\n"
Open = Callable[..., Engine]


@pytest.fixture
def quiet() -> Watcher:
    return Quiet()


@pytest.fixture
def embedder() -> SeededEmbedder:
    return SeededEmbedder()


@pytest.fixture
def store_url(tmp_path: Path, stores: Stores) -> str:
    return stores.records(tmp_path)


@pytest.fixture
def open_engine(tmp_path: Path, store_url: str) -> Iterator[Open]:
    opened: list[Engine] = []

    def open_one(folder: str = "indexes", embedder: Embedder | None = None, url: str = store_url) -> Engine:
        options = EngineOptions(ledger=tmp_path / "forgotten.jsonl")
        opened.append(Engine.open(url, tmp_path / folder, embedder, options))
        return opened[-1]

    yield open_one
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(open_engine: Open) -> Engine:
    return open_engine()


async def recorded(
    engine: Engine, decision: str, writer: WriteCaller = ANN, key: str | None = None, **others: Any
) -> str:
    answer = await write(engine, writer, new(decision, **others), key)
    await engine.reached(answer.seq, seconds=60)  # a busy machine answers a write before its indexes show it
    return answer.id


async def forgotten(engine: Engine, id: str, writer: WriteCaller = ANN, **others: Any) -> ForgetResult:
    done = await write(engine, writer, forget(id, **others))
    assert isinstance(done, ForgetResult)
    return done


async def test_a_forgotten_record_is_in_no_table_and_no_index_and_the_receipt_says_so(engine: Engine) -> None:
    id = await recorded(engine, "Sell the oven", context="It burns bread.")
    other = await recorded(engine, "Buy an oven")
    await write(engine, BEN, review(id, "success", lessons="Ask twice"))
    await write(
        engine, BEN, LinkDecisionsParams(source_id=other, target_id=id, edge_type="relates_to", context="the same oven")
    )
    done = await forgotten(engine, id)
    assert (done.cascade.reviews, done.cascade.links, done.cascade.revisions) == (1, 1, 1)
    assert done.receipt is not None
    assert done.receipt.remaining == ForgetRemaining(records=0, keywords=0, vectors=0)
    assert done.receipt.seq == done.seq <= engine.records.last_seq()
    assert (await engine.query_decisions(QueryDecisionsParams(query="burns"), EVERYTHING)).decisions == []
    assert engine.records.reads.find([(Kind.DECISION, id)], None) == []
    with pytest.raises(NotFound):
        await forgotten(engine, id)


async def test_a_receipt_counts_remaining_parts(engine: Engine) -> None:
    id = await recorded(engine, "Sell the oven")
    done = await forgotten(engine, id)
    again = await recorded(engine, "Sell the oven once more")
    await engine.reached(engine.records.last_seq(), seconds=60.0)
    (stored,) = engine.records.reads.find([(Kind.DECISION, again)], None)
    wrong = Forgotten(result=done, gone=(ErasedRecord(stored.key, Kind.DECISION, again, True, "ann", "", 0),))
    published = PublishedSeq(engine.indexes, None)
    check = ErasureCheck(engine.records, engine.indexes, engine.pools, published, LedgerFile(None))
    found = (await check.verify(engine.pools.caller("ann"), wrong)).result.receipt
    assert found is not None
    # a row of records, decisions, links, revisions
    assert (found.remaining.records, found.remaining.keywords) == (4, 1)


async def test_only_owners_and_admins_forget_visible_records_outside_files(engine: Engine, tmp_path: Path) -> None:
    id = await recorded(engine, "Sell the oven")
    with pytest.raises(Forbidden, match="admin"):
        await forgotten(engine, id, BEN)
    secret = await recorded(engine, "A secret", sensitivity=Sensitivity.SENSITIVE)
    for viewer in (Viewer(), Viewer(max(Sensitivity), frozenset({"alpha"}))):
        with pytest.raises(NotFound):
            await forgotten(engine, secret, WriteCaller("ann", viewer, SCOPES | {"admin"}))
    file = tmp_path / "docs/adr/0001-use-a-queue.md"
    file.parent.mkdir(parents=True)
    file.write_text(ADR)
    await engine.ingest([file], Options())
    (of_file,) = set(engine.records.ids(Kind.DECISION)) - {id, secret}
    with pytest.raises(Conflict) as conflict:
        await forgotten(engine, of_file, ROOT)
    assert conflict.value.reason == "fileOwned"
    assert (await forgotten(engine, id, ROOT)).id == id


async def test_the_key_of_a_forgotten_write_stays_spent_and_the_key_of_the_erasure_answers_again(
    engine: Engine,
) -> None:
    id = await recorded(engine, "Sell the oven", key="one")
    first = await write(engine, ANN, forget(id), "two")
    again = await write(engine, ANN, forget(id), "two")
    assert isinstance(first, ForgetResult)
    assert isinstance(again, ForgetResult)
    assert (again.id, again.seq, again.cascade) == (first.id, first.seq, first.cascade)
    with pytest.raises(Conflict) as conflict:
        await write(engine, ANN, new("Sell the oven"), "one")
    assert (conflict.value.reason, conflict.value.id) == ("idempotency", None)
    assert await recorded(engine, "Sell the oven", key="three") != id  # the same words are another record


async def test_an_erasure_answer_is_repeated_to_a_token_with_sight_of_the_record(engine: Engine) -> None:
    secret = await recorded(engine, "A secret", sensitivity=Sensitivity.SENSITIVE, project="alpha")
    owner = WriteCaller("ann", Viewer(Sensitivity.SENSITIVE, frozenset({"alpha", "beta"})), SCOPES)
    first = await write(engine, owner, forget(secret), "one")
    assert (await write(engine, owner, forget(secret), "one")).seq == first.seq
    assert (await write(engine, ANN, forget(secret), "one")).seq == first.seq  # sees more
    for viewer in (Viewer(), Viewer(Sensitivity.SENSITIVE, frozenset({"alpha"})), Viewer(projects=frozenset())):
        with pytest.raises(NotFound):
            await write(engine, WriteCaller("ann", viewer, SCOPES), forget(secret), "one")
        with pytest.raises(Conflict) as conflict:
            await write(engine, WriteCaller("ann", viewer, SCOPES), forget("another"), "one")
        assert conflict.value.id is None
    others = await recorded(engine, "Sell the oven", BEN)
    await write(engine, WriteCaller("ann", EVERYTHING, SCOPES | {"admin"}), forget(others), "two")
    with pytest.raises(Forbidden, match="admin"):
        await write(engine, ANN, forget(others), "two")


async def test_answers_about_links_and_imports_are_checked_against_the_present_token(engine: Engine) -> None:
    one, hidden = await recorded(engine, "One"), await recorded(engine, "Two", sensitivity=Sensitivity.SENSITIVE)
    link = LinkDecisionsParams(source_id=one, target_id=hidden, edge_type="relates_to")
    await write(engine, ANN, link, "link")
    with pytest.raises(Conflict):
        await write(engine, WriteCaller("ann", Viewer(), SCOPES), link, "link")
    entry = replace(
        written(Kind.ENTITY, id="ent_1", name="One"), origin=Origin("/one.jsonl", 0, None, f"{'0' * 32}.{'0' * 8}")
    )
    sent = PutRecordsParams(records=[object_of(entry, datetime.now(UTC))])
    first = await write(engine, ROOT, sent, "put")
    assert (await write(engine, ROOT, sent, "put")).seq == first.seq
    with pytest.raises(InvalidParams, match="highest clearance"):
        await write(engine, WriteCaller("root", Viewer(), ROOT.scopes), sent, "put")


async def test_an_answer_about_another_record_keeps_nothing_of_it(open_engine: Open, embedder: Embedder) -> None:
    engine = open_engine(embedder=embedder)
    id = await recorded(engine, "Sell the old oven now")
    other = await write(engine, BEN, new("Sell the old oven now"), "key")
    assert isinstance(other, RecordDecisionResult)
    assert [one.id for one in other.possible_duplicates] == [id]
    await forgotten(engine, id)
    again = await write(engine, BEN, new("Sell the old oven now"), "key")
    assert isinstance(again, RecordDecisionResult)
    assert (again.id, again.created, again.possible_duplicates) == (other.id, False, [])


@pytest.mark.long("waits until records expire, or asks with every wrong value")
async def test_an_erasure_reads_only_answers_naming_the_record(
    open_engine: Open, embedder: Embedder, tmp_path: Path, stores: Stores, quiet: Watcher
) -> None:
    engine = open_engine(embedder=embedder)
    id = await recorded(engine, "Sell the old oven now")
    other = await recorded(engine, "Sell the old oven now", BEN, "other")
    for number in range(20):
        await recorded(engine, f"Paint wall {number} in another colour", BEN, f"key {number}")
    write_backup(engine.records.store, tmp_path / "backup", "1", {}, replace=False, watcher=quiet)
    (tmp_path / "copy").mkdir()
    copied = open_records(stores.records(tmp_path / "copy"))
    with opened_backup(tmp_path / "backup", quiet) as backup:
        restore_backup(backup, copied.store, replace=False, watcher=quiet)
    asked: list[str] = []
    sa.event.listen(engine.records.store.writer, "before_cursor_execute", lambda *given: asked.append(given[2]))
    await forgotten(engine, id)
    assert [one for one in asked if "receipts" in one] != []
    assert [one for one in asked if " LIKE " in one.upper()] == []
    kept = "SELECT answer FROM receipts WHERE idempotency_key = 'other'"
    with engine.records.store.writer.connect() as connection:
        answer = str(connection.exec_driver_sql(kept).scalar())
    assert (id in answer, other in answer) == (False, True)
    ledger = engine.records.forgetting.erasures()
    with opened_backup(tmp_path / "backup", quiet) as backup:
        restore_backup(backup, copied.store, replace=True, watcher=quiet, erasures=ledger)
    with copied.store.writer.connect() as connection:
        assert id not in str(connection.exec_driver_sql(kept).scalar())
    copied.close()


async def test_an_artifact_takes_its_chunks_events_edges_and_entities_along(engine: Engine) -> None:
    engine.records.put(
        [
            written(Kind.ARTIFACT, id="art_1", content="Anna met Bert at Acme."),
            written(Kind.ARTIFACT, id="art_2", content="Bert moved."),
            written(Kind.ARTIFACT_CHUNK, id="c-1", artifact_id="art_1", content="Anna", chunk_index=0, total_chunks=1),
            written(Kind.EVENT, id="evt_1", artifact_id="art_1", category="meeting", narrative="They met",
                    actors=["Anna", "Bert"], evidence=[{"quote": "Anna met Bert"}]),
            written(Kind.EVENT, id="evt_2", artifact_id="art_2", category="move", narrative="Away", actors=["Bert"]),
            written(Kind.ENTITY, id="ent_anna", name="Anna"),
            written(Kind.ENTITY, id="ent_bert", name="Bert"),
            written(Kind.ENTITY, id="ent_carl", name="Carl"),
            written(Kind.EDGE, id="edg_1", source_id="Anna", target_id="Bert", type="KNOWS", artifact_id="art_1",
                    evidence="Anna met Bert"),
        ],
        None,
    )  # fmt: skip
    done = await forgotten(engine, "art_1")
    cascade = done.cascade
    assert (cascade.chunks, cascade.events, cascade.entities, cascade.edges) == (1, 1, 1, 1)
    left = {id for kind in Kind for id in engine.records.ids(kind)}
    assert left == {"art_2", "evt_2", "ent_bert", "ent_carl"}
    assert done.receipt is not None
    assert (done.receipt.remaining.records, done.receipt.remaining.keywords) == (0, 0)


async def test_an_artifact_s_file_content_stays_and_is_pending(engine: Engine) -> None:
    event = written(Kind.EVENT, id="evt_9", artifact_id="art_1", category="meeting", narrative="They met")
    of_file = replace(event, origin=Origin("/notes.jsonl", 0, None, "digest"))
    engine.records.put([written(Kind.ARTIFACT, id="art_1", content="Anna met Bert."), of_file], None)
    done = await forgotten(engine, "1")  # the prefix may be left out
    assert (done.id, engine.records.ids(Kind.EVENT)) == ("art_1", ["evt_9"])
    assert done.receipt is not None
    assert "files" in {one.part for one in done.receipt.pending}


async def test_file_content_is_counted_only_if_its_forgetter_sees_it(engine: Engine) -> None:
    hidden = written(Kind.EVENT, id="evt_8", artifact_id="art_1", category="a", narrative="n", sensitivity="sensitive")
    shown = written(Kind.EVENT, id="evt_9", artifact_id="art_1", category="b", narrative="m")
    of_files = [
        replace(event, origin=Origin("/notes.jsonl", place, None, f"digest-{place}"))
        for place, event in enumerate((hidden, shown))
    ]
    engine.records.put([written(Kind.ARTIFACT, id="art_1", content="Anna met Bert."), *of_files], None)
    done = await forgotten(engine, "art_1", WriteCaller("ann", Viewer(), SCOPES))
    assert engine.records.ids(Kind.EVENT) == ["evt_8", "evt_9"]
    assert done.receipt is not None
    assert [one.reason for one in done.receipt.pending if one.part == "files"] == [
        "1 records that name it stay: files have them"
    ]


async def test_a_source_takes_only_its_chunks_and_their_extractions(engine: Engine) -> None:
    def chunk(id: str, source: str) -> Entry:
        return written(Kind.CHUNK, id=id, source_id=source, content=id, chunk_index=0, total_chunks=1)

    def pattern(id: str, *chunks: str) -> Entry:
        content = {"name": "n", "problem": "p", "solution": "s"}
        return written(Kind.EXTRACTION, id=id, type="pattern", chunk_ids=list(chunks), content=content)

    engine.records.put(
        [
            written(Kind.SOURCE, id="s1", title="One"),
            written(Kind.SOURCE, id="s2", title="Two"),
            chunk("k1", "s1"),
            chunk("k2", "s2"),
            pattern("x1", "k1"),
            pattern("x12", "k1", "k2"),
        ],
        None,
    )
    done = await forgotten(engine, "s1")
    assert (done.cascade.chunks, done.cascade.extractions) == (1, 1)
    assert {id for kind in Kind for id in engine.records.ids(kind)} == {"s2", "k2", "x12"}


async def test_records_of_other_agents_stay_without_the_forgotten_content(engine: Engine) -> None:
    def part(kind: Kind, id: str, agent: str = "ben", **members: Any) -> Entry:
        return written(kind, id=id, agent=agent, **members)

    def passage(id: str, agent: str = "ben", **members: Any) -> Entry:
        given = {"content": id, "chunk_index": 0, "total_chunks": 1, **members}
        return part(Kind.CHUNK, id, agent, source_id="s1", **given)

    content = {"name": "n", "problem": "p", "solution": "s"}
    cut = passage("k-cut")
    engine.records.put(
        [
            written(Kind.SOURCE, id="s1", title="One"),
            replace(cut, origin=replace(cut.origin, ordinal=PART)),
            passage("k-own", agent="ann"),
            passage("k-seen"),
            passage("k-hidden", sensitivity="sensitive"),
            part(Kind.EXTRACTION, "x-own", "ann", type="pattern", chunk_ids=["k-own"], content=content),
            part(Kind.EXTRACTION, "x-seen", type="pattern", chunk_ids=["k-own"], content=content),
            written(Kind.TURN, id="art_1", content="Anna met Bert.", conversation_id="c", sensitivity="sensitive"),
            part(Kind.EVENT, "evt_seen", artifact_id="art_1", category="a", narrative="n", actors=["Anna"]),
            part(Kind.EDGE, "edg_seen", source_id="Anna", target_id="Bert", type="KNOWS", artifact_id="art_1"),
            part(Kind.ENTITY, "ent_anna", "ann", name="Anna"),
            part(Kind.ENTITY, "ent_carl", "ann", name="Carl"),
            part(Kind.EDGE, "edg_carl", source_id="Carl", target_id="Bert", type="KNOWS"),
        ],
        None,
    )
    by_normal = WriteCaller("ann", Viewer(), SCOPES)
    done = await forgotten(engine, "s1", by_normal)
    assert (done.cascade.chunks, done.cascade.extractions) == (2, 1)
    assert done.receipt is not None
    assert [one.reason for one in done.receipt.pending if one.part == "agents"] == [
        "2 records that name it stay: other agents wrote them"
    ]
    assert {one.id for one in engine.records.forgetting.erasures()} == {"s1", "k-cut", "k-own", "x-own"}
    done = await forgotten(engine, "art_1", WriteCaller("root", EVERYTHING, frozenset({"admin"})))
    assert (done.cascade.events, done.cascade.edges, done.cascade.entities) == (0, 0, 0)
    assert done.receipt is not None
    assert "2 records that name it stay: other agents wrote them" in {one.reason for one in done.receipt.pending}
    await forgotten(engine, "ent_carl")
    left = {id for kind in Kind for id in engine.records.ids(kind)}
    assert left == {"k-seen", "k-hidden", "x-seen", "evt_seen", "edg_seen", "ent_anna", "edg_carl"}
    names = [(Kind.EVENT, "evt_seen"), (Kind.EDGE, "edg_seen")]
    assert engine.records.reads.find(names, Viewer()) == []  # as guarded as they were


async def test_a_cascade_counts_only_records_seen_by_its_forgetter(engine: Engine) -> None:
    engine.records.put(
        [
            written(Kind.ARTIFACT, id="art_1", content="Anna met Bert."),
            written(Kind.EVENT, id="evt_1", artifact_id="art_1", category="a", narrative="n", sensitivity="sensitive"),
            written(Kind.EVENT, id="evt_2", artifact_id="art_1", category="b", narrative="m"),
        ],
        None,
    )
    done = await forgotten(engine, "art_1", WriteCaller("ann", Viewer(), SCOPES))
    assert (done.cascade.events, engine.records.ids(Kind.EVENT)) == (1, [])


async def test_an_id_of_two_kinds_needs_the_kind(engine: Engine) -> None:
    engine.records.put(
        [written(Kind.SOURCE, id="same", title="One"), written(Kind.ENTITY, id="same", name="Two")], None
    )
    with pytest.raises(InvalidParams, match=r"kind.*entity, source"):
        await forgotten(engine, "same")
    assert (await forgotten(engine, "same", kind="entity")).kind == "entity"
    assert engine.records.ids(Kind.SOURCE) == ["same"]


async def test_the_ledger_is_kept_twice_and_holds_no_content(engine: Engine, tmp_path: Path) -> None:
    id = await recorded(engine, "Sell the oven")
    await forgotten(engine, id, reason="asked by Zoë")
    (one,) = engine.records.forgetting.erasures()
    assert (one.kind, one.id, one.agent, one.reason, len(one.hash)) == (Kind.DECISION, id, "ann", "asked by Zoë", 64)
    assert read_ledger(tmp_path / "forgotten.jsonl") == [one]
    assert set(json.loads((tmp_path / "forgotten.jsonl").read_text())) == {
        "kind",
        "id",
        "at",
        "hash",
        "agent",
        "reason",
    }
    (tmp_path / "forgotten.jsonl").unlink()
    LedgerFile(tmp_path / "forgotten.jsonl").sync(engine.records)  # as a start does
    assert read_ledger(tmp_path / "forgotten.jsonl") == [one]


@pytest.mark.long("waits until records expire, or asks with every wrong value")
async def test_restored_backups_stay_forgotten(engine: Engine, tmp_path: Path, stores: Stores, quiet: Watcher) -> None:
    id, other = await recorded(engine, "Sell the oven", key="one"), await recorded(engine, "Buy an oven")
    write_backup(engine.records.store, tmp_path / "backup", "1", {}, replace=False, watcher=quiet)
    await forgotten(engine, id)
    with opened_backup(tmp_path / "backup", quiet) as backup:
        done = restore_backup(backup, engine.records.store, replace=True, watcher=quiet)
        assert (done.forgotten, engine.records.ids(Kind.DECISION)) == (1, [other])
        # into another database, known only to the ledger file
        (tmp_path / "other").mkdir()
        lost = open_records(stores.records(tmp_path / "other"))
        ledger = read_ledger(tmp_path / "forgotten.jsonl")
        done = restore_backup(backup, lost.store, replace=False, watcher=quiet, erasures=ledger)
        assert (done.forgotten, lost.ids(Kind.DECISION), lost.forgetting.erasures()) == (1, [other], ledger)
        lost.close()
    with pytest.raises(Conflict):
        await write(engine, ANN, new("Sell the oven"), "one")


def part(kind: Kind, id: str, agent: str = "ann", *, cut: bool = False, **members: Any) -> Entry:
    entry = written(kind, id=id, agent=agent, **members)
    return replace(entry, origin=replace(entry.origin, ordinal=PART)) if cut else entry


def before_the_amendment() -> list[Entry]:
    """Return an artifact and a source as in a backup: later they are cut differently, with other content."""
    whole = {"chunk_index": 0, "total_chunks": 1}
    content = {"name": "n", "problem": "p", "solution": "s"}
    return [
        part(Kind.ARTIFACT, "art_1", content="The zorble is blue."),
        part(Kind.ARTIFACT_CHUNK, "c-old", cut=True, artifact_id="art_1", content="The zorble", **whole),
        part(Kind.EVENT, "evt_old", artifact_id="art_1", category="a", narrative="The zorble came", actors=["Zoe"]),
        part(Kind.EVENT, "evt_ben", "ben", artifact_id="art_1", category="b", narrative="Ben saw it"),
        part(Kind.ENTITY, "ent_zoe", name="Zoe"),
        part(Kind.EDGE, "edg_old", source_id="Zoe", target_id="Bert", type="KNOWS", artifact_id="art_1"),
        part(Kind.ENTITY, "ent_uma", name="Uma"),
        part(Kind.EDGE, "edg_uma", source_id="ent_uma", target_id="Bert", type="KNOWS"),
        part(Kind.SOURCE, "s1", title="Zorbles"),
        part(Kind.SOURCE, "s2", title="Others"),
        part(Kind.CHUNK, "k-old", cut=True, source_id="s1", content="zorble text", **whole),
        part(Kind.CHUNK, "k-else", source_id="s2", content="another", **whole),
        part(Kind.CHUNK, "k-ben", "ben", source_id="s1", content="Ben's", **whole),
        part(Kind.EXTRACTION, "x-old", type="pattern", chunk_ids=["k-old"], content=content),
        part(Kind.EXTRACTION, "x-both", type="pattern", chunk_ids=["k-old", "k-else"], content=content),
    ]


STAYING = {"evt_ben", "ent_zoe", "s2", "k-else", "k-ben", "x-both"}


async def amended_and_forgotten(engine: Engine) -> None:
    """Drop parts by amending two records, then forget the records as their owner and as an admin."""
    dropped = {
        Kind.ARTIFACT_CHUNK: ["c-old"],
        Kind.EVENT: ["evt_old"],
        Kind.EDGE: ["edg_old", "edg_uma"],
        Kind.CHUNK: ["k-old"],
        Kind.EXTRACTION: ["x-old"],
    }
    for kind, ids in dropped.items():
        engine.records.delete(kind, ids)
    await forgotten(engine, "art_1")
    await forgotten(engine, "ent_uma")
    await forgotten(engine, "s1", ROOT)


def stored_ids(records: Records) -> set[str]:
    return {id for kind in Kind for id in records.ids(kind)}


@pytest.mark.long("waits until records expire, or asks with every wrong value")
async def test_a_restore_drops_amended_parts(engine: Engine, tmp_path: Path, stores: Stores, quiet: Watcher) -> None:
    engine.records.put(before_the_amendment(), None)
    write_backup(engine.records.store, tmp_path / "backup", "1", {}, replace=False, watcher=quiet)
    await amended_and_forgotten(engine)
    with opened_backup(tmp_path / "backup", quiet) as backup:
        done = restore_backup(backup, engine.records.store, replace=True, watcher=quiet)
        assert (stored_ids(engine.records), done.forgotten) == (STAYING, 9)
        (tmp_path / "other").mkdir()
        lost = open_records(stores.records(tmp_path / "other"))  # knows of it by the file of the ledger alone
        restore_backup(
            backup, lost.store, replace=False, watcher=quiet, erasures=read_ledger(tmp_path / "forgotten.jsonl")
        )
        assert stored_ids(lost) == STAYING
        lost.close()


@pytest.mark.parametrize("known_by", ["the database", "the file of the ledger"])
async def test_an_import_brings_back_no_part_dropped_by_an_amendment_before_the_erasure(
    engine: Engine, tmp_path: Path, stores: Stores, quiet: Watcher, known_by: str
) -> None:
    engine.records.put(before_the_amendment(), None)
    lines = list(export_lines(engine.records, list(Kind), quiet, SetAside()))
    (tmp_path / "lines").write_bytes(b"\n".join(reversed(lines)))
    await amended_and_forgotten(engine)
    target, erasures = engine.records, []
    if known_by != "the database":
        (tmp_path / "other").mkdir()
        target, erasures = open_records(stores.records(tmp_path / "other")), read_ledger(tmp_path / "forgotten.jsonl")
    done = import_file(tmp_path / "lines", target, None, 1, quiet, erasures)
    assert (stored_ids(target), done.forgotten) == (STAYING, 9)
    if target is not engine.records:
        target.close()


async def test_an_import_keeps_parts_of_a_live_record(engine: Engine, tmp_path: Path, quiet: Watcher) -> None:
    event = part(Kind.EVENT, "evt_1", artifact_id="art_1", category="a", narrative="It came")
    engine.records.put([part(Kind.ARTIFACT, "art_1", content="One"), event], None)
    (tmp_path / "old").write_bytes(b"\n".join(export_lines(engine.records, [Kind.EVENT], quiet, SetAside())))
    engine.records.delete(Kind.EVENT, ["evt_1"])
    await forgotten(engine, "art_1")
    assert import_file(tmp_path / "old", engine.records, None, 1, quiet).forgotten == 1
    engine.records.put([part(Kind.ARTIFACT, "art_1", content="Two")], None)
    assert import_file(tmp_path / "old", engine.records, None, 1, quiet).new == 1


async def test_a_record_written_later_survives_a_restore(engine: Engine, tmp_path: Path, quiet: Watcher) -> None:
    engine.records.put([written(Kind.ARTIFACT, id="art_1", content="One")], None)
    await forgotten(engine, "art_1")
    engine.records.put([written(Kind.ARTIFACT, id="art_1", content="Two")], None)
    write_backup(engine.records.store, tmp_path / "backup", "1", {}, replace=False, watcher=quiet)
    with opened_backup(tmp_path / "backup", quiet) as backup:
        assert restore_backup(backup, engine.records.store, replace=True, watcher=quiet).forgotten == 0
    assert engine.records.ids(Kind.ARTIFACT) == ["art_1"]


@pytest.mark.long("waits until records expire, or asks with every wrong value")
async def test_an_expired_record_is_not_shown_and_then_forgotten_once_by_all_servers(
    open_engine: Open, caplog: pytest.LogCaptureFixture, wait_until: Callable[..., None]
) -> None:
    first, second = open_engine("one"), open_engine("two")
    gone = datetime.now(UTC) - timedelta(seconds=1)
    caplog.set_level(logging.INFO)
    first.records.put([written(Kind.ARTIFACT, id="art_1", content="Anna met Bert.", expires_at=gone)], None)
    assert first.records.reads.find([(Kind.ARTIFACT, "art_1")], EVERYTHING) == []  # before any sweep
    with pytest.raises(NotFound):
        await forgotten(first, "art_1")

    def logged() -> list[str]:
        return [record.getMessage() for record in caplog.records if "expired" in record.getMessage()]

    wait_until(lambda: first.records.ids(Kind.ARTIFACT) == [] and logged() != [])  # the line comes after the commit
    (one,) = second.records.forgetting.erasures()
    assert (one.id, one.agent, one.reason) == ("art_1", None, "expired")
    assert logged() == ["expired and forgotten: artifact art_1"]


async def test_the_parts_of_an_expired_record_are_not_shown_before_its_erasure(engine: Engine) -> None:
    engine.retention.close(5)
    gone = datetime.now(UTC) - timedelta(seconds=1)
    engine.records.put(
        [
            written(Kind.ARTIFACT, id="art_1", content="Anna met Bert.", expires_at=gone),
            written(Kind.ARTIFACT_CHUNK, id="c-1", artifact_id="art_1", content="Anna", chunk_index=0, total_chunks=1),
            written(Kind.EVENT, id="evt_1", artifact_id="art_1", category="meeting", narrative="They met"),
            written(Kind.EVENT, id="evt_2", category="meeting", narrative="They met again"),
        ],
        None,
    )
    names = [(Kind.ARTIFACT_CHUNK, "c-1"), (Kind.EVENT, "evt_1"), (Kind.EVENT, "evt_2")]
    assert [one.record.id for one in engine.records.reads.find(names, EVERYTHING)] == ["evt_2"]
    await engine.reached(engine.records.last_seq(), seconds=60)
    answer = await engine.recall(RecallParams(query="met"), EVERYTHING)
    assert [one.id for one in answer.results] == ["evt_2"]


async def test_an_expired_record_is_in_no_graph_and_no_feed_before_its_erasure(engine: Engine) -> None:
    engine.retention.close(5)
    near, far = await recorded(engine, "Near"), await recorded(engine, "Far")
    over, gone = await recorded(engine, "Over"), datetime.now(UTC) - timedelta(seconds=1)
    for source, target in ((near, over), (over, far)):
        await write(engine, ANN, LinkDecisionsParams(source_id=source, target_id=target, edge_type="relates_to"))
    with engine.records.store.writer.begin() as connection:
        chosen = sa.update(records).where(records.c.id == over)
        connection.execute(chosen.values(expires_at=int(gone.timestamp() * 1_000_000)))
    parts = [
        written(Kind.ARTIFACT, id="art_1", content="Anna met Bert.", expires_at=gone),
        written(Kind.EVENT, id="evt_1", artifact_id="art_1", category="meeting", narrative="They met"),
    ]
    engine.records.put(parts, None)
    graph = engine.records.decisions.graph(GraphRequest(near), EVERYTHING)
    assert graph is not None
    assert ([one.record.id for one, _ in graph.nodes], graph.edges) == ([near], ())
    assert engine.records.decisions.graph(GraphRequest(over), EVERYTHING) is None
    feed = engine.records.viewer_changes.after(EVERYTHING, 0, None, 100)
    assert {one.id for one in feed.changes} == {near, far}
    assert engine.records.viewer_changes.last(EVERYTHING) == max(one.seq for one in feed.changes)
    engine.records.forgetting.expire(engine.records.forgetting.expired_keys(datetime.now(UTC), 10), datetime.now(UTC))
    ends = engine.records.viewer_changes.after(EVERYTHING, feed.covered, None, 100).changes
    assert {(one.id, one.gone) for one in ends} >= {(over, True), ("art_1", True), ("evt_1", True)}


async def test_a_clock_jump_lets_nothing_expire(engine: Engine) -> None:
    engine.retention.close(5)
    late = datetime.now(UTC) + timedelta(days=30)
    engine.records.put([written(Kind.ARTIFACT, id="art_1", content="One", expires_at=late)], None)

    def swept(*steps: timedelta) -> list[int]:
        times = list(accumulate(steps, initial=datetime.now(UTC)))
        clock = ClockGuard("nothing goes", iter(times).__next__, count(0, 5).__next__)
        retention = Retention(engine.records, engine.indexes, LedgerFile(None), clock=clock)
        return [retention.sweep() for _ in times]

    jump, small = timedelta(days=31), timedelta(hours=23)
    assert swept(jump, -jump) == [0, 0, 0]
    assert swept(jump, timedelta(seconds=5)) == [0, 0, 0]
    assert engine.records.ids(Kind.ARTIFACT) == ["art_1"]
    # a server stopped for long, or with a wrong clock at its start
    clock = ClockGuard("nothing goes", lambda: late + jump, count(0, 1800).__next__)
    retention = Retention(engine.records, engine.indexes, LedgerFile(None), clock=clock)
    assert [retention.sweep() for _ in range(3)] == [0, 0, 1]
    engine.records.put([written(Kind.ARTIFACT, id="art_2", content="Two", expires_at=late)], None)
    assert sum(swept(*[small] * 32)) == 1


@pytest.mark.long("waits until records expire, or asks with every wrong value")
async def test_a_record_expiring_later_is_shown_until_then(open_engine: Open, wait_until: Callable[..., None]) -> None:
    engine = open_engine()
    soon = datetime.now(UTC) + timedelta(seconds=2)
    late = soon + timedelta(days=1)
    engine.records.put([written(Kind.ARTIFACT, id="art_1", content="One", expires_at=soon)], None)
    engine.records.put([written(Kind.ARTIFACT, id="art_2", content="Two", expires_at=late)], None)
    assert len(engine.records.reads.find([(Kind.ARTIFACT, "art_1"), (Kind.ARTIFACT, "art_2")], EVERYTHING)) == 2
    wait_until(lambda: engine.records.ids(Kind.ARTIFACT) == ["art_2"])
    assert datetime.now(UTC) >= soon
    assert engine.records.forgetting.next_expiry() == late


async def test_an_unwritable_ledger_is_pending(open_engine: Open, tmp_path: Path) -> None:
    engine = open_engine()
    id = await recorded(engine, "Sell the oven")
    (tmp_path / "forgotten.jsonl").mkdir()
    done = await forgotten(engine, id)
    assert done.receipt is not None
    assert "ledger" in {one.part for one in done.receipt.pending}
    assert engine.records.ids(Kind.DECISION) == []


def test_an_invalid_erasure_line_is_refused_by_its_number(tmp_path: Path) -> None:
    file = tmp_path / "forgotten.jsonl"
    append_ledger(file, [Erasure(Kind.DECISION, "d", 1, "0" * 64)])
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text(file.read_text() + '{"kind": "poem"}\n')
    with pytest.raises(Exception, match=r"forgotten\.jsonl:2: "):
        read_ledger(file)


async def test_a_torn_last_line_of_the_ledger_is_cut(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "forgotten.jsonl"
    await forgotten(engine, await recorded(engine, "Sell the oven"))
    whole = file.read_bytes()
    for cut in (1, len(whole) // 2, len(whole) - 2):
        file.write_bytes(whole + whole[:cut])
        assert len(read_ledger(file)) == 1
        assert file.read_bytes() == whole
    file.write_bytes(whole[:-1])
    assert len(read_ledger(file)) == 1
    file.write_bytes(whole + whole[:20])
    await forgotten(engine, await recorded(engine, "Sell the kettle"))
    assert (read_ledger(file), file.read_bytes()[: len(whole)]) == (engine.records.forgetting.erasures(), whole)
    file.write_bytes(b'{"kind": "poem"}\n' + whole)
    with pytest.raises(ConfigurationError, match=r"forgotten\.jsonl:1: "):
        read_ledger(file)


@pytest.mark.long("waits until records expire, or asks with every wrong value")
async def test_the_ledger_file_has_each_erasure_of_several_servers_once(open_engine: Open, tmp_path: Path) -> None:
    engines = [open_engine("one"), open_engine("two")]
    for number in range(6):
        await forgotten(engines[number % 2], await recorded(engines[0], f"Sell oven {number}"))
    for engine in engines:
        LedgerFile(tmp_path / "forgotten.jsonl").sync(engine.records)
    assert sorted(one.id for one in read_ledger(tmp_path / "forgotten.jsonl")) == sorted(
        one.id for one in engines[0].records.forgetting.erasures()
    )


async def test_an_erasure_reads_only_new_lines_of_the_ledger_file(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "forgotten.jsonl"
    await forgotten(engine, await recorded(engine, "Sell the oven"))
    size = file.stat().st_size
    file.write_bytes(b"#" * size)  # a reader of all of it would fail
    done = await forgotten(engine, await recorded(engine, "Sell the kettle"))
    assert done.receipt is not None
    assert "ledger" not in {one.part for one in done.receipt.pending}
    assert len(file.read_bytes()[size:].splitlines()) == 1
