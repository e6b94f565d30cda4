"""The values around secrets: policies, findings, and the text that replaces a secret."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

SecretPolicy: TypeAlias = Literal["refuse", "mask", "warn", "allow"]

MARK: Final = re.compile(r"\[masked: [a-z0-9]+(?:-[a-z0-9]+){0,6}\]")  # a mask of any kind
BARRIER: Final = "\x01"  # between texts that are scanned as one; no secret reaches over it
AGENTS: Final[SecretPolicy] = "mask"  # the defaults
FILES: Final[SecretPolicy] = "warn"


@dataclass(frozen=True, slots=True)
class SecretPolicies:
    """The policies for writes of agents and for records of files."""

    agents: SecretPolicy = AGENTS
    files: SecretPolicy = FILES


POLICIES: Final = SecretPolicies()


@dataclass(frozen=True, slots=True)
class TextSecret:
    """A secret in a text: its position in characters, and its kind, such as aws-access-key."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class FieldSecret:
    """A secret in a record: the path of its field, its kind, and whether it was masked.

    `is_name` marks a field that identifies a record or a group of records, where a mask would name another one.
    """

    field: str
    kind: str
    is_name: bool = False
    masked: bool = False


def mask_of(kind: str) -> str:
    """Return the text that replaces a secret of a kind."""
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
    """Return the reason why a text is refused: its kind, never the secret."""
    return f"must not contain a secret ({kind})"


def name_refusal(kind: str) -> str:
    """Return the reason why a name is refused that would be another one if it were masked."""
    return f"must not contain a secret ({kind}); a name cannot be masked"
