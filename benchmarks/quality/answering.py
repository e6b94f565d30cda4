"""The real command and the real server under one model, and what a search finds in each mode."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.quality.measures import Grades, Scores, fuse_ranks, score
from benchmarks.serving import Caller, NotServing, clean_environment, result_of, run_cstp, served, wait_until_ready
from cstp_server.settings import EmbeddingSettings, Settings

KEYWORD: Final = "keyword (BM25)"
SEMANTIC: Final = "semantic"
HYBRID: Final = "hybrid"
RRF: Final = "both by RRF, k = 60"
MODES: Final = {KEYWORD: "keyword", SEMANTIC: "semantic", HYBRID: "hybrid"}

Find = Callable[[str, str], Sequence[str]]  # a mode and a query to ids, best first


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model: `minilm`, `none` for keywords alone, or a folder with `model.onnx` and `tokenizer.json`."""

    given: str

    @property
    def name(self) -> str:
        return Path(self.given).name

    @property
    def settings(self) -> EmbeddingSettings:
        if self.given in ("minilm", "none"):
            return EmbeddingSettings(model=self.given)
        return EmbeddingSettings(model="onnx", path=str(Path(self.given).absolute()))

    @property
    def variables(self) -> Mapping[str, str]:
        """The settings as the command and the server take them."""
        settings = self.settings
        variables = {"CSTP_EMBEDDING__MODEL": settings.model}
        return variables if settings.path is None else variables | {"CSTP_EMBEDDING__PATH": settings.path}


NO_MODEL: Final = Model("none")


def ingest(folder: Path, model: Model, write: Callable[[Path], object]) -> Path:
    """Return the data folder of the records that `write` writes to a file, below the folder.

    An earlier run's vectors there are kept. Raises NotServing if `cstp ingest` refuses a record.
    """
    data, records = folder / "data", folder / "records.jsonl"
    data.mkdir(parents=True, exist_ok=True)
    write(records)
    words = ["ingest", "--json", str(records), "--data-dir", str(data)]
    if rejected := json.loads(run_cstp(words, clean_environment(model.variables)).splitlines()[-1]).get("rejected"):
        raise NotServing(f"cstp ingest {records} refused records: {rejected}")
    return data


@contextmanager
def answering(model: Model, data: Path) -> Iterator[Caller]:
    """Run `cstp serve` over `data`, once it is ready, until the block ends. Raises NotServing if it does not become so.

    Its searches wait longer than usual, and so do its connections: a busy machine must not cost a result.
    """
    settings = Settings(data_dir=data, embedding=model.settings)
    patient = {f"CSTP_{name}__DEADLINE_SECONDS": "60" for name in ("STORE", "VECTORS", "EMBEDDING")}
    patient |= {"CSTP_SERVER__HANDLER_SECONDS": "120", "CSTP_SERVER__IDLE_SECONDS": "600"}
    with served(settings, {**model.variables, **patient}) as caller:
        wait_until_ready(caller.port)
        yield caller


def finder(caller: Caller, method: str, member: str, limit: int) -> Find:
    """Return a search that asks `method` for `limit` results, which the answer has as `member`."""

    def find(mode: str, query: str) -> list[str]:
        result = result_of(caller.send(method, {"query": query, "mode": mode, "limit": limit}))
        return [found["id"] for found in result[member]]

    return find


def compare(
    find: Find, queries: Mapping[str, str], judgements: Mapping[str, Grades], model: Model
) -> dict[str, Scores]:
    """Return the scores of every mode that the model allows, and of the control: both orders fused by ranks."""
    modes = {KEYWORD: MODES[KEYWORD]} if model == NO_MODEL else MODES
    found = {name: {id: list(find(mode, query)) for id, query in queries.items()} for name, mode in modes.items()}
    if model != NO_MODEL:
        found[RRF] = {id: fuse_ranks([found[KEYWORD][id], found[SEMANTIC][id]]) for id in queries}
    return {name: score(rankings, judgements) for name, rankings in found.items()}
