"""A transformer run with onnxruntime: the packaged MiniLM, or a folder with `model.onnx` and `tokenizer.json`.

Nothing is downloaded. Each window is a call with batch size 1: dynamically quantised models scale activations over the
whole batch, so a text's vector would otherwise depend on neighbours.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from cognition_engines.embedding.base import (
    MAX_WINDOWS,
    QUERY_WINDOWS,
    STEP,
    WINDOW,
    FloatArray,
    checked_identity,
    unit_vectors,
    windows,
)
from cognition_engines.errors import ComponentFailed, ConfigurationError, ForeignCalls, NotWanted
from cognition_engines.wanted import Wanted, always

Pooling = Literal["mean", "cls"]

_OVERLAP: Final = WINDOW - STEP
_KNOWN_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_TOKEN_OUTPUTS: Final = ("last_hidden_state", "token_embeddings")
_SLOW_FUSION: Final = "SkipLayerNormFusion"  # a fused operator takes twice the time of the two it replaces


_PACKAGED: Final = Path(__file__).parent / "minilm"


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A file in the packaged model, and the required hash."""

    name: str
    sha256: str


MINILM_WEIGHTS: Final = PackagedFile("model.onnx", "8fdf910da1b3a583caae96790f6d3ab3a3a154a2811937b6f06238b140a3ff78")
MINILM_TOKENIZER: Final = PackagedFile(
    "tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """File contents for an OnnxEmbedder. `setting` is the setting that named the files, for messages."""

    name: str
    setting: str
    weights: bytes
    tokenizer: bytes


def packaged_bytes(file: PackagedFile, folder: Path = _PACKAGED) -> bytes:
    """Return the content of a packaged model file.

    Raise ConfigurationError, with the command that helps, if it is absent or differs from the expected file.
    """
    path = folder / file.name
    remedy = "install the server again from where it came, with pip install --force-reinstall"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"embedding.model: {path} cannot be read ({error.strerror}); {remedy}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise ConfigurationError(f"embedding.model: {path} has SHA-256 {found}, expected {file.sha256}; {remedy}")
    return content


def packaged_model() -> ModelFiles:
    """Return all-MiniLM-L6-v2 in int8, 384 dimensions, as it comes with the server; see minilm/README.md."""
    return ModelFiles("minilm", "embedding.model", packaged_bytes(MINILM_WEIGHTS), packaged_bytes(MINILM_TOKENIZER))


def model_folder(folder: Path) -> ModelFiles:
    """Read the model in a folder; raise ConfigurationError if either file cannot be read."""
    try:
        weights, tokenizer = ((folder / name).read_bytes() for name in ("model.onnx", "tokenizer.json"))
    except OSError as error:
        raise ConfigurationError(
            f"embedding.path: {error.filename} cannot be read ({error.strerror}); "
            "name a folder with model.onnx and tokenizer.json"
        ) from error
    return ModelFiles("onnx", "embedding.path", weights, tokenizer)


class OnnxEmbedder:
    """An Embedder over an onnxruntime session. Thread-safe; onnxruntime runs without the GIL.

    A text is cut into windows of 254 tokens, prefix included. A longer query is the mean over the windows: all, or
    four, namely the first, the last and two evenly between them.
    """

    def __init__(
        self,
        files: ModelFiles,
        pooling: Pooling = "mean",
        query_prefix: str = "",
        text_prefix: str = "",
        threads: int = 1,
    ) -> None:
        """Load the model and try it on a full window.

        `threads` is the number of onnxruntime threads within a call, at least 1. Raise ConfigurationError, which names
        the setting, if a file is no model, the two do not fit, or a prefix leaves no room for text.
        """
        self._setting = files.setting
        self._pooling = pooling
        try:
            with ForeignCalls("embedder"):
                self._tokenizer = _tokenizer(files.tokenizer)
                self._before, self._after = _special_ids(self._tokenizer)
                self._session = _session(files.weights, threads)
            self._inputs, self._output = _signature(self._session, files.setting)
            self._query_prefix = self._prefix(query_prefix, "embedding.query_prefix")
            self._text_prefix = self._prefix(text_prefix, "embedding.text_prefix")
            filler = self._ids("a") or [0]
            self._dim = len(self._embed_window((filler * WINDOW)[:WINDOW]))
        except ComponentFailed as error:
            raise ConfigurationError(f"{files.setting}: the model cannot be used: {error}") from error
        self._model = checked_identity(_identity(files, pooling, text_prefix))

    @property
    def model(self) -> str:
        return self._model

    @property
    def dim(self) -> int:
        return self._dim

    def expect(self, dim: int) -> None:
        if dim != self._dim:
            raise ComponentFailed("embedder", f"the model has {self._dim} dimensions; the vectors stored of it {dim}")

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        vectors = self._embed(text, self._query_prefix, QUERY_WINDOWS, wanted)
        if len(vectors) > 1:
            vectors = unit_vectors(vectors.mean(axis=0, keepdims=True), 1, self._dim)
        vector: FloatArray = vectors[0]
        return vector

    def embed_text(self, text: str) -> FloatArray:
        return self._embed(text, self._text_prefix)

    def windows(self, text: str) -> int:
        with ForeignCalls("embedder"):
            return len(self._split_windows(text, self._text_prefix, MAX_WINDOWS))

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        size = WINDOW - len(self._text_prefix)
        with ForeignCalls("embedder"):
            places = self._tokenizer.encode(text, add_special_tokens=False).offsets
        parts = windows(places, size, size - _OVERLAP)
        return [(part[0][0], part[-1][1]) if part else (0, len(text)) for part in parts]

    def _split_windows(self, text: str, prefix: list[int], most: int) -> list[Sequence[int]]:
        size = WINDOW - len(prefix)
        return windows(self._ids(text), size, size - _OVERLAP, most)

    def _embed(self, text: str, prefix: list[int], most: int = MAX_WINDOWS, wanted: Wanted = always) -> FloatArray:
        answers = []
        with ForeignCalls("embedder"):
            for part in self._split_windows(text, prefix, most):
                if not wanted():
                    raise NotWanted("no caller waits for this embedding any more")
                answers.append(self._embed_window([*prefix, *part]))
        return unit_vectors(answers, len(answers), self._dim)

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _prefix(self, prefix: str, setting: str) -> list[int]:
        with ForeignCalls("embedder"):
            ids = self._ids(prefix)
        if len(ids) > _OVERLAP:
            raise ConfigurationError(f"{setting}: {len(ids)} tokens, at most {_OVERLAP} leave room for the text")
        return ids

    def _embed_window(self, content: Sequence[int]) -> NDArray[np.float64]:
        """Return the pooled answer for a window, not yet of unit length."""
        ids = np.array([[*self._before, *content, *self._after]], np.int64)
        values = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        with ForeignCalls("embedder"):
            answer = self._session.run([self._output], {name: values[name] for name in self._inputs})[0]
            tokens = np.asarray(answer, np.float64)
        if tokens.ndim != 3 or tokens.shape[:2] != ids.shape:
            raise ComponentFailed("embedder", f"the model answered {ids.shape} tokens with shape {tokens.shape}")
        # A single window without padding: the attention mask is all ones, so the mean is the plain mean.
        pooled: NDArray[np.float64] = tokens[0, 0] if self._pooling == "cls" else tokens[0].mean(axis=0)
        return pooled


def _tokenizer(content: bytes) -> Tokenizer:
    tokenizer = Tokenizer.from_str(content.decode("utf-8"))
    # The stored settings cut and pad; windows do the cutting here, and nothing is padded.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # "[SEP]" written in a text is text.
    tokenizer.encode_special_tokens = True
    return tokenizer


def _special_ids(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Return the ids added by the tokenizer before and after a text."""
    encoding = tokenizer.encode("a")
    mask = encoding.special_tokens_mask
    first = mask.index(0)
    last = len(mask) - mask[::-1].index(0)
    return list(encoding.ids[:first]), list(encoding.ids[last:])


def _session(weights: bytes, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Idle threads in the pool would otherwise spin on a core that others need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(
        weights, options, providers=["CPUExecutionProvider"], disabled_optimizers=[_SLOW_FUSION]
    )


def _signature(session: onnxruntime.InferenceSession, setting: str) -> tuple[list[str], str]:
    """Return the graph's inputs, and the output with a vector per token."""
    inputs = [str(value.name) for value in session.get_inputs()]
    unknown = sorted(set(inputs) - _KNOWN_INPUTS)
    if unknown or "input_ids" not in inputs:
        raise ConfigurationError(f"{setting}: the graph wants {inputs}; only {sorted(_KNOWN_INPUTS)} can be given")
    outputs = [str(value.name) for value in session.get_outputs()]
    return inputs, next((name for name in _TOKEN_OUTPUTS if name in outputs), outputs[0])


def _identity(files: ModelFiles, pooling: str, text_prefix: str) -> str:
    weights = hashlib.sha256(files.weights).hexdigest()[:12]
    scheme = f"w{WINDOW}s{STEP}"
    if files.name == "minilm":
        return f"minilm-{weights}-{scheme}"
    # All inputs that change a stored vector; the query prefix does not.
    rest = b"\0".join((files.tokenizer, pooling.encode(), text_prefix.encode()))
    return f"{files.name}-{weights}-{hashlib.sha256(rest).hexdigest()[:6]}-{scheme}"
