"""`cstp audit`: who has read or written which records, and whether the audit is complete."""

import json
import re
from dataclasses import asdict
from typing import Annotated, Final

import typer

from cognition_engines.errors import ConfigurationError
from cognition_engines.queries.operator_reads import audit_call
from cognition_engines.store.audit.chain import AuditRow, ChainReport
from cstp.errors import InvalidParams
from cstp.methods.system import AUDIT
from cstp.validation import parse_params
from cstp.values.fields import format_instant
from cstp.values.system import AuditParams
from cstp_server.cli.allowed_values import allowed_values
from cstp_server.cli.conventions import DONE, FAILED
from cstp_server.cli.options import FolderOptions, JsonOption, command_family, print_table
from cstp_server.cli.store import existing_records
from cstp_server.terminal import say

app = command_family("Show which records were read and written, and verify that the audit is intact.")
_NOTED: Final = re.compile(r"(0|[1-9][0-9]{0,18}):([0-9a-f]{64})")


def _make_option(name: str, metavar: str, help: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, metavar=metavar, help=help)
    return option


@app.command("list")
def list_rows(
    folder: FolderOptions,
    agent: Annotated[str | None, _make_option("--agent", "NAME", "Only calls of this agent.")] = None,
    method: Annotated[
        str | None, _make_option("--method", "METHOD", "Only calls of this method, such as cstp.getDecision.")
    ] = None,
    id: Annotated[str | None, _make_option("--id", "ID", "Only calls that returned or wrote this record.")] = None,
    since: Annotated[str | None, _make_option("--since", "TIME", "Only calls since this time, in ISO 8601.")] = None,
    until: Annotated[
        str | None, _make_option("--until", "TIME", "Only calls until this time; a date includes its whole day.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help=f"Number of rows, {allowed_values(AUDIT, 'limit')}.")] = (
        AuditParams.model_fields["limit"].default
    ),
    before: Annotated[
        int | None, typer.Option(metavar="N", help="Only rows with a lower number; for the next page.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List calls, newest first: agent, method, records and result code (0 is success).

    A running server writes its rows after 0.1 s.
    """
    given = {"agent": agent, "method": method, "id": id, "since": since, "until": until}
    asked = _params({**given, "limit": limit, "before": before})
    with existing_records(folder.load_settings()) as records:
        page = records.audit.page(asked)
    if as_json:
        rows = [audit_call(row).model_dump(mode="json") for row in page.rows]
        say(json.dumps({"rows": rows, "before": page.before, "head": asdict(page.head)}))
        return
    print_table(("number", "at", "agent", "via", "method", "code", "records"), map(_cells, page.rows))
    if page.before is not None:
        say(f"older ones: --before {page.before}", err=True)


@app.command()
def verify(
    folder: FolderOptions,
    noted: Annotated[
        str | None,
        _make_option("--noted", "NUMBER:HASH", "An earlier last row, as this command printed it."),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Find rows that are missing, altered, reordered or cut off. Exit code 1 if there are any.

    Anyone who can write to the database can also recompute the hashes. Store the last row elsewhere and pass it to
    --noted later: this proves that no earlier row was changed.
    """
    row = _row(noted)
    with existing_records(folder.load_settings()) as records:
        report = records.audit.verify(row)
    if as_json:
        say(json.dumps({"intact": report.intact, **asdict(report)}))
    else:
        _print(report)
    return DONE if report.intact else FAILED


def _params(given: dict[str, object]) -> AuditParams:
    """Return the filters, validated by the rules of `cstp.audit`."""
    try:
        return parse_params(AuditParams, {name: value for name, value in given.items() if value is not None})
    except InvalidParams as error:
        raise ConfigurationError(*(f"--{one.field}: {one.message}" for one in error.violations)) from None


def _row(noted: str | None) -> tuple[int, str] | None:
    if noted is None:
        return None
    shape = _NOTED.fullmatch(noted)
    if shape is None:
        raise ConfigurationError("--noted: must be a number, a colon and 64 hexadecimal digits in lower case")
    return int(shape[1]), shape[2]


def _cells(row: AuditRow) -> tuple[str, ...]:
    entry = row.entry
    named = (f"{one.id} (written)" if one.written else one.id for one in entry.records)
    when = format_instant(entry.at)
    return str(row.number), when, entry.agent, entry.via, entry.method, str(entry.code), " ".join(named)


def _print(report: ChainReport) -> None:
    for one in report.breaks:
        say(f"{one.problem}: {one.message}", err=True)
    if report.found > len(report.breaks):
        say(f"and {report.found - len(report.breaks)} more", err=True)
    pruned = f", those up to {report.head.pruned} were pruned" if report.head.pruned else ""
    state = "intact" if report.intact else "broken"
    say(f"{state}: {report.rows} rows{pruned}")
    say(f"last row: {report.head.number}:{report.head.hash}")
