"""Record texts that would be scripts in markup, in every field of every kind: the page shows text."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from cstp_server.tokens import create_token
from tests.serving import Serving, start
from tests.stores import Stores
from tests.ui.payloads import PAYLOADS
from tests.ui.visits import Visits, go, put

# elements made by markup in payloads; the page itself makes none of them in records
_FOREIGN = (
    "img, svg:not([aria-hidden]):not([role=img]), math, iframe, object, embed, video, audio, style, link, base, "
    "meta, marquee, template, "
    "script, layer, xss, custom-element, form[action], [onerror], [onload], [onfocus], [onclick], [onmouseover], "
    "a[href^='javascript' i], a[href^='data:' i], a[href^='vbscript' i], #cstp"
)


def _line(text: str) -> str:
    """Return the text for a single-line field."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def _records(number: int, text: str) -> Iterator[Mapping[str, Any]]:
    """Yield a record of each kind with the text in every possible field."""
    line = _line(text)
    short = line[:100]
    after, last = (PAYLOADS[(number + step) % len(PAYLOADS)] for step in (1, 2))
    fields: dict[str, Any] = {"kind": "decision", "id": f"dec_x{number}", "title": line, "text": text}
    fields |= {"category": line[:60], "tags": [short], "context": after}
    fields |= {"reasons": [{"type": "analysis", "text": last}]}
    yield fields | {"status": "accepted"}
    fields = {"kind": "source", "id": f"src_x{number}", "title": line, "authors": [line]}
    yield fields | {"category": line, "tags": [short]}
    fields = {"kind": "chunk", "id": f"chk_x{number}", "source_id": f"src_x{number}", "title": line, "author": line}
    fields |= {"content": text, "tags": [short], "cluster_ids": [f"clu_x{number}"], "place": {"section": line}}
    card = {"summary": text, "takeaways": [line, f"{line} 2", f"{line} 3"]}
    fields |= {"knowledge_card": card | {"tags": [f"{end}{line[:98]}" for end in ("", "2", "3")]}}
    yield fields | {"source_url": f"javascript:{line}", "readwise_url": line, "highlight_url": line}
    yield {"kind": "cluster", "id": f"clu_x{number}", "name": line, "description": text}
    contents: Mapping[str, Mapping[str, Any]] = {
        "pattern": {"name": line, "problem": text, "solution": text, "code_example": text, "context": text},
        "warning": {"title": line, "description": text, "symptoms": [line], "prevention": text},
        "decision": {"question": text, "options": [line], "considerations": [line], "recommended_approach": text},
    }
    for kind, content in contents.items():
        fields = {"kind": "extraction", "type": kind, "id": f"ext_{kind}{number}", "topics": [short]}
        yield fields | {"source_title": line, "content": content}
    fields = {"kind": "episode", "id": 1000 + number, "query": text, "reward": 0.5, "reflection": text}
    yield fields | {"tags": [short], "category": short, "created_at": "2026-01-01T00:00:00Z"}
    yield {"kind": "entity", "id": f"ent_x{number}", "name": line, "type": "person", "aliases": [short], "role": line}
    fields = {"kind": "artifact", "id": f"art_x{number}", "context": "meeting", "title": line, "author": line}
    fields |= {"participants": [f"ent_x{number}"], "source_system": line, "content": text, "source_url": line}
    yield fields | {"ts": "2026-01-01T00:00:00Z"}
    fields = {"kind": "event", "id": f"evt_x{number}", "artifact_id": f"art_x{number}", "category": "Decision"}
    fields |= {"narrative": text, "actors": [{"ref": f"ent_x{number}"}], "subject": line, "evidence": [{"quote": text}]}
    yield fields | {"event_time": "2026-01-01T00:00:00Z"}
    fields = {"kind": "turn", "id": f"art_t{number}", "conversation_id": "payloads", "turn_index": number}
    fields |= {"content": text, "role": "user", "speaker": line, "session": line}
    yield fields | {"ts": "2026-01-02T00:00:00Z"}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[Serving]:
    """Start a server with only such texts."""
    folder = tmp_path_factory.mktemp("hostile")
    serving, stop = start(folder / "data", lasting_stores, None, None)
    put(serving, folder, [record for number, text in enumerate(PAYLOADS) for record in _records(number, text)])
    yield serving
    stop()


def _unharmed(page: Page, place: str) -> None:
    found = page.evaluate(
        "selector => [window.pwned, ...[...document.body.querySelectorAll(selector)].map(one => one.outerHTML)]",
        _FOREIGN,
    )
    assert found == [None], place


def test_the_corpus_has_a_hundred_payloads_and_more() -> None:
    assert len(set(PAYLOADS)) >= 100


# a single function makes Markdown for all pages: every third text is on a decision's page, every tenth on each other
@pytest.mark.parametrize(
    ("address", "numbers"),
    [
        ("decision/dec_x{}", range(0, len(PAYLOADS), 3)),
        ("passage/chk_x{}", range(0, len(PAYLOADS), 10)),
        ("episode/{}", range(1001, 1000 + len(PAYLOADS), 10)),
        ("memory/art_x{}", range(2, len(PAYLOADS), 10)),
        ("memory/art_t{}", range(3, len(PAYLOADS), 10)),
    ],
    ids=["decision", "passage", "episode", "memory", "turn"],
)
def test_a_record_page_shows_text_alone(hostile: Serving, visits: Visits, address: str, numbers: Sequence[int]) -> None:
    page = visits.signed_in(hostile, "decisions")
    for number in numbers:
        text = PAYLOADS[number % 1000]
        go(page, address.format(number))
        assert page.locator("main .failure").count() == 0, text
        _unharmed(page, f"{address}: {text}")
        if address.startswith("decision"):
            assert page.locator("h1").inner_text() == _line(text)


LISTS = (
    "decisions?columns=category,tags,project,recordedBy",
    *(f"search?q={word}&why=1" for word in ("window", "pwned", "onerror", "javascript", "img")),
    *("knowledge", "knowledge?what=warnings", "knowledge?what=decisions", "timeline?from=2026-01-01&to=2026-01-03"),
    *("conversations", "conversation/payloads", "conversation/payloads?q=window+onerror", "activity", "server"),
    *("graph/art_x1", "graph/art_x40", "graph/art_x90"),
)


def test_a_list_of_them_shows_text_alone(hostile: Serving, visits: Visits) -> None:
    page = visits.signed_in(hostile, "decisions")
    for address in LISTS:
        go(page, address)
        _unharmed(page, address)


def test_text_in_the_address_is_shown_as_text_alone(hostile: Serving, visits: Visits) -> None:
    page = visits.signed_in(hostile, "decisions")
    addresses = ("search?q=", "decision/", "knowledge?topic=", "decisions?category=", "memory/")
    for number, payload in enumerate(PAYLOADS):
        address = addresses[number % len(addresses)] + quote(payload, safe="")
        go(page, address)
        _unharmed(page, address)


def test_a_name_of_a_payload_as_an_agent_shows_text_alone(hostile: Serving, visits: Visits) -> None:
    for payload in PAYLOADS[:8]:
        from_agent = _line(payload)[:120]
        token = hostile_token(hostile, from_agent)
        hostile.ask("recordDecision", token=token, decision=f"By {from_agent}", confidence=0.5)
    hostile.caught_up()
    for address in ("decisions?columns=recordedBy", "activity"):
        page = visits.signed_in(hostile, address)
        _unharmed(page, address)


def hostile_token(serving: Serving, agent: str) -> str:
    """Return a token of an agent with such a name."""
    _, text = create_token(serving.settings.tokens_path, agent, scopes=("read", "write"), lifetime=timedelta(hours=1))
    return text
