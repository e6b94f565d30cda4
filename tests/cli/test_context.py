"""`cstp context` over a data folder and over a server."""

import json
import re
from pathlib import Path

import pytest

from cstp_server.cli.main import run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "session-context.md"
FILES = re.compile(r"from \S*/")  # in a checkout the path, elsewhere the name


@pytest.mark.long("opens a data folder for each call")
def test_the_page_shows_the_briefing_of_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CSTP_EMBEDDING__MODEL", "none")
    folder = ["--data-dir", str(tmp_path)]
    assert run(["ingest", str(ROOT / "docs" / "sample"), *folder]) == 0
    page = PAGE.read_text(encoding="utf-8")
    (command,) = re.findall(r"^cstp (context .*)$", page, re.MULTILINE)
    (shown,) = re.findall(r"^````text\n(.*?)^````$", page, re.MULTILINE | re.DOTALL)
    capfd.readouterr()
    assert run([*command.split(), *folder]) == 0
    printed = capfd.readouterr()
    assert FILES.sub("from ", printed.out) == FILES.sub("from ", shown)
    cursor = re.findall(r"^next: --since (\d+)", printed.err, re.MULTILINE)[0]

    assert run(["context", "--since", cursor, "--include", "changes", "--json", *folder]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["changes"], found["more"]) == ([], False)
    assert run(["context", "--include", "guardrails", *folder]) == 5
    assert "guardrails has no method" in capfd.readouterr().err
