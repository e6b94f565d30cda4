"""Access to members of export objects, and conversion of messages to checked turns."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from re import compile as compiled
from typing import Final, TypeVar

from cognition_engines.drafts.plain_values import Unacceptable, Value, safe_name
from cognition_engines.ingest.items import Item, RecordDraft, rejected
from cognition_engines.ingest.parse.json_values import BrokenJson
from cognition_engines.ingest.structured.records import read_other
from cognition_engines.kinds.artifacts import Role
from cognition_engines.kinds.fields import PRINTABLE
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity

T = TypeVar("T")
_LONGEST_ID: Final = 190
_DEEPEST: Final = 20  # nested values with words
_IS_PRINTABLE: Final = compiled(PRINTABLE)


def member(value: Value, *names: str) -> Value:
    """Return the value at nested names, outermost first; None if absent."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text(value: Value, *names: str) -> str | None:
    """Return `member` if it is a text and not blank."""
    found = member(value, *names)
    return found if isinstance(found, str) and found.strip() else None


def number_text(value: Value, *names: str) -> str | None:
    """Do as `text`; return a whole number as digits."""
    found = member(value, *names)
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else text(value, *names)


def objects(value: Value, *names: str) -> list[dict[str, Value]]:
    """Return the objects of a list."""
    found = member(value, *names)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def texts(value: Value, *names: str) -> list[str]:
    """Return the texts of a list."""
    found = member(value, *names)
    return [each for each in found if isinstance(each, str) and each.strip()] if isinstance(found, list) else []


def require_text(value: Value, *names: str) -> str:
    """Do as `number_text`. Raise `Unacceptable` without a text or number."""
    found = number_text(value, *names)
    if found is None:
        raise Unacceptable(f"{'.'.join(names)} must be text")
    return found


def content_text(value: Value, name: str) -> str:
    """Return a text, possibly blank or absent. Raise `Unacceptable` for anything else."""
    found = member(value, name)
    if found is not None and not isinstance(found, str):
        raise Unacceptable(f"{name} must be text")
    return found or ""


def drop_empty(**members: Value) -> dict[str, Value]:
    """Return the members without empty values."""
    return {name: value for name, value in members.items() if value not in (None, False, "", [], {})}


def words_in(
    value: Value, names: Sequence[str], inline: Callable[[Value], str] = lambda _: "", depth: int = _DEEPEST
) -> list[str]:
    """Return the texts at the members `names`, through lists and objects; the `inline` words in a list are a line."""
    if isinstance(value, str):
        return [value.strip("\n")] if value.strip() else []
    if isinstance(value, list) and (line := "".join(map(inline, value))):
        return words_in(line, names)
    held = value if isinstance(value, list) else map(value.get, names) if isinstance(value, dict) else ()
    return [words for each in held if depth for words in words_in(each, names, inline, depth - 1)]


def listed_texts(found: Iterable[str | None]) -> list[Value]:
    return [each for each in found if each]


def branch(parents: Mapping[str, str | None], leaf: str) -> list[str]:
    """Return the ids from the root to `leaf`. `parents` gives the parent of each id; it lacks the root's parent."""
    found: dict[str, None] = {}
    current: str | None = leaf
    while current is not None and current in parents and current not in found:
        found[current] = None
        current = parents[current]
    return list(found)[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An unchecked message.

    `ids` are the system's ids, from the outermost container to the message. `place` orders messages of the same `index`
    and time. `guard` is the sensitivity if no option sets it. `local` says that messages in another folder may have the
    same ids.
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


def built(build: Callable[[T], Message | None], values: Iterable[T]) -> Iterator[Message | Unacceptable]:
    """Yield the message made by `build` from each value, or the raised `Unacceptable`; None is left out."""
    for value in values:
        try:
            message = build(value)
        except Unacceptable as error:
            yield error
        else:
            if message is not None:
                yield message


def one_each(build: Callable[[Value], Message | None]) -> Callable[[Value], Iterator[Message | Unacceptable]]:
    """Return a function making at most one message of each item: see `built`. An item must be an object."""

    def build_checked(item: Value) -> Message | None:
        if not isinstance(item, dict):
            raise Unacceptable("a message must be an object")
        return build(item)

    return lambda item: built(build_checked, [item])


def drafts(
    path: str, items: Iterator[Value], messages: Callable[[Value], Iterator[Message | Unacceptable]]
) -> Iterator[Item]:
    """Yield a file's turns item by item; an invalid turn is rejected, with the number in the file."""
    number = 0
    try:
        for number, item in enumerate(items, 1):
            for message in messages(item):
                yield draft(path, message, number)
    except BrokenJson as error:
        yield rejected(path, f"after item {number}: {error}; what follows is not read")


def draft(path: str, message: Message | Unacceptable, number: int, line: int | None = None) -> Item:
    """Return the checked turn, or the refusal. `number` is the position in the file, from 1; `line` a text's line."""
    where = f"item {number}: " if line is None else ""
    if isinstance(message, Unacceptable):
        return rejected(path, f"{where}{message}", line)
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
        which = safe_name(message.ids[-1].replace(".", "-"), "a message")
        return rejected(path, f"{where}{which}: {error}", line)
    export = None if message.local else message.system
    return RecordDraft(record, message.place, line or number, export=export, guard=message.guard)


def identifier(system: str, *ids: str) -> str:
    """Return a message's id, made of the system's ids; a digest if these are invalid or too long."""
    made = "-".join((system, *ids))
    if len(made) <= _LONGEST_ID and _IS_PRINTABLE.fullmatch(made):
        return made
    return f"{system}-{sha256(json.dumps(ids).encode()).hexdigest()[:32]}"


def conversation_name(system: str, name: str | None, id: str) -> str:
    """Make the name of a conversation, readable and unique: `slack:general-C024BE91L`."""
    shown = f"{name}-{id}" if name else id
    made = f"{system}:{shown}"
    return made if len(made) <= _LONGEST_ID else f"{system}:{sha256(json.dumps(shown).encode()).hexdigest()[:32]}"
