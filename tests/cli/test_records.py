"""Databases, models and schemas of the records' commands; `transcripts/records.txt` has the rest."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cognition_engines.ingest.structured.aliases import own_names
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import open_records
from tests.stored import changes_of, models
from tests.stores import ChromaProgram, Stores

Cstp = Callable[..., Any]
FULL = {
    "id": "d-1",
    "title": "Use SQLite",
    "text": "One file.\nNo server.",
    "category": "architecture",
    "confidence": 0.8,
    "stakes": "high",
    "status": "Accepted",
    "outcome": "success",
    "date": "2024-02-03T10:00:00+02:00",
    "reasons": ["pattern", {"type": "analysis", "text": "measured"}],
    "tags": ["storage"],
    "supersedes": ["d-0"],
    "supersededBy": "d-2",
    "project": "alpha",
    "sensitivity": "sensitive",
    "metadata": {"ticket": 12},
}


def write_lines(path: str, *members: dict[str, Any]) -> Path:
    Path(path).write_text("".join(json.dumps(one) + "\n" for one in members))
    return Path(path).absolute()


def summary(done: Any) -> dict[str, Any]:
    """Return the JSON line of --json."""
    assert done.out.endswith("}\n")
    assert done.out.count("\n") == 1
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_ingest_embeds_with_the_model_shipped_with_the_server(cstp: Cstp, adr: Callable[..., Path]) -> None:
    adr("docs/a.md", "A")
    assert cstp("ingest", "docs").code == 0
    assert list(json.loads(cstp("status", "--json").out)["vectors"].values()) == [1]


def test_the_schema_is_json_schema_and_real_records_meet_it(cstp: Cstp) -> None:
    done = cstp("schema", "decision")
    assert done.code == 0
    schema = json.loads(done.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert set(schema["properties"]) == {"kind", "supersededBy", *own_names(Kind.DECISION)}
    for record in (FULL, {"title": "t"}, {"title": "t", "superseded_by": None, "confidence": None}):
        validator.validate(record)
    for record in ({}, {"title": ""}, {"title": "t", "confidence": 1.5}, {"title": "t", "colour": "red"}):
        assert not validator.is_valid(record)


@pytest.mark.long("embeds with the packaged model")
@pytest.mark.usefixtures("wordless")
def test_input_accepted_by_the_schema_is_ingested_and_other_input_rejected(cstp: Cstp) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(cstp("schema", "decision").out))
    records: list[dict[str, Any]] = [
        FULL,
        {"title": "t", "id": 5},
        {"title": "t", "tags": "one"},
        {"title": "t", "tags": ["a", "b"]},
        {"title": "t", "reasons": [{"text": "no type"}]},
        {"title": "t", "reasons": ["a", {"type": "b"}]},
        {"title": "t" * 1001},
        {"title": "line\nbreak"},
        {"title": "t", "confidence": "0.5"},
        {"title": "t", "confidence": 1},
        {"title": "t", "sensitivity": "secret"},
        {"title": "t", "superseded_by": "a", "supersededBy": "b"},
        {"title": "t", "supersedes": [1, "two"]},
    ]
    for number, record in enumerate(records):
        file = write_lines(f"decisions-{number}.jsonl", record)
        rejected = summary(cstp("ingest", file, "--json", "--data-dir", f"data{number}"))["rejected"]
        assert (not rejected) is validator.is_valid(record), (record, rejected)


@pytest.mark.long("embeds with the packaged model")
def test_reindex_rebuilds_the_indexes_and_keeps_only_vectors_of_the_configured_model(
    cstp: Cstp, adr: Callable[..., Path], stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    adr("docs/a.md", "A")
    adr("docs/b.md", "B")
    monkeypatch.setenv("CSTP_EMBEDDING__MODEL", "none")
    cstp("ingest", "docs")
    done = cstp("reindex")
    assert (done.code, done.out) == (0, "2 decisions indexed, 0 re-embedded, 0 vectors of other models removed\n")
    monkeypatch.delenv("CSTP_EMBEDDING__MODEL")
    done = cstp("reindex")
    assert (done.code, done.out) == (0, "2 decisions indexed, 2 re-embedded, 0 vectors of other models removed\n")
    records = open_records(stores.records(Path("data")))
    (vectors,) = (c.vectors for c in changes_of(records, 0, 1, next(iter(models(records)))))  # type: ignore[union-attr]
    key = next(iter(changes_of(records, 0, 1, None))).stored.key  # type: ignore[union-attr]
    assert vectors is not None
    records.put_vectors([(key, vectors[:, :4].copy())], "another-model")
    assert models(records)["another-model"] == 1
    assert cstp("reindex", "--keep-vectors").out.endswith(" 0 vectors of other models removed\n")
    assert "another-model" in models(records)
    assert cstp("reindex").out.endswith(" 1 vectors of other models removed\n")
    assert list(models(records).values()) == [2]
    records.close()


@pytest.mark.embedded_only("names its Chroma server itself")
def test_reindex_leaves_the_collections_of_another_model_on_a_chroma_server(
    cstp: Cstp, adr: Callable[..., Path], chroma_server: ChromaProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    adr("docs/a.md", "A")
    monkeypatch.setenv("CSTP_VECTORS__URL", chroma_server.url)
    assert cstp("ingest", "docs").code == 0
    records = open_records(f"sqlite:///{Path('data/records.sqlite3').absolute()}")
    (model,), store = models(records), records.store_id[:12]
    records.close()
    chroma_server.create(f"decisions-former-{store}", {"seq": 1}, [1.0, 2.0])
    assert cstp("reindex").code == 0
    assert {one["name"] for one in chroma_server.collections(store)} == {
        f"decisions-former-{store}",
        f"decisions-{model}-{store}",
    }
    chroma_server.forget(store)
