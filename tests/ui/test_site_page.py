"""A site in a real browser, opened from the disk: it answers like the server, and needs none."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.http_servers import HttpServer
from tests.serving import Serving
from tests.ui.sites import cstp, made, write_lines
from tests.ui.visits import EVERYTHING, Visits, Windows, go, shown

BARE = {"expand": False, "includeEvents": False, "includeEntities": False}
ORDERS = [
    {"sort": sort, "order": order, "limit": 200}
    for sort in ("date", "recordedAt", "confidence", "category", "stakes", "status", "reviewBy")
    for order in ("asc", "desc")
]
FILTERS: list[dict[str, Any]] = [
    {},
    {"limit": 7, "offset": 5},
    {"limit": 500, "offset": 1000},
    {"category": "SEARCH"},
    {"stakes": "High", "status": "accepted"},
    {"status": "superseded"},
    {"agent": "nobody"},
    {"project": "harbour"},
    {"project": "Harbour"},
    {"tags": ["PERFORMANCE"]},
    {"tags": ["straße"]},
    {"tags": ["STRASSE", "berth"]},
    {"hasOutcome": True},
    {"hasOutcome": False, "limit": 500},
    {"current": True, "limit": 500},
    {"current": False, "limit": 500},
    {"overdue": True},
    {"overdue": False, "limit": 500},
    {"dateFrom": "2026-11-24", "limit": 100},
    {"dateTo": "2026-11-21", "limit": 100},
    {"dateFrom": "2026-11-21", "dateTo": "2026-11-21"},
    {"dateFrom": "2026-11-21T00:00:00.000001Z", "dateTo": "2026-11-22T00:00:00+01:00"},
    {"category": "storage", "current": True, "sort": "confidence", "order": "asc"},
]


HARBOUR: dict[str, dict[str, Any]] = {
    "Build a second berth": {"reviewBy": "2026-01-01", "stakes": "critical", "tags": ["Straße", "berth"]},
    "Dredge the channel": {"reviewBy": "2026-02-01T12:00:00.5Z"},
    "Paint the lamps": {"reviewBy": "2999-01-01"},
    "Move the crane": {"reviewBy": "2026-03-01"},
    "Close the old quay": {"category": "works", "validTo": "2026-01-31"},
}


@dataclass(frozen=True)
class Written:
    """A site, the source server, and the token with the site's rights."""

    site: Path
    serving: Serving
    token: str

    def open(self, visits: Visits, address: str = "decisions", **options: Any) -> Page:
        """Open a page of the site from the disk."""
        page = visits.page(**options)
        page.goto(f"{(self.site / 'index.html').as_uri()}#/{address}")
        shown(page)
        return page


@pytest.fixture(scope="module")
def written(library: Serving, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Write a site of the project's own records and some from agents."""
    ids = [
        library.ask("recordDecision", decision=f"{text}.", confidence=0.5 + n / 10, project="harbour", **more)["id"]
        for n, (text, more) in enumerate(HARBOUR.items())
    ]
    ingested = [
        {"kind": "decision", "id": "h-1", "title": "Buy a tug", "text": "We buy one.", "stakes": "unheard-of"},
        {"kind": "decision", "id": "h-2", "title": "Lease a tug", "text": "We lease one.", "supersedes": "h-1"},
    ]
    folder = tmp_path_factory.mktemp("site")
    write_lines(folder / "tugs.jsonl", [{**one, "date": "2026-11-21", "status": "accepted"} for one in ingested])
    place = {"CSTP_DATA_DIR": str(library.settings.data_dir), "CSTP_STORE__URL": library.settings.store_url}
    assert cstp(folder, "ingest", "tugs.jsonl", environment=place).returncode == 0
    library.ask("reviewDecision", id=ids[3], outcome="success", lessons="Cranes are slow.")
    library.ask(
        "updateDecision", id=ids[0], reason="said better", updates={"decision": "Build a second berth at once."}
    )
    for source, type, target in ((0, "depends_on", 1), (1, "relates_to", 2), (2, "refines", 3), (0, "blocks", 4)):
        library.ask("linkDecisions", sourceId=ids[source], edgeType=type, targetId=ids[target])
    library.caught_up()
    token = library.token(**EVERYTHING)
    made(folder, "site", "--title", "The harbour", environment={"CSTP_URL": library.url, "CSTP_TOKEN": token})
    return Written(folder / "site", library, token)


@pytest.fixture(scope="module")
def answers(written: Written, windows: Windows) -> Iterator[Callable[..., Any]]:
    """Yield `answers("getStats", project="p")`: the site's answer, in one page; an error as code and data."""
    visits = Visits(windows)
    page = written.open(visits)
    ask = """async ([method, params]) => {
        try { return await cstp.site.call(`cstp.${method}`, params); }
        catch (error) { return { code: error.code, data: error.data, message: error.message }; }
    }"""
    yield lambda method, **params: page.evaluate(ask, [method, params])
    visits.close()


def test_decision_lists_filter_and_sort_as_the_server(written: Written, answers: Callable[..., Any]) -> None:
    sizes = {}
    for params in [*FILTERS, *ORDERS]:
        found = answers("listDecisions", **params)
        assert found == written.serving.ask("listDecisions", written.token, **params), params
        sizes[str(params)] = found["total"]
    assert sizes[str({"overdue": True})] == 2
    assert sizes[str({"tags": ["STRASSE", "berth"]})] == 1
    assert 0 < sizes[str({"current": True, "limit": 500})] < sizes["{}"]
    assert answers("listDecisions", sort="title")["code"] == -32602


def test_statistics_are_those_of_the_server(written: Written, answers: Callable[..., Any]) -> None:
    for params in ({}, {"project": "harbour"}, {"dateFrom": "2026-11-22", "dateTo": "2026-11-24"}):
        assert answers("getStats", **params) == written.serving.ask("getStats", written.token, **params)


def test_one_decision_is_whole(written: Written, answers: Callable[..., Any]) -> None:
    for one in written.serving.ask("listDecisions", limit=500)["decisions"]:
        assert answers("getDecision", id=one["id"]) == written.serving.ask("getDecision", written.token, id=one["id"])
    bare = {"id": one["id"], "includeHistory": False, "includeReviews": False, "includeLinks": False}
    assert answers("getDecision", **bare) == written.serving.ask("getDecision", written.token, **bare)
    missing = answers("getDecision", id="dec_none")
    assert (missing["code"], missing["data"]) == (-32007, {"id": "dec_none"})
    assert answers("getDecision", id=one["id"], knownAt="2026-01-01")["code"] == -32601


def test_graphs_are_those_of_the_server(written: Written, answers: Callable[..., Any]) -> None:
    harbour = written.serving.ask("listDecisions", project="harbour")["decisions"]
    superseded = written.serving.ask("listDecisions", status="superseded")["decisions"]
    largest = 0
    for one in [*harbour, *superseded]:
        for more in (
            {},
            {"depth": 1},
            {"depth": 5},
            {"direction": "outgoing", "depth": 3},
            {"direction": "incoming", "depth": 3},
            {"edgeTypes": ["relates_to", "supersedes"], "depth": 4},
            {"limit": 2, "depth": 5},
        ):
            params = {"nodeId": one["id"], **more}
            found = answers("getGraph", **params)
            assert found == written.serving.ask("getGraph", written.token, **params), params
            largest = max(largest, len(found["edges"]))
    assert largest == 4
    assert answers("getGraph", nodeId="dec_none")["code"] == -32007


def test_other_records_are_those_of_the_server(written: Written, answers: Callable[..., Any]) -> None:
    episodes = written.serving.ask("listEpisodes", limit=100)["episodes"]
    tagged = next(one for one in episodes if one["tags"])
    chunks = [one["id"] for one in written.serving.ask("changes", since=0, kinds=["chunk"])["changes"]]
    topic = written.serving.ask("getPatterns")["results"][0]["topics"][0]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("listEpisodes", {}),
        ("listEpisodes", {"limit": 3, "offset": 2}),
        ("listEpisodes", {"tags": tagged["tags"][:1]}),
        ("listEpisodes", {"category": episodes[0]["category"] or "none"}),
        ("listEpisodes", {"dateFrom": episodes[5]["createdAt"], "since": "2999-01-01"}),
        ("listEpisodes", {"dateTo": episodes[5]["createdAt"][:10]}),
        *(("getEpisode", {"id": one["id"]}) for one in episodes),
        *((method, {}) for method in ("getDecisions", "getPatterns", "getWarnings")),
        *((method, {"topic": topic.upper(), "limit": 1}) for method in ("getDecisions", "getPatterns", "getWarnings")),
        ("getPatterns", {"limit": 2, "offset": 1}),
        *(("getChunk", {"chunkId": id}) for id in chunks),
        ("getChunk", {"chunkId": chunks[0], "includeRelated": False}),
        *(("recall", {"id": id, **BARE}) for id in chunks),
    ]
    for method, params in calls:
        assert answers(method, **params) == written.serving.ask(method, written.token, **params), (method, params)
    assert len(chunks) > 5
    assert answers("getEpisode", id=10**6)["code"] == answers("getChunk", chunkId="none")["code"] == -32007


def test_a_search_finds_words_prefixes_and_near_spellings(written: Written, answers: Callable[..., Any]) -> None:
    title = "Keep the records in SQLite by default, in PostgreSQL when a URL names one"
    for query in (title, "sqlite default postgresql url", "sqli defau postgre", "sqlte postgressql default"):
        (first, *_) = answers("search", query=query, limit=5)["results"]
        assert (first["type"], first["title"]) == ("decision", title), query
    (berth,) = answers("search", query="berth", project="harbour", tags=["STRASSE"])["results"]
    assert berth["title"] == "Build a second berth at once."
    slow = answers("search", query="cranes slow", kinds=["decision"])["results"]
    assert slow[0]["snippet"] == "Cranes are slow."  # the lesson of a review is found, too
    for kind in ("decision", "chunk", "episode", "extraction"):
        assert {one["type"] for one in answers("search", query="index", kinds=[kind])["results"]} == {kind}
    found = answers("search", query="store", limit=50)["results"]
    assert len(found) == 50
    assert all("stor" in (one["snippet"] + (one["title"] or "")).lower() for one in found)
    assert max(len(one["snippet"]) for one in found) <= 310
    dated = answers("search", query="store", limit=50, dateFrom="2026-11-24", dateTo="2026-11-24")["results"]
    assert {one["date"][:10] for one in dated} == {"2026-11-24"}
    assert answers("search", query="store", kinds=["event", "turn"], mode="semantic")["results"] == []
    assert answers("search", query="store", mode="semantic")["code"] == -32602


def test_knowledge_is_found_by_words_topics_and_sources(written: Written, answers: Callable[..., Any]) -> None:
    chunk = written.serving.ask("recall", id="chk_running-2", **BARE)["results"][0]
    source = chunk["metadata"]["sourceId"]
    for named in (source, "RUNNING A DECISION SERVER: NOTES"):
        found = answers("searchKnowledge", query="none of these", filters={"source": named, "type": "chunk"}, limit=100)
        assert {one["source"]["sourceId"] for one in found["results"]} == {source}
        assert len(found["results"]) == 6
        assert found["metadata"]["sourcesCited"] == ["Running a decision server: notes"]
    (first, *_) = answers("searchKnowledge", query=chunk["content"][:300], filters={"type": ["chunk"]})["results"]
    assert (first["id"], first["content"], first["chunkInfo"]) == ("chk_running-2", chunk["content"], "2/6")
    pattern = written.serving.ask("getPatterns")["results"][0]
    (first, *_) = answers("searchKnowledge", query=pattern["name"], filters={"topic": pattern["topics"][0].upper()})[
        "results"
    ]
    assert (first["id"], first["extractionType"], first["content"]["solution"]) == (
        pattern["id"],
        "pattern",
        pattern["solution"],
    )
    episode = written.serving.ask("getEpisode", id=2)
    alike = answers("findEpisodes", query=f"{episode['query']} {episode['reflection']}", limit=3)["episodes"]
    assert (alike[0]["id"], alike[0]["reflection"]) == (2, episode["reflection"])


def test_a_site_names_the_need_of_a_server_for_missing_content(written: Written, answers: Callable[..., Any]) -> None:
    for method in ("recordDecision", "audit", "changes", "queryDecisions", "toString", "__proto__"):
        refused = answers(method, id="x")
        assert refused["code"] == -32601, method
        assert f"needs a server (cstp.{method})" in refused["message"]
    assert answers("recall", query="what was said")["code"] == -32601
    assert answers("recall", context="meeting")["results"] == []


# --- as a visitor sees it


def test_a_visitor_walks_from_the_table_to_a_decision_and_searches(written: Written, visits: Visits) -> None:
    page = written.open(visits)
    expect(page).to_have_title("Decisions – The harbour")
    expect(page.locator(".brand")).to_contain_text("The harbour")
    expect(page.get_by_text("as of")).to_be_visible()
    assert page.get_by_role("navigation").get_by_role("link").all_inner_texts() == [
        *("Decisions", "Search", "Timeline", "Graph", "Knowledge")
    ]
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("g then d, s, t, g, kgo to decisions, search, timeline")
    page.keyboard.press("Escape")
    page.keyboard.type("ga")  # the activity, missing from a site
    page.get_by_role("button", name="Overdue for review 2").click()
    expect(page.locator(".row")).to_have_count(2)
    page.get_by_role("link", name="Build a second berth").click()
    shown(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Build a second berth at once.")
    expect(page.get_by_text("Dredge the channel")).to_be_visible()
    expect(page.get_by_text("Revision 1")).to_be_visible()
    for of_servers in ("The call", "As it was known", "Who read it", "Forget"):
        expect(page.get_by_text(of_servers)).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type("damaged index")
    expect(page.locator(".result mark").first).to_be_visible()
    expect(page.get_by_text("Found by words, in titles, tags and texts.")).to_be_visible()
    page.locator(".result a").first.click()
    shown(page)
    page.reload()  # the address is the state
    shown(page)
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Decisions")


def test_every_page_of_a_site_shows_its_records(written: Written, visits: Visits) -> None:
    page = written.open(visits, "timeline")
    extraction = written.serving.ask("getPatterns")["results"][0]
    decision = written.serving.ask("listDecisions", project="harbour")["decisions"][0]
    for address, text in {
        "timeline": "Build a second berth",
        f"graph/{decision['id']}": "Dredge the channel",
        "knowledge": "Running a decision server: notes",
        "knowledge?source=src_running-a-server": "Its passages",
        "knowledge?q=damaged": "damage",
        "passage/chk_running-2": "2/6",
        "episode/2": "Six conditions cost 231 ms",
        f"extraction/{extraction['id']}": extraction["name"],
    }.items():
        go(page, address)
        expect(page.get_by_role("main")).to_contain_text(text)
        expect(page.locator(".failure")).to_have_count(0)
    for address in ("conversations", "conversation/x", "activity", "server"):
        go(page, address)
        expect(page.get_by_role("heading", level=1)).to_have_text("This page needs a server")
    go(page, "decision/none")
    expect(page.get_by_role("alert")).to_contain_text("There is no record none in this site.")


def test_a_site_names_its_missing_file(written: Written, visits: Visits, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    for path in written.site.iterdir():
        if path.name != "data":
            (site / path.name).symlink_to(path)
    visits.expected += ["ERR_FILE_NOT_FOUND", "data/about.js"]
    page = Written(site, written.serving, written.token).open(visits)
    expect(page.get_by_role("alert")).to_contain_text("data/about.js cannot be loaded")
    (site / "data").symlink_to(written.site / "data")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".row").first).to_be_visible()


@pytest.fixture
def host(written: Written) -> Iterator[str]:
    """Yield the location of the site on a file host, in a separate folder."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Discard the message."""

    server = HttpServer(partial(Quiet, directory=str(written.site.parent)))  # type: ignore[arg-type]
    yield f"http://127.0.0.1:{server.server_port}/site/"
    server.close()


def test_any_host_of_files_serves_it_from_any_folder(written: Written, visits: Visits, host: str) -> None:
    page = visits.page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(host)
    shown(page)
    page.get_by_role("link", name="Report possible conflicts by rules").click()
    expect(page.get_by_role("article")).to_contain_text("negation")
    go(page, "search?q=berth")
    expect(page.locator(".result").first).to_be_visible()
    assert len(asked) > 20
    assert [url for url in asked if not url.startswith((host, "data:"))] == []
