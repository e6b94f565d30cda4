"""Indexes of a store: following, rebuilding, changing the model, closing."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.indexes.indexes import open_indexes
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Viewer
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import Records
from cognition_engines.wanted import Wanted, always
from tests.stored import models


@dataclass
class Run:
    """Common state of the tests below."""

    records: Records
    put: Callable[..., None]
    opened: Callable[..., Any]
    seeded: Callable[..., Any]
    nearest: Callable[..., list[str]]
    worded: Callable[..., list[str]]
    folder: Path

    @property
    def files(self) -> Path:
        """Return the files of the decision space."""
        return self.folder / "decisions"

    def finds(self, indexes: Any, id: str, text: str = "", model: str = "seeded-a") -> bool:
        """Return whether both legs rank this record first."""
        vector = self.seeded(model).embed_query(f"{id}\n{text}")
        return self.nearest(indexes, vector, 1) == [id] and id in self.worded(indexes, f"{id} {text}", 9)


@pytest.fixture
def run(records, put, opened, seeded, nearest, worded, tmp_path) -> Run:  # type: ignore[no-untyped-def]
    return Run(records, put, opened, seeded, nearest, worded, tmp_path / "indexes")


NAMES = ("otter", "falcon", "gecko", "heron", "lynx", "marten")


def test_written_changed_and_deleted_records_are_followed(run: Run, wait_until: Callable[..., None]) -> None:
    model = run.seeded()
    run.put(model, *NAMES)
    indexes = run.opened(model)
    assert all(run.finds(indexes, name) for name in NAMES)
    run.put(model, "otter", text="changed")
    run.put(model, "newcomer")
    run.records.delete(Kind.DECISION, ["lynx"])
    wait_until(lambda: indexes[DECISIONS].snapshot.seq == run.records.last_seq())
    assert run.finds(indexes, "otter", "changed")
    assert run.finds(indexes, "newcomer")
    assert run.worded(indexes, "lynx") == []
    assert "lynx" not in run.nearest(indexes, model.embed_query("lynx\n"), 50)
    assert indexes[DECISIONS].vectors.wait_until_ready()
    assert len(indexes[DECISIONS].vectors.nearest(model.embed_query("lynx\n"), 50)) == len(NAMES)


@pytest.mark.embedded_only("looks at Chroma's folder")
def test_a_clean_close_is_trusted_by_the_next_start(run: Run) -> None:
    run.put(run.seeded(), *NAMES)
    run.opened(run.seeded()).close()
    assert (run.files / "chroma.clean.json").exists()
    indexes = run.opened(run.seeded())
    assert not (run.files / "chroma.clean.json").exists()
    assert not (run.files / "chroma-2").exists()
    assert indexes[DECISIONS].keywords.set_aside is None
    assert all(run.finds(indexes, name) for name in NAMES)


@pytest.mark.embedded_only("a server loads its collections itself")
def test_a_collection_is_loaded_by_the_first_search_without_delay(run: Run, wait_until: Callable[..., None]) -> None:
    run.put(run.seeded(), *NAMES)
    run.opened(run.seeded()).close()
    indexes = run.opened(run.seeded(), ready=False)
    vectors = indexes[DECISIONS].vectors
    wait_until(lambda: vectors.state == "ready")
    query = run.seeded().embed_query("otter\n")

    def known() -> int | None:
        found = vectors.nearest(query, 9)
        return None if found is None else len(found)

    assert known() is None
    assert all(run.finds(indexes, name) for name in NAMES)
    wait_until(lambda: known() == len(NAMES))
    run.put(run.seeded(), "newcomer")
    wait_until(lambda: known() == len(NAMES) + 1)
    assert not (run.files / "chroma-2").exists(), "it is the same one still"


def noise(path: Path) -> None:
    content = bytearray(path.read_bytes())
    random = Random(1)
    for place in range(0, len(content), 97):
        content[place] = random.randrange(256)
    path.write_bytes(bytes(content))  # the size stays


def test_another_model_embeds_and_never_meets_old_vectors(run: Run, wait_until: Callable[..., None]) -> None:
    first, second = run.seeded("seeded-a", 8), run.seeded("seeded-b", 4)
    run.put(first, *NAMES)
    run.opened(first).close()
    indexes = run.opened(second, ready=False)
    assert indexes[DECISIONS].snapshot.vectors.shape[1] == 4
    wait_until(lambda: models(run.records) == {"seeded-a": 6, "seeded-b": 6})
    wait_until(
        lambda: (
            indexes[DECISIONS].snapshot.seq == run.records.last_seq() and indexes[DECISIONS].vectors.state == "ready"
        )
    )
    assert indexes[DECISIONS].snapshot.vectors.shape == (6, 4)
    for name in NAMES:
        vector = second.embed_query(f"{name}\n")
        assert run.nearest(indexes, vector, 1) == [name]
        assert indexes[DECISIONS].vectors.wait_until_ready()
        assert len(indexes[DECISIONS].vectors.nearest(vector, 50)) == 6
        assert run.worded(indexes, name) == [name]
    indexes.close()
    again = run.opened(first, ready=False)
    assert again[DECISIONS].snapshot.vectors.shape == (6, 8)
    assert all(run.finds(again, name) for name in NAMES)


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_server_with_a_model_embeds_missing_vectors(run: Run, wait_until: Callable[..., None]) -> None:
    run.put(None, "otter")
    indexes = run.opened(run.seeded())
    wait_until(lambda: models(run.records) == {"seeded-a": 1})
    run.put(None, *NAMES[1:])
    wait_until(lambda: models(run.records) == {"seeded-a": 6})
    wait_until(lambda: indexes[DECISIONS].snapshot.seq == run.records.last_seq())
    assert all(run.finds(indexes, name) for name in NAMES)


def test_a_failing_model_leaves_the_words(run: Run) -> None:
    run.put(None, *NAMES)
    indexes = run.opened(run.seeded(fails=True), ready=False)
    assert run.worded(indexes, "otter") == ["otter"]
    assert models(run.records) == {}


def test_without_a_model_the_indexes_have_words_and_no_vectors(run: Run, wait_until: Callable[..., None]) -> None:
    run.put(None, "otter")
    indexes = run.opened(None)
    assert indexes[DECISIONS].vectors is None
    assert run.worded(indexes, "otter") == ["otter"]
    run.put(None, "falcon")
    wait_until(lambda: run.worded(indexes, "falcon") == ["falcon"])


def words_are_back(run: Run, indexes: Any) -> bool:
    """Return whether words can be searched, and then find everything."""
    with suppress(ComponentFailed):
        indexes[DECISIONS].words(Viewer(), indexes[DECISIONS].snapshot)
        return all(run.finds(indexes, name) for name in NAMES)
    return False


def removed(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    draft = path.with_suffix(".draft")
    draft.write_bytes(b"other content")
    draft.replace(path)


@pytest.mark.parametrize("spoil", [noise, replaced, removed])
@pytest.mark.parametrize("what", ["*.term", "*.store", "meta.json", "*"])
def test_a_keyword_index_damaged_in_use_is_rebuilt_beside_the_answers(
    run: Run, wait_until: Callable[..., None], spoil: Callable[[Path], None], what: str
) -> None:
    run.put(run.seeded(), *NAMES)
    indexes = run.opened(run.seeded())
    first = indexes[DECISIONS].keywords
    for file in (run.files / "keywords").glob(what):
        spoil(file)
    run.put(run.seeded(), "newcomer")
    wait_until(lambda: indexes[DECISIONS].keywords is not first)
    wait_until(lambda: indexes[DECISIONS].snapshot.seq == run.records.last_seq())
    wait_until(lambda: words_are_back(run, indexes))
    assert run.finds(indexes, "newcomer")
    indexes.close()
    again = run.opened(run.seeded())
    assert all(run.finds(again, name) for name in (*NAMES, "newcomer"))


def test_an_invalid_chroma_server_address_is_refused_at_once_and_the_folder_is_free(run: Run) -> None:
    with pytest.raises(ConfigurationError, match=r"vectors\.url"):
        open_indexes(run.folder, run.records, run.seeded(), VectorChoice("chroma", "chroma without a scheme"))
    run.opened(run.seeded())


def test_closing_before_and_after_starting_is_quiet(run: Run) -> None:
    indexes = open_indexes(run.folder, run.records, run.seeded(), VectorChoice("chroma", None))
    indexes.close()
    run.opened(run.seeded(), ready=False).close()
    run.opened(run.seeded()).close()


class Choosy:
    """A real model that refuses texts with a certain word."""

    def __init__(self, model: Any) -> None:
        self.model, self.dim, self._real = model.model, model.dim, model
        self.asked: list[str] = []

    def embed_query(self, text: str, wanted: Wanted = always) -> Any:
        return self._real.embed_query(text)

    def embed_text(self, text: str) -> Any:
        self.asked.append(text)
        if "falcon" in text:
            raise ComponentFailed("embedder", "raised BadRequestError")
        return self._real.embed_text(text)


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_bad_text_is_reported_once(
    run: Run, wait_until: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    run.put(None, *NAMES)
    model = Choosy(run.seeded())
    run.opened(model, ready=False)
    embedded = {name for name in NAMES if name != "falcon"}

    def lacking() -> set[str]:
        return {str(stored.record.id) for stored in run.records.reads.without_vectors(DECISIONS, model.model, 0, 50)}

    wait_until(lambda: lacking() == {"falcon"})
    run.put(None, "newcomer")
    wait_until(lambda: lacking() == {"falcon"} and any("newcomer" in text for text in model.asked))
    assert sum("falcon" in text for text in model.asked) == 2  # once more alone
    assert {text.split("\n")[0] for text in model.asked} > embedded
    assert "vectors: decision falcon is set aside (embedder: raised BadRequestError)" in caplog.text
    run.put(None, "falcon", text="changed")
    wait_until(lambda: sum("falcon" in text for text in model.asked) == 4)
