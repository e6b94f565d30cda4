"""Secrets in agents' writes: masked, refused or reported before anything is computed from their texts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

from cognition_engines.masking.masked_values import mask_values
from cognition_engines.masking.policy import FieldSecret, SecretPolicies, name_refusal, refusal
from cognition_engines.writing.requests import GivenRecord, PutRecords
from cstp.errors import InvalidParams, Violation

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class CheckedRequest(Generic[P]):
    """A request to carry out, and the secrets found in it."""

    request: P
    secrets: tuple[FieldSecret, ...] = ()


# Member names in a call that differ from the fields' names; "" is a field whose members stand outside.
_NAMES: Final[Mapping[tuple[type[Any], str], str]] = {
    (GivenRecord, "record"): "",
    (GivenRecord, "text"): "content",
}


def check_request(request: P, policies: SecretPolicies) -> CheckedRequest[P]:
    """Return a request without secrets, or with secrets if the policy only warns.

    Raise InvalidParams, naming the fields, if the policy refuses secrets or if a name has one: names of records,
    projects and calls cannot be masked. Records from files are never masked here, since the sender computed their ids
    and digests from their texts.
    """
    policy = policies.files if isinstance(request, PutRecords) else policies.agents
    if policy == "allow":
        return CheckedRequest(request)
    found = mask_values(request, _NAMES)
    secrets = found.by_field
    if not secrets:
        return CheckedRequest(request)
    if policy == "warn":
        return CheckedRequest(request, secrets)
    if policy == "refuse" or isinstance(request, PutRecords):
        raise InvalidParams(tuple(Violation(one.field, refusal(one.kind)) for one in secrets))
    if names := [one for one in secrets if one.is_name]:
        raise InvalidParams(tuple(Violation(one.field, name_refusal(one.kind)) for one in names))
    return CheckedRequest(found.value, tuple(replace(one, masked=True) for one in secrets))
