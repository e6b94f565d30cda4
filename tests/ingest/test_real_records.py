from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cognition_engines.ingest.discover import walk
from tests.ingest.decisions import Reading, read_file


@pytest.fixture(scope="module")
def readings(shared_folder: Callable[[str], Path]) -> dict[str, Reading]:
    data = shared_folder("data/decisions")
    paths = ((file.path.relative_to(data).as_posix(), file.path) for file in walk(data).files)
    return {name: read_file(name, path.read_bytes()) for name, path in paths}


def test_every_record_is_recognised_and_nothing_else(readings: dict[str, Reading]) -> None:
    unrecognised = [name for name, reading in readings.items() if not reading.recognised]
    assert unrecognised == [
        "LICENCES/arachne-framework+architecture__LICENSE.txt",
        "LICENCES/eclipse-edc+Connector__NOTICE.md",
        "manifest.json",
    ]
    assert sum(len(reading.drafts) for reading in readings.values()) == 530


def test_no_record_is_refused(readings: dict[str, Reading]) -> None:
    assert [problem for reading in readings.values() for problem in reading.rejected] == []


def test_statuses_and_dates_are_those_counted_by_eye(readings: dict[str, Reading]) -> None:
    drafts = [draft for reading in readings.values() for draft in reading.drafts]
    assert Counter(draft.status for draft in drafts) == {
        "accepted": 260,
        None: 167,
        "proposed": 64,
        "superseded": 14,
        "pending": 7,
        "draft": 6,
        "rejected": 5,
        "deprecated": 4,
        "other": 3,
    }
    assert sum(draft.date is not None for draft in drafts) == 452
    assert sum(bool(draft.superseded_by) for draft in drafts) == 14


def test_every_omission_has_a_warning(readings: dict[str, Reading]) -> None:
    warnings = Counter(
        problem.reason.partition(":")[0] for reading in readings.values() for problem in reading.warnings
    )
    assert warnings == {
        "no title in the file": 8,
        "no status": 3,
        "not a full date, so none is recorded from it": 2,
        "a two-digit year, read as 2024-01-08": 1,
        "members kept in the metadata of decisions": 114,
    }
