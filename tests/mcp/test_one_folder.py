"""Several processes over a shared data folder: all answer, and nothing is lost when the holder ends."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import psutil
import pytest

from cstp.client.sync_client import Client
from cstp_server.settings import Settings
from cstp_server.tokens import create_token
from tests.conftest import wait_until as wait
from tests.mcp.windows import Window, WindowClosed, holder_of
from tests.programs import COMMAND, plain_environment

Open = Callable[..., Window]
NO_LIMIT = {"CSTP_LIMITS__DEFAULT": "1000000/second", "CSTP_LIMITS__WRITES": "1000000/second"}
pytestmark = pytest.mark.long("starts programs that speak MCP")
KILLS = 20
TAKEOVERS = 3
PROCESSES = 10
MOST_MEMORY = 150 * 1024 * 1024


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Make a data folder with tokens of `writer` and `reader`, under a name too long for a socket."""
    folder = tmp_path / ("long-name-" * 8) / "data"
    folder.mkdir(parents=True)
    tokens = Settings.model_validate({"data_dir": folder}).tokens_path
    create_token(tokens, "writer", lifetime=timedelta(hours=1), scopes=("read", "write"))
    create_token(tokens, "reader", lifetime=timedelta(hours=1))
    return folder


@pytest.fixture
def window(data: Path) -> Iterator[Open]:
    """Yield `window("writer")`: a `cstp mcp` with this agent's rights; killed in the end."""
    opened: list[Window] = []

    def start(agent: str = "writer", **environment: str) -> Window:
        opened.append(Window(data, agent, **environment))
        return opened[-1]

    yield start
    for one in opened:
        one.process.kill()
        one.process.communicate()


@pytest.fixture
def command(data: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Yield `command("serve", "--port", 0)`: runs it over the data folder; killed in the end."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: object) -> "subprocess.Popen[str]":
        line = [*COMMAND, *map(str, words), "--data-dir", str(data)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen(line, text=True, env=plain_environment(), **pipes))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.communicate()


def decide(one: Window, title: str) -> Any:
    answer = one.call("record_decision", decision=title, confidence=0.5)
    if answer.get("success") and not answer["indexed"]:  # on a busy machine it is found a moment later
        wait(lambda: finds(one, title))
    return answer


def titles(one: Window) -> list[str]:
    """Return titles of all decisions, page by page."""
    found: list[str] = []
    while True:
        page = one.call("list_decisions", limit=100, offset=len(found))
        found += [each["title"] for each in page["decisions"]]
        if len(found) >= page["total"]:
            return found


def finds(one: Window, title: str) -> bool:
    found = one.call("query_decisions", query=title, mode="keyword")
    return title in [each["title"] for each in found["decisions"]]


def test_two_programs_over_one_folder_find_each_others_writes_and_keep_their_rights(window: Open, data: Path) -> None:
    first, second = window(), window()
    assert decide(first, "Paint the fence")["success"]
    assert decide(second, "Oil the gate")["success"]
    assert finds(first, "Oil the gate")
    assert finds(second, "Paint the fence")
    reader = window("reader")
    assert finds(reader, "Paint the fence")
    assert "FORBIDDEN" in json.dumps(decide(reader, "Sell the house"))
    asking = next(one for one in (first, second) if one.process.pid != holder_of(data))
    assert psutil.Process(asking.process.pid).memory_info().rss < MOST_MEMORY
    mode = (data / "indexes" / "calls.socket").stat().st_mode
    assert mode & 0o777 == 0o600


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None], ids=["SIGKILL", "SIGTERM", "end of input"])
def test_another_program_takes_over_the_folder(window: Open, data: Path, end: signal.Signals | None) -> None:
    first = window()
    decide(first, "Paint the fence")
    second, third = window(), window()
    assert finds(second, "Paint the fence")
    assert finds(third, "Paint the fence")
    if end is None:
        assert first.close() == 0
    else:
        first.process.send_signal(end)
    assert decide(second, "Oil the gate")["success"]
    assert finds(third, "Oil the gate")
    assert holder_of(data) in (second.process.pid, third.process.pid)


def test_a_server_takes_the_folder_from_a_program(window: Open, command: Callable[..., Any], data: Path) -> None:
    tokens = Settings.model_validate({"data_dir": data}).tokens_path
    _, secret = create_token(tokens, "team", lifetime=timedelta(hours=1), scopes=("read", "write"))
    before = window()
    decide(before, "Paint the fence")
    for title in ("Oil the gate", "Mow the lawn"):  # the second time after the server was killed
        server = command("serve", "--port", 0)
        url = next(word for line in server.stderr for word in line.split('"') if word.startswith("http"))
        assert holder_of(data) == server.pid
        with Client(url, secret) as client:
            client.record_decision(title, 0.5)
            assert finds(before, title)
            decide(before, f"{title} again")
            found = client.query_decisions(f"{title} again", mode="keyword")
            assert f"{title} again" in [each.title for each in found.decisions]
        after = window()
        assert finds(after, title)
        server.kill()
        server.wait()
        assert finds(after, f"{title} again")
    assert len(titles(before)) == 5


def test_programs_find_records_read_by_ingest_and_watch_into_their_folder(
    window: Open, command: Callable[..., Any], data: Path, wait_until: Callable[..., None]
) -> None:
    first, second = window(), window()
    decide(first, "Paint the fence")
    notes = data.parent / "notes"
    notes.mkdir()
    (notes / "gate.md").write_text("# Gates\n\nA gate needs pomegranate oil.\n")
    done = command("ingest", notes)
    assert done.wait(60) == 0, done.stderr.read()

    def knows(one: Window, word: str) -> bool:
        return word in json.dumps(one.call("search_knowledge", query=word, mode="keyword"))

    wait_until(lambda: knows(second, "pomegranate"))
    command("watch", notes)
    (notes / "lawn.md").write_text("# Lawns\n\nA lawn needs rhubarb.\n")
    wait_until(lambda: knows(first, "rhubarb") and knows(second, "rhubarb"))


@pytest.mark.parametrize("words", [("reindex",), ("compact",), ("site", "pages")], ids=lambda words: words[0])
def test_commands_get_the_folder(window: Open, command: Callable[..., Any], data: Path, words: tuple[str, ...]) -> None:
    first, second = window(), window()
    decide(first, "Paint the fence")
    assert finds(second, "Paint the fence")
    name, *rest = words
    done = command(name, *(data.parent / word for word in rest))
    _, said = done.communicate(timeout=60)
    assert done.returncode == 0, said
    assert finds(first, "Paint the fence")
    decide(second, "Oil the gate")
    assert finds(first, "Oil the gate")


def test_a_program_gives_the_folder_up_after_its_running_calls(window: Open, command: Callable[..., Any]) -> None:
    holder, over = window(**NO_LIMIT), Event()
    assert decide(holder, "Paint the fence")["success"]

    def work() -> int:
        """Search without a pause until the end; return the number of searches."""
        count = 0
        while not over.is_set():
            assert finds(holder, "Paint the fence"), count
            count += 1
        return count

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        try:
            for _ in range(TAKEOVERS):
                done = command("compact")
                assert done.wait(60) == 0, done.stderr.read()
        finally:
            over.set()
        assert working.result() > TAKEOVERS


def test_killed_holders_lose_and_double_no_write(window: Open, data: Path, wait_until: Callable[..., None]) -> None:
    killed: set[int] = set()
    written: list[str] = []
    over = Event()

    def work(number: int) -> None:
        """Write records, and find them, until the end. Restart a killed program."""
        one, count = window(**NO_LIMIT), 0
        while not over.is_set():
            count += 1
            title = f"Decision {number} of {count}"
            try:
                answer = decide(one, title)
                assert answer.get("success"), answer
                written.append(title)
                assert finds(one, title)
            except WindowClosed:
                assert one.process.wait(60) == -signal.SIGKILL
                assert one.process.pid in killed
                one = window(**NO_LIMIT)

    with ThreadPoolExecutor(PROCESSES) as pool:
        working = [pool.submit(work, number) for number in range(PROCESSES)]
        try:
            for _ in range(KILLS):
                due = len(written) + PROCESSES
                wait_until(lambda due=due: len(written) >= due and holder_of(data) not in {None, *killed})
                holder = holder_of(data)
                assert holder is not None
                killed.add(holder)
                os.kill(holder, signal.SIGKILL)
        finally:
            over.set()
        for one in working:
            one.result()
    found = titles(window(**NO_LIMIT))
    assert len(killed) == KILLS
    assert len(found) == len(set(found))
    assert set(written) <= set(found)


def test_hooks_and_programs_that_start_together_all_answer(data: Path, window: Open, tmp_path: Path) -> None:
    first = window()
    first.call("record_decision", decision="Keep orders in PostgreSQL", confidence=0.9)
    first.close()
    given = json.dumps({"session_id": "s", "source": "startup", "cwd": str(tmp_path)})
    words = [*COMMAND, "hook", "session-start", "--data-dir", str(data), "--agent", "reader"]
    environment = plain_environment(XDG_CACHE_HOME=str(tmp_path / "caches"))

    def run_hook(_: int) -> str:
        return subprocess.run(words, input=given, capture_output=True, text=True, env=environment, check=True).stdout

    def ask(_: int) -> str:
        return json.dumps(window("reader").call("get_session_context"))

    with ThreadPoolExecutor(12) as threads:
        answers = [*threads.map(run_hook, range(6)), *threads.map(ask, range(6))]
    assert ["Keep orders in PostgreSQL" in answer for answer in answers] == [True] * 12
