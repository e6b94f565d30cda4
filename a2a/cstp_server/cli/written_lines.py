"""The line that a write prints for people, and what they should know besides."""

from collections.abc import Iterator

from cstp.contract import Wire
from cstp.methods.decision_records import RecordDecisionResult, ReviewDecisionResult
from cstp.methods.memories import RememberResult
from cstp.methods.records import ForgetResult


def written_line(result: Wire, *, dry_run: bool) -> str | None:
    """Return what was done with the record, in one line; None for a result that is shown whole."""
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
            return f"{'would forget' if dry_run else 'forgot'} {result.id} ({', '.join(_forgotten(result))})"
        case _:
            return None


def _forgotten(result: ForgetResult) -> Iterator[str]:
    """Yield the kind of the record, and how many of each kind go with it."""
    yield str(result.kind)
    for name, count in result.cascade.model_dump().items():
        if count:
            yield f"{count:,} {name.replace('_', ' ')}"


def warnings_of(result: Wire) -> Iterator[str]:
    """Yield what the caller should know though the record was written."""
    match result:
        case RecordDecisionResult():
            yield from (f"warning: {warning.message}" for warning in result.warnings)
            yield from (f"similar: {near.id} {near.title}" for near in result.possible_duplicates)
        case ForgetResult(receipt=receipt) if receipt is not None:
            yield from (f"{pending.part}: {pending.reason}" for pending in receipt.pending)
        case _:
            return
