"""Conversations with questions whose evidence is known turns, in the shape of LoCoMo; and `cstp.recall` over them.

Each conversation is a project of its own, and its questions are asked with a token for that project alone: what may be
found are its turns, as in the published measurements.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.quality.beir import UnknownShape
from benchmarks.quality.measures import CUT, Grades
from benchmarks.serving import Caller, result_of

_SESSION: Final = re.compile(r"session_([0-9]+)")
_TURN_ID: Final = re.compile(r"D[0-9]+:[0-9]+")
SESSION: Final = re.compile(r":[0-9]+\Z")  # what a turn's id has in addition to that of its session
UNANSWERABLE: Final = 5  # the category of questions that no turn answers
_DATES: Final = ("%I:%M %p on %d %B, %Y", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d")


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


def read_conversations(folder: Path) -> Conversations:
    """Reads every .json file of the folder. Raises UnknownShape for one that is no list of conversations."""
    turns: list[Said] = []
    questions: list[Question] = []
    for path in sorted(folder.glob("*.json")):
        try:
            for number, sample in enumerate(json.loads(path.read_bytes())):
                name = f"{path.stem}-{sample.get('sample_id', number)}"
                said = list(_turns(name, sample["conversation"]))
                turns += said
                questions += _questions(name, sample["qa"], {turn.id for turn in said})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnknownShape(f"{path}: must be a list of conversations as LoCoMo has them ({error!r})") from error
    if not questions:
        raise UnknownShape(f"{folder}: there is no .json file with questions whose evidence is in its turns")
    return Conversations(turns, questions)


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


def alone(turns: Sequence[Said]) -> list[Said]:
    """The same turns, each in a session of its own, so that none is found by the words of its neighbours."""
    return [replace(turn, session=turn.id) for turn in turns]


def write_turns(turns: Sequence[Said], path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for turn in turns:
            file.write(json.dumps({name: value for name, value in asdict(turn).items() if value is not None}) + "\n")


def found_turns(caller: Caller, query: str) -> list[str]:
    """The first ten turns, without what the graph adds. Needs a token for one conversation's project."""
    params = {"query": query, "limit": CUT, "expand": False, "includeEvents": False, "includeEntities": False}
    return [item["id"].removeprefix("art_") for item in result_of(caller.send("cstp.recall", params))["results"]]


def _turns(name: str, conversation: dict[str, Any]) -> Iterator[Said]:
    sessions = sorted(int(match[1]) for member in conversation if (match := _SESSION.fullmatch(member)))
    place = 0
    for session in sessions:
        began = _date(conversation.get(f"session_{session}_date_time"))
        for turn in conversation[f"session_{session}"]:
            shown = turn.get("blip_caption")
            content = f"{turn['text']} [shares {shown}]" if shown else turn["text"]
            ts = None if began is None else (began + timedelta(seconds=place)).isoformat()
            # a turn without text has its speaker alone
            content = content.strip() or turn["speaker"]
            yield Said("turn", _id(name, turn["dia_id"]), name, name, str(session), place, turn["speaker"], content, ts)
            place += 1


def _questions(name: str, asked: Sequence[dict[str, Any]], known: set[str]) -> Iterator[Question]:
    for number, entry in enumerate(asked):
        named = [_id(name, turn) for text in entry.get("evidence", ()) for turn in _TURN_ID.findall(text)]
        evidence = {turn: 1 for turn in named if turn in known}
        if evidence:
            yield Question(f"{name}-{number}", name, entry["question"], evidence)


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


def _date(text: str | None) -> datetime | None:
    """When a session began. Raises ValueError for a text that is no such date."""
    if text is None:
        return None
    for layout in _DATES:
        try:
            return datetime.strptime(text, layout)
        except ValueError:
            continue
    raise ValueError(f"{text!r} is no date of a session")
