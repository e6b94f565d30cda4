"""Index files truncated, grown, replaced by noise or removed, between two runs and under a running server.

Every answer is complete or names the part; damage is set aside and the index rebuilt automatically.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from cognition_engines.kinds.registry import embedding_text
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision
from cognition_engines.store.records import open_records
from tests.chaos.asking import Answer, callers
from tests.chaos.embedder.chaos_embedder import vector_of
from tests.chaos.process import Served
from tests.chaos.questions import Questions
from tests.chaos.store import GROUP, MODEL, decision, fill, use_embedder

DIM = 8
ASKED = (3400, 16)  # records, and windows of each: enough for Chroma to be used
SETTINGS: Mapping[str, object] = {"dim": DIM}
TERABYTE = 1 << 40
PATIENCE = 10.0
NOTICED_WITHIN = 1.0
REBUILT_WITHIN = 120.0
KEYWORD_FILES = ("term", "idx", "fast", "fieldnorm", "store", "pos", "del", "meta.json", ".managed.json")
CHROMA_FILES = ("chroma.sqlite3", "data_level0.bin", "link_lists.bin", "header.bin", "length.bin", ".pickle")


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def grown(path: Path) -> None:
    """Grow a file sparsely, without using space."""
    os.truncate(path, TERABYTE)


def noisy(path: Path) -> None:
    """Overwrite a file with noise in place, at equal length."""
    with path.open("r+b") as file:
        file.write(Random(path.name).randbytes(path.stat().st_size))


def removed(path: Path) -> None:
    path.unlink()


DAMAGES: tuple[Callable[[Path], None], ...] = (noisy, truncated, grown, removed)


def windows_of(one: Decision, count: int) -> Any:
    """Return the text's vector and nearby vectors."""
    centre = vector_of(embedding_text(one), DIM)
    around = centre + 0.2 * np.stack([vector_of(f"{number} {one.id}", DIM) for number in range(1, count)])
    return np.concatenate((centre[None], around / np.linalg.norm(around, axis=1, keepdims=True))).astype(np.float32)


@dataclass
class Victim:
    """A server with damaged index files, and the observed state."""

    server: Served
    questions: Questions
    deaths: int = 0
    wrong: int = 0  # incomplete answers before the damage could be noticed
    answered: int = 0
    refused: int = 0
    rebuilt: list[float] = field(default_factory=list)

    def files(self, kind: str) -> list[Path]:
        """Return keyword index files, or files of Chroma's newest folder, with these endings."""
        folder = self.server.data_dir / "indexes" / "decisions"
        if kind in KEYWORD_FILES:
            return [*(folder / "keywords").glob(f"*{kind}")]
        newest = max(folder.glob("chroma-*"), key=lambda path: int(path.name.rpartition("-")[2]))
        return [*newest.rglob(f"*{kind}")]

    def watch(self, deed: Callable[[], object], *parts: str) -> None:
        """Damage under questions, until both indexes are complete again.

        Answers may fail for a part in `parts`; the process may die once, and is restarted.
        """
        with callers(self.server, 2, self.questions, pause=0.01) as noted:
            poll(lambda: len(noted.answers) > 4)
            began = time.monotonic()
            deed()
            poll(lambda: time.monotonic() - began > NOTICED_WITHIN)
            died = False

            def whole() -> bool:
                nonlocal died
                if not self.server.alive():
                    assert not died, f"died again; {self.server.last_log()}"
                    died = True
                    self.server.start(port=self.server.port)
                return self._ready()

            poll(whole)
            self.rebuilt.append(time.monotonic() - began)
            count = len(noted.answers) + 2 * len(self.questions.requests())
            poll(lambda: len(noted.answers) > count)
        self.deaths += died
        self._judge([answer for answer in noted.answers if not (died and answer.status == 0)], began, parts)

    def _ready(self) -> bool:
        try:
            parts = json.loads(self.server.request("GET", "/readyz")[1])["parts"]
        except (OSError, HTTPException):
            return False  # it is dying
        return parts["keywords"] == parts["vectors"] == "ready"

    def _judge(self, answers: Sequence[Answer], began: float, parts: Sequence[str]) -> None:
        for answer in answers:
            assert answer.seconds < PATIENCE, answer
            if answer.result is None:
                assert answer.failed_part in parts, f"{answer}; {self.server.last_log()}"
                self.refused += 1
            elif self.questions.whole(answer):
                self.answered += 1
            else:
                assert began < answer.at < began + NOTICED_WITHIN, answer
                self.wrong += 1


def poll(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + REBUILT_WITHIN
    while not condition():
        assert time.monotonic() < deadline, f"did not happen within {REBUILT_WITHIN:g} s"
        time.sleep(0.01)


@pytest.fixture
def victim(served: Callable[..., Served], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chaos_scale: Any) -> Victim:
    """Start the server with both indexes built."""
    use_embedder(monkeypatch)
    count, windows = chaos_scale.pick((1000, 2), ASKED)
    records = open_records(f"sqlite:///{tmp_path}/data/records.sqlite3")
    fill(records, (decision(f"base-{number}") for number in range(count)), partial(windows_of, count=windows), SETTINGS)
    records.delete(Kind.DECISION, [f"base-{count - 1}"])  # so that there is a file of deletions too
    records.close()
    server = served(MODEL | {"embedding.settings": SETTINGS}, data_dir=tmp_path / "data")
    found = Victim(server, Questions(count - GROUP, every=count // 8))
    poll(found._ready)
    return found


Case = Mapping[str, Callable[[Path], None]]  # file kinds with their damage


def cases(long: bool) -> list[Case]:
    """Return simultaneous damages; in the short form each damage once, and both indexes together."""
    if long:
        return [{kind: spoil} for kind in (*KEYWORD_FILES, *CHROMA_FILES) for spoil in DAMAGES]
    return [{"term": noisy, "chroma.sqlite3": truncated}, {"idx": grown, "link_lists.bin": removed}]


def files_of(victim: Victim, case: Case, long: bool) -> list[tuple[Path, Callable[[Path], None]]]:
    """Return the files of a case, each with its damage."""
    found = [(file, spoil) for kind, spoil in case.items() for file in victim.files(kind)]
    assert long or all(map(victim.files, case)), case  # not every version of an index has files of all kinds
    return found


def parts_of(case: Case) -> list[str]:
    """Return the parts that answers may name."""
    return ["keywords"] if set(case) & set(KEYWORD_FILES) else []


@pytest.mark.timeout(7200)
def test_damage_between_runs_is_rebuilt(victim: Victim, chaos_scale: Any, chaos_report: Callable[..., None]) -> None:
    done = 0
    for case in cases(chaos_scale.long):
        assert victim.server.terminate() == 0
        files = files_of(victim, case, chaos_scale.long)
        for file, spoil in files:
            spoil(file)
        done += len(files)
        victim.server.start()
        victim.watch(int, *parts_of(case))
    assert (victim.deaths, victim.wrong) == (0, 0)
    report(chaos_report, victim, "between two runs", done)


@pytest.mark.timeout(7200)
@pytest.mark.usefixtures("long_form")
def test_damage_while_running_is_rebuilt(victim: Victim, chaos_scale: Any, chaos_report: Callable[..., None]) -> None:
    done = 0
    for case in cases(chaos_scale.long):
        files = files_of(victim, case, chaos_scale.long)

        def deed(files: Sequence[tuple[Path, Callable[[Path], None]]] = files) -> None:
            for file, spoil in files:
                spoil(file)

        victim.watch(deed, *parts_of(case))
        done += len(files)
    assert victim.wrong == 0
    assert victim.server.terminate() == 0
    victim.server.start()
    victim.watch(int)
    report(chaos_report, victim, "under a running server", done)


def report(chaos_report: Callable[..., None], victim: Victim, when: str, times: int) -> None:
    names = ", ".join(spoil.__name__ for spoil in DAMAGES)
    chaos_report(
        "3",
        f"files of tantivy and of Chroma {when}: {names}",
        times,
        f"{victim.answered:,} answers whole, {victim.refused} times -32003 keywords, {victim.wrong} lacked something "
        f"before it was noticed; {victim.deaths} times the process died and one restart mended it; whole again after "
        f"{max(victim.rebuilt):.1f} s at most",
    )
