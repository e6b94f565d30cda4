"""Chats with long messages and questions whose evidence is known messages, in the shape of BEAM.

The repository `mohammadtavakoli78/BEAM` has no licence, so the folder is one that the user names, such as `chats/100K`.
Each chat is a project, and its questions are asked by a reader of that project alone.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.quality.beir import UnknownShape
from benchmarks.quality.turns import Conversations, Question, Said

_MARK: Final = re.compile(r"\s*->->\s*[\d,\s]*\Z")  # the number of the question in the plan, at the end of a message
_ANCHOR: Final = "%B-%d-%Y"


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
