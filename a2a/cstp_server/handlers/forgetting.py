"""The method by which records are forgotten: from the wire's values to a request, and back."""

from dataclasses import asdict
from typing import Any

from cognition_engines.engine import Engine
from cognition_engines.kinds.kind import KINDS
from cognition_engines.writing.erasing import ErasureReceipt, Forget
from cstp.methods.records import (
    FORGET,
    ForgetCascade,
    ForgetParams,
    ForgetPending,
    ForgetReceipt,
    ForgetRemaining,
    ForgetResult,
)
from cstp_server.handlers.writing import refusals, writer_of
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def forgetting_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the method that forgets, bound to an engine."""
    return (BoundMethod(FORGET, _forgetting(engine)),)


def _forgetting(engine: Engine) -> Any:
    async def forget(params: ForgetParams, call: Call) -> ForgetResult:
        kind = None if params.kind is None else KINDS[params.kind]
        request = Forget(id=params.id, kind=kind, reason=params.reason)
        with refusals():
            writer = writer_of(call, params)
            done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
        return ForgetResult(
            id=done.id,
            indexed=done.indexed,
            seq=done.seq,
            deleted=not params.dry_run,
            kind=done.kind,
            cascade=ForgetCascade(**asdict(done.cascade)),
            receipt=None if done.receipt is None else _receipt(done.receipt),
        )

    return forget


def _receipt(found: ErasureReceipt) -> ForgetReceipt:
    return ForgetReceipt(
        seq=found.seq,
        verified_at=found.verified_at,
        remaining=ForgetRemaining(records=found.records, keywords=found.keywords, vectors=found.vectors),
        pending=[ForgetPending(part=one.part, reason=one.reason) for one in found.pending],
    )
