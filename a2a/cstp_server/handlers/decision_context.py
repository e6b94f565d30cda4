"""Answers `cstp.getDecisionContext`."""

from collections.abc import Mapping
from functools import partial
from math import ceil

from cognition_engines.engine import Engine
from cognition_engines.queries.answer_items import make_items
from cognition_engines.queries.fitting import TOKEN_BYTES, Cutting, size_of
from cognition_engines.queries.governing import ContextRequest, DecisionContext, GoverningDecision
from cognition_engines.queries.passages import PassageRequest
from cognition_engines.retrieval.snippets import Room
from cognition_engines.set_aside import SetAside
from cstp.methods.decisions import GET_DECISION_CONTEXT
from cstp.values import decision_context as wire
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_SNIPPET = Room(600)  # characters
_MOST_CUT = 200  # snippets, of which more never fit
_COUNT = 10  # digits of a count in the end


def decision_context_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's method, bound to the engine."""

    async def get_decision_context(params: wire.GetDecisionContextParams, call: Call) -> wire.GetDecisionContextResult:
        request = ContextRequest(
            tuple(params.files), call.viewer, params.repository, params.project, tuple(params.packages or ())
        )
        found = await engine.decision_context(request, call.agent)
        include = frozenset(params.include or ())
        cut = partial(engine.cut, agent=call.agent)
        snippets = await _snippets(cut, params, found) if "snippet" in include else {}
        return _fitting(params, found, snippets, engine.indexes.set_aside)

    return (BoundMethod(GET_DECISION_CONTEXT, get_decision_context),)


async def _snippets(cut: Cutting, params: wire.GetDecisionContextParams, found: DecisionContext) -> Mapping[int, str]:
    """Return the snippets of the first decisions, by key."""
    words = " ".join(dict.fromkeys(name for path in params.files for name in path.split("/")))
    first = [*found.governing, *found.proposals, *found.history, *found.mentions][:_MOST_CUT]
    texts = await cut(words, [PassageRequest(one.stored, one.decision.text, _SNIPPET) for one in first])
    return {one.stored.key: text for one, text in zip(first, texts, strict=True) if text is not None}


def _fitting(
    params: wire.GetDecisionContextParams,
    found: DecisionContext,
    snippets: Mapping[int, str],
    set_aside: SetAside,
) -> wire.GetDecisionContextResult:
    """Return the answer with the decisions that fit, those in force first."""
    empty = wire.GetDecisionContextResult(governing=[], proposals=[], history=[], mentions=[], tokens=0, omitted=0)
    left = params.max_tokens * TOKEN_BYTES - size_of(empty) - 2 * _COUNT
    groups: list[list[wire.GoverningRecord]] = []
    omitted = found.unread
    make = partial(_record, snippets=snippets, files="files" in (params.include or ()))
    for group in (found.governing, found.proposals, found.history, found.mentions):
        kept: list[wire.GoverningRecord] = []
        shown = make_items(set_aside, group, make)
        omitted += len(group) - len(shown)
        for _, record in shown:
            if size_of(record) >= left and record.snippet is not None:
                record = record.model_copy(update={"snippet": None})
            if (size := size_of(record)) < left:
                kept.append(record)
                left -= size + 1  # with a comma
            else:
                omitted += 1
        groups.append(kept)
    answer = wire.GetDecisionContextResult(
        governing=groups[0], proposals=groups[1], history=groups[2], mentions=groups[3], tokens=0, omitted=omitted
    )
    return answer.model_copy(update={"tokens": ceil((size_of(answer) + _COUNT) / TOKEN_BYTES)})


def _record(one: GoverningDecision, snippets: Mapping[int, str], *, files: bool) -> wire.GoverningRecord:
    return wire.GoverningRecord(
        id=str(one.decision.id),
        title=one.decision.title,
        status=one.decision.status,
        date=one.decision.date,
        matched=[text.partition(":")[2] for text in one.matched],
        files=list(one.files) if files else None,
        snippet=snippets.get(one.stored.key),
        superseded_by=list(one.superseded_by),
    )
