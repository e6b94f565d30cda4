"""Collections of Qdrant, read from a server whose points are in the local mode of the client for it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.ingest.collections.addresses import checked_address
from cognition_engines.ingest.collections.open_collection import open_collection
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.spaces import KNOWLEDGE
from cognition_engines.store.records import Records
from tests.http_servers import Handler, HttpServer
from tests.ingest.conftest import CountingEmbedder
from tests.ingest.runs import Run, counts, stored

KEY = "a-key-that-nothing-shows"


@dataclass
class Qdrant:
    """The REST interface of Qdrant, as far as reading goes, over the client's local mode."""

    client: QdrantClient
    embedder: CountingEmbedder
    server: HttpServer | None = None
    key: str | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    broken: dict[int, tuple[int, bytes]] = field(default_factory=dict)  # answers by the number of the scroll

    def address(self, name: str = "notes") -> str:
        assert self.server is not None
        return checked_address(f"qdrant:http://127.0.0.1:{self.server.server_port}/{name}")

    def fill(self, payloads: dict[Any, dict[str, Any]], embedder: CountingEmbedder | None = None) -> str:
        model, name = embedder or self.embedder, "notes"
        if not self.client.collection_exists(name):
            vectors = models.VectorParams(size=model.dim, distance=models.Distance.COSINE)
            self.client.create_collection(name, vectors_config=vectors)
        points = [
            models.PointStruct(id=id, payload=payload, vector=model.embed_query(str(payload.get("text"))).tolist())
            for id, payload in payloads.items()
        ]
        self.client.upsert(name, points)
        return self.address(name)

    def answer(self, path: str, headers: Any, body: dict[str, Any]) -> tuple[int, bytes]:
        if self.key is not None and headers.get("api-key") != self.key:
            return 401, b'{"status":{"error":"Invalid API key"}}'
        name = path.split("/")[2] if path.count("/") > 1 else ""
        if path == "/collections":
            found = [{"name": one.name} for one in self.client.get_collections().collections]
            return 200, _answered({"collections": found})
        if not self.client.collection_exists(name):
            return 404, b'{"status":{"error":"Not found"}}'
        if path.endswith("/points/scroll"):
            self.asked.append(body)
            if len(self.asked) in self.broken:
                return self.broken[len(self.asked)]
            points, following = self.client.scroll(
                name,
                limit=body["limit"],
                offset=body.get("offset"),
                with_payload=body["with_payload"],
                with_vectors=body["with_vector"],
            )
            rows = [{"id": one.id, "payload": one.payload, "vector": one.vector} for one in points]
            return 200, _answered({"points": rows, "next_page_offset": following})
        if path.endswith("/points/count"):
            return 200, _answered({"count": self.client.count(name, exact=True).count})
        return 200, _answered({"status": "green"})


def _answered(result: Any) -> bytes:
    return json.dumps({"result": result, "status": "ok", "time": 0.001}).encode()


@pytest.fixture
def qdrant(embedder: CountingEmbedder) -> Iterator[Qdrant]:
    made = Qdrant(QdrantClient(":memory:"), embedder)

    class Answers(Handler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: dict[str, Any]) -> None:
            status, content = made.answer(self.path, self.headers, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    made.server = HttpServer(Answers)
    yield made
    made.server.close()
    made.client.close()


TEXTS = {number: {"text": f"Queue number {number} holds what waits."} for number in range(40)}


def test_points_arrive_with_their_payloads(qdrant: Qdrant, take: Run, records: Records) -> None:
    payloads = {
        1: {"text": "First.", "title": "One", "page": 3, "project": "alpha", "sensitivity": "sensitive"},
        2: {"kind": "entity", "name": "Ana Reyes", "type": "person"},
    }
    address = qdrant.fill(payloads)
    summary = take(address)
    assert (summary.kinds, summary.rejected) == ({"chunk": 1, "entity": 1}, ())
    (chunk,) = stored(records, Kind.CHUNK)
    assert (chunk.id, chunk.title, chunk.metadata) == ("1", "One", {"page": 3})
    assert (chunk.project, chunk.sensitivity) == ("alpha", Sensitivity.SENSITIVE)
    assert counts(take(address)) == (0, 0, 2, 0)


@pytest.mark.long("reads many pages from a server")
def test_all_pages_are_read(qdrant: Qdrant, take: Run) -> None:
    address = qdrant.fill({number: {"text": f"Text {number}"} for number in range(600)})
    assert take(address).new == 600
    assert [body.get("offset") for body in qdrant.asked] == [None, 256, 512]


def test_vectors_of_the_model_in_use_are_reused(
    qdrant: Qdrant, take: Run, records: Records, embedder: CountingEmbedder
) -> None:
    summary = take(qdrant.fill(TEXTS))
    assert [warning.reason for warning in summary.warnings] == ["the vectors are those of counting-4: they are reused"]
    assert len(embedder.texts) == 16
    page = records.changes.page(KNOWLEDGE, 0, 100, embedder.model)
    vectors = dict(zip(page.ids, page.vectors, strict=True))
    for number, payload in TEXTS.items():
        assert np.allclose(vectors[str(number)], embedder.embed_query(payload["text"]), atol=1e-5)


@pytest.mark.parametrize("dim", [4, 6])
def test_other_model_unread(qdrant: Qdrant, take: Run, embedder: CountingEmbedder, dim: int) -> None:
    class Reversed(CountingEmbedder):
        def embed_query(self, text: str, wanted: Any = None) -> Any:
            return -super().embed_query(text)

    texts = {number: {"text": f"Text {number}"} for number in range(300)}
    summary = take(qdrant.fill(texts, Reversed(dim=dim)))
    told = "the vectors are not those of the model in use: they are recomputed"
    assert [warning.reason for warning in summary.warnings] == [told]
    assert [body["with_vector"] for body in qdrant.asked] == [True, False]
    assert set(embedder.texts) >= {payload["text"] for payload in texts.values()}


def test_vectors_need_a_model(qdrant: Qdrant, take: Run) -> None:
    summary = take(qdrant.fill(TEXTS), model=None)
    assert (summary.new, summary.warnings) == (40, ())
    assert [body["with_vector"] for body in qdrant.asked] == [False]


def test_an_unknown_collection_is_refused_with_the_known_names(qdrant: Qdrant, embedder: CountingEmbedder) -> None:
    qdrant.fill({1: {"text": "One."}})
    with (
        pytest.raises(ConfigurationError, match="no collection of this name; there are notes"),
        open_collection(qdrant.address("nothing"), embedder, 5),
    ):
        pass


@pytest.mark.long("reads many pages from a server")
@pytest.mark.parametrize(
    ("status", "content", "reason"),
    [
        (200, b'{"result": {"points": [{"payload": {}}]}}', r"the answer has no points"),
        (200, b'{"result": {"points": [], "next_page_offset": 256}}', r"a page leads to itself"),
        (404, b"{}", r"the collection is gone"),
    ],
)
def test_a_failure_midway_keeps_what_was_read_and_the_next_run_finishes(
    qdrant: Qdrant, take: Run, records: Records, status: int, content: bytes, reason: str
) -> None:
    address = qdrant.fill({number: {"text": f"Text {number}"} for number in range(300)})
    qdrant.broken[2] = status, content
    with pytest.raises(ComponentFailed, match=rf"collection: {address} cannot be read \({reason}"):
        take(address, prune=True)
    assert 0 < len(stored(records, Kind.CHUNK)) < 300
    summary = take(address)
    assert summary.new + summary.unchanged == 300


def test_the_key_comes_from_the_environment_and_is_in_no_message(
    qdrant: Qdrant, take: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = qdrant.fill({1: {"text": "One."}})
    qdrant.key = KEY
    monkeypatch.setenv("CSTP_QDRANT_API_KEY", KEY[::-1])
    with pytest.raises(ComponentFailed, match="it wants a key, or another one, in CSTP_QDRANT_API_KEY") as refused:
        take(address)
    assert KEY[::-1] not in str(refused.value)
    monkeypatch.setenv("CSTP_QDRANT_API_KEY", KEY)
    assert take(address).new == 1


def test_the_digest_changes_with_a_payload_alone(qdrant: Qdrant, embedder: CountingEmbedder) -> None:
    def digest(address: str) -> bytes:
        with open_collection(address, embedder, 5) as collection:
            assert collection.count() == 2
            return collection.digest()

    address = qdrant.fill({1: {"text": "One."}, 2: {"text": "Two."}})
    first = digest(address)
    assert digest(address) == first
    qdrant.fill({2: {"text": "Changed."}})
    assert digest(address) != first
