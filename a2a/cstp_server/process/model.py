"""The embedding model chosen in the settings. Imports little, so a start can load it in parallel to the rest."""

from typing import Final

from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.open import EmbeddingChoice, open_embedder
from cstp_server.settings import Settings

LOCAL_MODELS: Final = ("minilm", "onnx")


def open_model(settings: Settings) -> Embedder | None:
    """Load the configured embedding model; None for `none`. Raise ConfigurationError naming the setting."""
    chosen = settings.embedding
    return open_embedder(
        EmbeddingChoice(
            model=chosen.model,
            path=chosen.path,
            pooling=chosen.pooling,
            query_prefix=chosen.query_prefix,
            text_prefix=chosen.text_prefix,
            settings=chosen.settings,
        )
    )
