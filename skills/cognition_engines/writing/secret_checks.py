"""Secrets in the writes of agents: masked, refused or reported before anything is computed from their texts."""

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
    """A request as it may be carried out, and the secrets that were found in it."""

    request: P
    secrets: tuple[FieldSecret, ...] = ()


# The names of members in a call, if they differ from those of the fields; "" is a field whose members stand outside.
_NAMES: Final[Mapping[tuple[type[Any], str], str]] = {
    (GivenRecord, "record"): "",
    (GivenRecord, "text"): "content",
}


def check_request(request: P, policies: SecretPolicies) -> CheckedRequest[P]:
    """Return a request without secrets, or with secrets if the policy only warns of them.

    Raise InvalidParams, naming the fields, if the policy refuses secrets or if a name has one: names of records,
    projects and calls cannot be masked. Records of files are never masked here, since their ids and digests were
    computed from their texts by the sender.
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
