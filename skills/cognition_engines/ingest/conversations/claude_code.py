"""Sessions of Claude Code: JSONL, an entry a line, as they lie in `~/.claude/projects`."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from cognition_engines.ingest.conversations.blocks import block_words
from cognition_engines.ingest.conversations.export_file import ExportFile
from cognition_engines.ingest.conversations.left_out import SYSTEM, LeftOut
from cognition_engines.ingest.conversations.members import member, required, stated, text
from cognition_engines.ingest.conversations.turn_drafts import Message, Wrong, built, conversation_name, draft
from cognition_engines.ingest.items import Item, Warned
from cognition_engines.ingest.open_file import LONGEST_LINE, lines_of
from cognition_engines.ingest.parse.json_values import parse_json
from cognition_engines.ingest.parse.plain_values import MalformedText, Value
from cognition_engines.kinds.artifacts import Role
from cognition_engines.models import Problem

_ROLES: Final[Mapping[str, Role]] = {"user": "user", "assistant": "assistant", "system": "system"}
# Entries about a session that are not said in it; they may come first.
_ABOUT: Final = frozenset(
    {"summary", "file-history-snapshot", "queue-operation", "progress", "custom-title", "ai-title", "agent-name"}
    | {"last-prompt", "permission-mode", "mode", "attachment", "tag", "agent-color", "agent-setting", "pr-link"}
)
_LOOKED_AT: Final = 50  # lines
# What the program writes in the name of its user.
_COMMANDS: Final = ("<command-name>", "<command-message>", "<local-command-", "<bash-", "<system-reminder>")


def read(file: ExportFile) -> Iterator[Item] | None:
    """The messages of a session; None for any other file."""
    return _turns(file) if _is_session(file) else None


def _is_session(file: ExportFile) -> bool:
    """Whether one of the first entries is a message and all before it are about a session."""
    try:
        for _, line in islice(lines_of(file.file), _LOOKED_AT):
            entry = _entry(line or b"")
            if entry is None:
                continue
            if _is_message(entry):
                return True
            if text(entry, "type") not in _ABOUT or "kind" in entry:
                return False
        return False
    except MalformedText:
        return False
    finally:
        file.file.seek(0)


def _is_message(entry: dict[str, Value]) -> bool:
    given = {"uuid", "sessionId", "timestamp", "parentUuid"}
    return text(entry, "type") in _ROLES and entry.keys() >= given and "kind" not in entry


def _entry(line: bytes) -> dict[str, Value] | None:
    """The object of a line; None of a blank one. Raises MalformedText."""
    if not line.strip():
        return None
    try:
        value = parse_json(line.decode("utf-8-sig")).value
    except UnicodeDecodeError:
        raise MalformedText(1, "the encoding must be UTF-8") from None
    if not isinstance(value, dict):
        raise MalformedText(1, "an entry must be an object")
    return value


def _turns(file: ExportFile) -> Iterator[Item]:
    last: tuple[str | None, int] = None, 0
    for number, line in lines_of(file.file):
        if line is not None and _is_unfinished(line):
            reason = "the last line is not written to its end, and left for the next run"
            yield Warned(Problem(file.path, number, reason))
            continue
        for message in _of_line(line, file.left_out, last):
            if isinstance(message, Message):
                last = message.ts, message.place
            yield draft(file.path, message, number, number)


def _is_unfinished(line: bytes) -> bool:
    """Whether it is the last line of a session that is being written."""
    if line.endswith(b"\n"):
        return False
    try:
        _entry(line)
    except MalformedText:
        return True
    return False


def _of_line(line: bytes | None, left_out: LeftOut, last: tuple[str | None, int]) -> Iterator[Message | Wrong]:
    if line is None:
        return iter([Wrong(f"the line has more than {LONGEST_LINE // 2**20} MiB")])
    try:
        entry = _entry(line)
    except MalformedText as error:
        return iter([Wrong(error.reason)])
    if entry is None or text(entry, "type") not in _ROLES:
        return iter(())
    return built(lambda each: _message(each, left_out, last), [entry])


def _message(entry: dict[str, Value], left_out: LeftOut, last: tuple[str | None, int]) -> Message | None:
    """`last` is the time of the message before, and its place among those of that time."""
    id, session, ts = required(entry, "uuid"), required(entry, "sessionId"), required(entry, "timestamp")
    role = _ROLES[required(entry, "type")]
    given = member(entry, "content") if role == "system" else member(entry, "message", "content")
    words, hidden = block_words(given, with_tools=left_out.texts.system_messages)
    left_out.counts[SYSTEM] += hidden
    if left_out.skips(system=_is_system(entry, role, words)):
        return None
    if not words.strip():
        left_out.skips(blank=not hidden)
        return None
    agent = text(entry, "agentId")
    is_side = member(entry, "isSidechain") is True
    return Message(
        system="claude_code",
        ids=(session, id),
        conversation=conversation_name("claude_code", None, session),
        content=words,
        ts=ts,
        speaker="Claude" if role == "assistant" else None,
        role=role,
        session=f"agent-{agent}" if agent else "sidechain" if is_side else None,
        place=last[1] + 1 if ts == last[0] else 0,
        metadata=stated(
            sidechain=is_side,
            model=text(entry, "message", "model"),
            folder=text(entry, "cwd"),
            branch=text(entry, "gitBranch"),
            subtype=text(entry, "subtype"),
        ),
    )


def _is_system(entry: Mapping[str, Value], role: Role, words: str) -> bool:
    marked = any(entry.get(name) is True for name in ("isMeta", "isCompactSummary", "isApiErrorMessage"))
    return role == "system" or marked or words.lstrip().startswith(_COMMANDS)
