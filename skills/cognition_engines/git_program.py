"""Git as a program: without a shell, a pager or the network, with bounded time and output."""

import os
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Timer
from typing import Final

_SECONDS: Final = 30.0
_LARGEST: Final = 64 * 1024 * 1024  # maximum bytes of git's output
_LONGEST_REASON: Final = 10_000  # bytes
# first what a repository's configuration could run, then what it could change
_OPTIONS: Final = (
    *("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("-c", "log.showSignature=false", "-c", "safe.bareRepository=explicit"),
    *("--no-optional-locks", "-c", "log.showRoot=true"),
)
_NO_NETWORK: Final = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}


class GitFailed(Exception):
    """Git gave no answer; the message says the reason and the remedy."""


def run_git(
    folder: Path,
    *words: str,
    environment: Mapping[str, str] = os.environ,
    seconds: float = _SECONDS,
    largest: int = _LARGEST,
) -> bytes:
    """Return git's output. Raise GitFailed if git fails, takes too long or prints too much."""
    command, variables = ["git", *_OPTIONS, *words], {**environment, **_NO_NETWORK}
    try:
        with Popen(command, cwd=folder, env=variables, stdin=DEVNULL, stdout=PIPE, stderr=PIPE) as process:
            timer = Timer(seconds, process.kill)
            timer.start()
            try:
                assert process.stdout is not None
                assert process.stderr is not None
                output = process.stdout.read(largest + 1)
                if len(output) > largest:
                    process.kill()
                errors = os.fsdecode(process.stderr.read(_LONGEST_REASON)).strip().splitlines()
                process.wait()
            finally:
                timer.cancel()
                timer.join()
    except FileNotFoundError:
        raise GitFailed("git is not installed") from None
    if process.returncode < 0:
        limits = f"{seconds:.0f} s, or printed more than {largest >> 20} MiB"
        raise GitFailed(f"git {words[0]} took more than {limits}")
    if process.returncode:
        raise GitFailed(errors[-1] if errors else f"git {words[0]} ended with {process.returncode}")
    return output
