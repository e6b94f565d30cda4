"""A fork server process is equivalent to an interpreter's for a test."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

import cstp
from tests.chaos.store import EMBEDDER
from tests.quick_starts import ENTRY, PROGRAM

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="on Linux alone: processes are adopted")
COMMAND = (sys.executable, "-c", ENTRY)


def start(*words: str, **options: object) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    options = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True} | options
    process: subprocess.Popen[str] = subprocess.Popen([*COMMAND, *words], **options)  # type: ignore[call-overload]
    return process


@contextmanager
def serving(folder: Path, **variables: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a listening server."""
    environment = {**os.environ, "CSTP_EMBEDDING__MODEL": "none", **variables}
    with start("serve", "--port", "0", "--data-dir", str(folder), env=environment) as process:
        assert process.stderr is not None
        assert any('"serving"' in line for line in process.stderr)
        try:
            yield process
        finally:
            process.kill()


def forked(process: "subprocess.Popen[str]") -> bool:
    return str(PROGRAM) in Path(f"/proc/{process.pid}/cmdline").read_text()


def status(process: "subprocess.Popen[str]") -> Mapping[str, str]:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_a_command_is_a_child_of_the_test_in_its_group_without_foreign_files(tmp_path: Path) -> None:
    with serving(tmp_path / "a") as other, serving(tmp_path / "b") as process:
        assert forked(other)
        assert forked(process)
        assert status(process)["PPid"] == str(os.getpid())
        assert (os.getpgid(process.pid), os.getsid(process.pid)) == (os.getpgid(0), os.getsid(0))
        assert os.readlink(f"/proc/{process.pid}/fd/1") != os.readlink(f"/proc/{other.pid}/fd/1")
        names = [os.readlink(file) for file in Path(f"/proc/{process.pid}/fd").iterdir()]
        theirs = [os.readlink(file) for file in Path(f"/proc/{other.pid}/fd").iterdir()]
        assert {name for name in names if name.startswith("pipe:")} & set(theirs) == set()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 0)], ids=str
)
def test_a_signal_ends_it_with_the_code_of_a_process(tmp_path: Path, number: int, code: int) -> None:
    with serving(tmp_path) as process:
        process.send_signal(number)
        assert process.wait(60) == code


def test_it_gets_the_given_words_environment_folder_and_files(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("server: {port: 1234}\n")
    environment = {"PATH": os.environ["PATH"], "CSTP_AGENT__ID": "of the environment"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "L"))}
    process = start("config", "--config", "mine.yaml", cwd=tmp_path, env=environment)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "1234" in out
    assert "of the environment" in out
    process = start("ingest", "-", "--json", cwd=tmp_path, env={**os.environ, "CSTP_EMBEDDING__MODEL": "none"})
    out, err = process.communicate('{"kind": "decision", "title": "Größer"}\n', timeout=60)
    assert process.returncode == 0, err
    assert '"new": 1' in out
    assert (tmp_path / "data").is_dir()


def test_its_output_and_exit_code_equal_an_interpreters(capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["--version"], ["--help"], ["token", "fly"], ["call", "--help"]):
        environment = {**os.environ, "COLUMNS": "100"}
        one = start(*words, env=environment)
        other = start(*words, env=environment, umask=0o77)  # left to Python by the fork server
        assert one.communicate() == other.communicate()
        assert one.returncode == other.returncode


@pytest.mark.true_start
def test_a_test_may_ask_for_a_true_start(tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        assert not forked(process)


def test_a_startup_folder_of_these_tests_runs_in_a_fork(tmp_path: Path) -> None:
    path = os.pathsep.join([str(EMBEDDER), os.environ.get("PYTHONPATH", "")])
    with serving(tmp_path, PYTHONPATH=path, CSTP_EMBEDDING__MODEL="chroma:chaos") as process:
        assert forked(process)


def test_environments_read_by_python_itself_need_a_true_start() -> None:
    process = start("--version", env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})
    out, err = process.communicate()
    assert out == f"{cstp.__version__}\n"
    assert "typing" in err


ALONE = """
import os, sys
from importlib import import_module
from pathlib import Path
for name in (  # packages of others, what comes before every command, and what most of them share
    "chromadb httpx markdown_it mcp.server numpy onnxruntime orjson prometheus_client pydantic_settings"
    " rich.console sqlalchemy.dialects.postgresql.psycopg sqlalchemy.dialects.sqlite starlette.applications structlog"
    " tantivy tokenizers typer uvicorn yaml cstp_server.cli.main cstp.methods.registry cognition_engines.engine"
).split():
    import_module(name)
import cstp_server
for file in sorted((Path(cstp_server.__path__[0]) / "cli" / "commands").glob("*.py")):
    if not (process := os.fork()):
        import_module(f"cstp_server.cli.commands.{file.stem}")
        os._exit(0)
    if os.waitpid(process, 0)[1]:
        sys.exit(file.stem)
"""


def test_each_command_imports_its_needs_alone() -> None:
    """Run true starts: the fork server has imported everything, which hides a missing import."""
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_shell_starts_it_ends_it_and_reads_its_output_and_exit_code(cstp_for_shells: Path, tmp_path: Path) -> None:
    script = f"""
PATH={cstp_for_shells}:$PATH
set -x
test "$(cstp --version)" = {cstp.__version__} || exit 10
echo '{{"kind": "decision", "title": "One"}}' | cstp ingest - --json >given || exit 11
cstp token fly; test $? = 2 || exit 12
cstp serve --port 0 2>log & server=$!
until grep -q '"serving"' log; do sleep 0.05; done
kill $server; wait $server || exit 13
"""
    environment = {**os.environ, "CSTP_EMBEDDING__MODEL": "none"}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
