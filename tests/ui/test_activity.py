"""Live changes, the audit, and the state of the server."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.serving import Serving
from tests.ui.visits import Visits, go, put


def test_a_change_appears_by_itself_and_not_while_paused(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "activity")
    expect(page.locator(".change").first).to_be_visible()
    library.ask("remember", content="A first live note", context="note")
    expect(page.locator(".change").first).to_contain_text("A first live note")
    page.get_by_role("button", name="Pause").click()
    second = library.ask("remember", content="A second live note", context="note")["id"]
    expect(page.get_by_text("paused", exact=True)).to_be_visible()
    expect(page.locator(".change").first).to_contain_text("A first live note")
    page.get_by_role("button", name="Follow again").click()
    expect(page.locator(".change").first).to_contain_text("A second live note")
    library.ask("forget", id=second, kind="artifact", confirm=True)
    expect(page.locator(".change").first).to_contain_text("gone")
    expect(page.locator(".change").first.get_by_role("link")).to_have_count(0)


def test_a_write_is_seen_before_a_flood_of_passages(library: Serving, visits: Visits, tmp_path: Path) -> None:
    library.ask("recordDecision", decision="Drain the cellar", confidence=0.5)
    chunks = [{"kind": "chunk", "id": f"chk_flood{at}", "content": f"Water {at}"} for at in range(300)]
    put(library, tmp_path, chunks)
    page = visits.signed_in(library, "activity")
    expect(page.locator(".change").first).to_contain_text("Drain the cellar")
    page.get_by_role("combobox", name="Kind").select_option("all")
    expect(page.get_by_role("button", name="more chunks written")).to_be_visible()
    assert page.locator(".change").count() < 20


def test_calls_are_filtered_by_agent_method_and_record(library: Serving, visits: Visits) -> None:
    library.ask("getEpisode", id=2)
    library.ask("getEpisode", id=3)
    page = visits.signed_in(library, "activity?method=cstp.getEpisode")
    rows = page.locator(".calls tbody tr")
    expect(rows.first).to_be_visible()
    assert all("cstp.getEpisode" in text for text in rows.all_inner_texts())
    before = rows.count()
    page.get_by_role("textbox", name="Record").fill("2")
    page.get_by_role("textbox", name="Record").press("Enter")
    expect(page).to_have_url(re.compile(r"id=2"))
    expect(rows).not_to_have_count(before)
    page.get_by_role("button", name="Clear").click()
    expect(rows.filter(has_text="cstp.changes").first).to_be_visible()


def test_one_click_shows_older_calls(library: Serving, visits: Visits) -> None:
    for _ in range(60):
        library.ask("getEpisode", id=2)
    page = visits.signed_in(library, "activity?method=cstp.getEpisode")
    expect(page.locator(".calls tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Older calls").click()
    page.wait_for_function("() => document.querySelectorAll('.calls tbody tr').length > 50")


def test_a_token_without_admin_sees_its_missing_scope(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "activity", library.token(scopes=("read",)))
    expect(page.locator("main")).to_contain_text("--scope read --scope admin")
    go(page, "server")
    expect(page.locator("main")).to_contain_text("Sizes are shown to tokens with the scope admin")


def test_the_server_page_shows_every_part_and_resumes_after_an_outage(library: Serving, visits: Visits) -> None:
    visits.expected.append("ERR_INTERNET_DISCONNECTED")
    page = visits.signed_in(library, "decisions")
    page.clock.install()
    go(page, "server")
    health = page.locator("section", has=page.get_by_role("heading", name="Health"))
    for part in ("records", "keywords", "vectors", "embedder", "limits", "audit"):
        expect(health.get_by_text(part, exact=True)).to_be_visible()
    indexes = page.locator("section", has=page.get_by_role("heading", name="Indexes"))
    expect(indexes.get_by_role("row")).to_have_count(len(library.indexes.all_spaces) + 1)
    expect(page.get_by_text("cstp doctor", exact=True)).to_be_visible()
    page.context.set_offline(True)
    page.clock.fast_forward(6_000)
    expect(page.get_by_text("does not answer; as of")).to_be_visible()
    expect(health).to_be_visible()
    page.context.set_offline(False)
    page.clock.fast_forward(6_000)
    expect(page.get_by_text("every 5 seconds")).to_be_visible()


def test_a_method_is_found_with_its_parameters_and_a_call_to_copy(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "server?method=cstp.getChunk")
    opened = page.locator("details.method-entry[open]")
    expect(opened).to_contain_text("relatedLimit")
    expect(opened).to_contain_text("cstp call cstp.getChunk")
    page.get_by_label("Name or words").fill("audit who")
    expect(page.locator("details.method-entry")).to_have_count(1)
