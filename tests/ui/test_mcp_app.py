"""The MCP Apps page in a real browser, in a frame of a client played by this test."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from playwright.sync_api import Frame, Page, expect

from tests.serving import Serving
from tests.ui.payloads import PAYLOADS
from tests.ui.visits import EVERYTHING, Visits, base

# required client settings for a page without domains
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "media-src 'self' data:; connect-src 'none'; frame-src 'none'; base-uri 'self'; object-src 'none'"
)
HOST = """() => {
window.heard = [];
window.answers = new Map();
window.addEventListener("message", ({ data, source }) => {
  const frame = document.querySelector("iframe");
  if (source !== frame.contentWindow) return;
  window.heard.push(data);
  if (data.method === "ui/notifications/size-changed") frame.style.height = `${data.params.height}px`;
  const answer = window.answers.get(data.method);
  if (answer && data.id !== undefined) source.postMessage({ jsonrpc: "2.0", id: data.id, ...answer }, "*");
});
window.tell = (message) =>
  document.querySelector("iframe").contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
}"""
FRAME = """html => {
const frame = document.createElement("iframe");
frame.sandbox = "allow-scripts";
frame.style.width = "100%";
frame.srcdoc = html;
document.body.append(frame);
}"""
# notes foreign content ever shown, and the content in its places after a message
WATCH = """selector => {
window.seen = [];
window.foreign = [];
const look = () => foreign.push(...[...document.querySelectorAll(selector)].map((one) => one.outerHTML));
new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });
const textOf = (place) => document.querySelector(place)?.textContent;
addEventListener("message", () =>
  seen.push({ title: textOf("h1"), button: textOf("button"), said: textOf("p") }));
}"""
FOREIGN = (
    "img, image, svg, math, iframe, object, embed, video, audio, link, base, marquee, template, form, input, select, "
    "textarea, table, details, a, layer, xss, custom-element, main script, main style, #cstp, [onerror]"
)


def asked(serving: Serving, method: str, **params: Any) -> Any:
    """Return an answer of `/mcp`."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {
        "Authorization": f"Bearer {serving.token(**EVERYTHING)}",
        "Accept": "application/json, text/event-stream",
    }
    reply = httpx.post(f"{base(serving)}/mcp?tools=all", json=body, headers=headers, timeout=60, trust_env=False)
    return reply.json()["result"]


@contextmanager
def hosted(visits: Visits, serving: Serving, context: Mapping[str, Any] | None = None, **more: Any) -> Iterator[Page]:
    """Open a client's page with the resource in a frame, after the handshake; `more` are client capabilities."""
    (content,) = asked(serving, "resources/read", uri="ui://cstp/decision")["contents"]
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    page = visits.page()
    page.goto("about:blank")
    page.evaluate(HOST)
    result = {
        "protocolVersion": "2026-01-26",
        "hostInfo": {"name": "test", "version": "1"},
        "hostCapabilities": more,
        "hostContext": context or {},
    }
    answer(page, "ui/initialize", result=result)
    page.evaluate(FRAME, content["text"].replace("<head>", f"<head>{policy}", 1))
    page.wait_for_function("() => heard.some(one => one.method === 'ui/notifications/initialized')")
    yield page


def answer(page: Page, method: str, **given: Any) -> None:
    """Set the client's answer to a request of the frame."""
    page.evaluate("([method, given]) => { answers.set(method, given) }", [method, given])


def tell(page: Page, method: str, **params: Any) -> None:
    """Send a notification of the client."""
    page.evaluate("message => tell(message)", {"method": f"ui/notifications/{method}", "params": params})


def heard(page: Page, method: str) -> list[Any]:
    return [one for one in page.evaluate("heard") if one.get("method") == method]


def view(page: Page) -> Frame:
    return page.frames[1]


@pytest.fixture(scope="module")
def decided(library: Serving) -> Mapping[str, str]:
    """Return the ids of a decision with all content shown by the page, and a linked decision."""
    other = library.ask("recordDecision", decision="Rent a bakery", confidence=0.4)["id"]
    given = {
        "decision": "Bake before dawn",
        "context": "The ovens are free.\n\nNobody minds the noise.",
        "category": "process",
        "confidence": 0.85,
        "reasons": [{"type": "analysis", "text": "Bread is sold by seven."}],
        "alternatives": [{"option": "Bake at night", "why": "Wages are higher."}],
    }
    one = library.ask("recordDecision", **given)["id"]
    library.ask("reviewDecision", id=one, outcome="success", actualResult="Sold out.", lessons="Order more flour.")
    library.ask("linkDecisions", sourceId=one, targetId=other, edgeType="depends_on", context="The ovens are there.")
    library.caught_up()
    return {"one": one, "other": other}


def test_the_view_begins_the_protocol_and_shows_a_decision_whole(
    library: Serving, visits: Visits, decided: Mapping[str, str], picture: Callable[[Page, str], None]
) -> None:
    with hosted(visits, library) as page:
        (first,) = heard(page, "ui/initialize")
        assert first["params"]["protocolVersion"] == "2026-01-26"
        assert set(first["params"]) == {"protocolVersion", "appInfo", "appCapabilities"}
        expect(view(page).locator("main")).to_have_text("Waiting for the answer.")
        tell(page, "tool-input", arguments={"id": decided["one"]})
        tell(page, "tool-result", **asked(library, "tools/call", name="get_decision", arguments={"id": decided["one"]}))
        expect(view(page).locator("h1")).to_have_text("Bake before dawn")
        text = view(page).locator("main").inner_text()
        for part in ("85 %", "process", "Bread is sold by seven.", "Bake at night", "Wages are higher.", "success"):
            assert part in text, part
        for part in ("Sold out.", "Order more flour.", f"depends on {decided['other']}", "The ovens are there."):
            assert part in text, part
        assert view(page).locator("h2").all_inner_texts() == ["Context", "Reasons", "Alternatives", "Reviews", "Links"]
        assert view(page).locator("button").count() == 0  # this client passes no calls on
        picture(page, "mcp-app-decision")


def test_the_view_reports_its_height(library: Serving, visits: Visits, decided: Mapping[str, str]) -> None:
    with hosted(visits, library) as page:
        page.wait_for_function("() => heard.some(one => one.method === 'ui/notifications/size-changed')")
        before = heard(page, "ui/notifications/size-changed")[-1]["params"]["height"]
        tell(page, "tool-result", **asked(library, "tools/call", name="get_decision", arguments={"id": decided["one"]}))
        page.wait_for_function(
            "before => heard.at(-1).method === 'ui/notifications/size-changed' && heard.at(-1).params.height > before",
            arg=before,
        )
        page.wait_for_function("() => document.querySelector('iframe').clientHeight > 300")
        assert view(page).evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_the_theme_is_that_of_the_client(library: Serving, visits: Visits) -> None:
    colours = "[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.body).color]"
    with hosted(visits, library, {"theme": "dark"}) as page:
        assert view(page).evaluate(colours) == ["rgb(26, 32, 41)", "rgb(232, 236, 242)"]
        tell(page, "host-context-changed", theme="light")
        view(page).wait_for_selector(":root[data-theme=light]")
        assert view(page).evaluate(colours) == ["rgb(255, 255, 255)", "rgb(26, 32, 41)"]
        variables = {"--color-background-primary": "light-dark(rgb(1, 2, 3), rgb(4, 5, 6))"}
        tell(page, "host-context-changed", theme="dark", styles={"variables": variables})
        view(page).wait_for_selector(":root[data-theme=dark]")
        assert view(page).evaluate(colours) == ["rgb(4, 5, 6)", "rgb(232, 236, 242)"]


def test_a_list_shows_its_decisions_and_opens_one_through_the_client(
    library: Serving, visits: Visits, decided: Mapping[str, str], picture: Callable[[Page, str], None]
) -> None:
    found = asked(library, "tools/call", name="list_decisions", arguments={"limit": 3})
    heading = f"Decisions: 3 of {found['structuredContent']['total']}"
    with hosted(visits, library, serverTools={}) as page:
        tell(page, "tool-result", **found)
        expect(view(page).locator("h1")).to_have_text(heading)
        titles = [one["title"] for one in found["structuredContent"]["decisions"]]
        assert view(page).locator("li button").all_inner_texts() == titles
        picture(page, "mcp-app-list")
        answer(page, "tools/call", error={"code": -32000, "message": "the client said no"})
        view(page).locator("li button", has_text="Bake before dawn").click()
        expect(view(page).get_by_role("alert")).to_have_text("could not be opened: the client said no")
        whole = asked(library, "tools/call", name="get_decision", arguments={"id": decided["one"]})
        answer(page, "tools/call", result=whole)
        view(page).locator("li button", has_text="Bake before dawn").click()
        expect(view(page).locator("h1")).to_have_text("Bake before dawn")
        asked_for = {"name": "get_decision", "arguments": {"id": decided["one"]}}
        assert [one["params"] for one in heard(page, "tools/call")] == [asked_for] * 2
        view(page).locator("button", has_text="Back").click()
        expect(view(page).locator("h1")).to_be_focused()
        expect(view(page).locator("h1")).to_have_text(heading)


def test_a_search_shows_query_and_snippets(library: Serving, visits: Visits, decided: Mapping[str, str]) -> None:
    found = asked(library, "tools/call", name="query_decisions", arguments={"query": "bake before dawn"})
    (one,) = found["structuredContent"]["decisions"]
    with hosted(visits, library) as page:
        tell(page, "tool-result", content=found["content"])  # some clients leave the structured content out
        expect(view(page).locator("h1")).to_have_text("Decisions: 1")
        assert view(page).locator("li p").first.inner_text() == one["title"] == "Bake before dawn"
        for text in ("bake before dawn", one["snippet"].splitlines()[0]):
            expect(view(page).locator("main")).to_contain_text(text)


def test_an_error_of_a_tool_and_a_cancelled_call_are_stated(library: Serving, visits: Visits) -> None:
    with hosted(visits, library) as page:
        tell(page, "tool-result", **asked(library, "tools/call", name="get_decision", arguments={"id": "dec_absent"}))
        expect(view(page).locator("main")).to_have_text("The tool gave no answer.Not found")
        tell(page, "tool-cancelled", reason="The user stopped it.")
        expect(view(page).locator("main")).to_have_text("The call was cancelled.The user stopped it.")


def test_requests_of_the_client_are_answered(library: Serving, visits: Visits) -> None:
    with hosted(visits, library) as page:
        for number, method in enumerate(("ping", "ui/resource-teardown", "tools/list"), start=70):
            page.evaluate("message => tell(message)", {"id": number, "method": method, "params": {}})
            page.wait_for_function("id => heard.some(one => one.id === id && !one.method)", arg=number)
        replies = {one["id"]: one for one in page.evaluate("heard") if "method" not in one}
        assert (replies[70]["result"], replies[71]["result"], replies[72]["error"]["code"]) == ({}, {}, -32601)


def hostile(text: str) -> dict[str, Any]:
    """Return a decision with the text in every possible place."""
    names = ("id", "title", "text", "context", "category", "status", "outcome", "stakes", "date", "project")
    review = ("outcome", "reviewed_at", "reviewed_by", "actual_result", "lessons", "notes")
    return {
        **dict.fromkeys(names, text),
        "confidence": 0.5,
        "tags": [text],
        "provenance": {"recorded_by": text},
        "reasons": [{"type": text, "text": text}],
        "alternatives": [{"option": text, "why": text}],
        "reviews": [dict.fromkeys(review, text)],
        "links": [{"source_id": text, "target_id": text, "edge_type": text, "context": text}],
    }


def test_hostile_texts_are_text_alone(library: Serving, visits: Visits) -> None:
    """Check the page itself: a client's policy permits inline scripts, so only the page keeps these from running."""
    messages: list[tuple[str, dict[str, Any]]] = []
    for text in PAYLOADS:
        row = hostile(text) | {"snippet": text, "links": {"superseded_by": [text]}}
        rows = {"decisions": [row], "total": 2, "query": text}
        messages += [
            ("tool-result", {"content": [], "structuredContent": {"decision": hostile(text)}}),
            ("tool-result", {"content": [], "structuredContent": rows}),
            ("tool-result", {"isError": True, "content": [{"type": "text", "text": json.dumps({"error": text})}]}),
            ("tool-cancelled", {"reason": text}),
        ]
    with hosted(visits, library, serverTools={}) as page:
        view(page).evaluate(WATCH, FOREIGN)
        given = [{"method": f"ui/notifications/{name}", "params": params} for name, params in messages]
        page.evaluate("messages => messages.forEach(tell)", given)
        view(page).wait_for_function("count => seen.length === count", arg=len(messages))
        shown, foreign, pwned = view(page).evaluate("[seen, foreign, window.pwned]")
        assert (foreign, pwned, page.evaluate("window.pwned")) == ([], None, None)
        for number, text in enumerate(PAYLOADS):
            of_one, of_list, of_failure, of_end = shown[4 * number : 4 * number + 4]
            assert (of_one["title"], of_list["button"]) == (text, text)
            assert (of_failure["said"], of_end["said"]) == ("The tool gave no answer.", "The call was cancelled.")
        assert heard(page, "tools/call") == []
