"""The base install: requirements, a client working with them alone, and import cost."""

import importlib.metadata
import re
import sys
import zipfile
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path

import pytest

from tests.client.conftest import ROOT
from tests.programs import build_wheel, run_program, run_python

pytestmark = pytest.mark.long("installs into an environment of its own")
CALLS = """
import sys
seen = [0]
def count(frame, event, argument):
    seen[0] += event in ("call", "c_call")
sys.setprofile(count)
{program}
sys.setprofile(None)
print(seen[0])
"""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def base_install(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with the wheel and requirements of pydantic and httpx, and nothing else to import."""
    folder = tmp_path_factory.mktemp("base")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    for name in sorted({found for root in ("pydantic", "httpx") for found in needed(root)}):
        distribution = importlib.metadata.distribution(name)
        for file in distribution.files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (folder / top).exists():
                (folder / top).symlink_to(Path(str(distribution.locate_file(top))))
    return folder


def needed(name: str) -> Iterator[str]:
    """Yield a distribution and all installed requirements, without extras."""
    yield name
    for requirement in importlib.metadata.requires(name) or ():
        words, _, marker = requirement.partition(";")
        # exceptiongroup and similar packages are for older versions of Python
        if "extra" not in marker and "python_version <" not in marker:
            yield from needed(re.split(r"[^\w.-]", words, maxsplit=1)[0])


def run(folder: Path, program: str) -> str:
    """Run a program that can import only the folder and the standard library."""
    program = f"import sys; sys.path.insert(0, {str(folder)!r})\n{program}"
    done = run_program(sys.executable, "-I", "-S", "-c", program)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_wheel_needs_pydantic_and_httpx_with_its_httpcore_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        required = message_from_string(archive.read(name).decode()).get_all("Requires-Dist") or []
        names = archive.namelist()
    base = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in required if "extra ==" not in line}
    assert base == {"pydantic", "httpx", "httpcore"}
    agents = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in required if "extra == 'agents'" in line}
    assert agents == {"pyyaml"}
    assert "cstp/py.typed" in names


def test_the_client_works_with_nothing_else_installed(base_install: Path) -> None:
    program = (
        "import cstp; from cstp import *; from cstp.exports import *; client = cstp.Client('http://127.0.0.1:9', 't')\n"
        "print(client); print('yaml' in sys.modules, 'rich' in sys.modules, 'click' in sys.modules)"
    )
    assert run(base_install, program).splitlines() == ["<Client http://127.0.0.1:9/cstp>", "False False False"]


@pytest.mark.parametrize("program", ["import cstp", "from cstp import Client, Filters", "from cstp import AsyncClient"])
def test_an_import_costs_little_more_than_its_requirements(base_install: Path, program: str) -> None:
    # the number of function calls is stable on a busy machine: 400,000 correspond to the required 0.3 s of CPU
    needed_alone = int(run(base_install, CALLS.format(program="import pydantic, httpx, asyncio")))
    assert int(run(base_install, CALLS.format(program=program))) < 2.75 * needed_alone


def test_the_client_is_imported_only_when_it_is_asked_for() -> None:
    program = (
        "import sys, cstp; cstp.CstpError; print('httpx' in sys.modules); cstp.Client; print('httpx' in sys.modules)"
    )
    done = run_python(program)
    assert done.stdout.split() == ["False", "True"]
