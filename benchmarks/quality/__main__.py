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

from benchmarks.page import Run
from benchmarks.quality.abstaining import Folders, measure_abstaining
from benchmarks.quality.answering import Model, answering, compare, finder, ingest
from benchmarks.quality.asked_sets import asked_sets
from benchmarks.quality.beir import UnknownShape, read_collection, write_chunks
from benchmarks.quality.controls import measure_controls
from benchmarks.quality.gains import measure_gains
from benchmarks.quality.graph import measure_graph
from benchmarks.quality.known_item import judge, read_items, write_decisions
from benchmarks.quality.measures import Grades
from benchmarks.quality.mixed import measure_mixed
from benchmarks.quality.mixed_corpus import FOLDERS
from benchmarks.quality.results import Compared, Section
from benchmarks.quality.short_records import measure_short_records
from benchmarks.quality.table import render
from benchmarks.serving import NotServing
from cognition_engines.embedding.open import EmbeddingChoice, open_embedder

CHUNKS: Final = 100  # results of a call, for the ranks that are fused
DECISIONS: Final = 50
_ROOT: Final = Path(__file__).parents[2]
_SHARED: Final = _ROOT.parent / "shared"


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
            sections += [measure_short_records(options.among, models, kept, _say)] if options.among else []
            sections += [measure_graph(folder, models, kept, _say) for folder in options.memory]
            sections += _abstaining(options, models, kept)
            sections += _gains(options, kept)
            sections += _mixed(options, kept)
    except (UnknownShape, NotServing, FileNotFoundError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    run = Run(_command(options, models), sections, minutes=(perf_counter() - began) / 60)
    options.output.write_text(render(run), encoding="utf-8")
    _say(f"wrote {options.output}")
    return 0


def _abstaining(options: argparse.Namespace, models: Sequence[Model], kept: Path) -> list[Section]:
    """Questions of one set have no answer in the others, so it takes all three."""
    if not (options.decisions and options.beir and options.conversations):
        return []
    folders = Folders(options.decisions[0], options.beir[0], options.conversations[0])
    return measure_abstaining(folders, models, kept, _say)


def _gains(options: argparse.Namespace, kept: Path) -> list[Section]:
    """Return what each part of the relevance gives, and the controls, with the model that comes with the package."""
    embedder = open_embedder(EmbeddingChoice())
    if embedder is None or not (options.conversations or options.beam):
        return []
    sets = asked_sets(options.conversations, options.decisions, options.beir, options.beam)
    return [*measure_gains(sets, embedder, kept, _say), measure_controls(sets, embedder, kept, _say)]


def _mixed(options: argparse.Namespace, kept: Path) -> list[Section]:
    """One search over all kinds, with the model that comes with the package."""
    embedder = open_embedder(EmbeddingChoice())
    return [] if embedder is None else [measure_mixed(folder, embedder, kept, _say) for folder in options.mixed]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description="Measure how good the answers are; a set without a folder is left out.",
    )
    sets = {
        "--beir": (_given(_SHARED / "data" / "scifact"), "documents with judged queries, as BEIR has them"),
        "--decisions": (_given(_SHARED / "data" / "decisions"), "decision records, asked for by their titles"),
        "--among": (
            [_ROOT / "docs" / "decisions", *_given(_SHARED / "data" / "decisions")],
            "decision records, among which short ones are asked for",
        ),
        "--memory": (_given(_SHARED / "data" / "memory"), "artifacts, turns and events with a graph of entities"),
        "--mixed": (
            [_SHARED / "data"] if all((_SHARED / "data" / name).is_dir() for name in FOLDERS) else [],
            "folders of records of all kinds, for one search over them",
        ),
        "--conversations": (
            _given(_SHARED / "data" / "conversations"),
            "turns.jsonl and questions.jsonl, for what each part of the relevance gives; so for all sets",
        ),
        "--beam": ([], "chats of the repository BEAM with long messages, such as chats/100K"),
    }
    for name, (default, about) in sets.items():
        parser.add_argument(name, nargs="*", type=_folder, metavar="FOLDER", default=default, help=about)
    parser.add_argument(
        "--model",
        action="append",
        metavar="MODEL",
        help="minilm, none, or a folder with model.onnx; may be given several times",
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keeps what was embedded between runs")
    parser.add_argument("--output", type=Path, default=_ROOT / "docs" / "quality.md", help="the page")
    return parser


def _given(folder: Path) -> list[Path]:
    return [folder] if folder.is_dir() else []


def _folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no folder")
    return Path(text)


def _default_models() -> list[str]:
    return ["minilm", *map(str, _given(_SHARED / "models" / "gte-small-int8"))]


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
    compared = []
    for model in models:
        folder = kept / model.name / asked.name
        folder.mkdir(parents=True, exist_ok=True)
        records, data = folder / "records.jsonl", folder / "data"
        asked.write(records)
        _say(f"{asked.title}: reading and embedding with {model.name}")
        ingest(records, model, data)
        with answering(model, data) as caller:
            _say(f"  asking {len(asked.queries)} queries in every mode")
            find = finder(caller, asked.method, asked.member, asked.limit)
            scores = compare(find, asked.queries, asked.judgements, model)
        compared.append(Compared(asked.name, model.name, scores))
    return Section(asked.title, asked.lines, compared)


def _command(options: argparse.Namespace, models: Sequence[Model]) -> str:
    """What gives this page again; folders by their names."""
    parts = ["python -m benchmarks.quality"]
    for name in ("beir", "decisions", "among", "memory", "conversations", "beam", "mixed"):
        folders = " ".join(folder.name for folder in getattr(options, name))
        parts.append(f"--{name} {folders}".strip())
    return " ".join([*parts, *(f"--model {model.name}" for model in models)])


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
