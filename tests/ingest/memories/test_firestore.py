"""Collections of Firestore, with answers as its REST interface and its emulator give them."""

from typing import Any

import httpx
import pytest
import respx

from cognition_engines.errors import ComponentFailed
from cognition_engines.ingest.collections.addresses import checked_address
from cognition_engines.ingest.collections.open_collection import open_collection
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.conftest import CountingEmbedder
from tests.ingest.runs import Run, counts, stored

EMULATOR = "firestore:http://127.0.0.1:8080/harbour/notes"
REAL = "firestore:https://firestore.googleapis.com/harbour/users/ana/notes"
ROOT = "/v1/projects/harbour/databases/(default)/documents"
TOKEN = "a-token-that-nothing-shows"


def document(id: str, text: str, path: str = "notes") -> dict[str, Any]:
    return {
        "name": f"projects/harbour/databases/(default)/documents/{path}/{id}",
        "fields": {"text": {"stringValue": text}, "depth": {"integerValue": "4"}},
        "createTime": "2025-01-02T03:04:05.123456Z",
        "updateTime": "2025-01-02T03:04:05.123456Z",
    }


def pages(*answers: httpx.Response) -> respx.Route:
    return respx.get(host="127.0.0.1", path=f"{ROOT}/notes").mock(side_effect=answers)


@respx.mock
def test_documents_arrive_page_by_page(take: Run, records: Records) -> None:
    route = pages(
        httpx.Response(200, json={"documents": [document("n1", "One.")], "nextPageToken": "after-n1"}),
        httpx.Response(200, json={"documents": [document("n2", "Two.")]}),
    )
    assert (summary := take(EMULATOR)).rejected == ()
    assert summary.kinds == {"artifact": 2}
    assert [(one.id, one.content) for one in stored(records, Kind.ARTIFACT)] == [("art_n1", "One."), ("art_n2", "Two.")]
    asked = [dict(call.request.url.params) for call in route.calls]
    assert asked == [{"pageSize": "300"}, {"pageSize": "300", "pageToken": "after-n1"}]
    assert route.calls[0].request.headers["Authorization"] == "Bearer owner"  # of the emulator


@respx.mock
def test_a_nested_collection_needs_a_token(take: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_FIRESTORE_TOKEN", TOKEN)
    answer = httpx.Response(200, json={"documents": [document("n1", "One.", "users/ana/notes")]})
    route = respx.get(f"https://firestore.googleapis.com{ROOT}/users/ana/notes").mock(return_value=answer)
    assert take(REAL).new == 1
    assert route.calls[0].request.headers["Authorization"] == f"Bearer {TOKEN}"


@respx.mock
def test_a_second_run_changes_nothing_and_prunes_deleted_documents(take: Run) -> None:
    both = {"documents": [document("n1", "One."), document("n2", "Two.")]}
    one = {"documents": [document("n1", "One.")]}
    pages(*(httpx.Response(200, json=answer) for answer in (both, both, one, one, {})))
    assert counts(take(EMULATOR)) == (2, 0, 0, 0)
    assert counts(take(EMULATOR)) == (0, 0, 2, 0)
    assert counts(take(EMULATOR, prune=True, sure=True, dry_run=True)) == (0, 0, 1, 1)
    assert counts(take(EMULATOR, prune=True, sure=True)) == (0, 0, 1, 1)
    assert counts(take(EMULATOR, prune=True, sure=True)) == (0, 0, 0, 1)


@respx.mock
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            httpx.Response(403, json={"error": {"message": TOKEN}}),
            "HTTP 403: it wants a key, or another one, in CSTP_FIRE",
        ),
        (httpx.Response(429), "HTTP 429: it wants fewer calls"),
        (httpx.Response(503), r"HTTP 503\)"),
        (httpx.Response(302, headers={"Location": "http://127.0.0.1:1/"}), "HTTP 302"),
        (httpx.Response(404), "there is no such project or database"),
        (httpx.Response(200, text="{"), "the answer is not JSON"),
        (httpx.Response(200, json=[]), "the answer is no object"),
        (httpx.Response(200, json={"documents": [{"name": "x"}]}), "the answer has no documents"),
        (httpx.Response(200, json={"documents": [], "nextPageToken": "again"}), "a page leads to itself"),
        (httpx.ConnectError("refused"), "ConnectError; check that it is up"),
        (httpx.ReadTimeout("slow"), "ReadTimeout; check that it is up"),
    ],
)
def test_a_failure_midway_names_the_collection_and_keeps_what_was_read(
    take: Run, records: Records, answer: httpx.Response | Exception, reason: str
) -> None:
    documents = [document(f"n{number}", f"Text {number}.") for number in range(200)]
    first = httpx.Response(200, json={"documents": documents, "nextPageToken": "again"})
    pages(first, answer)
    with pytest.raises(ComponentFailed, match=rf"collection: {EMULATOR} cannot be read \({reason}") as failed:
        take(EMULATOR, prune=True)
    assert TOKEN not in str(failed.value)
    assert 0 < len(stored(records, Kind.ARTIFACT)) <= 200


@respx.mock
def test_a_document_unfit_for_a_record_is_refused_by_its_id(take: Run) -> None:
    bare = document("bare", "x") | {"fields": {}}
    binary = document("blob", "One.")
    binary["fields"]["data"] = {"bytesValue": "AA=="}
    pages(httpx.Response(200, json={"documents": [bare, binary, document("n1", "One.")]}))
    summary = take(EMULATOR)
    assert [(problem.file, problem.reason) for problem in summary.rejected] == [
        (EMULATOR, "'bare': no entry of the map firestore fits this object: see `cstp map --suggest`"),
        (EMULATOR, "'blob': 'data': binary data is not read: a map can drop it"),
    ]
    assert summary.new == 1


@respx.mock
def test_the_documents_are_counted_without_their_fields(embedder: CountingEmbedder) -> None:
    route = pages(httpx.Response(200, json={"documents": [document("n1", "One."), document("n2", "Two.")]}))
    with open_collection(checked_address(EMULATOR), embedder, 5) as collection:
        assert collection.count() == 2
    assert route.calls[0].request.url.params["mask.fieldPaths"] == "__name__"
