"""Check of the server holding the data folder: whether it answers, unready parts, and failing work."""

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.index_folder import holder, is_address
from cognition_engines.set_aside import read_set_aside
from cstp.client.messages import HttpAnswer
from cstp.errors import ConnectFailed, TransportError
from cstp_server.doctor.finding import CheckResult, Finding, Level
from cstp_server.holder.holder_state import HolderState, ask_state
from cstp_server.process.local_probe import probe
from cstp_server.settings import Settings
from cstp_server.tokens import FIX_TOKENS

_SECONDS: Final = 5.0  # per request; a check sends two
_LEVELS: Final[Mapping[str, Level]] = {"degraded": Level.WARNING, "down": Level.PROBLEM}
_CAUSES: Final[Mapping[str, tuple[str, str]]] = {  # of an unready part, with a remedy
    "records": ("the database does not answer", "check that it is running and has room (store.url in cstp config)"),
    "keywords": (
        "the index of words is being rebuilt, or cannot follow the records",
        "wait until it is rebuilt; if this finding stays, make room on its disk and see the server's log",
    ),
    "vectors": (
        "the index does not answer: vectors are compared in memory",
        "check that the server of vectors.url is running; the server connects again by itself",
    ),
    "embedder": ("the last call of the model failed", "check the model or its API (embedding.* in cstp config)"),
    "limits": (
        "Redis does not answer: each process counts alone",
        "check that Redis is running (limits.redis_url in cstp config)",
    ),
    "audit": ("its rows wait for the database", "check that the database is running and its disk has room"),
    "tokens": ("the tokens file is missing or damaged", FIX_TOKENS),
}
_UNKNOWN_CAUSE: Final = ("the cause is in its log", "see the server's log")


def check_server(settings: Settings) -> CheckResult[None]:
    """Check whether the server holding the folder is ready; name each cause if it is not."""
    held = holder(settings.indexes_path)
    if held is None:
        return CheckResult([Finding("server", Level.OK, "none uses this data folder")])
    url = held if is_address(held) else settings.base_url
    elsewhere = "set its address (CSTP_SERVER__HOST, CSTP_SERVER__PORT), or see its log"
    answer = probe(url, "/readyz", _SECONDS)
    if isinstance(answer, ConnectFailed):
        seen = f"a process holds the data folder, but no server listens on {url}"
        return CheckResult([Finding("server", Level.WARNING, seen, f"if it is a server: {elsewhere}")])
    if isinstance(answer, TransportError):
        raise ComponentFailed("server", f"{url} does not answer ({answer})")
    if answer.status not in (HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE):
        seen = f"{url}/readyz answers with HTTP {answer.status}"
        return CheckResult([Finding("server", Level.PROBLEM, seen, elsewhere)])
    status, parts = _state_of(answer)
    if status == "ready":
        return CheckResult([Finding("server", Level.OK, f"ready on {url}: {json.dumps(parts)}")])
    state = ask_state(settings.indexes_path, _SECONDS) or HolderState(parts, ())
    findings = [*_name_failing_work(state), *_name_parts(state, settings.indexes_path)]
    level = Level.WARNING if answer.status == HTTPStatus.OK else Level.PROBLEM
    if not any(each.level is level for each in findings):  # the cause may be over by now
        remedy = "run cstp doctor again; if the finding stays, see the server's log"
        findings.append(Finding("server", level, f"{status} on {url}: {json.dumps(parts)}", remedy))
    return CheckResult(findings)


def _state_of(answer: HttpAnswer) -> tuple[str, Mapping[str, str]]:
    """Return the status and the parts in a /readyz answer."""
    status = "ready" if answer.status == HTTPStatus.OK else "not ready"
    try:
        body = json.loads(answer.body)
        parts = {str(part): str(state) for part, state in body["parts"].items()}
        return str(body.get("status", status)), parts
    except (ValueError, LookupError, TypeError, AttributeError):
        return status, {}


def _name_failing_work(state: HolderState) -> Iterable[Finding]:
    for one in state.failing:
        yield Finding("server", Level.WARNING, f"{one.work} fails since {one.since}: {one.cause}", one.remedy)


def _name_parts(state: HolderState, folder: Path) -> Iterable[Finding]:
    """Name each degraded or down part, except parts degraded by failing work with the same name."""
    failing = {one.work for one in state.failing}
    aside = {note.part.value for note in read_set_aside(folder)}
    for part, its in state.parts.items():
        if its not in _LEVELS or (its == "degraded" and part in failing):
            continue
        cause, remedy = _CAUSES.get(part, _UNKNOWN_CAUSE)
        if its == "degraded" and part in aside:
            cause, remedy = "it set records aside", "see the findings of set-aside"
        yield Finding("server", _LEVELS[its], f"{part} is {its}: {cause}", remedy)
