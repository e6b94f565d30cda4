"""`cstp map`: proposes a map from another system's objects to records, and shows some mapped records."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

import typer

from cognition_engines.ingest.collections.addresses import checked_address, is_address, live_system, shown_address
from cognition_engines.ingest.collections.open_collection import opened_live
from cognition_engines.ingest.items import DocumentDraft, Item, RecordDraft, RejectedRecord, Warned
from cognition_engines.ingest.maps.map_files import opened_map, parsed_map
from cognition_engines.ingest.maps.mapped import Found, MappedReader
from cognition_engines.ingest.maps.suggest import MOST, Sample, propose_map, sample_of
from cognition_engines.kinds.registry import adapter, kind_of
from cognition_engines.models import Decision
from cstp_server.cli.conventions import JsonOption, command_family
from cstp_server.terminal import say, say_lines

app = command_family()
_SHOWN: Final = 10
_BEGINNING: Final = 100  # characters of a text
_TEXTS: Final = ("text", "content", "narrative")
_OF_FILES: Final = ("ordinal", "line", "status_text")  # of a decision: the position in the file
_SUGGESTED: Final = "the suggested map"


@app.command("map")
def map_command(
    suggest: Annotated[
        str,
        typer.Option(
            "--suggest",
            metavar="FILE|ADDRESS",
            help="A JSON, JSONL or YAML file, or a collection of Qdrant, MongoDB or Firestore.",
        ),
    ],
    map: Annotated[
        str | None,
        typer.Option("--map", metavar="FILE|NAME", help="Show the records of this map, and propose no map."),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Propose a map for `cstp ingest --map`, which turns objects of another system into records.

    The records of the first ten objects follow as comments below the map, so that the output is a valid map file; with
    --json they are a list. Exit code 1 if one of them is rejected.
    """
    sample = _sample(suggest)
    text = propose_map(sample) if map is None else None
    chosen = parsed_map(text, _SUGGESTED) if text is not None else opened_map(str(map))
    name = shown_address(suggest) if is_address(suggest) else suggest
    found = (Found(one, number) for number, one in enumerate(sample.members[:_SHOWN], 1))
    items = list(MappedReader(name, chosen).read(found))
    if as_json:
        rejected = [asdict(item.problem) for item in items if isinstance(item, RejectedRecord)]
        warnings = [asdict(item.problem) for item in items if isinstance(item, Warned)]
        shown = {"map": text, "records": list(_records(items)), "rejected": rejected, "warnings": warnings}
        say(json.dumps(shown))
    else:
        if text is not None:
            say_lines(text.rstrip())
        for line in _format_records(items):
            say(f"# {line}")
    return 1 if any(isinstance(item, RejectedRecord) for item in items) else 0


def _sample(text: str) -> Sample:
    if not is_address(text):
        path = Path(text)
        if not path.exists():
            raise typer.BadParameter(f"{text} does not exist", param_hint="--suggest")
        return sample_of(path)
    address = checked_address(text)
    system = live_system(address)
    if system is None:
        raise typer.BadParameter(
            "a Chroma collection is read without a map: cstp ingest ADDRESS", param_hint="--suggest"
        )
    with opened_live(address, None) as collection:
        return Sample(tuple(one.members for one in islice(collection.objects(), MOST)), system)


def _records(items: Iterable[Item]) -> Iterator[dict[str, object]]:
    """Yield each record's members, with kind."""
    for item in items:
        if isinstance(item, RecordDraft) and isinstance(item.record, Decision):
            given = {name: value for name, value in asdict(item.record).items() if value not in (None, "", (), {})}
            given = {name: value for name, value in given.items() if name not in _OF_FILES}
            yield {"kind": "decision", **{name: _to_json_value(value) for name, value in given.items()}}
        elif isinstance(item, RecordDraft | DocumentDraft):
            record = item.record if isinstance(item, RecordDraft) else item.head
            kind = kind_of(record)
            members = adapter(kind).dump_python(record, mode="json", exclude_defaults=True)
            if record.sensitivity is not None:
                members["sensitivity"] = record.sensitivity.name.lower()
            yield {"kind": kind.label, **members}


def _to_json_value(value: object) -> object:
    return value if isinstance(value, str | int | float | dict) else json.loads(json.dumps(value, default=str))


def _format_records(items: Iterable[Item]) -> Iterator[str]:
    """Yield a line per record: kind, shortened fields, and the text's start; then the problems."""
    items = list(items)
    for record in _records(items):
        kind = record.pop("kind")
        text = next((str(record.pop(name)) for name in _TEXTS if name in record), "")
        fields = ", ".join(f"{name}={_short(value)}" for name, value in record.items())
        yield f"{kind}: {fields}" + (f" | {_short(text)}" if text else "")
    for item in items:
        if isinstance(item, RejectedRecord):
            yield f"rejected: object {item.problem.line}: {item.problem.reason}"
        elif isinstance(item, Warned):
            yield f"warning: {item.problem.reason}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _BEGINNING else f"{text[:_BEGINNING]}..."
