"""Common parts of `ingest` and `watch`: options, and runs into a local store or to a server."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import typer

from cognition_engines.embedding.base import Embedder
from cognition_engines.ingest.collections.addresses import checked_address, is_address
from cognition_engines.ingest.collections.open_collection import open_collection
from cognition_engines.ingest.detect import Stream, opened_stream
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.items import Collection
from cognition_engines.ingest.maps.map_files import opened_map
from cognition_engines.ingest.options import DECISION_FOLDERS, Options, Progress, Selection, Summary, Texts, bare_name
from cognition_engines.ingest.run import ingest
from cognition_engines.ingest.text_kinds import TextKind
from cognition_engines.kinds.fields import a_line, is_line
from cognition_engines.models import SENSITIVITIES
from cognition_engines.path_patterns import BadPattern, parse_patterns
from cstp_server.cli.conventions import TimeoutOption
from cstp_server.cli.options import ServerOrFolder
from cstp_server.cli.remote import base_of, connect, required_token
from cstp_server.cli.remote_records import RemoteRecords
from cstp_server.cli.spooling import copy_to_file
from cstp_server.cli.store import compared_records, opened_records
from cstp_server.loaded_settings import LoadedSettings

AsOption = Annotated[
    TextKind | None,
    typer.Option(
        "--as",
        "--kind",
        metavar="KIND",
        help="Read all Markdown and plain text as decision, document or transcript. [default: detected for each file]",
    ),
]
FoldersOption = Annotated[
    list[str],
    typer.Option(metavar="NAME", help="Name of a folder whose numbered Markdown files are decisions; repeatable."),
]
FOLDERS: Final = list(DECISION_FOLDERS)
LevelOption = Annotated[
    str | None,
    typer.Option(
        metavar="LEVEL",
        help="Default sensitivity: normal, sensitive or highly_sensitive. [default: as in an earlier run, else normal]",
    ),
]
RepositoryOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The repository of the files. [default: the remote of their checkout]"),
]
ProjectOption = Annotated[str | None, typer.Option(metavar="NAME", help="Project of records that state none.")]
IncludeOption = Annotated[
    list[str],
    typer.Option(
        metavar="PATTERN",
        help="In folders, read only files that match this .gitignore pattern; with --as, any extension; repeatable.",
    ),
]
ExcludeOption = Annotated[
    list[str],
    typer.Option(
        metavar="PATTERN",
        help="Skip files in folders that match this pattern; repeatable. A .cstpignore file has such patterns, too.",
    ),
]
BotsOption = Annotated[bool, typer.Option("--bots", help="Also read messages of bots in exported conversations.")]
SystemOption = Annotated[
    bool,
    typer.Option("--system-messages", help="Also read system messages and tool calls in exported conversations."),
]
DayOption = Annotated[
    bool | None,
    typer.Option(
        "--day-first/--month-first",
        help="Whether dates of chats begin with the day or the month. [default: detected from all dates of the chat]",
    ),
]
SureOption = Annotated[
    bool, typer.Option("--yes", help="With --prune, allow to delete more than a third of the records of a source.")
]
PruneOption = Annotated[
    bool, typer.Option("--prune", help="Delete records that are no longer in the files; a path may be missing.")
]
MapOption = Annotated[
    str | None,
    typer.Option(
        "--map",
        metavar="FILE|NAME",
        help="Map that turns JSON, YAML and foreign collections into records: a file, or a map of the package.",
    ),
]
UrlOption = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="Write to this server (scope admin, highest clearance)."),
]


@dataclass(frozen=True)
class WrittenPlace(ServerOrFolder):
    """Options for the server or the data folder to write to, and for printing the summary."""

    url: UrlOption = None
    timeout: TimeoutOption = 60.0

    @property
    def server(self) -> "Target | None":
        """Return the server to write to; None for the data folder. Raise BadParameter."""
        if self.url is None:
            return None
        return Target(base_of(self.url, "--url"), required_token(self.token), self.timeout)


def options_of(
    project: str | None,
    sensitivity: str | None,
    repository: str | None,
    kind: TextKind | None,
    decision_folders: Iterable[str],
    include: Sequence[str],
    exclude: Sequence[str],
    map_name: str | None,
) -> Options:
    """Return a run's options. Raise BadParameter for invalid options, ConfigurationError for an invalid map."""
    for name, option in ((project, "--project"), (repository, "--repository")):
        if name is not None and not is_line(name, 200):
            raise typer.BadParameter(f"must be {a_line(200)}", param_hint=option)
    if sensitivity is not None and sensitivity not in SENSITIVITIES:
        raise typer.BadParameter(f"must be one of {', '.join(SENSITIVITIES)}", param_hint="--sensitivity")
    level = None if sensitivity is None else SENSITIVITIES[sensitivity]
    texts, selection = _parse_text_options(kind, decision_folders, map_name), _selection(include, exclude, kind)
    return Options(project, level, repository, texts=texts, selection=selection)


def with_messages(options: Options, bots: bool, system_messages: bool, day_first: bool | None) -> Options:
    """Return the options with the message choices for exported conversations."""
    texts = replace(options.texts, bots=bots, system_messages=system_messages, day_first=day_first)
    return replace(options, texts=texts)


def _parse_text_options(kind: TextKind | None, folders: Iterable[str], map_name: str | None) -> Texts:
    for folder in folders:
        if not bare_name(folder) or "/" in folder or "\\" in folder:
            raise typer.BadParameter("must be the name of a folder, not a path", param_hint="--decision-folder")
    by = None if map_name is None else opened_map(map_name)
    return Texts(kind, frozenset(map(bare_name, folders)), map=by)


def _selection(include: Sequence[str], exclude: Sequence[str], kind: TextKind | None) -> Selection:
    for patterns, option in ((include, "--include"), (exclude, "--exclude")):
        try:
            parse_patterns(patterns)
        except BadPattern as error:
            raise typer.BadParameter(str(error), param_hint=option) from None
    return Selection(tuple(include), tuple(exclude), any_extension=kind is not None)


STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class Sources:
    """Sources of a run: files and folders, collection addresses, and standard input, optionally with `name`."""

    files: Sequence[Path]
    addresses: Sequence[str] = ()
    stream: bool = False
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A server receiving records: `base` has no `/cstp` at the end, `timeout` is in seconds."""

    base: str
    token: str
    timeout: float


def sources_of(paths: Sequence[str], name: str | None, *, prune: bool) -> Sources:
    """Return the sources named by the paths. Raise BadParameter."""
    if name is not None and (STDIN not in paths or not is_line(name, 1000)):
        raise typer.BadParameter("must be a file name, and requires - among the paths", param_hint="--name")
    if prune and STDIN in paths and name is None:
        raise typer.BadParameter(
            "requires --name, to know which stream the deleted records came from", param_hint="--prune"
        )
    named = [path for path in paths if path != STDIN and not is_address(path)]
    files = [Path(path) for path in named] if prune else existing_files(named)
    addresses = dict.fromkeys(checked_address(path) for path in paths if is_address(path))
    return Sources(files, tuple(addresses), STDIN in paths, name)


def existing_files(paths: Sequence[str]) -> Sequence[Path]:
    """Return the paths. Raise BadParameter for a missing path."""
    files = [Path(path) for path in paths]
    if missing := [path for path in files if not os.path.lexists(path)]:
        raise typer.BadParameter(f"{missing[0]} does not exist", param_hint="PATH")
    return files


def run_here(
    sources: Sources,
    options: Options,
    loaded: LoadedSettings,
    embedder: Embedder | None,
    shown: Progress,
    *,
    named: bool = False,
) -> Summary:
    """Ingest into the settings' store: open it, print its name unless `named`, and close it."""
    with ExitStack() as stack:
        formats = stack.enter_context(FormatReader())
        collections = stack.enter_context(_collections(sources, options.texts, embedder, formats))
        store = compared_records(loaded) if options.dry_run else opened_records(loaded, named=named)
        records = stack.enter_context(store)
        for path in sources.files:
            if not os.path.lexists(path) and not records.origins.read_below(os.path.abspath(path)):
                raise typer.BadParameter(f"{path} does not exist, and has no records", param_hint="PATH")
        threads = loaded.settings.embedding.threads
        options = replace(options, secrets=loaded.settings.secrets.files)
        return ingest(sources.files, options, records, embedder, shown, threads, collections, formats)


def run_elsewhere(sources: Sources, options: Options, target: Target, shown: Progress) -> Summary:
    """Ingest into another server. Raise BadParameter for options requiring direct access to the store."""
    if options.prune:
        raise typer.BadParameter("cannot be combined with --url", param_hint="--prune")
    if options.strict:
        raise typer.BadParameter("needs one transaction, which --url cannot give", param_hint="--strict")
    with ExitStack() as stack:
        formats = stack.enter_context(FormatReader())
        collections = stack.enter_context(_collections(sources, options.texts, None, formats))
        records = RemoteRecords(stack.enter_context(connect(target.base, target.token, target.timeout)))
        return ingest(sources.files, options, records, None, shown, 1, collections, formats)


@contextmanager
def _collections(
    sources: Sources, texts: Texts, embedder: Embedder | None, formats: FormatReader
) -> Iterator[Sequence[Collection]]:
    """Open all sources but the files, standard input last."""
    with ExitStack() as stack:
        collections: list[Collection] = [
            stack.enter_context(open_collection(address, embedder, map=texts.map)) for address in sources.addresses
        ]
        if sources.stream:
            collections.append(stack.enter_context(_standard_input(sources.name, texts, formats)))
        yield collections


@contextmanager
def _standard_input(name: str | None, texts: Texts, formats: FormatReader) -> Iterator[Stream]:
    """Return standard input as a file."""
    with copy_to_file(sys.stdin.buffer, STDIN, "PATH") as path, path.open("rb") as copy:
        yield opened_stream(name, copy, texts, formats)
