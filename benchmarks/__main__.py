"""`python -m benchmarks`: one run, written to docs/benchmarks.md."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

from playwright.sync_api import Browser

from benchmarks.call_costs import COSTS_PAGE, current_version, measure_call_costs, render_costs, version_of
from benchmarks.calls import Asked, measure_calls
from benchmarks.controls import BruteForce, RawChroma
from benchmarks.corpus import make_corpus
from benchmarks.embedding import Embedded, embed_texts, packaged_model
from benchmarks.ingesting import measure_ingest
from benchmarks.kind_calls import measure_kinds, render_kinds
from benchmarks.kinds import KindsCorpus
from benchmarks.measure import WARM_UP
from benchmarks.page import Run, describe_versions
from benchmarks.pages import PAGE_ROUNDS, PAGE_SPEED, NoBrowser, PageBlock, chromium, measure_pages, render_pages
from benchmarks.searching import measure_costs, measure_search
from benchmarks.serving import fill, served
from benchmarks.starting import measure_start
from benchmarks.table import Block, Results, render
from benchmarks.texts import DECISION, Text, read_queries, read_texts
from benchmarks.throughput import measure_cheap_calls, measure_load
from benchmarks.workers import measure_workers, render_workers
from benchmarks.writing import measure_writes, render_writes
from cognition_engines.embedding.base import Embedder
from cognition_engines.store.values import FloatArray
from cstp_server.settings import Settings

TEXTS: Final = 2000
WRITES_PAGE: Final = "write-speed.md"
WORKERS_PAGE: Final = "workers-speed.md"
QUERIES: Final = 2600
INGEST: Final = 10_000
QUICK_INGEST: Final = 1_000
RAW_CHROMA: Final = 200_000  # above it a `where` of raw Chroma would take most of the run
FEW_ROUNDS: Final = 50  # above it, too, since brute force takes 100 ms
KNOWN: Final = 200  # of the queries: those that are asked again and again
_ROOT: Final = Path(__file__).parents[1]
_SIZE: Final = re.compile(r"([0-9]+)(k|m|)")
_UNITS: Final = {"": 1, "k": 1000, "m": 1_000_000}


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure. `real` are the sizes to be measured with all windows of a text, `sizes` with one each."""

    sizes: Sequence[int]
    real: Sequence[int]
    rounds: int
    quick: bool
    stores: Path | None  # where filled stores are kept between runs


@dataclass(frozen=True, slots=True)
class Material:
    """What every size is made from."""

    embedder: Embedder
    texts: Sequence[Text]
    embedded: Embedded
    asked: Asked


def main() -> int:
    options = _parser().parse_args()
    modes = {
        "costs": _measure_costs,
        "kinds": _measure_kinds,
        "writes": _measure_writes,
        "workers": _measure_workers,
        "pages": _measure_pages,
    }
    measure = next((modes[name] for name in modes if getattr(options, name)), _measure_all)
    try:
        measure(options, perf_counter())
    except NoBrowser as error:
        _say(f"--pages needs a chromium: {error}")
        return 1
    return 0


def _measure_all(options: argparse.Namespace, began: float) -> None:
    """Measure the figures of docs/benchmarks.md and the writes."""
    rounds = min(50, options.rounds) if options.quick else options.rounds
    plan = Plan(options.sizes, options.real, rounds, options.quick, options.stores)
    material = _prepare(options.texts, plan)
    _say("measuring the cheapest call beside an echo")
    cheap = measure_cheap_calls()
    count = QUICK_INGEST if plan.quick else INGEST
    _say(f"ingesting {count} decisions, and embedding them alone")
    ingest = measure_ingest(material.texts, count)
    if options.output is None:  # else there is one page to be written
        _write_writes(options, material.embedder, material.texts)
    blocks = [_measure(size, material, plan, real_windows=False) for size in plan.sizes]
    blocks += [_measure(size, material, plan, real_windows=True) for size in plan.real]
    texts, decisions = len(material.texts), sum(text.topic == DECISION for text in material.texts)
    windows, model = sum(map(len, material.embedded.vectors)), material.embedder.model
    run = Run(
        _command(plan),
        Results(material.embedded.rates, cheap, ingest, blocks),
        [
            f"Texts: {texts} real ones ({decisions} decision records, the rest abstracts of papers), "
            f"{windows} windows, embedded with `{model}`"
        ],
        (perf_counter() - began) / 60,
    )
    _write(options, "benchmarks.md", render(run), run)


def _measure_kinds(options: argparse.Namespace, began: float) -> None:
    """Every method over records of all kinds, at every size; the texts' vectors may be those of an earlier run."""
    rounds = min(50, options.rounds) if options.quick else options.rounds
    sizes = sorted(set(options.kinds))
    material = _prepare(options.texts, Plan(sizes, (), rounds, quick=True, stores=options.stores))
    corpora = [KindsCorpus(material.texts, material.embedded.vectors, size) for size in sizes]
    model, known = material.embedder.model, material.asked.known
    with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
        found = measure_kinds(corpora, model, known, rounds, options.stores or Path(folder), _say)
    command = f"python -m benchmarks --kinds {_listed(sizes)} --rounds {rounds}"
    run = Run(command, found, [f"Vectors: `{model}`"], (perf_counter() - began) / 60)
    _write(options, "speed.md", render_kinds(run), run)


def _measure_writes(options: argparse.Namespace, _: float) -> None:
    """Writes alone."""
    _write_writes(options, packaged_model(), read_texts(options.texts, TEXTS))


def _measure_costs(options: argparse.Namespace, _: float) -> None:
    """What a call costs, and what it cost in another checkout."""
    _say("measuring what a call costs, which begins with an ingest")
    texts = read_texts(options.texts, TEXTS)
    before = [] if options.before is None else [version_of(options.before)]
    with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
        versions = [*before, current_version()]
        costs = measure_call_costs(versions, options.texts, Path(folder), texts, read_queries(texts, QUERIES))
    command = f"python -m benchmarks --costs{' --before CHECKOUT' if before else ''}"
    run = Run(command, costs, [f"Records: {costs[-1].decisions} real decisions, and episodes"])
    _write(options, COSTS_PAGE, render_costs(run), run)


def _measure_workers(options: argparse.Namespace, _: float) -> None:
    """One worker and two."""
    run = Run("python -m benchmarks --workers", measure_workers(_ROOT / "docs" / "decisions"))
    _write(options, WORKERS_PAGE, render_workers(run), run)


def _measure_pages(options: argparse.Namespace, _: float) -> None:
    """The page for people, over every size of `--sizes`. Raises NoBrowser."""
    rounds = min(PAGE_ROUNDS, options.rounds)
    with chromium() as browser:
        material = _prepare(options.texts, Plan(options.sizes, (), rounds, quick=True, stores=options.stores))
        run = Run(
            f"python -m benchmarks --pages --sizes {_listed(options.sizes)} --rounds {rounds}",
            [_pages_of(browser, material, size, rounds, options.stores) for size in options.sizes],
            versions=describe_versions() | {"chromium": browser.version},
        )
    _write(options, PAGE_SPEED, render_pages(run), run)


def _pages_of(browser: Browser, material: Material, size: int, rounds: int, stores: Path | None) -> PageBlock:
    corpus = make_corpus(material.texts, material.embedded.vectors, size, real_windows=False)
    _say(f"{size} decisions: filling the store and its indexes")
    with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
        settings = Settings(data_dir=(stores or Path(folder)) / str(size) / "data")
        fill(settings, corpus, material.embedder.model).knowledge.close()
        _say("  measuring the page")
        with served(settings) as caller:
            return measure_pages(browser, caller, size, material.asked.fresh, rounds)


def _write_writes(options: argparse.Namespace, embedder: Embedder, texts: Sequence[Text]) -> None:
    """Measures writes, which have a page of their own."""
    _say("measuring writes")
    run = Run("python -m benchmarks --writes", measure_writes(texts, embedder), [f"Model: `{embedder.model}`"])
    _write(options, WRITES_PAGE, render_writes(run), run)


def _write(options: argparse.Namespace, name: str, text: str, run: Run[Any]) -> None:
    output = options.output or _ROOT / "docs" / name
    output.write_text(text, encoding="utf-8")
    _say(f"wrote {output}")
    if options.json:
        options.json.write_text(json.dumps(asdict(run), indent=1), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure, with controls.")
    parser.add_argument("--sizes", type=_sizes, default="1k,10k,100k", help="decisions with one window each")
    parser.add_argument("--real", type=_sizes, default="", metavar="SIZES", help="decisions with all their windows")
    parser.add_argument("--kinds", type=_sizes, default="", metavar="SIZES", help="instead: every method, all kinds")
    parser.add_argument("--writes", action="store_true", help="instead: what agents write")
    parser.add_argument("--costs", action="store_true", help="instead: what a call costs, in CPU time")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="with --costs: an older version, to compare")
    parser.add_argument("--workers", action="store_true", help="instead: one worker and two")
    parser.add_argument("--pages", action="store_true", help="instead: the page for people, in chromium")
    parser.add_argument("--rounds", type=_positive, default=200, help="calls in each cell")
    parser.add_argument("--quick", action="store_true", help="at most 50 rounds, and vectors that an earlier run kept")
    parser.add_argument("--stores", type=Path, metavar="FOLDER", help="keeps filled stores between runs")
    parser.add_argument("--texts", type=Path, default=_default_texts(), help="folder with decision records")
    parser.add_argument("--output", type=Path, help="the page, by default one in docs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all figures, for machines")
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    """`1k,10k` as numbers."""
    found = [_SIZE.fullmatch(part) for part in text.split(",")] if text else []
    sizes = tuple(int(match[1]) * _UNITS[match[2]] for match in found if match)
    if len(sizes) < len(found) or any(size < 1000 for size in sizes):
        raise argparse.ArgumentTypeError("must read like 1k,10k,100k, nothing below 1k")
    return sizes


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a number, at least 1")
    return int(text)


def _default_texts() -> Path:
    """The real input beside the checkout where there is one, else the project's own decisions."""
    shared = _ROOT.parent / "shared" / "data"
    return shared if shared.is_dir() else _ROOT / "docs" / "decisions"


def _prepare(folder: Path, plan: Plan) -> Material:
    embedder = packaged_model()
    texts = read_texts(folder, TEXTS)
    queries = read_queries(texts, QUERIES)
    _say(f"embedding {len(texts)} texts, with one thread and with two")
    embedded = embed_texts(embedder, texts, cached=plan.quick)
    known, fresh = queries[:KNOWN], queries[KNOWN:]
    return Material(embedder, texts, embedded, Asked(known, [embedder.embed_query(query) for query in known], fresh))


def _measure(size: int, material: Material, plan: Plan, *, real_windows: bool) -> Block:
    began = perf_counter()
    corpus = make_corpus(material.texts, material.embedded.vectors, size, real_windows=real_windows)
    _say(f"{size} decisions with {len(corpus.vectors)} windows: filling the store and its indexes")
    with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
        kept = Path(folder) if plan.stores is None else plan.stores / f"{size}{'-real' if real_windows else ''}"
        settings = Settings(data_dir=kept / "data")
        filled = fill(settings, corpus, material.embedder.model)
        _say(f"  {filled.records:.0f} s for the store, {filled.neighbours:.0f} s for the indexes; filling raw Chroma")
        raw = RawChroma(Path(folder) / "raw", corpus) if size <= RAW_CHROMA else None
        brute = BruteForce(corpus)
        _say("  measuring the search")
        asked = material.asked
        rounds = plan.rounds if raw is not None else min(FEW_ROUNDS, plan.rounds)
        queries, vectors = _repeated(asked, rounds)
        rows = measure_search(filled.knowledge, raw, brute, queries, vectors, rounds)
        costs = measure_costs(filled.knowledge, vectors, rounds)
        filled.knowledge.close()
        _say("  measuring whole calls")
        with served(settings) as caller:
            calls, embedding = measure_calls(caller, raw, brute, material.embedder, asked, rounds)
            load = measure_load(caller, asked.known, asked.fresh)
        _say("  measuring the start")
        start = measure_start(settings)
    _say(f"  done after {perf_counter() - began:.0f} s")
    return Block(
        size,
        len(corpus.vectors),
        filled.records,
        filled.columns_and_keywords,
        filled.neighbours,
        calls,
        embedding,
        rows,
        costs,
        load,
        start,
    )


def _command(plan: Plan) -> str:
    """What gives this page again; where the figures were also written does not matter."""
    parts = ["python -m benchmarks", f"--sizes {_listed(plan.sizes)}", f"--rounds {plan.rounds}"]
    if plan.real:
        parts.append(f"--real {_listed(plan.real)}")
    return " ".join([*parts, "--quick"] if plan.quick else parts)


def _listed(sizes: Sequence[int]) -> str:
    return ",".join(map(str, sizes))


def _repeated(asked: Asked, rounds: int) -> tuple[list[str], list[FloatArray]]:
    """A query for every round, from the start again where they run out."""
    places = [number % len(asked.known) for number in range(max(rounds, WARM_UP))]
    return [asked.known[place] for place in places], [asked.vectors[place] for place in places]


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
