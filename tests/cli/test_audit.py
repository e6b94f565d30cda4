"""`cstp audit`: calls as the operator sees them, and whether the chain is whole."""

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cognition_engines.store.audit.audit_rows import AuditedRecord, AuditEntry
from cognition_engines.store.records import open_records

Cstp = Callable[..., Any]
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def calls() -> None:
    """Five calls of two agents, an hour apart."""
    records = open_records("sqlite:///data/records.sqlite3")
    entries = [
        AuditEntry(
            BEGIN + timedelta(hours=number),
            "ann" if number % 2 else "ben",
            "cstp",
            "cstp.getDecision",
            f"r-{number}",
            records=(AuditedRecord("decision", f"d-{number}", number == 3),),
        )
        for number in range(1, 6)
    ]
    records.audit.append(entries, [])
    records.close()


def listed(cstp: Cstp, *words: object) -> list[int]:
    done = cstp("audit", "list", "--json", *words)
    assert done.code == 0
    return [row["number"] for row in json.loads(done.out)["rows"]]


def alter(statement: str) -> None:
    database = sqlite3.connect("data/records.sqlite3")
    with database:
        database.execute(statement)
    database.close()


@pytest.mark.usefixtures("calls")
def test_the_list_is_filtered_as_the_method_is(cstp: Cstp) -> None:
    assert listed(cstp) == [5, 4, 3, 2, 1]
    assert listed(cstp, "--agent", "ben") == [4, 2]
    assert listed(cstp, "--id", "d-3") == [3]
    assert listed(cstp, "--method", "cstp.recall") == []
    assert listed(cstp, "--since", "2026-03-01T04:00:00Z") == [5, 4]
    assert listed(cstp, "--until", "2026-03-01T02:00:00Z") == [2, 1]
    assert listed(cstp, "--limit", 2, "--before", 4) == [3, 2]


@pytest.mark.usefixtures("calls")
def test_the_list_for_people_has_a_line_for_each_call_and_names_the_next_page(cstp: Cstp) -> None:
    done = cstp("audit", "list", "--limit", 3)
    lines = done.out.splitlines()
    assert len(lines) == 4
    assert "2026-03-01T03:00:00Z" in lines[3]
    assert "d-3 (written)" in lines[3]
    assert "older ones: --before 3" in done.err


@pytest.mark.usefixtures("calls")
def test_verify_ends_with_0_for_a_whole_chain_and_prints_what_to_note(cstp: Cstp) -> None:
    done = cstp("audit", "verify")
    assert done.code == 0
    state, last = done.out.splitlines()
    assert state == "intact: 5 rows"
    noted = last.removeprefix("last row: ")
    assert noted.startswith("5:")
    found = json.loads(cstp("audit", "verify", "--json", "--noted", noted).out)
    assert (found["intact"], found["rows"], found["breaks"]) == (True, 5, [])
    assert f"{found['head']['number']}:{found['head']['hash']}" == noted


@pytest.mark.usefixtures("calls")
def test_verify_ends_with_1_and_names_what_is_wrong(cstp: Cstp) -> None:
    last = cstp("audit", "verify").out.splitlines()[-1].removeprefix("last row: ")
    alter("UPDATE audit_rows SET agent = 'eve' WHERE number = 2")
    alter("DELETE FROM audit_rows WHERE number = 5")
    done = cstp("audit", "verify")
    assert done.code == 1
    assert "altered: row 2 is not as it was written" in done.err
    assert "truncated: rows 5 to 5 are missing at the end" in done.err
    assert done.out.startswith("broken: 4 rows\n")
    done = cstp("audit", "verify", "--json", "--noted", last)
    found = json.loads(done.out)
    assert (done.code, found["intact"], found["found"]) == (1, False, 3)
    assert [one["problem"] for one in found["breaks"]] == ["altered", "truncated", "noted"]
