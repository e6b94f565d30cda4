"""`cstp ui`: finds the data folder's server and opens the page by a link that no backup has."""

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest

from cstp_server.cli.conventions import MISUSED, UNREACHABLE
from tests.chaos.process import Served, run_cstp, start_cstp

pytestmark = pytest.mark.timeout(300)
LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/ui/#code=([A-Za-z0-9_-]{43})")
Ui = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(tmp_path_factory.mktemp("ui") / "data").start()
    yield server
    server.kill()


@pytest.fixture
def browser(tmp_path: Path) -> tuple[str, Path]:
    """Return the program for BROWSER, and the file in which it notes requested pages."""
    script, opened = tmp_path / "browser.sh", tmp_path / "opened"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    script.chmod(0o700)
    return f"{script} %s", opened


@pytest.fixture
def ui(served: Served, tmp_path: Path, browser: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> Ui:
    """Return `ui("--json")`: runs the command on the server's data folder; `elsewhere` on another folder."""
    monkeypatch.setenv("BROWSER", browser[0])

    def run(*words: object, elsewhere: bool = False, **overrides: str) -> "subprocess.CompletedProcess[str]":
        folder = tmp_path / "none" if elsewhere else served.data_dir
        return run_cstp("ui", *words, "--data-dir", folder, overrides=overrides, cwd=tmp_path)

    return run


def claim(link: str) -> httpx.Response:
    shape = LINK.fullmatch(link)
    assert shape is not None, link
    return httpx.post(f"{shape[1]}/ui/session", json={"code": shape[2]}, timeout=60, trust_env=False)


def whoami(link: str) -> Any:
    """Claim a link, and return the page's identity."""
    base = link.partition("/ui/")[0]
    body = {"jsonrpc": "2.0", "id": 1, "method": "cstp.whoami"}
    headers = {"Authorization": f"Bearer {claim(link).json()['token']}"}
    return httpx.post(f"{base}/cstp", json=body, headers=headers, timeout=60, trust_env=False).json()["result"]


def test_the_link_is_printed_and_opened_and_good_for_reading(ui: Ui, served: Served, browser: tuple[str, Path]) -> None:
    done = ui()
    link, about = done.stdout.splitlines()
    assert (done.returncode, browser[1].read_text()) == (0, link)
    assert link.startswith(f"http://127.0.0.1:{served.port}/ui/#code=")
    assert "The link works once, within 60 s." in about
    assert "the agent ui" in about
    caller = whoami(link)
    assert (caller["agent"], caller["scopes"], caller["clearance"]) == ("ui", ["read"], "normal")
    assert caller["projects"] is None
    assert claim(link).status_code == 401


def test_every_right_is_an_option(ui: Ui, browser: tuple[str, Path]) -> None:
    words = ("--agent", "ada", "--scope", "read,write", "--scope", "admin", "--clearance", "sensitive")
    done = ui(*words, "--project", "a", "--project", "b", "--expires", "30m", "--no-browser", "--json")
    shown = json.loads(done.stdout)
    assert not browser[1].exists()
    rights = {"agent": "ada", "scopes": ["read", "write", "admin"], "clearance": "sensitive", "projects": ["a", "b"]}
    assert {name: shown[name] for name in rights} == rights
    assert (shown["opened"], shown["tokenSeconds"]) == (False, 1800)
    caller = whoami(shown["url"])
    assert {name: caller[name] for name in rights} == rights


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--agent", " "), "--agent"),
        (("--scope", "root"), "--scope"),
        (("--clearance", "top"), "--clearance"),
        (("--project", " "), "--project"),
        (("--expires", "soon"), "--expires"),
        (("--expires", "0d"), "--expires"),
    ],
    ids=str,
)
def test_impossible_rights_make_no_link(ui: Ui, served: Served, words: tuple[str, ...], named: str) -> None:
    before = set((served.data_dir / "ui-links").glob("*"))
    done = ui(*words)
    assert (done.returncode, done.stdout) == (MISUSED, "")
    assert named in done.stderr.splitlines()[-1]
    assert set((served.data_dir / "ui-links").glob("*")) == before


def test_without_a_display_only_the_link_is_printed(ui: Ui, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    done = ui()
    assert done.returncode == 0
    assert LINK.fullmatch(done.stdout.splitlines()[0])
    assert "no browser was found" in done.stderr
    assert json.loads(ui("--json").stdout)["opened"] is False


def test_a_folder_without_a_server_is_named_with_the_command_to_start(ui: Ui) -> None:
    done = ui(elsewhere=True)
    assert (done.returncode, done.stdout) == (UNREACHABLE, "")
    assert re.search(r"no server uses the data folder /\S+/none; start one: cstp serve", done.stderr)


def test_a_server_without_the_page_is_named_with_the_setting(tmp_path: Path, browser: tuple[str, Path]) -> None:
    server = Served(tmp_path / "off", {"ui.enabled": False}).start()
    try:
        for words in (("--data-dir", server.data_dir), ("--url", f"http://127.0.0.1:{server.port}")):
            done = run_cstp("ui", *words, cwd=tmp_path)
            assert (done.returncode, done.stdout) == (MISUSED, "")
            assert "ui.enabled: is off on http://127.0.0.1" in done.stderr
        assert not (server.data_dir / "ui-links").exists()
    finally:
        server.kill()


def test_remote_page_opens(ui: Ui, served: Served, browser: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    base = f"http://127.0.0.1:{served.port}"
    done = ui("--url", f"{base}/cstp", elsewhere=True)
    page, about = done.stdout.splitlines()
    assert (done.returncode, page, browser[1].read_text()) == (0, f"{base}/ui/", f"{base}/ui/")
    assert about.startswith("Paste a token into the page")
    refused = ui("--url", base, "--scope", "write", elsewhere=True)
    assert (refused.returncode, refused.stdout) == (MISUSED, "")
    assert "--scope means nothing for" in refused.stderr
    nowhere = ui("--url", "http://127.0.0.1:1", elsewhere=True)
    assert (nowhere.returncode, nowhere.stdout) == (UNREACHABLE, "")
    assert json.loads(ui("--url", base, "--json", elsewhere=True).stdout) == {"url": f"{base}/ui/", "opened": True}


def test_an_address_of_the_server_of_the_folder_is_not_elsewhere(ui: Ui, served: Served) -> None:
    for host in ("127.0.0.1", "localhost"):
        done = ui("--url", f"http://{host}:{served.port}", "--agent", "here", "--no-browser")
        assert whoami(done.stdout.splitlines()[0])["agent"] == "here"


def test_a_backup_has_no_links_and_doctor_finds_nothing_wrong_with_them(ui: Ui, served: Served, tmp_path: Path) -> None:
    link = ui("--no-browser", "--agent", "kept-out").stdout.splitlines()[0]
    shape = LINK.fullmatch(link)
    assert shape is not None
    name = sha256(shape[2].encode()).hexdigest()
    assert (served.data_dir / "ui-links" / name).is_file()
    assert claim(ui("--no-browser", "--expires", "1m").stdout.splitlines()[0]).status_code == 200
    words = ("doctor", "--json", "--data-dir", served.data_dir)
    findings = json.loads(run_cstp(*words, overrides=served.overrides, cwd=tmp_path).stdout)["findings"]
    assert [one for one in findings if "ui-links" in json.dumps(one)] == []
    # the page's token is meant to end soon, as no other is
    warned = [one["seen"].split()[4] for one in findings if one["seen"].startswith("the last token of ")]
    assert warned == ["chaos"]
    file, other = tmp_path / "backup", tmp_path / "restored"
    assert run_cstp("backup", file, "--data-dir", served.data_dir, cwd=tmp_path).returncode == 0
    assert not any(word in file.read_bytes() for word in (name.encode(), b"kept-out"))
    assert run_cstp("restore", file, "--tokens", "--data-dir", other, cwd=tmp_path).returncode == 0
    assert (other / "tokens.json").is_file()
    assert not (other / "ui-links").exists()
    assert claim(link).status_code == 200


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[str]]]:
    """Yield `demo(9)`: this many first lines of a demo; the data folder is in the test's."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    started: list[subprocess.Popen[str]] = []

    def start(lines: int, **overrides: object) -> list[str]:
        process = start_cstp("demo", "--port", "0", overrides=overrides, cwd=tmp_path)
        started.append(process)
        assert process.stdout is not None
        return list(islice((line.strip() for line in process.stdout if line.strip()), lines))

    yield start
    for process in started:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@pytest.mark.long("starts a demo, or builds the wheel")
def test_a_demo_ends_with_a_link_to_all_rights(demo: Callable[..., list[str]], tmp_path: Path) -> None:
    *_, sentence, link = demo(9)
    assert sentence == "Open this link in a browser (single use, valid for 10 minutes, full access):"
    (grant,) = (path for path in tmp_path.glob("cstp-demo-*/ui-links/*") if path.suffix != ".lock")
    left = datetime.fromisoformat(json.loads(grant.read_text())["ends"]) - datetime.now(UTC)
    assert timedelta(minutes=8) < left <= timedelta(minutes=10)
    caller = whoami(link)
    assert caller["scopes"] == ["read", "write", "review", "admin"]
    assert (caller["clearance"], caller["projects"]) == ("highly_sensitive", None)
    assert claim(link).status_code == 401


@pytest.mark.long("starts a demo, or builds the wheel")
def test_a_demo_without_the_page_prints_no_link(demo: Callable[..., list[str]]) -> None:
    assert demo(7, **{"ui.enabled": False})[-1].endswith("demo --all")
