"""From a request body to the answer: envelope, batch, limit, scope, validation, call, error mapping, log line.

`Dispatcher.handle` takes JSON-RPC, and `Dispatcher.run` a method with parameters, from any transport. The only
catch-all of the server is here: an unexpected exception is logged and answered as -32603 with nothing but the request
id. jsonrpcserver dispatches a checked element at a time.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, replace
from inspect import BoundArguments, Signature, signature
from time import monotonic, perf_counter
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

import orjson
import structlog
from jsonrpcserver import Error, Result, Success
from jsonrpcserver.async_dispatcher import dispatch_request
from jsonrpcserver.request import Request as Element

from cognition_engines.errors import ComponentBusy, ComponentFailed, UnknownChange
from cstp import errors
from cstp.contract import Method
from cstp.validation import parse_params
from cstp.values.base import Wire
from cstp.values.reads import ReadParams
from cstp_server.limits.bodies import BodyParser
from cstp_server.limits.limiter import Limiter
from cstp_server.limits.prices import weigh, weigh_paths
from cstp_server.observe.log import call_line
from cstp_server.observe.metrics import CallMetrics
from cstp_server.rpc.bound import AnyBound, AuditedCalls, AuditNotes, Call
from cstp_server.rpc.envelope import Malformed, Request, read_body
from cstp_server.rpc.failures import query_failed

UNKNOWN: Final = "unknown"  # for every unknown method
_RETRY_SECONDS: Final = 1
Guarded = Callable[..., Coroutine[Any, Any, Result]]
Validate = Callable[[type[Wire], object], Wire]  # makes the parameters of a call; raises errors.InvalidParams
_Validating = Callable[[type[Wire], object], Awaitable[Wire]]


class Reached(Protocol):
    """Returns when a read shows all changes up to `seq`; see `cognition_engines.queries.following`."""

    async def __call__(self, seq: int, agent: str, *, searched: bool) -> None: ...


_log = structlog.get_logger("cstp.call")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a request: elements of a batch, concurrent elements, bytes of an answer and of a batch's answers.

    An element fails if it has not begun `batch_seconds` after its batch.
    """

    max_batch: int
    concurrency: int
    batch_seconds: float
    answer_bytes: int
    batch_answer_bytes: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request: `body` is None for only notifications; `error` is set for a single refused call."""

    body: bytes | None
    error: errors.CstpError | None = None


@dataclass(slots=True)
class Outcome:
    """A call's outcome, passed around jsonrpcserver: the result as JSON, or the error.

    The result's names are those of the wire, or with `snake_case` those of the fields.
    """

    snake_case: bool = False
    result: str = ""
    error: errors.CstpError | None = None
    audit: AuditNotes = field(default_factory=AuditNotes)


@dataclass(slots=True)
class _Room:
    """Remaining bytes for the answers to a request: `each` answer, and `left` for all later answers."""

    each: int
    left: int

    def holds(self, body: bytes) -> bool:
        return len(body) <= min(self.each, self.left)

    def take_body(self, body: bytes) -> bytes:
        self.left -= len(body)
        return body


def error_body(error: errors.CstpError, identifier: object = None) -> bytes:
    """Return a JSON-RPC response object with an `error` member."""
    member: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data is not None:
        member["data"] = error.data
    return orjson.dumps({"jsonrpc": "2.0", "error": member, "id": identifier})


class Dispatcher:
    """Dispatcher of request bodies to the given methods."""

    def __init__(
        self,
        methods: Sequence[AnyBound],
        limiter: Limiter,
        bounds: Bounds,
        metrics: CallMetrics,
        parser: BodyParser,
        reached: Reached,
        audit: AuditedCalls,
        count_patterns: Callable[[], int] = lambda: 0,
    ) -> None:
        """Take the parts of a server; `count_patterns` counts the stored patterns of decisions."""
        self.parser = parser
        self._count_patterns = count_patterns
        self._audit = audit
        self._limiter = limiter
        self._reached = reached
        self._bounds = bounds
        self._metrics = metrics
        self._log_call = call_line()
        self._guarded: Final = {bound.method.name: self._guard(bound) for bound in methods}
        self._unknown: Final = self._guard(None)
        self._scopes: Final = {bound.method.name: frozenset(bound.method.scopes) for bound in methods}
        # by agent with a batch: elements wait for each other, so all of them together do not block the event loop
        self._slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def handle(self, body: bytes, call: Call) -> Answer:
        """Run the calls of `body`. Never raises, whatever a caller sent."""
        try:
            read = await self.parser.run(call.token.agent, read_body, body, self._bounds.max_batch)
        except (errors.ParseError, errors.InvalidRequest, errors.Overloaded) as error:
            return await self._refuse(error, call)
        if isinstance(read, list):
            return await self._handle_batch(read, replace(call, slot=None, batched=True))
        return await self._answer_element(read, call, _Room(self._bounds.answer_bytes, self._bounds.answer_bytes))

    async def charge(self, call: Call) -> errors.RateLimited | None:
        """Charge a unit for a request without a method; return the error if none is left."""
        try:
            await self._limiter.charge(call.token.agent, "")
        except errors.RateLimited as error:
            return error
        return None

    async def admit(self, method: Method[Any, Any], call: Call) -> errors.CstpError | None:
        """Charge a request answered elsewhere as a call of `method`; return the error if it is not allowed."""
        try:
            await self._limiter.charge(call.token.agent, method.name)
        except errors.RateLimited as error:
            return error
        return self._forbid(method, call)

    def _forbid(self, method: Method[Any, Any], call: Call) -> errors.Forbidden | None:
        """Return the error for a token without a sufficient scope; None if it may call."""
        allowed = method.scope is None or not self._scopes[method.name].isdisjoint(call.token.scopes)
        return None if allowed or method.scope is None else errors.Forbidden(method.scope)

    async def run(self, method: str, params: object, call: Call, validate: Validate = parse_params) -> Outcome:
        """Run a call from outside JSON-RPC, with the result in snake_case, and otherwise like a JSON-RPC call."""
        began = perf_counter()
        outcome = Outcome(snake_case=True)
        await self._dispatch(method, params, call, outcome, validate)
        wrong = error_body(outcome.error) if isinstance(outcome.error, errors.InvalidParams) else b""
        if max(len(outcome.result.encode()), len(wrong)) > self._bounds.answer_bytes:
            outcome.error = errors.QueryFailed("answer", call.request_id)
        await self._add_to_audit(method, call, outcome)
        self._note_outcome(method, call, outcome, began)
        return outcome

    async def _handle_batch(self, requests: Sequence[Request | Malformed], call: Call) -> Answer:
        replies: list[bytes | None] = [None] * len(requests)
        places = iter(enumerate(requests))
        room = _Room(self._bounds.answer_bytes, self._bounds.batch_answer_bytes)
        begin_by = monotonic() + self._bounds.batch_seconds
        slots = self._slots.setdefault(call.token.agent, asyncio.Semaphore(self._bounds.concurrency))

        async def work(places: Iterator[tuple[int, Request | Malformed]]) -> None:
            for place, request in places:
                async with slots:
                    replies[place] = (await self._answer_element(request, call, room, begin_by)).body

        workers = min(self._bounds.concurrency, len(requests))
        await asyncio.gather(*(work(places) for _ in range(workers)))
        answered = [reply for reply in replies if reply is not None]
        return Answer(b"[" + b",".join(answered) + b"]" if answered else None)

    async def _refuse(self, error: errors.CstpError, call: Call, identifier: object = None) -> Answer:
        """Return the response to an invalid request, which costs a unit like a call."""
        began = perf_counter()
        error = await self.charge(call) or error
        self.note(UNKNOWN, call, error.code, began)
        return Answer(error_body(error, identifier), error)

    async def _answer_element(
        self, request: Request | Malformed, call: Call, room: _Room, begin_by: float = math.inf
    ) -> Answer:
        """Return the response to an element; no body for a notification.

        A response too large for `room` fails; once `room` is used up, or after `begin_by`, an element fails without
        being run.
        """
        began = perf_counter()
        if isinstance(request, Malformed):
            refused = await self._refuse(request.error, call, request.id)
            room.take_body(refused.body or b"")
            return refused
        no_room = room.left <= 0 and not request.notification
        missed = "batch" if monotonic() > begin_by else "answer" if no_room else None
        outcome = Outcome(error=errors.QueryFailed(missed, call.request_id) if missed else None)
        if not missed:
            await self._dispatch(request.method, request.params, call, outcome)
        body = b""
        if outcome.error is None:
            body = orjson.dumps({"jsonrpc": "2.0", "result": orjson.Fragment(outcome.result), "id": request.id})
        elif isinstance(outcome.error, errors.InvalidParams):  # the only possibly long error
            body = error_body(outcome.error, request.id)
        if not request.notification and not room.holds(body):
            outcome.error = errors.QueryFailed("answer", call.request_id)
        if request.notification:
            outcome.audit.records = ()  # nothing is returned
        await self._add_to_audit(request.method, call, outcome)
        self._note_outcome(request.method, call, outcome, began)
        if request.notification:
            return Answer(None)
        return Answer(room.take_body(error_body(outcome.error, request.id) if outcome.error else body), outcome.error)

    async def _dispatch(
        self, method: str, params: object, call: Call, outcome: Outcome, validate: Validate = parse_params
    ) -> None:
        guarded = self._guarded.get(method, self._unknown)
        await dispatch_request({method: guarded}, (call, outcome, validate), Element(method, [params], 0))

    def _guard(self, bound: AnyBound | None) -> Guarded:
        """Return the method in the form called by jsonrpcserver: with the params as a single value; it never raises.

        None stands for any unknown method name: it is charged like a call, too.
        """
        name = "" if bound is None else bound.method.name
        paths = None if bound is None else bound.method.paths

        async def run(context: tuple[Call, Outcome, Validate], sent: object, /) -> Result:
            call, outcome, validate = replace(context[0], method=name), context[1], context[2]
            try:
                weight = weigh(sent)
                compared = 0 if paths is None else weigh_paths(sent, paths, self._count_patterns)
                await self._limiter.charge(call.token.agent, name, weight.units + compared)
                outcome.audit.admitted = True

                def validate_and_run(model: type[Wire], given: object) -> Awaitable[Wire]:
                    return self.parser.run_sized(call.agent, weight.size, validate, model, given)

                result = await self._run(bound, sent, call, outcome.audit, validate_and_run)
                outcome.result = result.model_dump_json(by_alias=not outcome.snake_case)
                return Success()
            except errors.CstpError as error:
                outcome.error = error
            except ComponentBusy as error:
                _log.warning("component_busy", component=error.component, request_id=call.request_id)
                outcome.error = errors.Overloaded(_RETRY_SECONDS)
            except ComponentFailed as error:
                fields = {"component": error.component, "reason": str(error), "request_id": call.request_id}
                if isinstance(error, UnknownChange):
                    _log.warning("unknown_change", **fields)
                else:
                    _log.error("component_failed", **fields, exc_info=error)
                outcome.error = query_failed(error, call.request_id)
            except Exception as error:  # noqa: BLE001 - the one catch-all: unexpected errors stay inside
                _log.error("bug", method=name, request_id=call.request_id, exc_info=error)
                outcome.error = errors.InternalError(call.request_id)
            return Error(outcome.error.code, outcome.error.message)

        # jsonrpcserver asks for the signature in every call; a stored one need not be computed
        run.__signature__ = _Fitting(list(signature(run).parameters.values()))  # type: ignore[attr-defined]
        return run

    async def _run(
        self, bound: AnyBound | None, sent: object, call: Call, notes: AuditNotes, validate: _Validating
    ) -> Wire:
        if bound is None:
            raise errors.MethodNotFound
        method = bound.method
        if forbidden := self._forbid(method, call):
            raise forbidden
        params = await validate(method.params, sent)
        self._audit.note_query(method.name, params, notes)
        if isinstance(params, ReadParams) and params.min_seq is not None:
            await self._reached(params.min_seq, call.agent, searched=not method.from_records)
        result: Wire = await bound.handle(params, call)
        self._audit.note_result(method.name, result, notes)
        return result

    async def _add_to_audit(self, method: str, call: Call, outcome: Outcome) -> None:
        """Add the row of a call before it is answered; the call fails if the store does not accept it."""
        try:
            await self._audit.add(method, call, outcome.audit, outcome.error)
        except ComponentFailed as error:
            fields = {"component": error.component, "reason": str(error), "request_id": call.request_id}
            _log.error("not_audited", **fields)
            outcome.error = query_failed(error, call.request_id)

    def _note_outcome(self, method: str, call: Call, outcome: Outcome, began: float) -> None:
        name = method if method in self._guarded else UNKNOWN
        self.note(name, call, 0 if outcome.error is None else outcome.error.code, began)

    async def audit_part(self, method: str, call: Call, result: Wire) -> None:
        """Add a row for a part of a streamed answer. Raise ComponentFailed if the store accepts none."""
        await self._audit.add_answer(method, call, result)

    def note(self, method: str, call: Call, code: int, began: float) -> None:
        """Write a log line and count a call."""
        seconds = perf_counter() - began
        self._metrics.count(method, code, seconds)
        self._log_call(
            method=None if method == UNKNOWN else method,
            agent=call.token.agent,
            code=code,
            ms=round(seconds * 1000, 2),
            request_id=call.request_id,
        )


class _Fitting(Signature):
    """Signature for any arguments: always a context and the params, and binding them would take 7 us a call."""

    def bind(self, /, *args: Any, **kwargs: Any) -> BoundArguments:
        return BoundArguments(self, OrderedDict())
