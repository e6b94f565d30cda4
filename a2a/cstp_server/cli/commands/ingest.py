"""`cstp ingest`: from files to records, with a progress bar, a summary and every refusal."""

from dataclasses import replace
from typing import Annotated, Final

import typer

from cognition_engines.ingest.collections.addresses import FORMS
from cognition_engines.ingest.options import Options, Progress, Summary
from cstp.errors import CstpError
from cstp_server.cli import reading
from cstp_server.cli.options import command_family
from cstp_server.cli.progress import reading_progress
from cstp_server.cli.read_report import print_summary
from cstp_server.cli.remote import print_error
from cstp_server.cli.remote_records import METHOD
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.process.model import open_model

app = command_family()
_PRUNES_ALL: Final = "cannot be combined with --prune: a partial read cannot show what was deleted"
_NameOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="File name of standard input, such as notes.md; the extension sets the format."),
]
_StrictOption = Annotated[
    bool,
    typer.Option("--strict", help="All or nothing, in one transaction: if one record is rejected, none is written."),
]
_LimitOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Stop after N records; a document with its chunks counts as one."),
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
    place: reading.WrittenPlace,
    paths: _PathsArgument,
    project: reading.ProjectOption = None,
    sensitivity: reading.LevelOption = None,
    repository: reading.RepositoryOption = None,
    kind: reading.AsOption = None,
    name: _NameOption = None,
    decision_folder: reading.FoldersOption = reading.FOLDERS,
    include: reading.IncludeOption = [],  # noqa: B006 - typer copies it
    exclude: reading.ExcludeOption = [],  # noqa: B006
    map: reading.MapOption = None,
    limit: _LimitOption = None,
    bots: reading.BotsOption = False,
    system_messages: reading.SystemOption = False,
    day_first: reading.DayOption = None,
    prune: reading.PruneOption = False,
    yes: reading.SureOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report the changes and write nothing.")] = False,
    strict: _StrictOption = False,
) -> int:
    """Read records of all kinds: decision records, documents, transcripts, YAML, JSON, JSONL, other memories.

    Reading twice changes nothing. With --url the files are read on this machine; after a kill, the next run completes.
    Exit code 1 if a record was rejected (the others are stored), or if --prune needs --yes.
    """
    if prune and limit is not None:
        raise typer.BadParameter(_PRUNES_ALL, param_hint="--limit")
    given = reading.options_of(project, sensitivity, repository, kind, decision_folder, include, exclude, map)
    given = reading.with_messages(given, bots, system_messages, day_first)
    options = replace(given, prune=prune, sure=yes, gone=prune, dry_run=dry_run, strict=strict, limit=limit)
    sources = reading.sources_of(paths, name, prune=prune)
    target = place.server
    try:
        with reading_progress(quiet=place.as_json) as shown:
            if target is not None:
                found = place.load_settings().settings.secrets.files
                summary = reading.run_elsewhere(sources, replace(options, secrets=found), target, shown)
            else:
                summary = _run_here(sources, options, place.load_settings(), shown)
    except CstpError as refused:
        return print_error(refused, METHOD, as_json=place.as_json)
    print_summary(summary, as_json=place.as_json, dry_run=dry_run, strict=strict)
    return 1 if summary.rejected or summary.held_back else 0


def _run_here(sources: reading.Sources, options: Options, loaded: LoadedSettings, shown: Progress) -> Summary:
    """Ingest into the store of the settings; a dry run needs no model."""
    model = None if options.dry_run else open_model(loaded.settings)
    return reading.run_here(sources, options, loaded, model, shown)
