"""Completion in a real bash, and scripts for other shells."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# set by bash before it calls the function: the line, and its words, also split at : and =
ASK = """
eval "$(cstp completion bash)"
COMP_LINE=$1 COMP_POINT=$2; shift 2
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
compopt() { echo "no blank"; }
_cstp_completion cstp
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def offered(tmp_path: Path) -> Callable[[str], list[str]]:
    """Return `offered("cstp call cstp.getC")`: bash's completions of a line's last word."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    program = tmp_path / "bin" / "cstp"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom cstp_server.cli.entry import main\nmain()\n")
    program.chmod(0o755)

    def ask(line: str) -> list[str]:
        words = [*re.findall(r"[:=]+|[^:=\s]+", line), *([""] if line.endswith(" ") else [])]
        environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
        command = [bash, "--norc", "-c", ASK, "bash", f"{line} and what comes after", str(len(line)), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment, check=True)
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    return ask


@pytest.mark.long("starts shells")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("cstp conf", ["config", "conform"]),
        ("cstp call cstp.getW", ["cstp.getWarnings"]),
        ("cstp call cstp.getChunk rel", ["no blank", "relatedLimit:="]),
        ("cstp call cstp.getChunk chunkId=x ", ["minSeq:=", "includeRelated:=", "relatedLimit:="]),
        ("cstp call --url http://127.0.0.1:8100 cstp.getW", ["cstp.getWarnings"]),
        (
            "cstp call --url=https://h:8100/a cstp.getChunk relatedLimit:=3 minSeq:=1 'chunkId=two words' ",
            ["no blank", "includeRelated:="],
        ),
        ("cstp token rev", ["revoke"]),
    ],
)
def test_bash_completes_commands_and_methods(offered: Callable[[str], list[str]], line: str, found: list[str]) -> None:
    assert offered(line) == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_readable_script(cstp: Callable[..., Any], shell: str) -> None:
    done = cstp("completion", shell)
    assert done.code == 0
    assert f"_CSTP_COMPLETE=complete_{shell}" in done.out
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=done.out, text=True, timeout=240, check=True)
