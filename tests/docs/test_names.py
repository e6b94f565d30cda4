"""A backticked name, in a docstring or on a page, occurs in the code."""

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache

import pytest
from pydantic.alias_generators import to_camel

from tests.docs.test_readme import PAGES, ROOT, prose
from tests.test_architecture import MODULES, NODES

# `name`, `Class.name` or `name(...)`
NAME = re.compile(r"`([A-Za-z_][\w.]*)(?:\([^`)]*\))?`")
OTHER_PAGES = {"CHANGELOG.md", "moving.md", "configuration.md"}  # former names, names of another server, variables
OF_OTHERS = {
    *("mongodump", "mongoexport", "apoc.export.json", "apoc.export.json.all", "start_id", "start_name", "end_id"),
    *("end_name", "CHROMA_SERVER_AUTHN_...", "TimeoutStopSec", "limit_conn", "Digest", "ETag", "api_key_env_var"),
    *("fs.protected_hardlinks", "BeforeTool", "PreCompress", "chat.hookFilesLocations", "preCompact", "preToolUse"),
}
EXAMPLES = {
    "aaa",
    "getTideTable",
    "listProjects",
    "tide_table",
    "qd4711",
    "PDFs",
    "G...",
    "Decision_Records",
    "DecisionRecords",
    "decisionrecords",
    "case_study",
}


@cache
def known() -> frozenset[str]:
    """Return all words in the project's code and paths, without docstrings, in Python and JSON spelling."""
    found = set(dir(builtins))
    tests = [path for folder in ("tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
    trees = [list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in tests]
    for nodes in (*NODES.values(), *trees):
        held = {id(each) for each, _ in docstrings(nodes)}
        for node in nodes:
            found |= set() if id(node) in held else set(words(node))
    for path in (*MODULES, *map(str, tests)):
        found |= set(re.findall(r"\w+", path))
    return frozenset(found | {to_camel(word) for word in found if "_" in word})


@pytest.fixture(scope="module", autouse=True)
def _known() -> None:
    """Read all code before the first test, which would otherwise be slow."""
    known()


def words(node: ast.AST) -> Iterator[str]:
    """Yield a node's own words: names, and words of a text."""
    for field in ("id", "attr", "name", "arg", "value", "module"):
        value = getattr(node, field, None)
        if isinstance(value, str):
            yield from re.findall(r"\w+", value)


def docstrings(nodes: list[ast.AST]) -> Iterator[tuple[ast.Constant, str]]:
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            match node.body[0]:
                case ast.Expr(value=ast.Constant(value=str(text)) as constant):
                    yield constant, text


def unknown(text: str) -> Iterator[str]:
    """Yield the names in a text that are absent from the code."""
    for name in set(NAME.findall(text)) - OF_OTHERS - EXAMPLES:
        if any(part and part not in known() for part in name.split(".")):
            yield name


def test_a_name_absent_from_the_code_is_found() -> None:
    gone = "a_name_that_" + "is_gone"
    assert list(unknown(f"See `{gone}` and `Settings.server`, but not `cstp ingest` or `known()`.")) == [gone]


def test_every_name_in_a_docstring_exists() -> None:
    found = {f"{path}: {name}" for path in NODES for _, text in docstrings(NODES[path]) for name in unknown(text)}
    assert found == set()


def test_every_name_on_a_page_exists() -> None:
    pages = [page for page in PAGES if page.name not in OTHER_PAGES and page.parent.name != "decisions"]
    assert {f"{page.relative_to(ROOT)}: {name}" for page in pages for name in unknown(prose(page))} == set()
