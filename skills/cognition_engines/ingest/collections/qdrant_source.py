"""A collection of a Qdrant server, read by its REST interface: pages of points, from the lowest id on."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from urllib.parse import quote

from cognition_engines.drafts.plain_values import Value
from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import ConfigurationError
from cognition_engines.ingest.collections.addresses import http_place
from cognition_engines.ingest.collections.http_json import JsonApi, NotThere
from cognition_engines.ingest.collections.live_source import LiveObject, LiveSource, Wanted
from cognition_engines.ingest.foreign.qdrant import point_members
from cognition_engines.ingest.maps.field_map import FieldMap, at

KEY: Final = "CSTP_QDRANT_API_KEY"
_PAGE: Final = 256  # points a request


class _Points:
    """The points of one collection."""

    def __init__(self, api: JsonApi, name: str) -> None:
        self._api = api
        self._path = f"/collections/{quote(name, safe='')}"

    def pages(self, vectors: Wanted) -> Iterator[Sequence[LiveObject]]:
        offset: Value = None
        while True:
            body: dict[str, Value] = {"limit": _PAGE, "with_payload": True, "with_vector": vectors()}
            if offset is not None:
                body["offset"] = offset
            answer = self._call("POST", "/points/scroll", body)
            points, following = at(answer, "result.points"), at(answer, "result.next_page_offset")
            if not _are_points(points) and at(answer, "result") != {"points": [], "next_page_offset": None}:
                raise self._api.failed("the answer has no points")
            yield [_object(point) for point in points] if isinstance(points, list) else ()
            if following is None:
                return
            if following == offset:
                raise self._api.failed("a page leads to itself")
            offset = following

    def count(self) -> int:
        found = at(self._call("POST", "/points/count", {"exact": True}), "result.count")
        if not isinstance(found, int):
            raise self._api.failed("the answer has no count")
        return found

    def _call(self, verb: str, path: str, body: Mapping[str, Value]) -> dict[str, Value]:
        try:
            return self._api.call(verb, self._path + path, body)
        except NotThere:
            raise self._api.failed("the collection is gone") from None


def _are_points(value: Value) -> bool:
    return isinstance(value, list) and all(
        isinstance(point, dict) and isinstance(point.get("id"), int | str) for point in value
    )


def _object(point: Value) -> LiveObject:
    assert isinstance(point, dict)
    members = point_members({name: member for name, member in point.items() if name != "vector"})
    return LiveObject(members, str(point["id"]), _dense(point.get("vector")))


def _dense(vector: Value) -> Value:
    """The vector of a point; of several with names the only one that is a list of numbers."""
    if not isinstance(vector, dict):
        return vector
    lists = [one for one in vector.values() if isinstance(one, list) and not isinstance(one[:1], dict)]
    return lists[0] if len(lists) == 1 else None


def _headers(variables: Mapping[str, str]) -> dict[str, str]:
    return {"api-key": variables[KEY]} if variables.get(KEY) else {}


@contextmanager
def opened(
    address: str,
    embedder: Embedder | None,
    deadline_seconds: float,
    map: FieldMap,
    variables: Mapping[str, str] = os.environ,
) -> Iterator[LiveSource]:
    """The collection at an address. `variables` may have the key of the server.

    Raises ConfigurationError when there is none of that name, with the names there are; ComponentFailed when the
    server does not answer.
    """
    place = http_place(address, "qdrant")
    with JsonApi(address, place.base, _headers(variables), KEY, deadline_seconds) as api:
        try:
            api.call("GET", f"/collections/{quote(place.parts[0], safe='')}")
        except NotThere:
            raise ConfigurationError(f"{address}: no collection of this name; {_there(api)}") from None
        yield LiveSource(address, _Points(api, place.parts[0]), map, embedder, has_vectors=True)


def _there(api: JsonApi) -> str:
    try:
        names = at(api.call("GET", "/collections"), "result.collections.name")
    except NotThere:
        return "the server is none of Qdrant"
    known = sorted(name for name in names if isinstance(name, str)) if isinstance(names, list) else []
    return f"there are {', '.join(known)}" if known else "there are none"
