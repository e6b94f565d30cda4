"""`cstp move`: the records of a folder that was moved, with their ids, reviews and links."""

from pathlib import Path
from typing import Annotated

import typer

from cognition_engines.ingest.moved_files import move_records
from cstp_server.cli.options import ConfigOption, DataDirOption, command_family, settings_for
from cstp_server.cli.store import existing_records
from cstp_server.terminal import say

app = command_family()


@app.command()
def move(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Old path of the folder or file.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="New path.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete existing records of the same files at NEW.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report the changes and write nothing.")] = False,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
) -> int:
    """Move the records of a folder that was moved: ids, reviews, links and rights stay.

    `cstp ingest NEW` does this by itself if the files are equal and the old folder does not exist. This command also
    moves edited files; run `cstp ingest NEW` afterwards. Exit code 2 if OLD still exists or NEW does not.
    """
    with existing_records(settings_for(ctx, data_dir, config)) as records:
        moved, deleted = move_records(records, Path(old), Path(new), over=replace, dry_run=dry_run)
    would = "would be " if dry_run else ""
    say(f"{would}moved: {moved:,} records of {old} to {new}")
    if deleted:
        say(f"{would}deleted: {deleted:,} records that {new} had")
    return 0
