"""Every text in every field of every method and file: refused by name, or read, found, listed and moved unchanged."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.process import Served
from tests.stores import Stores
from tests.text_doors import Doors
from tests.text_runs import (
    CHANGES,
    FORMS,
    PARAMETERS,
    ask_with_texts,
    change_with_texts,
    check_folder,
    ingest_files,
    ingest_texts,
    write_texts,
)

CALLS = 6  # of each form and change, with a text or value in each field
QUESTIONS = 1  # of each parameter, with ten texts
FILES = 8  # lines of each kind, and files: with all others 2,000 texts


@pytest.fixture(scope="module")
def serve(lasting_stores: Stores) -> Iterator[Callable[[Path], Served]]:
    """Yield `serve(folder)`: a server over a folder, replacing the previous server."""
    running: list[Served] = []

    def start(folder: Path) -> Served:
        for one in running:
            one.terminate()
        running[:] = [Served(folder, lasting_stores.settings(folder)).start()]
        return running[0]

    yield start
    for one in running:
        one.kill()


@pytest.fixture(scope="module")
def doors(serve: Callable[[Path], Served], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    made = Doors(serve(tmp_path_factory.mktemp("texts") / "data"))
    yield made
    made.client.close()


@pytest.mark.parametrize("form", FORMS)
def test_a_text_in_any_field_is_refused_by_name_or_read_and_found(doors: Doors, form: str) -> None:
    write_texts(doors, form, CALLS, fresh=False)


@pytest.mark.parametrize(
    "change",
    [pytest.param(name, marks=[pytest.mark.long("has the most fields")] * (name == "update")) for name in CHANGES],
)
def test_a_text_in_any_field_of_a_change_is_refused_by_name_or_read(doors: Doors, change: str) -> None:
    change_with_texts(doors, change, CALLS, fresh=False)


@pytest.mark.parametrize("method", sorted(PARAMETERS))
def test_a_text_in_any_other_parameter_is_refused_by_name_or_answered(doors: Doors, method: str) -> None:
    ask_with_texts(doors, method, QUESTIONS, fresh=False)


@pytest.mark.long("ingests files again and again")
def test_a_text_in_any_field_of_a_file_is_rejected_by_line_and_field_or_found(doors: Doors, tmp_path: Path) -> None:
    ingest_texts(doors, tmp_path, FILES, fresh=False)


@pytest.mark.long("ingests files again and again")
def test_a_file_of_any_text_is_read_or_rejected_and_stops_no_other(doors: Doors, tmp_path: Path) -> None:
    ingest_files(doors, tmp_path, FILES * 10, fresh=False)


@pytest.mark.long("starts servers and programs over the folder")
def test_a_folder_with_every_text_is_listed_moved_and_served_again(
    doors: Doors, serve: Callable[[Path], Served], tmp_path: Path
) -> None:
    """Use the texts of earlier tests; alone, a few."""
    if not doors.ids:
        for form in FORMS:
            write_texts(doors, form, 2, fresh=False)
        ingest_texts(doors, tmp_path, 2, fresh=False)
    check_folder(doors, serve)
