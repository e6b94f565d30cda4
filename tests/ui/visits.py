"""A real browser that looks at a real server over the project's own records."""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from cognition_engines.ingest.options import Amount, Options
from cognition_engines.ingest.run import ingest
from cstp_server.cli.commands.demo import demo_paths
from tests.serving import Serving, start
from tests.stores import Stores

PICTURES = Path(__file__).parents[2] / "build" / "ui"  # screenshots, as artefacts
EVERYTHING: dict[str, Any] = {"scopes": ("read", "write", "review", "ratify", "admin"), "clearance": "highly_sensitive"}


class Quiet:
    """No progress."""

    def start(self, total: Amount) -> None: ...

    def advance(self, done: Amount) -> None: ...


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One chromium for all tests of a process."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium")
    with ThreadPoolExecutor(1, "browser") as executor, sync_playwright() as playwright:
        executor.submit(int).result()  # its thread is this fixture's, and not of the test that needs it first
        playwright._loop.set_default_executor(executor)
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[Serving]:
    """A server over what `cstp demo` shows: this project's decisions and pages, and the sample of every kind."""
    serving, stop = start(tmp_path_factory.mktemp("ui") / "data", lasting_stores, None, None)
    ingest(demo_paths(), Options(repository="cstp"), serving.records, None, Quiet(), 1)
    serving.caught_up()
    yield serving
    stop()


@dataclass
class Visits:
    """Opens pages of a browser, and collects what went wrong in them."""

    browser: Browser
    problems: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # parts of problems that a test provokes

    def page(self, **options: Any) -> Page:
        """A page that nothing is open in; what it logs as an error fails the test."""
        context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)

        def note(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                self.problems.append(message.text)

        page.on("console", note)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))
        return page

    def signed_in(self, serving: Serving, address: str, token: str | None = None, **options: Any) -> Page:
        """The page at `address`, such as `decisions?view=current`, for a visitor with `token`, or who may do all."""
        page = self.page(**options)
        text = serving.token(**EVERYTHING) if token is None else token
        page.add_init_script(f"sessionStorage.setItem('cstp-token', '{text}')")
        page.goto(f"{base(serving)}/ui/#/{address}")
        shown(page)
        return page

    def unexpected(self) -> list[str]:
        return [one for one in self.problems if not any(part in one for part in self.expected)]


def base(serving: Serving) -> str:
    return serving.url.removesuffix("/cstp")


def shown(page: Page) -> None:
    """Waits until a page has its content: a heading, and nothing that is still awaited."""
    page.wait_for_selector("h1")
    for waiting in (".starting", ".placeholder", ".waiting"):
        page.wait_for_selector(waiting, state="detached")


def go(page: Page, address: str) -> None:
    """Another address of the page that is open, as a link would."""
    page.evaluate("address => { location.hash = '#/' + address }", address)
    shown(page)


@pytest.fixture
def visits(browser: Browser) -> Iterator[Visits]:
    """Pages of this test's own. At its end no page may have logged an error, or a breach of its security policy."""
    made = Visits(browser)
    yield made
    for context in made.contexts:
        context.close()
    if problems := made.unexpected():
        pytest.fail("\n".join(problems))


@pytest.fixture(scope="session")
def picture() -> Callable[[Page, str], None]:
    """Keeps a screenshot among the artefacts."""
    PICTURES.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        (PICTURES / f"{name}.png").write_bytes(page.screenshot())

    return take
