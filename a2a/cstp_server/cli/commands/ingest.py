"""`cstp ingest`: from files to records, with a progress bar, a summary and every refusal."""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from cognition_engines.embedding.base import Embedder
from cognition_engines.ingest.chroma.names import checked_address, is_address
from cognition_engines.ingest.items import Collection
from cognition_engines.ingest.options import (
    DECISION_FOLDERS,
    Options,
    Pruned,
    Silent,
    Summary,
    TextKind,
    Texts,
    bare_name,
)
from cognition_engines.ingest.options import Progress as Bytes
from cognition_engines.ingest.refusal_messages import kinds
from cognition_engines.ingest.run import ingest
from cognition_engines.ingest.streams import Stream, opened_stream
from cognition_engines.ingest.structured.decision_rules import RULES
from cognition_engines.kinds.kind import KINDS
from cognition_engines.models import SENSITIVITIES, Sensitivity
from cstp_server.cli.commands.skipped_files import problem_lines, skipped_lines
from cstp_server.cli.options import ConfigOption, DataDirOption, JsonOption, command_family, settings_for
from cstp_server.cli.progress import ByteLines
from cstp_server.cli.remote import TimeoutOption, TokenOption, base_of, connected, print_error, required_token
from cstp_server.cli.remote_records import METHOD, RemoteRecords, RemoteRefused
from cstp_server.cli.spooling import copied
from cstp_server.cli.store import compared_records, opened_records
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.process.model import open_model
from cstp_server.terminal import say

app = command_family()
_Open = Callable[[str, Embedder | None], AbstractContextManager[Collection]]
_KindOption = Annotated[
    TextKind | None, typer.Option(help="Kind of all Markdown and plain text. [default: detected for each file]")
]
_FoldersOption = Annotated[
    list[str],
    typer.Option(metavar="NAME", help="A folder whose numbered Markdown files are decisions; repeatable."),
]
_FOLDERS = list(DECISION_FOLDERS)
_NameOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="File name for standard input, such as notes.md: the extension is its format."),
]
_LevelOption = Annotated[
    str | None,
    typer.Option(
        metavar="LEVEL",
        help="Default sensitivity: normal, sensitive or highly_sensitive. [default: as in an earlier run, else normal]",
    ),
]
_RepositoryOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The repository of the files. [default: the remote of their checkout]"),
]
_ProjectOption = Annotated[str | None, typer.Option(metavar="NAME", help="Project of records that do not state one.")]
_StrictOption = Annotated[
    bool, typer.Option("--strict", help="All or nothing, in one transaction: one refusal, and no record changes.")
]
_UrlOption = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="Put the records on a server elsewhere, by cstp.putRecords."),
]
_STDIN = "-"


@dataclass(frozen=True, slots=True)
class _Sources:
    """What is to be read: files and folders, addresses of collections, and standard input, which `name` may name."""

    files: Sequence[Path]
    addresses: Sequence[str]
    stream: bool
    name: str | None


class _Bar:
    """The progress bar of a terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None

    def start(self, total: int) -> None:
        self._task = self._progress.add_task("reading", total=total)

    def advance(self, done: int) -> None:
        if self._task is not None:
            self._progress.advance(self._task, done)


@app.command("ingest")
def ingest_command(
    ctx: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH",
            help="Files, folders, - for standard input, and Chroma collections: chroma:http://host:8000/NAME or "
            "chroma:FOLDER/NAME.",
        ),
    ],
    project: _ProjectOption = None,
    sensitivity: _LevelOption = None,
    repository: _RepositoryOption = None,
    kind: _KindOption = None,
    name: _NameOption = None,
    decision_folder: _FoldersOption = _FOLDERS,
    prune: Annotated[bool, typer.Option("--prune", help="Delete records that the files no longer hold.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report what would happen; change no record.")] = False,
    strict: _StrictOption = False,
    url: _UrlOption = None,
    token: TokenOption = None,
    timeout: TimeoutOption = 60.0,
    as_json: JsonOption = False,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
) -> int:
    """Read records of all kinds: decision records, documents, transcripts, YAML, JSON, JSONL, Chroma collections.

    Reading twice changes nothing. With --url the files are read here, and the next run finishes one that was killed.

    Exit code 1 when a record was rejected; the others are stored.
    """
    level = _level(sensitivity)
    _check_name(project, "--project")
    _check_name(repository, "--repository")
    sources = _sources(paths, name, prune=prune)
    options = Options(project, level, repository, prune, dry_run, strict, _texts(kind, decision_folder))
    try:
        if url is None:
            summary = _ingested(sources, options, settings_for(ctx, data_dir, config), quiet=as_json)
        else:
            summary = _sent(sources, options, base_of(url, "--url"), required_token(token), timeout)
    except RemoteRefused as refused:
        return print_error(refused.error, METHOD, as_json=as_json, status=refused.status)
    if as_json:
        say(json.dumps(asdict(summary)))
    else:
        _report(summary, dry_run=dry_run, nothing_written=strict and bool(summary.rejected))
    return 1 if summary.rejected else 0


def _level(name: str | None) -> Sensitivity | None:
    if name is not None and name not in SENSITIVITIES:
        raise typer.BadParameter(f"must be one of {', '.join(SENSITIVITIES)}", param_hint="--sensitivity")
    return None if name is None else SENSITIVITIES[name]


def _check_name(name: str | None, option: str) -> None:
    if name is not None and not RULES["project"].allows(name):
        raise typer.BadParameter(f"must be {RULES['project'].says}", param_hint=option)


def _texts(kind: TextKind | None, folders: Iterable[str]) -> Texts:
    for folder in folders:
        if not bare_name(folder) or "/" in folder or "\\" in folder:
            raise typer.BadParameter("must be the name of a folder, not a path", param_hint="--decision-folder")
    return Texts(kind, frozenset(map(bare_name, folders)))


def _sources(paths: Sequence[str], name: str | None, *, prune: bool) -> _Sources:
    files = [Path(path) for path in paths if path != _STDIN and not is_address(path)]
    if name is not None and (_STDIN not in paths or not RULES["title"].allows(name)):
        raise typer.BadParameter("must be the name of a file, and - among the paths", param_hint="--name")
    if prune and _STDIN in paths and name is None:
        raise typer.BadParameter("needs a --name: of which stream the records are that are gone", param_hint="--prune")
    if missing := [path for path in files if not os.path.lexists(path)]:
        raise typer.BadParameter(f"{missing[0]} does not exist", param_hint="PATH")
    addresses = dict.fromkeys(checked_address(path) for path in paths if is_address(path))
    return _Sources(files, tuple(addresses), _STDIN in paths, name)


def _ingested(sources: _Sources, options: Options, loaded: LoadedSettings, *, quiet: bool) -> Summary:
    """The run, with a progress bar on a terminal and lines elsewhere, unless it is to be `quiet`."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    embedder = None if options.dry_run else open_model(loaded.settings)
    with ExitStack() as stack:
        collections = [stack.enter_context(_collection(address, embedder)) for address in sources.addresses]
        if sources.stream:
            collections.append(stack.enter_context(_standard_input(sources.name, options.texts)))
        open_them = compared_records if options.dry_run else opened_records
        records = stack.enter_context(open_them(loaded))
        shown: Bytes = Silent() if quiet else ByteLines(lambda line: say(line, err=True))
        if console.is_terminal and not quiet:
            shown = _Bar(stack.enter_context(Progress(*columns, console=console, transient=True)))
        threads = loaded.settings.embedding.threads
        return ingest(sources.files, options, records, embedder, shown, threads, collections)


def _check_remote(options: Options) -> None:
    """Raises BadParameter for what needs the store itself."""
    if options.prune:
        raise typer.BadParameter("works where the store is, and not with --url", param_hint="--prune")
    if options.strict:
        raise typer.BadParameter("is one transaction, and --url makes several calls", param_hint="--strict")


def _sent(sources: _Sources, options: Options, base: str, token: str, timeout: float) -> Summary:
    """The run against a server elsewhere."""
    _check_remote(options)
    with ExitStack() as stack:
        collections = [stack.enter_context(_collection(address, None)) for address in sources.addresses]
        if sources.stream:
            collections.append(stack.enter_context(_standard_input(sources.name, options.texts)))
        records = RemoteRecords(stack.enter_context(connected(base, token, timeout)))
        return ingest(sources.files, options, records, None, Silent(), 1, collections)


@contextmanager
def _standard_input(name: str | None, texts: Texts) -> Iterator[Stream]:
    """Standard input as a file."""
    with copied(sys.stdin.buffer, _STDIN, "PATH") as path, path.open("rb") as copy:
        yield opened_stream(name, copy, texts)


def _collection(address: str, embedder: Embedder | None) -> AbstractContextManager[Collection]:
    """An open collection. Loads Chroma, which takes a fifth of a second and no file needs."""
    opened: _Open = import_module("cognition_engines.ingest.chroma.source").opened
    return opened(address, embedder)


def _report(summary: Summary, *, dry_run: bool, nothing_written: bool) -> None:
    for line in problem_lines(summary.warnings):
        say(f"warning: {line}", err=True)
    for line in problem_lines(summary.rejected):
        say(f"rejected: {line}", err=True)
    for line in _deleted(summary.pruned):
        say(f"{'would be ' if dry_run else ''}deleted: {line}", err=True)
    counts = ", ".join(f"{getattr(summary, name)} {name}" for name in ("new", "changed", "unchanged", "deleted"))
    warnings = len(summary.warnings)
    note = " (dry run: nothing was written)" if dry_run else " (strict: nothing was written)" if nothing_written else ""
    say(
        f"{summary.read} read: {counts}, {len(summary.rejected)} rejected, "
        f"{warnings} {'warning' if warnings == 1 else 'warnings'}{note}"
    )
    if summary.kinds.keys() - {"decision"}:
        say("by kind: " + ", ".join(f"{count} {kind}" for kind, count in summary.kinds.items()))
    for line in skipped_lines(summary.skipped):
        say(line)


def _deleted(pruned: Sequence[Pruned]) -> Iterator[str]:
    """Each record by itself, what documents were cut into by file."""
    parts = Counter((one.file, one.kind) for one in pruned if one.part)
    yield from (f"{one.file}: {one.kind} {one.id}" for one in pruned if not one.part)
    for (file, kind), count in parts.items():
        yield f"{file}: {count} {kinds(KINDS[kind], count)} of its text"
