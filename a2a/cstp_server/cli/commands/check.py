"""`cstp check`: the decisions that govern changed files of a git work tree, of a server or of a data folder."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from cognition_engines.errors import EngineError
from cognition_engines.ingest.repository import remote_of
from cognition_engines.models import SENSITIVITIES, Viewer
from cstp.errors import CstpError
from cstp.methods.decision_context import GET_DECISION_CONTEXT
from cstp_server.checking.git_files import GitFailed, changed_files, files_of, find_root, named_decisions, tracked_files
from cstp_server.checking.reports import Format, report_lines, report_members, stale_line, stale_members
from cstp_server.checking.sources import ServerSource, folder_source
from cstp_server.checking.verdicts import DecisionSource, StatedPatterns, TooMany, check_files, stale_patterns
from cstp_server.cli.chosen_methods import (
    ClearanceOption,
    ServerOption,
    level_of,
    refuse_with_server,
    server_methods,
    server_of,
)
from cstp_server.cli.conventions import Unreachable
from cstp_server.cli.options import ConfigOption, DataDirOption, JsonOption, command_family, settings_for
from cstp_server.cli.remote import TimeoutOption, TokenOption, print_error
from cstp_server.cli.store import existing_records
from cstp_server.terminal import say, say_lines

app = command_family()
_UNUSABLE: Final = 2


@app.command("check")
def check_command(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Files or folders. [default: those changed since HEAD]")
    ] = None,
    staged: Annotated[bool, typer.Option("--staged", help="Check the files of the next commit.")] = False,
    base: Annotated[
        str | None, typer.Option("--base", metavar="REF", help="Check the files changed since the merge base with REF.")
    ] = None,
    required: Annotated[
        bool,
        typer.Option(
            "--require-acknowledgement",
            help="Exit with 1 unless a commit since REF has the trailer Decision: with the id, the number or the path "
            "of each governing decision, or its own file is among the changed ones.",
        ),
    ] = False,
    stale: Annotated[bool, typer.Option("--stale", help="List patterns that match no tracked file.")] = False,
    form: Annotated[
        Format, typer.Option("--format", metavar="FORMAT", help="text, json, github (annotations) or markdown.")
    ] = "text",
    folder: Annotated[Path, typer.Option("-C", metavar="FOLDER", help="Run as if started there.")] = Path(),
    project: Annotated[str | None, typer.Option("--project", metavar="NAME", help="Only decisions of it.")] = None,
    clearance: ClearanceOption = None,
    url: ServerOption = None,
    token: TokenOption = None,
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
) -> int:
    """Print the decisions that govern changed files of a git work tree.

    Exit code 0 if nothing is missing, 1 with --require-acknowledgement if a governing decision is not acknowledged,
    2 if it could not be checked.
    """
    if sum((bool(paths), staged, base is not None, stale)) > 1:
        raise typer.BadParameter("give one of PATH, --staged, --base and --stale", param_hint="PATH")
    form = "json" if as_json else form
    if stale and form not in ("text", "json"):
        raise typer.BadParameter("--stale prints text or json", param_hint="--format")
    try:
        here = folder.resolve()
        root = find_root(here)
        files = tracked_files(root) if stale else _files(root, here, paths or (), base, staged=staged)
        named = named_decisions(root, base) if base is not None else frozenset()
        place = remote_of(root) or root.as_posix(), project
        with _source(ctx, server_of(url, data_dir), place, clearance, token, timeout, data_dir, config) as source:
            if stale:
                _print_stale([*stale_patterns(source, files)], form)
                return 0
            verdict = check_files(source, files, named, frozenset() if paths else frozenset(files))
    except (GitFailed, TooMany, EngineError, Unreachable) as error:
        say(f"cstp check: {error}", err=True)
        return _UNUSABLE
    except CstpError as error:
        print_error(error, GET_DECISION_CONTEXT.name, {"files": [], "project": project}, as_json=form == "json")
        return _UNUSABLE
    if form == "json":
        say_lines(json.dumps(report_members(verdict, required=required), ensure_ascii=False, indent=2))
    elif lines := [*report_lines(verdict, form, required=required)]:
        say_lines("\n".join(lines))
    say(f"files: {verdict.checked}; decisions that govern them: {len(verdict.governing)}", err=True)
    return int(required and bool(verdict.missing))


def _files(root: Path, here: Path, paths: Sequence[str], base: str | None, *, staged: bool) -> list[str]:
    return files_of(root, here, paths) if paths else changed_files(root, base, staged=staged)


@contextmanager
def _source(
    ctx: typer.Context,
    server: str | None,
    place: tuple[str, str | None],
    clearance: str | None,
    token: str | None,
    timeout: float,
    data_dir: Path | None,
    config: Path | None,
) -> Iterator[DecisionSource]:
    """Yield the server, or the data folder if that is None; `place` is the repository and the project."""
    if server is not None:
        refuse_with_server({"--clearance": clearance})
        with server_methods(server, token, timeout) as methods:
            yield ServerSource(methods, *place)
        return
    viewer = Viewer(SENSITIVITIES[level_of(clearance)])
    with existing_records(settings_for(ctx, data_dir, config), reads_only=True) as records:
        yield folder_source(records, viewer, *place)


def _print_stale(found: Sequence[StatedPatterns], form: Format) -> None:
    if form == "json":
        say_lines(json.dumps(stale_members(found), ensure_ascii=False, indent=2))
    elif found:
        say_lines("\n".join(map(stale_line, found)))
    say(f"decisions with patterns that match no tracked file: {len(found)}", err=True)
