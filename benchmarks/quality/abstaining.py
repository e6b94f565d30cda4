"""The share of questions without an answer that `abstain` refuses, when 95 of 100 with one are answered.

The cosine of the nearest record decides, and of a question about a speaker also what turns say of others. So each
question is asked once, by meaning and for one record.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

import numpy as np

from benchmarks.options import show_progress
from benchmarks.page import table
from benchmarks.quality.answering import NO_MODEL, Model, answering, ingest
from benchmarks.quality.beir import read_collection, write_chunks
from benchmarks.quality.conversations import Question, read_asked, read_unanswerable, write_turns
from benchmarks.quality.known_item import read_items, write_decisions
from benchmarks.quality.table import Section
from benchmarks.serving import Caller, result_of
from cognition_engines.relevance import LEAST_COSINES
from cstp_server.settings import Settings
from cstp_server.tokens import create_token, revoke_token

ANSWERED: Final = 0.95
MOST: Final = 300  # questions of a set that are asked where they have no answer
_MEMBERS: Final = {"cstp.queryDecisions": "decisions", "cstp.searchKnowledge": "results", "cstp.recall": "results"}
_ALONE: Final[Mapping[str, Any]] = {"expand": False, "includeEvents": False, "includeEntities": False}


@dataclass(frozen=True, slots=True)
class Reply:
    """The cosine of the record nearest to a question, and whether `abstain` refuses the question."""

    cosine: float
    refused: bool


Nearest: TypeAlias = Callable[[str], Reply]


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the three kinds of records are."""

    decisions: Path
    documents: Path
    conversations: Path


def measure_abstaining(folders: Folders, models: Sequence[Model], kept: Path) -> list[Section]:
    """Return a table for each model: the bound that answers ANSWERED of each set, and the share of others refused."""
    extra: list[str] = []
    for model in models:
        if model != NO_MODEL:
            show_progress(f"Abstaining: asking with {model.name}")
            extra += [f"With `{model.name}`:", table(_HEADS, _rows(folders, model, kept / model.name))]
    if not extra:
        return []
    lines = [
        f"*Bound* is the cosine of the nearest record from which on {ANSWERED:.0%} of the questions that have an "
        "answer are answered, fitted for each set. *Refused* is the share of those without an answer that is below it.",
        "The last two columns have the same for `abstain`: it has the bound that comes with the model, one for all "
        "sets, and refuses a question that names a speaker if turns say its words of others instead.",
        f"At most {MOST} questions of each set without an answer are asked, always the same.",
    ]
    return [Section("Questions without an answer", lines, extra)]


_HEADS: Final = ["records", "questions without an answer", "bound", "refused", "answered with `abstain`", "refused"]


def _rows(folders: Folders, model: Model, kept: Path) -> list[list[str]]:
    items, collection = read_items(folders.decisions), read_collection(folders.documents)
    asked = read_asked(folders.conversations)
    titles = [item.query for item in items]
    claims, talk = list(collection.queries.values()), [question.query for question in asked.questions]
    sets = (
        ("decisions", folders.decisions, lambda file: write_decisions(items, file), "cstp.queryDecisions", titles),
        ("documents", folders.documents, lambda file: write_chunks(collection, file), "cstp.searchKnowledge", claims),
    )
    foreign = {"of decisions": titles, "of science": claims, "of conversations": talk}
    rows = []
    for name, folder, write, method, own in sets:
        with answering(model, ingest(kept / folder.name, model, write)) as caller:
            nearest = _nearest(caller, model, method)
            known = list(map(nearest, own))
            for others, queries in foreign.items():
                if queries is not own:
                    rows.append(_row(name, others, model, known, list(map(nearest, _some(queries)))))
    del foreign["of conversations"]
    data = ingest(kept / folders.conversations.name, model, lambda file: write_turns(asked.turns, file))
    return rows + _of_turns(folders.conversations, asked.questions, foreign, model, data)


def _of_turns(
    folder: Path, questions: Sequence[Question], foreign: Mapping[str, Sequence[str]], model: Model, data: Path
) -> list[list[str]]:
    """Return the rows of conversations; each question is asked by a token that sees one conversation alone."""
    names = sorted({question.conversation for question in questions})
    with answering(model, data) as server, _callers(server, model, data, names) as ask:

        def near(asked: Sequence[tuple[str, str]]) -> list[Reply]:
            return [ask[name](query) for name, query in asked]

        after = dict(zip(names, [*names[1:], names[0]], strict=True))
        known = near([(question.conversation, question.query) for question in questions])
        without = {
            "of another conversation": [(after[question.conversation], question.query) for question in questions],
            "with one thing changed": [(each.conversation, each.query) for each in read_unanswerable(folder)],
        } | {name: [(names[0], query) for query in queries] for name, queries in foreign.items()}
        sets = {name: near(_some(asked)) for name, asked in without.items()}
    return [_row("conversations", name, model, known, found) for name, found in sets.items()]


@contextmanager
def _callers(server: Caller, model: Model, data: Path, names: Sequence[str]) -> Iterator[Mapping[str, Nearest]]:
    """Open a caller for each conversation that sees no other."""
    tokens = Settings(data_dir=data).tokens_path
    callers = {}
    ids = []
    for name in names:
        made, text = create_token(tokens, name, lifetime=timedelta(days=1), projects=[name])
        ids.append(made.id)
        callers[name] = Caller(server.port, text)
    yield {name: _nearest(caller, model, "cstp.recall", _ALONE) for name, caller in callers.items()}
    for caller in callers.values():
        caller.close()
    for id in ids:  # a folder that is kept is asked again
        revoke_token(tokens, id)


def _nearest(caller: Caller, model: Model, method: str, more: Mapping[str, Any] | None = None) -> Nearest:
    def ask(query: str) -> Reply:
        abstain = _least_cosine(model) is not None
        params = {"query": query, "mode": "semantic", "limit": 1, "abstain": abstain} | dict(more or {})
        result = result_of(caller.send(method, params))
        if result.get("noGoodMatch"):
            return Reply(float(result["nearest"]["cosine"]), True)
        (found,) = result[_MEMBERS[method]]
        # of a search by meaning the score is the cosine; only some answers have the distance, too
        return Reply(1.0 - float(found["distance"]) if "distance" in found else float(found["score"]), False)

    return ask


def _row(records: str, name: str, model: Model, known: Sequence[Reply], without: Sequence[Reply]) -> list[str]:
    bound = float(np.quantile([reply.cosine for reply in known], 1 - ANSWERED))
    row = [records, name, f"{bound:.2f}", f"{np.mean([reply.cosine < bound for reply in without]):.2f}"]
    if _least_cosine(model) is None:
        return [*row, "", ""]
    refused = [float(np.mean([reply.refused for reply in asked])) for asked in (known, without)]
    return [*row, f"{1 - refused[0]:.2f}", f"{refused[1]:.2f}"]


def _least_cosine(model: Model) -> float | None:
    return next((least for start, least in LEAST_COSINES.items() if f"{model.name}-".startswith(start)), None)


def _some(asked: Sequence[Any]) -> list[Any]:
    return list(asked) if len(asked) <= MOST else Random(1).sample(list(asked), MOST)
