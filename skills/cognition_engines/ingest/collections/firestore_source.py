"""A collection of Firestore or of its emulator, read by the REST interface: pages of documents by their names."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from urllib.parse import quote

from cognition_engines.embedding.base import Embedder
from cognition_engines.ingest.collections.addresses import http_place
from cognition_engines.ingest.collections.http_json import JsonApi, NotThere
from cognition_engines.ingest.collections.live_source import LiveObject, LiveSource, Wanted
from cognition_engines.ingest.foreign.firestore import DOCUMENT_ID, is_typed_document, typed_members
from cognition_engines.ingest.maps.field_map import FieldMap

KEY: Final = "CSTP_FIRESTORE_TOKEN"
_PAGE: Final = 300  # documents a request
_OWNER: Final = "owner"  # the token for which the emulator does not ask its rules


class _Documents:
    """The documents of one collection."""

    def __init__(self, api: JsonApi, parts: Sequence[str]) -> None:
        project, *path = (quote(part, safe="") for part in parts)
        self._api = api
        self._path = f"/v1/projects/{project}/databases/(default)/documents/{'/'.join(path)}"

    def pages(self, vectors: Wanted) -> Iterator[Sequence[LiveObject]]:
        return self._pages({})

    def count(self) -> int:
        return sum(len(page) for page in self._pages({"mask.fieldPaths": "__name__"}))

    def _pages(self, query: Mapping[str, str]) -> Iterator[Sequence[LiveObject]]:
        token = ""
        while True:
            asked = {"pageSize": str(_PAGE), **query} | ({"pageToken": token} if token else {})
            try:
                answer = self._api.call("GET", self._path, query=asked)
            except NotThere:
                raise self._api.failed("there is no such project or database") from None
            documents, following = answer.get("documents", []), answer.get("nextPageToken", "")
            if not isinstance(documents, list) or not all(map(is_typed_document, documents)):
                raise self._api.failed("the answer has no documents")
            members = [typed_members(document) for document in documents if isinstance(document, dict)]
            yield [LiveObject(one, str(one[DOCUMENT_ID])) for one in members]
            if not following:
                return
            if following == token or not isinstance(following, str):
                raise self._api.failed("a page leads to itself")
            token = following


@contextmanager
def opened(
    address: str,
    embedder: Embedder | None,
    deadline_seconds: float,
    map: FieldMap,
    variables: Mapping[str, str] = os.environ,
) -> Iterator[LiveSource]:
    """The collection at an address; one that is not there has no documents. `variables` may have the token.

    Without one a server without TLS is taken for the emulator. Raises ComponentFailed when it does not answer.
    """
    place = http_place(address, "firestore")
    token = variables.get(KEY) or (_OWNER if place.base.startswith("http://") else "")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with JsonApi(address, place.base, headers, KEY, deadline_seconds) as api:
        yield LiveSource(address, _Documents(api, place.parts), map, embedder)
