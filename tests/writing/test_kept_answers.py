"""Answers kept under idempotency keys by earlier versions are repeated unchanged."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from cognition_engines.engine import Engine
from cognition_engines.store.schema import receipts
from cstp.values.decision_links import LinkDecisionsParams
from cstp.values.decision_writes import SetStatusParams
from cstp.values.writes import WriteParams
from tests.writing.test_decisions import JUDGE
from tests.writing.written import episode, forget, knowledge, memory, new, review, update, write

_WRITTEN = {"indexed": False, "not_indexed": [], "secrets": []}


def _renamed(shown: dict[str, Any], *names: str, **former: str) -> dict[str, Any]:
    return _WRITTEN | {name: shown[name] for name in names} | {old: shown[now] for old, now in former.items()}


def _link(shown: dict[str, Any]) -> dict[str, Any]:
    edge = shown["edge"]
    ended = {"effective_at": None, "ended_at": None, "ended_by": None}
    link = {"source": edge["source_id"], "target": edge["target_id"], "type": edge["edge_type"], "agent": "judge"}
    link |= {"at": edge["created_at"], "weight": edge["weight"], "context": edge["context"]}
    return _renamed(shown, "id", "seq", "warnings") | {"link": link | ended, "removed": False}


def _former(shown: dict[str, Any], params: WriteParams) -> dict[str, Any]:
    """Return an answer in an earlier version's form."""
    match type(params).__name__:
        case "RecordDecisionParams":
            names = ("id", "seq", "status", "revision", "content_hash", "quality", "created", "warnings")
            conflicts = [{"kind": 1, **one} for one in shown["possible_conflicts"]]
            former = _renamed(shown, *names, at="timestamp", duplicates="possible_duplicates")
            return former | {"conflicts": conflicts}
        case "UpdateDecisionParams":
            return _renamed(shown, "id", "seq", "revision") | {"updated": ["review_by"]}
        case "ReviewDecisionParams":
            names = ("id", "seq", "review_id", "status", "revision", "self_review", "previous_outcome")
            return _renamed(shown, *names, at="reviewed_at")
        case "SetStatusParams":
            return _renamed(shown, "id", "seq", "status", "previous", "ratified_by")
        case "StoreEpisodeParams":
            return _renamed(shown, "seq", "created", at="created_at") | {"id": str(shown["id"]), "query": ""}
        case "RememberParams":
            former = _renamed(shown, "id", "seq", "status", "events", chunks="num_chunks", tokens="token_count")
            return former | {"conflicts": [{"kind": 7, **one} for one in shown["possible_conflicts"]]}
        case "StoreKnowledgeParams":
            records = [{"chunks": one.pop("num_chunks"), **one} for one in shown["records"]]
            return _renamed(shown, "seq") | {"id": records[0]["id"], "records": records}
        case _:
            return _link(shown)


@pytest.mark.parametrize(
    "params_of",
    [
        lambda one, _: new("Keep sessions in PostgreSQL", related_to=[{"id": one}]),
        lambda one, _: update(one, review_by="2030-01-01"),
        lambda one, _: review(one, lessons="Ask twice"),
        lambda one, _: SetStatusParams(id=one, status="accepted", reason="agreed"),
        lambda one, other: LinkDecisionsParams(source_id=one, target_id=other, edge_type="blocks", weight=0.5),
        lambda *_: episode("Bake", 0.5, "Measure first."),
        lambda *_: memory("The gate opens at 9:00", events=[{"category": "Seen", "narrative": "The gate."}]),
        lambda *_: knowledge([{"kind": "source", "title": "Tides", "content": "# Spring\n\nThe sun.\n"}]),
    ],
    ids=["record", "update", "review", "status", "link", "episode", "memory", "knowledge"],
)
async def test_an_answer_kept_by_an_earlier_version_is_given_again(
    engine: Engine, params_of: Callable[[str, str], WriteParams]
) -> None:
    one = (await write(engine, JUDGE, new("Keep sessions in Redis"))).id
    other = (await write(engine, JUDGE, new("Bake bread"))).id
    params = params_of(one, other)
    await write(engine, JUDGE, params, "key")
    again = await write(engine, JUDGE, params, "key")
    with engine.records.store.writer.begin() as connection:
        kept = json.loads(connection.execute(sa.select(receipts.c.answer)).scalar_one())
        connection.execute(sa.update(receipts).values(answer=json.dumps(_former(kept, params))))
    assert await write(engine, JUDGE, params, "key") == again


@pytest.mark.parametrize(
    ("params", "digest"),
    [
        (
            new(
                "Keep sessions in Redis\nBackups",
                reasons=[{"type": "analysis", "text": "fast", "strength": 0.5}],
                alternatives=[{"option": "files"}],
                tags=["a", "b"],
                valid_from="2026-01-01",
                review_in="2w",
                trace={"a": [1]},
                affects=[{"type": "path", "pattern": "a/**"}],
                sources=[{"uri": "x", "quote": "q"}],
            ),
            "01ec56d40930707c304459ea8dbcaa4a4f0931db4cdeaefce76d8e15d3131787",
        ),
        (
            episode("Try", 0.5, "Learn", tags=["x"]),
            "75dbeb47d9efeebb343037b6358dfc52a593328b707c5a1d3feaa793a7d0e072",
        ),
        (
            memory("The gate opens at 9:00", conversation_id="c", turn_index=0),
            "afe57db67b9bc19c820484a199659642dfbe5c3f575c5b88f4562e5baf299ead",
        ),
        (
            memory(
                "The gate opens at 7:00",
                source="wiki",
                source_id="g",
                participants=["Ann"],
                events=[
                    {
                        "category": "c",
                        "narrative": "n",
                        "actors": [{"ref": "Ann"}],
                        "evidence": [{"quote": "gate"}],
                    }
                ],
                date="2026-01-01",
            ),
            "e4fd22c54fc29b99eafaa9089eb52ffd3e49f98aa41ea4c472eb639528edc9d2",
        ),
        (
            knowledge(
                [
                    {"kind": "source", "id": "t", "title": "T", "content": "# A\n\nb\n"},
                    {"kind": "chunk", "sourceId": "t", "content": "Neap"},
                ],
                sensitivity="sensitive",
            ),
            "ee0ad9de83d6e8f53af4a1b855636c3fbfbeb7ec6037b67fd36999cc8be7e467",
        ),
    ],
    ids=["record", "episode", "turn", "artifact", "knowledge"],
)
async def test_the_digest_of_a_request_stays_unchanged(engine: Engine, params: WriteParams, digest: str) -> None:
    await write(engine, JUDGE, params, "key")
    with engine.records.store.writer.connect() as connection:
        assert connection.execute(sa.select(receipts.c.digest)).scalar_one() == digest


async def test_an_erasure_kept_by_an_earlier_version_is_given_again(engine: Engine) -> None:
    id = (await write(engine, JUDGE, new("Keep sessions in Redis"))).id
    done = await write(engine, JUDGE, forget(id), "key")
    with engine.records.store.writer.begin() as connection:
        kept = json.loads(connection.execute(sa.select(receipts.c.answer)).scalar_one())
        result = kept.pop("result")
        former = kept | _renamed(result, "id", "seq", "kind", "cascade") | {"receipt": None}
        connection.execute(sa.update(receipts).values(answer=json.dumps(former)))
    again = await write(engine, JUDGE, forget(id), "key")
    assert (again.id, again.seq, again.cascade, again.deleted) == (id, done.seq, done.cascade, True)
    assert again.receipt is not None
