"""House rules that can be checked: import directions, sizes, names, docstrings, catch-alls, conversations."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from cognition_engines.kinds.registry import SPECS
from cognition_engines.models import Condition
from cstp.methods.registry import METHODS

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "cstp": ROOT / "a2a" / "cstp",
    "cstp_server": ROOT / "a2a" / "cstp_server",
    "cognition_engines": ROOT / "skills" / "cognition_engines",
}
MODULES = {
    str(path.relative_to(package.parent)): ast.parse(path.read_text(encoding="utf-8"))
    for package in PACKAGES.values()
    for path in sorted(package.rglob("*.py"))
}
NODES = {name: list(ast.walk(tree)) for name, tree in MODULES.items()}  # each test looks at all of them
UNSET = {name: value for name, value in os.environ.items() if not name.startswith("CSTP_")}
LARGEST_FOLDER = 25  # files
SAME_NAMES = {  # of modules in several folders, and the name's meaning in each of them
    "backup": "a backup of the store",
    "base": "the base of the classes of its folder",
    "call": "a call to send",
    "decision_context": "the family",
    "decision_reads": "the family",
    "dates": "times that texts name",
    "decisions": "the family",
    "episodes": "the family",
    "errors": "the errors of that room",
    "everything": "the family",
    "extractions": "the family",
    "fields": "types of fields",
    "graph": "events, entities and edges",
    "index": "the index over one library",
    "indexes": "the indexes of a folder",
    "knowledge": "the family",
    "memories": "artifacts, turns, events and the graph",
    "options": "what a command or a run is given",
    "reader": "a text to drafts",
    "recall": "the family",
    "records": "records of any kind",
    "references": "references between records",
    "registry": "all of them by name",
    "remote": "another server, through the client",
    "run": "does what its folder is for",
    "session_context": "the family",
    "serve": "a server until it stops",
    "server": "the other side of a protocol",
    "system": "the family",
}
LONGEST_FUNCTION = 50
ALLOWED_OF_CSTP = {"cstp", "pydantic", "pydantic_core", "httpx"}
IMPORTS_YAML = {("cstp/agents.py", "yaml")}  # the extra `agents`
# readers of collections in other systems, over their REST interfaces
READS_HTTP = "cognition_engines/ingest/collections/rest_sources.py"
SERVER_ONLY = {"starlette", "uvicorn", "jsonrpcserver", "limits", "redis", "structlog", "typer", "rich", "httpx"}
CATCH_ALLS = [
    "cognition_engines/background.py",  # any exception of background work is reported, and the thread continues
    "cognition_engines/ingest/formats/format_worker.py",  # libraries raise anything over a hostile document
    "cognition_engines/queries/pools.py",
    "cognition_engines/set_aside.py",  # any exception for a record sets only this record aside
    "cstp_server/rpc/dispatch.py",
]
IMPORTS_CHROMADB = {
    "cognition_engines/embedding/chroma_function.py",
    "cognition_engines/indexes/vectors/chroma/index.py",
    "cognition_engines/indexes/vectors/chroma/server.py",
    "cognition_engines/ingest/collections/chroma_source.py",
}
BANNED_WORDS = re.compile(r"(?:^|_|(?<=[a-z]))(services?|managers?|utils?|helpers?)(?:$|_|(?=[A-Z]))", re.IGNORECASE)


def imported(name: str) -> Iterator[str]:
    """Yield the top-level name of each import in a module; relative imports as a dot."""
    for node in NODES[name]:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." if node.level else str(node.module).partition(".")[0]


def of(package: str) -> list[str]:
    return [name for name in MODULES if name.startswith(f"{package}/")]


def test_the_protocol_imports_only_the_base_install_and_nothing_of_ours() -> None:
    found = {(name, root) for name in of("cstp") for root in imported(name)}
    assert {each for each in found if each[1] not in ALLOWED_OF_CSTP | sys.stdlib_module_names} == IMPORTS_YAML


def test_the_engine_imports_only_values_and_errors_of_the_protocol_and_nothing_of_the_server() -> None:
    banned = {"cstp_server", "."} | SERVER_ONLY
    found = {(name, root) for name in of("cognition_engines") for root in imported(name)}
    assert {each for each in found if each[1] in banned} == {(READS_HTTP, "httpx")}
    engine = {(one, other) for one, other in _imports() if one.startswith("cognition_engines.")}
    of_protocol = {(one, other) for one, other in engine if other.partition(".")[0] == "cstp"}
    assert {each for each in of_protocol if not each[1].startswith(("cstp.values", "cstp.errors"))} == set()


def test_only_mongodb_readers_import_its_driver() -> None:
    found = {name for name in MODULES if {"pymongo", "bson"} & set(imported(name))}
    assert found == {"cognition_engines/ingest/collections/mongodb_source.py"}


def test_only_the_indexes_and_the_registry_import_chromadb() -> None:
    assert {name for name in MODULES if "chromadb" in imported(name)} == IMPORTS_CHROMADB


def test_outside_its_folder_a_vector_backend_is_named_by_the_registry_alone() -> None:
    chroma = "cognition_engines.indexes.vectors.chroma."
    found = {one for one, other in _imports() if other.startswith(chroma) and not one.startswith(chroma)}
    assert found == {"cognition_engines.indexes.vectors.registry", "cognition_engines.ingest.collections.chroma_source"}


def test_http_requests_are_sent_by_the_client_and_collection_readers_alone() -> None:
    senders = re.compile(r"httpx\.(get|post|request|stream|Client|AsyncClient)$")
    found = {
        name
        for name, nodes in NODES.items()
        for node in nodes
        if isinstance(node, ast.Call) and senders.match(ast.unparse(node.func))
    }
    assert found == {"cstp/client/async_client.py", "cstp/client/connections.py", READS_HTTP}


def test_neither_writing_nor_the_exchange_of_lines_imports_ingest() -> None:
    above = ("cognition_engines.writing.", "cognition_engines.exchange.")
    below = ("cognition_engines.drafts.", "cognition_engines.markdown.", *above)
    ingest = {(one, other) for one, other in _imports() if other.startswith("cognition_engines.ingest.")}
    assert {pair for pair in ingest if pair[0].startswith(below)} == set()


@pytest.mark.long("starts interpreters")
def test_neither_a_start_nor_an_ingest_of_files_imports_rarely_needed_packages() -> None:
    imports = "import sys, cstp_server.serve, cstp_server.cli.commands.ingest"
    said = f"{imports}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    found = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout.split()
    assert "starlette" in found
    assert {"chromadb", "mcp", "pymongo", "redis"} & set(found) == set()


@pytest.mark.long("starts interpreters")
def test_a_server_over_a_store_without_vectors_does_not_load_chroma(tmp_path: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
from cstp_server.open_engine import open_engine
from cstp_server.settings import Settings

knowledge = open_engine(Settings(data_dir=Path({str(tmp_path)!r})))
while knowledge.indexes.vectors_state != "ready":
    time.sleep(0.01)
knowledge.close()
print(knowledge.indexes.vectors_state, *sorted({{name.partition('.')[0] for name in sys.modules}}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=UNSET)
    found = done.stdout.split()
    assert found[0] == "ready"
    assert "chromadb" not in found


def test_the_source_folders_are_no_packages() -> None:
    assert [folder for folder in ("a2a", "skills") if (ROOT / folder / "__init__.py").exists()] == []


def test_a_module_states_its_purpose() -> None:
    assert [name for name, tree in MODULES.items() if not ast.get_docstring(tree)] == []


def _generated(name: str) -> bool:
    """Return whether a file is generated, and so not read from the first line to the last."""
    return "Generated from" in (ast.get_docstring(MODULES[name]) or "")


def _own_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return a function's lines without those of nested functions and classes."""
    inner = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node is not function
    ]
    held = {line for node in inner for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    return len(set(_span(function)) - held)


def _functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for name, nodes in NODES.items():
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield name, node


def test_a_function_is_short_and_imports_nothing() -> None:
    long = [
        f"{name}: {f.name}" for name, f in _functions() if _own_lines(f) > LONGEST_FUNCTION and not _generated(name)
    ]
    assert long == []
    indented = {
        (name, node.lineno)
        for name, nodes in NODES.items()
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom) and node.col_offset
    }
    within = [(name, f.name) for name, f in _functions() for each, n in indented if each == name and n in _span(f)]
    assert within == []


def _span(function: ast.FunctionDef | ast.AsyncFunctionDef) -> range:
    return range(function.lineno, (function.end_lineno or 0) + 1)


def _catches_all(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler catches any exception without passing it on."""
    if isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None:
        return False
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(each is None or (isinstance(each, ast.Name) and each.id.endswith("Exception")) for each in caught)


def test_the_server_has_one_catch_all_and_one_transport_out_of_threads() -> None:
    found = [
        name
        for name, nodes in NODES.items()
        for node in nodes
        if isinstance(node, ast.ExceptHandler) and _catches_all(node)
    ]
    assert sorted(found) == CATCH_ALLS


# Threads with an intended end, or harmless (decision 0084).
PLAIN_THREADS = {
    "cognition_engines/background.py",
    "cognition_engines/queries/pools.py",
    "cognition_engines/sync_engine.py",
    "cstp_server/cli/commands/demo.py",
    "cstp_server/doctor/finding.py",
    "cstp_server/mcp/stdio.py",
    "cstp_server/observe/log.py",
    "cstp_server/process/stop.py",
    "cstp_server/workers/membership.py",
}


def test_background_work_runs_in_the_one_endless_loop() -> None:
    found = {
        name
        for name, nodes in NODES.items()
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Thread"
    }
    assert found == PLAIN_THREADS


def test_nothing_is_called_a_service_a_manager_or_a_helper() -> None:
    names = {part for name in MODULES for part in Path(name).with_suffix("").parts}
    names |= {node.name for nodes in NODES.values() for node in nodes if isinstance(node, ast.ClassDef)}
    assert {name for name in names if BANNED_WORDS.search(name)} == set()


def test_every_method_is_named_once() -> None:
    names = [method.name for method in METHODS]
    assert len(set(names)) == len(names)
    assert all(method.summary and method.params.__doc__ and method.result.__doc__ for method in METHODS)


def test_every_method_has_a_conversation() -> None:
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "tests" / "wire").glob("*.txt")]
    sent = {name for text in texts for name in re.findall(r'^-->.*"method": *"([^"]+)"', text, re.MULTILINE)}
    assert {method.name for method in METHODS} - sent == set()


OVER_KINDS = {each.__name__ for each in (*(spec.model for spec in SPECS.values()), *get_args(Condition))}


def _quiet_defaults(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Yield lines of `match` statements over kinds, conditions or columns whose default neither fails nor is proved."""
    for node in nodes:
        if isinstance(node, ast.Match):
            cases = [each for case in node.cases for each in ast.walk(case.pattern)]
            named = {
                each.cls.id for each in cases if isinstance(each, ast.MatchClass) and isinstance(each.cls, ast.Name)
            }
            subject = ast.unparse(node.subject)
            last = node.cases[-1]
            is_default = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
            fails = isinstance(last.body[-1], ast.Raise) or ast.unparse(last.body[-1]).startswith("assert_never(")
            if (named & OVER_KINDS or subject in ("column", "kind")) and is_default and not fails:
                yield node.lineno


def test_no_match_over_kinds_or_columns_has_a_quiet_default() -> None:
    quiet = ast.parse("match record:\n    case Turn():\n        return 1\n    case _:\n        return None")
    assert list(_quiet_defaults(ast.walk(quiet))) == [1]
    assert [(name, line) for name, nodes in NODES.items() for line in _quiet_defaults(nodes)] == []


def _folders() -> dict[Path, list[Path]]:
    """Return the folders of the packages, and the modules directly in each."""
    files = [Path(name) for name in MODULES]
    return {folder: [file for file in files if file.parent == folder] for folder in {file.parent for file in files}}


def test_no_folder_is_a_heap() -> None:
    assert {str(folder): len(files) for folder, files in _folders().items() if len(files) > LARGEST_FOLDER} == {}


def test_modules_with_equal_names_mean_the_same() -> None:
    stems = [Path(name).stem for name in MODULES]
    assert {stem for stem in stems if stems.count(stem) > 1 and not stem.startswith("__")} == set(SAME_NAMES)


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def _imports() -> set[tuple[str, str]]:
    """Return pairs of our modules, the first importing the second."""
    modules = {_module(path): nodes for path, nodes in NODES.items()}
    found = set()
    for module, nodes in modules.items():
        for node in nodes:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                inside = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name if name in modules else str(node.module) for name in inside]
            found |= {(module, name) for name in names if name in modules and name != module}
    return found


@cache
def sibling_imports() -> dict[str, set[tuple[str, str]]]:
    """Return, by folder, the imports between files and folders."""
    found: dict[str, set[tuple[str, str]]] = {}
    for one, other in _imports():
        left, right = one.split("."), other.split(".")
        shared = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
        if shared is not None:
            found.setdefault(".".join(left[:shared]), set()).add((left[shared], right[shared]))
    return found


def _circle(pairs: set[tuple[str, str]]) -> set[str]:
    """Return the remainder after repeatedly removing everything without imports from the rest."""
    left = set(pairs)
    while free := {two for _, two in left} - {one for one, _ in left}:
        left = {(one, two) for one, two in left if two not in free}
    return {one for one, _ in left}


def test_no_files_or_folders_next_to_each_other_import_each_other_in_a_circle() -> None:
    assert _circle({("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")}) >= {"b", "c"}
    siblings = sibling_imports()
    assert len(siblings) > 20
    assert {folder: circle for folder, pairs in siblings.items() if (circle := _circle(pairs))} == {}


# Words unknown to engineers' searches; CONTRIBUTING.md names the terms to use.
UNSEARCHABLE = re.compile(
    r"\b(told|tells?|anew|nobody|somebody|whoever|so many|mend|beside(?! reviewBy)"
    r"|of its own|goes on|drawn|is said|are said)\b(?!\()",
    re.IGNORECASE,
)


def test_names_comments_and_docstrings_use_the_terms_of_engineers() -> None:
    assert UNSEARCHABLE.search("it is built anew")
    assert not UNSEARCHABLE.search("file.tell()")
    lines = [
        f"{path}:{number}: {line.strip()}"
        for package in PACKAGES.values()
        for path in sorted(package.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if UNSEARCHABLE.search(line)
    ]
    assert lines == []


# Words beginning a noun phrase or a clause, not an imperative sentence; plurals and third persons in "s" do, too.
NOT_IMPERATIVE = re.compile(
    r"(?:The|An?|All|Any|Each|Every|Everything|Nothing|None?|One|That|This|Those|These|Its?|Memory|Leading"
    r"|As|By|For|From|In|Of|On|With|Without|Under|Around|If|When|Where|While|Whether|What|Which|Who|Whom|Why|How|See)\b"
    r"|[A-Z][a-z]*[^s\W]s\b|[A-Z]{2}|[^A-Z]"
)
NO_CALLS = ("property", "validator", "callback")  # decorators of functions read or called by a framework


def _public_functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public_functions(node.body)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node


def test_the_docstring_of_a_public_function_begins_in_the_imperative() -> None:
    assert all(NOT_IMPERATIVE.match(text) for text in ("The id.", "Returns it.", "JSON.", "`id`.", "Whether it is."))
    assert not any(NOT_IMPERATIVE.match(text) for text in ("Return it.", "Pass it on.", "Address it."))
    found = [
        f"{name}: {function.name}: {first[0]}"
        for name in MODULES
        for function in _public_functions(MODULES[name].body)
        if not any(word in ast.unparse(each) for each in function.decorator_list for word in NO_CALLS)
        and (first := (ast.get_docstring(function) or "").splitlines()[:1])
        and NOT_IMPERATIVE.match(first[0])
    ]
    assert found == []
