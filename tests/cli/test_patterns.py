"""Which files of a folder `cstp ingest` reads: patterns, `.cstpignore` files, and a limit."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from cognition_engines.ingest.discover import walk
from cognition_engines.ingest.options import Selection

Cstp = Callable[..., Any]
TODAY = {"guide.md", "notes/today.md"}
SECOND = {"guide.md", "notes/old/second.txt"}
pytestmark = pytest.mark.usefixtures("wordless")


@pytest.fixture
def docs() -> Path:
    for name in ("guide.md", "draft.md", "notes/today.md", "notes/old/first.md", "notes/old/second.txt"):
        file = Path("docs", name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {name}\n\nWhat {name} says.\n")
    return Path("docs")


@pytest.fixture
def read(cstp: Cstp, docs: Path) -> Callable[..., set[str]]:
    """`read("--include", "*.md")`: the files of which the store has a source after the run."""

    def done(*words: str) -> set[str]:
        made = cstp("ingest", docs, "--json", *words)
        assert made.code == 0, made.err
        rows = [json.loads(line) for line in cstp("export", "-", "--kind", "source").out.splitlines()]
        return {row["record"]["title"] for row in rows if row.get("kind") == "source"}

    return done


LEFT = {
    "options": ({}, ("--include", "*.md", "--include", "!draft.md", "--exclude", "/notes/old/"), TODAY),
    "a deeper file": ({"": b"draft.md\n**/old/*\n# a comment\n", "notes": b"!old/second.txt\n/today.md\n"}, (), SECOND),
    "a later pattern": ({"": b"/notes/**\n!/notes/today.md\n"}, ("--exclude", "draft.md"), TODAY),
    "ends of lines": ({"": b"draft.md\r\nnone\x0c*\n/notes/\n"}, (), {"guide.md"}),
}


@pytest.mark.parametrize(("ignored", "words", "left"), LEFT.values(), ids=LEFT)
def test_patterns_of_options_and_of_ignore_files_leave_files_out(
    read: Any, docs: Path, ignored: dict[str, bytes], words: tuple[str, ...], left: set[str]
) -> None:
    for folder, content in ignored.items():
        (docs / folder / ".cstpignore").write_bytes(content)
    assert read(*words) == left


def test_include_with_as_reads_files_of_any_extension_and_without_one(read: Any, docs: Path) -> None:
    (docs / "README").write_text("# Read me\n\nHow to begin.\n")
    (docs / "harbours.csv").write_text("name,depth\nEmden,8\n")
    (docs / "image.png").write_bytes(b"\x89PNG\r\n\x00")
    assert read("--include", "README", "--include", "*.csv") == set()
    assert len(read("--include", "README", "--include", "*.csv", "--as", "document")) == 2


def test_what_is_left_out_is_counted_and_a_file_that_is_named_is_read_all_the_same(cstp: Cstp, docs: Path) -> None:
    (docs / ".cstpignore").write_text("notes/\n")
    done = cstp("ingest", docs, "--exclude", "draft.md")
    assert done.out.splitlines()[0].startswith("2 read: 2 new")
    assert "2 files and folders excluded by patterns" in done.out.splitlines()
    assert cstp("ingest", docs / "draft.md", "--exclude", "draft.md").out.startswith("2 read: 2 new")


def test_prune_deletes_what_is_gone_and_keeps_what_patterns_leave_out(cstp: Cstp, read: Any, docs: Path) -> None:
    everything = read()
    (docs / "guide.md").unlink()
    (docs / "notes" / ".cstpignore").write_text("*\n")
    assert read("--prune", "--yes", "--exclude", "draft.md") == everything - {"guide.md"}


@pytest.mark.parametrize(
    "patterns",
    [
        ["*/", "!a/"],
        ["build/", "!src/"],
        ["build", "!build/keep.md"],
        ["/a/*", "!/a/b", "/a/b/*", "!/a/b/c.md"],
        ["**/b/**", "!c.md"],
        ["*.md", "!/src/"],
        ["a/**", "!/a/b/", "!/a/b/c.md"],
        ["src/build", "!*.md"],
        ["/*", "!/src", "/src/*", "!/src/top.md"],
        ["*", "!*/", "!c.md"],
        ["b/", "!/a/b/"],
        ["\\!a.md", "to?.md", "[t-u]op.md"],
        ["**/**/b/**/c.md", "/**/src/**/", "!/src/build/**"],
        ["[", "[b-a]*", "[!a-b]/[]t]op.md", "t[^]-n]p.md", "x/**/*.md", "\\top.md "],
        ["**a/to**.md", "s*c/*d/*", "/x/**/**/?.md", "***/keep.md"],
    ],
)
def test_patterns_leave_out_what_git_ignores(cstp: Cstp, patterns: list[str]) -> None:
    names = ["top.md", "!a.md", "a/b/c.md", "a/top.md", "src/top.md", "src/build/c.md", "build/keep.md", "x/a/b/c.md"]
    for name in names:
        Path("tree", name).parent.mkdir(parents=True, exist_ok=True)
        Path("tree", name).write_text(f"# {name}\n\nWords.\n")
    Path("tree/.cstpignore").write_text("\n".join(patterns) + "\n")
    Path("tree/.gitignore").write_text("\n".join(patterns) + "\n")
    subprocess.run(["git", "init", "-q", "tree"], check=True)
    listed = ["git", "-C", "tree", "-c", "core.quotePath=false", "ls-files", "--others", "--exclude-standard"]
    kept = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.splitlines()
    assert cstp("ingest", "tree").code == 0
    rows = [json.loads(line) for line in cstp("export", "-", "--kind", "source").out.splitlines()]
    assert {row["record"]["title"] for row in rows if row.get("kind") == "source"} == set(kept) & set(names)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"draft.md\n" + b"a" * 501, "pattern 2 must have at most 500 characters"),
        (b"# all\n" + b"*.tmp\n" * 1001, "there must be at most 1,000 patterns; pattern 1002 is one more"),
        (b"\n" * 250_001, "it has more than 250,000 bytes"),
        (b"\xff\xfeold", "the encoding must be UTF-8"),
    ],
)
def test_a_folder_with_a_bad_ignore_file_is_refused(cstp: Cstp, docs: Path, content: bytes, reason: str) -> None:
    (docs / "notes" / ".cstpignore").write_bytes(content)
    done = cstp("ingest", docs)
    assert done.code == 1
    assert f"notes/.cstpignore: {reason}; the folder is not read" in done.err
    assert done.out.startswith("4 read: 4 new")


def test_patterns_of_all_folders_above_are_bounded_together(cstp: Cstp, docs: Path) -> None:
    for folder in (docs, docs / "notes", docs / "notes" / "old"):
        (folder / ".cstpignore").write_text("*.tmp\n" * 667)
    done = cstp("ingest", docs)
    assert "old/.cstpignore: with those of the folders above it has more than 2,000 patterns" in done.err
    assert done.out.startswith("6 read: 6 new")


HOSTILE = ["*a*a*b.md", "*?a*?a*b.md", "[!x]*[!x]*[!y]*b.md", "**/*a*/**/*a*/**/b.md", "**/*a*a*b/**"]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_the_time_of_a_pattern_grows_with_the_length_of_a_path(tmp_path: Path, pattern: str) -> None:
    def seconds(times: int) -> float:
        folder = tmp_path / str(times)
        for name in range(8):
            deep = folder / "/".join([f"{'ab'[name % 2]}a"] * times if "/" in pattern else [])
            deep.mkdir(parents=True, exist_ok=True)
            (deep / f"{'aaaaaa' * times}{name}.md").touch()
        return min(_cpu_of_walk(folder, pattern) for _ in range(3))

    assert seconds(40) < 12 * seconds(10)


def _cpu_of_walk(folder: Path, pattern: str) -> float:
    began = process_time()
    assert len(walk(folder, Selection(exclude=(pattern,) * 20)).files) == 8
    return process_time() - began


def test_a_limit_ends_the_run_and_the_next_one_reads_the_rest(cstp: Cstp, docs: Path) -> None:
    done = cstp("ingest", docs, "--limit", 2)
    assert done.code == 0
    assert done.out.startswith("4 read: 4 new")  # two documents, and a chunk of each
    assert "stopped at --limit; there are more records" in done.out.splitlines()
    again = cstp("ingest", docs, "--limit", 5)
    assert again.out.startswith("10 read: 6 new, 0 changed, 4 unchanged")
    assert "--limit" not in again.out


def test_a_limit_reads_the_first_records_of_a_file_and_prunes_nothing(cstp: Cstp) -> None:
    rows = [{"kind": "entity", "id": f"e-{number}", "name": f"Harbour {number}"} for number in range(9)]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cstp("ingest", "rows.jsonl", "--limit", 4).out.startswith("4 read: 4 new")
    assert cstp("ingest", "rows.jsonl").out.startswith("9 read: 5 new")


def test_as_states_what_texts_are(cstp: Cstp) -> None:
    Path("notes.md").write_text("# Sync\n\nStatus: done\n\nDecision: we begin.\n")
    assert json.loads(cstp("ingest", "notes.md", "--as", "decision", "--json").out)["kinds"] == {"decision": 1}
