"""`cstp show`, `cstp delete`, `cstp schema`: single records, and the form of record files."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cognition_engines.errors import ConfigurationError
from cognition_engines.exchange.lines import record_members
from cognition_engines.ingest.structured.json_schema import record_schema
from cognition_engines.kinds.spec import KIND_NAMES, KINDS, Kind
from cognition_engines.models import Decision
from cognition_engines.queries.called_decisions import only_called
from cognition_engines.queries.decision_values import date_source
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord
from cstp.errors import CstpError, NotFound
from cstp.methods.decisions import GET_DECISION
from cstp.methods.episodes import GET_EPISODE
from cstp.methods.extractions import GET_CHUNK
from cstp.methods.memories import RECALL
from cstp.values.fields import format_instant
from cstp_server.cli.commands.authoring import Sending, forget_record
from cstp_server.cli.conventions import TimeoutOption, TokenOption
from cstp_server.cli.options import (
    CommonOptions,
    FolderOptions,
    OtherServerOption,
    ServerOrFolder,
    command_family,
    repository_here,
)
from cstp_server.cli.remote import Remote, base_of, connect, print_error, required_token
from cstp_server.cli.store import existing_records
from cstp_server.terminal import say, say_lines

app = command_family()
IdArgument = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="Id, as in answers and from `cstp ingest`; of a decision also its number or file."
    ),
]
KindOption = Annotated[str | None, typer.Option("--kind", metavar="KIND", help="Record kind, if the id is ambiguous.")]
_UNSHOWN = ("feature", "pr", "validFrom", "validTo", "details")  # of decisions
_LONG = ("text", "content", "narrative", "query", "reflection")  # printed last, unchanged


@app.command()
def show(
    place: ServerOrFolder,
    id: IdArgument,
    kind: KindOption = None,
) -> int:
    """Print one complete record from the data folder, or from the server of --url or CSTP_URL.

    A server shows decisions, passages, episodes and memories; the data folder every kind.
    """
    kinds = _parse_kind(kind)
    server = _server(place.ctx, place.url, place.data_dir, place.config)
    try:
        if server is not None:
            with connect(server, required_token(place.token), place.timeout) as remote:
                members = read_record(remote, id, kinds, repository_here())
        else:
            with existing_records(place.load_settings(), reads_only=True) as records:
                found = _find_record(records, id, kinds) or _find_called(records, id, kinds)
            if found is None:
                say(f"no record has the id {id}", err=True)
                return 1
            members = _collect_members(found)
    except CstpError as error:
        code = print_error(error, "", {"id": id}, as_json=place.as_json)
        if isinstance(error, NotFound) and not place.as_json:
            say(SHOWN, err=True)
        return code
    if place.as_json:
        say(json.dumps(members))
    else:
        _print(members)
    return 0


@app.command()
def delete(
    folder: FolderOptions,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="One or more ids.")],
    kind: KindOption = None,
    url: OtherServerOption = None,
    token: TokenOption = None,
    timeout: TimeoutOption = 30.0,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> int:
    """Delete records from everything: store, vectors, indexes. A running server drops them within a second.

    A document is deleted with its chunks; records that refer to it stay. If its file still has the record, the next
    cstp ingest restores it. A server that CSTP_URL or --url names forgets the records, as with cstp forget.
    """
    kinds, gone = _parse_kind(kind), 0
    wanted = list(dict.fromkeys(ids))
    if (server := _server(folder.ctx, url, folder.data_dir, folder.config)) is not None:
        how = Sending(None, False, server, token, timeout, False)
        of_kind = {} if kind is None else {"kind": kind}
        return max(forget_record({"id": id, **of_kind}, how, yes=yes) for id in wanted)
    with existing_records(folder.load_settings()) as records:
        # looked up first, so an ambiguous id is reported before anything is deleted
        found = {id: _find_record(records, id, kinds) for id in wanted}
        for id, stored in found.items():
            deleted = stored is not None and bool(records.delete(stored.kind, [str(stored.record.id)], with_parts=True))
            gone += deleted
            say(f"deleted {id}" if deleted else f"no record has the id {id}", err=not deleted)
    files = dict.fromkeys(one.origin.source for one in found.values() if one and one.origin.made_by == "file")
    for file in filter(os.path.exists, files):
        say(f"{file} still has the record: the next cstp ingest of the file restores it", err=True)
    return 0 if gone == len(wanted) else 1


def _server(ctx: typer.Context, url: str | None, data_dir: Path | None, config: Path | None) -> str | None:
    """Return the server to ask and name it on standard error; None for the data folder, if an option names it."""
    given = ctx.obj if isinstance(ctx.obj, CommonOptions) else CommonOptions(None, None)
    folder = data_dir or config or given.data_dir or given.config
    if url is None:
        return None
    if folder is not None:
        if url != os.environ.get("CSTP_URL"):
            raise typer.BadParameter("cannot be combined with --data-dir or --config", param_hint="--url")
        return None
    base = base_of(url, "--url")
    say(f"cstp: server: {base}; --data-dir FOLDER opens a data folder", err=True)
    return base


@app.command()
def schema(kind: Annotated[str, typer.Argument(metavar="KIND", help=f"{', '.join(KINDS)}.")]) -> None:
    """Print the JSON Schema of a record in YAML, JSON or JSONL files."""
    if kind not in KIND_NAMES:
        raise ConfigurationError(f"no schema for {kind!r}; known kinds: {', '.join(KINDS)}")
    say_lines(json.dumps(record_schema(KIND_NAMES[kind]), indent=2))


def _parse_kind(kind: str | None) -> list[Kind]:
    if kind is None:
        return list(Kind)
    if kind not in KIND_NAMES:
        raise typer.BadParameter(f"must be one of {', '.join(KINDS)}", param_hint="--kind")
    return [KIND_NAMES[kind]]


def _find_record(records: Records, id: str, kinds: list[Kind]) -> StoredRecord | None:
    """Return the record with the id; None if missing. Raise ConfigurationError if several have it."""
    found = records.origins.find_meant(kinds, id, None)
    of_kinds = dict.fromkeys(stored.kind.label for _, stored in found)
    if len(of_kinds) > 1:
        raise ConfigurationError(f"several records have the id {id}: choose one with --kind ({', '.join(of_kinds)})")
    if len(found) > 1:
        several = ", ".join(f"{full} (from {stored.origin.source})" for full, stored in found)
        raise ConfigurationError(f"several records have the id {id}: choose one by its full id: {several}")
    return found[0][1] if found else None


def _find_called(records: Records, name: str, kinds: list[Kind]) -> StoredRecord | None:
    """Return the decision with the number, name or path; None if missing. Raise InvalidParams if several have it."""
    called = records.decisions.called(name, repository_here(), None) if Kind.DECISION in kinds else ()
    return only_called(name, called) if called else None


def _print(members: dict[str, object]) -> None:
    long = [members.pop(name) for name in _LONG if isinstance(members.get(name), str)]
    for name, value in members.items():
        if value not in (None, [], {}):
            say(f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    for text in long:
        say_lines(f"\n{text}")


def _collect_members(stored: StoredRecord) -> dict[str, object]:
    """Return a record's fields, in camelCase, and the origin."""
    members = record_members(stored.record)
    origin: dict[str, object] = {
        "repository": stored.origin.repository or None,
        "repositoryPath": stored.origin.path,
        "givenId": stored.origin.given,
        "updatedAt": format_instant(stored.updated_at),
    }
    level: str = stored.facets.sensitivity.name.lower()
    if isinstance(stored.record, Decision):
        text = members.pop("text")
        reasons = [{"type": one["type"], "text": one["text"]} for one in members["reasons"]]
        shown = {name: value for name, value in members.items() if name not in _UNSHOWN}
        shown |= {"dateSource": date_source(stored.record), "reasons": reasons, "sensitivity": level}
        return {**shown, "source": stored.origin.source, **origin, "text": text}
    own = {"sensitivity": level, "project": stored.facets.project, "origin": stored.origin.source}
    return {"kind": stored.kind.label, **members, **own, **origin}


_RECALLED: Final = frozenset({Kind.ARTIFACT, Kind.ARTIFACT_CHUNK, Kind.TURN, Kind.EVENT})
_READ: Final = _RECALLED | {Kind.DECISION, Kind.CHUNK, Kind.EPISODE}
_LABELS: Final = ", ".join(kind.label for kind in Kind if kind in _READ)
SHOWN: Final = f"by its id a server shows {_LABELS}; --data-dir FOLDER shows any kind"


def read_record(remote: Remote, id: str, kinds: list[Kind], repository: str | None = None) -> dict[str, Any]:
    """Return the record's members, from the first method knowing the id.

    Raise CstpError for a failed call, and ConfigurationError for a kind no method reads by id.
    """
    if not _READ.intersection(kinds):
        raise ConfigurationError(f"--kind {kinds[0].label}: {SHOWN}")
    missing = NotFound(id)
    for method, params in _calls(id, kinds, repository):
        try:
            return _record_of(method, remote.call(method, params))
        except NotFound as error:
            missing = error
    raise missing


def _calls(id: str, kinds: list[Kind], repository: str | None) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the calls possibly knowing the id, in order: an episode's number is its id, before a decision's number."""
    if Kind.EPISODE in kinds and id.isascii() and id.isdigit() and len(id) < 19:
        yield GET_EPISODE.name, {"id": int(id)}
    if Kind.DECISION in kinds:
        yield GET_DECISION.name, {"id": id, "repository": repository}
    if Kind.CHUNK in kinds:
        yield GET_CHUNK.name, {"chunkId": id, "includeRelated": False}
    if _RECALLED.intersection(kinds):
        yield RECALL.name, {"id": id}


def _record_of(method: str, result: Any) -> dict[str, Any]:
    """Return only the record from a result with more members."""
    if method == GET_DECISION.name:
        result = result["decision"]
    elif method == RECALL.name:
        result = result["results"][0]
    return dict(result)
