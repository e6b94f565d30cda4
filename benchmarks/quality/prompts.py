"""`python -m benchmarks.quality.prompts SET`: what `cstp hook at-prompt` shows for the prompts of a set.

A line of the set has a `prompt`, the `repository` of the decisions that it concerns, null for none, and their paths in
it as `records`. Each prompt that concerns none is asked in every repository of the set.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import commonpath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.options import ROOT, existing_folder
from benchmarks.page import table
from benchmarks.quality.answering import Model, answering
from benchmarks.serving import Caller, clean_environment, result_of, run_cstp
from cognition_engines.checkouts import repositories_around
from cstp_server.hook.run import prompt_search

OWN: Final = Path(__file__).with_name("prompts.jsonl")
_MODEL: Final = Model("minilm")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, and the paths of the decisions that it concerns in a repository."""

    prompt: str
    repository: str | None
    records: Sequence[str]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.prompts")
    parser.add_argument("set", type=Path, nargs="?", default=OWN, help="JSON lines; default: the project's own")
    parser.add_argument("--folder", type=existing_folder, default=ROOT, help="the repositories, by their names")
    options = parser.parse_args()
    prompts = [Prompt(**json.loads(line)) for line in options.set.read_text(encoding="utf-8").splitlines()]
    with TemporaryDirectory(prefix="cstp-prompts-") as name:
        sys.stdout.write(measure_prompts(prompts, options.folder, Path(name)))
    return 0


def measure_prompts(prompts: Sequence[Prompt], source: Path, folder: Path) -> str:
    """Return a table of the shares of prompts for which a decision is shown, and the right one."""
    everyday = [one.prompt for one in prompts if one.repository is None]
    names = sorted({one.repository for one in prompts if one.repository is not None})
    asked = {name: [one for one in prompts if one.repository == name] for name in names}
    roots = {name: _copy_decisions(asked[name], source / name, folder / name) for name in names}
    run_cstp(["ingest", *map(str, roots.values()), "--data-dir", str(folder / "data")], clean_environment({}))
    rows = []
    with answering(_MODEL, folder / "data") as caller:
        for name, root in roots.items():
            shown = [_shown(caller, root, prompt) for prompt in everyday]
            right = [one for one in asked[name] if {*one.records} & {*_shown(caller, root, one.prompt)}]
            rows.append([name, f"{sum(map(bool, shown))} of {len(shown)}", f"{len(right)} of {len(asked[name])}"])
    return table(["repository", "other prompts with a decision", "prompts with theirs"], rows) + "\n"


def _copy_decisions(prompts: Sequence[Prompt], source: Path, root: Path) -> Path:
    """Return a checkout with the folder that has all decisions named by the prompts."""
    place = commonpath([str(Path(record).parent) for one in prompts for record in one.records])
    shutil.copytree(source / place, root / place)
    (root / ".git").mkdir()
    return root


def _shown(caller: Caller, root: Path, prompt: str) -> Sequence[str]:
    """Return the paths of the decisions shown at a prompt in a checkout."""
    params = prompt_search(prompt, repositories_around(str(root))[0].name)
    if params is None:
        return []
    return [str(found["source"]) for found in result_of(caller.send("cstp.search", params))["results"]]


if __name__ == "__main__":
    sys.exit(main())
