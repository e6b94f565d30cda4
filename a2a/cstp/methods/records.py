"""Methods over all records: changes, whole-record writes, and erasure."""

from cstp.contract import Method, ToolText
from cstp.errors import Conflict, NotFound, Overloaded, QueryFailed
from cstp.values.records import (
    ChangesParams,
    ChangesResult,
    ForgetParams,
    ForgetResult,
    PutRecordsParams,
    PutRecordsResult,
)

CHANGES = Method(
    name="cstp.changes",
    summary="Follow changes of the records visible to the caller.",
    params=ChangesParams,
    result=ChangesResult,
    errors=(QueryFailed, Conflict, Overloaded),
    tool=ToolText(
        title="Follow what changes",
        description=(
            "Use to learn what others recorded meanwhile: kinds and ids since a cursor, oldest first; put is new or "
            'changed, delete gone or hidden. Begin with since "now", or 0 for everything; go on with the last cursor. '
            "wait_ms waits for a change."
        ),
    ),
)


FORGET = Method(
    name="cstp.forget",
    summary="Forget a record with all derived records, permanently.",
    params=ForgetParams,
    result=ForgetResult,
    errors=(QueryFailed, NotFound, Conflict),
    scope="write",
    other_scopes=("admin",),
    cost=3,
    tool=ToolText(
        title="Forget a record",
        description=(
            "Use only when a person asked to delete a record for good, with all that came of it; nothing brings it "
            "back. Call first with dry_run true, where cascade says what goes along, then with confirm true. For a "
            "decision that no longer holds, record a new one with supersedes."
        ),
        adds=False,
        repeatable=True,
    ),
)


PUT_RECORDS = Method(
    name="cstp.putRecords",
    summary="Put records of files read elsewhere, all in a call or none.",
    params=PutRecordsParams,
    result=PutRecordsResult,
    errors=(QueryFailed, Conflict),
    scope="admin",
    cost=3,
    stores=True,
)
