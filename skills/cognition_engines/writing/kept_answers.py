"""Answers kept under idempotency keys: the digests of their requests, and answers kept by earlier versions.

Digests and kept answers stay in the store for good, so member names are from the first version.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from functools import cache
from hashlib import sha256
from typing import Any, Final, TypeVar, cast

from pydantic import TypeAdapter
from pydantic_core import to_json

from cognition_engines.models import SENSITIVITIES
from cognition_engines.writing.stated_decisions import decision_from, period_of, review_content, stated_members
from cognition_engines.writing.stated_memories import event_from
from cstp.values.base import Wire
from cstp.values.decision_links import DecisionEdge, LinkDecisionsParams, UnlinkDecisionsParams
from cstp.values.decision_writes import (
    DecisionUpdates,
    RecordDecisionParams,
    ReviewDecisionParams,
    SetStatusParams,
    UpdateDecisionParams,
)
from cstp.values.episodes import StoreEpisodeParams
from cstp.values.memories import RememberParams

R = TypeVar("R")
Members = dict[str, Any]
_OF_CALL: Final = {"idempotency_key", "agent_id", "dry_run"}  # members outside the written content


def digest_of(method: str, digested: Mapping[str, object]) -> str:
    """Return a request's digest, equal in all processes: 64 hexadecimal digits."""
    text = json.dumps([method, digested], default=_json_default, sort_keys=True)
    return sha256(text.encode()).hexdigest()


def dump_result(result: object) -> str:
    """Return a result in kept form: JSON with Python names."""
    kind: Any = type(result)
    return _adapter(kind).dump_json(result, by_alias=False).decode()


def read_result(result: type[R], members: Members) -> R:
    """Return a kept result, without members that only an earlier version had."""
    if issubclass(result, Wire):
        members = {name: value for name, value in members.items() if name in result.model_fields}
    kind: Any = result
    return cast("R", _adapter(kind).validate_json(to_json(members)))


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _json_default(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def digested_decision(params: RecordDecisionParams) -> Mapping[str, object]:
    """Return the request members in the digest."""
    return {
        "project": params.project,
        "sensitivity": SENSITIVITIES[params.sensitivity],
        "review_in": None if params.review_in is None else period_of(params.review_in),
        "supersedes": params.supersedes or [],
        "related_to": [one.model_dump(by_alias=False) for one in params.related_to or ()],
        "fields": stated_members(decision_from(params)),
    }


def digested_update(params: UpdateDecisionParams) -> Mapping[str, object]:
    """Return the request members in the digest."""
    return {
        "id": params.id,
        "names": sorted(params.updates.model_fields_set),
        "reason": params.reason,
        "expected_revision": params.expected_revision,
        "fields": stated_members(decision_from(params.updates)),
    }


def digested_review(params: ReviewDecisionParams) -> Mapping[str, object]:
    """Return the request members in the digest."""
    return {"id": params.id, "outcome": params.outcome, "content": asdict(review_content(params))}


def digested_status(params: SetStatusParams) -> Mapping[str, object]:
    """Return the request members in the digest."""
    return {"id": params.id, "status": params.status, "reason": params.reason}


def digested_link(params: UnlinkDecisionsParams) -> Mapping[str, object]:
    """Return the request members in the digest."""
    ends = {"source_id": params.source_id, "target_id": params.target_id, "type": params.edge_type}
    if isinstance(params, LinkDecisionsParams):
        return ends | {"weight": params.weight, "context": params.context}
    return ends


def digested_memory(params: RememberParams) -> Mapping[str, object]:
    """Return the request members in the digest."""
    own = params.model_dump(by_alias=False, exclude=_OF_CALL)
    events = None if params.events is None else [event_from(one) for one in params.events]
    level = SENSITIVITIES[params.sensitivity]
    return own | {"events": events, "sensitivity": level, "participants": params.participants or []}


def digested_episode(params: StoreEpisodeParams) -> Mapping[str, object]:
    """Return the request members in the digest."""
    own = params.model_dump(by_alias=False, exclude=_OF_CALL)
    return own | {"sensitivity": SENSITIVITIES[params.sensitivity], "tags": params.tags or []}


def _rename(members: Members, **names: str) -> Members:
    return {names.get(name, name): value for name, value in members.items()}


def former_decision(_: object, members: Members) -> Members:
    """Return the members of a kept `recordDecision` result."""
    named = _rename(members, at="timestamp", duplicates="possible_duplicates", conflicts="possible_conflicts")
    conflicts = [{name: one[name] for name in ("id", "title", "why")} for one in named["possible_conflicts"]]
    return named | {"possible_conflicts": conflicts}


def former_update(_: object, members: Members) -> Members:
    """Return the members of a kept `updateDecision` result."""
    if "updated" not in members:
        return members
    names = [DecisionUpdates.model_fields[name].alias or name for name in members["updated"]]
    return members | {"updated_fields": names}


def former_review(_: object, members: Members) -> Members:
    """Return the members of a kept `reviewDecision` result."""
    return {"reindexed": False} | _rename(members, at="reviewed_at")


def former_link(_: object, members: Members) -> Members:
    """Return the members of a kept `linkDecisions` result."""
    if "link" not in members:
        return members
    ends = {"source": "source_id", "target": "target_id"}
    edge = _rename(members["link"], **ends, type="edge_type", agent="created_by", at="created_at")
    return members | {"edge": {name: edge[name] for name in DecisionEdge.model_fields}}


def former_memory(_: object, members: Members) -> Members:
    """Return the members of a kept `remember` result."""
    if "chunks" not in members:
        return members
    named = _rename(members, chunks="num_chunks", tokens="token_count", conflicts="possible_conflicts")
    conflicts = [{name: one[name] for name in ("id", "title", "why")} for one in named["possible_conflicts"]]
    return named | {"is_chunked": members["chunks"] > 0, "possible_conflicts": conflicts}


def former_episode(params: StoreEpisodeParams, members: Members) -> Members:
    """Return the members of a kept `storeEpisode` result."""
    if "at" not in members:
        return members
    named = _rename(members, at="created_at") | {"id": int(members["id"]), "reward": params.reward}
    return named | {"query": members.get("query") or params.query}


def former_knowledge(_: object, members: Members) -> Members:
    """Return the members of a kept `storeKnowledge` result."""
    return members | {"records": [_rename(one, chunks="num_chunks") for one in members["records"]]}


def former_put(_: object, members: Members) -> Members:
    """Return the members of a kept `putRecords` result."""
    return {"known": [], "guarded": []} | members
