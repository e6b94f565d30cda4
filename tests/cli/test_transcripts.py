"""Commands and their complete output, as shown in `tests/cli/transcripts/*.txt`; `transcripts.py` has the notation."""

import io
import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.ingest.maps.map_files import SHIPPED
from cognition_engines.store.audit.chain import AuditedRecord, AuditEntry
from cognition_engines.store.records import open_records
from tests.cli.conftest import Done
from tests.cli.transcripts import FOLDER, WRITTEN, Item, Session, fill, mask, matches, read, refresh, shown, write
from tests.http_servers import HttpServer, answering
from tests.masking.fakes import fake
from tests.programs import run_cstp

MARKS = {"long", "embedded_only"}


FILES = {path.stem: read(path) for path in sorted(FOLDER.glob("*.txt"))}
WRITTEN_FILES = set(filter(None, os.environ.get(WRITTEN, "").split(os.pathsep)))
SESSIONS = [
    pytest.param(
        one,
        id=f"{one.file}: {one.title}",
        marks=[getattr(pytest.mark, name)(words) for name, words in one.setups if name in MARKS],
    )
    for sessions in FILES.values()
    for one in sessions[1:]
]


@pytest.fixture(scope="module", autouse=True)
def written() -> Iterator[None]:
    """Write the files refreshed by the run."""
    yield
    for name in WRITTEN_FILES:
        write(FOLDER / f"{name}.txt", FILES[name])


@dataclass
class Shell:
    """A runner of session items."""

    request: pytest.FixtureRequest
    patch: pytest.MonkeyPatch
    run_command: Callable[..., Any]
    writing: bool
    places: dict[str, str]
    values: dict[str, str] = field(default_factory=dict)
    servers: list[HttpServer] = field(default_factory=list)

    def run(self, item: Item) -> None:
        """Execute an item; fail with the line if the answer differs."""
        match item.kind:
            case "setup":
                self._set_up(*item.text.partition(" ")[::2])
            case "file":
                path = Path(os.fsdecode(fill(item.text, self.places | self.values)))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(fill("".join(f"{line}\n" for line in item.lines), self.places | self.values))
            case "command":
                self._compare(item, *self._execute(os.fsdecode(fill(item.text, self.places | self.values))))

    def _set_up(self, name: str, text: str) -> None:
        words = os.fsdecode(fill(text, self.places | self.values))
        if name == "server":
            options = dict(word.split("=", 1) for word in shlex.split(words))
            rights = {name: options.pop(name) for name in ("agent", "clearance") if name in options}
            scopes = options.pop("scopes", "read,write,review").split(",")
            started = self.request.getfixturevalue("asked")(options, scopes=scopes, **rights)
            self.places["<url>"] = f"http://127.0.0.1:{started.port}"
        elif name == "answers":
            status, _, body = words.partition(" ")
            self.servers.append(answering(int(status), os.fsencode(body)))
            url = f"http://127.0.0.1:{self.servers[-1].server_port}"
            self.places["<url>"] = url
            self.patch.setenv("CSTP_URL", url)
            self.patch.setenv("CSTP_TOKEN", "cstp_a_b")
        elif name == "secret":
            self.places |= {"<secret>": "ghp_" + fake(36), "<secret 2>": "ghp_" + fake(36, seed="other")}
        elif name == "on_disk":
            folder = self.request.getfixturevalue("folder_on_disk")
            self.places["<folder>"] = str(folder)
            self.patch.chdir(folder)
        elif name == "database":
            self.places["<database>"] = self.request.getfixturevalue("postgresql_url").partition("@")[2]
        elif name == "sql":
            with closing(sqlite3.connect("data/records.sqlite3", isolation_level=None)) as connection:
                connection.execute(words)
        elif name not in MARKS:
            self.request.getfixturevalue(name)

    def _execute(self, line: str) -> tuple[int, str, str]:
        words = shlex.split(line)
        environment = {}
        while words and "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        match words:
            case ["cstp", *rest]:
                return self._call(rest, environment)
            case ["cd", folder]:
                self.patch.chdir(folder)
            case ["export", pair]:
                self.patch.setenv(*pair.split("=", 1))
            case ["unset", name]:
                self.patch.delenv(name, raising=False)
            case _:
                done = subprocess.run(["sh", "-c", os.fsencode(line)], capture_output=True, check=False)
                return done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr)
        return 0, "", ""

    def _call(self, words: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        output = None
        if words[-2:-1] == [">"]:
            *words, _, output = words
        with pytest.MonkeyPatch.context() as patch:
            if words[-2:-1] == ["<"]:
                *words, _, given = words
                patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(given).read_bytes()), encoding="utf-8"))
            if words[0] == "hook":  # started separately
                ended = run_cstp(*words, input=sys.stdin.read(), env={**os.environ, **environment})
                done = Done(ended.returncode, ended.stdout, ended.stderr)
            else:
                done = self.run_command(*words, **environment)
        if output is not None:
            Path(output).write_text(done.out, encoding="utf-8")
        return done.code, "" if output else done.out, done.err

    def _compare(self, item: Item, code: int, out: str, err: str) -> None:
        lines, errors = (shown(text, self.places) for text in (out, err))
        agrees = [matches(item.lines, lines, self.values), matches(item.errors, errors, self.values)]
        if self.writing:
            item.code = code
            item.lines = item.lines if agrees[0] else refresh(item.lines, lines, self.values)
            item.errors = item.errors if agrees[1] else refresh(item.errors, errors, self.values)
            return
        if not (all(agrees) and code == item.code):
            found = [*mask(lines, self.values), *(f"! {line}" for line in mask(errors, self.values)), f"? {code}"]
            expected = [*item.lines, *(f"! {line}" for line in item.errors), f"? {item.code}"]
            differences = "\n".join(unified_diff(expected, found, "transcript", "answer", n=1, lineterm=""))
            pytest.fail(f"line {item.line}: $ {item.text}\n{differences}", pytrace=False)


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """Place files as on Linux."""
    monkeypatch.setattr("sys.platform", "linux")


@pytest.fixture
def audited_calls() -> None:
    """Make five calls of two agents, an hour apart."""
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    with closing(open_records("sqlite:///data/records.sqlite3")) as records:
        entries = [
            AuditEntry(
                begin + timedelta(hours=number),
                "ann" if number % 2 else "ben",
                "cstp",
                "cstp.getDecision",
                f"r-{number}",
                records=(AuditedRecord("decision", f"d-{number}", number == 3),),
            )
            for number in range(1, 6)
        ]
        records.audit.append(entries, [])


@pytest.fixture
def shell(
    request: pytest.FixtureRequest, cstp: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shell]:
    monkeypatch.setenv("CSTP_EMBEDDING__MODEL", "none")
    writing = request.node.callspec.params["session"].file in WRITTEN_FILES
    places = {"<folder>": str(tmp_path), "<bin>": str(Path(sys.executable).parent), "<maps>": str(SHIPPED)}
    made = Shell(request, monkeypatch, cstp, writing, places)
    yield made
    for one in made.servers:
        one.close()


@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_prints_its_transcript(session: Session, shell: Shell) -> None:
    for item in (*session.common, *session.items):
        shell.run(item)
