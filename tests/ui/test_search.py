"""The one box: as one types, by keys, with filters, and with an address that can be sent."""

import re

from playwright.sync_api import expect

from tests.serving import Serving
from tests.ui.visits import Visits, shown


def test_results_come_as_one_types_with_the_words_marked(library: Serving, visits: Visits) -> None:
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
    page.get_by_label("Why each was found").check()
    expect(page.locator(".why").first).to_contain_text("by words: place 1")


def test_an_address_that_is_sent_shows_the_same(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "search?q=database&mode=keyword&kind=decision&why=1")
    titles = page.locator(".result h2").all_inner_texts()
    other = visits.signed_in(library, page.url.partition("#/")[2])
    assert other.locator(".result h2").all_inner_texts() == titles
    expect(other.get_by_label("Search everything")).to_have_value("database")
    expect(other.get_by_role("combobox", name="Find")).to_have_value("keyword")


def test_what_the_server_refuses_names_the_field(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "search?q=index&from=2026-05-02&to=2026-05-01")
    expect(page.get_by_role("alert")).to_contain_text("dateFrom")


def test_nothing_found_is_said(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "search?q=zyzzyva&mode=keyword")
    expect(page.get_by_text("Nothing was found with these filters.")).to_be_visible()
