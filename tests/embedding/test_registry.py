import re
from collections.abc import Iterator

import numpy as np
import pytest
from chromadb.api.types import Documents, EmbeddingFunction, Embeddings
from chromadb.utils.embedding_functions import known_embedding_functions, register_embedding_function

from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.open import EmbeddingChoice, open_embedder
from cognition_engines.errors import ComponentFailed, ConfigurationError, NotWanted

ANSWERS = {
    "nan": [float("nan"), 1.0, 1.0, 1.0, 1.0],
    "infinite": [float("inf"), 1.0, 1.0, 1.0, 1.0],
    "zero": [0.0] * 5,
    "short": [1.0],
}


class LettersFunction(EmbeddingFunction[Documents]):
    """A letter counter: a function of the registry without network use."""

    def __init__(self, letters: str = "aeiou", scale: float = 2.0) -> None:
        self.letters = letters
        self.scale = scale

    def __call__(self, input: Documents) -> Embeddings:
        if "secret" in input[0]:
            raise RuntimeError(f"cannot embed {input[0]}")
        if input[0] in ANSWERS:
            return [np.array(ANSWERS[input[0]], np.float32)]
        return [np.array([self.scale * (1 + text.count(x)) for x in self.letters], np.float32) for text in input]

    @staticmethod
    def name() -> str:
        return "letters"

    @staticmethod
    def build_from_config(config: dict[str, object]) -> "LettersFunction":
        return LettersFunction(str(config["letters"]))

    def get_config(self) -> dict[str, object]:
        return {"letters": self.letters, "scale": self.scale}


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register_embedding_function(LettersFunction)  # type: ignore[no-untyped-call]
    yield
    del known_embedding_functions["letters"]


def letters(**settings: object) -> Embedder:
    opened = open_embedder(EmbeddingChoice(model="chroma:letters", settings=settings))
    assert opened is not None
    return opened


def test_a_registry_function_embeds_a_text_as_one_window() -> None:
    embedder = letters()
    vectors = embedder.embed_text("an avocado " * 500)
    assert (vectors.shape, vectors.dtype.name) == ((1, 5), "float32")
    np.testing.assert_allclose(np.linalg.norm(vectors), 1, atol=1e-6)
    np.testing.assert_array_equal(embedder.embed_query("an avocado " * 500), vectors[0])


def test_a_query_without_waiters_is_not_embedded() -> None:
    with pytest.raises(NotWanted):
        letters().embed_query("secret", lambda: False)


def test_the_dimension_is_that_of_its_answers_asked_for_or_not() -> None:
    assert letters(letters="abc").dim == 3
    embedder = letters(letters="abcd")
    embedder.embed_text("text")
    assert embedder.dim == 4


def test_the_identity_follows_the_settings() -> None:
    names = [letters().model, letters(letters="abc").model, letters(letters="abc", scale=1.0).model]
    assert len(set(names)) == 3
    assert letters(scale=1.0, letters="abc").model == names[2]
    assert all(re.fullmatch(r"chroma-letters-[0-9a-f]{12}", name) for name in names)


def test_a_function_error_is_reported_by_type_alone() -> None:
    for embed in (letters().embed_query, letters().embed_text):
        with pytest.raises(ComponentFailed) as failed:
            embed("my secret key")
        assert failed.value.component == "embedder"
        assert "RuntimeError" in str(failed.value)
        assert "secret" not in str(failed.value)


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_other_than_a_vector_of_the_known_dimension_is_refused(text: str) -> None:
    embedder = letters()
    assert embedder.dim == 5
    with pytest.raises(ComponentFailed):
        embedder.embed_query(text)


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("nothing", {}, r"embedding\.model: .*'nothing'"),
        ("letters", {"letter": "a"}, r"embedding\.settings: .*letter"),
        ("letters", {"letters": 5, "scale": {1, 2}}, r"embedding\.settings: .*JSON"),
        ("openai", {"api_key": "abc"}, r"embedding\.settings\.api_key: .*environment"),
        ("openai", {"default_headers": {"Authorization": "abc"}}, r"embedding\.settings\.default_headers: "),
    ],
)
def test_an_unusable_setting_is_named(name: str, settings: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as refused:
        open_embedder(EmbeddingChoice(model=f"chroma:{name}", settings=settings))
    assert "abc" not in str(refused.value)


def test_missing_parts_of_a_function_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHROMA_HUGGINGFACE_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="CHROMA_HUGGINGFACE_API_KEY"):
        open_embedder(EmbeddingChoice(model="chroma:huggingface"))
