"""First contact with the project: purpose, MCP, own records; and install commands without a registry."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.test_readme import PAGES, ROOT, words_after

SCREEN = 40  # lines
LONGEST = 120  # lines
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST = "\n".join(README.splitlines()[:SCREEN])


def is_text(path: Path) -> bool:
    return path.suffix in {".py", ".sh", ".md", ".yaml", ".yml", ".txt"}


SHOWN = [
    *PAGES,
    *(path for folder in ("a2a", "skills", "examples") for path in (ROOT / folder).rglob("*") if is_text(path)),
    ROOT / "Makefile",
]


def installs(path: Path) -> Iterator[list[str]]:
    """Yield the arguments of each `pip install` in a file."""
    for command in re.findall(r"pip install ([^`\n#;)]*)", path.read_text(encoding="utf-8")):
        yield [word.strip("'\"\\n") for word in command.split() if word not in ("'", '"')]


def test_the_first_line_expands_the_name() -> None:
    assert "Cognition State Transfer Protocol" in README.splitlines()[0]


def test_the_first_screen_names_mcp_and_shows_ones_own_records() -> None:
    before, _, after = FIRST.partition("## With your own records")
    assert "MCP" in before
    assert "make demo" in before
    assert "cstp ingest" in after
    assert "\ncstp setup claude-code " in after
    assert all(one in after for one in ("`affects: ", "\ncstp check ", "\ncstp context "))
    assert '"mcpServers"' in after


def test_the_readme_searches_right_after_an_ingest() -> None:
    assert re.search(r"^cstp ingest .*\ncstp search ", FIRST, re.MULTILINE)


def test_getting_started_shows_the_decisions_that_govern_a_file() -> None:
    page = (ROOT / "docs/getting-started.md").read_text(encoding="utf-8")
    assert all(one in page for one in ("\naffects: [", "\ncstp check ", "\ncstp context "))


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= LONGEST


def test_the_token_is_made_for_the_configured_agent() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    made = [words_after(line, "cstp") for block in blocks for line in block.splitlines() if "--agent claude" in line]
    assert [words[:2] for words in made if words] == [["token", "create"]]


def test_nothing_is_installed_by_the_projects_own_name() -> None:
    """Check install commands: the project is on no registry, so the name there would belong to others."""
    named = ("cognition-cstp", "cstp")
    found = [
        (path, words) for path in SHOWN for words in installs(path) if any(word.startswith(named) for word in words)
    ]
    assert found == []
