"""`cstp record`, `review`, `remember` and `forget`: writes of agents and people through a server."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import uuid4

import typer

from cstp import DEFAULT_URL
from cstp.contract import Method
from cstp.errors import CstpError
from cstp.methods.decisions import RECORD_DECISION, REVIEW_DECISION
from cstp.methods.memories import REMEMBER
from cstp.methods.records import FORGET
from cstp.values.base import Wire
from cstp.values.decision_writes import RecordDecisionResult, ReviewDecisionResult
from cstp.values.memories import RememberResult
from cstp.values.records import ForgetResult
from cstp.values.writes import FoundSecret, PossibleConflict, WriteReport
from cstp_server.cli.allowed_values import allowed_values
from cstp_server.cli.commands.call import parse_params, read_params
from cstp_server.cli.conventions import (
    JsonOption,
    OptionGroup,
    TimeoutOption,
    TokenOption,
    Unreachable,
    UrlOption,
    command_family,
)
from cstp_server.cli.forms import filled_form
from cstp_server.cli.remote import base_of, connect, print_error, required_token, show
from cstp_server.cli.utf8_texts import require_utf8
from cstp_server.terminal import say

app = command_family()
TRIES: Final = 3  # for a write with a broken connection: the key prevents a second write
_STAKES: Final = allowed_values(RECORD_DECISION, "stakes")
_SHARE: Final = allowed_values(RECORD_DECISION, "confidence")
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key", metavar="KEY", help="Idempotency key: runs with the same key write once. Default: a new key."
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Check everything and write nothing.")]
ParamsOption = Annotated[
    str | None, typer.Option("--params", metavar="FILE", help="Parameters as a JSON object; - is standard input.")
]
FormOption = Annotated[Path | None, typer.Option("--form", metavar="FILE", help="Open a kept form again in $EDITOR.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any other parameter, as key=text or key:=json; repeatable."),
]


@dataclass(frozen=True)
class Sending(OptionGroup):
    """Options for sending a write, and printing the answer."""

    key: KeyOption = None
    dry_run: DryRunOption = False
    url: UrlOption = DEFAULT_URL
    token: TokenOption = None
    timeout: TimeoutOption = 30.0
    as_json: JsonOption = False


@dataclass(frozen=True)
class OtherParams(OptionGroup):
    """Options for parameters without an option, and for a form; a form is kept until the write succeeded."""

    others: SetOption = None
    params_file: ParamsOption = None
    form: FormOption = None


@app.command()
def record(
    other: OtherParams,
    how: Sending,
    decision: Annotated[
        str | None, typer.Argument(metavar="DECISION", help="The decision, in one sentence; - is standard input.")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option("--confidence", metavar="SHARE", help=f"Confidence, from {_SHARE}; required.")
    ] = None,
    context: Annotated[str | None, typer.Option("--context", metavar="TEXT", help="Why a decision was needed.")] = None,
    category: Annotated[
        str | None, typer.Option("--category", metavar="NAME", help="Category, such as architecture.")
    ] = None,
    stakes: Annotated[str | None, typer.Option("--stakes", help=f"Stakes: {_STAKES}.")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; repeatable.")] = None,
    reasons: Annotated[
        list[str] | None,
        typer.Option("--reason", metavar="TYPE:TEXT", help="A reason, such as analysis:...; repeatable."),
    ] = None,
    alternatives: Annotated[
        list[str] | None, typer.Option("--alternative", metavar="TEXT", help="An alternative; repeatable.")
    ] = None,
    supersedes: Annotated[
        list[str] | None, typer.Option("--supersedes", metavar="ID", help="Id of the decision that it replaces.")
    ] = None,
    review_in: Annotated[
        str | None, typer.Option("--review-in", metavar="PERIOD", help="When to review it, such as 2w or 1m.")
    ] = None,
    project: Annotated[str | None, typer.Option("--project", metavar="NAME", help="One of the token's.")] = None,
) -> int:
    """Record a decision. Without DECISION, a form opens in $EDITOR. Prints one line; with --json, the whole result.

    The token needs the scope write. A broken connection is retried; the decision is recorded once.
    """
    given = {
        **{"decision": _read_text(decision), "confidence": confidence, "context": context, "category": category},
        **{"stakes": stakes, "tags": tags, "supersedes": supersedes, "reviewIn": review_in, "project": project},
        "reasons": [_reason(one) for one in reasons or ()],
        "alternatives": [{"option": one} for one in alternatives or ()],
    }
    return _write_or_edit(RECORD_DECISION, _params(given, other), how, other.form, "decision")


@app.command()
def review(
    other: OtherParams,
    how: Sending,
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the decision.")],
    outcome: Annotated[
        str | None, typer.Argument(metavar="OUTCOME", help=f"Outcome: {allowed_values(REVIEW_DECISION, 'outcome')}.")
    ] = None,
    actual: Annotated[str | None, typer.Option("--result", metavar="TEXT", help="The actual result.")] = None,
    lessons: Annotated[str | None, typer.Option("--lessons", metavar="TEXT", help="Lessons learned.")] = None,
    notes: Annotated[str | None, typer.Option("--notes", metavar="TEXT", help="Other notes.")] = None,
    evidence: Annotated[
        list[str] | None, typer.Option("--evidence", metavar="URI", help="Evidence of the outcome; repeatable.")
    ] = None,
) -> int:
    """State how a decision turned out. Without OUTCOME, a form opens in $EDITOR. The token needs the scope review.

    Prints one line; with --json, the whole result.
    """
    given = {
        "id": id,
        "outcome": outcome,
        "actualResult": actual,
        "lessons": lessons,
        "notes": notes,
        "evidence": [{"uri": one} for one in evidence or ()],
    }
    return _write_or_edit(REVIEW_DECISION, _params(given, other), how, other.form, "outcome")


@app.command()
def remember(
    other: OtherParams,
    how: Sending,
    content: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The text to remember; - is standard input.")
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", help="Kind of text: note, meeting, email, ... Default: note.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Its title.")] = None,
    author: Annotated[str | None, typer.Option("--author", metavar="NAME", help="Its author or speaker.")] = None,
    supersedes: Annotated[
        list[str] | None,
        typer.Option("--supersedes", metavar="ID", help="Id of a memory that it replaces."),
    ] = None,
    expires_at: Annotated[
        str | None, typer.Option("--expires-at", metavar="TIME", help="When to forget it, such as 2030-01-31.")
    ] = None,
    project: Annotated[str | None, typer.Option("--project", metavar="NAME", help="One of the token's.")] = None,
    sensitivity: Annotated[
        str | None, typer.Option("--sensitivity", help=f"Sensitivity: {allowed_values(REMEMBER, 'sensitivity')}.")
    ] = None,
) -> int:
    """Remember something said or written. Without TEXT, a form opens in $EDITOR. The token needs the scope write."""
    given = {
        **{"content": _read_text(content), "context": context, "title": title, "author": author},
        **{"expiresAt": expires_at, "project": project, "sensitivity": sensitivity, "supersedes": supersedes},
    }
    return _write_or_edit(REMEMBER, _params(given, other), how, other.form, "content")


@app.command()
def forget(
    how: Sending,
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of a record of any kind.")],
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="Record kind, if the id is ambiguous.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Reason; it is kept, so do not quote the record.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> int:
    """Forget a record and all records derived from it, permanently. Without a terminal it needs --yes.

    The token needs the scope write for records of its agent, and admin for other records.
    """
    return forget_record(_params({"id": id, "kind": kind, "reason": reason}), how, yes=yes)


def forget_record(params: Mapping[str, object], how: Sending, *, yes: bool) -> int:
    """Forget the record of `params` after confirmation or with `yes`, and return the exit code."""
    confirmed = {**params, "confirm": True}
    if not (yes or how.dry_run):
        if not sys.stdin.isatty():
            raise typer.BadParameter("required without a terminal", param_hint="--yes")
        if code := _write(FORGET, confirmed, replace(how, key=None, dry_run=True)):
            return code
        if not typer.confirm(f"forget {params['id']} and all of the above for good?", err=True):
            raise typer.Abort
    return _write(FORGET, confirmed, how)


def _params(given: Mapping[str, object], other: OtherParams = OtherParams()) -> dict[str, object]:
    """Return all given parameters. Raise BadParameter for a parameter given twice."""
    found = {name: value for name, value in given.items() if value is not None and value != []}
    file = other.params_file
    for source in ({} if file is None else read_params(file), parse_params(list(other.others or ()))):
        if twice := found.keys() & source.keys():
            raise typer.BadParameter(f"{', '.join(sorted(twice))}: given twice")
        found |= source
    return found


def _write_or_edit(
    method: Method[Any, Any], params: Mapping[str, object], how: Sending, form: Path | None, needed: str
) -> int:
    """Open a form if `needed` is missing, then write."""
    required_token(how.token)  # before anything is typed
    if form is None and needed in params:
        return _write(method, params, how)
    filled = filled_form(method, params, form)
    return _write(method, {**params, **filled.params}, how, filled.path)


def _write(method: Method[Any, Any], params: Mapping[str, object], how: Sending, form: Path | None = None) -> int:
    """Call a write method, and print the result."""
    key = how.key or uuid4().hex
    sent = {**params, "idempotencyKey": key, **({"dryRun": True} if how.dry_run else {})}
    try:
        answer = _call_once(method, sent, key, how, form)
    except CstpError as error:
        return print_error(error, method.name, sent, as_json=how.as_json)
    result = method.result.model_validate_json(json.dumps(answer), extra="ignore")
    line = None if how.as_json else written_line(result, dry_run=how.dry_run)
    if line is None:
        show(answer, as_json=how.as_json)
        return 0
    say(line)
    for warning in warnings_of(result):
        say(warning, err=True)
    return 0


def _call_once(method: Method[Any, Any], sent: Mapping[str, object], key: str, how: Sending, form: Path | None) -> Any:
    """Return the result of a write, executed once even if the connection breaks; a form is removed after success."""
    secret, written = required_token(how.token), False
    try:
        with connect(base_of(how.url, "--url"), secret, how.timeout) as remote:
            answer = remote.call(method.name, sent, TRIES)
        written = True
    except Unreachable:
        say(f"it may have been written; run the same command with --key {key} to write it once", err=True)
        raise
    finally:
        if form is not None and not written:
            say(f"the form is kept; open it again with --form {form}", err=True)
    if form is not None:
        form.unlink(missing_ok=True)
    return answer


def _reason(text: str) -> dict[str, str]:
    type, separator, words = text.partition(":")
    if not separator:
        raise typer.BadParameter(f"{text!r} must be TYPE:TEXT, such as analysis:it scales", param_hint="--reason")
    return {"type": type.strip(), "text": words.strip()}


def _read_text(given: str | None) -> str | None:
    """Return the given text, from standard input for `-`. Raise BadParameter for a text other than UTF-8."""
    if given != "-":
        return given
    try:
        text = sys.stdin.read().strip()
    except UnicodeDecodeError:
        raise typer.BadParameter("must be UTF-8", param_hint="standard input") from None
    require_utf8([text], "standard input")
    return text


def written_line(result: Wire, *, dry_run: bool) -> str | None:
    """Return the record's outcome in one line; None for a result to show whole."""
    match result:
        case RecordDecisionResult(created=False):
            return f"{result.id} was already recorded with the same key ({result.status})"
        case RecordDecisionResult():
            return f"can be recorded ({result.status})" if dry_run else f"recorded {result.id} ({result.status})"
        case ReviewDecisionResult():
            again = "" if result.previous_outcome is None else f"; previous outcome: {result.previous_outcome}"
            return f"{'can be reviewed:' if dry_run else 'reviewed'} {result.id}{again}"
        case RememberResult():
            return f"can be remembered ({result.status})" if dry_run else f"remembered {result.id} ({result.status})"
        case ForgetResult():
            return f"{'would forget' if dry_run else 'forgot'} {result.id} ({', '.join(_forget_lines(result))})"
        case _:
            return None


def _conflict_line(one: PossibleConflict) -> str:
    return f"may contradict ({one.why}): {one.id} {one.title}"


def _secret_line(found: FoundSecret) -> str:
    done = "was masked" if found.masked else "is stored as it is"
    return f"{found.field} has a secret ({found.kind}), which {done}"


def _forget_lines(result: ForgetResult) -> Iterator[str]:
    """Yield the record's kind, and the deleted number per kind."""
    yield str(result.kind)
    for name, count in result.cascade.model_dump().items():
        if count:
            yield f"{count:,} {name.replace('_', ' ')}"


def warnings_of(result: Wire) -> Iterator[str]:
    """Yield warnings for the caller, though the record was written."""
    if isinstance(result, WriteReport):
        yield from map(_secret_line, result.secrets)
    match result:
        case RecordDecisionResult():
            yield from (f"warning: {warning.message}" for warning in result.warnings)
            yield from (f"similar: {near.id} {near.title}" for near in result.possible_duplicates)
            yield from map(_conflict_line, result.possible_conflicts)
        case RememberResult():
            yield from map(_conflict_line, result.possible_conflicts)
        case ForgetResult(receipt=receipt) if receipt is not None:
            yield from (f"{pending.part}: {pending.reason}" for pending in receipt.pending)
        case _:
            return
