"""Calls of other systems' HTTP interfaces that answer in JSON."""

from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Final
from urllib.parse import urlsplit

import httpx

from cognition_engines.drafts.plain_values import MalformedText, Value
from cognition_engines.errors import ComponentFailed
from cognition_engines.ingest.parse.json_values import parse_json

COMPONENT: Final = "collection"
_HERE: Final = ("localhost", "127.0.0.1", "::1")
_LARGEST: Final = 64 * 2**20  # bytes of an answer
_NONE: Final[Mapping[str, str]] = {}


class NotThere(Exception):
    """The server says that it has no such thing."""


class JsonApi:
    """One server, for the collection at `address`, which failures name. No redirect is followed, and a proxy of the
    environment is for other machines than this one.

    `key` names the setting of the environment that `headers` have a secret from.
    """

    def __init__(self, address: str, base: str, headers: Mapping[str, str], key: str, deadline_seconds: float) -> None:
        self._address = address
        self._key = key
        far = urlsplit(base).hostname not in _HERE
        self._http = httpx.Client(base_url=base, headers=dict(headers), timeout=deadline_seconds, trust_env=far)

    def __enter__(self) -> "JsonApi":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def call(
        self, verb: str, path: str, body: Mapping[str, Value] | None = None, query: Mapping[str, str] = _NONE
    ) -> dict[str, Value]:
        """The object that the server answers. Raises NotThere, and ComponentFailed for any other failure."""
        try:
            with self._http.stream(verb, path, json=body, params=dict(query)) as response:
                content = self._content(response)
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
        """The failure to read the collection."""
        return ComponentFailed(COMPONENT, f"{self._address} cannot be read ({detail})")

    def _content(self, response: httpx.Response) -> bytes:
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if len(content) > _LARGEST:
                raise self.failed(f"the answer has more than {_LARGEST // 2**20} MiB")
        return bytes(content)
