"""The briefing from a data folder that no process holds: its decisions, without the indexes and their lock."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import log
from pathlib import Path
from typing import Any, Final

from cognition_engines.errors import EngineError
from cognition_engines.indexes.columns.listing import Listing
from cognition_engines.ingest.adr.summary import summarize_decision
from cognition_engines.models import SENSITIVITIES, Decision, Viewer, in_force
from cognition_engines.queries.briefing.briefed_items import Why, decision_item
from cognition_engines.queries.briefing.token_budget import Item, Rest, brief, measure
from cognition_engines.queries.governing import ContextRequest, of_repository, read_context
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.read_only import schema_at
from cognition_engines.store.readable_records import readable_records
from cognition_engines.store.record_reads import RecordReads
from cognition_engines.store.values import StoredRecord
from cstp.errors import CstpError
from cstp.validation import parse_params
from cstp.values.session_context import GetSessionContextParams
from cstp_server.hook.asking import NoAnswer, Target, live_token
from cstp_server.loaded_settings import load_settings

_MOST: Final = 1000  # decisions compared with the task, the newest ones
_READ: Final = 5000  # characters of each
_TEXT: Final = 300  # characters of a summary
_WORD: Final = re.compile(r"\w{3,40}")


def read_briefing(target: Target, params: Mapping[str, Any]) -> str:
    """Return the Markdown of `cstp.getSessionContext` with decisions alone. Raise NoAnswer, OSError."""
    token = live_token(target)
    if "read" not in token["scopes"]:
        raise NoAnswer("cstp.getSessionContext: Forbidden")
    projects = token["projects"]
    viewer = Viewer(SENSITIVITIES[token["clearance"]], None if projects is None else frozenset(projects))
    try:
        asked = parse_params(GetSessionContextParams, params)
        settings = load_settings({"data_dir": Path(target.folder)}).settings
        if schema_at(settings.store_url) is None:
            raise NoAnswer(f"{target.folder} holds no records yet: fill it with cstp ingest PATH")
        with readable_records(settings.store_url, settings.store_named) as records:
            items = [measure(item, markdown=True) for item in _items(records, asked, viewer)]
        return brief(asked, ["decisions"], items, Rest(0, None, Counter())).markdown or ""
    except (EngineError, CstpError) as error:
        raise NoAnswer(f"{target.folder}: {error}") from None


def _items(records: RecordReads, asked: GetSessionContextParams, viewer: Viewer) -> Sequence[Item]:
    """Return the decisions governing the files, proposals, then those with words of the task, else the newest."""
    listing, now = Listing(records, DECISIONS), datetime.now(UTC)
    found: dict[int, Item] = {}
    if asked.files:
        context = read_context(listing, records, ContextRequest(tuple(asked.files), viewer, asked.repository), now)
        groups: Sequence[tuple[Why, Any]] = (("governs", context.governing), ("proposed", context.proposals))
        for why, group in groups:
            found |= {one.stored.key: _item(one.stored, why, one.matched) for one in group}
    page = listing.page((*of_repository(asked.repository), *in_force("until", now)), viewer, 0, _MOST)
    others = [one for one in page.stored if one.key not in found]
    best: Why = "newest"
    if asked.task_description is not None:
        others, best = _by_words(others, asked.task_description), "matches"
    return [*found.values(), *(_item(one, best) for one in others[: asked.decisions_limit])]


def _item(stored: StoredRecord, why: Why, matched: Sequence[str] = ()) -> Item:
    return decision_item(stored, summarize_decision(_decision(stored).text, _TEXT), why, matched)


def _by_words(found: Sequence[StoredRecord], task: str) -> list[StoredRecord]:
    """Return the decisions with words of the task, the most and rarest words first."""
    words = set(_WORD.findall(task.casefold()))
    texts = [f"{_decision(one).title}\n{_decision(one).text[:_READ]}".casefold() for one in found]
    held = [words.intersection(_WORD.findall(text)) for text in texts]
    counts = Counter(word for each in held for word in each)
    scores = [sum(log(1 + len(found) / counts[word]) for word in each) for each in held]
    return [found[place] for place in sorted(range(len(found)), key=lambda place: -scores[place]) if scores[place]]


def _decision(stored: StoredRecord) -> Decision:
    assert isinstance(stored.record, Decision)
    return stored.record
