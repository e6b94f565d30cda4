"""Help, misuse, settings, and the program without server packages."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cstp as client
import cstp_server
from tests.programs import run_program, run_python

Cstp = Callable[..., Any]
ROOT = Path(__file__).parents[2]
COMMANDS = (
    *("demo", "serve", "mcp", "ingest", "map", "show", "delete", "schema", "token", "call", "status", "config"),
    *("reindex", "compact", "audit", "record", "review", "remember", "forget", "changes"),
    *("copy", "backup", "restore", "doctor", "export", "import", "conform", "completion"),
    *("ui", "search", "setup", "hook"),
)
WITHIN = [("token", word) for word in ("create", "list", "revoke", "rotate")]
WITHIN += [("audit", word) for word in ("list", "verify")]


@pytest.mark.parametrize("words", [(), *((word,) for word in COMMANDS), *WITHIN], ids=" ".join)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_command_has_help_in_plain_words(cstp: Cstp, words: tuple[str, ...], flag: str) -> None:
    done = cstp(*words, flag)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: {' '.join(('cstp', *words))} ")
    assert "<bool>" not in done.out
    for line in done.out.splitlines():
        option, _, rest = line.strip().partition("  ")
        assert not option.startswith("--") or rest or option.count(" ") <= 1
    described = [line for line in done.out.splitlines() if line.startswith("  ") and not line.strip().startswith("-")]
    assert described, "says what it does"


def test_the_bare_program_prints_help_naming_every_command(cstp: Cstp) -> None:
    done = cstp()
    assert done.code == 0
    assert all(f"\n  {word} " in done.out for word in COMMANDS)
    assert re.findall(r"^(\w.*):$", done.out, re.MULTILINE)[1:] == [
        "Ask a server",
        "Open the folder",
        "Operate",
        "Examples",
    ]


def test_the_example_of_a_command_has_existing_options(cstp: Cstp) -> None:
    for word in COMMANDS:
        example = re.search(r"^  Example: (.*)\Z", cstp(word, "--help").out, re.MULTILINE | re.DOTALL)
        assert example is not None, word
        words = shlex.split(example[1].replace('eval "$(', "").replace(')"', ""))
        help = cstp(*words[1 : 3 if word in ("token", "audit") else 2], "--help").out
        assert words[0] == "cstp"
        assert words[1] == word
        assert all(option in help for option in words if option.startswith("--"))


# unneeded for a list of commands, and together they take seconds on a machine without a cache of them
HEAVY = {
    *("chromadb", "jsonrpcserver", "mcp", "numpy", "onnxruntime", "psycopg", "redis", "sqlalchemy"),
    *("starlette", "tantivy", "tokenizers", "uvicorn"),
}
SLOW = HEAVY | {"httpx", "pydantic", "pydantic_settings", "rich", "structlog", "yaml"}
PROGRAM = """
import sys
from cstp_server.cli.main import run
code = run(sys.argv[1:])
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
sys.exit(code)
"""


def loaded(*words: str, **environment: str) -> tuple[set[str], str]:
    """Return the packages imported by a command, and the output."""
    done = run_python(PROGRAM, *words, env={**os.environ, **environment}, check=True)
    return set(done.stderr.split()), done.stdout


def completed(line: str) -> tuple[set[str], str]:
    return loaded(_CSTP_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD="-1")


def test_the_help_is_printed_before_slow_imports() -> None:
    imported, printed = loaded("--help")
    assert printed.startswith("Usage: cstp ")
    assert "typer" in imported
    assert imported & SLOW == set()


@pytest.mark.long("imports in processes of their own")
def test_call_help_and_completion_import_no_search_or_server() -> None:
    assert loaded("call", "--help")[0] & HEAVY == set()
    imported, offered = completed("cstp ca")
    assert "call" in offered
    assert imported & SLOW == set()
    imported, offered = completed("cstp call cstp.getC")
    assert "cstp.getChunk" in offered
    assert imported & HEAVY == set()


def test_the_list_of_commands_agrees_with_their_own_help(cstp: Cstp) -> None:
    lines = " ".join(cstp("--help").out.partition("Commands:")[2].split())
    for word in COMMANDS:
        about = f" {lines}".partition(f" {word} ")[2]
        own = " ".join(cstp(word, "--help").out.partition("\n\n")[2].split())
        assert own.startswith(about.partition(".")[0]), word


@pytest.mark.parametrize(
    ("missing", "word"), [("typer", "token"), ("numpy", "serve"), ("sqlalchemy", "ingest"), ("yaml", "token")]
)
def test_a_missing_server_package_is_reported_with_its_installation(missing: str, word: str) -> None:
    script = f"""
import sys
sys.modules[{missing!r}] = None
from cstp_server.cli.entry import main
sys.argv = ["cstp", {word!r}, "--help"]
main()
"""
    done = run_python(script)
    assert done.returncode == 2
    assert "client install" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long("starts an interpreter for each command")
@pytest.mark.parametrize("word", ["call", "record", "review", "remember", "forget", "changes"])
def test_server_clients_need_only_the_packages_of_their_extra(word: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    others = {"mcp", "numpy", "orjson", "pydantic_settings", "sqlalchemy", "starlette", "structlog"}
    others |= {"tantivy", "uvicorn"}
    assert {one.partition(">")[0] for one in project["optional-dependencies"]["ask"]} == {"typer", "rich", "pyyaml"}
    arguments = {"call": ["cstp.listDecisions"], "changes": [], "review": ["x"], "forget": ["x", "--yes"]}.get(word, [])
    script = f"""
import sys
sys.modules |= dict.fromkeys({sorted(others)!r})
from cstp_server.cli.entry import main
sys.argv = ["cstp", {word!r}, *{arguments!r}]
main()
"""
    environment = {**os.environ, "CSTP_URL": "http://127.0.0.1:9", "CSTP_TOKEN": "t", "EDITOR": "true"}
    done = run_python(script, env=environment, stdin=subprocess.DEVNULL)
    assert "client install" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode in (2, 3)  # it reached the input, or the missing server


def test_the_version_is_that_of_the_package(cstp: Cstp) -> None:
    assert cstp("--version").out == f"{client.__version__}\n"


def test_the_client_install_explains_how_to_get_the_rest(tmp_path: Path) -> None:
    # an interpreter with our packages and the base install's, and none of the server's
    base = tmp_path / "site"
    base.mkdir()
    for package in (client, cstp_server):
        folder = Path(next(iter(package.__path__)))
        (base / folder.name).symlink_to(folder)
    script = "from cstp_server.cli.entry import main; import sys; sys.argv = ['cstp', 'serve']; main()"
    environment = {"PYTHONPATH": str(base), "PATH": os.environ["PATH"]}
    done = run_program(sys.executable, "-S", "-c", script, env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert "client install" in done.stderr
    assert 'pip install ".[server]"' in done.stderr
