"""Everything named in the documents exists: links, commands, options, targets, settings, methods; examples work."""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import cstp
import cstp.exports
from cognition_engines.ingest.structured.aliases import own_names
from cognition_engines.kinds.spec import Kind
from cstp.methods.registry import METHODS
from cstp.validation import parse_params
from cstp_server.cli.main import app
from cstp_server.loaded_settings import load_settings
from tests.ingest.decisions import read_file

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page for part in ("*.md", "docs/**/*.md", "examples/**/*.md", "skills/**/*.md") for page in ROOT.glob(part)
)
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
COMMANDS: Any = typer.main.get_command(app)
DECISION_HEADINGS = [
    "Context and Problem Statement",
    "Decision Drivers",
    "Considered Options",
    "Decision Outcome",
    "Consequences",
    "Confirmation",
]
_LINK = re.compile(r"\[[^\]\n]*\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_EXPORT = re.compile(r"\$\((cstp [^)]*)\)")
_VARIABLE = re.compile(r"\bCSTP_([A-Z]+)__([A-Z_]+)\b")


def prose(page: Path) -> str:
    """Return the page without code blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def shell_lines(page: Path) -> Iterator[str]:
    """Yield every command on the page, in blocks or between backticks; continued lines are joined."""
    text = page.read_text(encoding="utf-8")
    for language, block in _FENCE.findall(text):
        if language == "sh":
            yield from commands(block.replace("\\\n", " "))
            yield from _EXPORT.findall(block)
    yield from _INLINE.findall(prose(page))


def commands(block: str) -> Iterator[str]:
    """Yield the commands of a block; open quotes continue on the next line."""
    held = ""
    for line in block.splitlines():
        held = f"{held}\n{line}" if held else line
        if held.count("'") % 2 == 0:
            yield held
            held = ""


def words_after(line: str, program: str) -> list[str] | None:
    """Return the line's arguments to `program`; None if it does not begin with `program`."""
    words = shlex.split(line.replace("...", ""), comments=True)
    while words and "=" in words[0] and not words[0].startswith("-"):
        words.pop(0)
    return words[1:] if words[:1] == [program] else None


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dangling_links(page: Path) -> Iterator[str]:
    for link in _LINK.findall(prose(page)):
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        if not link.startswith("https://") and (not file.exists() or (anchor and anchor not in anchors(file))):
            yield link


def unknown_commands(page: Path) -> Iterator[str]:
    for line in shell_lines(page):
        words = words_after(line, "cstp") if "cstp" in line else None
        command = COMMANDS
        while command is not None and words and hasattr(command, "get_command") and not words[0].startswith("-"):
            command = command.get_command(None, words.pop(0))
        if command is None:
            yield line
        elif words:
            known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
            if any(word.startswith("--") and word.partition("=")[0] not in known for word in words):
                yield line


def unknown_targets(page: Path) -> Iterator[str]:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line in shell_lines(page):
        words = words_after(line, "make") or []
        yield from {word for word in words if "=" not in word} - targets


def unknown_variables(page: Path) -> Iterator[str]:
    settings = load_settings({}).origins
    named = (f"{section}.{name}".lower() for section, name in _VARIABLE.findall(page.read_text(encoding="utf-8")))
    yield from (name for name in named if name not in settings)


def unknown_methods(page: Path) -> set[str]:
    modules = {path.stem for path in (ROOT / "a2a" / "cstp").iterdir()}
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?<!/)\bcstp\.([A-Za-z]+)\b", text)) - set(re.findall(r'name="cstp\.(\w+)"', text))
    return named - modules - {method.name.removeprefix("cstp.") for method in METHODS} - set(cstp.__all__)


def absent_files(page: Path) -> Iterator[str]:
    if page.name not in ("getting-started.md", "decision-files.md"):  # in this file, docs/adr is the reader's own
        named = re.findall(
            r"`((?:a2a|skills|cstp|cstp_server|cognition_engines|tests|docs|config|requirements)/[\w./-]+)`",
            page.read_text(encoding="utf-8"),
        )
        roots = (ROOT, ROOT / "a2a", ROOT / "skills")
        yield from (path for path in named if not any((root / path).exists() for root in roots))


CHECKS = (dangling_links, unknown_commands, unknown_targets, unknown_variables, unknown_methods, absent_files)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_everything_named_on_the_pages_exists(check: Callable[[Path], Iterable[str]]) -> None:
    assert [f"{page.relative_to(ROOT)}: {found}" for page in PAGES for found in check(page)] == []


def test_the_shown_calls_have_valid_parameters() -> None:
    methods = {method.name: method for method in METHODS}
    for page in PAGES:
        for line in shell_lines(page):
            words = shlex.split(line, comments=True) if line.startswith(("cstp call cstp.", "curl")) else []
            if words[:1] == ["cstp"]:
                name, pairs = words[2], [word.partition("=") for word in words[3:] if not word.startswith("--")]
                sent = {key.rstrip(":"): json.loads(v) if key.endswith(":") else v for key, _, v in pairs}
            elif words and not any(word.startswith("$collections") for word in words):  # those ask Chroma
                request = json.loads(words[words.index("-d") + 1])
                name, sent = request["method"], request["params"]
            else:
                continue
            assert parse_params(methods[name].params, sent)


def test_every_field_of_a_decision_is_described() -> None:
    page = (ROOT / "docs" / "decision-files.md").read_text(encoding="utf-8")
    for name in own_names(Kind.DECISION):
        assert f"`{name}`" in page or name == "superseded_by"


def test_the_example_files_are_read_without_a_warning() -> None:
    page = (ROOT / "docs" / "decision-files.md").read_text(encoding="utf-8")
    endings = {"markdown": "md", "yaml": "yaml", "jsonl": "jsonl"}
    examples = [(language, text) for language, text in _FENCE.findall(page) if language in endings]
    assert [language for language, _ in examples] == ["markdown", "markdown", "markdown", "yaml", "jsonl"]
    for language, text in examples:
        reading = read_file(f"example.{endings[language]}", text.encode(), explicit=True)
        assert reading.recognised
        assert (reading.rejected, reading.warnings) == ((), ())
        assert all(draft.status for draft in reading.drafts)


def test_our_own_decisions_are_read_whole() -> None:
    superseded = {number for each in DECISIONS for number in re.findall(r"Supersedes \[(\d{4})", each.read_text())}
    for file in DECISIONS:
        reading = read_file(str(file), file.read_bytes())
        assert (len(reading.drafts), reading.rejected, reading.warnings) == (1, (), ()), file.name
        draft = reading.drafts[0]
        assert draft.status == ("superseded" if file.name[:4] in superseded else "accepted"), file.name
        assert draft.date is not None, file.name
        assert draft.category, file.name
        assert draft.tags, file.name
        assert draft.reasons, file.name
        assert draft.stakes in ("low", "medium", "high"), file.name
        assert re.findall(r"^##+ (.*)$", draft.text, re.MULTILINE) == DECISION_HEADINGS, file.name


def test_our_decisions_are_numbered_without_a_gap() -> None:
    assert [int(file.name[:4]) for file in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[([^\]]+)\]", changelog, re.MULTILINE)
    assert newest is not None
    assert newest[1] == project["version"] == cstp.__version__


def test_the_changes_of_a_version_list_its_features_in_few_lines() -> None:
    parts = re.split(r"^##+ ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert len(parts) > 1
    assert all(len(part.splitlines()) <= 40 for part in parts)  # of each list of a version
