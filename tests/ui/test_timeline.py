"""Decisions, events and episodes over time: bars, a brush, and the list of the selection."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.serving import SeededEmbedder, Serving, serve, start
from tests.stores import Stores
from tests.ui.visits import Visits, go, put

__all__ = ["serve"]
Serve = Callable[..., Serving]
SHOWN = 56  # days at once; the last is the latest with a record

INCIDENT: dict[str, Any] = {"kind": "event", "category": "Incident", "event_time": "2026-03-04T06:00:00Z"}
RECORDS: list[dict[str, Any]] = [
    {"kind": "decision", "id": "d-1", "title": "Ring the bell", "status": "accepted", "date": "2026-03-02"},
    {"kind": "decision", "id": "d-2", "title": "Oil the bell", "status": "accepted", "date": "2026-03-02"},
    {"kind": "decision", "id": "d-3", "title": "Sell the bell", "status": "rejected", "date": "2026-03-05"},
    {"kind": "decision", "id": "d-4", "title": "Keep the bell undated", "status": "accepted"},
    {"kind": "episode", "id": 1, "query": "Rang it at noon", "reward": 1, "createdAt": "2026-03-03T12:00:00Z"},
    {"kind": "episode", "id": 2, "query": "Rang it at night", "reward": -0.5, "createdAt": "2026-03-04T23:30:00Z"},
    {"kind": "artifact", "id": "a-1", "context": "note", "content": "The bell cracked.", "ts": "2026-03-05T08:00:00Z"},
    INCIDENT | {"id": "e-1", "narrative": "The bell cracked in the frost", "artifact_id": "a-1"},
]


@pytest.fixture(scope="module")
def bells(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("timeline")
    serving, stop = start(folder / "data", lasting_stores, SeededEmbedder(), None)
    put(serving, folder, RECORDS, SeededEmbedder())
    yield serving
    stop()


def _numbers(page: Page) -> dict[str, list[str]]:
    """Return the table rows that are not all 0: decisions, events, episodes with a reward of 0 or more, and below."""
    expect(page.locator(".chart-card")).to_have_attribute("aria-busy", "false", timeout=30_000)
    rows = page.locator(".numbers tbody tr").all()
    cells = {row.locator("th").text_content() or "": row.locator("td").all_text_contents() for row in rows}
    return {name: row for name, row in cells.items() if any(cell != "0" for cell in row)}


def _titles(page: Page) -> list[str]:
    expect(page.locator(".moments")).to_have_attribute("aria-busy", "false", timeout=30_000)
    return page.locator(".moments [data-row]").all_text_contents()


def _place(page: Page, days_before_last: int) -> tuple[float, float]:
    """Return the position of a day's bar in the window."""
    box = page.locator(".u-over").bounding_box()
    assert box is not None
    index = SHOWN - 1 - days_before_last
    return box["x"] + (index + 0.6) / (SHOWN + 0.2) * box["width"], box["y"] + 40


def test_the_bars_count_the_records_of_each_day_and_the_table_agrees(bells: Serving, visits: Visits) -> None:
    page = visits.signed_in(bells, "timeline")
    assert _numbers(page) == {
        "Mar 5, 2026": ["1", "0", "0", "0"],
        "Mar 4, 2026": ["0", "1", "0", "1"],
        "Mar 3, 2026": ["0", "0", "1", "0"],
        "Mar 2, 2026": ["2", "0", "0", "0"],
    }
    expect(page.locator("main")).to_contain_text("1 decision without a date is not shown.")
    go(page, "timeline?by=week")
    assert _numbers(page) == {"Mar 2 – Mar 8, 2026": ["3", "1", "1", "1"]}
    go(page, "timeline?by=month")
    assert _numbers(page) == {"March 2026": ["3", "1", "1", "1"]}


def test_the_list_has_the_newest_first_and_leads_to_each_record(bells: Serving, visits: Visits) -> None:
    page = visits.signed_in(bells, "timeline")
    found = _titles(page)
    assert found[:4] == ["Sell the bell", "Rang it at night", "The bell cracked in the frost", "Rang it at noon"]
    assert sorted(found[4:]) == ["Oil the bell", "Ring the bell"]
    addresses = [page.get_by_role("link", name=name).get_attribute("href") for name in found[:3]]
    assert addresses == ["#/decision/d-3", "#/episode/2", "#/memory/evt_e-1"]
    expect(page.locator(".moment", has_text="Rang it at night")).to_contain_text("▼ −0.5")
    expect(page.locator(".moment", has_text="Rang it at noon")).to_contain_text("▲ +1.0")


def test_dragging_over_the_bars_chooses_a_range_and_a_click_one_bar(bells: Serving, visits: Visits) -> None:
    page = visits.signed_in(bells, "timeline")
    page.wait_for_selector(".u-over")
    page.mouse.move(*_place(page, 3))
    page.mouse.down()
    page.mouse.move(*_place(page, 2), steps=4)
    page.mouse.up()
    expect(page.locator(".moments h2")).to_contain_text("Mar 2, 2026 – Mar 3, 2026 (3 records)")
    assert "from=2026-03-02&to=2026-03-03" in page.url
    assert sorted(_titles(page)) == ["Oil the bell", "Rang it at noon", "Ring the bell"]
    page.mouse.click(*_place(page, 1))
    expect(page.locator(".moments h2")).to_contain_text("Mar 4, 2026 (2 records)")
    assert "from=2026-03-04&to=2026-03-04" in page.url
    page.reload()
    expect(page.locator(".moments h2")).to_contain_text("Mar 4, 2026 (2 records)")
    page.get_by_role("button", name="The whole period").click()
    expect(page.locator(".moments h2")).to_contain_text("(6 records)")


def test_two_dates_replace_the_brush_by_keys(bells: Serving, visits: Visits) -> None:
    page = visits.signed_in(bells, "timeline")
    page.get_by_role("textbox", name="From").fill("2026-03-04")
    page.get_by_role("textbox", name="to", exact=True).fill("2026-03-05")
    page.keyboard.press("Enter")
    expect(page.locator(".moments h2")).to_contain_text("(3 records)")
    page.get_by_role("textbox", name="From").fill("2026-03-06")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("From is later than to.")
    assert "from=2026-03-04&to=2026-03-05" in page.url


def test_a_kind_switched_off_is_neither_counted_nor_listed(bells: Serving, visits: Visits) -> None:
    page = visits.signed_in(bells, "timeline")
    page.get_by_role("button", name="Decisions").click()
    assert "off=decisions" in page.url
    assert set(_titles(page)) == {"Rang it at night", "The bell cracked in the frost", "Rang it at noon"}
    assert all(row[0] == "0" for row in _numbers(page).values())


def test_an_error_in_the_address_is_named(bells: Serving, visits: Visits) -> None:
    page = visits.signed_in(bells, "timeline?from=2026-02-30&by=year")
    expect(page.get_by_role("alert")).to_contain_text("from: 2026-02-30 is no date")
    expect(page.get_by_role("alert")).to_contain_text("by: year is none of day, week, month")
    go(page, "timeline?from=2026-03-05&to=2026-03-04")
    expect(page.get_by_role("alert")).to_contain_text("from: it is later than to")


def test_the_bars_take_the_colours_of_the_theme(bells: Serving, visits: Visits) -> None:
    page = visits.signed_in(bells, "timeline", color_scheme="light")
    canvas = page.locator(".chart canvas")
    light = canvas.evaluate("canvas => canvas.toDataURL()")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("light => document.querySelector('.chart canvas').toDataURL() !== light", arg=light)


def test_without_a_model_events_come_from_new_documents(serve: Serve, visits: Visits, tmp_path: Path) -> None:
    serving = serve()
    put(serving, tmp_path, RECORDS)
    page = visits.signed_in(serving, "timeline")
    assert _numbers(page)["Mar 4, 2026"] == ["0", "1", "0", "1"]
    expect(page.locator("main")).to_contain_text("This server has no model to search by meaning.")
    expect(page.locator(".moments h2")).to_contain_text("at least 6 records")


def test_too_many_events_are_counted_by_shorter_spans(serve: Serve, visits: Visits, tmp_path: Path) -> None:
    serving = serve(SeededEmbedder())
    records = [{"kind": "decision", "id": "d", "title": "Cast it", "date": "2026-03-04"}]
    for day, most in ((1, 40), (2, 40), (3, 60)):
        incident = INCIDENT | {"event_time": f"2026-03-0{day}T06:00:00Z"}
        records += [incident | {"id": f"e-{day}-{n}", "narrative": f"It cracked {n} of day {day}"} for n in range(most)]
    put(serving, tmp_path, records, SeededEmbedder())
    page = visits.signed_in(serving, "timeline")
    counted = {f"Mar {day}, 2026": count for day, count in ((4, "0"), (3, "50"), (2, "40"), (1, "40"))}
    assert {name: row[1] for name, row in _numbers(page).items()} == counted
    expect(page.locator("main")).to_contain_text("Of the events of Mar 3, 2026, 50 are counted.")
