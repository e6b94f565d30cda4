"""Exports of Notion as they arrive: pages of Markdown in an archive, or in nested archives."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.cases import packed_members
from tests.ingest.runs import Run, counts, stored

PAGES = {
    "Harbour 1429989fe8ac4effbc8f57f56486db54.md": "# Harbour\n\nThe crane is slow.\n",
    "Harbour 1429989fe8ac4effbc8f57f56486db54/Berths 39d2b6745dc68012930afe9bc14d27eb.md": "# Berths\n\nDeep.\n",
    "Tasks 0000b6745dc68012930afe9bc14d27eb.csv": "Name,Done\nPaint,No\n",
}


@pytest.mark.parametrize("times", [1, 2])
def test_a_later_export_replaces_the_pages(run: Run, records: Records, tmp_path: Path, times: int) -> None:
    def export(pages: Mapping[str, str]) -> None:
        content = packed_members(pages)
        (tmp_path / "Export.zip").write_bytes(content if times == 1 else packed_members({"Export-Part-1.zip": content}))

    export(PAGES)
    done = run(tmp_path / "Export.zip")
    assert (done.rejected, counts(done)) == ((), (4, 0, 0, 0))
    (warning,) = done.warnings
    assert warning.reason == "members that are no pages are not read: 1 .csv"
    assert {(one.title, one.path) for one in stored(records, Kind.SOURCE)} == {
        (text.split("\n")[0][2:], f"Export.zip/{name}") for name, text in PAGES.items() if name.endswith(".md")
    }
    assert counts(run(tmp_path)) == (0, 0, 4, 0)
    name = next(iter(PAGES))
    export({"Attic 7d2b6745dc68012930afe9bc14d27eb0.md": "Ropes.", **PAGES, name: "# Harbour\n\nThe crane is new.\n"})
    run(tmp_path)
    assert len(stored(records, Kind.SOURCE)) == 3
    assert {one.content for one in stored(records, Kind.CHUNK)} >= {"Ropes.", "# Harbour\n\nThe crane is new."}


def test_an_unreadable_part_or_page_is_refused_alone(run: Run, records: Records, tmp_path: Path) -> None:
    bomb = {
        "Attic 7d2b6745dc68012930afe9bc14d27eb0.md": "x" * 3_000_000,
        "Latin 8d2b6745dc68012930afe9bc14d27eb0.md": b"\xe9",
    }
    parts = {
        "a.zip": packed_members({**PAGES, **bomb}),
        "b.zip": b"none",
        "c.zip": packed_members({"d.zip": packed_members(PAGES)}),
    }
    (tmp_path / "Export.zip").write_bytes(packed_members(parts))
    done = run(tmp_path / "Export.zip")
    assert {one.file.rpartition("/")[2].split(" ")[0]: one.reason for one in done.rejected} == {
        "Attic": "is packed more than 200 to one",
        "Latin": "the encoding must be UTF-8; this line is in another encoding, such as Latin-1",
        "b.zip": "is damaged in the archive (BadZipFile)",
    }
    assert len(stored(records, Kind.SOURCE)) == 2
