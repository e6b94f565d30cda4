"""Conversations, sources, and single memory records."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.serving import Serving
from tests.ui.visits import Visits, go, put, shown

BEGIN = datetime(2026, 8, 1, 9, tzinfo=UTC)
LONG = "ferry/talk & more"  # a name to be quoted in addresses


def _talk(serving: Serving, folder: Path, turns: int) -> None:
    """Store a conversation of this many turns, a minute apart."""
    said = []
    for at in range(turns):
        content = f"Turn {at:03} of the ferry" + (", with a lighthouse" if at == 60 else "")
        turn = {"kind": "turn", "content": content, "conversationId": LONG, "turnIndex": at}
        turn |= {"role": ("user", "assistant")[at % 2], "ts": (BEGIN + timedelta(minutes=at)).isoformat()}
        said.append(turn)
    put(serving, folder, said)


def _numbers(page: Page) -> list[int]:
    return [int(text.removeprefix("#")) for text in page.locator(".turn .meta a:first-of-type").all_inner_texts()]


def test_a_long_conversation_has_no_gap(library: Serving, visits: Visits, tmp_path: Path) -> None:
    _talk(library, tmp_path, 180)
    page = visits.signed_in(library, "conversations?q=lighthouse")
    page.get_by_role("heading", name=LONG).get_by_role("link").first.click()
    shown(page)
    marked = page.locator(".turn.marked")
    expect(marked).to_contain_text("Turn 060")
    expect(marked).to_be_in_viewport()
    expect(marked.locator("mark")).to_have_text("lighthouse")
    for name in ("newer", "older"):
        while page.get_by_role("button", name=f"{name} turn").count():
            before = len(_numbers(page))
            page.get_by_role("button", name=f"{name} turn").click()
            page.wait_for_function("before => document.querySelectorAll('.turn').length > before", arg=before)
    assert _numbers(page) == list(range(180))
    expect(page.locator(".page-head")).to_contain_text("180 of 180 turns")


def test_conversations_are_listed_once(library: Serving, visits: Visits, tmp_path: Path) -> None:
    _talk(library, tmp_path, 180)
    page = visits.signed_in(library, "conversations")
    older = page.get_by_role("button", name="Older conversations")
    while older.count():
        older.click()
        page.wait_for_function("() => !document.querySelector('.more button[disabled]')")
    names = page.locator(".results h2").all_inner_texts()
    assert {"slow-filters", LONG} <= set(names)
    assert len(set(names)) == len(names)


def test_a_search_in_a_conversation_leads_to_its_turns(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "conversation/slow-filters")
    page.get_by_label("Search in it").fill("deployed on staging")
    page.locator(".matches a").first.click()
    expect(page.locator(".turn.marked")).to_contain_text("Deployed on staging")
    assert "turn=art_" in page.url
    assert "q=deployed" in page.url


def test_knowledge_is_found_by_topic_source_and_words(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "knowledge")
    page.get_by_role("group", name="Topics").get_by_role("button", name="isolation").click()
    expect(page.get_by_role("link", name="One mask for filters and rights")).to_be_visible()
    expect(page.get_by_role("link", name="A pool for each part")).to_have_count(0)
    page.get_by_role("link", name="Running a decision server: notes").first.click()
    shown(page)
    expect(page.get_by_role("list", name="Passages of the source").get_by_role("listitem")).to_have_count(6)
    page.get_by_label("Search what was read").fill("restored backup")
    expect(page.get_by_role("list", name="What was found").get_by_role("listitem").first).to_contain_text("backup")
    assert "q=restored" in page.url


def test_an_extraction_of_each_type_is_found_by_its_id(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "extraction/ext_mark-after-closing")
    for id, text in {
        "ext_mark-after-closing": "After the index was closed in order",
        "ext_try-the-restore": "Steps",
        "ext_before-a-release": "Items",
        "ext_operator": "Keeps the restore tried",
        "ext_a-part-is-down": "Trigger",
    }.items():
        go(page, f"extraction/{id}")
        expect(page.locator("main .extracted"), id).to_contain_text(text)
    go(page, "extraction/ext_never-was")
    expect(page.locator("main")).to_contain_text("cstp show ext_never-was")


def test_the_source_words_of_events_are_marked_in_their_text(library: Serving, visits: Visits) -> None:
    content = "A ship 🚢 came. We decided to move the lights 🔦. Who pays the paint?"
    quote = "We decided to move the lights 🔦."
    start = content.index(quote)
    evidence = [{"quote": quote, "startChar": start, "endChar": start + len(quote)}]
    event = {"category": "Decision", "narrative": "The lights move.", "evidence": evidence}
    made = library.ask("remember", content=content, title="Lights", context="meeting", events=[event])["id"]
    library.caught_up()
    page = visits.signed_in(library, f"memory/{made}")
    expect(page.locator("mark.evidence")).to_have_text(quote)
    page.get_by_role("button", name="Show the words").click()
    expect(page.locator("mark.evidence")).to_be_focused()
    page.get_by_role("link", name="The lights move.").click()
    shown(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Decision")
    expect(page.locator("mark.evidence")).to_have_text(quote)


def test_a_superseded_memory_names_its_successor(library: Serving, visits: Visits) -> None:
    old = library.ask("remember", content="The lamp is oil.", title="Lamp")["id"]
    new = library.ask("remember", content="The lamp is electric.", title="New lamp", supersedes=[old])["id"]
    library.caught_up()
    page = visits.signed_in(library, f"memory/{old}")
    expect(page.get_by_role("note")).to_have_text(f"Superseded by {new}.")
    page.get_by_role("note").get_by_role("link").click()
    shown(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("New lamp")
    expect(page.get_by_role("note")).to_have_count(0)


def test_a_missing_record_is_reported_in_place(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "memory/art_never-was")
    for address in ("memory/art_never-was", "passage/chk_never-was", "episode/404"):
        go(page, address)
        expect(page.get_by_role("alert"), address).to_contain_text("There is no record")
    go(page, "episode/none")
    expect(page.locator("main")).to_contain_text("a whole number")
