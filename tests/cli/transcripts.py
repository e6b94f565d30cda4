"""Command transcripts, in the notation of `tests/cli/transcripts/*.txt`; `--write FILE...` refreshes the answers.

An example:

    @server scopes=read,write        a fixture or a mark; those before the first heading hold for all sessions
    > file notes/a.md                a file; its lines up to `<`
    # Oven
    <
    # a note is ingested             a session: one test, in a separate folder
    ## why                           a remark
    $ cstp ingest notes --json       a command in this process; `NAME=value` before it, `< FILE` and `> FILE` after it
    {"read": 1, ...}                 its standard output, without blanks at the ends of lines; an object of
    ...                              JSON has a line for each member; three dots are any lines
    | # text                         a line that is empty or begins as one of the others
    ! warning: ...                   its standard error
    ? 1                              its exit code; default: 0
    $ rm notes/a.md                  a command of the shell; `cd`, `export` and `unset` hold for the rest of the session

`<a x 3>` is `aaa`, `<hex ff00>` are bytes, as in `tests/wire`; `<anything>`, `<number>`, `<date>` and `<time>` match
variable parts. `<id>`, `<key>`, `<cursor>`, `<digest>`, `<port>` and `<token>` do, too, and keep the matched value from
there on; `<id 2>` is a different value. `<folder>` is the working folder, `<url>` the server, `<database>` the
host and name of an empty PostgreSQL database (`@database`), `<maps>` the folder of the packaged maps.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

import pytest

from cstp_server.conformance.wire_files import encode

FEW: Final = 4  # members of an object written over several lines
FOLDER: Final = Path(__file__).with_suffix("")
WRITTEN: Final = "WRITTEN_TRANSCRIPTS"  # variable with the files to write
VARIABLE: Final = {
    "anything": r".*?",
    "number": r"\d+(?:\.\d+)?",
    "date": r"\d{4}-\d\d-\d\d",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)",
}
KEPT: Final = {
    "token": r"cstp_[A-Za-z0-9-]+_[A-Za-z0-9_-]{20,}",
    "digest": r"\b[0-9a-f]{64}\b",
    "cursor": r"\b\d{16}\b",
    "id": r"(?<![0-9a-f])(?:[a-z]{3}_)?[0-9a-f]{16}(?:[0-9a-f]{16})?(?![0-9a-f])",
    "key": r"(?<![~\w])[0-9a-f]{12}\b",
    "port": r"\d{2,5}",
}
_MARK: Final = re.compile(r"<([a-z]+)((?: \d)?)>")
_RESERVED: Final = re.compile(r"$|##|@|[#$!?|>] |!$|\.\.\.$")


@dataclass(slots=True)
class Item:
    """A command with expected streams and code, a file to write, or words of a set-up."""

    kind: Literal["command", "file", "setup"]
    text: str
    line: int
    lines: list[str] = field(default_factory=list)  # standard output, or the file
    errors: list[str] = field(default_factory=list)
    code: int = 0
    head: list[str] = field(default_factory=list)  # the lines as they stand, but for the expected streams


@dataclass(frozen=True, slots=True)
class Session:
    """A heading and items; the file's `common` items come first."""

    file: str
    title: str
    common: Sequence[Item]
    items: list[Item]
    about: list[str]  # lines before the first item

    @property
    def setups(self) -> Iterator[tuple[str, str]]:
        for item in (*self.common, *self.items):
            if item.kind == "setup":
                name, _, words = item.text.partition(" ")
                yield name, words


class Bad(ValueError):
    """The file violates this notation."""


def read(path: Path) -> list[Session]:
    """Read a file; the first session has no title and the common items."""
    common: list[Item] = []
    sessions = [Session(path.stem, "", (), common, [])]
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        items = sessions[-1].items
        if inside:
            items[-1].head.append(line)
            inside = line != "<"
            if inside:
                items[-1].lines.append(line)
        elif line.startswith("# "):
            sessions.append(Session(path.stem, line[2:], common, [], []))
        elif line.startswith(("$ ", "@", "> file ")):
            kind: Literal["command", "file", "setup"] = "command" if line[0] == "$" else "setup"
            kind = "file" if line[0] == ">" else kind
            text = line[7:] if kind == "file" else line[1:].strip()
            items.append(Item(kind, text, number, head=[line]))
            inside = kind == "file"
        elif not line or line.startswith("##"):
            (items[-1].head if items else sessions[-1].about).extend([line] if line else [])
        elif not items or items[-1].kind != "command":
            raise Bad(f"{path.name}:{number}: a line before any command")
        else:
            _expect(items[-1], line)
    return sessions


def _expect(item: Item, line: str) -> None:
    if line.startswith("! ") or line == "!":
        item.errors.append(line[2:])
    elif line.startswith("? "):
        item.code = int(line[2:])
    else:
        item.lines.append(line[2:] if line.startswith("|") else line)


def write(path: Path, sessions: Sequence[Session]) -> None:
    """Write a file."""
    texts = []
    for session in sessions:
        lines = [f"# {session.title}"] if session.title else []
        lines += session.about
        for item in session.items:
            lines += item.head[: 1 if item.kind == "command" else None]
            if item.kind == "command":
                lines += [f"| {line}".rstrip() if _is_mark(line) else line for line in item.lines]
                lines += [f"! {line}".rstrip() for line in item.errors]
                lines += [f"? {item.code}"] if item.code else []
                lines += item.head[1:]
        texts += ["\n".join(lines)] if lines else []
    path.write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def _is_mark(line: str) -> bool:
    return line != "..." and _RESERVED.match(line) is not None


def fill(text: str, values: Mapping[str, str]) -> bytes:
    """Return a command or file with filled placeholders."""
    return encode(_MARK.sub(lambda mark: values.get(mark[0], mark[0]), text), {})


def shown(output: str, places: Mapping[str, str]) -> list[str]:
    """Return an output as transcript lines, with names of `places` instead of their paths."""
    for mark, place in places.items():
        output = output.replace(place, mark)
    lines = [line.rstrip() for line in output.split("\n")]
    lines = lines[:-1] if not lines[-1] else [*lines[:-1], f"{lines[-1]}<no line end>"]
    return [part for line in lines for part in _laid_out(line)] if len(lines) == 1 else lines


def _laid_out(line: str) -> Iterator[str]:
    """Format a JSON object: a line for each member, and for each item in a list of objects."""
    if not (line.startswith('{"') and line.endswith("}")) or len(json.loads(line)) < FEW:
        yield line
        return
    yield "{"
    for name, value in json.loads(line).items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield f"  {json.dumps(name)}: ["
            yield from (f"    {json.dumps(item, ensure_ascii=False)}" for item in value)
            yield "  ]"
        else:
            yield f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
    yield "}"


def matches(expected: Sequence[str], lines: Sequence[str], values: dict[str, str]) -> bool:
    """Compare an output with the expected lines; add placeholder values."""
    names: dict[str, str] = {}
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else _pattern(line, values, names) + r"\n" for line in expected)
    found = re.fullmatch(pattern, "".join(f"{line}\n" for line in lines))
    if found is not None:
        values |= {mark: found[name] for mark, name in names.items()}
    return found is not None


def _pattern(line: str, values: Mapping[str, str], names: dict[str, str]) -> str:
    parts, begin = [], 0
    for mark in _MARK.finditer(line):
        parts.append(re.escape(line[begin : mark.start()]))
        begin = mark.end()
        if mark[1] in VARIABLE:
            parts.append(VARIABLE[mark[1]])
        elif mark[0] in values:
            parts.append(re.escape(values[mark[0]]))
        elif mark[1] in KEPT and mark[0] in names:
            parts.append(f"(?P={names[mark[0]]})")
        elif mark[1] in KEPT:
            names[mark[0]] = f"v{len(names)}"
            parts.append(f"(?P<{names[mark[0]]}>{KEPT[mark[1]]})")
        else:
            parts.append(re.escape(mark[0]))
    return "".join((*parts, re.escape(line[begin:])))


def refresh(expected: Sequence[str], lines: Sequence[str], values: dict[str, str]) -> list[str]:
    """Return an output as expected lines: matching lines keep their placeholders."""
    masked = mask(lines, values)
    return [
        next((old for old in expected if old != "..." and re.fullmatch(_pattern(old, values, {}), line)), new)
        for line, new in zip(lines, masked, strict=True)
    ]


def mask(lines: Sequence[str], values: dict[str, str]) -> list[str]:
    """Replace varying values by placeholders; add new ones."""
    return [_mask(line, values) for line in lines]


def _mask(line: str, values: dict[str, str]) -> str:
    for kind in ("token", "digest", "cursor", "id", "key"):
        for value in re.findall(KEPT[kind], line):
            if value not in values.values():
                count = sum(re.fullmatch(rf"<{kind}(?: \d+)?>", mark) is not None for mark in values)
                values[f"<{kind} {count + 1}>" if count else f"<{kind}>"] = value
    for mark, value in sorted(values.items(), key=lambda pair: -len(pair[1])):
        line = line.replace(value, mark)
    line = re.sub(VARIABLE["time"], lambda time: "<time>" if _is_recent(time[0]) else time[0], line)
    return re.sub(VARIABLE["date"], lambda date: "<date>" if _is_recent(date[0]) else date[0], line)


def _is_recent(time: str) -> bool:
    return f"{datetime.now(UTC):%Y-%m-%d}" <= time < "2100"


def main(words: Sequence[str]) -> int:
    """Run the sessions of files, and write their answers."""
    if len(words) < 2 or words[0] != "--write":
        sys.stderr.write("usage: python -m tests.cli.transcripts --write FILE...\n")
        return 2
    paths = [Path(word) for word in words[1:]]
    os.environ[WRITTEN] = os.pathsep.join(path.stem for path in paths)
    chosen = " or ".join(f"{path.stem}:" for path in paths)
    return int(pytest.main(["-p", "no:cacheprovider", "--lane", "all", "tests/cli/test_transcripts.py", "-k", chosen]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
