"""The page for people in a real chromium: how long a visitor waits, and how many bytes are sent for it.

The times are the page's own (`pages.js`, which runs before its scripts), so what the driver of the browser costs is
in none of them.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any, Final
from urllib.parse import quote

import orjson
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

from benchmarks.measure import Timing, timing
from benchmarks.page import RIGHT, table, times, verdict
from benchmarks.serving import Caller, NotServing, result_of
from cstp_server.ui.assets import static_folder

PAGE_ROUNDS: Final = 15
FIRST_VIEW_MS: Final = 200.0
INTERACTION_MS: Final = 100.0
TRANSFER_BYTES: Final = 400_000

_WARM_UP: Final = 2  # rounds that do not count
_SCRIPT: Final = Path(__file__).with_name("pages.js")
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_TIMEOUT: Final = 90_000  # ms for a step of the browser; the script gives up before
_FRAMES: Final = 60
_SCREENS: Final = 3
_SORTS: Final = ("Confidence", "Stakes", "Category", "Status")
_VIEWS: Final = ("Current", "Superseded")
_CATEGORIES: Final = ("architecture", "integration", "rare")
_READING: Final = f"""\
Reading the tables:

- `/ui/` of the real server, in its own process, in a real chromium without a window on the same machine; the visitor is
  signed in. A time is `p50 / p95` in milliseconds. Each round does everything once.
- *First view*: from navigation until the first rows of decisions are painted; *cold* with an empty cache, *again* is a
  reload. It is compared with `/healthz` as a page, which is a few bytes without scripts, until it is painted.
- *Interactions*: from the input event until the document has the whole answer, by the page's clock. They are compared
  with the calls that give the answer, sent from Python, one after another, with the same parameters; for the search a
  query with one more letter, so that the server embeds it as it did for the page.
- *Scrolling*: the longest frame, and the longest task that chromium reports (0: none took 50 ms), while every frame
  scrolls the table by three screens; compared with the same number of frames in which nothing scrolls.
- *Transferred* are the bytes of bodies as sent: compressed where they are. The files of every page include all
  libraries, which pages load when they need them; what is answered on every page depends on the records.
- *Promised*: a first view below {FIRST_VIEW_MS:.0f} ms, an interaction below {INTERACTION_MS:.0f} ms, by their p50;
  less than {TRANSFER_BYTES // 1000} kB for the first view, and for all files."""


class NoBrowser(Exception):
    """There is no chromium on this machine."""


@dataclass(frozen=True, slots=True)
class Action:
    """An interaction of `pages.js`, what it is called in the table, and the methods that give its answer."""

    script: str
    name: str
    methods: frozenset[str]


_LISTED: Final = frozenset({"cstp.listDecisions"})
ACTIONS: Final = (
    Action("sort", "a sort by another column", _LISTED),
    Action("view", "another view", _LISTED),
    Action("filter", "a filter by category", _LISTED),
    Action("scroll", "a scroll to another place", _LISTED),
    Action("open", "opening a decision", frozenset({"cstp.getDecision"})),
    Action("back", "back to the table", _LISTED),
    Action("type", "a letter of a search", frozenset({"cstp.search"})),
    Action(
        "earlier",
        "an earlier time of the timeline",
        frozenset({"cstp.getStats", "cstp.listDecisions", "cstp.listEpisodes", "cstp.search"}),
    ),
)


@dataclass(frozen=True, slots=True)
class PageRow:
    """Something that a visitor waits for, what it is compared with, and the p50 that is promised, in milliseconds."""

    name: str
    timing: Timing
    control: str
    alone: Timing
    below: float | None  # None: nothing is promised


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bytes of bodies as they were sent: of the page's files, and of the answers to its calls.

    `bounded` are those that the promise is about.
    """

    name: str
    files: int
    answers: int
    bounded: int


@dataclass(frozen=True, slots=True)
class PageBlock:
    """Everything about one size, in decisions."""

    size: int
    rows: Sequence[PageRow]
    transfers: Sequence[Transfer]


@dataclass(slots=True)
class _Found:
    """Milliseconds by name, of the page and of what it is compared with."""

    page: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    alone: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def note(self, name: str, page: float, alone: float) -> None:
        self.page[name].append(page)
        self.alone[name].append(alone)

    def row(self, name: str, control: str, below: float | None) -> PageRow:
        return PageRow(name, timing(self.page[name]), control, timing(self.alone[name]), below)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run Debian's chromium, or another one of this machine, without a window. Raises NoBrowser if there is none."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        raise NoBrowser(f"none of {', '.join(_NAMES)} is in PATH; install one: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def measure_pages(browser: Browser, caller: Caller, size: int, queries: Sequence[str], rounds: int) -> PageBlock:
    """Return all rows for the server of `caller`, which holds `size` decisions. A round uses another one of `queries`.

    Raises playwright's TimeoutError or Error where the page does not show an answer, with the answer's name.
    """
    found = _Found()
    lasting = _context(browser, caller)
    page = _page(lasting)
    page.goto(_address(caller))
    for number in range(-_WARM_UP, rounds):
        kept = found if number >= 0 else _Found()
        _first_views(browser, caller, kept)
        _interactions(page, caller, queries[number % len(queries)], number + _WARM_UP, kept)
        _scrolling(page, kept)
    lasting.close()
    blank = "/healthz as a page"
    rows = [found.row(name, blank, FIRST_VIEW_MS) for name in ("first view, cold", "first view, again")]
    named = {action.name: ", ".join(f"`{method}`" for method in sorted(action.methods)) for action in ACTIONS}
    rows += [found.row(name, methods, INTERACTION_MS) for name, methods in named.items()]
    rows += [found.row(name, "no scrolling", None) for name in ("scrolling: longest frame", "scrolling: longest task")]
    return PageBlock(size, rows, _transfers(browser, caller))


def _first_views(browser: Browser, caller: Caller, found: _Found) -> None:
    """Measure with an empty cache and then a full one; a page without scripts under the same conditions."""
    taken: dict[str, list[float]] = {}
    for name, address in (("firstRow", _address(caller)), ("loaded", f"{_base(caller)}/healthz")):
        context = _context(browser, caller)
        page = _page(context)
        page.goto(address)
        cold = page.evaluate("name => measuring[name]", name)
        if name == "firstRow":
            page.evaluate("() => measuring.settled()")
        page.reload()
        taken[name] = [cold, page.evaluate("name => measuring[name]", name)]
        context.close()
    for name, view, blank in zip(("cold", "again"), taken["firstRow"], taken["loaded"], strict=True):
        found.note(f"first view, {name}", view, blank)


def _interactions(page: Page, caller: Caller, query: str, number: int, found: _Found) -> None:
    """Measure every action once, each from a settled page."""
    day = f"{2018 + number % 7}-{1 + number % 12:02}-15"
    starts = {
        "sort": ("decisions", _SORTS[number % len(_SORTS)]),
        "view": ("decisions", _VIEWS[number % len(_VIEWS)]),
        "filter": ("decisions", _CATEGORIES[number % len(_CATEGORIES)]),
        "scroll": ("decisions", Random(number).random()),
        "open": ("decisions", None),
        "back": (None, None),  # where the last one led
        "type": (f"search?q={quote(query[:-1])}", query[-1]),
        "earlier": (f"timeline?until={day}", None),
    }
    for action in ACTIONS:
        start, given = starts[action.script]
        if start is not None:
            page.evaluate("address => measuring.go(address)", start)
        page.evaluate("() => measuring.settled()")
        with _calls(page) as calls:
            elapsed = page.evaluate("([name, given]) => measuring.interaction(name, given)", [action.script, given])
        found.note(action.name, elapsed, _alone(caller, action, calls))


def _alone(caller: Caller, action: Action, calls: Sequence[dict[str, Any]]) -> float:
    """Return milliseconds of the calls among `calls` that gave the answer, one after another, without the page."""
    asked = [call for call in calls if call["method"] in action.methods]
    if not asked:
        raise NotServing(f"the page asked for nothing: {action.name}")
    took = 0.0
    with _connected(caller) as connection:
        for call in asked:
            params = call["params"]
            if action.script == "type":
                params = params | {"query": f"{params['query']}s"}  # a text that the server has not embedded yet
            began = perf_counter()
            body = connection.send(call["method"], params)
            took += (perf_counter() - began) * 1000
            result_of(body)
    return took


@contextmanager
def _connected(caller: Caller) -> Iterator[Caller]:
    """Open another connection at once: the server has closed one that was idle while the browser worked."""
    connection = Caller(caller.port, caller.token)
    connection.get("/healthz")
    yield connection
    connection.close()


@contextmanager
def _calls(page: Page) -> Iterator[list[dict[str, Any]]]:
    """Collect the calls that the page makes until the block ends."""
    calls: list[dict[str, Any]] = []

    def note(request: Request) -> None:
        if request.method == "POST" and request.post_data_buffer:
            calls.append(orjson.loads(request.post_data_buffer))

    page.on("request", note)
    yield calls
    page.remove_listener("request", note)


def _scrolling(page: Page, found: _Found) -> None:
    page.evaluate("() => measuring.go('decisions')")
    taken = [
        page.evaluate("([frames, screens]) => measuring.scrolling(frames, screens)", [_FRAMES, screens])
        for screens in (0, _SCREENS)
    ]
    for what in ("frame", "task"):
        found.note(f"scrolling: longest {what}", taken[1][what], taken[0][what])


def _transfers(browser: Browser, caller: Caller) -> list[Transfer]:
    """Return those of the first view, and then of every page and library in the same visit."""
    context = _context(browser, caller)
    page = _page(context)
    sent: list[Request] = []
    page.on("requestfinished", lambda request: sent.append(request))  # playwright takes no builtin
    page.goto(_address(caller))
    page.evaluate("() => measuring.settled()")
    files, answers = _bytes(sent)
    first = Transfer("first view", files, answers, files + answers)
    with _connected(caller) as connection:
        decision = result_of(connection.send("cstp.listDecisions", {"limit": 1}))["decisions"][0]["id"]
    pages: list[str] = page.evaluate("() => cstp.PLACES.map((place) => place.path)")
    for address in (*pages, f"decision/{decision}", f"graph/{decision}", "search?q=decision"):
        page.evaluate("address => measuring.go(address)", address)
    for library in sorted(path.name for path in (static_folder() / "vendor").iterdir()):
        if not any(request.url.endswith(f"/vendor/{library}") for request in sent):
            page.evaluate("name => cstp.library(name)", library)
    page.evaluate("() => measuring.settled()")
    files, answers = _bytes(sent)
    context.close()
    return [first, Transfer("every page and library", files, answers, files)]


def _bytes(sent: Sequence[Request]) -> tuple[int, int]:
    """Return the sizes of the bodies of files, and of answers to calls."""
    sizes = [(request.resource_type == "fetch", request.sizes()["responseBodySize"]) for request in tuple(sent)]
    return sum(size for call, size in sizes if not call), sum(size for call, size in sizes if call)


def _context(browser: Browser, caller: Caller) -> BrowserContext:
    """Return a visitor with an empty cache, who is signed in."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_init_script(f"sessionStorage.setItem('cstp-token', '{caller.token}')")
    context.add_init_script(path=_SCRIPT)
    return context


def _page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.set_default_timeout(_TIMEOUT)
    return page


def _base(caller: Caller) -> str:
    return f"http://127.0.0.1:{caller.port}"


def _address(caller: Caller) -> str:
    return f"{_base(caller)}/ui/#/decisions"


def render_pages(blocks: Sequence[PageBlock]) -> list[str]:
    """Return the parts of the page, in Markdown."""
    return [_READING, *(part for block in blocks for part in _block(block))]


def _block(block: PageBlock) -> list[str]:
    heads = ["what", "ms", "compared with", "ms", "ratio", "promised", "kept"]
    sent = ["transferred", "files, kB", "answers, kB", "together, kB", "promised", "kept"]
    return [
        f"## {block.size:,} decisions",
        table(heads, [_time_row(row) for row in block.rows], RIGHT),
        table(sent, [_transfer_row(transfer) for transfer in block.transfers], RIGHT),
    ]


def _time_row(row: PageRow) -> list[str]:
    ratio = f"{row.timing.p50 / row.alone.p50:.1f}" if row.alone.p50 else ""  # no long task at all is no measure
    promised = ["", ""] if row.below is None else [f"below {row.below:.0f}", verdict(row.timing.p50 < row.below)]
    return [row.name, times(row.timing, 1), row.control, times(row.alone, 1), ratio, *promised]


def _transfer_row(transfer: Transfer) -> list[str]:
    together = transfer.files + transfer.answers
    sizes = [f"{size / 1000:.1f}" for size in (transfer.files, transfer.answers, together)]
    what = "together" if transfer.bounded == together else "files"
    bound = f"{what} below {TRANSFER_BYTES // 1000}"
    return [transfer.name, *sizes, bound, verdict(transfer.bounded < TRANSFER_BYTES)]
