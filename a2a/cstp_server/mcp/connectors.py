"""Answers of `search` and `fetch` in the form expected by ChatGPT connectors, in addition to the answers' own members.

Connectors read `results` with `id`, `title` and `url`, and a record's `id`, `title`, `text`, `url` and `metadata`, all
texts but the last. See https://platform.openai.com/docs/mcp.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from cstp.values.reads import title_from
from cstp_server.settings import Settings

CONNECTED: Final = ("search", "fetch")
_PAGES: Final[Mapping[str, str]] = {
    "decision": "decision",
    "chunk": "passage",
    "episode": "episode",
    "extraction": "extraction",
    "artifact": "memory",
    "artifact_chunk": "memory",
    "turn": "memory",
    "event": "memory",
}


def page_of(settings: Settings) -> str | None:
    """Return the URL of the server's page; None if off."""
    return f"{settings.server.public_url or settings.base_url}/ui/" if settings.ui_enabled else None


def for_connectors(tool: str, found: Mapping[str, Any], page: str | None) -> dict[str, Any]:
    """Return an answer of CONNECTED; ids and titles in `search` become texts, and records get a `url`, their page."""
    if tool == "fetch":
        return {**found, **_url(page, found["kind"], found["id"])}
    return {**found, "results": [_result(one, page) for one in found["results"]]}


def _result(found: Mapping[str, Any], page: str | None) -> dict[str, Any]:
    id = str(found["id"])
    title = found["title"] or title_from(found["snippet"] or "", id)
    return {**found, "id": id, "title": title, **_url(page, found["type"], id)}


def _url(page: str | None, kind: str, id: str) -> dict[str, str]:
    return {"url": f"{page}#/{_PAGES[kind]}/{quote(id, safe='')}"} if page and kind in _PAGES else {}
