"""`cstp ingest --url`: local files, stored on a remote server exactly as by an ingest there."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.store.records import open_records
from tests.ingest.conversations.samples import changed_at, packed, slack, slack_message
from tests.stores import wait_for

Cstp = Callable[..., Any]
pytestmark = pytest.mark.long("starts a server and several runs")
LONG = "\n\n".join(f"Paragraph {number} is about locks and queues." for number in range(400))


@pytest.fixture
def server(live_server: Any, wordless: None, quiet: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start a server over an empty store, with a token that may put records in the environment."""
    (Path.cwd() / "far").mkdir()
    settings = {"limits.default": "6000/minute", "limits.writes": "6000/minute"}
    started = live_server(settings, data_dir=Path("far").absolute())
    monkeypatch.setenv("CSTP_TOKEN", started.token(agent="ci", scopes=["admin"], clearance="highly_sensitive"))
    monkeypatch.setenv("FAR", f"http://127.0.0.1:{started.port}")
    return started


@pytest.fixture
def files(adr: Callable[..., Path]) -> Path:
    """Make a folder of decisions, a document and records that refer to each other."""
    for number in range(1, 21):
        adr(f"docs/adr/{number:04}-choice.md", f"Choice {number}", f"We choose {number}.")
    Path("docs/guide.md").write_text(f"# Guide\n\n{LONG}\n")
    records = [
        {"kind": "artifact", "id": "minutes", "content": LONG, "project": "shop"},
        {"kind": "event", "category": "Commitment", "narrative": "Ann promised a lock", "artifactId": "minutes"},
        {"kind": "episode", "query": "Lock the table", "reward": -0.5, "reflection": "It was slow."},
        {"kind": "turn", "conversation_id": "radio", "content": "ok"},
        {"kind": "turn", "conversation_id": "radio", "content": "ok"},
    ]
    Path("docs/records.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    return Path("docs").absolute()


def seen(server: Any) -> tuple[int, int]:
    """Return the record count of the server's store, and the last `seq`."""
    records = open_records(server.settings.store_url)
    found = sum(records.counts().values()), records.last_seq()
    records.close()
    return found


def raw(cstp: Cstp, folder: str) -> list[dict[str, Any]]:
    """Return the records of a store."""
    return [json.loads(line) for line in cstp("export", "-", "--data-dir", folder).out.splitlines()]


def exported(cstp: Cstp, folder: str) -> list[dict[str, Any]]:
    """Return a store's records without time and author of storage."""
    found = raw(cstp, folder)
    for one in found:
        one.pop("updatedAt")
        one["origin"].pop("recordedBy")
    return found


def sent(cstp: Cstp, *words: object) -> Any:
    """Ingest into the server."""
    return cstp("ingest", *words, "--json", "--url", os.environ["FAR"])


def test_a_remote_ingest_makes_the_same_records(server: Any, files: Path, cstp: Cstp) -> None:
    near = cstp("ingest", files, "--json", "--data-dir", "near")
    far = sent(cstp, files)
    assert (near.code, far.code) == (0, 0), far.err
    assert json.loads(far.out) == json.loads(near.out)
    assert exported(cstp, "far") == exported(cstp, "near")


def test_a_second_run_sends_only_differences(server: Any, files: Path, cstp: Cstp) -> None:
    first = json.loads(sent(cstp, files).out)
    assert (first["new"], first["changed"], first["rejected"]) == (first["read"], 0, [])
    last = seen(server)
    second = json.loads(sent(cstp, files).out)
    assert (second["new"], second["changed"], second["unchanged"]) == (0, 0, second["read"])
    assert seen(server) == last
    (files / "guide.md").write_text("# Guide\n\nShort now.\n")
    third = json.loads(sent(cstp, files).out)
    assert third["changed"] + third["new"] >= 1
    chunks = [one for one in exported(cstp, "far") if one["kind"] == "chunk"]
    assert [one["record"]["content"] for one in chunks] == ["# Guide\n\nShort now."]


def test_the_next_run_finishes_a_killed_run(server: Any, files: Path, cstp: Cstp, program: Callable[..., Any]) -> None:
    running = program("ingest", files, "--url", os.environ["FAR"])
    wait_for(lambda: seen(server)[0] > 0)
    running.end(signal.SIGKILL)
    before, _ = seen(server)
    done = json.loads(sent(cstp, files).out)
    assert before > 0
    assert done["new"] + done["unchanged"] == done["read"] == seen(server)[0]


def test_records_stay_owned_by_their_files_and_name_their_sender(server: Any, files: Path, cstp: Cstp) -> None:
    sent(cstp, files / "adr")
    (line, *_) = [one for one in raw(cstp, "far") if one["kind"] == "decision"]
    assert (line["origin"]["via"], line["origin"]["recordedBy"]) == ("ingest", "ci")
    assert line["origin"]["path"].endswith("choice.md")


def test_a_record_moved_to_another_file_and_changed_is_replaced(server: Any, files: Path, cstp: Cstp) -> None:
    Path("docs/one.jsonl").write_text('{"kind": "cluster", "id": "c", "name": "Locks"}\n')
    assert sent(cstp, "docs/one.jsonl", "--repository", "r").code == 0
    Path("docs/one.jsonl").rename("docs/two.jsonl")
    Path("docs/two.jsonl").write_text('{"kind": "cluster", "id": "c", "name": "Queues"}\n')
    done = sent(cstp, "docs/two.jsonl", "--repository", "r")
    assert (done.code, json.loads(done.out)["changed"]) == (0, 1), done.err
    assert [one["record"]["name"] for one in exported(cstp, "far") if one["kind"] == "cluster"] == ["Queues"]


def test_a_newer_export_of_a_chat_changes_edited_turns(server: Any, cstp: Cstp) -> None:
    for number, text in enumerate(("One", "One, edited"), 1):
        messages = [slack_message(1, text), slack_message(2, "Two")]
        path = changed_at(packed(Path(f"{number}.zip"), slack({"general/2024-01-01": messages})), number)
        done = sent(cstp, path)
        assert done.code == 0, done.err
    assert {one["record"]["content"] for one in exported(cstp, "far")} == {"One, edited", "Two"}


def test_a_dry_run_sends_nothing(server: Any, files: Path, cstp: Cstp) -> None:
    done = json.loads(sent(cstp, files, "--dry-run").out)
    assert done["new"] == done["read"] > 20
    assert raw(cstp, "far") == []


def test_refusals_have_an_exit_code(server: Any, files: Path, cstp: Cstp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_TOKEN", server.token(agent="reader", scopes=["read"]))
    refused = sent(cstp, files)
    assert refused.code == 4
    assert "Forbidden" in refused.out
    monkeypatch.setenv("CSTP_TOKEN", server.token(agent="shop", scopes=["admin"], projects=["shop"]))
    assert "no list of projects" in sent(cstp, files).out
    assert cstp("ingest", files, "--url", "http://127.0.0.1:9").code == 3
