"""`cstp suggest-affects`: patterns of the files that decisions govern, proposed as a patch or written."""

import json
from pathlib import Path, PurePosixPath
from typing import Annotated, NamedTuple

import typer

from cognition_engines.errors import ConfigurationError
from cognition_engines.git_program import GitFailed
from cognition_engines.ingest.detect import MARKDOWN
from cognition_engines.kinds.decisions import ENDED
from cognition_engines.models import Decision
from cognition_engines.suggesting.evidence import Tree, propose, read_commits, read_definitions
from cognition_engines.suggesting.front_lines import add_patterns, read_whole
from cstp_server.checking.git_files import files_of, find_root, tracked_files
from cstp_server.cli.conventions import MISUSED, JsonOption, command_family
from cstp_server.setup.config_files import ConfigFile, read_config, write_config
from cstp_server.terminal import say, say_lines, say_patch

app = command_family()


class _Unbound(NamedTuple):
    """A decision in force, or a proposed one, without patterns, and its file."""

    decision: Decision
    file: ConfigFile


@app.command("suggest-affects")
def suggest_command(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Files or folders with decisions. [default: all]")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the patterns into the files.")] = False,
    as_json: JsonOption = False,
    folder: Annotated[Path, typer.Option("-C", metavar="FOLDER", help="Run as if started there.")] = Path(),
) -> int:
    """Propose `affects` for decisions in Markdown files of a git work tree that have none, as a patch for git apply.

    The patterns are of files that a decision names, and of files in the commits that add or cite it. Review them.
    """
    try:
        root = find_root(folder.resolve())
        tracked = tracked_files(root)
        named = files_of(root, folder.resolve(), paths) if paths else tracked
        found = {path: one for path in named if (one := _read(root, path)) is not None}
        tree, commits = (
            Tree(tracked, read_definitions(root) if found else {}),
            read_commits(root, found) if found else (),
        )
    except GitFailed as error:
        say(f"cstp suggest-affects: {error}", err=True)
        return MISUSED
    shown: list[dict[str, object]] = []
    for path, one in found.items():
        proposals = propose(path, one.decision, tree, commits)
        patterns = [pattern for pattern, _ in proposals]
        edit = add_patterns(path, one.file.text or "", one.decision, patterns) if patterns else None
        if edit is not None:
            affects = [{"pattern": pattern, "why": why} for pattern, why in proposals]
            shown.append({"path": path, "title": one.decision.title, "affects": affects, "patch": edit.patch})
            if write:
                write_config(one.file, edit.text, private=False)
            if not as_json:
                reasons = "\n".join(f"# {pattern}: {why}" for pattern, why in proposals)
                say_patch(f"# {one.decision.title}\n{reasons}\n{edit.patch}")
        elif patterns:
            say(f"{path}: its front matter cannot be edited; add affects: {json.dumps(patterns)}", err=True)
    if as_json:
        say_lines(json.dumps(shown, ensure_ascii=False, indent=2))
    say(f"decisions without patterns: {len(found)}; with a proposal: {len(shown)}", err=True)
    return 0


def _read(root: Path, path: str) -> _Unbound | None:
    """Return the decision that a file is; None for one with patterns, one out of force, or any other file."""
    if PurePosixPath(path).suffix.lower() not in MARKDOWN or not path.isprintable():
        return None
    try:
        file = read_config(root / path, root)
    except ConfigurationError as error:
        say(str(error), err=True)
        return None
    decision = read_whole(path, file.text or "")
    kept = decision is not None and not decision.affects and decision.status not in ENDED
    return _Unbound(decision, file) if decision is not None and kept else None
