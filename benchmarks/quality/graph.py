"""Graph expansion by `cstp.recall` on the memory corpus: links that are reached, recall and precision by budget."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, Final, TypeAlias

from benchmarks.options import show_progress
from benchmarks.page import table
from benchmarks.quality.answering import KEYWORD, NO_MODEL, Model, answering, ingest
from benchmarks.quality.measures import ndcg
from benchmarks.quality.memory_corpus import document_id, read_corpus
from benchmarks.quality.table import Section
from benchmarks.serving import result_of
from benchmarks.texts import write_records

BUDGETS: Final = (0, 5, 10, 20)  # 0 is the control: search alone
LIMIT: Final = 5  # results that expansion starts from
WIDEST: Final = 50

Recall: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]  # params of cstp.recall to its result


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the ground truth: asked by the name of `start`, the answer is to name the entity `end`."""

    start: str
    end: str


@dataclass(frozen=True, slots=True)
class Shares:
    """At one budget, over all queries: shares, 0.0 to 1.0, of documents and of entities; nDCG@10 of documents.

    Documents are in the order of the answer: results, then what is related.
    """

    budget: int
    document_recall: float
    document_precision: float
    entity_recall: float
    entity_precision: float
    document_ndcg: float


def measure_graph(folder: Path, models: Sequence[Model], kept: Path) -> Section:
    """Return the section of the corpus in `folder`; its control finds results by words alone, without a model."""
    records = list(read_corpus(folder))
    kinds = ("artifact", "turn", "event", "entity", "edge")
    counts = ", ".join(f"{sum(record['kind'] == kind for record in records)} {kind} records" for kind in kinds)
    extra = []
    for model in dict.fromkeys((NO_MODEL, *models)):
        show_progress(f"Graph: {folder.name}: reading and asking with {model.name}")
        data = ingest(kept / model.name / folder.name, model, lambda path: write_records(records, path))
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
    return Section(f"Graph: {folder.name}", lines, extra)


def links(folder: Path) -> list[Link]:
    """Return every link of graph_connections.json, people's and projects'."""
    return list(_links(_truth(folder)))


def unreached(folder: Path, recall: Recall) -> list[Link]:
    """Return the links whose other end is not among the entities, when the start's name is the query."""
    known = _truth(folder)["entity_connections"] | _truth(folder)["project_connections"]
    found: dict[str, set[str]] = {}
    for start, told in known.items():
        params = {"query": told["name"], "limit": LIMIT, "graphBudget": WIDEST, "graphFilters": ["*"]}
        found[start] = {entity["id"] for entity in recall(params)["entities"]}
    return [link for link in links(folder) if link.end not in found[link.start]]


def shares(folder: Path, recall: Recall, budget: int) -> Shares:
    """Return recall and precision of the documents and entities that the graph queries expect."""
    documents, entities, gains = [], [], []
    for query in _truth(folder)["benchmark_queries"]:
        params = {"query": query["query"], "limit": LIMIT, "graphBudget": budget, "graphFilters": ["*"]}
        answer = recall(params)
        wanted, found = {document_id(name) for name in query["expected_docs"]}, _documents(answer)
        documents.append(_shares(wanted, set(found)))
        gains.append(ndcg(found, dict.fromkeys(wanted, 1)))
        expected = {*query.get("expected_connections", ()), *query.get("expected_projects", ())}
        starts = {query.get(name) for name in ("seed", "seed_from", "seed_to")}
        entities.append(_shares(expected, {entity["id"] for entity in answer["entities"]} - starts))
    return Shares(budget, *_means(documents), *_means(entities), mean(gains))


def report(folder: Path, recall: Recall) -> str:
    """Return the links that were reached and the table of shares, as Markdown."""
    total, missed = links(folder), unreached(folder, recall)
    lines = [f"{len(total) - len(missed)} of {len(total)} links reached.", ""]
    lines += [f"Not reached: {link.start} to {link.end}." for link in missed]
    heads = ["budget", "documents: nDCG@10", "recall", "precision", "entities: recall", "precision"]
    rows = []
    for budget in BUDGETS:
        each = shares(folder, recall, budget)
        documents = (each.document_ndcg, each.document_recall, each.document_precision)
        figures = (*documents, each.entity_recall, each.entity_precision)
        rows.append([f"{budget}", *(f"{figure:.2f}" for figure in figures)])
    return "\n".join([*lines, table(heads, rows)])


def _truth(folder: Path) -> dict[str, Any]:
    text = (folder / "ground_truth" / "graph_connections.json").read_text(encoding="utf-8")
    truth: dict[str, Any] = json.loads(text)
    return truth


def _links(truth: Mapping[str, Any]) -> Iterator[Link]:
    for start, told in truth["entity_connections"].items():
        for group in ("connected_entities", "connected_projects", "connected_orgs"):
            yield from (Link(start, end["id"]) for end in told.get(group, ()))
    for start, told in truth["project_connections"].items():
        yield from (Link(start, end) for end in told["actors"])


def _documents(answer: Mapping[str, Any]) -> list[str]:
    """Return the documents of results and related items, in their order; some come several times."""
    found = []
    for item in [*answer["results"], *answer["related"]]:
        metadata = item["metadata"]
        if metadata.get("conversationId"):
            found.append(document_id(f"conversations/{metadata['conversationId']}.txt"))
        else:
            found.append(metadata.get("artifactId") or item["id"])
    return found


def _shares(expected: set[str], found: set[str]) -> tuple[float, float]:
    """Return recall and precision; both 0 if nothing is found."""
    right = len(expected & found)
    return right / len(expected), right / len(found) if found else 0.0


def _means(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return mean(first for first, _ in pairs), mean(second for _, second in pairs)
