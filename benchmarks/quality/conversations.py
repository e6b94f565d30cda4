"""Conversations with questions whose evidence is known turns. Each conversation is a project, as a token may see it.

They come from `turns.jsonl` and `questions.jsonl`, or are chats with long messages in the shape of BEAM. The repository
`mohammadtavakoli78/BEAM` has no licence, so the folder is one that the user names, such as `chats/100K`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.quality.measures import Grades
from benchmarks.texts import UnknownShape, read_objects, write_records

SESSION: Final = re.compile(r":[0-9]+\Z")  # the end of a turn's id, after the id of its session
UNANSWERABLE: Final = 5  # the category of questions that no turn answers
_MARK: Final = re.compile(r"\s*->->\s*[\d,\s]*\Z")  # the number of the question in the plan, at the end of a message
_ANCHOR: Final = "%B-%d-%Y"


@dataclass(frozen=True, slots=True)
class Said:
    """One turn, as a file of records has it."""

    kind: str
    id: str
    project: str
    conversation_id: str
    session: str
    turn_index: int
    speaker: str
    content: str
    ts: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one conversation, and the ids of the turns that answer it."""

    id: str
    conversation: str
    query: str
    evidence: Grades


@dataclass(frozen=True, slots=True)
class Conversations:
    """All turns, and the questions that name at least one of them."""

    turns: Sequence[Said]
    questions: Sequence[Question]


def read_asked(folder: Path) -> Conversations:
    """Read `turns.jsonl` and `questions.jsonl` of one object a line. Questions without an answer are left out."""
    turns = [_said(entry) for entry in read_objects(folder / "turns.jsonl")]
    known = {turn.id for turn in turns}
    questions = []
    for entry in read_objects(folder / "questions.jsonl"):
        evidence = {id: 1 for each in entry["evidence"] if (id := _id(entry["conversation_id"], each)) in known}
        if evidence and entry["category"] != UNANSWERABLE:
            questions.append(Question(entry["qid"], entry["conversation_id"], entry["question"], evidence))
    return Conversations(turns, questions)


def read_unanswerable(folder: Path) -> list[Question]:
    """Return the questions of `questions.jsonl` that no turn of their conversation answers."""
    entries = read_objects(folder / "questions.jsonl")
    return [
        Question(entry["qid"], entry["conversation_id"], entry["question"], {})
        for entry in entries
        if entry["category"] == UNANSWERABLE
    ]


def write_turns(turns: Sequence[Said], path: Path) -> None:
    write_records(map(asdict, turns), path)


def _id(name: str, turn: str) -> str:
    return f"{name}-{turn}"


def _said(entry: dict[str, Any]) -> Said:
    name, caption = entry["conversation_id"], entry["blip_caption"]
    content = f"{entry['content']} [shares {caption}]" if caption else entry["content"]
    content = content.strip() or entry["speaker"]
    id, session = _id(name, entry["dia_id"]), str(entry["session"])
    return Said("turn", id, name, name, session, entry["turn_index"], entry["speaker"], content, entry["ts"])


def read_beam(folder: Path) -> Conversations:
    """Return the messages and questions of every chat of `folder`.

    Raises UnknownShape if no chat has a question with evidence, or if a file has another shape.
    """
    turns: list[Said] = []
    questions: list[Question] = []
    for path in sorted(folder.glob("*/chat.json"), key=lambda path: path.parent.name.zfill(8)):
        name = f"chat-{path.parent.name}"
        try:
            said = list(_read_messages(name, json.loads(path.read_bytes())))
            asked = json.loads((path.parent / "probing_questions" / "probing_questions.json").read_bytes())
            questions += _read_questions(name, asked, {turn.id for turn in said})
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnknownShape(f"{path.parent}: must be a chat as BEAM has them ({error!r})") from error
        turns += said
    if not questions:
        raise UnknownShape(f"{folder}: no chat has questions whose evidence is in its messages")
    return Conversations(turns, questions)


def _read_messages(name: str, batches: list[dict[str, Any]]) -> Iterator[Said]:
    place = 0
    for batch in batches:
        began: datetime | None = None
        for message in (message for group in batch["turns"] for message in group):
            anchor = message.get("time_anchor")
            began = datetime.strptime(anchor, _ANCHOR) if anchor else began
            ts = None if began is None else (began + timedelta(seconds=place)).isoformat()
            content = _MARK.sub("", message["content"]).strip() or message["role"]
            id, session = f"{name}:{message['id']}", str(batch["batch_number"])
            yield Said("turn", id, name, name, session, place, message["role"], content, ts)
            place += 1


def _read_questions(name: str, asked: dict[str, list[dict[str, Any]]], known: set[str]) -> Iterator[Question]:
    for kind, entries in asked.items():
        for number, entry in enumerate(entries):
            named = {f"{name}:{id}" for id in _ids_in(entry.get("source_chat_ids", ()))}
            if evidence := {id: 1 for id in named if id in known}:
                yield Question(f"{name}/{kind}/{number}", name, entry["question"], evidence)


def _ids_in(named: Any) -> Iterator[int]:
    """Yield the numbers in lists and members of any depth."""
    if isinstance(named, int):
        yield named
    elif isinstance(named, dict | list):
        for each in named.values() if isinstance(named, dict) else named:
            yield from _ids_in(each)
