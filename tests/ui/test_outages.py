"""A server that stops and returns, and a failing part: reported in place, never a blank."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.serving import Serving, serve, start
from tests.stores import Stores
from tests.ui.visits import EVERYTHING, Visits

__all__ = ["serve"]
Serve = Callable[..., Serving]


def test_a_server_is_asked_again_after_its_return(visits: Visits, stores: Stores, tmp_path: Path) -> None:
    visits.expected += ["ERR_CONNECTION_REFUSED", "Failed to load resource", "ERR_CONNECTION_RESET"]
    serving, stop = start(tmp_path / "data", stores, None, None)
    made = serving.ask("recordDecision", decision="Ring the bell at noon", confidence=0.5)["id"]
    serving.caught_up()
    token = serving.token(**EVERYTHING)
    port = int(serving.url.rsplit(":", 1)[1].removesuffix("/cstp"))
    page = visits.signed_in(serving, "decisions", token)
    stop()
    page.evaluate("id => { location.hash = '#/decision/' + id }", made)
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    again, stop = start(tmp_path / "data", stores, None, None, server={"port": port})
    try:
        assert again.url == serving.url
        expect(page.get_by_role("heading", level=1)).to_have_text("Ring the bell at noon", timeout=30_000)
    finally:
        stop()


def test_a_failing_part_is_named_in_place(serve: Serve, visits: Visits) -> None:
    serving = serve()
    made = serving.ask("recordDecision", decision="Ring the bell at noon", confidence=0.5)["id"]
    serving.caught_up()
    page = visits.signed_in(serving, "decisions")
    serving.break_store()
    page.evaluate("id => { location.hash = '#/decision/' + id }", made)
    expect(page.get_by_role("alert").first).to_contain_text("records")
    expect(page.get_by_role("button", name="Try again").first).to_be_visible()


def test_too_many_calls_show_the_wait(serve: Serve, visits: Visits) -> None:
    visits.expected.append("429")
    serving = serve(limits={"default": "4/minute"})
    page = visits.signed_in(serving, "decisions", serving.token())
    page.evaluate("location.hash = '#/search?q=a'")
    expect(page.get_by_role("alert").first).to_contain_text("wait")
