from pathlib import Path

import pytest

from benchmarks.importing import main

DECISION = "# A\n\n## Status\n\nAccepted\n\n## Context\n\nx\n\n## Decision\n\ny\n"


def test_labelled_files_that_are_read_otherwise_are_counted_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"shop/0001-a.md": DECISION, "shop/0002-b.md": "# B\n\nWords.\n", "shop/guide.md": DECISION}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    kinds, statuses = tmp_path / "kinds", tmp_path / "statuses"
    kinds.write_text("shop/0001-a.md\tdecision\nshop/0002-b.md\tdecision\nshop/guide.md\tguide\nshop/c.md\tother\n")
    statuses.write_text("shop/0001-a.md\taccepted\nshop/0002-b.md\tdraft\n")
    assert main([str(tmp_path), "--kinds", str(kinds), "--statuses", str(statuses), "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "as they lie: decisions missed: 50.00% (1 of 2)",
        "as they lie: others taken for decisions: 100.00% (1 of 1)",
        "  missed: shop/0002-b.md",
        "  taken: shop/guide.md (guide)",
        "under docs/adr: decisions missed: 0.00% (0 of 2)",
        "under docs/adr: others taken for decisions: 100.00% (1 of 1)",
        "  taken: shop/guide.md (guide)",
        "statuses right: 50.00% (1 of 2)",
        "with a label of a status, but no decision: 0",
        "  shop/0002-b.md: draft, read as None",
        "not in the folder: 1 of the labelled files: shop/c.md",
    ]
