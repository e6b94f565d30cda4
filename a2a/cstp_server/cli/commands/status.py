"""`cstp status` and `cstp config`: the records of a folder or a server, and the settings in force."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Final

import httpx
import typer

from cognition_engines.indexes.index_folder import holder, is_address
from cognition_engines.kinds.spec import Kind
from cognition_engines.set_aside import read_set_aside
from cognition_engines.store.inspection import Glance, glance, other_schema
from cognition_engines.store.schema import HEAD
from cstp.client.messages import HttpAnswer
from cstp.errors import CstpError, TransportError
from cstp.values.fields import format_instant
from cstp_server.cli.conventions import TimeoutOption, TokenOption, Unreachable
from cstp_server.cli.options import FolderOptions, JsonOption, command_family, print_store, print_table, without_secrets
from cstp_server.cli.remote import Remote, base_of, code_of, connect, given_token, member_of, print_error
from cstp_server.describe.agent_card import EXTENSION
from cstp_server.holder.holder_state import HolderState, ask_state, describe_failure, failures_of
from cstp_server.http.discovery import CARD_PATH
from cstp_server.process.local_probe import probe
from cstp_server.settings import Settings
from cstp_server.terminal import say
from cstp_server.tokens import read_tokens

_HEALTHZ_SECONDS: Final = 2.0
_STATE_SECONDS: Final = 5.0
app = command_family()


@app.command()
def status(
    folder: FolderOptions,
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="URL of a server to ask. Default: look at the data folder.")
    ] = None,
    token: TokenOption = None,
    timeout: TimeoutOption = 10.0,
    as_json: JsonOption = False,
) -> int:
    """Show the content of the data folder, and whether a server answers. Changes nothing.

    With a URL, show the version, health and methods of that server, and with a token the remaining limits.
    """
    if url is not None:
        return print_remote(url, given_token(token), timeout, as_json=as_json)
    loaded = folder.load_settings()
    settings = loaded.settings
    print_store(loaded)
    stored = glance(settings.store_url)
    held = holder(settings.indexes_path)
    now = datetime.now(UTC)
    found = {
        "dataDir": str(settings.data_dir.absolute()),
        **_record_facts(stored),
        "setAside": [
            {
                "part": note.part.value,
                "kind": note.kind,
                "id": note.id,
                "cause": note.cause,
                "since": format_instant(note.since),
            }
            for note in read_set_aside(settings.indexes_path)
        ],
        "liveTokens": sum(token.live(now) for token in read_tokens(settings.tokens_path)),
        "indexes": "free" if held is None else f"held by {_holder(held)}",
        "server": "none uses this folder" if held is None else _health(held),
        **_state_facts(HolderState({}, ()) if held is None else ask_state(settings.indexes_path, _STATE_SECONDS)),
    }
    if as_json:
        say(json.dumps(found))
        return 0
    for name, value in found.items():
        shown = _in_words(name, value)
        say(f"{name}: {'unknown' if shown is None else 'none' if shown == '' else shown}")
    return 0


def _in_words(name: str, value: object) -> object:
    if isinstance(value, dict):
        between = " " if name == "parts" else " of "
        pairs = value.items() if name == "parts" else ((count, what) for what, count in value.items())
        return ", ".join(f"{first}{between}{second}" for first, second in pairs)
    if isinstance(value, list):
        return ", ".join(_failure_text(each) if name == "failing" else _note_text(each) for each in value)
    return value


def _note_text(note: Mapping[str, object]) -> str:
    """Return a text such as `decision dec_1 by keywords (ValueError)`; a server names no kind."""
    record = f"{note['kind']} {note['id']}" if "kind" in note else note["id"]
    return f"{record} by {note['part']} ({note['cause']})"


def _failure_text(failure: Mapping[str, object]) -> str:
    return f"{failure['work']} since {failure['since']} ({failure['cause']}; {failure['remedy']})"


def _state_facts(state: HolderState | None) -> dict[str, object]:
    """Return the parts and failing work of the folder's holder; both are unknown if not reported."""
    if state is None:
        return {"parts": None, "failing": None}
    return {"parts": dict(state.parts), "failing": [describe_failure(one) for one in state.failing]}


def _record_facts(found: Glance | None) -> dict[str, object]:
    """Return record counts; for an unknown schema, `records` names it and the rest is unknown."""
    if found is not None and found.schema != HEAD:
        return {"decisions": None, "records": "; ".join(other_schema(found.schema)), "vectors": None}
    kinds, models = ({}, {}) if found is None else (found.kinds, found.models)
    return {
        "decisions": kinds.get(Kind.DECISION, 0),
        "records": {kind.label: count for kind, count in sorted(kinds.items())},
        "vectors": dict(models),
    }


def _holder(name: str) -> str:
    return "a server" if is_address(name) else name or "another process"


def _health(url: str) -> str:
    """Describe the server health at the address of the folder's holder."""
    if not is_address(url):
        return "none uses this folder, or it is still starting"
    answer = probe(url, "/healthz", _HEALTHZ_SECONDS)
    if isinstance(answer, TransportError):
        return f"none on {url}"
    return f"alive on {url}" if answer.status == HTTPStatus.OK else f"HTTP {answer.status} on {url}"


@app.command("config")
def show_config(folder: FolderOptions, as_json: JsonOption = False) -> None:
    """Show every setting, its value and the source of the value. Passwords are omitted."""
    loaded = folder.load_settings()
    rows = [(name, _format_value(name, value), loaded.origin_of(name)) for name, value in _values(loaded.settings)]
    if as_json:
        say(json.dumps([{"name": name, "value": value, "from": origin} for name, value, origin in rows]))
        return
    shown = ((name, json.dumps(value, ensure_ascii=False), origin) for name, value, origin in rows)
    print_table(("setting", "value", "from"), shown)


def _values(settings: Settings) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for section, value in settings.model_dump(mode="json").items():
        if isinstance(value, dict):
            found += [(f"{section}.{name}", inner) for name, inner in value.items()]
        else:
            found.append((section, value))
    return found


def _format_value(name: str, value: object) -> object:
    if isinstance(value, str):
        return without_secrets(value)
    if name == "embedding.settings" and isinstance(value, dict):
        # parameters of a model function may be keys with any name
        return dict.fromkeys(value, "***")
    if isinstance(value, list):
        return [_format_value(name, one) for one in value]
    if isinstance(value, dict):  # a source, whose url may have a password
        return {member: _format_value(f"{name}.{member}", inner) for member, inner in value.items()}
    return value


def print_remote(url: str, token: str | None, timeout: float, *, as_json: bool) -> int:
    """Print version, health and methods and, with a token, agent and remaining limits.

    Public values are also printed if the call with the token fails; the error then determines the exit code.
    """
    with connect(base_of(url, "URL"), token or "", timeout) as remote:
        found = _public(remote)
        whoami, refused = None, None
        try:
            whoami = None if token is None else remote.call("cstp.whoami", {})
        except CstpError as error:
            refused = error
    if as_json:
        failure = {} if refused is None else {"error": member_of(refused)}
        say(json.dumps(found | _private(whoami) | failure))
        return 0 if refused is None else code_of(refused)
    for name, value in (found | (_private(whoami) if refused is None else {})).items():
        say(f"{name}: {_text_of(name, value)}")
    return 0 if refused is None else print_error(refused, "cstp.whoami", as_json=False)


def _public(remote: Remote) -> dict[str, object]:
    """Return a server's public facts. Raise Unreachable if it is no CSTP server."""
    alive = remote.get("/healthz")
    ready = _json(remote.get_as_caller("/readyz"))
    card = _json(remote.get(CARD_PATH))
    params = next((one.get("params") for one in _extensions(card) if one.get("uri") == EXTENSION), None)
    if not isinstance(params, Mapping):
        raise Unreachable(f"{remote.endpoint}: not a CSTP server (no agent card)")
    methods = params.get("methods")
    return {
        "url": remote.endpoint,
        "agent": card.get("name"),
        "version": card.get("version"),
        "health": _public_health(alive.status),
        "ready": ready.get("status"),
        "parts": ready.get("parts"),
        **_shown_to_admins(ready),
        "methods": [one.get("name") for one in methods if isinstance(one, Mapping)]
        if isinstance(methods, list)
        else [],
    }


def _shown_to_admins(ready: Mapping[str, Any]) -> dict[str, object]:
    """Return records set aside and failing work; a server names them only if there are any, and to no other scope."""
    failing = [describe_failure(one) for one in failures_of(ready.get("failing"))]
    shown = {"setAside": ready.get("setAside"), "failing": failing}
    return {name: value for name, value in shown.items() if value}


def _public_health(status: int) -> str:
    if status == httpx.codes.OK:
        return "alive"
    hidden = status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN, httpx.codes.NOT_FOUND)
    # behind a proxy forwarding only /cstp
    return f"not shown here (HTTP {status})" if hidden else f"HTTP {status}"


def _extensions(card: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    capabilities = card.get("capabilities")
    extensions = capabilities.get("extensions") if isinstance(capabilities, Mapping) else None
    return [one for one in extensions if isinstance(one, Mapping)] if isinstance(extensions, list) else []


def _private(whoami: object) -> dict[str, object]:
    if not isinstance(whoami, Mapping):
        return {"caller": None, "limits": None}
    return {"caller": whoami.get("agent"), "limits": whoami.get("limits")}


def _json(reply: HttpAnswer) -> Mapping[str, Any]:
    """Return an answer's object; an empty object for anything else."""
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, Mapping) else {}


def _text_of(name: str, value: object) -> str:
    if name in ("caller", "limits") and value is None:
        return "unknown without a token (--token or CSTP_TOKEN)"
    if name == "limits" and isinstance(value, list):
        windows = [one for one in value if isinstance(one, Mapping)]
        return ", ".join(
            f"{one.get('remaining')} of {one.get('limit')} left in {one.get('window')} s" for one in windows
        )
    if isinstance(value, Mapping):
        return ", ".join(f"{part} {state}" for part, state in value.items())
    if name in ("setAside", "failing"):
        return str(_in_words(name, value))
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "unknown" if value is None else str(value)
