"""Checks of keyword and vector indexes, a pair for every search space with records."""

import os
import shlex
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from cognition_engines.indexes.index_folder import is_held
from cognition_engines.indexes.keywords.text_documents import KeywordState, columns_of, inspect_keywords
from cognition_engines.indexes.vectors.backend import BackendServer, BackendSpec
from cognition_engines.indexes.vectors.collection import collection_name
from cognition_engines.indexes.vectors.registry import backend_of
from cognition_engines.set_aside import Part, read_set_aside
from cognition_engines.spaces import SEARCHED, Space
from cognition_engines.store.codec import moment
from cognition_engines.store.inspection import Position, StoreContents, position, windows_up_to
from cstp.values.fields import format_instant
from cstp_server.doctor.components import Model
from cstp_server.doctor.finding import CheckResult, Finding, Level
from cstp_server.open_engine import relevance, vector_choice
from cstp_server.settings import Settings

REINDEX: Final = "cstp reindex rebuilds the indexes"
_RETRY: Final = "read it with cstp call, report the cause; cstp reindex --record {id} tries again, as each start does"
_NAMED: Final = 20
FOLLOW_SECONDS: Final = 3.0  # a healthy server follows within this time
_POLL_SECONDS: Final = 0.25


def check_keywords(settings: Settings, held: StoreContents) -> CheckResult[None]:
    """Check whether the keyword indexes are whole and have followed the records."""
    folder = settings.indexes_path
    if folder.is_dir() and not os.access(folder, os.W_OK):  # tantivy opens no index without writing there
        seen = f"not checked: this user may not write to {folder}"
        return CheckResult([Finding("keywords", Level.WARNING, seen, "run cstp doctor as the user of the server")])
    give_up = monotonic() + FOLLOW_SECONDS
    nothing = "there is no index yet; cstp serve builds it"
    return _over_spaces("keywords", nothing, lambda space: _check_keywords_of(settings, held, space, give_up))


def _check_keywords_of(settings: Settings, held: StoreContents, space: Space, give_up: float) -> Finding | None:
    state, at = _keywords(settings, held, space)
    while state is not None and _waits(settings, state, at, held) and monotonic() < give_up:
        sleep(_POLL_SECONDS)
        state, at = _keywords(settings, held, space)
    if state is None or (not state.texts and not at.texts and not at.behind):
        return None
    what = f"{state.texts:,} texts"
    if at.behind and is_held(settings.indexes_path) and state.seq >= held.last_seq:
        return Finding("keywords", Level.OK, f"{what}, and it follows the records")
    left_out = count_set_aside(settings.indexes_path, space)
    if state.seq <= at.last_seq and not at.behind and state.texts + left_out != at.texts:
        seen = f"the index holds {state.texts:,} texts, the records are {at.texts:,}"
        seen += f", {left_out:,} of them set aside" if left_out else ""
        return Finding("keywords", Level.PROBLEM, seen, REINDEX)
    return _check_follower("keywords", state.seq, at, what, served=is_held(settings.indexes_path))


def _keywords(settings: Settings, held: StoreContents, space: Space) -> tuple[KeywordState | None, Position]:
    folder = settings.indexes_path / space.name / "keywords"
    state = inspect_keywords(folder, held.store_id, columns_of(space), relevance(settings.search))
    return state, position(settings.store_url, space, state.seq if state else 0)


def _waits(settings: Settings, state: KeywordState, at: Position, held: StoreContents) -> bool:
    """Return whether a server is about to update the index."""
    return at.behind > 0 and state.seq < held.last_seq and is_held(settings.indexes_path)


def check_set_aside(settings: Settings) -> CheckResult[None]:
    """Name the records a part cannot process."""
    notes = read_set_aside(settings.indexes_path)
    findings = [
        Finding(
            "set-aside",
            Level.PROBLEM,
            f"{note.kind} {note.id} by {note.part.value} ({note.cause})",
            _RETRY.format(id=shlex.quote(note.id)),
        )
        for note in notes[:_NAMED]
    ]
    if len(notes) > _NAMED:
        seen = f"{len(notes) - _NAMED:,} more records; cstp status --json names all"
        findings.append(Finding("set-aside", Level.PROBLEM, seen, _RETRY.format(id="ID")))
    return CheckResult(findings or [Finding("set-aside", Level.OK, "no record")])


def count_set_aside(folder: Path, space: Space) -> int:
    """Return the number of a space's records missing in the keyword index."""
    labels = {kind.label for kind in space.kinds}
    parts = (Part.KEYWORDS, Part.COLUMNS)
    return len({note.key for note in read_set_aside(folder) if note.part in parts and note.kind in labels})


def check_vectors(settings: Settings, held: StoreContents | None, model: Model | None) -> CheckResult[None]:
    """Check whether the next start can trust the index folders, or whether the index server has the noted collections.

    Without records or a model to compare with, check only whether the server answers.
    """
    if settings.vectors.index == "memory":
        return CheckResult([Finding("vectors", Level.OK, "no index: vectors are ranked in memory")])
    backend = backend_of(vector_choice(settings.vectors))
    if settings.vectors.url is not None:
        return _check_server(backend, settings, settings.vectors.url, held, model)
    if model is None or held is None:
        return CheckResult([Finding("vectors", Level.OK, "no records to compare an index with")])
    if is_held(settings.indexes_path):
        seen = f"a server has the folders of {backend.title} open; it checks them at each start"
        return CheckResult([Finding("vectors", Level.OK, seen)])
    few = "no index while the vectors fit into memory (vectors.memory_mb)"
    nothing = few if settings.vectors.index == "auto" else "there is no index yet; cstp serve builds it"
    return _over_spaces("vectors", nothing, lambda space: _check_folder(backend, settings, held, model, space))


def _check_folder(
    backend: BackendSpec, settings: Settings, held: StoreContents, model: Model, space: Space
) -> Finding | None:
    name = collection_name(space.name, model.identity, held.store_id)
    state = backend.inspect(settings.indexes_path / space.name, name, held.store_id)
    if state is None:
        return None
    if state.distrust is not None:
        level = Level.PROBLEM if state.damaged else Level.WARNING
        remedy = f"the next cstp serve rebuilds it and answers meanwhile; to do it now: {REINDEX}"
        return Finding("vectors", level, f"{backend.title}'s folder is not used: {state.distrust}", remedy)
    at = position(settings.store_url, space, state.seq)
    windows = windows_up_to(settings.store_url, space, model.identity, state.seq)
    return _check_follower("vectors", state.seq, at, f"{windows:,} vectors", served=False)


def _check_server(
    backend: BackendSpec, settings: Settings, url: str, held: StoreContents | None, model: Model | None
) -> CheckResult[None]:
    with closing(backend.load().open_server(url, settings.vectors.deadline_seconds)) as server:
        if model is None or held is None:
            server.state("none", 1)
            return CheckResult([Finding("vectors", Level.OK, f"the {backend.title} server on {url} answers")])
        nothing = f"{url} has no collection of these records yet; cstp serve creates one when there are vectors"
        return _over_spaces(
            "vectors", nothing, lambda space: _check_collection(server, settings, url, held, model, space)
        )


def _check_collection(
    server: BackendServer, settings: Settings, url: str, held: StoreContents, model: Model, space: Space
) -> Finding | None:
    name = collection_name(space.name, model.identity, held.store_id)
    found = server.state(name, model.dimension)
    if found is None:
        if not windows_up_to(settings.store_url, space, model.identity, held.last_seq):
            return None
        return Finding("vectors", Level.OK, f"{url} has no collection {name} yet; cstp serve creates it")
    remedy = "cstp serve rebuilds it when it starts"
    if not found.filled_here:
        seen = f"the collection {name} on {url} was not filled by CSTP"
        return Finding("vectors", Level.PROBLEM, seen, remedy)
    windows, seq = found.windows, found.seq
    at = position(settings.store_url, space, seq)
    needed = windows_up_to(settings.store_url, space, model.identity, seq)
    if seq <= at.last_seq and windows < needed:
        seen = f"the collection on {url} holds {windows:,} vectors, the records up to its last change {needed:,}"
        return Finding("vectors", Level.PROBLEM, seen, remedy)
    served = is_held(settings.indexes_path)
    return _check_follower("vectors", seq, at, f"{windows:,} vectors on {url}", served=served)


def _over_spaces(part: str, nothing: str, check: Callable[[Space], Finding | None]) -> CheckResult[None]:
    """Check all spaces; return a finding for each faulty space, else a single joined finding."""
    found = [(space, finding) for space in SEARCHED if (finding := check(space)) is not None]
    findings = [Finding(part, each.level, f"{space.name}: {each.seen}", each.remedy) for space, each in found]
    wrong = [each for each in findings if each.level is not Level.OK]
    seen = "; ".join(each.seen for each in findings)
    return CheckResult(wrong or [Finding(part, Level.OK, seen or nothing)])


def _check_follower(part: str, seq: int, at: Position, what: str, *, served: bool) -> Finding:
    if seq > at.last_seq:
        seen = f"the index has a change of {_time(seq)}, the last of the records is of {_time(at.last_seq)}"
        seen += ": they are older than it"
        return Finding(part, Level.PROBLEM, seen, f"the next cstp serve rebuilds it; to do it now: {REINDEX}")
    if not at.behind:
        return Finding(part, Level.OK, f"{what}, up to the last change, of {_time(at.last_seq)}")
    seen = f"{what}, {at.behind:,} changes behind the records"
    if served:
        return Finding(part, Level.WARNING, seen, "run cstp doctor again; if the finding stays, see the server's log")
    return Finding(part, Level.OK, f"{seen}; the next cstp serve reads them")


def _time(seq: int) -> str:
    """Return the time of a change, by number."""
    return format_instant(moment(seq))
