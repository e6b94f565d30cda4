"""Tables of the paths of message fields in export items, and the reader of such items."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from cognition_engines.drafts.plain_values import Value
from cognition_engines.ingest.conversations.export_file import LeftOut
from cognition_engines.ingest.conversations.turn_drafts import (
    Message,
    conversation_name,
    drop_empty,
    member,
    objects,
    require_text,
    text,
)
from cognition_engines.kinds.artifacts import Role
from cognition_engines.models import Sensitivity

# nested member names, outermost first, joined by dots; or a function of the item
Place: TypeAlias = str | Callable[[Value], Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation of an export; each message has the conversation's `metadata`.

    Messages of a private conversation are sensitive if no option sets a level. With `local`, conversations in other
    folders may have the same id.
    """

    id: str
    name: str | None = None
    is_private: bool = False
    local: bool = False
    metadata: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFields:
    """Paths of message fields in an item; `id` and `ts` are required.

    `words` returns None if it has counted a message without words; the names of `files` replace absent words. The first
    text of `speaker` counts. `event` marks a system message. `reactions` is the path of a reaction's name in its
    object. `order` sorts messages of the same time by their ids.
    """

    system: str
    id: str
    ts: str | Callable[[Value], str | None]
    words: Callable[[Value], str | None]
    speaker: Sequence[Place]
    role: Callable[[Value], Role | None] = lambda _: None
    bot: Callable[[Value], bool] = lambda _: False
    event: Callable[[Value], bool] = lambda _: False
    session: str | None = None
    files: Callable[[Value], Sequence[str]] = lambda _: ()
    mentions: Callable[[Value], Sequence[str]] = lambda _: ()
    metadata: Mapping[str, Place] = field(default_factory=dict)
    reactions: str | None = None
    order: Callable[[str], int] = lambda _: 0


def read_message(
    fields: MessageFields, conversation: Conversation, left_out: LeftOut, item: Value, index: int | None = None
) -> Message | None:
    """Return the message of an item; None if it is left out, which is counted. Raise `Unacceptable`."""
    id, role, event, words = require_text(item, fields.id), fields.role(item), fields.event(item), fields.words(item)
    files = fields.files(item)
    content = words if words and words.strip() else "".join(f"[{name}]" for name in files)
    if words is None and not content:
        return None
    if left_out.skips(bot=fields.bot(item), system=event, blank=not content.strip()):
        return None
    return Message(
        system=fields.system,
        ids=(conversation.id, id),
        conversation=conversation_name(fields.system, conversation.name, conversation.id),
        content=content,
        ts=require_text(item, fields.ts) if isinstance(fields.ts, str) else fields.ts(item),
        speaker=next((found for place in fields.speaker if (found := _text_at(item, place))), None),
        role="system" if event and role is None else role,
        session=None if fields.session is None else text(item, fields.session),
        index=index,
        place=fields.order(id),
        mentions=tuple(fields.mentions(item)),
        metadata=drop_empty(**conversation.metadata, **_metadata(fields, item, files)),
        guard=Sensitivity.SENSITIVE if conversation.is_private else None,
        local=conversation.local,
    )


def texts_in(place: str, *names: str) -> Callable[[Value], list[str]]:
    """Return a function from an item to the first text under the names, for each object in the list at a path."""
    path = place.split(".")

    def find_texts(item: Value) -> list[str]:
        found = (filter(None, (text(each, name) for name in names)) for each in objects(item, *path))
        return [first for each in found if (first := next(each, None)) is not None]

    return find_texts


def _value_at(item: Value, place: Place) -> Value:
    return text(item, *place.split(".")) if isinstance(place, str) else place(item)


def _text_at(item: Value, place: Place) -> str | None:
    found = _value_at(item, place)
    return found if isinstance(found, str) else None


def _metadata(fields: MessageFields, item: Value, files: Sequence[str]) -> dict[str, Value]:
    found = {name: _value_at(item, place) for name, place in fields.metadata.items()}
    if files:
        found["files"] = list(files)
    if fields.reactions is not None:
        path, listed = fields.reactions.split("."), objects(item, "reactions")
        found["reactions"] = {name: member(each, "count") for each in listed if (name := text(each, *path)) is not None}
    return found
