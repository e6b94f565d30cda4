"""`python -m benchmarks`: one run, written to its section of docs/benchmarks.md."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from playwright.sync_api import Browser

from benchmarks.call_costs import current_version, measure_call_costs, render_costs, version_of
from benchmarks.calls import Asked, measure_calls
from benchmarks.controls import BruteForce, RawChroma
from benchmarks.corpus import Corpus, make_decisions
from benchmarks.embedding import embed_texts, packaged_model
from benchmarks.hooks import measure_hooks, render_hooks
from benchmarks.ingesting import measure_ingest
from benchmarks.kind_calls import measure_kinds, render_kinds
from benchmarks.options import ROOT, default_texts, positive, show_progress, sizes
from benchmarks.page import describe_versions, page, replace_section
from benchmarks.pages import PAGE_ROUNDS, NoBrowser, PageBlock, chromium, measure_pages, render_pages
from benchmarks.patterns import measure_patterns, render_patterns
from benchmarks.serving import fill, served
from benchmarks.starting import measure_start
from benchmarks.table import Block, render
from benchmarks.texts import DECISION, Text, read_queries, read_texts
from benchmarks.throughput import WORKERS_READING, measure_cheap_calls, measure_load, measure_workers
from benchmarks.writing import measure_writes
from cognition_engines.embedding.base import Embedder
from cognition_engines.store.values import FloatArray
from cstp_server.settings import Settings

TEXTS: Final = 2000
QUERIES: Final = 2600
INGEST: Final = 10_000
QUICK_INGEST: Final = 1_000
RAW_CHROMA: Final = 200_000  # above it a `where` of raw Chroma would take most of the run
FEW_ROUNDS: Final = 50  # above it, too, since brute force takes 100 ms
KNOWN: Final = 200  # of the queries: those that are asked again and again
PAGE: Final = ROOT / "docs" / "benchmarks.md"
_COMMAND: Final = "python -m benchmarks"


@dataclass(frozen=True, slots=True)
class Material:
    """The input of every size."""

    embedder: Embedder
    texts: Sequence[Text]
    vectors: Sequence[FloatArray]
    asked: Asked


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    if options.workers and options.redis is None:
        parser.error("--workers needs --redis")
    modes = {
        "costs": _measure_costs,
        "kinds": _measure_kinds,
        "writes": _measure_writes,
        "workers": _measure_workers,
        "pages": _measure_pages,
        "hooks": _measure_hooks,
        "patterns": _measure_patterns,
    }
    measure = next((modes[name] for name in modes if getattr(options, name)), _measure_all)
    try:
        measure(options, perf_counter())
    except NoBrowser as error:
        show_progress(f"--pages needs a chromium: {error}")
        return 1
    return 0


def _measure_all(options: argparse.Namespace, began: float) -> None:
    """Measure searches of decisions, and the writes."""
    rounds = _rounds(options)
    material = _prepare(options.texts)
    show_progress("measuring the cheapest call beside an echo")
    cheap = measure_cheap_calls()
    count = QUICK_INGEST if options.quick else INGEST
    show_progress(f"ingesting {count} decisions, and embedding them alone")
    ingest = measure_ingest(material.texts, count)
    if options.output is None:  # else there is one page to be written
        _measure_writes(options, began)
    blocks = [_measure(size, material, rounds, options.stores, real_windows=False) for size in options.sizes]
    blocks += [_measure(size, material, rounds, options.stores, real_windows=True) for size in options.real]
    texts, decisions = len(material.texts), sum(text.topic == DECISION for text in material.texts)
    windows, model = sum(map(len, material.vectors)), material.embedder.model
    fact = (
        f"Texts: {texts} real ones ({decisions} decision records, the rest abstracts of papers), "
        f"{windows} windows, embedded with `{model}`"
    )
    command = f"{_COMMAND} --sizes {_listed(options.sizes)} --rounds {rounds}"
    command += f" --real {_listed(options.real)}" if options.real else ""
    command += " --quick" if options.quick else ""
    parts, minutes = render(cheap, ingest, blocks), (perf_counter() - began) / 60
    _write(options, page("Searches of decisions", "make bench", command, parts, [fact], minutes))


def _measure_kinds(options: argparse.Namespace, began: float) -> None:
    """Measure every method over records of all kinds, at every size."""
    rounds, sizes = _rounds(options), sorted(set(options.kinds))
    material = _prepare(options.texts)
    corpora = [Corpus(material.texts, material.vectors, size) for size in sizes]
    model, known = material.embedder.model, material.asked.known
    with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
        found = measure_kinds(corpora, model, known, rounds, options.stores or Path(folder))
    command, made_by = f"{_COMMAND} --kinds {_listed(sizes)} --rounds {rounds}", f"{_COMMAND} --kinds"
    minutes = (perf_counter() - began) / 60
    text = page("Speed of every method", made_by, command, render_kinds(*found), [f"Vectors: `{model}`"], minutes)
    _write(options, text)


def _measure_writes(options: argparse.Namespace, _: float) -> None:
    show_progress("measuring writes")
    embedder = packaged_model()
    parts = measure_writes(read_texts(options.texts, TEXTS), embedder)
    _write_mode(options, "writes", "Speed of writes", parts, [f"Model: `{embedder.model}`"])


def _measure_costs(options: argparse.Namespace, _: float) -> None:
    """Measure the cost of each call, and its cost in another checkout."""
    show_progress("measuring the cost of a call, which begins with an ingest")
    texts = read_texts(options.texts, TEXTS)
    before = [] if options.before is None else [version_of(options.before)]
    with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
        versions = [*before, current_version()]
        costs = measure_call_costs(versions, options.texts, Path(folder), texts, read_queries(texts, QUERIES))
    facts = [f"Records: {costs[-1].decisions} real decisions, and episodes"]
    more = " --before CHECKOUT" if before else ""
    _write_mode(options, "costs", "What a call costs", render_costs(costs), facts, more)


def _measure_workers(options: argparse.Namespace, _: float) -> None:
    parts = [WORKERS_READING, measure_workers(ROOT / "docs" / "decisions", options.redis)]
    _write_mode(options, "workers", "Speed of several workers", parts)


def _measure_hooks(options: argparse.Namespace, _: float) -> None:
    parts = render_hooks(measure_hooks())
    _write_mode(options, "hooks", "Speed of hooks", parts)


def _measure_patterns(options: argparse.Namespace, _: float) -> None:
    parts = render_patterns(measure_patterns())
    _write_mode(options, "patterns", "Speed of patterns of paths", parts)


def _measure_pages(options: argparse.Namespace, _: float) -> None:
    """Measure the page for people, over every size of `--sizes`. Raises NoBrowser."""
    rounds = min(PAGE_ROUNDS, options.rounds)
    with chromium() as browser:
        material = _prepare(options.texts)
        found = [_pages_of(browser, material, size, rounds, options.stores) for size in options.sizes]
        versions = describe_versions() | {"chromium": browser.version}
    command = f"{_COMMAND} --pages --sizes {_listed(options.sizes)} --rounds {rounds}"
    parts, made_by = render_pages(found), f"{_COMMAND} --pages"
    _write(options, page("Speed of the page for people", made_by, command, parts, versions=versions))


def _pages_of(browser: Browser, material: Material, size: int, rounds: int, stores: Path | None) -> PageBlock:
    corpus = make_decisions(material.texts, material.vectors, size)
    show_progress(f"{size} decisions: filling the store and its indexes")
    with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
        settings = Settings(data_dir=(stores or Path(folder)) / str(size) / "data")
        fill(settings, corpus, material.embedder.model)
        show_progress("  measuring the page")
        with served(settings) as caller:
            return measure_pages(browser, caller, size, material.asked.fresh, rounds)


def _write_mode(
    options: argparse.Namespace,
    mode: str,
    title: str,
    parts: Iterable[str],
    facts: Iterable[str] = (),
    more: str = "",
) -> None:
    """Write the section of a mode without sizes; `more` are further options of its command."""
    command = f"{_COMMAND} --{mode}"
    _write(options, page(title, command, f"{command}{more}", parts, facts))


def _write(options: argparse.Namespace, text: str) -> None:
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    else:
        PAGE.write_text(replace_section(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    show_progress(f"wrote {options.output or PAGE}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=_COMMAND, description="Measure, with controls.")
    parser.add_argument("--sizes", type=sizes, default="1k,10k,100k", help="decisions with one window each")
    parser.add_argument("--real", type=sizes, default="", metavar="SIZES", help="decisions with all their windows")
    parser.add_argument("--kinds", type=sizes, default="", metavar="SIZES", help="instead: every method, all kinds")
    parser.add_argument("--writes", action="store_true", help="instead: records that agents write")
    parser.add_argument("--costs", action="store_true", help="instead: the CPU time of each call")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="with --costs: an older version, to compare")
    parser.add_argument("--workers", action="store_true", help="instead: one worker and two, with --redis")
    parser.add_argument("--redis", metavar="URL", help="with --workers: the Redis that counts the limits of two")
    parser.add_argument("--pages", action="store_true", help="instead: the page for people, in chromium")
    parser.add_argument("--hooks", action="store_true", help="instead: the hooks of an agent's program")
    parser.add_argument("--patterns", action="store_true", help="instead: patterns of paths, also hostile ones")
    parser.add_argument("--rounds", type=positive, default=200, help="calls in each cell")
    parser.add_argument("--quick", action="store_true", help="at most 50 rounds, and a short ingest")
    parser.add_argument("--stores", type=Path, metavar="FOLDER", help="keeps filled stores between runs")
    parser.add_argument("--texts", type=Path, default=default_texts(), help="folder with decision records")
    parser.add_argument("--output", type=Path, help="a page of its own, in place of a section of docs/benchmarks.md")
    return parser


def _rounds(options: argparse.Namespace) -> int:
    return min(FEW_ROUNDS, options.rounds) if options.quick else int(options.rounds)


def _prepare(folder: Path) -> Material:
    embedder = packaged_model()
    texts = read_texts(folder, TEXTS)
    queries = read_queries(texts, QUERIES)
    show_progress(f"embedding {len(texts)} texts, unless an earlier run did")
    vectors = embed_texts(embedder, texts)
    known, fresh = queries[:KNOWN], queries[KNOWN:]
    return Material(embedder, texts, vectors, Asked(known, [embedder.embed_query(query) for query in known], fresh))


def _measure(size: int, material: Material, rounds: int, stores: Path | None, *, real_windows: bool) -> Block:
    began = perf_counter()
    corpus = make_decisions(material.texts, material.vectors, size, real_windows=real_windows)
    show_progress(f"{size} decisions with {len(corpus.vectors)} windows: filling the store and its indexes")
    with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
        kept = Path(folder) if stores is None else stores / f"{size}{'-real' if real_windows else ''}"
        settings = Settings(data_dir=kept / "data")
        filled = fill(settings, corpus, material.embedder.model)
        show_progress(
            f"  {filled.records:.0f} s for the store, {filled.neighbours:.0f} s for the indexes; filling raw Chroma"
        )
        raw = RawChroma(Path(folder) / "raw", corpus) if size <= RAW_CHROMA else None
        show_progress("  measuring whole calls")
        asked, few = material.asked, rounds if raw is not None else min(FEW_ROUNDS, rounds)
        with served(settings) as caller:
            calls, embedding = measure_calls(caller, raw, BruteForce(corpus), material.embedder, asked, few)
            load = measure_load(caller, asked.known, asked.fresh)
        show_progress("  measuring the start")
        start = measure_start(settings)
    show_progress(f"  done after {perf_counter() - began:.0f} s")
    return Block(size, len(corpus.vectors), filled, calls, embedding, load, start)


def _listed(sizes: Sequence[int]) -> str:
    return ",".join(map(str, sizes))


if __name__ == "__main__":
    sys.exit(main())
