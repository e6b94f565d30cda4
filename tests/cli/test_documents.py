"""`cstp ingest` of documents, transcripts and collections."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records, open_records
from tests.stores import Stores, free_port

Cstp = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("wordless")


@pytest.fixture
def opened(stores: Stores, tmp_path: Path) -> Callable[[], Records]:
    return lambda: open_records(stores.records(tmp_path / "data"))


def _kept(cstp: Cstp, *words: str) -> dict[str, Any]:
    done = cstp("ingest", *words, "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_a_deleted_document_takes_its_parts_along(cstp: Cstp, opened: Callable[[], Records]) -> None:
    words = "Some words. " * 900
    Path("guide.md").write_text(f"---\nid: src_guide\n---\n# Guide\n\n{words}\n")
    lines = [
        {"kind": "artifact", "id": "long", "title": "Minutes", "content": words},
        {"kind": "event", "category": "Decision", "narrative": "Done", "artifact_id": "long"},
        {"kind": "chunk", "id": "mine", "content": "Of my own", "source_id": "src_guide"},
    ]
    Path("memory.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    kinds = _kept(cstp, "guide.md", "memory.jsonl")["kinds"]
    assert kinds["artifact_chunk"] > 1
    assert kinds["chunk"] > 2
    done = cstp("delete", "art_long", "src_guide")
    assert (done.code, done.out) == (0, "deleted art_long\ndeleted src_guide\n")
    records = opened()
    assert {(one.kind, one.origin.ordinal) for one in records.origins.read_below(str(Path.cwd()))} == {
        (Kind.EVENT, 1),
        (Kind.CHUNK, 2),
    }
    records.close()


def test_a_collection_is_read(cstp: Cstp, opened: Callable[[], Records]) -> None:
    client: Any = chromadb.PersistentClient(path="chroma", settings=Settings(anonymized_telemetry=False))
    client.create_collection("notes", embedding_function=None).add(
        ids=["n-1"], documents=["Queues hold what waits."], embeddings=[[1.0, 0.0]]
    )
    client.close()
    assert _kept(cstp, "chroma:chroma/notes")["kinds"] == {"chunk": 1}
    records = opened()
    assert list(records.reads.by_ids(Kind.CHUNK, ["n-1"])) == ["n-1"]
    records.close()
    done = cstp("ingest", "chroma:chroma/others")
    assert (done.code, "there are notes" in done.err) == (2, True)


def test_an_unreachable_collection_is_named(cstp: Cstp) -> None:
    address = f"chroma:http://127.0.0.1:{free_port()}/notes"
    done = cstp("ingest", address)
    assert (done.code, address in done.err) == (1, True)
