"""What is forgotten: all of it, everywhere, for good; and what expires goes by itself."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.embedding.base import Embedder
from cognition_engines.engine import Engine, EngineOptions
from cognition_engines.ingest.options import Options
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.reviews import ReviewContent
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import EVERYTHING, Filters, Sensitivity, Viewer
from cognition_engines.queries.decisions import Question
from cognition_engines.queries.recall.results import RecallRequest
from cognition_engines.store.erasure.ledger import Erasure, append_ledger, read_ledger
from cognition_engines.store.records import open_records
from cognition_engines.store.transfer.backup import opened_backup
from cognition_engines.store.transfer.copy import Watcher
from cognition_engines.store.values import Entry
from cognition_engines.writing.erasing import LedgerFile
from cognition_engines.writing.errors import RecordNotFound, ScopeNeeded, WriteConflict, WriteRefused
from cognition_engines.writing.requests import (
    DecisionFields,
    Forget,
    Forgotten,
    LinkDecisions,
    RecordDecision,
    RecordedDecision,
    ReviewDecision,
    Writer,
)
from tests.query.conftest import SeededEmbedder
from tests.stores import Stores
from tests.writing.written import Quiet, written

SCOPES = frozenset({"read", "write", "review"})
ANN = Writer("ann", EVERYTHING, SCOPES)
BEN = Writer("ben", EVERYTHING, SCOPES)
ROOT = Writer("root", EVERYTHING, frozenset({"admin"}))
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


def new(decision: str, **others: Any) -> RecordDecision:
    own = {name: others.pop(name) for name in ("project", "sensitivity") if name in others}
    return RecordDecision(fields=DecisionFields(decision=decision, confidence=0.5, **others), **own)


async def recorded(engine: Engine, decision: str, writer: Writer = ANN, key: str | None = None, **others: Any) -> str:
    return (await engine.write(writer, new(decision, **others), key)).id


async def forgotten(engine: Engine, id: str, writer: Writer = ANN, **others: Any) -> Forgotten:
    done = await engine.write(writer, Forget(id=id, **others))
    assert isinstance(done, Forgotten)
    return done


async def test_what_is_forgotten_is_in_no_table_and_no_index_and_the_receipt_says_so(engine: Engine) -> None:
    id = await recorded(engine, "Sell the oven", context="It burns bread.")
    other = await recorded(engine, "Buy an oven")
    await engine.write(BEN, ReviewDecision(id=id, outcome="success", content=ReviewContent(lessons="Ask twice")))
    await engine.write(BEN, LinkDecisions(source_id=other, target_id=id, type="relates_to", context="the same oven"))
    done = await forgotten(engine, id)
    assert (done.cascade.reviews, done.cascade.links, done.cascade.revisions) == (1, 1, 1)
    assert done.receipt is not None
    assert (done.receipt.records, done.receipt.keywords, done.receipt.vectors) == (0, 0, 0)
    assert done.receipt.seq == done.seq <= engine.records.last_seq()
    assert await engine.query_decisions(Question("burns", Filters(), EVERYTHING)) == []
    assert engine.records.find([(Kind.DECISION, id)], None) == []
    with pytest.raises(RecordNotFound):
        await forgotten(engine, id)


async def test_a_receipt_counts_what_is_still_there(engine: Engine) -> None:
    id = await recorded(engine, "Sell the oven")
    done = await forgotten(engine, id)
    again = await recorded(engine, "Sell the oven once more")
    await engine.reached(engine.records.last_seq(), seconds=60.0)
    (stored,) = engine.records.find([(Kind.DECISION, again)], None)
    wrong = replace(done, gone=(replace(done.gone[0], key=stored.key, id=again),))
    found = await engine.writing._erasures.verified(engine.pools.caller("ann"), wrong)
    assert found.receipt is not None
    assert (found.receipt.records, found.receipt.keywords) == (4, 1)  # a row of records, decisions, links, revisions


async def test_a_dry_run_says_what_would_go_and_leaves_it(engine: Engine) -> None:
    id = await recorded(engine, "Sell the oven")
    done = await engine.write(ANN, Forget(id=id), None, True)
    assert isinstance(done, Forgotten)
    assert (done.cascade.revisions, done.receipt) == (1, None)
    assert len(engine.records.find([(Kind.DECISION, id)], None)) == 1
    assert engine.records.forgetting.erasures() == []


async def test_who_may_forget_what(engine: Engine, tmp_path: Path) -> None:
    id = await recorded(engine, "Sell the oven")
    with pytest.raises(ScopeNeeded, match="admin"):
        await forgotten(engine, id, BEN)
    secret = await recorded(engine, "A secret", sensitivity=Sensitivity.SENSITIVE)
    for viewer in (Viewer(), Viewer(max(Sensitivity), frozenset({"alpha"}))):
        with pytest.raises(RecordNotFound):
            await forgotten(engine, secret, Writer("ann", viewer, SCOPES | {"admin"}))
    file = tmp_path / "docs/adr/0001-use-a-queue.md"
    file.parent.mkdir(parents=True)
    file.write_text(ADR)
    await engine.ingest([file], Options())
    (of_file,) = set(engine.records.ids(Kind.DECISION)) - {id, secret}
    with pytest.raises(WriteConflict) as conflict:
        await forgotten(engine, of_file, ROOT)
    assert conflict.value.reason == "fileOwned"
    assert (await forgotten(engine, id, ROOT)).id == id


async def test_a_key_of_what_is_forgotten_stays_spent_and_the_key_of_the_erasure_answers_again(engine: Engine) -> None:
    id = await recorded(engine, "Sell the oven", key="one")
    first = await engine.write(ANN, Forget(id=id), "two")
    again = await engine.write(ANN, Forget(id=id), "two")
    assert isinstance(first, Forgotten)
    assert isinstance(again, Forgotten)
    assert (again.id, again.seq, again.cascade) == (first.id, first.seq, first.cascade)
    with pytest.raises(WriteConflict) as conflict:
        await engine.write(ANN, new("Sell the oven"), "one")
    assert (conflict.value.reason, conflict.value.id) == ("idempotency", None)
    assert await recorded(engine, "Sell the oven", key="three") != id  # the same words are another record


async def test_an_answer_about_another_record_keeps_nothing_of_it(open_engine: Open, embedder: Embedder) -> None:
    engine = open_engine(embedder=embedder)
    id = await recorded(engine, "Sell the old oven now")
    other = await engine.write(BEN, new("Sell the old oven now"), "key")
    assert isinstance(other, RecordedDecision)
    assert [one.id for one in other.duplicates] == [id]
    await forgotten(engine, id)
    again = await engine.write(BEN, new("Sell the old oven now"), "key")
    assert isinstance(again, RecordedDecision)
    assert (again.id, again.created, again.duplicates) == (other.id, False, ())


async def test_an_artifact_takes_its_chunks_events_edges_and_entities_along(engine: Engine) -> None:
    engine.records.put(
        [
            written(Kind.ARTIFACT, id="art_1", content="Anna met Bert at Acme."),
            written(Kind.ARTIFACT, id="art_2", content="Bert moved."),
            written(Kind.ARTIFACT_CHUNK, id="c-1", artifact_id="art_1", content="Anna", chunk_index=0, total_chunks=1),
            written(Kind.EVENT, id="evt_1", agent="ben", artifact_id="art_1", category="meeting", narrative="They met",
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
    assert (done.receipt.records, done.receipt.keywords) == (0, 0)


async def test_what_a_file_says_of_an_artifact_stays_and_is_pending(engine: Engine) -> None:
    event = written(Kind.EVENT, id="evt_9", artifact_id="art_1", category="meeting", narrative="They met")
    of_file = replace(event, origin=Origin("/notes.jsonl", 0, None, "digest"))
    engine.records.put([written(Kind.ARTIFACT, id="art_1", content="Anna met Bert."), of_file], None)
    done = await forgotten(engine, "1")  # the prefix may be left out
    assert (done.id, done.of_files, engine.records.ids(Kind.EVENT)) == ("art_1", 1, ["evt_9"])
    assert done.receipt is not None
    assert "files" in {one.part for one in done.receipt.pending}


async def test_what_files_have_is_counted_only_where_its_forgetter_sees_it(engine: Engine) -> None:
    hidden = written(Kind.EVENT, id="evt_8", artifact_id="art_1", category="a", narrative="n", sensitivity="sensitive")
    shown = written(Kind.EVENT, id="evt_9", artifact_id="art_1", category="b", narrative="m")
    of_files = [
        replace(event, origin=Origin("/notes.jsonl", place, None, f"digest-{place}"))
        for place, event in enumerate((hidden, shown))
    ]
    engine.records.put([written(Kind.ARTIFACT, id="art_1", content="Anna met Bert."), *of_files], None)
    done = await forgotten(engine, "art_1", Writer("ann", Viewer(), SCOPES))
    assert (done.of_files, engine.records.ids(Kind.EVENT)) == (1, ["evt_8", "evt_9"])
    assert done.receipt is not None
    assert [one.reason for one in done.receipt.pending if one.part == "files"] == [
        "1 records that name it stay: files have them"
    ]


async def test_a_source_takes_its_chunks_and_what_was_drawn_from_them_alone(engine: Engine) -> None:
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


async def test_a_cascade_counts_only_what_its_forgetter_sees(engine: Engine) -> None:
    engine.records.put(
        [
            written(Kind.ARTIFACT, id="art_1", content="Anna met Bert."),
            written(Kind.EVENT, id="evt_1", artifact_id="art_1", category="a", narrative="n", sensitivity="sensitive"),
            written(Kind.EVENT, id="evt_2", artifact_id="art_1", category="b", narrative="m"),
        ],
        None,
    )
    done = await forgotten(engine, "art_1", Writer("ann", Viewer(), SCOPES))
    assert (done.cascade.events, engine.records.ids(Kind.EVENT)) == (1, [])


async def test_an_id_of_two_kinds_needs_the_kind(engine: Engine) -> None:
    engine.records.put(
        [written(Kind.SOURCE, id="same", title="One"), written(Kind.ENTITY, id="same", name="Two")], None
    )
    with pytest.raises(WriteRefused, match=r"kind: .*entity, source"):
        await forgotten(engine, "same")
    assert (await forgotten(engine, "same", kind=Kind.ENTITY)).kind == "entity"
    assert engine.records.ids(Kind.SOURCE) == ["same"]


async def test_the_ledger_is_in_the_database_and_in_its_file_and_holds_no_content(
    engine: Engine, tmp_path: Path
) -> None:
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


async def test_a_restore_of_an_older_backup_does_not_bring_it_back(
    engine: Engine, tmp_path: Path, stores: Stores, quiet: Watcher
) -> None:
    id, other = await recorded(engine, "Sell the oven", key="one"), await recorded(engine, "Buy an oven")
    engine.records.back_up(tmp_path / "backup", "1", {}, replace=False, watcher=quiet)
    await forgotten(engine, id)
    with opened_backup(tmp_path / "backup", quiet) as backup:
        done = engine.records.restore(backup, replace=True, watcher=quiet)
        assert (done.forgotten, engine.records.ids(Kind.DECISION)) == (1, [other])
        # into another database, of which only the file of the ledger knows
        (tmp_path / "other").mkdir()
        lost = open_records(stores.records(tmp_path / "other"))
        ledger = read_ledger(tmp_path / "forgotten.jsonl")
        done = lost.restore(backup, replace=False, watcher=quiet, erasures=ledger)
        assert (done.forgotten, lost.ids(Kind.DECISION), lost.forgetting.erasures()) == (1, [other], ledger)
        lost.close()
    with pytest.raises(WriteConflict):
        await engine.write(ANN, new("Sell the oven"), "one")


async def test_a_record_that_was_written_after_the_erasure_survives_a_restore(
    engine: Engine, tmp_path: Path, quiet: Watcher
) -> None:
    engine.records.put([written(Kind.ARTIFACT, id="art_1", content="One")], None)
    await forgotten(engine, "art_1")
    engine.records.put([written(Kind.ARTIFACT, id="art_1", content="Two")], None)
    engine.records.back_up(tmp_path / "backup", "1", {}, replace=False, watcher=quiet)
    with opened_backup(tmp_path / "backup", quiet) as backup:
        assert engine.records.restore(backup, replace=True, watcher=quiet).forgotten == 0
    assert engine.records.ids(Kind.ARTIFACT) == ["art_1"]


async def test_what_has_expired_is_not_shown_and_then_forgotten_once_by_all_servers(
    open_engine: Open, caplog: pytest.LogCaptureFixture, wait_until: Callable[..., None]
) -> None:
    first, second = open_engine("one"), open_engine("two")
    gone = datetime.now(UTC) - timedelta(seconds=1)
    caplog.set_level(logging.INFO)
    first.records.put([written(Kind.ARTIFACT, id="art_1", content="Anna met Bert.", expires_at=gone)], None)
    assert first.records.find([(Kind.ARTIFACT, "art_1")], EVERYTHING) == []  # before any sweep
    with pytest.raises(RecordNotFound):
        await forgotten(first, "art_1")

    def logged() -> list[str]:
        return [record.getMessage() for record in caplog.records if "expired" in record.getMessage()]

    wait_until(lambda: first.records.ids(Kind.ARTIFACT) == [] and logged() != [])  # the line comes after the commit
    (one,) = second.records.forgetting.erasures()
    assert (one.id, one.agent, one.reason) == ("art_1", None, "expired")
    assert logged() == ["expired and forgotten: artifact art_1"]


async def test_the_parts_of_what_has_expired_are_not_shown_before_it_is_forgotten(engine: Engine) -> None:
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
    assert [one.record.id for one in engine.records.find(names, EVERYTHING)] == ["evt_2"]
    await engine.reached(engine.records.last_seq(), None, searched=True)
    answer = await engine.recall(RecallRequest(EVERYTHING, query="met"))
    assert answer is not None
    assert [one.stored.record.id for one in answer.results] == ["evt_2"]


async def test_what_expires_later_is_shown_until_then(open_engine: Open, wait_until: Callable[..., None]) -> None:
    engine = open_engine()
    soon = datetime.now(UTC) + timedelta(seconds=2)
    late = soon + timedelta(days=1)
    engine.records.put([written(Kind.ARTIFACT, id="art_1", content="One", expires_at=soon)], None)
    engine.records.put([written(Kind.ARTIFACT, id="art_2", content="Two", expires_at=late)], None)
    assert len(engine.records.find([(Kind.ARTIFACT, "art_1"), (Kind.ARTIFACT, "art_2")], EVERYTHING)) == 2
    wait_until(lambda: engine.records.ids(Kind.ARTIFACT) == ["art_2"])
    assert datetime.now(UTC) >= soon
    assert engine.records.forgetting.next_expiry() == late


async def test_a_ledger_that_cannot_be_written_is_pending_and_the_record_is_gone(
    open_engine: Open, tmp_path: Path
) -> None:
    engine = open_engine()
    id = await recorded(engine, "Sell the oven")
    (tmp_path / "forgotten.jsonl").mkdir()
    done = await forgotten(engine, id)
    assert done.receipt is not None
    assert "ledger" in {one.part for one in done.receipt.pending}
    assert engine.records.ids(Kind.DECISION) == []


def test_a_line_that_is_no_erasure_is_refused_by_its_number(tmp_path: Path) -> None:
    file = tmp_path / "forgotten.jsonl"
    append_ledger(file, [Erasure(Kind.DECISION, "d", 1, "0" * 64)])
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text(file.read_text() + '{"kind": "poem"}\n')
    with pytest.raises(Exception, match=r"forgotten\.jsonl:2: "):
        read_ledger(file)
