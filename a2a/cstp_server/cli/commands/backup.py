"""`cstp copy`, `cstp backup`, `cstp restore` and `cstp move`: the records somewhere else, and back."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

import cstp
from cognition_engines.errors import ComponentFailed, ConfigurationError, EngineError
from cognition_engines.ingest.moved_files import move_records
from cognition_engines.store.erasure.ledger import read_ledger
from cognition_engines.store.read_only import sqlite_file
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.transfer.backup import Backup, opened_backup, restore_backup, write_backup
from cognition_engines.store.transfer.copy import Contents, TransferSummary, copy_records
from cognition_engines.writing.erasing import LedgerFile
from cstp_server.cli.options import FolderOptions, JsonOption, command_family, store_place, without_secrets
from cstp_server.cli.progress import record_bars
from cstp_server.cli.store import existing_records, opened_records
from cstp_server.settings import Settings
from cstp_server.terminal import say
from cstp_server.tokens import Token, dump_tokens, merge_tokens, parse_tokens, read_tokens

app = command_family()
_TOKENS: Final = "tokens"  # their name in a backup


@app.command("copy")
def copy_command(
    folder: FolderOptions,
    to: Annotated[str, typer.Option("--to", metavar="URL", help="URL of an empty database, as in store.url.")],
    as_json: JsonOption = False,
) -> None:
    """Copy all records, with their vectors, into another database: from SQLite to PostgreSQL, or back.

    Copies everything or nothing. Records written during the copy are not in it.
    """
    with existing_records(folder.load_settings()) as records:
        target = _open_target(to)
        try:
            with record_bars(quiet=as_json) as bars:
                done = copy_records(records.store, target.store, bars)
        finally:
            target.close()
    shown = without_secrets(to)
    if as_json:
        say(json.dumps({"to": shown, **_list_counts(done)}))
        return
    say(f"copied {_counts(done)} to {shown}, and read them back: equal")
    say("next: set store.url to that URL (or CSTP_STORE__URL) and start the server again; see cstp config")


@app.command("backup")
def backup_command(
    folder: FolderOptions,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; must not exist.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing backup.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write all records, their vectors and the tokens to one file, as of one moment. A server may keep running.

    Indexes are not included: they are rebuilt from the records.
    """
    loaded = folder.load_settings()
    tokens: tuple[Token, ...] = ()
    try:
        tokens = read_tokens(loaded.settings.tokens_path)
    except ConfigurationError as error:
        say(f"warning: the backup has no tokens: {error}", err=True)
    attached = {_TOKENS: dump_tokens(tokens)} if tokens else {}
    with existing_records(loaded, reads_only=True) as records, record_bars(quiet=as_json) as bars:
        notes = write_backup(records.store, file, cstp.__version__, attached, replace=force, watcher=bars)
    if as_json:
        members = {"file": str(file.absolute()), "bytes": file.stat().st_size, "createdAt": notes.created_at}
        say(json.dumps({**members, **_list_counts(notes.contents), "tokens": len(tokens)}))
        return
    say(
        f"wrote {_counts(notes.contents)} and {len(tokens)} tokens to {file} "
        f"({file.stat().st_size / 1e6:.1f} MB), and read them back: equal"
    )


@app.command("restore")
def restore_command(
    folder: FolderOptions,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup to restore.", exists=True, dir_okay=False)],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace existing records; those not in the backup are deleted.")
    ] = False,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Also add the tokens of the backup. Default: restore none.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make the records equal to a backup, all of them or none. A running server follows within a second.

    Records forgotten since the backup stay forgotten. With --tokens, tokens of the backup are added to the current
    ones: a revocation in either applies, the earlier expiry counts, and every live token is printed.
    """
    loaded = folder.load_settings()
    with record_bars(quiet=as_json) as bars, opened_backup(file, bars) as backup:
        kept = _kept_tokens(backup) if tokens else ()
        if tokens:
            read_tokens(loaded.settings.tokens_path)  # a damaged file is refused before anything is restored
        with _explain_failed_restore(loaded.settings), opened_records(loaded) as records:
            ledger = read_ledger(loaded.settings.ledger_path)
            done = restore_backup(backup, records.store, replace=replace, watcher=bars, erasures=ledger)
            LedgerFile(loaded.settings.ledger_path).sync(records)
        merged = merge_tokens(loaded.settings.tokens_path, kept) if tokens and kept else ()
    restored = len(kept) if merged else None
    now = datetime.now(UTC)
    live = [token for token in merged if token.live(now)]
    if as_json:
        counts = {name: getattr(done, name) for name in ("new", "changed", "unchanged", "deleted", "forgotten")}
        members = {"file": str(file.absolute()), "createdAt": backup.notes.created_at, **counts}
        say(json.dumps({**members, **_list_counts(done.contents), "tokens": restored, **_live(live)}))
        return
    _say_restored(done, backup.notes.created_at, restored, live)


@app.command()
def move(
    folder: FolderOptions,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Old path of the folder or file.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="New path.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete existing records of the same files at NEW.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report the changes and write nothing.")] = False,
) -> int:
    """Move the records of a folder that was moved: ids, reviews, links and rights stay.

    `cstp ingest NEW` does this by itself if the files are equal and the old folder does not exist. This command also
    moves edited files; run `cstp ingest NEW` afterwards. Exit code 2 if OLD still exists or NEW does not.
    """
    with existing_records(folder.load_settings()) as records:
        moved, deleted = move_records(records, Path(old), Path(new), over=replace, dry_run=dry_run)
    would = "would be " if dry_run else ""
    say(f"{would}moved: {moved:,} records of {old} to {new}")
    if deleted:
        say(f"{would}deleted: {deleted:,} records that {new} had")
    return 0


def _say_restored(done: TransferSummary, created_at: str, restored: int | None, live: Sequence[Token]) -> None:
    for token in live:
        scopes = " ".join(token.scopes)
        say(f"live token {token.id} of {token.agent}: {scopes}, {token.clearance}, until {token.expires}")
    if done.forgotten:
        say(f"{done.forgotten} of its records were forgotten since, and deleted again")
    said = "tokens unchanged" if restored is None else f"{restored} tokens restored"
    say(
        f"the store is that of {created_at}: {_counts(done.contents)}; {done.new} new, "
        f"{done.changed} changed, {done.unchanged} unchanged, {done.deleted} deleted; {said}"
    )


def _open_target(url: str) -> Records:
    """Open the database to copy to. Raise ConfigurationError if its folder is missing: the path may be mistyped."""
    file = sqlite_file(url, named="--to")
    if file is not None and not file.parent.is_dir():
        raise ConfigurationError(f"--to: {file.parent} is not a folder; create it, or name another one")
    try:
        return open_records(url, named="--to")
    except ComponentFailed as error:
        raise ComponentFailed("target", str(error).removeprefix("records: ")) from error


@contextmanager
def _explain_failed_restore(settings: Settings) -> Iterator[None]:
    """Explain the failure of a restore: the usual advice "restore a backup" would not help."""
    try:
        yield
    except ComponentFailed as error:
        raise EngineError(
            f"{error}; nothing was restored into {store_place(settings)}: check that it is running and has space; if "
            f"it is damaged, {_restore_advice(settings)}"
        ) from error


def _restore_advice(settings: Settings) -> str:
    """Return the advice for a restore into a damaged store."""
    other = "name another one in store.url (CSTP_STORE__URL)"
    if sqlite_file(settings.store_url) is None:
        return other
    other = "restore into another folder (--data-dir)" if settings.store.url is None else other
    return f"stop the server and move it away with its -wal and -shm files, or {other}"


def _kept_tokens(backup: Backup) -> tuple[Token, ...]:
    """Return a backup's tokens. Raise ConfigurationError if they cannot be read."""
    kept = backup.notes.attached.get(_TOKENS)
    return () if kept is None else parse_tokens(kept.encode(), "the backup's tokens")


def _live(tokens: Sequence[Token]) -> dict[str, object]:
    shown = ("id", "agent", "scopes", "clearance", "projects", "expires")
    return {"live": [{name: getattr(token, name) for name in shown} for token in tokens]} if tokens else {}


def _list_counts(contents: Contents) -> dict[str, object]:
    return {
        "records": contents.records,
        "kinds": dict(contents.kinds),
        "vectors": dict(contents.windows),
        "digest": contents.digest,
    }


def _counts(contents: Contents) -> str:
    return f"{contents.records:,} records with {sum(contents.windows.values()):,} vectors"
