"""Every page with real data, in every layout and both themes: content, accessibility and picture."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.serving import Serving
from tests.ui.visits import Visits, go, shown

WIDEST = 1600
LOOKS = ((360, "dark"), (900, "light"), (WIDEST, "dark"))  # each layout once, all colours of each theme
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
    "resultTypes": ["violations"],
}
# the rows of a list are made alike, and to look at hundreds takes most of the time
ALIKE = {"exclude": [[f"{row}:nth-child(n+10)"] for row in (".row", ".change", ".calls tbody tr", ".result")]}


def addresses(library: Serving) -> dict[str, tuple[str, str]]:
    """Return each page by name: the address, and a text from the records shown on it."""
    first = library.ask("getDecisions", limit=1)["results"][0]["id"]
    decision = library.ask("queryDecisions", query="one store of truth", limit=1)["decisions"][0]
    linked = library.ask("listDecisions", status="superseded", limit=1)["decisions"][0]
    turn = library.ask("recall", context="conversation", limit=1)["results"][0]
    conversation = turn["metadata"]["conversationId"]
    return {
        "decisions": ("decisions", "Report possible conflicts by rules"),
        "decision": (f"decision/{decision['id']}", "Provenance"),
        "search": ("search?q=damaged+index&why=1", "by words: place 1"),
        "timeline": ("timeline", "Report possible conflicts by rules"),
        "graph": (f"graph/{linked['id']}", linked["title"]),
        "conversations": ("conversations", "slow-filters"),
        "conversation": (f"conversation/{conversation}?turn={turn['id']}", "That is the part that lasts"),
        "knowledge": ("knowledge", "Prevention"),
        "passage": ("passage/chk_running-2", "chk_running-2"),
        "episode": ("episode/2", "Six conditions cost 231 ms"),
        "extraction": (f"extraction/{first}", ""),
        "memory": ("memory/art_filters-meeting", "Jonas showed three ways"),
        "activity": ("activity", "cstp.recall"),
        "server": ("server", "keywords"),
    }


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_every_page_shows_its_records_and_is_accessible(
    library: Serving, visits: Visits, picture: Callable[[Page, str], None], width: int, theme: str
) -> None:
    page = visits.signed_in(
        library, "decisions", viewport={"width": width, "height": 900}, color_scheme=theme, bypass_csp=True
    )
    axe = Axe()
    found = {}
    for name, (address, text) in addresses(library).items():
        go(page, address)
        expect(page.locator("main"), name).to_contain_text(text)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} is wider than the window"
        picture(page, f"{name}-{width}-{theme}")
        if width == WIDEST:  # checking both themes takes most of the time
            continue
        page.evaluate("scrollTo(0, 0)")  # a link half under the header would be too small a target
        result = axe.run(page, context=ALIKE, options=RULES)
        for violation in result.response["violations"]:
            found[f"{name}: {violation['id']}"] = [node["html"][:200] for node in violation["nodes"]][:3]
    assert found == {}


def test_no_page_breaks_a_rule_of_its_security_policy(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "decisions")  # with the policy in force; `visits` looks at the log
    for name, (address, _) in addresses(library).items():
        go(page, address)
        expect(page.locator("main h1"), name).to_be_visible()
        assert visits.unexpected() == [], name


def test_everywhere_is_reached_by_keys(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "decisions")
    places = {"s": "Search", "t": "Timeline", "g": "Graph", "c": "Conversations", "k": "Knowledge", "a": "Activity"}
    for key, title in {**places, "v": "Server", "d": "Decisions"}.items():
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        shown(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("go to the search box")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Tab")
    page.locator("body").press("Tab")
    assert page.evaluate("document.activeElement !== document.body")


def test_the_first_key_leads_past_the_navigation(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "decisions")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_the_theme_is_chosen_and_stays(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "decisions", color_scheme="light")
    page.get_by_role("button", name="Theme: auto").click()
    page.get_by_role("button", name="Theme: light").click()
    page.reload()
    shown(page)
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.get_by_role("button", name="Theme: dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "auto")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != dark


def test_nothing_moves_while_a_page_loads(library: Serving, visits: Visits) -> None:
    page = visits.page()
    page.add_init_script(
        f"sessionStorage.setItem('cstp-token', '{library.token(scopes=('read', 'admin'))}');"
        "window.moved = 0;"
        "const add = list => { for (const one of list.getEntries()) window.moved += one.value };"
        "new PerformanceObserver(add).observe({type: 'layout-shift', buffered: true});"
    )
    for address in ("decisions", "search?q=index", "knowledge", "server"):
        page.goto(f"{library.url.removesuffix('/cstp')}/ui/#/{address}")
        page.reload()
        shown(page)
        assert page.evaluate("window.moved") < 0.1, address  # good figures of a page


ODD = (
    *("__proto__", "constructor", "toString/x", "search?q=a&q=index&mode=keyword", "knowledge?topic=a&topic=b"),
    *("decision/__proto__", "graph/%00", "timeline?from=x&to=y", "conversation/%E0%A4%A", "episode/1e999", "memory/ "),
)


def test_an_odd_address_is_answered_in_place_and_the_next_as_ever(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, ODD[0])
    for address in ODD:
        go(page, address)
        expect(page.locator("main h1"), address).to_be_visible()
        go(page, "decisions")
        expect(page.get_by_role("heading", level=1), address).to_have_text("Decisions")
        expect(page.locator(".row").first, address).to_be_visible()
