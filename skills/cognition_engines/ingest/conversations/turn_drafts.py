"""A message of an export to a checked turn."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from re import compile as compiled
from typing import Final, TypeVar

from cognition_engines.drafts.plain_values import Unacceptable, Value, named
from cognition_engines.ingest.conversations.json_stream import BrokenJson
from cognition_engines.ingest.items import Item, RecordDraft, RejectedRecord
from cognition_engines.ingest.structured.records import read_other
from cognition_engines.kinds.artifacts import Role
from cognition_engines.kinds.fields import PRINTABLE
from cognition_engines.kinds.kind import Kind
from cognition_engines.models import Problem, Sensitivity

T = TypeVar("T")
_LONGEST_ID: Final = 190
_IS_PRINTABLE: Final = compiled(PRINTABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message, not yet checked.

    `ids` are those that the system gives: what they are within, and last the message's. `place` orders messages of the
    same `index` and time. `guard` is its sensitivity where no option gives one. `local` says that its ids may be those
    of other messages in another folder.
    """

    system: str
    ids: tuple[str, ...]
    conversation: str
    content: str
    ts: str | None
    speaker: str | None = None
    role: Role | None = None
    session: str | None = None
    index: int | None = None
    place: int = 0
    mentions: tuple[str, ...] = ()
    metadata: Mapping[str, Value] = field(default_factory=dict)
    guard: Sensitivity | None = None
    local: bool = False


@dataclass(frozen=True, slots=True)
class Wrong:
    """A message that is refused."""

    reason: str


def built(build: Callable[[T], Message | None], values: Iterable[T]) -> Iterator[Message | Wrong]:
    """What `build` makes of each value; it gives None for one that is left out and raises `Unacceptable`."""
    for value in values:
        try:
            message = build(value)
        except Unacceptable as error:
            yield Wrong(str(error))
        else:
            if message is not None:
                yield message


def drafts(
    path: str,
    items: Iterator[Value],
    messages: Callable[[Value], Iterator[Message | Wrong]],
) -> Iterator[Item]:
    """The turns of what a file holds item by item; one that is wrong is refused, with its number in the file."""
    number = 0
    try:
        for number, item in enumerate(items, 1):
            for message in messages(item):
                yield draft(path, message, number)
    except BrokenJson as error:
        yield RejectedRecord(Problem(path, None, f"after item {number}: {error}; what follows is not read"))


def draft(path: str, message: Message | Wrong, number: int, line: int | None = None) -> Item:
    """The checked turn, or its refusal. `number` is its position in the file, from 1; `line` that of a text."""
    where = f"item {number}: " if line is None else ""
    if isinstance(message, Wrong):
        return RejectedRecord(Problem(path, line, f"{where}{message.reason}"))
    members: dict[str, Value] = {
        "id": identifier(message.system, *message.ids),
        "conversation_id": message.conversation,
        "content": message.content,
        "turn_index": message.index,
        "role": message.role,
        "speaker": message.speaker,
        "ts": message.ts,
        "session": message.session,
        "source_system": message.system,
        "mentions": list(message.mentions),
        "metadata": dict(message.metadata),
    }
    try:
        record = read_other(Kind.TURN, members, named_kind=True).record
    except Unacceptable as error:
        which = named(message.ids[-1].replace(".", "-"), "a message")
        return RejectedRecord(Problem(path, line, f"{where}{which}: {error}"))
    export = None if message.local else message.system
    return RecordDraft(record, message.place, line or number, export=export, guard=message.guard)


def identifier(system: str, *ids: str) -> str:
    """The id of a message, made of the system's; a digest where those are no id or too long."""
    made = "-".join((system, *ids))
    if len(made) <= _LONGEST_ID and _IS_PRINTABLE.fullmatch(made):
        return made
    return f"{system}-{sha256(json.dumps(ids).encode()).hexdigest()[:32]}"


def conversation_name(system: str, name: str | None, id: str) -> str:
    """`slack:general-C024BE91L`: what people call it, and what makes it unique."""
    shown = f"{name}-{id}" if name else id
    made = f"{system}:{shown}"
    return made if len(made) <= _LONGEST_ID else f"{system}:{sha256(json.dumps(shown).encode()).hexdigest()[:32]}"


def instant(found: datetime | None) -> str | None:
    return None if found is None else found.isoformat()
