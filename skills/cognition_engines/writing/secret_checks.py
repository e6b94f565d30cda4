"""Secrets in the requests of agents: masked, refused or reported before anything is computed from their texts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic

from cognition_engines.masking.masked_values import mask_values
from cognition_engines.masking.policy import FieldSecret, SecretPolicies, name_refusal, refusal
from cognition_engines.models import Decision, DecisionDetails
from cognition_engines.writing.requests import (
    A,
    GivenRecord,
    LinkDecisions,
    PutRecords,
    RecordDecision,
    Request,
    ReviewDecision,
    UpdateDecision,
    WritesRefused,
)
from cognition_engines.writing.stated_decisions import stated_decision, stated_members


@dataclass(frozen=True, slots=True)
class CheckedRequest(Generic[A]):
    """A request as it may be carried out, and the secrets that were found in it."""

    request: Request[A]
    secrets: tuple[FieldSecret, ...] = ()


@dataclass(frozen=True, slots=True)
class _Call:
    """All texts of a call: the request, and the key under which its answer is kept."""

    request: Request[Any]
    idempotency_key: str | None


# The names of members in a call, if they differ from those of the fields; "" is a field whose members stand outside.
_NAMES: Final[Mapping[tuple[type[Any], str], str]] = {
    (_Call, "request"): "",
    (RecordDecision, "stated"): "",
    (UpdateDecision, "stated"): "updates",
    (Decision, "details"): "",
    (DecisionDetails, "statement"): "decision",
    (ReviewDecision, "content"): "",
    (GivenRecord, "record"): "",
    (GivenRecord, "text"): "content",
    (LinkDecisions, "type"): "edgeType",
}


def check_request(request: Request[A], key: str | None, policies: SecretPolicies) -> CheckedRequest[A]:
    """Return a request without secrets, or with secrets if the policy only warns of them.

    Raise WritesRefused, naming the fields, if the policy refuses secrets or if a name has one: names of records,
    projects and calls cannot be masked. Records of files are never masked here, since their ids and digests were
    computed from their texts by the sender.
    """
    policy = policies.files if isinstance(request, PutRecords) else policies.agents
    if policy == "allow":
        return CheckedRequest(request)
    found = mask_values(_Call(_without_derived(request), key), _NAMES)
    if not found.secrets:
        return CheckedRequest(request)
    if policy == "warn":
        return CheckedRequest(request, found.by_field)
    if policy == "refuse" or isinstance(request, PutRecords):
        raise WritesRefused([(one.field, refusal(one.kind)) for one in found.by_field])
    if names := [one for one in found.by_field if one.is_name]:
        raise WritesRefused([(one.field, name_refusal(one.kind)) for one in names])
    masked = _with_derived(found.value.request)
    return CheckedRequest(masked, tuple(replace(one, masked=True) for one in found.by_field))


def _without_derived(request: Request[A]) -> Request[A]:
    """Return a request without the title and text of a decision, which are made of its other members."""
    if isinstance(request, RecordDecision | UpdateDecision):
        return replace(request, stated=replace(request.stated, title="", text=""))  # type: ignore[return-value]
    return request


def _with_derived(request: Request[A]) -> Request[A]:
    if isinstance(request, RecordDecision | UpdateDecision):
        return replace(request, stated=stated_decision(**stated_members(request.stated)))  # type: ignore[return-value]
    return request
