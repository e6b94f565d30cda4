"""What `cstp.recall` reaches over the graph of a memory corpus, at several budgets."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.answering import KEYWORD, NO_MODEL, Model, answering, ingest
from benchmarks.quality.graph import report
from benchmarks.quality.memory_corpus import read_corpus
from benchmarks.quality.results import Section
from benchmarks.serving import result_of
from benchmarks.texts import write_records


def measure_graph(folder: Path, models: Sequence[Model], kept: Path, say: Callable[[str], None]) -> Section:
    """Results are found by words alone where there is no model: the control."""
    records = list(read_corpus(folder))
    kinds = ("artifact", "turn", "event", "entity", "edge")
    counts = ", ".join(f"{sum(record['kind'] == kind for record in records)} {kind} records" for kind in kinds)
    extra = []
    for model in dict.fromkeys((NO_MODEL, *models)):
        say(f"Graph: {folder.name}: reading and asking with {model.name}")
        data = kept / model.name / folder.name / "data"
        data.mkdir(parents=True, exist_ok=True)
        path = data.parent / "records.jsonl"
        write_records(records, path)
        ingest(path, model, data)
        with answering(model, data) as caller:

            def recall(params: Mapping[str, Any]) -> Mapping[str, Any]:
                return result_of(caller.send("cstp.recall", params))

            extra += [f"### {KEYWORD if model == NO_MODEL else model.name}", report(folder, recall)]
    lines = [
        f"{counts}; `cstp.recall` with limit 5 and every category of events.",
        "A link is reached when the answer to the name of its start has its end among the entities, with budget 50.",
        "Recall and precision are those of the documents and entities that each query of the ground truth expects; "
        "budget 0 is the search alone.",
    ]
    return Section(f"Graph: {folder.name}", lines, (), extra)
