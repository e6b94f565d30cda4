"""The method by which records are forgotten: from the wire's values to a request, and back."""

from typing import Any

from cognition_engines.engine import Engine
from cognition_engines.kinds.kind import KINDS
from cognition_engines.writing.requests import ErasureReceipt, Forget
from cstp.methods.records import (
    FORGET,
    ForgetParams,
    ForgetPending,
    ForgetReceipt,
    ForgetRemaining,
    ForgetResult,
)
from cstp_server.handlers.writing import result_of, write
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def forgetting_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the method that forgets, bound to an engine."""
    return (BoundMethod(FORGET, _forgetting(engine)),)


def _forgetting(engine: Engine) -> Any:
    async def forget(params: ForgetParams, call: Call) -> ForgetResult:
        kind = None if params.kind is None else KINDS[params.kind]
        request = Forget(id=params.id, kind=kind, reason=params.reason)
        done = await write(engine, call, params, request, dry_run=params.dry_run)
        receipt = None if done.receipt is None else _receipt(done.receipt)
        return result_of(ForgetResult, done, deleted=not params.dry_run, receipt=receipt)

    return forget


def _receipt(found: ErasureReceipt) -> ForgetReceipt:
    return ForgetReceipt(
        seq=found.seq,
        verified_at=found.verified_at,
        remaining=ForgetRemaining(records=found.records, keywords=found.keywords, vectors=found.vectors),
        pending=[ForgetPending(part=one.part, reason=one.reason) for one in found.pending],
    )
