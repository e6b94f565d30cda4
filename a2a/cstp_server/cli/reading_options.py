"""Options that the commands which read files share: `ingest` and `watch`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Final

import typer

from cognition_engines.ingest.maps.map_files import opened_map
from cognition_engines.ingest.options import DECISION_FOLDERS, Options, Selection, TextKind, Texts, bare_name
from cognition_engines.ingest.parse.patterns import BadPattern, parse_patterns
from cognition_engines.kinds.fields import a_line, is_line
from cognition_engines.models import SENSITIVITIES

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
    """Return the options of a run. Raises BadParameter for invalid options, ConfigurationError for an invalid map."""
    for name, option in ((project, "--project"), (repository, "--repository")):
        if name is not None and not is_line(name, 200):
            raise typer.BadParameter(f"must be {a_line(200)}", param_hint=option)
    if sensitivity is not None and sensitivity not in SENSITIVITIES:
        raise typer.BadParameter(f"must be one of {', '.join(SENSITIVITIES)}", param_hint="--sensitivity")
    level = None if sensitivity is None else SENSITIVITIES[sensitivity]
    texts, selection = _texts(kind, decision_folders, map_name), _selection(include, exclude, kind)
    return Options(project, level, repository, texts=texts, selection=selection)


def with_messages(options: Options, bots: bool, system_messages: bool, day_first: bool | None) -> Options:
    """Return the options with the choices for messages of exported conversations."""
    texts = replace(options.texts, bots=bots, system_messages=system_messages, day_first=day_first)
    return replace(options, texts=texts)


def _texts(kind: TextKind | None, folders: Iterable[str], map_name: str | None) -> Texts:
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
