"""Worked patches of docs/: `python -m tests.docs.patches PATCH FOLDER` applies a patch to a checkout copy.

The copy is a repository whose commit is the checkout, so that `git diff` is the patch. Failed hunks are left in
files ending in `.rej`.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = ("a2a", "benchmarks", "config", "docs", "examples", "skills", "tests")
FILES: Final = ("*.md", "*.toml", "*.yml", "*.yaml", "Makefile", "Dockerfile", "LICENSE", ".gitignore")
NAMED: Final = re.compile(r"`(tests/[\w/]+\.py::\w+)`")
_ADDED: Final = re.compile(r"^--- /dev/null\n\+\+\+ b/(tests/\S*test_\w+\.py)$", re.MULTILINE)


def copy_checkout(folder: Path) -> None:
    """Copy the project files read by tests, without caches."""
    ignored = shutil.ignore_patterns("__pycache__", "*.rej")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for pattern in FILES:
        for path in ROOT.glob(pattern):
            shutil.copyfile(path, folder / path.name)


def apply_patch(patch: Path, folder: Path, *options: str) -> str:
    """Apply a patch to a copy and return git's report: "" if the patch applied in full."""
    command = ["git", "apply", "--recount", *options, str(patch.resolve())]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def list_tests(patch: Path) -> list[str]:
    """Return the tests named by a patch's guide, and the test files added by the patch."""
    guide = patch.with_suffix(".md").read_text(encoding="utf-8")
    return sorted({*NAMED.findall(guide), *_ADDED.findall(patch.read_text(encoding="utf-8"))})


def main(patch: Path, folder: Path) -> int:
    copy_checkout(folder)
    own = ["-c", "user.name=patch", "-c", "user.email=patch@localhost"]
    for command in (["init", "-q"], ["add", "-A"], [*own, "commit", "-qm", "The checkout"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    sys.stderr.write(apply_patch(patch, folder, "--reject"))
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
