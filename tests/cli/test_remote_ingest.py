"""`cstp ingest --url`, killed, and of an edited chat; `transcripts/remote.txt` has the rest."""

import json
import os
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.store.records import open_records
from tests.ingest.conversations.samples import changed_at, packed, slack, slack_message
from tests.stores import wait_for

Cstp = Callable[..., Any]
pytestmark = pytest.mark.long("starts a server and several runs")


@pytest.fixture
def server(asked: Callable[..., Any]) -> Any:
    """Start a server over an empty store; a token that may put records is in the environment."""
    settings = {"limits.default": "6000/minute", "limits.writes": "6000/minute"}
    return asked(settings, scopes=["admin"], clearance="highly_sensitive")


def sent(cstp: Cstp, *words: object) -> Any:
    """Ingest into the server; return the summary."""
    done = cstp("ingest", *words, "--json", "--url", os.environ["CSTP_URL"])
    assert done.code == 0, done.err
    return json.loads(done.out)


def count(server: Any) -> int:
    with closing(open_records(server.settings.store_url)) as records:
        return sum(records.counts().values())


def test_the_next_run_finishes_a_killed_run(server: Any, cstp: Cstp, program: Callable[..., Any]) -> None:
    Path("notes").mkdir()
    for number in range(30):
        Path(f"notes/{number}.md").write_text(f"# Note {number}\n\n" + "Locks and queues. " * 40)
    running = program("ingest", "notes", "--url", os.environ["CSTP_URL"])
    wait_for(lambda: count(server) > 0)
    running.end(signal.SIGKILL)
    before = count(server)
    done = sent(cstp, "notes")
    assert before > 0
    assert done["new"] + done["unchanged"] == done["read"] == count(server)


def test_a_newer_export_of_a_chat_changes_edited_turns(server: Any, cstp: Cstp) -> None:
    for number, text in enumerate(("One", "One, edited"), 1):
        messages = [slack_message(1, text), slack_message(2, "Two")]
        sent(cstp, changed_at(packed(Path(f"{number}.zip"), slack({"general/2024-01-01": messages})), number))
    turns = map(json.loads, cstp("export", "-", "--data-dir", "data").out.splitlines())
    assert {one["record"]["content"] for one in turns} == {"One, edited", "Two"}
