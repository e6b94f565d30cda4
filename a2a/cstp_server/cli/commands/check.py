"""`cstp check`: decisions governing changed files in a git work tree, from a server or a data folder."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from cognition_engines.checkouts import repositories_around
from cognition_engines.errors import EngineError
from cognition_engines.git_program import GitFailed
from cognition_engines.models import SENSITIVITIES, Problem, Viewer
from cognition_engines.store.record_reads import RecordReads
from cstp_server.checking.folder_source import folder_source
from cstp_server.checking.git_files import changed_files, files_of, find_root, named_decisions, tracked_files
from cstp_server.checking.reports import Format, remark_lines, report_lines, report_members, stale_line, stale_members
from cstp_server.checking.verdicts import DecisionSource, StatedPatterns, TooMany, check_files, stale_patterns
from cstp_server.cli.conventions import DONE, MISUSED, OptionGroup, Unreachable
from cstp_server.cli.options import command_family
from cstp_server.cli.read_place import ReadPlace
from cstp_server.cli.read_store import readable_records
from cstp_server.terminal import say, say_lines

app = command_family()
_SERVER_CHECK: Final = "cstp_server.cli.server_check"  # loaded by name: a check of a data folder needs no client
_RECORD_FILES: Final = "cstp_server.checking.record_files"  # nor does it read files
_FileRecords: TypeAlias = Callable[[Sequence[Path]], AbstractContextManager[tuple[RecordReads, Sequence[Problem]]]]


@dataclass(frozen=True)
class _Asked(OptionGroup):
    """Options for the checked files, the decisions and the printed format."""

    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Files or folders. [default: those changed since HEAD]")
    ] = None
    staged: Annotated[bool, typer.Option("--staged", help="Check the files of the next commit.")] = False
    base: Annotated[
        str | None, typer.Option("--base", metavar="REF", help="Check the files changed since the merge base with REF.")
    ] = None
    required: Annotated[
        bool,
        typer.Option(
            "--require-acknowledgement",
            help="Exit with 1 unless a commit since REF has the trailer Decision: with the id, the number or the path "
            "of each governing decision, or its own file is among the changed ones.",
        ),
    ] = False
    stale: Annotated[bool, typer.Option("--stale", help="List patterns that match no tracked file.")] = False
    form: Annotated[
        Format, typer.Option("--format", metavar="FORMAT", help="text, json, github (annotations) or markdown.")
    ] = "text"
    project: Annotated[str | None, typer.Option("--project", metavar="NAME", help="Only decisions of it.")] = None
    records: Annotated[
        list[Path] | None,
        typer.Option("--records", metavar="FOLDER", help="Check against its decision files; repeatable."),
    ] = None


@app.command("check")
def check_command(
    asked: _Asked,
    place: ReadPlace,
    folder: Annotated[Path, typer.Option("-C", metavar="FOLDER", help="Run as if started there.")] = Path(),
    best_effort: Annotated[
        bool, typer.Option("--best-effort", help="Exit with 0 and a warning if it could not be checked.")
    ] = False,
) -> int:
    """Print the decisions that govern changed files of a git work tree.

    Exit code 0 if nothing is missing, 1 with --require-acknowledgement if a governing decision is not acknowledged,
    2 if it could not be checked.
    """
    if sum((bool(asked.paths), asked.staged, asked.base is not None, asked.stale)) > 1:
        raise typer.BadParameter("give one of PATH, --staged, --base and --stale", param_hint="PATH")
    if asked.records and (place.url is not None or place.data_dir is not None):
        raise typer.BadParameter("cannot be combined with --url or --data-dir", param_hint="--records")
    asked = replace(asked, form="json") if place.as_json else asked
    if asked.stale and asked.form not in ("text", "json"):
        raise typer.BadParameter("--stale prints text or json", param_hint="--format")
    code = MISUSED
    try:
        code = _check_place(folder.resolve(), place, asked)
    except (GitFailed, TooMany, EngineError, Unreachable, OSError) as error:
        say(f"cstp check: {error}", err=True)
    if code == MISUSED and best_effort:
        hint = "" if asked.records else "; --records FOLDER names decision files"
        say(f"cstp check: warning: nothing was checked{hint}", err=True)
        return DONE
    return code


def _check_place(here: Path, place: ReadPlace, asked: _Asked) -> int:
    """Check as asked; return the exit code."""
    root = find_root(here)
    files = tracked_files(root) if asked.stale else _files(root, here, asked)
    whose = repositories_around(str(root))[0].name, asked.project
    check, viewer = partial(_print_check, root=root, files=files, asked=asked), Viewer(SENSITIVITIES[place.level])
    if asked.records:
        read: _FileRecords = import_module(_RECORD_FILES).file_records
        with read([_record_folder(root, here / each) for each in asked.records]) as (stored, refused):
            for one in refused:
                say(f"cstp check: warning: {one.file}:{one.line or 1}: {one.reason}", err=True)
            return check(folder_source(stored, viewer, *whose))
    if (url := place.server) is not None:
        on_server: Callable[..., int] = import_module(_SERVER_CHECK).check_on_server
        return on_server(url, place, *whose, check, as_json=asked.form == "json")
    with readable_records(place.load_settings(here)) as records:
        return check(folder_source(records, viewer, *whose))


def _record_folder(root: Path, folder: Path) -> Path:
    """Return the folder. Raise GitFailed if it is missing, or outside of the repository, whose decisions count only."""
    if not folder.is_dir() or not folder.resolve().is_relative_to(root.resolve()):
        raise GitFailed(f"--records {folder} is no folder in {root}")
    return folder


def _files(root: Path, here: Path, asked: _Asked) -> list[str]:
    if asked.paths:
        return files_of(root, here, asked.paths)
    return changed_files(root, asked.base, staged=asked.staged)


def _print_check(source: DecisionSource, root: Path, files: Sequence[str], asked: _Asked) -> int:
    """Print governing decisions, or stale patterns; return the exit code."""
    if asked.stale:
        _print_stale([*stale_patterns(source, files)], asked.form)
        return 0
    named = named_decisions(root, asked.base) if asked.base is not None else frozenset()
    verdict = check_files(source, files, named, frozenset() if asked.paths else frozenset(files))
    if asked.form == "json":
        say_lines(json.dumps(report_members(verdict, required=asked.required), ensure_ascii=False, indent=2))
    elif lines := [*report_lines(verdict, asked.form, required=asked.required)]:
        say_lines("\n".join(lines))
    for line in remark_lines(verdict):
        say(line, err=True)
    say(f"files: {verdict.checked}; decisions that govern them: {len(verdict.governing)}", err=True)
    return int(asked.required and bool(verdict.missing))


def _print_stale(found: Sequence[StatedPatterns], form: Format) -> None:
    if form == "json":
        say_lines(json.dumps(stale_members(found), ensure_ascii=False, indent=2))
    elif found:
        say_lines("\n".join(map(stale_line, found)))
    say(f"decisions with patterns that match no tracked file: {len(found)}", err=True)
