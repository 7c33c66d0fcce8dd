"""Output types of the fused nodes that ONNX Runtime's optimiser makes (domain com.microsoft and related domains).

ONNX's shape inference does not know them. If such a node extends a standard ONNX node, its output has the type that
ONNX infers for the standard node. Otherwise shapes are those of the operators' published documentation
(ContribOperators.md of ONNX Runtime).
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

Type = tuple[int, list[int]]  # element type, shape


def output_types(node: Any, inputs: Sequence[Type | None]) -> list[Type | None]:
    """Returns a type for each output that has a rule; [] without a rule. The inputs' shapes are known."""
    if not inputs or inputs[0] is None:
        return []
    if node.op_type in _STANDARD:
        return _as_standard(node, inputs, *_STANDARD[node.op_type])
    rule = _RULES.get(node.op_type)
    if rule is None:
        return []
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    return rule(list(inputs), attributes)


def _as_standard(node: Any, inputs: Sequence[Type | None], op_type: str, places: Sequence[int]) -> list[Type | None]:
    """Returns the types that ONNX infers for another node.

    That node has type `op_type`, the attributes of `node`, and the inputs at these places.
    """
    import onnx
    from onnx import helper

    schema = onnx.defs.get_schema(op_type, _OPSET)
    values = [inputs[place] for place in places if place < len(inputs) and inputs[place] is not None]
    feeds = [helper.make_tensor_value_info(f"x{i}", inputs[0][0], shape) for i, (_, shape) in enumerate(values)]
    standard = helper.make_node(op_type, [feed.name for feed in feeds], ["y"])
    standard.attribute.extend(a for a in node.attribute if a.name in schema.attributes)
    graph = helper.make_graph([standard], "one", feeds, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)])
    try:
        found = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type
    except onnx.shape_inference.InferenceError:
        return []
    return [(found.elem_type, [dim.dim_value for dim in found.shape.dim])]


def _like_input(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    return [inputs[0]]


def _skip_norm(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    """Returns the types of the output, the mean, the inverse deviation, and the sum of the inputs."""
    element_type, shape = inputs[0]
    moments = (1, [*shape[:-1], 1])  # 1: f32
    return [(element_type, shape), moments, moments, (element_type, shape)]


def _embed(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    """Returns the types of the embedded rows, the mask index [batch], and the rows' sum.

    Inputs: ids [batch, length], segments, words [n, width].
    """
    batch, length = inputs[0][1]
    rows = (inputs[2][0], [batch, length, inputs[2][1][1]])
    return [rows, (inputs[0][0], [batch]), rows]


def _matmul(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    (element_type, a), (_, b) = inputs[0], inputs[1]
    if attributes.get("transBatchA") or attributes.get("transBatchB") or min(len(a), len(b)) < 2:
        return []
    rows = a[-1] if attributes.get("transA") else a[-2]
    columns = b[-2] if attributes.get("transB") else b[-1]
    rank = max(len(a), len(b)) - 2
    batches = [max(pair) for pair in zip([1] * (rank + 2 - len(a)) + a[:-2], [1] * (rank + 2 - len(b)) + b[:-2])]
    return [(element_type, [*batches, rows, columns])]


def _attention(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    """Returns the output types. Input [batch, length, in], weights [in, 3 width] (q, k, v of equal widths)."""
    element_type, (batch, length, _) = inputs[0]
    width = inputs[1][1][1] // 3
    heads = attributes["num_heads"]
    past = inputs[4][1][3] if len(inputs) > 4 and inputs[4] is not None else 0
    return [(element_type, [batch, length, width]),
            (element_type, [2, batch, heads, past + length, width // heads])]


def _multi_head_attention(inputs: list[Type | None], attributes: dict[str, int]) -> list[Type | None]:
    """Returns the output types.

    Query [batch, length, width], value [batch, length, width of v] or [batch, heads, length, width of v / heads].
    """
    element_type, query = inputs[0]
    value = inputs[2] if len(inputs) > 2 else None
    if len(query) == 5:  # packed: [batch, length, heads, 3, width]
        return [(element_type, [query[0], query[1], query[2] * query[4]])]
    heads = attributes["num_heads"]
    if value is None:  # packed keys and values: [batch, length, heads, 2, width]
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


_OPSET = 17  # of the standard nodes below
# The standard ONNX node, and the places of its inputs.
_STANDARD: dict[str, tuple[str, Sequence[int]]] = {
    "FusedConv": ("Conv", (0, 1, 2)), "FusedGemm": ("Gemm", (0, 1, 2)), "QGemm": ("Gemm", (0, 3, 6)),
    "QLinearAdd": ("Add", (0, 3)), "QLinearMul": ("Mul", (0, 3)), "QLinearAveragePool": ("AveragePool", (0,)),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", (0,)),
}
_RULES: dict[str, Callable[[list[Type | None], dict[str, int]], list[Type | None]]] = {
    **dict.fromkeys("""Gelu FastGelu BiasGelu QuickGelu BiasAdd BiasSoftmax SimplifiedLayerNormalization
        LayerNormalization RotaryEmbedding QLinearSigmoid QLinearLeakyRelu QLinearSoftmax GroupNorm""".split(),
                    _like_input),
    "SkipLayerNormalization": _skip_norm, "SkipSimplifiedLayerNormalization": _skip_norm,
    "EmbedLayerNormalization": _embed, "FusedMatMul": _matmul, "Attention": _attention,
    "MultiHeadAttention": _multi_head_attention, "MatMulNBits": _columns,
}
