"""`cstp export` and `cstp import`: all records as lines of JSON, and back."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Annotated

import typer

from cognition_engines.exchange.decision_files import decision_files
from cognition_engines.exchange.runs import ImportSummary, export_lines, import_file
from cognition_engines.kinds.spec import KIND_NAMES, KINDS, Kind
from cognition_engines.open_file import NotAFile, kind_of_place, open_file
from cognition_engines.set_aside import SetAside
from cognition_engines.store.erasure.ledger import read_ledger
from cstp_server.cli.left_out import report_left_out
from cstp_server.cli.options import FolderOptions, JsonOption, command_family
from cstp_server.cli.progress import record_bars
from cstp_server.cli.read_report import problem_lines
from cstp_server.cli.spooling import copy_to_file
from cstp_server.cli.store import existing_records, opened_records
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.process.model import open_model
from cstp_server.terminal import say

app = command_family()


@app.command("export")
def export_command(
    folder: FolderOptions,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="File to write; - is standard output.")] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Only records of this kind; repeatable.")
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            "--decisions",
            metavar="DIR",
            help="Write the decisions that agents recorded into this folder instead, as MADR files for a pull request.",
        ),
    ] = None,
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --decisions: only decisions of this project.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> int:
    """Write all records as lines of JSON, sorted by kind and id, complete except for vectors.

    A server may keep running. To save one moment with vectors and tokens, use cstp backup. FILE may be a named pipe.

    A record that cstp import would reject, such as one with a number of more than 64 bits, is left out and named;
    the exit code is 1 then.

    With --decisions, each decision of an agent becomes a file that only its owner can read. After cstp ingest has read
    the file, the file defines the decision; reviews and links stay.
    """
    if (file is None) is (decisions is None):
        raise typer.BadParameter("give a FILE, or --decisions DIR", param_hint="FILE")
    if decisions is not None:
        if kind:
            raise typer.BadParameter("cannot be combined with --decisions", param_hint="--kind")
        return _export_decisions(folder.load_settings(), decisions, project, force=force)
    if project is not None:
        raise typer.BadParameter("requires --decisions", param_hint="--project")
    assert file is not None
    kinds = sorted({_kind(name) for name in kind}) if kind else list(Kind)
    loaded = folder.load_settings()
    _check_output(file, force=force)
    with existing_records(loaded, reads_only=True) as records, record_bars(quiet=file == "-") as bars:
        set_aside = SetAside(logged=False)
        count = _write_lines(export_lines(records, kinds, bars, set_aside), file)
    return _report_export(count, set_aside)


def _check_output(file: str, *, force: bool) -> None:
    """Raise BadParameter for a folder, and without `force` for an existing file."""
    if file != "-" and Path(file).is_dir():
        raise typer.BadParameter(f"{file} is a folder; give a file in it", param_hint="FILE")
    if file != "-" and Path(file).is_file() and not force:
        raise typer.BadParameter(f"{file} exists; choose another, or pass --force", param_hint="FILE")


def _report_export(count: int, set_aside: SetAside) -> int:
    """Print the omitted records and the count of the others; return the exit code."""
    others = f", {len(set_aside.records)} left out" if set_aside.records else ""
    code = report_left_out(set_aside)
    say(f"{count} {'record' if count == 1 else 'records'} exported{others}", err=True)
    return code


def _write_lines(lines: Iterable[bytes], file: str) -> int:
    """Write lines to a file or standard output; return their number."""
    count = 0
    with _open_output(file) as out:
        for count, line in enumerate(lines, 1):  # noqa: B007
            out.write(line)
    return count


def _export_decisions(loaded: LoadedSettings, folder: Path, project: str | None, *, force: bool) -> int:
    """Write the differing files, and return the exit code.

    If a file exists with other contents, write none, except with `force`.
    """
    set_aside = SetAside(logged=False)
    with existing_records(loaded, reads_only=True) as records:
        files = {folder / one.name: one.text.encode() for one in decision_files(records, set_aside, project)}
    before = {path: _read_beginning(path, folder, len(text)) for path, text in files.items()}
    others = sorted(path.name for path, text in files.items() if before[path] not in (None, text))
    if others and not force:
        raise typer.BadParameter(
            f"{others[0]} exists with other contents; pass --force to replace it", param_hint="--decisions"
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # records of any sensitivity, and links to these
    written = [path for path, text in files.items() if before[path] != text]
    for path in written:
        with open(path, "wb", opener=_open_without_links) as file:
            os.fchmod(file.fileno(), 0o600)  # before the text is written: the file may be older
            file.write(files[path])
    count = f"{len(files)} {'decision' if len(files) == 1 else 'decisions'}"
    say(f"{count} exported, {len(written)} {'file' if len(written) == 1 else 'files'} written to {folder}", err=True)
    return report_left_out(set_aside)


def _read_beginning(path: Path, folder: Path, size: int) -> bytes | None:
    """Return up to `size` + 1 bytes of a file; None without a file. Raise BadParameter for a link."""
    try:
        with open_file(path, folder) as file:
            return file.read(size + 1)
    except FileNotFoundError:
        return None
    except NotAFile as error:
        raise typer.BadParameter(f"{path.name} {error}", param_hint="--decisions") from None


def _open_without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


@app.command("import")
def import_command(
    folder: FolderOptions,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file written by cstp export; - is standard input.")],
    as_json: JsonOption = False,
) -> int:
    """Import exported records, with their ids, rights, origins and times.

    Existing vectors of the same text and model are kept; the others are computed.

    The file is checked first: if one line is invalid, nothing is written. Records that are not in the file are kept,
    and equal records are unchanged: updatedAt is the time their content changed in this store. Records forgotten since
    the export are skipped, with the records that belong to them. For files that people write, use cstp ingest.

    Exit code 1 if the file was rejected.
    """
    loaded = folder.load_settings()
    model = open_model(loaded.settings)
    with (
        _regular(file) as path,
        opened_records(loaded) as records,
        record_bars(quiet=as_json) as bars,
    ):
        ledger = read_ledger(loaded.settings.ledger_path)
        threads, secrets = loaded.settings.embedding.threads, loaded.settings.secrets.files
        done = import_file(path, records, model, threads, bars, ledger, secrets)
    _print_outcome(done, file, as_json=as_json)
    return 1 if done.rejected else 0


def _kind(name: str) -> Kind:
    if name not in KIND_NAMES:
        raise typer.BadParameter(f"must be one of {', '.join(KINDS)}", param_hint="--kind")
    return KIND_NAMES[name]


@contextmanager
def _open_output(file: str) -> Iterator[IO[bytes]]:
    """Open the output as `_write_output` does; an OSError names it, unlike the error for a full disk."""
    try:
        with _write_output(file) as out:
            yield out
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output" if file == "-" else file) from error


@contextmanager
def _write_output(file: str) -> Iterator[IO[bytes]]:
    """Open standard output, or a file appearing only when complete, readable for its owner only.

    An existing path other than a file, such as a named pipe, is written to in place.
    """
    path = Path(file)
    if file == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if path.exists() and not path.is_file():
        with path.open("wb") as pipe:
            yield pipe
        return
    try:
        path = path.resolve()  # links stay links
    except (OSError, RuntimeError):
        raise typer.BadParameter("is a broken link", param_hint="FILE") from None
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as out:
        try:
            yield out
            out.flush()
            os.fsync(out.fileno())
            Path(out.name).replace(path)
        finally:
            Path(out.name).unlink(missing_ok=True)  # of a file not renamed


@contextmanager
def _regular(file: str) -> Iterator[Path]:
    """Yield a file for reading twice; copy standard input into a temporary file.

    Raise BadParameter for anything but a file: on a pipe without a writer the command would hang.
    """
    if file == "-":
        with copy_to_file(sys.stdin.buffer, file, "FILE") as copy:
            yield copy
        return
    path = Path(file)
    try:
        reason = kind_of_place(path.stat().st_mode)
    except OSError as error:
        reason = error.strerror
    if reason is not None:
        raise typer.BadParameter(f"{file}: {reason}", param_hint="FILE")
    yield path


def _print_outcome(done: ImportSummary, file: str, *, as_json: bool) -> None:
    counts = {name: getattr(done, name) for name in ("read", "new", "changed", "unchanged")}
    if as_json:
        rejected, secrets = (
            [{"line": one.line, "reason": one.reason} for one in problems] for problems in (done.rejected, done.secrets)
        )
        others = {"rejected": rejected, "secrets": secrets, "forgotten": done.forgotten, "kinds": dict(done.kinds)}
        say(json.dumps({**counts, **others}))
        return
    for line in problem_lines([replace(problem, file=file) for problem in done.rejected]):
        say(f"rejected: {line}", err=True)
    for line in problem_lines([replace(problem, file=file) for problem in done.secrets]):
        say(f"warning: {line}", err=True)
    shown = ", ".join(f"{count} {name}" for name, count in counts.items() if name != "read")
    forgotten = f", {done.forgotten} skipped: they were forgotten" if done.forgotten else ""
    nothing = "; nothing was written" if done.rejected else ""
    say(f"{done.read} read: {shown}, {len(done.rejected)} rejected{forgotten}{nothing}")
