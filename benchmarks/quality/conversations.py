"""How often `cstp.recall` finds the turns that answer a question, with and without the words of their neighbours."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from benchmarks.quality.answering import KEYWORD, NO_MODEL, Model, answering, ingest
from benchmarks.quality.measures import Grades, Scores, score
from benchmarks.quality.results import Compared, Section
from benchmarks.quality.turns import Conversations, Said, alone, found_turns, read_conversations, write_turns
from benchmarks.serving import Caller
from cstp_server.settings import Settings
from cstp_server.tokens import create_token

WITH: Final = "hybrid, words with neighbours"
WITHOUT: Final = "hybrid, words of the turn alone"
WORDS_WITH: Final = f"{KEYWORD}, with neighbours"
WORDS_WITHOUT: Final = f"{KEYWORD}, of the turn alone"


def measure_turns(folder: Path, models: Sequence[Model], kept: Path, say: Callable[[str], None]) -> Section:
    """A server without a model has keywords alone: the BM25 row, which is the same for all models."""
    found = read_conversations(folder)
    sets = {"with": found.turns, "without": alone(found.turns)}
    say(f"Turns: {folder.name}: {len(found.turns)} turns, {len(found.questions)} questions")
    judgements = {question.id: question.evidence for question in found.questions}
    words = _both(found, sets, NO_MODEL, kept / "none" / folder.name, judgements)
    compared = []
    for model in models:
        rows = {WORDS_WITHOUT: words["without"], WORDS_WITH: words["with"]}
        if model != NO_MODEL:
            say(f"  reading and embedding with {model.name}, twice")
            hybrid = _both(found, sets, model, kept / model.name / folder.name, judgements)
            rows |= {WITHOUT: hybrid["without"], WITH: hybrid["with"]}
        compared.append(Compared(folder.name, model.name, rows))
    conversations = len({turn.conversation_id for turn in found.turns})
    lines = [
        f"{len(found.turns):,} turns of {conversations} conversations, {len(found.questions):,} questions whose "
        "evidence is known turns; `cstp.recall` with limit 10, by a token that sees one conversation.",
    ]
    return Section(f"Turns: {folder.name}", lines, compared)


def _both(
    found: Conversations,
    sets: Mapping[str, Sequence[Said]],
    model: Model,
    folder: Path,
    judgements: Mapping[str, Grades],
) -> dict[str, Scores]:
    scores = {}
    for name, turns in sets.items():
        data = folder / name / "data"
        data.mkdir(parents=True, exist_ok=True)
        write_turns(turns, folder / name / "records.jsonl")
        ingest(folder / name / "records.jsonl", model, data)
        scores[name] = score(_ask(found, model, data), judgements)
    return scores


def _ask(found: Conversations, model: Model, data: Path) -> dict[str, list[str]]:
    tokens = Settings(data_dir=data).tokens_path
    names = sorted({turn.project for turn in found.turns})
    texts = {name: create_token(tokens, name, lifetime=timedelta(days=1), projects=[name])[1] for name in names}
    results: dict[str, list[str]] = {}
    with answering(model, data) as server:
        callers = {name: Caller("127.0.0.1", server.port, text) for name, text in texts.items()}
        for question in found.questions:
            results[question.id] = found_turns(callers[question.conversation], question.query)
        for caller in callers.values():
            caller.close()
    return results
