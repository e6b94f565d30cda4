"""Hostile links, pipes, devices, names and sizes in a folder: refused alone, and the rest is read."""

import os
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from cognition_engines.ingest.discover import walk
from cognition_engines.ingest.follow import ChangeEvents
from cognition_engines.ingest.options import Options
from cognition_engines.ingest.run import ingest
from cognition_engines.kinds.spec import Kind
from cognition_engines.open_file import LARGEST_WHOLE, LONGEST_LINE
from cognition_engines.store.records import Records
from tests.ingest.conftest import CountingEmbedder, Silent
from tests.ingest.runs import Run, ids, json_lines

Checkout = Callable[..., Path]


class Swapping(Silent):
    """Progress that changes the folder after the walk, before any file is read."""

    def __init__(self, change: Callable[[], None]) -> None:
        super().__init__()
        self._change = change

    def start(self, files: int) -> None:
        super().start(files)
        self._change()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a readable decision, next to which hostile files are put."""
    json_lines(tmp_path / "docs/z.jsonl", {"kind": "decision", "id": "kept", "title": "Kept"})
    return tmp_path / "docs"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return json_lines(tmp_path / "outside/secret.jsonl", {"kind": "decision", "id": "secret", "title": "Secret"})


@pytest.fixture
def deep(folder: Path) -> Iterator[Path]:
    """Yield a folder for very many nested folders."""
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)  # Python's own removal is recursive


def nested(folder: Path, name: str, levels: int) -> None:
    held = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=held)
        inner = os.open(name, os.O_RDONLY, dir_fd=held)
        os.close(held)
        held = inner
    os.close(os.open("deep.jsonl", os.O_WRONLY | os.O_CREAT, dir_fd=held))
    os.close(held)


def told(problems: Any) -> dict[str, str]:
    return {Path(problem.file).name: problem.reason for problem in problems}


def test_no_link_is_followed_out_of_a_folder(folder: Path, secret: Path, run: Run, records: Records) -> None:
    (folder / "a.jsonl").symlink_to(secret)
    (folder / "b.jsonl").symlink_to("b.jsonl")  # a loop
    (folder / "c.md").symlink_to("nowhere")
    (folder / "d").symlink_to(secret.parent, target_is_directory=True)
    (folder / "e.png").symlink_to(secret)
    summary = run(folder)
    assert (ids(records, Kind.DECISION), summary.rejected) == ({"kept"}, ())
    reason = "is no file but a link, which is not followed: name the file itself to read it"
    assert told(summary.warnings) == dict.fromkeys(("a.jsonl", "b.jsonl", "c.md"), reason)
    assert summary.skipped == {"link": 2}


def test_a_link_to_its_own_folder_or_to_itself_ends(folder: Path, run: Run, checkout: Checkout) -> None:
    shop = checkout("shop", "https://h.example/shop")
    decisions = shop / "docs"
    json_lines(decisions / "a.jsonl", {"kind": "decision", "id": "a", "title": "A"})
    (decisions / "up").symlink_to(decisions)
    assert [run(path).new for path in (shop, decisions / "up")] == [1, 0]
    shutil.rmtree(decisions)
    decisions.symlink_to("docs")
    assert [run(path, prune=True).rejected == () for path in (shop, decisions)] == [True, False]


def test_a_named_link_is_read(folder: Path, secret: Path, run: Run, records: Records) -> None:
    link = folder / "a.jsonl"
    link.symlink_to(secret)
    named_folder = folder.parent / "named"
    named_folder.symlink_to(folder, target_is_directory=True)
    assert run(link, named_folder).rejected == ()
    assert ids(records, Kind.DECISION) == {"kept", "secret"}


@pytest.mark.parametrize("of", ["a file", "a folder"])
def test_late_links_unread(of: str, folder: Path, secret: Path, records: Records, embedder: CountingEmbedder) -> None:
    json_lines(folder / "inner/secret.jsonl", {"kind": "decision", "id": "a", "title": "A"})
    place = folder / "inner" if of == "a folder" else folder / "inner/secret.jsonl"

    def swap() -> None:
        place.rename(folder.parent / "old")
        place.symlink_to(secret.parent if of == "a folder" else secret)

    summary = ingest([folder], Options(), records, embedder, Swapping(swap))
    assert ids(records, Kind.DECISION) == {"kept"}
    (problem,) = summary.rejected
    assert problem.file == str(folder / "inner/secret.jsonl")


SWAP = """
import os, sys
from pathlib import Path
from cognition_engines.ingest.discover import walk

folder, name, target = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

def swap(event, args):
    if event in ("open", "os.scandir") and str(args[0]).rpartition("/")[2] == name and not (folder / name).is_symlink():
        (folder / name).rename(folder / ".old")
        (folder / name).symlink_to(target)

sys.addaudithook(swap)
found = walk(folder)
print(*(file.path.name for file in found.files), *(problem.reason for problem in found.refused), sep="\\n")
"""


@pytest.mark.long("reads many or large files")
@pytest.mark.parametrize("name", ["inner", ".cstpignore"])
def test_a_link_made_during_a_walk_is_not_followed(folder: Path, secret: Path, name: str) -> None:
    (secret.parent / "patterns").write_text("[[:secret:]]\n")
    (folder / "inner").mkdir()
    (folder / ".cstpignore").write_text("")
    target = secret.parent / "patterns" if name == ".cstpignore" else secret.parent
    words = [sys.executable, "-c", SWAP, str(folder), name, str(target)]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert (folder / name).is_symlink()
    assert "z.jsonl" in found
    assert "secret" not in found


def test_only_folders_of_a_walk_are_watched_and_no_link_is_followed(folder: Path, tmp_path: Path) -> None:
    for name in ("docs/inner", "docs/.git/objects", "docs/node_modules/lib", "elsewhere/one", "elsewhere/two"):
        (tmp_path / name).mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    before = watched_places()
    events = ChangeEvents([folder], Event(), seconds=0.001)
    events.wait()
    assert watched_places() - before == 2
    (folder / "inner/new").mkdir()
    events.wait()
    assert watched_places() - before == 3


def watched_places() -> int:
    """Return the number of paths watched for this process."""
    texts = []
    for file in Path("/proc/self/fdinfo").iterdir():
        with suppress(OSError):
            texts.append(file.read_text())
    return sum(text.count("inotify wd:") for text in texts)


def test_pipes_and_devices_are_refused_without_waiting(folder: Path, run: Run, records: Records) -> None:
    os.mkfifo(folder / "p.jsonl")
    summary = run(folder)
    assert "a named pipe" in told(summary.warnings)["p.jsonl"]
    (folder / "zero.md").symlink_to("/dev/zero")
    (folder / "nowhere.md").symlink_to("nowhere")
    (folder / "loop.md").symlink_to("loop.md")
    named = [folder / name for name in ("p.jsonl", "zero.md", "nowhere.md", "loop.md", "z.jsonl")]
    summary = run(*named)
    assert told(summary.rejected) == {
        "p.jsonl": "is no file but a named pipe, which is not read: give it as standard input, with - for its name",
        "zero.md": "is no file but a device",
        "nowhere.md": "cannot be read: No such file or directory",
        "loop.md": "cannot be read: Too many levels of symbolic links",
    }
    assert ids(records, Kind.DECISION) == {"kept"}


def test_refused_files_are_closed(tmp_path: Path, run: Run) -> None:
    pipes = [tmp_path / f"{number}.jsonl" for number in range(50)]
    for pipe in pipes:
        os.mkfifo(pipe)
    run(pipes[0])
    before = len(os.listdir("/proc/self/fd"))
    assert len(run(*pipes).rejected) == 50
    assert len(os.listdir("/proc/self/fd")) < before + 25


@pytest.mark.long("reads many or large files")
@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_beyond_the_bound_is_refused_alone(end: bytes, folder: Path, run: Run, records: Records) -> None:
    file = folder / "z.jsonl"
    with file.open("ab") as opened:
        opened.write(b'{"kind": "decision", "id": "b", "title": "')
        opened.truncate(opened.tell() + 20 * LONGEST_LINE)  # 320 MiB that take no place on the disk
        opened.seek(0, os.SEEK_END)
        opened.write(end)
        if end:
            opened.write(b'{"kind": "decision", "id": "c", "title": "C"}\n')
    tracemalloc.start()
    summary = run(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(problem.line, problem.reason) for problem in summary.rejected] == [(2, "the line has more than 16 MiB")]
    assert ids(records, Kind.DECISION) == ({"kept", "c"} if end else {"kept"})
    assert peak < 6 * LONGEST_LINE


@pytest.mark.parametrize("name", ["a.json", "a.md", "a.yaml", "a.txt"])
def test_a_file_beyond_the_bound_is_refused_alone(name: str, folder: Path, run: Run, records: Records) -> None:
    large = folder / name
    large.write_text('{"kind": "decision", "title": "A",\n')
    os.truncate(large, LARGEST_WHOLE + 1)
    reason = "has more than 64 MiB, which only JSONL may: it is read line by line"
    summary = run(folder)
    assert (told(summary.warnings), summary.rejected) == ({name: reason}, ())
    assert told(run(large).rejected) == {name: reason}
    assert ids(records, Kind.DECISION) == {"kept"}


def test_very_many_folders_in_each_other_are_walked(deep: Path, run: Run, records: Records) -> None:
    nested(deep, "a", 1200)
    (problem,) = run(deep).warnings
    assert problem.file.endswith("/deep.jsonl")
    assert ids(records, Kind.DECISION) == {"kept"}


def test_an_unreadable_folder_is_refused_and_not_pruned(deep: Path, run: Run, records: Records) -> None:
    json_lines(deep / "gone.jsonl", {"kind": "decision", "id": "gone", "title": "Gone"})
    run(deep)
    (deep / "gone.jsonl").unlink()
    nested(deep, "n" * 250, 20)  # a path that is longer than any may be
    summary = run(deep, prune=True)
    (problem,) = summary.rejected
    assert problem.reason == "the folder cannot be read: File name too long"
    assert (summary.deleted, ids(records, Kind.DECISION)) == (0, {"kept", "gone"})


@pytest.mark.parametrize("name", ["line\nbreak", "\x1b]0;title\x07", "\u202eexe.", "half-\udce9"])
def test_a_file_of_any_name_is_read_or_refused(name: str, folder: Path, run: Run, records: Records) -> None:
    json_lines(folder / f"{name}.jsonl", {"kind": "decision", "id": "odd", "title": "Odd"})
    summary = run(folder)
    if name.isprintable() or "\udce9" not in name:
        assert (summary.rejected, ids(records, Kind.DECISION)) == ((), {"kept", "odd"})
        return
    (problem,) = summary.rejected
    assert problem.file == f"{folder}/half-\\xe9.jsonl"
    assert problem.reason == "the name of the file must be UTF-8; rename it"
    assert ids(records, Kind.DECISION) == {"kept"}


def test_files_are_found_by_extension_below_a_folder_in_a_fixed_order(tmp_path: Path) -> None:
    names = ["a/b/c.jsonl", "a/z.yaml", "a.MD", "b.md", "c.ndjson", "d.markdown", "e.yml", "f.json", "g.mdx", "h.txt"]
    names += ["i.text"]
    for name in [*reversed(names), "y", "z.template", "a/LICENSE"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [found.path.relative_to(tmp_path).as_posix() for found in walk(tmp_path).files] == names


def test_other_files_of_a_folder_are_counted_by_extension(folder: Path, run: Run) -> None:
    for name in ("a.html", "b.HTML", "inner/c.html", "d.pdf", "e.tar.gz", "LICENSE", ".hidden", "node_modules/f.js"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    skipped = run(folder).skipped
    assert skipped == {".html": 3, ".pdf": 1, ".gz": 1, "": 1}
    assert next(iter(skipped)) == ".html"


DEEP = '{"stakes": "low", "title": "A", "text": ' + "[" * 100_000 + "]" * 100_000 + "}"
HUGE = '{"stakes": "low", "title": "A", "text": "t", "x": ' + "9" * 5000 + "}"
SURROGATE = '{"stakes": "low", "title": "A", "x": "a\\ud800b"}'
NUL = '{"stakes": "low", "title": "A", "text": "a\\u0000b"}'


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [("deep.json", DEEP, "nested too deeply"), ("huge.json", HUGE, "x: the number is too large")],
)
def test_an_extreme_value_refuses_its_file(folder: Path, run: Run, name: str, text: str, reason: str) -> None:
    (folder / name).write_text(text)
    assert reason in told(run(folder).rejected)[name]


def test_broken_records_between_good_ones_are_refused_alone(folder: Path, run: Run, records: Records) -> None:
    lines = [SURROGATE, NUL, DEEP, HUGE, "{", '{"a": 1}', '{"title": "A\0"}', "\0\0"]
    text = "".join(f'{line}\n{{"kind": "decision", "id": "{at}", "title": "t"}}\n' for at, line in enumerate(lines))
    (folder / "mixed.jsonl").write_text(text)
    summary = run(folder)
    assert [problem.line for problem in summary.rejected] == [1, 3, 5, 7, 9, 11, 13, 15]
    assert len(ids(records, Kind.DECISION)) == 1 + len(lines)


def test_a_file_may_change_during_reading(folder: Path, records: Records, embedder: CountingEmbedder) -> None:
    cut = json_lines(
        folder / "a.jsonl", *({"kind": "decision", "id": f"a{number}", "title": "t"} for number in range(100))
    )
    grown = json_lines(folder / "b.jsonl", {"kind": "decision", "id": "b0", "title": "t"})

    def change() -> None:
        os.truncate(cut, len('{"kind": "decision", "id": "a0", "title": "t"}\n') + 5)
        json_lines(grown, *({"kind": "decision", "id": f"b{number}", "title": "t"} for number in range(100)))

    summary = ingest([folder], Options(), records, embedder, Swapping(change))
    assert [(Path(problem.file).name, problem.line) for problem in summary.rejected] == [("a.jsonl", 2)]
    assert len(ids(records, Kind.DECISION)) == 1 + 1 + 100
