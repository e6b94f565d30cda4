"""Methods about the server itself: the caller, the methods, and the audit."""

from cstp.contract import Method
from cstp.values.system import AuditParams, AuditResult, DiscoverParams, DiscoverResult, WhoamiParams, WhoamiResult

AUDIT = Method(
    name="cstp.audit",
    summary="List who has read or written which records, newest first, with filters.",
    params=AuditParams,
    result=AuditResult,
    scope="admin",
)


WHOAMI = Method(
    name="cstp.whoami",
    summary="Return the token's agent, scopes, clearance, projects and limits.",
    params=WhoamiParams,
    result=WhoamiResult,
    errors=(),
    scope=None,
    audited=False,
)


DISCOVER = Method(
    name="rpc.discover",
    summary="Describe every method: parameters, bounds, results, errors, examples, as an OpenRPC document.",
    params=DiscoverParams,
    result=DiscoverResult,
    errors=(),
    scope=None,
    audited=False,
)
