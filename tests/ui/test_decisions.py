"""The table of decisions, a decision's page, and the actions."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.serving import Serving
from tests.ui.visits import Visits, go, put, shown


def _record(serving: Serving, decision: str, **more: object) -> str:
    made: str = serving.ask("recordDecision", decision=decision, confidence=0.7, **more)["id"]
    serving.caught_up()
    return made


def test_a_long_table_holds_only_rows_in_view(library: Serving, visits: Visits, tmp_path: Path) -> None:
    names = [f"Choice number {at:04}" for at in range(1200)]
    put(library, tmp_path, [{"kind": "decision", "id": one[-4:], "title": one, "category": "many"} for one in names])
    page = visits.signed_in(library, "decisions?category=many&sort=recordedAt&order=asc")
    expect(page.get_by_role("status").first).to_have_text("1,200 decisions")
    assert page.locator(".row").count() < 80
    page.locator(".table").evaluate("table => { table.scrollTop = table.scrollHeight }")
    expect(page.get_by_role("link", name="Choice number 1199")).to_be_visible()
    assert page.locator(".row").count() < 80


def test_a_page_of_a_list_is_asked_for_once(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "knowledge")
    page.clock.install()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data or ""))
    for _ in range(3):  # the size of the table is known only then
        go(page, "decisions")
        page.clock.run_for(1000)  # more than the pause after a jump
        go(page, "server")
    assert sum("listDecisions" in one for one in asked) == 3


FIRST_IN_VIEW = """name => {
    const table = document.querySelector(".table");
    const top = table.querySelector(".head").getBoundingClientRect().bottom - 2;
    const first = [...table.querySelectorAll(".row")].find(row => row.getBoundingClientRect().top >= top);
    return first?.textContent.startsWith(name);
}"""


def test_rows_of_a_phone_grow_and_the_first_stays(library: Serving, visits: Visits, tmp_path: Path) -> None:
    names = [f"Plank {at:03}" for at in range(150)]
    names[120] = (
        "Plank 120 is as long as the bridge is wide, for a joint in the middle of the river would rot within a year"
    )
    known = {"kind": "decision", "status": "accepted", "category": "bridge"}
    put(library, tmp_path, [known | {"id": one[6:9], "title": one} for one in names])
    page = visits.signed_in(library, "decisions?category=bridge&sort=recordedAt&order=asc")
    page.set_viewport_size({"width": 375, "height": 800})
    table = page.locator(".table")
    expect(page.locator(".table.narrow")).to_be_visible()
    expect(page.get_by_role("link", name=names[0])).to_be_visible()  # a table without rows is too short to scroll
    before = table.evaluate("table => table.scrollHeight")
    table.evaluate("table => { table.scrollTop = 84 * 118 }")
    page.wait_for_function("before => document.querySelector('.table').scrollHeight > before", arg=before)
    page.wait_for_function(FIRST_IN_VIEW, arg=names[118])
    title = page.get_by_role("link", name=names[120])
    assert title.evaluate("one => one.scrollHeight <= one.clientHeight")
    expect(page.get_by_role("columnheader", name="Status")).to_be_in_viewport()


def test_columns_without_a_value_are_left_out_and_titles_are_whole(library: Serving, visits: Visits) -> None:
    title = (
        "Keep the ledger of the mill on paper and a copy of it in the church, because the cellar floods every spring"
    )
    _record(library, title, project="mill")
    page = visits.signed_in(library, "decisions?project=mill")
    headings = page.get_by_role("columnheader")
    expect(headings).to_have_text(["Decision", "Status", "Confidence", re.compile("Date")])
    for width in (1280, 768, 375):
        page.set_viewport_size({"width": width, "height": 800})
        link = page.get_by_role("link", name=title)
        expect(link).to_be_visible()
        assert link.evaluate("one => one.scrollHeight <= one.clientHeight"), width  # nothing of it is cut
    go(page, "decisions?project=no-mill")
    expect(page.get_by_text("Take a filter away")).to_be_visible()


def test_sorting_filtering_and_columns_are_in_the_address(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "decisions")
    page.get_by_role("button", name="Stakes").click()
    page.get_by_role("combobox", name="Category").select_option("storage")
    page.locator("summary", has_text="Columns").click()
    page.get_by_label("Tags").click()
    expect(page.get_by_label("Tags")).to_be_checked()
    shown(page)
    assert "sort=stakes" in page.url
    assert "category=storage" in page.url
    assert "tags" in page.url
    expect(page.locator(".row").filter(has_not_text="storage")).to_have_count(0)
    expect(page.locator(".row").first).to_be_visible()
    rows = page.locator(".row").all_inner_texts()
    page.reload()
    shown(page)
    expect(page.locator(".row").first).to_contain_text("storage")
    assert page.locator(".row").all_inner_texts() == rows
    expect(page.get_by_role("columnheader", name="Stakes")).to_have_attribute("aria-sort", "descending")


def test_current_superseded_and_overdue_decisions_are_one_click_away(library: Serving, visits: Visits) -> None:
    late = _record(library, "Look again at the old cellar", reviewBy="2020-01-01T00:00:00Z")
    page = visits.signed_in(library, "decisions")
    page.get_by_role("button", name="Overdue for review").click()
    shown(page)
    expect(page.get_by_role("link", name="Look again at the old cellar")).to_be_visible()
    total = library.ask("listDecisions", overdue=True)["total"]
    expect(page.get_by_role("button", name="Overdue for review")).to_contain_text(str(total))
    assert late in {one["id"] for one in library.ask("listDecisions", overdue=True)["decisions"]}
    page.get_by_role("button", name="Superseded").click()
    expect(page.locator(".row").filter(has_not_text="superseded")).to_have_count(0)
    expect(page.locator(".row").filter(has_text="superseded").first).to_be_visible()


def test_the_table_is_walked_by_keys(library: Serving, visits: Visits) -> None:
    page = visits.signed_in(library, "decisions?category=storage")
    second = page.locator(".row a").nth(1).inner_text()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(second)
    page.go_back()
    shown(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Decisions")


def test_one_decision_shows_reasons_reviews_links_and_governed_files(library: Serving, visits: Visits) -> None:
    base_id = _record(library, "Heat the hall with wood")
    whole = _record(
        library,
        "Heat the hall with a pump",
        context="The hall is **cold**.",
        reasons=[{"type": "empirical", "text": "Last winter cost 4,000"}],
        alternatives=[{"option": "Gas", "why": "Its price"}],
        affects=[{"type": "path", "pattern": "hall/**"}],
        relatedTo=[{"id": base_id, "type": "refines", "context": "same hall"}],
    )
    library.ask("reviewDecision", id=whole, outcome="partial", actualResult="Warm by noon", lessons="Start it earlier")
    page = visits.signed_in(library, f"decision/{whole}")
    expect(page.get_by_role("region", name="Reasons")).to_contain_text("Last winter cost 4,000")
    expect(page.get_by_role("region", name="Alternatives")).to_contain_text("Its price")
    expect(page.get_by_role("region", name="Governs")).to_contain_text("hall/**")
    expect(page.get_by_role("region", name="Reviews")).to_contain_text("Warm by noon")
    expect(page.get_by_role("region", name="Reviews")).to_contain_text("Start it earlier")
    expect(page.get_by_role("region", name="Links")).to_contain_text("same hall")
    expect(page.locator("strong", has_text="cold")).to_be_visible()  # Markdown, and once
    page.get_by_role("link", name="Heat the hall with wood").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Heat the hall with wood")
    expect(page.get_by_text("Refined by")).to_be_visible()


def test_a_decision_replaced_by_a_file_names_it(library: Serving, visits: Visits, tmp_path: Path) -> None:
    old = {"kind": "decision", "id": "oil", "title": "Lanterns burn oil", "status": "accepted"}
    put(library, tmp_path, [old, {**old, "id": "gas", "title": "Lanterns burn gas", "supersedes": "oil"}])
    page = visits.signed_in(library, "decision/oil")
    expect(page.get_by_role("note")).to_have_text("Superseded by Lanterns burn gas.")
    expect(page.get_by_role("region", name="Links")).to_contain_text("Superseded byLanterns burn gas")
    page.get_by_role("note").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Lanterns burn gas")
    expect(page.get_by_role("region", name="Links")).to_contain_text("SupersedesLanterns burn oil")


def test_differences_between_revisions_are_shown(library: Serving, visits: Visits) -> None:
    made = _record(library, "Plant oaks along the road", context="Oaks grow slowly")
    library.ask("updateDecision", id=made, updates={"context": "Beeches grow slowly"}, reason="Oaks fell ill")
    page = visits.signed_in(library, f"decision/{made}")
    page.locator("summary", has_text="Revision 2").click()
    expect(page.locator("ins", has_text="Beeches")).to_be_visible()
    expect(page.locator("del", has_text="Oaks").first).to_be_visible()
    expect(page.get_by_text("Oaks fell ill")).to_be_visible()


def _fill(page: Page, button: str) -> None:
    page.get_by_role("button", name=button).first.click()
    expect(page.get_by_role("dialog")).to_be_visible()


def test_a_review_is_checked_confirmed_and_shown_with_its_call(library: Serving, visits: Visits) -> None:
    made = _record(library, "Fetch water by tube")
    page = visits.signed_in(library, f"decision/{made}")
    _fill(page, "Review")
    expect(page.get_by_role("combobox", name="Outcome")).to_be_focused()
    expect(page.get_by_role("combobox", name="Outcome")).to_have_value("")
    page.keyboard.press("Control+Enter")  # nothing is sent without an outcome
    page.keyboard.press("f")
    page.keyboard.press("Tab")
    page.keyboard.type("The tube froze")
    page.keyboard.press("Control+Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text('makes the outcome of this decision "failure"')
    expect(dialog).to_contain_text("cstp call cstp.reviewDecision")
    expect(dialog).to_contain_text("client.review_decision(")
    assert library.ask("getDecision", id=made)["decision"]["outcome"] is None  # nothing was written yet
    expect(dialog.get_by_role("button", name="Review")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Reviews")).to_contain_text("The tube froze")
    assert library.ask("getDecision", id=made)["decision"]["outcome"] == "failure"


def test_a_status_and_a_link_are_set(library: Serving, visits: Visits) -> None:
    old, new = _record(library, "Store hay inside"), _record(library, "Store hay outside")
    page = visits.signed_in(library, f"decision/{new}")
    _fill(page, "Link")
    page.get_by_role("combobox", name="This decision").select_option("contradicts")
    page.get_by_label("… this one").fill(old)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("dialog").get_by_role("button", name="Link").click()
    expect(page.get_by_role("link", name="Store hay inside")).to_be_visible()
    _fill(page, "Set status")
    page.get_by_role("combobox", name="Status").select_option("accepted")
    page.get_by_label("Reason").fill("It stayed dry")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("dialog").get_by_role("button", name="Set status").click()
    expect(page.locator(".page-head .pill")).to_have_text("accepted")


def test_a_refusal_of_the_server_is_shown_in_the_dialog(library: Serving, visits: Visits) -> None:
    made = _record(library, "Ask twice")
    page = visits.signed_in(library, f"decision/{made}")
    _fill(page, "Link")
    page.get_by_role("combobox", name="This decision").select_option("refines")
    page.get_by_label("… this one").fill("dec_0000000000000000")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("dec_0000000000000000")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_forgetting_lists_the_erased_records_and_leaves_the_page(library: Serving, visits: Visits) -> None:
    made = _record(library, "Keep the old receipts")
    library.ask("reviewDecision", id=made, outcome="success")
    page = visits.signed_in(library, f"decision/{made}")
    _fill(page, "Forget")
    page.get_by_role("button", name="Continue").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 review, 1 revision")
    expect(dialog).to_contain_text("cannot be undone")
    dialog.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Decisions")
    assert library.send("getDecision", id=made)["error"]["code"] == -32007
    go(page, f"decision/{made}")
    expect(page.get_by_role("alert")).to_contain_text("no record")
