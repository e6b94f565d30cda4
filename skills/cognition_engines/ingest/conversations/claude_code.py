"""Sessions of Claude Code: JSONL, an entry a line, as they lie in `~/.claude/projects`."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Final

from cognition_engines.drafts.plain_values import RefusedValue, Unacceptable, Value
from cognition_engines.ingest.conversations.claude import block_words
from cognition_engines.ingest.conversations.export_file import REPEATED, SYSTEM, ExportFile, LeftOut
from cognition_engines.ingest.conversations.turn_drafts import (
    Message,
    built,
    conversation_name,
    draft,
    drop_empty,
    member,
    require_text,
    text,
)
from cognition_engines.ingest.items import Item, Warned, warned
from cognition_engines.ingest.structured.reader import parsed_lines
from cognition_engines.kinds.artifacts import Role

_ROLES: Final[Mapping[str, Role]] = {"user": "user", "assistant": "assistant", "system": "system"}
_LOOKED_AT: Final = 4 * 2**20  # bytes that contain a session's first message
_LEAST_COPIED: Final = 2  # messages with the words of the first messages; a single message may be repeated
# Texts written by the program in the user's name.
_COMMANDS: Final = ("<command-name>", "<command-message>", "<local-command-", "<bash-", "<system-reminder>")


def read(file: ExportFile) -> Iterator[Item] | None:
    """Return the messages of a session; None for any other file."""
    return _turns(file) if _is_session(file) else None


def _is_session(file: ExportFile) -> bool:
    """Return whether the first bytes have a message and all entries before it have a type of any name."""
    try:
        for candidate in parsed_lines(file.file):
            entry = candidate.value
            if isinstance(entry, dict) and _is_message(entry):
                return True
            untyped = not isinstance(entry, dict) or text(entry, "type") is None or "kind" in entry
            if untyped or file.file.tell() > _LOOKED_AT:
                return False
        return False
    finally:
        file.file.seek(0)


def _is_message(entry: dict[str, Value]) -> bool:
    given = {"uuid", "sessionId", "timestamp", "parentUuid"}
    return text(entry, "type") in _ROLES and entry.keys() >= given and "kind" not in entry


@dataclass(frozen=True, slots=True)
class _Held:
    """An entry possibly belonging to a copy; `spoken` is the digest of an entry with text."""

    number: int
    entry: dict[str, Value]
    spoken: str | None


class _History:
    """A file's messages so far. A compacted session may continue with a copy of the beginning.

    A second run of the first two messages, word for word, is such a copy.
    """

    def __init__(self, left_out: LeftOut) -> None:
        self._left_out = left_out
        self._spoken: list[str] = []
        self._seen: set[str] = set()
        self._at: int | None = None  # among the spoken entries, the next entry of a copy
        self._held: list[_Held] = []
        self._ids: defaultdict[str, dict[str, int]] = defaultdict(dict)

    def arrange(self, number: int, entry: dict[str, Value]) -> list[tuple[int, dict[str, Value]]]:
        """Return the entries to read now, in order; hold back `entry` as long as it may belong to a copy."""
        try:
            key, is_spoken = _digest(entry, None), bool(_plain(entry).strip())
        except Unacceptable:
            return [(number, entry)]  # and refused when it is read
        ready = []
        if self._spoken and is_spoken and entry.get("parentUuid") is None:
            ready = self.release()
            self._at = 0
        is_copy = self._at is not None and (self._next() == key if is_spoken else key in self._seen)
        self._seen.add(key)
        if is_copy:
            self._hold(_Held(number, entry, key if is_spoken else None))
            return ready
        if is_spoken or self._held:
            ready += self.release()
            self._at = None
        self._spoken += [key] if is_spoken else []
        return [*ready, (number, entry)]

    def release(self) -> list[tuple[int, dict[str, Value]]]:
        """Return the held entries that are not a copy."""
        held, self._held = self._held, []
        self._spoken += [each.spoken for each in held if each.spoken is not None]
        return [(each.number, each.entry) for each in held]

    def name(self, digest: str, id: str) -> tuple[str, ...]:
        """Return a message's identity: the digest, and the position among the file's messages with that digest."""
        ids = self._ids[digest]
        place = ids.setdefault(id, len(ids))
        return (digest, str(place)) if place else (digest,)

    def _hold(self, one: _Held) -> None:
        self._held.append(one)
        self._at = (self._at or 0) + (one.spoken is not None)
        if self._at >= _LEAST_COPIED:
            self._left_out.counts[REPEATED] += len(self._held)
            self._held.clear()

    def _next(self) -> str | None:
        return self._spoken[self._at] if self._at is not None and self._at < len(self._spoken) else None


def _find_content(entry: dict[str, Value]) -> Value:
    return member(entry, "content") if entry.get("type") == "system" else member(entry, "message", "content")


def _plain(entry: dict[str, Value]) -> str:
    """Return an entry's text, without tools and thoughts; "" for an entry written by the program."""
    words, _ = block_words(_find_content(entry), with_tools=False)
    return "" if _is_system(entry, words) else words


def _digest(entry: dict[str, Value], ts: str | None) -> str:
    """Return a digest of speaker, text, and time if it counts; ids of messages and thoughts differ in copies."""
    words, _ = block_words(_find_content(entry), with_tools=False)
    if not words.strip():
        words, _ = block_words(_find_content(entry), with_tools=True)
    who = [entry.get(name) for name in ("type", "agentId", "isSidechain", "subtype")]
    return sha256(json.dumps([*who, ts, words], default=str).encode()).hexdigest()[:32]


def _turns(file: ExportFile) -> Iterator[Item]:
    last: tuple[str | None, int] = None, 0
    history = _History(file.left_out)
    for number, found in _entries(file, history):
        if isinstance(found, Warned):
            yield found
            continue
        make = partial(_message, left_out=file.left_out, last=last, history=history)
        for message in iter([found]) if isinstance(found, Unacceptable) else built(make, [found]):
            if isinstance(message, Message):
                last = message.ts, message.place
            yield draft(file.path, message, number, number)


def _entries(file: ExportFile, history: _History) -> Iterator[tuple[int, dict[str, Value] | Unacceptable | Warned]]:
    """Yield the entries with messages, with their lines, and the faults of others."""
    for candidate in parsed_lines(file.file):
        number, entry = candidate.line, candidate.value
        if candidate.broken and candidate.text and not candidate.text.endswith("\n"):
            reason = "the last line is not written to its end, and left for the next run"
            yield number, warned(file.path, reason, number)
        elif isinstance(entry, RefusedValue):
            yield number, Unacceptable(entry.reason)
        elif not isinstance(entry, dict):
            yield number, Unacceptable("an entry must be an object")
        elif text(entry, "type") in _ROLES:
            yield from history.arrange(number, entry)
    yield from history.release()


def _message(
    entry: dict[str, Value], left_out: LeftOut, last: tuple[str | None, int], history: _History
) -> Message | None:
    """Return an entry's message; `last` is the previous message's time, and the number among messages at that time."""
    id, session, ts = (require_text(entry, name) for name in ("uuid", "sessionId", "timestamp"))
    role = _ROLES[require_text(entry, "type")]
    words, hidden = block_words(_find_content(entry), with_tools=left_out.texts.system_messages)
    left_out.counts[SYSTEM] += hidden
    if left_out.skips(system=_is_system(entry, words)):
        return None
    if not words.strip():
        left_out.skips(blank=not hidden)
        return None
    agent = text(entry, "agentId")
    is_side = member(entry, "isSidechain") is True
    return Message(
        system="claude_code",
        # not by the id: the file of a resumed session repeats earlier messages with other ids
        ids=history.name(_digest(entry, ts), id),
        conversation=conversation_name("claude_code", None, session),
        content=words,
        ts=ts,
        speaker="Claude" if role == "assistant" else None,
        role=role,
        session=f"agent-{agent}" if agent else "sidechain" if is_side else None,
        place=last[1] + 1 if ts == last[0] else 0,
        metadata=drop_empty(
            sidechain=is_side,
            model=text(entry, "message", "model"),
            folder=text(entry, "cwd"),
            branch=text(entry, "gitBranch"),
            subtype=text(entry, "subtype"),
        ),
    )


def _is_system(entry: Mapping[str, Value], words: str) -> bool:
    marked = any(entry.get(name) is True for name in ("isMeta", "isCompactSummary", "isApiErrorMessage"))
    return entry.get("type") == "system" or marked or words.lstrip().startswith(_COMMANDS)
