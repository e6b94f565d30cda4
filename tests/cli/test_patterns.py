"""Selection of files in a folder by `cstp ingest`: patterns, `.cstpignore` files, and a limit."""

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
pytestmark = pytest.mark.usefixtures("wordless")


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
def test_patterns_leave_out_files_ignored_by_git(cstp: Cstp, patterns: list[str]) -> None:
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
