"""The model chosen by the settings in the section `embedding`."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from cognition_engines.embedding.base import Embedder
from cognition_engines.embedding.onnx import OnnxEmbedder, Pooling, model_folder, packaged_model
from cognition_engines.errors import ConfigurationError

_POOLINGS: Final[Mapping[str, Pooling]] = {"mean": "mean", "cls": "cls"}
_REGISTRY_PREFIX: Final = "chroma:"


@dataclass(frozen=True, slots=True)
class EmbeddingChoice:
    """A model choice with options.

    `model` is "minilm" (packaged), "onnx" (the folder `path`), "none" (no vectors) or "chroma:<name>" (Chroma's
    registry, with `settings`). `pooling` ("mean" or "cls") and the prefixes belong to "onnx"; `threads` (at least 1)
    limits the threads in a local model's call.
    """

    model: str = "minilm"
    path: str | None = None
    pooling: str = "mean"
    query_prefix: str = ""
    text_prefix: str = ""
    settings: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    threads: int = 1


def open_embedder(choice: EmbeddingChoice) -> Embedder | None:
    """Return the chosen model, loaded; None for "none".

    Raise ConfigurationError naming the setting if it is wrong, or if the chosen model does not have it.
    """
    if choice.threads < 1:
        raise ConfigurationError(f"embedding.threads: {choice.threads} is below 1")
    if choice.pooling not in _POOLINGS:
        raise ConfigurationError(f'embedding.pooling: {choice.pooling!r} is neither "mean" nor "cls"')
    _refuse_unused(choice)
    if choice.model == "none":
        return None
    if choice.model == "minilm":
        return OnnxEmbedder(packaged_model(), threads=choice.threads)
    if choice.model == "onnx":
        if not choice.path:
            raise ConfigurationError('embedding.path: "onnx" needs a folder with model.onnx and tokenizer.json')
        return OnnxEmbedder(
            model_folder(Path(choice.path)),
            _POOLINGS[choice.pooling],
            choice.query_prefix,
            choice.text_prefix,
            choice.threads,
        )
    if choice.model.startswith(_REGISTRY_PREFIX):
        # Loaded by name: a server without it does not pay for importing chromadb's functions.
        registry = importlib.import_module("cognition_engines.embedding.chroma_function")
        opened: Embedder = registry.open_registry(choice.model.removeprefix(_REGISTRY_PREFIX), choice.settings)
        return opened
    raise ConfigurationError(f'embedding.model: {choice.model!r} is none of "minilm", "onnx", "none", "chroma:<name>"')


def _refuse_unused(choice: EmbeddingChoice) -> None:
    default = EmbeddingChoice()
    unused = []
    if choice.model != "onnx":
        unused += ["path", "pooling", "query_prefix", "text_prefix"]
    if not choice.model.startswith(_REGISTRY_PREFIX):
        unused.append("settings")
    for name in unused:
        if getattr(choice, name) != getattr(default, name):
            raise ConfigurationError(f"embedding.{name}: the model {choice.model!r} has no such setting")
