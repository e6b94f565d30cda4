"""Reader of a Dockerfile that executes the first stage in a folder: no engine is needed.

It understands only the Docker syntax of the project's Dockerfile; anything else fails.
"""

import json
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tests.programs import run_program


@dataclass(frozen=True)
class Step:
    """An instruction and arguments, in a joined line."""

    name: str
    rest: str


def stages(text: str) -> list[list[Step]]:
    """Return the steps of each stage, FROM first."""
    found: list[list[Step]] = []
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    for line in filter(None, map(str.strip, lines.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append([])
        found[-1].append(Step(name, rest.strip()))
    return found


def context(root: Path) -> list[str]:
    """Return the build context: files permitted by `.dockerignore`, relative to `root`."""
    rules = [line for line in (root / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*", "everything is left out that is not named"
    listed = run_program("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=root, check=True)
    tracked = listed.stdout.split("\n")
    return [path for path in tracked if path and (root / path).is_file() and _let_through(path, rules[1:])]


def _let_through(path: str, rules: Sequence[str]) -> bool:
    seen = False
    for rule in rules:
        pattern = rule.removeprefix("!")
        if pattern.startswith("**/"):
            matches = any(fnmatch(part, pattern[3:]) for part in path.split("/"))
        else:
            matches = path == pattern or path.startswith(f"{pattern}/")
        if matches:
            seen = rule.startswith("!")
    return seen


@dataclass(frozen=True)
class Build:
    """A first stage in `folder`, which represents the root of the image's file system."""

    root: Path
    folder: Path
    environment: Mapping[str, str]

    def copy(self, rest: str) -> None:
        """Execute COPY from the context into the working folder `/src`."""
        *sources, target = rest.split()
        files = context(self.root)
        into = self.folder / "src" / target
        for source in sources:
            matching = [path for path in files if path == source or path.startswith(f"{source}/")]
            assert matching, f"COPY {source}: the build does not see it"
            for path in matching:
                inside = path.removeprefix(f"{source}/") if path != source else Path(source).name
                place = into / inside
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.root / path, place)

    def run(self, rest: str) -> None:
        """Execute RUN with every absolute path moved below the folder."""
        moved = re.sub(r"(?<=\s)/(?=(wheels|opt|dist|src)\b)", f"{self.folder}/", f" {rest}")
        done = run_program("sh", "-e", "-c", moved, cwd=self.folder / "src", env=self.environment, timeout=None)
        assert done.returncode == 0, f"{moved}\n{done.stdout}\n{done.stderr}"


def variables(steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    """Yield the variables of the ENV lines."""
    for step in steps:
        if step.name == "ENV":
            for pair in shlex.split(step.rest):
                name, _, value = pair.partition("=")
                yield name, value


def command(steps: Sequence[Step], name: str) -> list[str]:
    """Return the words of the last CMD, or the HEALTHCHECK's CMD."""
    rest = [step.rest for step in steps if step.name == name][-1]
    words: list[str] = json.loads(rest[rest.index("[") :])
    return words
