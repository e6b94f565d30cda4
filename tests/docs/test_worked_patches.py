"""Worked patches of docs/ apply to the checkout, and pass the tests named in the guide and added by the patch."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.patches import ROOT, apply_patch, copy_checkout, list_tests
from tests.programs import run_program

PATCHES = sorted((ROOT / "docs").glob("adding-*.patch"))
METHOD = ROOT / "docs" / "adding-a-method.patch"
# tests of steps that the worked method's definition already takes, or does not need
OF_THE_CONTRACT = {
    "test_a_read_leaves_a_row_if_its_answer_names_records",
    "test_the_demo_has_one_call_of_each_read",
    "test_every_read_of_records_is_measured",
    "test_questions_cover_every_method_and_every_parameter",
    "test_a_conversation_goes_as_written",
    "test_every_defined_method_is_in_the_registry_once",
    "test_every_method_is_a_tool_but_those_for_people_and_programs",
    "test_every_method_reading_records_takes_a_min_seq",
    "test_every_id_in_the_answer_of_a_read_is_marked_with_the_kind_of_its_record",
    "test_modules_with_equal_names_mean_the_same",
}
pytestmark = [pytest.mark.long("runs tests in a copy of the checkout"), pytest.mark.timeout(600)]


def run(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run a Python module over a copy's packages."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(folder / name) for name in ("a2a", "skills"))}
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST"):
        environment.pop(name, None)
    return run_program(sys.executable, "-m", *command, cwd=folder, env=environment, timeout=None)


def patched(folder: Path, patch: Path, *options: str) -> Path:
    """Apply a patch to a copy."""
    refused = apply_patch(patch, folder, *options)
    assert refused == "", f"{refused}docs/adding-a-method.md says how to refresh docs/{patch.name}"
    return folder


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Copy the checkout."""
    copy_checkout(tmp_path / "copy")
    return tmp_path / "copy"


def test_each_guide_naming_a_patch_has_one() -> None:
    named = {
        name
        for guide in (ROOT / "docs").glob("*.md")
        for name in re.findall(r"\]\((adding-[\w-]+\.patch)\)", guide.read_text(encoding="utf-8"))
    }
    assert named == {patch.name for patch in PATCHES}
    assert len(PATCHES) == 5


def test_the_worked_patches_apply_and_pass_their_tests(copied: Path) -> None:
    tests = {test for patch in PATCHES for test in list_tests(patched(copied, patch) / "docs" / patch.name)}
    for command in (("cstp_server.generate", "--write"), ("tests.mcp.snapshot",)):
        written = run(copied, *command)
        assert written.returncode == 0, written.stderr
    chosen = "list-projects or not test_a_conversation_goes_as_written"
    options = ("-q", "-n0", "-p", "no:cacheprovider", "-k", chosen)
    done = run(copied, "pytest", *options, *sorted(tests))
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def test_each_place_forgotten_by_a_new_method_fails_the_test_named_by_the_guide(copied: Path) -> None:
    kept = ("a2a/cstp/values/*", "a2a/cstp/methods/*", "a2a/cstp_server/handlers/*", "skills/*")
    patched(copied, METHOD, *(f"--include={pattern}" for pattern in kept))
    named = {name for name in list_tests(METHOD) if name.partition("::")[2] not in OF_THE_CONTRACT}
    done = run(copied, "pytest", "-q", "-n0", "-rf", "-p", "no:cacheprovider", "--tb=no", *sorted(named))
    failed = set(re.findall(r"^FAILED (tests/[\w/]+\.py::\w+)", done.stdout, re.MULTILINE))
    assert failed == named, done.stdout[-5000:]
