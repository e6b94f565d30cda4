"""An operator's handling of forgotten records: compaction, and restoring an older backup without them."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cstp_server.tokens import create_token

Cstp = Callable[..., Any]
pytestmark = [
    pytest.mark.long("compacts a store and reads its files"),
    pytest.mark.embedded_only("looks into the files of SQLite"),
]
WORD = "zirconium"


@pytest.fixture
def forgotten(serving: Callable[..., Any], cstp: Cstp, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the id of a decision that was recorded, backed up and forgotten on an ended server."""
    server, url = serving("--data-dir", "data")
    _, token = create_token(Path("data/tokens.json"), "ann", scopes=("read", "write"), lifetime=timedelta(hours=1))
    monkeypatch.setenv("CSTP_TOKEN", token)
    monkeypatch.setenv("CSTP_URL", url)
    done = cstp("record", f"Melt {WORD}", "--confidence", "0.5", "--context", f"{WORD} " * 50, "--json")
    id = json.loads(done.out)["id"]
    assert cstp("backup", "before.zip").code == 0
    assert cstp("forget", id, "--yes").code == 0
    busy = cstp("compact")
    assert (busy.code, "cstp serve" in busy.err) == (1, True), busy.err
    server.end()
    return id


def holding(word: str) -> list[str]:
    files = [path for path in Path("data").rglob("*") if path.is_file()]
    return [path.name for path in files if word.encode() in path.read_bytes()]


@pytest.mark.usefixtures("wordless")
def test_forgotten_records_are_neither_restored_nor_left_in_the_files(forgotten: str, cstp: Cstp) -> None:
    done = cstp("restore", "before.zip", "--replace")
    assert done.code == 0
    assert "1 of its records were forgotten since" in done.out + done.err
    again = cstp("restore", "before.zip", "--replace", "--json")
    assert json.loads(again.out)["forgotten"] == 1
    assert forgotten not in cstp("export", "-").out
    assert cstp("compact").out == "the database and the indexes hold no bytes of deleted records\n"
    assert holding(WORD) == []
    assert cstp("compact").code == 0
