"""Links of a record: the drawing, the equivalent list, and link kinds as filters."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.serving import Serving, start
from tests.stores import Stores
from tests.ui.visits import Visits, go, put

MANY = 64


def _decision(id: str, title: str, day: int, **more: object) -> dict[str, Any]:
    return {"kind": "decision", "id": id, "title": title, "status": "accepted", "date": f"2026-03-{day:02}"} | more


MEETING = {"kind": "artifact", "id": "minutes", "context": "meeting", "title": "Harbour meeting"}
PROMISE = {"kind": "event", "id": "promise", "category": "Commitment", "narrative": "Ana promised the berth plan"}
PROMISE |= {"artifact_id": "minutes", "event_time": "2026-03-03T14:10:00Z"}
RECORDS: list[dict[str, Any]] = [
    *(_decision(f"old-{number}", f"Old berth {number}", 1) for number in range(MANY)),
    _decision("hub", "Give all berths at once", 2, supersedes=[f"old-{number}" for number in range(MANY)]),
    _decision("c-4", "Publish by flags", 3),
    _decision("c-3", "Publish by post", 4, supersedes="c-4"),
    _decision("c-2", "Publish by mail", 5, supersedes="c-3"),
    _decision("c-1", "Publish by radio", 6, supersedes="c-2"),
    _decision("r-1", "Publish twice a day", 7, status="proposed"),
    {"kind": "entity", "id": "ana", "name": "Ana Reyes", "type": "person", "aliases": ["A. Reyes"]},
    {"kind": "entity", "id": "office", "name": "Harbour office", "type": "org"},
    {"kind": "edge", "source_id": "ana", "target_id": "office", "type": "works for"},
    MEETING | {"content": "Ana will send the berth plan.", "participants": ["Ana Reyes"], "ts": "2026-03-03T14:00:00Z"},
    PROMISE | {"actors": [{"ref": "A. Reyes", "role": "owner"}], "subject": {"ref": "Berth plan", "type": "object"}},
]


@pytest.fixture(scope="module")
def berths(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("graph")
    serving, stop = start(folder / "data", lasting_stores, None, None)
    put(serving, folder, RECORDS)
    serving.ask("linkDecisions", sourceId="r-1", targetId="c-1", edgeType="refines", context="twice is safer")
    serving.caught_up()
    yield serving
    stop()


def _row(page: Page, title: str) -> Any:
    return page.locator(".graph-list > li").filter(has=page.get_by_role("link", name=title, exact=True))


def _titles(page: Page) -> set[str]:
    expect(page.locator(".graph")).to_have_attribute("aria-busy", "false", timeout=30_000)
    return set(page.locator(".graph-list [data-row]").all_text_contents())


def _on_canvas(page: Page, key: str) -> tuple[float, float]:
    """Return a node's position in the window."""
    box = page.locator(".graph-place").bounding_box()
    at = page.evaluate(
        "key => document.querySelector('.graph-place')._cyreg.cy.getElementById(key).renderedPosition()", key
    )
    assert box is not None
    return box["x"] + at["x"], box["y"] + at["y"]


def test_the_address_of_a_graph_sets_its_depth(berths: Serving, visits: Visits) -> None:
    page = visits.signed_in(berths, "graph/c-1?depth=1")
    assert _titles(page) == {"Publish by radio", "Publish by mail", "Publish twice a day"}
    expect(_row(page, "Publish by radio")).to_contain_text("supersedes: Publish by mail")
    expect(_row(page, "Publish by mail")).to_contain_text("superseded by: Publish by radio")
    expect(page.locator(".graph-panel")).to_contain_text("twice is safer")
    page.get_by_label("Up to").select_option("3")
    expect(_row(page, "Publish by flags")).to_be_visible()
    assert "depth=3" in page.url
    page.get_by_label("Links of decisions").select_option("incoming")
    expect(_row(page, "Publish by mail")).to_have_count(0)
    assert _titles(page) == {"Publish by radio", "Publish twice a day"}


def test_the_legend_filters_by_kinds_of_links_in_the_address(berths: Serving, visits: Visits) -> None:
    page = visits.signed_in(berths, "graph/c-1?depth=1")
    page.get_by_role("button", name="supersedes 1").click()
    expect(_row(page, "Publish by mail")).to_have_count(0)
    assert "types=refines" in page.url
    page.reload()
    expect(_row(page, "Publish twice a day")).to_be_visible()
    assert _titles(page) == {"Publish by radio", "Publish twice a day"}
    expect(page.get_by_role("button", name="refines 1")).to_be_disabled()  # without any there would be no filter
    page.get_by_role("button", name="Show all kinds").click()
    expect(_row(page, "Publish by mail")).to_be_visible()


def test_the_list_is_walked_extended_and_opened_by_keys(berths: Serving, visits: Visits) -> None:
    page = visits.signed_in(berths, "graph/c-1?depth=1")
    _row(page, "Publish by mail").get_by_role("link").focus()
    expect(page.locator(".graph-panel h2")).to_have_text("Publish by mail")
    page.keyboard.press("e")
    expect(_row(page, "Publish by post")).to_be_visible()
    assert "open=c-2" in page.url
    expect(_row(page, "Publish by flags")).to_have_count(0)  # a link further, no more
    page.reload()
    expect(_row(page, "Publish by post")).to_be_visible()
    _row(page, "Publish by radio").get_by_role("link").focus()
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/#/decision/c-1")


def test_a_click_extends_the_graph_and_a_double_click_opens(berths: Serving, visits: Visits) -> None:
    page = visits.signed_in(berths, "graph/c-1?depth=1", reduced_motion="reduce")
    expect(_row(page, "Publish by mail")).to_be_visible()
    page.wait_for_function("() => document.querySelector('.graph-place')._cyreg?.cy.nodes().length === 3")
    page.mouse.click(*_on_canvas(page, "c-2"))
    expect(page.locator(".graph-panel h2")).to_have_text("Publish by mail")
    expect(_row(page, "Publish by post")).to_be_visible()
    expect(_row(page, "Publish by mail").get_by_role("link")).to_be_focused()
    page.wait_for_function("() => document.querySelector('.graph-place')._cyreg.cy.nodes().length === 4")
    page.mouse.dblclick(*_on_canvas(page, "c-3"))
    page.wait_for_url("**/#/decision/c-3")


def test_sixty_records_are_shown_at_first_and_the_rest_is_counted(berths: Serving, visits: Visits) -> None:
    page = visits.signed_in(berths, "graph/hub")
    expect(page.locator(".graph-list > li")).to_have_count(60)
    expect(page.locator(".graph-bounds")).to_contain_text("60 records are shown; 5 more are left out.")
    page.get_by_role("button", name="Show 5 more").click()
    expect(page.locator(".graph-list > li")).to_have_count(MANY + 1)


def test_a_documents_graph_has_events_and_each_name_once(berths: Serving, visits: Visits) -> None:
    page = visits.signed_in(berths, "graph/art_minutes")
    assert _titles(page) == {"Harbour meeting", "Ana promised the berth plan", "Ana Reyes", "Berth plan"}
    expect(_row(page, "Ana Reyes")).to_contain_text("person")
    expect(_row(page, "Ana Reyes")).to_contain_text("took part in: Ana promised the berth plan")
    expect(_row(page, "Harbour meeting")).to_contain_text("has the part: Ana promised the berth plan")
    go(page, "graph/evt_promise")
    assert _titles(page) == {"Harbour meeting", "Ana promised the berth plan", "Ana Reyes", "Berth plan"}


def test_without_an_id_the_newest_links_are_shown(berths: Serving, visits: Visits) -> None:
    page = visits.signed_in(berths, "graph")
    assert {"Publish by radio", "Publish by mail", "Give all berths at once"} <= _titles(page)
    page.get_by_label("Find a record to look around").fill("publish flags")
    expect(page.locator(".finder [data-row]").first).to_have_text("Publish by flags")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/#/graph/c-4")
    expect(_row(page, "Publish by flags")).to_be_visible()


def test_an_error_in_the_address_of_a_graph_is_named(berths: Serving, visits: Visits) -> None:
    page = visits.signed_in(berths, "graph/c-1?depth=9&types=likes&direction=up")
    alert = page.get_by_role("alert")
    for part in ("depth: 9 is none of 1 to 5", "direction: up is none of", "types: likes is none of"):
        expect(alert).to_contain_text(part)
    go(page, "graph/none-such")
    expect(alert).to_contain_text("no record none-such")
    go(page, "graph/old-0?depth=1&direction=outgoing")
    expect(page.locator("main")).to_contain_text("Nothing is linked to this record")
