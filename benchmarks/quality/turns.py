"""Conversations with questions whose evidence is known turns. Each conversation is a project, as a token may see it."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.quality.beir import UnknownShape
from benchmarks.quality.measures import Grades
from benchmarks.texts import write_records

SESSION: Final = re.compile(r":[0-9]+\Z")  # what a turn's id has in addition to that of its session
UNANSWERABLE: Final = 5  # the category of questions that no turn answers


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
    """What is asked of one conversation, and the ids of the turns that answer it."""

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
    """Reads `turns.jsonl` and `questions.jsonl` of one object a line. Questions without an answer are left out."""
    turns = [_said(entry) for entry in _objects(folder / "turns.jsonl")]
    known = {turn.id for turn in turns}
    questions = []
    for entry in _objects(folder / "questions.jsonl"):
        evidence = {id: 1 for each in entry["evidence"] if (id := _id(entry["conversation_id"], each)) in known}
        if evidence and entry["category"] != UNANSWERABLE:
            questions.append(Question(entry["qid"], entry["conversation_id"], entry["question"], evidence))
    return Conversations(turns, questions)


def read_unanswerable(folder: Path) -> list[Question]:
    """The questions of `questions.jsonl` that no turn of their conversation answers."""
    entries = _objects(folder / "questions.jsonl")
    return [
        Question(entry["qid"], entry["conversation_id"], entry["question"], {})
        for entry in entries
        if entry["category"] == UNANSWERABLE
    ]


def write_turns(turns: Sequence[Said], path: Path) -> None:
    write_records(map(asdict, turns), path)


def _id(name: str, turn: str) -> str:
    return f"{name}-{turn}"


def _objects(path: Path) -> list[dict[str, Any]]:
    """Raises UnknownShape for a file that is not there or has another shape."""
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise UnknownShape(f"{path}: must have one object a line ({error})") from error


def _said(entry: dict[str, Any]) -> Said:
    name, caption = entry["conversation_id"], entry["blip_caption"]
    content = f"{entry['content']} [shares {caption}]" if caption else entry["content"]
    content = content.strip() or entry["speaker"]
    id, session = _id(name, entry["dia_id"]), str(entry["session"])
    return Said("turn", id, name, name, session, entry["turn_index"], entry["speaker"], content, entry["ts"])
