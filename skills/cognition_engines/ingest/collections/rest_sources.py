"""Collections of Qdrant and of Firestore or the Firestore emulator, read by REST interfaces, page by page."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, urlsplit

import httpx

from cognition_engines.drafts.plain_values import MalformedText, Value
from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import ComponentFailed
from cognition_engines.ingest.collections.addresses import http_place
from cognition_engines.ingest.collections.open_collection import (
    LiveObject,
    LiveSource,
    Wanted,
    named_there,
    unknown_collection,
    unreadable,
)
from cognition_engines.ingest.foreign.typed_values import DOCUMENT_ID, is_typed_document, point_members, typed_members
from cognition_engines.ingest.maps.field_map import FieldMap, at
from cognition_engines.ingest.parse.json_values import parse_json

QDRANT_KEY: Final = "CSTP_QDRANT_API_KEY"
FIRESTORE_KEY: Final = "CSTP_FIRESTORE_TOKEN"
_HERE: Final = ("localhost", "127.0.0.1", "::1")
_LARGEST: Final = 64 * 2**20  # bytes of an answer
_POINTS: Final = 256  # a request
_DOCUMENTS: Final = 300  # a request
_OWNER: Final = "owner"  # the token that bypasses the emulator's rules


class NotThere(Exception):
    """The server's answer for a missing thing."""


class _JsonApi:
    """A server, for the collection at `address`, named in failures.

    `key` names the environment setting with the server's secret.
    """

    def __init__(self, address: str, key: str, http: httpx.Client) -> None:
        self._address = address
        self._key = key
        self._http = http

    def call(
        self, verb: str, path: str, body: Mapping[str, Value] | None = None, query: Mapping[str, str] | None = None
    ) -> dict[str, Value]:
        """Return the server's answer, an object. Raise NotThere, and ComponentFailed for any other failure."""
        try:
            with self._http.stream(verb, path, json=body, params=query) as response:
                content = self._read_body(response)
                status = response.status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self.failed(f"{type(error).__name__}; check that it is up") from error
        if status == HTTPStatus.NOT_FOUND:
            raise NotThere
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise self.failed(f"HTTP {status}: it wants a key, or another one, in {self._key}")
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            raise self.failed(f"HTTP {status}: it wants fewer calls; run it again later")
        if status != HTTPStatus.OK:
            raise self.failed(f"HTTP {status}")
        try:
            value = parse_json(content.decode()).value
        except (MalformedText, UnicodeDecodeError) as error:
            raise self.failed("the answer is not JSON") from error
        if not isinstance(value, dict):
            raise self.failed("the answer is no object")
        return value

    def failed(self, detail: str) -> ComponentFailed:
        """Return the failure to read the collection."""
        return unreadable(self._address, detail)

    def _read_body(self, response: httpx.Response) -> bytes:
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if len(content) > _LARGEST:
                raise self.failed(f"the answer has more than {_LARGEST // 2**20} MiB")
        return bytes(content)


@contextmanager
def _connected(address: str, base: str, key: str, headers: Mapping[str, str], seconds: float) -> Iterator[_JsonApi]:
    """Give a server's interface. Redirects are not followed; an environment proxy is used for other machines only."""
    far = urlsplit(base).hostname not in _HERE
    with httpx.Client(base_url=base, headers=dict(headers), timeout=seconds, trust_env=far) as http:
        yield _JsonApi(address, key, http)


class _Points:
    """The points of a Qdrant collection, from the lowest id on."""

    def __init__(self, api: _JsonApi, path: str) -> None:
        self._api = api
        self._path = path

    def pages(self, vectors: Wanted) -> Iterator[Sequence[LiveObject]]:
        offset: Value = None
        while True:
            body: dict[str, Value] = {"limit": _POINTS, "with_payload": True, "with_vector": vectors()}
            if offset is not None:
                body["offset"] = offset
            answer = self._call("/points/scroll", body)
            points, following = at(answer, "result.points"), at(answer, "result.next_page_offset")
            if not _are_points(points) and at(answer, "result") != {"points": [], "next_page_offset": None}:
                raise self._api.failed("the answer has no points")
            yield [_point_object(point) for point in points] if isinstance(points, list) else ()
            if following is None:
                return
            if following == offset:
                raise self._api.failed("a page leads to itself")
            offset = following

    def count(self) -> int:
        found = at(self._call("/points/count", {"exact": True}), "result.count")
        if not isinstance(found, int):
            raise self._api.failed("the answer has no count")
        return found

    def _call(self, path: str, body: Mapping[str, Value]) -> dict[str, Value]:
        try:
            return self._api.call("POST", self._path + path, body)
        except NotThere:
            raise self._api.failed("the collection is gone") from None


def _are_points(value: Value) -> bool:
    return isinstance(value, list) and all(
        isinstance(point, dict) and isinstance(point.get("id"), int | str) for point in value
    )


def _point_object(point: Value) -> LiveObject:
    assert isinstance(point, dict)
    members = point_members({name: member for name, member in point.items() if name != "vector"})
    return LiveObject(members, str(point["id"]), _dense(point.get("vector")))


def _dense(vector: Value) -> Value:
    """Return a point's vector; of several named vectors the only list of numbers."""
    if not isinstance(vector, dict):
        return vector
    lists = [one for one in vector.values() if isinstance(one, list) and not isinstance(one[:1], dict)]
    return lists[0] if len(lists) == 1 else None


@contextmanager
def open_qdrant(
    address: str, embedder: Embedder | None, deadline_seconds: float, map: FieldMap
) -> Iterator[LiveSource]:
    """Return the collection at an address.

    Raise ConfigurationError, naming the existing collections, for an unknown name; ComponentFailed if the server does
    not answer.
    """
    place, secret = http_place(address, "qdrant"), os.environ.get(QDRANT_KEY)
    headers = {"api-key": secret} if secret else {}
    path = f"/collections/{quote(place.parts[0], safe='')}"
    with _connected(address, place.base, QDRANT_KEY, headers, deadline_seconds) as api:
        try:
            api.call("GET", path)
        except NotThere:
            raise unknown_collection(address, _names_of(api)) from None
        yield LiveSource(address, _Points(api, path), map, embedder, has_vectors=True)


def _names_of(api: _JsonApi) -> str:
    try:
        names = at(api.call("GET", "/collections"), "result.collections.name")
    except NotThere:
        return "the server is none of Qdrant"
    return named_there([name for name in names if isinstance(name, str)] if isinstance(names, list) else [])


class _Documents:
    """The documents of a Firestore collection, by name."""

    def __init__(self, api: _JsonApi, parts: Sequence[str]) -> None:
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
            asked = {"pageSize": str(_DOCUMENTS), **query} | ({"pageToken": token} if token else {})
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
def open_firestore(
    address: str, embedder: Embedder | None, deadline_seconds: float, map: FieldMap
) -> Iterator[LiveSource]:
    """Return the collection at an address; a missing collection has no documents.

    Without a token a server without TLS is treated as the emulator. Raise ComponentFailed if it does not answer.
    """
    place = http_place(address, "firestore")
    token = os.environ.get(FIRESTORE_KEY) or (_OWNER if place.base.startswith("http://") else "")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with _connected(address, place.base, FIRESTORE_KEY, headers, deadline_seconds) as api:
        yield LiveSource(address, _Documents(api, place.parts), map, embedder)
