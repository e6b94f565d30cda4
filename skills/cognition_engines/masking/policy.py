"""The values around secrets: policies, findings, and the text in place of a secret."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

SecretPolicy: TypeAlias = Literal["refuse", "mask", "warn", "allow"]

MARK: Final = re.compile(r"\[masked: [a-z0-9]+(?:-[a-z0-9]+){0,6}\]")  # a mask of any kind
BARRIER: Final = "\x01"  # between texts scanned together; no secret spans it
AGENTS: Final[SecretPolicy] = "mask"  # the defaults
FILES: Final[SecretPolicy] = "warn"


@dataclass(frozen=True, slots=True)
class SecretPolicies:
    """Policies for agents' writes and for records in files."""

    agents: SecretPolicy = AGENTS
    files: SecretPolicy = FILES


POLICIES: Final = SecretPolicies()


@dataclass(frozen=True, slots=True)
class TextSecret:
    """A secret in a text: position in characters, and kind, such as aws-access-key."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class FieldSecret:
    """A secret in a record: field path, kind, and whether it was masked.

    `is_name` marks a field that identifies a record or a group: a mask would name a different record.
    """

    field: str
    kind: str
    is_name: bool = False
    masked: bool = False


def mask_of(kind: str) -> str:
    """Return the mask for a secret's kind."""
    return f"[masked: {kind}]"


def with_masks(text: str, secrets: Sequence[TextSecret]) -> str:
    """Return a text with masks in place of secrets, which are in order and do not overlap."""
    done = 0
    parts: list[str] = []
    for secret in secrets:
        parts += (text[done : secret.start], mask_of(secret.kind))
        done = secret.end
    return "".join((*parts, text[done:]))


def refusal(kind: str) -> str:
    """Return the reason for refusing a text: the kind, never the secret."""
    return f"must not contain a secret ({kind})"


def name_refusal(kind: str) -> str:
    """Return the reason for refusing a name: a mask would make it a different name."""
    return f"must not contain a secret ({kind}); a name cannot be masked"
