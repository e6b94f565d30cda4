"""Collections of Chroma, in a folder and on a server."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.ingest.collections.addresses import checked_address
from cognition_engines.ingest.collections.chroma_source import open_chroma
from cognition_engines.kinds.spec import Kind
from cognition_engines.spaces import KNOWLEDGE
from cognition_engines.store.records import Records
from cognition_engines.wanted import Wanted, always
from tests.ingest.chroma_places import Place
from tests.ingest.conftest import CountingEmbedder
from tests.ingest.runs import Run

TEXTS = {f"c{n}": f"Queue number {n} holds what waits." for n in range(40)}


class _Reversed(CountingEmbedder):
    def embed_query(self, text: str, wanted: Wanted = always) -> Any:
        return -super().embed_query(text)


def _chunk(records: Records, id: str) -> Any:
    return records.reads.by_ids(Kind.CHUNK, [id])[id].record


def _vectors(records: Records, embedder: CountingEmbedder) -> dict[str, Any]:
    """Return the only vector of each chunk, by id: chunks written together have no order."""
    page = records.changes.page(KNOWLEDGE, 0, 100, embedder.model)
    assert page.counts.tolist() == [1] * len(page.ids)
    return dict(zip(page.ids, page.vectors, strict=True))


def test_documents_and_metadata_arrive(place: Place, take: Run, records: Records) -> None:
    metadata = {"title": "Queues", "author": "Ana", "source": "kindle", "page_number": 3, "tags": "queues"}
    address = place.fill({"a": "First text.", "b": "Second text."}, [metadata, None])
    summary = take(address)
    assert (summary.new, summary.rejected, summary.kinds) == (2, (), {"chunk": 2})
    chunk = _chunk(records, "a")
    assert (chunk.content, chunk.title, chunk.author, chunk.source) == ("First text.", "Queues", "Ana", "kindle")
    assert (chunk.tags, chunk.metadata) == (("queues",), {"page_number": 3})
    assert _chunk(records, "b").content == "Second text."
    assert "members kept in the metadata: page_number" in [warning.reason for warning in summary.warnings]
    assert take(address).unchanged == 2


@pytest.mark.long("fills collections of Chroma")
def test_all_pages_are_read(place: Place, take: Run) -> None:
    address = place.fill({f"i{n}": f"Text {n}" for n in range(1203)})
    assert take(address).new == 1203


def test_vectors_of_the_same_model_are_reused(
    place: Place, take: Run, records: Records, embedder: CountingEmbedder
) -> None:
    summary = take(place.fill(TEXTS))
    assert len(embedder.texts) == 16
    assert [warning.reason for warning in summary.warnings] == ["the vectors are those of counting-4: they are reused"]
    vectors = _vectors(records, embedder)
    assert vectors.keys() == TEXTS.keys()
    for id, text in TEXTS.items():
        assert np.allclose(vectors[id], embedder.embed_query(text), atol=1e-5)


@pytest.mark.parametrize("dim", [4, 6])
def test_vectors_of_another_are_not(
    place: Place, dim: int, take: Run, records: Records, embedder: CountingEmbedder
) -> None:
    summary = take(place.fill({"a": "One.", "b": "Two."}, embedder=_Reversed(dim=dim)))
    told = "the vectors are not those of the model in use: they are recomputed"
    assert [warning.reason for warning in summary.warnings] == [told]
    assert {"One.", "Two."} <= set(embedder.texts)
    vectors = _vectors(records, embedder)
    assert vectors.keys() == {"a", "b"}
    assert np.allclose(vectors["a"], embedder.embed_query("One."))
    assert np.allclose(vectors["b"], embedder.embed_query("Two."))


def test_long_text_is_anew(place: Place, take: Run, embedder: CountingEmbedder) -> None:
    embedder.longest = 100
    take(place.fill({**TEXTS, "long": "x" * 101}))
    assert "x" * 101 in embedder.texts


def test_no_model_no_word(place: Place, take: Run) -> None:
    summary = take(place.fill(TEXTS), model=None)
    assert (summary.new, summary.warnings) == (len(TEXTS), ())


def test_an_item_has_the_named_or_recognised_kind(place: Place, take: Run, records: Records) -> None:
    metadatas = [
        {"kind": "artifact", "context": "meeting", "importance": 0.7},
        {"conversation_id": "talk", "role": "user", "turn_index": 0},
        {"kind": "decision", "title": "Use UDP", "category": "network"},
        {"type": "checklist", "kind": "pdf", "title": "To do"},
        {"title": "A text", "category": "network", "tags": "udp"},
    ]
    texts = {id: f"Text of {id}." for id in ("art", "turn", "decision", "list", "text")}
    summary = take(place.fill(texts, metadatas))
    assert summary.rejected == ()
    assert summary.kinds == {"artifact": 1, "turn": 1, "decision": 1, "chunk": 2}
    (decision,) = records.reads.by_ids(Kind.DECISION, ["decision"]).values()
    assert (decision.record.title, decision.record.text) == ("Use UDP", "Text of decision.")  # type: ignore[union-attr]
    assert _chunk(records, "list").metadata == {"type": "checklist", "kind": "pdf"}


def test_metadata_unfit_for_a_field_stays_metadata(place: Place, take: Run, records: Records) -> None:
    metadata = {"chunk_index": 7, "created_at": "yesterday", "id": "other", "author": "Ana"}
    assert take(place.fill({"a": "Text."}, [metadata])).rejected == ()
    chunk = _chunk(records, "a")
    assert chunk.metadata == {"chunk_index": 7, "created_at": "yesterday", "id": "other"}
    assert (chunk.author, chunk.chunk_index) == ("Ana", 0)


@pytest.mark.long("fills collections of Chroma")
def test_non_records_refused(place: Place, take: Run) -> None:
    address = place.fill({"a": "Text.", "b": "Text."}, [{"sensitivity": "secret"}, None])
    place.fill({"c": None})
    place.fill({"d": "```\n" + "x = 1\n" * 200_000}, [{"kind": "artifact"}])
    summary = take(address)
    assert [(problem.file, problem.reason) for problem in summary.rejected] == [
        (address, "'a': sensitivity must be one of normal, sensitive, highly_sensitive"),
        (address, "'c': content is required"),
        (address, "'d': content: the code block or table in line 1 must have at most 1,000,000 characters"),
    ]
    assert summary.new == 1


@pytest.mark.parametrize("more", [{}, {"conversation_id": "talk", "role": "user"}, {"kind": "artifact"}])
def test_rights_in_another_case_refuse_items_of_any_kind(
    place: Place, more: dict[str, str], take: Run, records: Records
) -> None:
    metadatas = [{"Sensitivity": "highly_sensitive", **more}, {"PROJECT": "alpha", "chunk_index": 7, **more}]
    summary = take(place.fill({"a": "Text.", "b": "Text."}, metadatas))
    assert [problem.reason for problem in summary.rejected] == [
        "'a': Sensitivity must be written sensitivity",
        "'b': PROJECT must be written project",
    ]
    assert records.counts() == {}


def test_prune_follows_the_collection(place: Place, take: Run, records: Records) -> None:
    address = place.fill({"a": "One.", "b": "Two.", "c": "Three."})
    take(address)
    place.delete("b")
    place.fill({"c": "Changed."})
    assert take(address, prune=True, dry_run=True).deleted == 1
    summary = take(address, prune=True)
    assert (summary.changed, summary.unchanged, summary.deleted) == (1, 1, 1)
    assert set(records.reads.by_ids(Kind.CHUNK, ["a", "b", "c"])) == {"a", "c"}


def test_an_unknown_collection_is_refused(place: Place, embedder: CountingEmbedder) -> None:
    place.fill({"a": "One."})
    told = pytest.raises(ConfigurationError, match=f"no collection of this name; there are.*{place.name}")
    with told, open_chroma(place.address("nothing"), embedder):
        pass


def test_a_failing_folder_is_named(tmp_path: Path, embedder: CountingEmbedder) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"no database " * 1000)
    address = checked_address(f"chroma:{tmp_path}/docs")
    with pytest.raises(ComponentFailed, match=address), open_chroma(address, embedder):
        pass


def test_an_absent_folder_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no folder of Chroma's"):
        checked_address(f"chroma:{tmp_path}/here/docs")
    assert list(tmp_path.iterdir()) == []


def test_the_address_of_a_folder_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "chroma.sqlite3").touch()
    monkeypatch.chdir(tmp_path)
    assert checked_address("chroma:c/docs") == f"chroma:{tmp_path}/c/docs"


def test_a_folder_is_read_by_several_threads_at_once(tmp_path: Path, embedder: CountingEmbedder) -> None:
    address = Place(str(tmp_path / "chroma"), embedder).fill({"a": "First text."})

    def read(_: int) -> int:
        with open_chroma(address, None) as collection:
            return collection.count()

    with ThreadPoolExecutor(4) as executor:
        assert set(executor.map(read, range(40))) == {1}
