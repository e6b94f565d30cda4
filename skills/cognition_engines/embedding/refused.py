"""Texts refused by a working model: their records are stored without vectors."""

from typing import Final

from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.errors import ComponentFailed

PROBE: Final = "Does the model work?"


class RefusedText(ComponentFailed):
    """A working model refuses a text, for this reason."""

    def __init__(self, component: str, reason: str) -> None:
        super().__init__(component, reason)
        self.reason = reason


def embed_alone(text: str, embedder: Embedder) -> FloatArray:
    """Return a text's vectors, at the second attempt if the model works otherwise.

    Raise RefusedText if it refuses only this text, ComponentFailed if it fails.
    """
    try:
        return embedder.embed_text(text)
    except ComponentFailed:
        embedder.embed_text(PROBE)
    try:
        return embedder.embed_text(text)
    except ComponentFailed as error:
        raise RefusedText(error.component, str(error).removeprefix(f"{error.component}: ")) from error


def embed_or_refuse(text: str, embedder: Embedder) -> FloatArray | RefusedText:
    """Return a text's vectors, or the refusal. Raise ComponentFailed if the model fails."""
    try:
        return embed_alone(text, embedder)
    except RefusedText as refused:
        return refused
