"""Family 7: texts in every field of every method and file, 200,000 texts in the long form."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.fuzzing import FAMILY, Report
from tests.chaos.process import Served
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

OF_A_ROUND = 1_280  # texts, if each strategy gives a single example
TURNS = 10  # in each, texts go through every door, and the folder is then moved and served again


@pytest.mark.usefixtures("long_form")
def test_every_text_is_refused_by_name_or_read_found_listed_and_moved(
    served: Callable[..., Served], tmp_path: Path, chaos_report: Report, request: Any
) -> None:
    count, texts, refused = request.config.getoption("--chaos-texts"), 0, 0
    for turn in range(TURNS):
        folder = tmp_path / f"turn-{turn}"
        folder.mkdir()
        doors = Doors(served(data_dir=folder / "data"))
        scale = -(-count // (TURNS * OF_A_ROUND))
        for form in FORMS:
            write_texts(doors, form, scale, fresh=True)
        for change in CHANGES:
            change_with_texts(doors, change, scale, fresh=True)
        for method in PARAMETERS:
            ask_with_texts(doors, method, scale, fresh=True)
        for each, ingest in (("lines", ingest_texts), ("files", ingest_files)):
            (folder / each).mkdir()
            ingest(doors, folder / each, scale, fresh=True)

        def serve(data_dir: Path, doors: Doors = doors) -> Served:
            doors.server.terminate()
            return served(data_dir=data_dir)

        check_folder(doors, serve)
        doors.client.close()
        doors.server.terminate()
        texts, refused = texts + doors.texts, refused + doors.refused
    what = "texts, values and numbers in every field of every method and of every kind of record in files"
    chaos_report(FAMILY, what, texts, f"refused by name ({refused:,} in writes), or read, found, listed and moved")
