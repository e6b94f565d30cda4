"""`cstp search`, and `show` and `delete` by a server: what people ask and get without a data folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cstp = Callable[..., Any]


@pytest.fixture
def server(asked: Callable[..., Any], cstp: Cstp, adr: Callable[..., Path]) -> Any:
    """A server that holds a decision and a page; it and a token that reads and writes are in the environment."""
    adr("docs/a.md", "Keep the orders in SQLite", "* One **file** needs no server.")
    Path("notes.md").write_text("# Baking\n\nRye keeps for a week.\n")
    assert cstp("ingest", "docs", "notes.md").code == 0
    return asked({}, scopes=["read", "write", "admin"])


def test_a_search_prints_a_list_for_people_and_the_result_for_machines(server: Any, cstp: Cstp) -> None:
    done = cstp("search", "orders", "in", "SQLite")
    assert (done.code, done.err) == (0, "")
    title, facts, *snippet = done.out.splitlines()
    assert title == "Keep the orders in SQLite"
    assert facts.startswith("  decision, accepted, 2024-02-03, dec_")
    assert all(line.startswith("  ") and "#" not in line for line in snippet)
    found = json.loads(cstp("search", "rye", "--kind", "chunk", "--limit", 1, "--json").out)
    assert [one["type"] for one in found["results"]] == ["chunk"]


def test_a_search_without_results_says_so_and_wrong_options_are_named(server: Any, cstp: Cstp) -> None:
    nothing = cstp("search", "zeppelin")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "no results\n")
    wrong = cstp("search", "rye", "--limit", 51)
    assert wrong.code == 5
    assert "limit: must be at most 50" in wrong.err


def test_record_review_and_remember_print_one_line(server: Any, cstp: Cstp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_TOKEN", server.token(scopes=["read", "write", "review"]))
    checked = cstp("record", "Bake rye on Mondays", "--confidence", "0.5", "--dry-run")
    assert (checked.code, checked.out) == (0, "can be recorded (pending)\n")
    recorded = cstp("record", "Bake rye on Mondays", "--confidence", "0.5", "--key", "k")
    id = recorded.out.split()[1]
    assert recorded.out == f"recorded {id} (pending)\n"
    again = cstp("record", "Bake rye on Mondays", "--confidence", "0.5", "--key", "k")
    assert again.out == f"{id} was already recorded with the same key (pending)\n"
    assert cstp("review", id, "partial").out == f"reviewed {id}\n"
    assert cstp("review", id, "success").out == f"reviewed {id}; previous outcome: partial\n"
    old = cstp("remember", "The oven is free").out.split()[1]
    new = cstp("remember", "The oven is in use", "--supersedes", old).out.split()[1]
    assert json.loads(cstp("show", old, "--json").out)["metadata"]["supersededBy"] == [new]
    assert [one["id"] for one in json.loads(cstp("search", "oven", "--current", "--json").out)["results"]] == [new]


def test_show_and_delete_ask_the_server_of_the_environment(server: Any, cstp: Cstp) -> None:
    found = json.loads(cstp("search", "SQLite", "--json").out)["results"][0]
    shown = cstp("show", found["id"])
    assert shown.code == 0
    assert "title: Keep the orders in SQLite\n" in shown.out
    assert f":{server.port}; --data-dir" in shown.err
    chunk = json.loads(cstp("search", "rye", "--kind", "chunk", "--json").out)["results"][0]["id"]
    assert "Rye keeps for a week." in cstp("show", chunk).out
    refused = cstp("delete", chunk, "--yes")
    assert (refused.code, "file" in refused.err) == (5, True), "what a file states is not forgotten"
    written = cstp("remember", "The oven is free").out.split()[1]
    asked = cstp("delete", written)
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert cstp("delete", written, "--yes").code == 0
    gone = cstp("show", written)
    assert (gone.code, "a server shows decision, chunk, episode," in gone.err) == (6, True)
    source = cstp("show", "anything", "--kind", "source")
    assert source.code == 2
    assert source.err.splitlines()[-1].startswith("cstp: --kind source: by its id a server shows decision, chunk,")
    assert "--data-dir FOLDER" in source.err


def test_a_data_folder_that_is_named_wins_over_the_server_of_the_environment(server: Any, cstp: Cstp) -> None:
    id = json.loads(cstp("search", "SQLite", "--json").out)["results"][0]["id"]
    shown = cstp("show", id, "--data-dir", "data")
    assert (shown.code, shown.err) == (0, "")
    assert "repositoryPath" in shown.out
    assert cstp("--data-dir", "data", "delete", id).out == f"deleted {id}\n"
    both = cstp("show", id, "--data-dir", "data", "--url", "http://127.0.0.1:1")
    assert (both.code, "cannot be combined with --data-dir" in both.err) == (2, True)
