"""`cstp doctor`: what is wrong, and what to do about it."""

import json
from dataclasses import asdict
from typing import Final

import typer
from rich.console import Console
from rich.text import Text

from cognition_engines.errors import ConfigurationError
from cognition_engines.escapes import one_line
from cstp_server.cli.options import ConfigOption, DataDirOption, JsonOption, command_family, name_store, settings_for
from cstp_server.doctor.finding import Finding, Level
from cstp_server.doctor.run import diagnose
from cstp_server.terminal import say

app = command_family()
_COLOURS: Final = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "bold red"}


@app.command("doctor")
def doctor_command(
    ctx: typer.Context, as_json: JsonOption = False, data_dir: DataDirOption = None, config: ConfigOption = None
) -> int:
    """Check settings, folder, tokens, model, records, indexes, limits and server. Changes nothing.

    Each finding is ok, a warning or a problem, with a remedy. Exit code 1 if there is a problem.
    """
    console = Console()
    found: list[Finding] = []
    try:
        loaded = settings_for(ctx, data_dir, config)
        name_store(loaded)
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
