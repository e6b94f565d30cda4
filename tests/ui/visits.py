"""A real browser on a real server over the project's own records."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from cognition_engines.embedding.base import Embedder
from cognition_engines.ingest.options import Options, Silent
from cognition_engines.ingest.run import ingest
from cstp_server.cli.commands.demo import demo_paths
from tests.serving import Serving, start
from tests.stores import Stores

PICTURES = Path(__file__).parents[2] / "build" / "ui"  # screenshots, as artefacts
EVERYTHING: dict[str, Any] = {"scopes": ("read", "write", "review", "ratify", "admin"), "clearance": "highly_sensitive"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start a chromium for a module, no longer: the driving loop forbids any other loop in this thread."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium")
    with ThreadPoolExecutor(1, "browser") as executor, sync_playwright() as playwright:
        executor.submit(int).result()  # its thread belongs to this fixture, not to the first test that needs it
        playwright._loop.set_default_executor(executor)
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def put(serving: Serving, folder: Path, records: Iterable[Mapping[str, Any]], embedder: Embedder | None = None) -> None:
    """Ingest records from a file in `folder`, and wait until searches know them."""
    file = folder / "records.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    summary = ingest([file], Options(repository="tests"), serving.records, embedder, Silent(), 1)
    assert list(summary.rejected) == []
    serving.caught_up()


@pytest.fixture(scope="session")
def demo_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data folder of `cstp demo`, ingested once per process, for modules to copy."""
    folder = tmp_path_factory.mktemp("demo") / "data"
    serving, stop = start(folder, Stores(), None, None)
    ingest(demo_paths(), Options(repository="cstp"), serving.records, None, Silent(), 1)
    serving.caught_up()
    stop()
    return folder


@pytest.fixture(scope="module")
def library(demo_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Start a server over a copy of the `cstp demo` data: the project's decisions and pages, a sample per kind."""
    folder = shutil.copytree(demo_data, tmp_path_factory.mktemp("ui") / "data")
    serving, stop = start(folder, Stores(), None, None)
    yield serving
    stop()


@dataclass
class Windows:
    """Browser windows by their options: a window takes a processor second to open, a page in it a third."""

    browser: Browser
    opened: dict[str, BrowserContext] = field(default_factory=dict)

    def window(self, options: Mapping[str, Any]) -> BrowserContext:
        name = json.dumps(options, sort_keys=True)
        if name not in self.opened:
            self.opened[name] = self.browser.new_context(**options)
        return self.opened[name]


@pytest.fixture(scope="module")
def windows(browser: Browser) -> Windows:
    """Return the windows shared by a module's tests."""
    return Windows(browser)


def _clear(page: Page) -> None:
    """Close a page, and delete stored data."""
    origin = page.evaluate("location.origin")
    if origin.startswith("http"):
        request = {"origin": origin, "storageTypes": "all"}
        page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", request)
    page.context.clear_cookies()
    page.close()


@dataclass
class Visits:
    """Opener of browser pages that collects their errors."""

    windows: Windows
    problems: list[str] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # parts of problems provoked by a test

    def page(self, **options: Any) -> Page:
        """Return an empty page; an error logged by it fails the test."""
        page = self.windows.window({"viewport": {"width": 1280, "height": 900}} | options).new_page()
        self.pages.append(page)
        page.set_default_timeout(30_000)

        def note(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                self.problems.append(message.text)

        page.on("console", note)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))
        return page

    def signed_in(self, serving: Serving, address: str, token: str | None = None, **options: Any) -> Page:
        """Return the page at `address`, such as `decisions?view=current`, for a visitor with `token` or all rights."""
        page = self.page(**options)
        text = serving.token(**EVERYTHING) if token is None else token
        page.add_init_script(f"sessionStorage.setItem('cstp-token', '{text}')")
        page.goto(f"{base(serving)}/ui/#/{address}")
        shown(page)
        return page

    def unexpected(self) -> list[str]:
        return [one for one in self.problems if not any(part in one for part in self.expected)]

    def close(self) -> None:
        """Close all pages, and fail if one has logged an error or a breach of its security policy."""
        for page in self.pages:
            _clear(page)
        if problems := self.unexpected():
            pytest.fail("\n".join(problems))


def base(serving: Serving) -> str:
    return serving.url.removesuffix("/cstp")


def shown(page: Page) -> None:
    """Wait until a page has all content: a heading, and nothing pending."""
    page.wait_for_selector("h1")
    for waiting in (".starting", ".placeholder", ".waiting"):
        page.wait_for_selector(waiting, state="detached")


def go(page: Page, address: str) -> None:
    """Navigate the open page to another address, as a link would."""
    page.evaluate("address => { location.hash = '#/' + address }", address)
    shown(page)


@pytest.fixture
def visits(windows: Windows) -> Iterator[Visits]:
    """Yield pages for this test alone, none of which may have logged an error."""
    made = Visits(windows)
    yield made
    made.close()


@pytest.fixture(scope="session")
def picture() -> Callable[[Page, str], None]:
    """Save a screenshot among the artefacts."""
    PICTURES.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        (PICTURES / f"{name}.png").write_bytes(page.screenshot())

    return take
