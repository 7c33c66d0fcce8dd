"""Output types of the fused nodes that ONNX Runtime's optimiser makes (domain com.microsoft and its like).

ONNX's shape inference does not know them. Shapes are those of the operators' published documentation
(ContribOperators.md of ONNX Runtime).
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

Type = tuple[int, list[int]]  # element type, shape


def output_types(node: Any, inputs: Sequence[Type | None]) -> list[Type | None]:
    """A type for each output, as far as there is a rule; [] without one. The inputs' shapes are known."""
    rule = _RULES.get(node.op_type)
    if rule is None or not inputs or inputs[0] is None:
        return []
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    return rule(list(inputs), attributes)


def _like_input(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    return [inputs[0]]


def _skip_norm(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    """Output, mean, inverse deviation, and the sum of the inputs."""
    element_type, shape = inputs[0]
    moments = (1, [*shape[:-1], 1])  # 1: f32
    return [(element_type, shape), moments, moments, (element_type, shape)]


def _embed(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    """Ids [batch, length], segments, words [n, width]: rows; a mask index [batch]; the rows' sum."""
    batch, length = inputs[0][1]
    rows = (inputs[2][0], [batch, length, inputs[2][1][1]])
    return [rows, (inputs[0][0], [batch]), rows]


def _matmul(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    (element_type, a), (_, b) = inputs[0], inputs[1]
    rows = a[-1] if attributes.get("transA") else a[-2]
    columns = b[-2] if attributes.get("transB") else b[-1]
    rank = max(len(a), len(b)) - 2
    batches = [max(pair) for pair in zip([1] * (rank + 2 - len(a)) + a[:-2], [1] * (rank + 2 - len(b)) + b[:-2])]
    return [(element_type, [*batches, rows, columns])]


def _attention(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    """Input [batch, length, in], weights [in, 3 width] (q, k, v of equal widths)."""
    element_type, (batch, length, _) = inputs[0]
    width = inputs[1][1][1] // 3
    heads = attributes["num_heads"]
    past = inputs[4][1][3] if len(inputs) > 4 and inputs[4] is not None else 0
    return [(element_type, [batch, length, width]),
            (element_type, [2, batch, heads, past + length, width // heads])]


def _multi_head_attention(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    """Query [batch, length, width], value [batch, length, width of v] or [batch, heads, length, width of v / heads]."""
    element_type, query = inputs[0]
    value = inputs[2] if len(inputs) > 2 else None
    if len(query) == 5:  # packed: [batch, length, heads, 3, width]
        return [(element_type, [query[0], query[1], query[2] * query[4]])]
    heads = attributes["num_heads"]
    if value is None:  # keys and values packed: [batch, length, heads, 2, width]
        return [(element_type, list(query))]
    shape = value[1]
    width = shape[2] if len(shape) == 3 else shape[1] * shape[3]
    length = (shape[1] if len(shape) == 3 else shape[2]) \
        + (inputs[6][1][2] if len(inputs) > 6 and inputs[6] is not None else 0)
    return [(element_type, [query[0], query[1], width]),
            (element_type, [query[0], heads, length, query[2] // heads]),
            (element_type, [query[0], heads, length, width // heads])]


def _columns(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    return [(inputs[0][0], [*inputs[0][1][:-1], attributes["N"]])]


_RULES: dict[str, Callable[[list[Type | None], dict[str, int]], list[Type | None]]] = {
    **dict.fromkeys("""Gelu FastGelu BiasGelu QuickGelu BiasAdd BiasSoftmax SimplifiedLayerNormalization
        LayerNormalization RotaryEmbedding QLinearSigmoid QLinearLeakyRelu QLinearSoftmax GroupNorm""".split(),
                    _like_input),
    "SkipLayerNormalization": _skip_norm, "SkipSimplifiedLayerNormalization": _skip_norm,
    "EmbedLayerNormalization": _embed, "FusedMatMul": _matmul, "Attention": _attention,
    "MultiHeadAttention": _multi_head_attention, "MatMulNBits": _columns,
}
