"""The search box: while typing, by keys, with filters, and with a shareable address."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.serving import Serving
from tests.ui.visits import Visits, go, put, shown


def test_results_come_while_typing_with_the_words_marked(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "decisions")
    page.keyboard.press("/")
    page.keyboard.type("damaged index")
    expect(page.locator(".result mark", has_text="damage").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"q=damaged\+index"))
    expect(page.get_by_label("Search everything")).to_be_focused()


def test_results_are_walked_and_opened_by_keys(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "search?q=one+store+of+truth&kind=decision")
    title = page.locator(".result h2").first.inner_text()
    page.get_by_label("Search everything").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".result").first).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(".result").nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(title)


def test_kinds_are_chips_with_their_numbers(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "search?q=filter")
    chips = page.get_by_role("group", name="Kinds of records").get_by_role("button")
    numbers = {text.rsplit(None, 1)[0]: int(text.rsplit(None, 1)[1]) for text in chips.all_inner_texts()}
    assert sum(numbers.values()) == len(library.ask("search", query="filter", limit=50)["results"])
    chips.filter(has_text="episodes").click()
    shown(page)
    assert page.locator(".result").count() >= numbers["episodes"] > 0
    assert set(page.locator(".result .meta .pill").all_inner_texts()) == {"episode"}
    assert "kind=episode" in page.url


def test_why_a_result_was_found_is_shown_on_request(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "search?q=damaged+index")
    expect(page.locator(".why")).to_have_count(0)
    page.get_by_label("Why each was found").click()
    expect(page.locator(".why").first).to_contain_text("by words: place 1")


def test_a_shared_address_shows_the_same(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "search?q=database&mode=keyword&kind=decision&why=1")
    titles = page.locator(".result h2").all_inner_texts()
    other = visits.signed_in(library, page.url.partition("#/")[2])
    assert other.locator(".result h2").all_inner_texts() == titles
    expect(other.get_by_label("Search everything")).to_have_value("database")
    expect(other.get_by_role("combobox", name="Find")).to_have_value("keyword")


def test_a_refusal_of_the_server_names_the_field(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "search?q=index&from=2026-05-02&to=2026-05-01")
    expect(page.get_by_role("alert")).to_contain_text("dateFrom")


def test_a_search_without_results_says_so(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "search?q=zyzzyva&mode=keyword")
    expect(page.get_by_text("No record that this token may see matches “zyzzyva”.")).to_be_visible()
    go(page, "search?q=zyzzyva&mode=keyword&project=x")
    expect(page.get_by_text("Nothing was found with these filters.")).to_be_visible()


def test_a_passage_names_its_document_and_section(library: Serving, visits: Visits, tmp_path: Path) -> None:
    table = "| pump | litres |\n| --- | --- |\n| north | 1,200 |"
    text = f"{table}\n\n**Not** a `valve`; nothing <b>else</b> is noted.\n\n- one"
    source = {"kind": "source", "id": "src_pumps", "title": "The pumps"}
    chunk = {"kind": "chunk", "id": "chk_pumps", "source_id": "src_pumps", "content": text}
    put(library, tmp_path, [source, {**chunk, "place": {"section": "Their flow"}}])
    page = visits.signed_in(library, "search?q=litres+not+valve&kind=chunk&mode=keyword")
    first = page.locator(".result").first
    expect(first.get_by_role("heading")).to_have_text("The pumps › Their flow")
    snippet = first.locator(".snippet")
    expect(snippet).to_contain_text("north · 1,200")
    expect(snippet.locator("strong mark")).to_have_text("Not")
    expect(snippet.locator("code mark")).to_have_text("valve")
    expect(snippet).to_contain_text("<b>else</b>")
    assert snippet.locator("mark").all_inner_texts() == ["litres", "Not", "valve"]
    go(page, "passage/chk_pumps")
    expect(page.get_by_role("heading", level=1)).to_have_text("The pumps › Their flow")
    height = page.locator(".markdown td").nth(1).evaluate("one => one.getClientRects()[0].height")
    page.set_viewport_size({"width": 375, "height": 800})
    assert page.locator(".markdown td").nth(1).evaluate("one => one.getClientRects()[0].height") == height  # one line


def test_a_file_in_the_query_finds_its_governing_decisions(library: Serving, visits: Visits) -> None:
    file = "skills/cognition_engines/indexes/columns/sketches.py"
    governing = library.ask("listDecisions", paths=[file])["decisions"]
    page = visits.signed_in(library, f"search?q=which+bits+path:{file}")
    expect(page.locator(".result").first).to_be_visible()
    titles = page.locator(".result h2").all_inner_texts()
    assert sorted(titles) == sorted(one["title"] for one in governing) != []
    go(page, f"search?q={file}")
    page.get_by_role("link", name=f"Only decisions that govern {file}").click()
    expect(page.locator(".result")).to_have_count(len(governing))
