"""`cstp ingest`: from files to records, with a progress bar, a summary and every refusal."""

from dataclasses import replace
from typing import Annotated

import typer

from cognition_engines.ingest.collections.addresses import FORMS
from cstp_server.cli.options import ConfigOption, DataDirOption, JsonOption, command_family, settings_for
from cstp_server.cli.progress import reading_progress
from cstp_server.cli.reading.options import (
    FOLDERS,
    AsOption,
    BotsOption,
    DayOption,
    ExcludeOption,
    FoldersOption,
    IncludeOption,
    LevelOption,
    MapOption,
    ProjectOption,
    PruneOption,
    RepositoryOption,
    SureOption,
    SystemOption,
    UrlOption,
    options_of,
    with_messages,
)
from cstp_server.cli.reading.print_summary import print_summary
from cstp_server.cli.reading.run_ingest import Target, run_elsewhere, run_here, sources_of
from cstp_server.cli.remote import TimeoutOption, TokenOption, base_of, print_error, required_token
from cstp_server.cli.remote_records import METHOD, RemoteRefused
from cstp_server.process.model import open_model

app = command_family()
_NameOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="File name for standard input, such as notes.md: the extension is its format."),
]
_StrictOption = Annotated[
    bool, typer.Option("--strict", help="All or nothing, in one transaction: one refusal, and no record changes.")
]
_LimitOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="End after N records; a document with its chunks is one. Prunes nothing."),
]
_PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        help=f"Files, folders, - for standard input, and collections: {FORMS}.",
    ),
]


@app.command("ingest")
def ingest_command(
    ctx: typer.Context,
    paths: _PathsArgument,
    project: ProjectOption = None,
    sensitivity: LevelOption = None,
    repository: RepositoryOption = None,
    kind: AsOption = None,
    name: _NameOption = None,
    decision_folder: FoldersOption = FOLDERS,
    include: IncludeOption = [],  # noqa: B006 - typer copies it
    exclude: ExcludeOption = [],  # noqa: B006
    map: MapOption = None,
    limit: _LimitOption = None,
    bots: BotsOption = False,
    system_messages: SystemOption = False,
    day_first: DayOption = None,
    prune: PruneOption = False,
    yes: SureOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report what would happen; change no record.")] = False,
    strict: _StrictOption = False,
    url: UrlOption = None,
    token: TokenOption = None,
    timeout: TimeoutOption = 60.0,
    as_json: JsonOption = False,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
) -> int:
    """Read records of all kinds: decision records, documents, transcripts, YAML, JSON, JSONL, other memories.

    Reading twice changes nothing. With --url the files are read here, and the next run finishes one that was killed.
    Exit code 1 when a record was rejected, the others being stored, or when --prune needs --yes.
    """
    if prune and limit is not None:
        raise typer.BadParameter("reads not all, so that --prune cannot know what is gone", param_hint="--limit")
    given = options_of(project, sensitivity, repository, kind, decision_folder, include, exclude, map)
    given = with_messages(given, bots, system_messages, day_first)
    options = replace(given, prune=prune, sure=yes, gone=prune, dry_run=dry_run, strict=strict, limit=limit)
    sources = sources_of(paths, name, prune=prune)
    target = None if url is None else Target(base_of(url, "--url"), required_token(token), timeout)
    try:
        with reading_progress(quiet=as_json) as shown:
            if target is not None:
                summary = run_elsewhere(sources, options, target, shown)
            else:
                loaded = settings_for(ctx, data_dir, config)
                summary = run_here(sources, options, loaded, None if dry_run else open_model(loaded.settings), shown)
    except RemoteRefused as refused:
        return print_error(refused.error, METHOD, as_json=as_json, status=refused.status)
    print_summary(summary, as_json=as_json, dry_run=dry_run, strict=strict)
    return 1 if summary.rejected or summary.held_back else 0
