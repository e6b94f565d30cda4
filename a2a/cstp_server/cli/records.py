"""`cstp show`, `cstp delete`, `cstp schema`: single records, and the form that files of them have."""

import json
from typing import Annotated

import typer

from cognition_engines.errors import ConfigurationError
from cognition_engines.ingest.schema import decision_schema
from cognition_engines.kinds.kind import Kind
from cognition_engines.models import Decision
from cognition_engines.records.values import Stored
from cstp.fields import format_instant
from cstp_server.cli.options import (
    ConfigOption,
    DataDirOption,
    JsonOption,
    command_family,
    existing_records,
    settings_for,
)

app = command_family()
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="As answers and `cstp ingest` name it.")]


@app.command()
def show(
    ctx: typer.Context,
    id: IdArgument,
    as_json: JsonOption = False,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
) -> int:
    """Print one record, whole."""
    with existing_records(settings_for(ctx, data_dir, config).settings) as records:
        found = records.find([(Kind.DECISION, id)], None)
    if not found:
        typer.echo(f"no record has the id {id}", err=True)
        return 1
    if as_json:
        typer.echo(json.dumps(_members(found[0])))
        return 0
    members = _members(found[0])
    text = members.pop("text")
    for name, value in members.items():
        if value not in (None, []):
            typer.echo(f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    typer.echo(f"\n{text}")
    return 0


@app.command()
def delete(
    ctx: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="One id or several.")],
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
) -> int:
    """Delete records from everything: store, vectors, indexes. A running server drops them within a second."""
    with existing_records(settings_for(ctx, data_dir, config).settings) as records:
        gone = records.delete(Kind.DECISION, ids)
    for id in dict.fromkeys(ids):
        typer.echo(f"deleted {id}" if id in gone else f"no record has the id {id}", err=id not in gone)
    return 0 if len(gone) == len(set(ids)) else 1


@app.command()
def schema(kind: Annotated[str, typer.Argument(metavar="KIND", help="decision.")]) -> None:
    """Print the JSON Schema of a record in YAML, JSON or JSONL files."""
    if kind != "decision":
        raise ConfigurationError(f"there is no schema of {kind!r}; there is: decision")
    typer.echo(json.dumps(decision_schema(), indent=2))


def _members(stored: Stored) -> dict[str, object]:
    decision = stored.record
    assert isinstance(decision, Decision)
    return {
        "id": decision.id,
        "title": decision.title,
        "category": decision.category,
        "confidence": decision.confidence,
        "stakes": decision.stakes,
        "status": decision.status,
        "statusText": decision.status_text,
        "outcome": decision.outcome,
        "date": None if decision.date is None else format_instant(decision.date),
        "reasons": [{"type": reason.type, "text": reason.text} for reason in decision.reasons],
        "tags": list(decision.tags),
        "supersedes": list(decision.supersedes),
        "supersededBy": list(decision.superseded_by),
        "project": decision.project,
        "sensitivity": decision.sensitivity.name.lower(),
        "source": stored.origin.source,
        "updatedAt": format_instant(stored.updated_at),
        "text": decision.text,
    }
