"""An embedding function from Chroma's registry as an Embedder.

The only module here that imports chromadb, which takes seconds: `open_embedder` loads it on demand.
"""

import hashlib
import inspect
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from chromadb.api.types import EmbeddingFunction
from chromadb.utils.embedding_functions import known_embedding_functions

from cognition_engines.embedding.base import FloatArray, checked_identity, unit_vectors
from cognition_engines.errors import ComponentFailed, ConfigurationError, ForeignCalls, NotWanted
from cognition_engines.wanted import Wanted, always

_SECRET_ENDINGS: Final = ("key", "token", "secret", "password", "credentials", "headers", "session")
_PROBE: Final = "dimension"


class RegistryEmbedder:
    """An Embedder over a registry function: each text is a single call and window; only the function limits length."""

    def __init__(self, function: EmbeddingFunction[Any], model: str) -> None:
        """Take `model` as the identity; raise ConfigurationError if `checked_identity` refuses it."""
        self._function = function
        self._model = checked_identity(model)
        self._dim: int | None = None
        self._settling = threading.Lock()

    @property
    def model(self) -> str:
        return self._model

    @property
    def dim(self) -> int:
        """Return the vector length, as in the first answer; without an earlier answer, call the function once."""
        if self._dim is None:
            self.embed_query(_PROBE)
        if self._dim is None:
            raise ComponentFailed("embedder", "the dimension is not known")
        return self._dim

    def expect(self, dim: int) -> None:
        with self._settling:
            self._dim = dim

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        if not wanted():
            raise NotWanted("no caller waits for this embedding any more")
        with ForeignCalls("embedder"):
            answer = self._function.embed_query([text])
        vector: FloatArray = self._check_vectors(answer)[0]
        return vector

    def embed_text(self, text: str) -> FloatArray:
        with ForeignCalls("embedder"):
            answer = self._function([text])
        return self._check_vectors(answer)

    def windows(self, text: str) -> int:
        return 1

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        return [(0, len(text))]

    def _check_vectors(self, answer: Any) -> FloatArray:
        vectors = unit_vectors(answer, 1, self._dim)
        with self._settling:
            if self._dim is None:
                self._dim = vectors.shape[1]
        # The first answers of two threads may differ.
        return unit_vectors(vectors, 1, self._dim)


def open_registry(name: str, settings: Mapping[str, object]) -> RegistryEmbedder:
    """Build the registry's function `name` with `settings` as the constructor's keyword arguments.

    Keys come from the environment only, under the names documented by the function (`api_key_env_var` names another).
    On failure raise ConfigurationError, which names the setting.
    """
    kind = known_embedding_functions.get(name)
    if kind is None:
        known = ", ".join(sorted(known_embedding_functions))
        raise ConfigurationError(f"embedding.model: Chroma has no embedding function {name!r}; it has {known}")
    for setting in settings:
        if setting.lower().endswith(_SECRET_ENDINGS):
            raise ConfigurationError(f"embedding.settings.{setting}: keys are read from the environment only")
    try:
        inspect.signature(kind).bind(**settings)
    except TypeError as error:
        raise ConfigurationError(f"embedding.settings: {name}: {error}") from error
    function = _built(kind, name, settings)
    return RegistryEmbedder(function, f"chroma-{name}-{_fingerprint(function, name, settings)}")


def _built(kind: type[EmbeddingFunction[Any]], name: str, settings: Mapping[str, object]) -> EmbeddingFunction[Any]:
    try:
        with ForeignCalls("embedder"):
            return kind(**settings)
    except ComponentFailed as error:
        cause = error.__cause__
        # Chroma says in a plain ValueError which package or environment variable is missing; others may quote values.
        detail = f": {cause}" if type(cause) in (ValueError, ImportError, ModuleNotFoundError) else f" ({error})"
        raise ConfigurationError(f"embedding.settings: {name} cannot be made{detail}") from error


def _fingerprint(function: EmbeddingFunction[Any], name: str, settings: Mapping[str, object]) -> str:
    # The function's own configuration holds defaults, such as the model name, which a release may change.
    try:
        with ForeignCalls("embedder"):
            stated = json.dumps([dict(settings), function.get_config()], sort_keys=True)
    except ComponentFailed as error:
        raise ConfigurationError(f"embedding.settings: {name}: only plain JSON values can be given") from error
    return hashlib.sha256(stated.encode()).hexdigest()[:12]
