"""`python -m benchmarks.quality`: one run, written to docs/quality.md."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from benchmarks.options import ROOT, SHARED, existing_folder, show_progress
from benchmarks.page import page
from benchmarks.quality.abstaining import Folders, measure_abstaining
from benchmarks.quality.answering import Model, answering, compare, finder, ingest
from benchmarks.quality.asked_sets import asked_sets
from benchmarks.quality.beir import read_collection, write_chunks
from benchmarks.quality.gains import measure_gains
from benchmarks.quality.graph import measure_graph
from benchmarks.quality.known_item import judge, read_items, write_decisions
from benchmarks.quality.measures import Grades
from benchmarks.quality.mixed import FOLDERS, measure_mixed
from benchmarks.quality.short_records import measure_short_records
from benchmarks.quality.table import Section, bound_rows, compared_table, render
from benchmarks.serving import NotServing
from benchmarks.texts import UnknownShape
from cognition_engines.embedding.open import EmbeddingChoice, open_embedder

CHUNKS: Final = 100  # results of a call, for the ranks that are fused
DECISIONS: Final = 50


@dataclass(frozen=True, slots=True)
class _Set:
    """What is searched, and what is asked of it by which call."""

    name: str
    title: str
    lines: Sequence[str]
    write: Callable[[Path], None]
    method: str
    member: str
    limit: int
    queries: Mapping[str, str]
    judgements: Mapping[str, Grades]


def main() -> int:
    options = _parser().parse_args()
    began = perf_counter()
    models = [Model(given) for given in options.model or _default_models()]
    try:
        with ExitStack() as stack:
            kept = options.keep or Path(stack.enter_context(TemporaryDirectory(prefix="cstp-quality-")))
            sections = [_measure(_beir(folder), models, kept) for folder in options.beir]
            sections += [_measure(_known_items(folder), models, kept) for folder in options.decisions]
            sections += [measure_short_records(options.among, models, kept)] if options.among else []
            sections += [measure_graph(folder, models, kept) for folder in options.memory]
            sections += _abstaining(options, models, kept)
            sections += _gains(options, kept)
            sections += _mixed(options, kept)
    except (UnknownShape, NotServing, FileNotFoundError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    minutes, command = (perf_counter() - began) / 60, _command(options, models)
    text = page("Quality", "make bench-quality", command, render(sections), minutes=minutes)
    options.output.write_text(text, encoding="utf-8")
    show_progress(f"wrote {options.output}")
    return 0


def _abstaining(options: argparse.Namespace, models: Sequence[Model], kept: Path) -> list[Section]:
    """Return the section of questions without an answer; one set has none in the others, so it takes all three."""
    if not (options.decisions and options.beir and options.conversations):
        return []
    folders = Folders(options.decisions[0], options.beir[0], options.conversations[0])
    return measure_abstaining(folders, models, kept)


def _gains(options: argparse.Namespace, kept: Path) -> list[Section]:
    """Return what each part of the relevance gives, and the controls, with the model that comes with the package."""
    embedder = open_embedder(EmbeddingChoice())
    if embedder is None or not (options.conversations or options.beam):
        return []
    sets = asked_sets(options.conversations, options.decisions, options.beir, options.beam)
    return measure_gains(sets, embedder, kept)


def _mixed(options: argparse.Namespace, kept: Path) -> list[Section]:
    """Return the search over all kinds, with the model that comes with the package."""
    embedder = open_embedder(EmbeddingChoice())
    return [] if embedder is None else [measure_mixed(folder, embedder, kept) for folder in options.mixed]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description="Measure how good the answers are; a set without a folder is left out.",
    )
    sets = {
        "--beir": (_given(SHARED / "data" / "scifact"), "documents with judged queries, as BEIR has them"),
        "--decisions": (_given(SHARED / "data" / "decisions"), "decision records, asked for by their titles"),
        "--among": (
            [ROOT / "docs" / "decisions", *_given(SHARED / "data" / "decisions")],
            "decision records, among which short ones are asked for",
        ),
        "--memory": (_given(SHARED / "data" / "memory"), "artifacts, turns and events with a graph of entities"),
        "--mixed": (
            [SHARED / "data"] if all((SHARED / "data" / name).is_dir() for name in FOLDERS) else [],
            "folders of records of all kinds, for one search over them",
        ),
        "--conversations": (
            _given(SHARED / "data" / "conversations"),
            "turns.jsonl and questions.jsonl, for what each part of the relevance gives; so for all sets",
        ),
        "--beam": ([], "chats of the repository BEAM with long messages, such as chats/100K"),
    }
    for name, (default, about) in sets.items():
        parser.add_argument(name, nargs="*", type=existing_folder, metavar="FOLDER", default=default, help=about)
    parser.add_argument(
        "--model",
        action="append",
        metavar="MODEL",
        help="minilm, none, or a folder with model.onnx; may be given several times",
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keeps what was embedded between runs")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "quality.md", help="the page")
    return parser


def _given(folder: Path) -> list[Path]:
    return [folder] if folder.is_dir() else []


def _default_models() -> list[str]:
    return ["minilm", *map(str, _given(SHARED / "models" / "gte-small-int8"))]


def _beir(folder: Path) -> _Set:
    collection = read_collection(folder)
    judged = sum(grade > 0 for grades in collection.judgements.values() for grade in grades.values())
    return _Set(
        name=folder.name,
        title=f"Documents: {folder.name}",
        lines=[
            f"{len(collection.documents):,} documents as chunks, {len(collection.queries)} queries, {judged} relevant "
            f"pairs; `cstp.searchKnowledge` with limit {CHUNKS}.",
        ],
        write=lambda path: write_chunks(collection, path),
        method="cstp.searchKnowledge",
        member="results",
        limit=CHUNKS,
        queries=collection.queries,
        judgements=collection.judgements,
    )


def _known_items(folder: Path) -> _Set:
    items = read_items(folder)
    judgements = judge(items)
    shared = sum(len(grades) > 1 for grades in judgements.values())
    return _Set(
        name=folder.name,
        title=f"Known items: {folder.name}",
        lines=[
            f"{len(items)} decision records, each asked for by its title, which is removed from its text; "
            f"`cstp.queryDecisions` with limit {DECISIONS}.",
            f"{shared} of them share their title with others; all that have it count as relevant.",
        ],
        write=lambda path: write_decisions(items, path),
        method="cstp.queryDecisions",
        member="decisions",
        limit=DECISIONS,
        queries={item.id: item.query for item in items},
        judgements=judgements,
    )


def _measure(asked: _Set, models: Sequence[Model], kept: Path) -> Section:
    parts: list[str] = []
    reached: list[list[str]] = []
    for model in models:
        show_progress(f"{asked.title}: reading and embedding with {model.name}")
        with answering(model, ingest(kept / model.name / asked.name, model, asked.write)) as caller:
            show_progress(f"  asking {len(asked.queries)} queries in every mode")
            find = finder(caller, asked.method, asked.member, asked.limit)
            scores = compare(find, asked.queries, asked.judgements, model)
        parts.append(f"With `{model.name}`, over {next(iter(scores.values())).queries} queries:")
        parts.append(compared_table(asked.name, model.name, scores))
        reached += bound_rows(asked.title, asked.name, model.name, scores)
    return Section(asked.title, asked.lines, parts, reached)


def _command(options: argparse.Namespace, models: Sequence[Model]) -> str:
    """Return the command that gives this page again; folders by their names."""
    parts = ["python -m benchmarks.quality"]
    for name in ("beir", "decisions", "among", "memory", "conversations", "beam", "mixed"):
        folders = " ".join(folder.name for folder in getattr(options, name))
        parts.append(f"--{name} {folders}".strip())
    return " ".join([*parts, *(f"--model {model.name}" for model in models)])


if __name__ == "__main__":
    sys.exit(main())
