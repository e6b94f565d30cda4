"""`cstp doctor`: problems of an installation, with remedies."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from cognition_engines.errors import ConfigurationError
from cognition_engines.escapes import one_line
from cstp_server.cli.options import FolderOptions, JsonOption, command_family, print_store
from cstp_server.cli.secret_report import report_stored_secrets
from cstp_server.doctor import components as parts, environment as places, indexes
from cstp_server.doctor.components import check_sources
from cstp_server.doctor.finding import Finding, Level, run_within
from cstp_server.doctor.server import check_server
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.terminal import say
from cstp_server.tokens import FIX_TOKENS

_SECONDS: Final = 20.0
_FILE_SECONDS: Final = 600.0  # reads every page of the database
_INDEX_SECONDS: Final = 120.0  # reads every file of an index


def diagnose(loaded: LoadedSettings) -> Iterator[Finding]:
    """Run every check over the settings in force. Changes nothing, raises nothing."""
    settings = loaded.settings
    yield from run_within(_SECONDS, "settings", "see cstp config", lambda: places.check_settings(loaded)).findings
    yield from run_within(
        _SECONDS, "folder", "make it readable for this user", lambda: places.check_folder(settings)
    ).findings
    yield from run_within(_SECONDS, "tokens", FIX_TOKENS, lambda: places.check_tokens(settings)).findings
    remedy = "see the embedding settings (cstp config)"
    model = run_within(_SECONDS, "model", remedy, lambda: parts.check_model(settings))
    yield from model.findings
    remedy = "check that the database is running and undamaged (see store.url in cstp config), or restore a backup"
    seconds = _FILE_SECONDS if settings.store_url.startswith("sqlite") else _INDEX_SECONDS
    store = run_within(seconds, "store", remedy, lambda: parts.check_store(settings, model.learned))
    yield from store.findings
    if (held := store.learned) is not None:
        if model.learned is not None or settings.embedding.model == "none":
            yield from run_within(_SECONDS, "records", "", lambda: parts.check_records(held, model.learned)).findings
        remedy = f"the next cstp serve moves it away and rebuilds it; to do it now: {indexes.REINDEX}"
        yield from run_within(
            _INDEX_SECONDS, "keywords", remedy, lambda: indexes.check_keywords(settings, held)
        ).findings
    remedy = "make the folder of the indexes readable for this user"
    yield from run_within(_SECONDS, "set-aside", remedy, lambda: indexes.check_set_aside(settings)).findings
    remedy = "check that Chroma is running (vectors.url) and its folder is readable"
    yield from run_within(
        _INDEX_SECONDS, "vectors", remedy, lambda: indexes.check_vectors(settings, store.learned, model.learned)
    ).findings
    if settings.sources:
        remedy = "check that the sources are reachable (sources)"
        yield from run_within(_INDEX_SECONDS, "sources", remedy, lambda: check_sources(settings)).findings
    remedy = "check that Python can start a process"
    yield from run_within(_SECONDS, "documents", remedy, parts.check_documents).findings
    remedy = "see the limits settings (cstp config); without Redis each server counts separately"
    yield from run_within(_SECONDS, "limits", remedy, lambda: parts.check_limits(settings)).findings
    remedy = "see the server's log; stop it and start it again"
    yield from run_within(_SECONDS, "server", remedy, lambda: check_server(settings)).findings


app = command_family()
_COLOURS: Final = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "bold red"}


@app.command("doctor")
def doctor_command(
    folder: FolderOptions,
    secrets: Annotated[
        bool, typer.Option("--secrets", help="Search all stored texts for keys and passwords instead.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Check settings, folder, tokens, model, records, indexes, limits and server. Changes nothing.

    Each finding is ok, a warning or a problem, with a remedy. Exit code 1 if there is a problem. With --secrets, list
    the id, field and kind of each stored secret; exit code 1 if there is one.
    """
    if secrets:
        loaded = folder.load_settings()
        print_store(loaded)
        return report_stored_secrets(loaded, as_json=as_json)
    console = Console()
    found: list[Finding] = []
    try:
        loaded = folder.load_settings()
        print_store(loaded)
        findings = diagnose(loaded)
    except ConfigurationError as error:
        remedy = "correct them and run cstp doctor again: nothing else can be checked without settings"
        findings = iter([Finding("settings", Level.PROBLEM, str(error), remedy)])
    for finding in findings:
        found.append(finding)
        if not as_json:
            _show(console, finding)
    if as_json:
        say(json.dumps({"findings": [asdict(finding) for finding in found]}))
    return 1 if any(finding.level is Level.PROBLEM for finding in found) else 0


def _show(console: Console, finding: Finding) -> None:
    line = Text.assemble(
        (f"{finding.level:<9}", _COLOURS[finding.level]), (f"{finding.part:<10}", "bold"), one_line(finding.seen)
    )
    console.print(line, soft_wrap=True)
    if finding.remedy:
        console.print(Text(f"{'':<19}-> {one_line(finding.remedy)}"), soft_wrap=True)
