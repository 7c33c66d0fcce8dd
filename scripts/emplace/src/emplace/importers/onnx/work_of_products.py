"""FLOP of the ONNX nodes that multiply: convolutions, matrix products, recurrent cells, attention.

../work.py has the products that other frameworks share.
"""

from __future__ import annotations

import math

from ..work import OpView, Rule, einsum_sizes, macs, matmul, same

_SOFTMAX = 5  # max, subtract, exp, sum, divide


def _convolution(weight: int, bias: int, per_output: int = 0) -> Rule:
    """Returns the rule of a convolution: each output element takes channels / groups x window multiply-adds.

    The weight is [filters, channels / groups, window...]. weight, bias: the places of these inputs. per_output:
    additional FLOP for each output element.
    """
    def flops(node: OpView) -> int:
        results = node.output.elements
        return macs(results, node.inputs[weight].shape[1:]) + (node.has(bias) + per_output) * results
    return flops


def _conv_transpose(node: OpView) -> int:
    """Counts a transposed convolution: each input element is spread to filters / groups x window elements.

    The weight is [channels, filters / groups, window...].
    """
    return macs(node.inputs[0].elements, node.inputs[1].shape[1:]) + node.has(2) * node.output.elements


def _deform_conv(node: OpView) -> int:
    """Counts a convolution of bilinear samples (4 products, 3 sums), which one of the offset groups positions."""
    batch, channels = node.inputs[0].shape[:2]
    window = math.prod(node.inputs[1].shape[2:])
    samples = batch * channels * window * math.prod(node.output.shape[2:])
    masked = samples if node.has(4) else 0
    return _convolution(1, 3)(node) + 7 * samples + masked


def _gemm(node: OpView) -> int:
    """Counts alpha A B + beta C: the product, and one addition per element if there is a C."""
    return matmul(node) + node.has(2) * node.output.elements


def _matmul_nbits(node: OpView) -> int:
    """Counts A [.., K] x B [N, K / block, ..]: the product, and dequantising each of the K N weights."""
    columns, inner = node.attributes["N"], node.attributes["K"]
    return 2 * node.inputs[0].elements * columns + 2 * inner * columns


def _einsum(node: OpView) -> int:
    """Counts one loop over all indices.

    n operands take n - 1 products and, if an index is summed, one sum.
    """
    left, arrow, right = node.attributes["equation"].replace(" ", "").partition("->")
    sizes = einsum_sizes(node)
    if not arrow:
        right = "".join(label for label in sizes if left.count(label) == 1)
    summed = any(len(label) == 1 and label not in right for label in sizes)
    return (len(node.inputs) - 1 + summed) * math.prod(sizes.values())


def _recurrent(gates: int, pointwise: int) -> Rule:
    """Returns the rule of a recurrent cell.

    X [steps, batch, width], W [directions, gates H, width], R [directions, gates H, H]; W and R may be transposed.
    pointwise: FLOP for each of a cell's H units and each step, without the two biases of each gate.
    """
    def flops(node: OpView) -> int:
        rows = math.prod(node.inputs[0].shape[:2])  # steps x batch
        weights = math.prod(node.inputs[1].shape) + math.prod(node.inputs[2].shape)
        directions, hidden = node.inputs[2].shape[0], min(node.inputs[2].shape[1:])
        return rows * (2 * weights + directions * hidden * (pointwise + 2 * gates * node.has(3)))
    return flops


def _heads(batch: int, heads: int, queries: int, keys: int, width: int, value_width: int, has_mask: bool) -> int:
    """Counts scores, their scaling, mask and softmax, and the weighted sum of the values.

    Masked products also count.
    """
    pairs = batch * heads * queries * keys
    return pairs * (2 * width + 1 + has_mask + _SOFTMAX + 2 * value_width)


def _attention(node: OpView) -> int:
    """Counts ONNX's Attention.

    Q, K, V [batch, heads, length, width] or [batch, length, heads x width], with a past in inputs 4, 5.
    """
    q, k, v = (node.inputs[i].shape for i in range(3))
    if len(q) == 3:
        heads, kv_heads = node.attributes["q_num_heads"], node.attributes["kv_num_heads"]
        batch, queries, keys = q[0], q[1], k[1]
        width, value_width = q[2] // heads, v[2] // kv_heads
    else:
        batch, heads, queries, width = q
        keys, value_width = k[2], v[3]
    if node.has(4):
        keys += node.inputs[4].shape[2]
    return _heads(batch, heads, queries, keys, width, value_width, node.has(3))


def _multi_head_attention(node: OpView) -> int:
    """Counts com.microsoft's MultiHeadAttention.

    Query, key, value [batch, length, heads x width], or packed in the query; a past in input 6.
    """
    query, heads = node.inputs[0].shape, node.attributes["num_heads"]
    batch, queries = query[:2]
    output = node.output.shape
    value_width = output[-1] // heads
    if len(query) == 5:  # [batch, length, heads, 3, width]
        keys, width = queries, query[-1]
    else:
        width = query[2] // heads
        key = node.inputs[1].shape if node.has(1) else query
        keys = key[2] if len(key) == 4 else key[1]  # [batch, heads, length, width]
    if node.has(6):
        keys += node.inputs[6].shape[2]
    biases = batch * queries * query[2] * 3 if node.has(3) and len(query) == 3 else 0
    return _heads(batch, heads, queries, keys, width, value_width, node.has(4) or node.has(5)) + biases


def _packed_attention(node: OpView) -> int:
    """Counts com.microsoft's Attention.

    Input [batch, length, in], weights [in, q + k + v widths], bias, mask, past.
    """
    batch, queries, _ = node.inputs[0].shape
    inner, columns = node.inputs[1].shape
    heads, value_width = node.attributes["num_heads"], node.output.shape[-1]
    projections = batch * queries * columns * (2 * inner + node.has(2))
    keys = queries + (node.inputs[4].shape[3] if node.has(4) else 0)  # past [2, batch, heads, length, width]
    width = (columns - value_width) // 2
    return projections + _heads(batch, heads, queries, keys, width // heads, value_width // heads, node.has(3))


def _grouped_attention(node: OpView) -> int:
    """Counts com.microsoft's GroupQueryAttention: past keys [batch, kv heads, length, width] in input 3."""
    batch, queries, columns = node.inputs[0].shape
    heads, kv_heads = node.attributes["num_heads"], node.attributes["kv_num_heads"]
    width = columns // heads if node.has(1) else columns // (heads + 2 * kv_heads)
    keys = queries
    if len(node.outputs) > 1 and node.outputs[1] is not None:
        keys = node.outputs[1].shape[2]
    elif node.has(3):
        keys += node.inputs[3].shape[2]
    return _heads(batch, heads, queries, keys, width, width, True)


def _linear_model(node: OpView) -> int:
    """Counts ai.onnx.ml's linear models: X [rows, features] times the columns of coefficients."""
    return 2 * node.inputs[0].shape[0] * len(node.attributes.get("coefficients", ()))


_LSTM_POINTWISE = 13  # 4 sums of products, 3 sigmoids and 2 tanh, c = f c + i g (3), h = o tanh(c) (1)
_GRU_POINTWISE = 11   # 3 sums, 3 activations, r h (1), h = (1 - z) n + z h (4)

PRODUCTS: dict[str, Rule] = {
    "Conv": _convolution(1, 2), "FusedConv": _convolution(1, 2, per_output=1), "NhwcConv": _convolution(1, 2),
    "ConvInteger": _convolution(1, 99), "QLinearConv": _convolution(3, 8, per_output=3),
    "CausalConvWithState": _convolution(1, 2),
    "ConvTranspose": _conv_transpose, "DeformConv": _deform_conv,
    **same("MatMul MatMulInteger FusedMatMul DynamicQuantizeMatMul MatMulIntegerToFloat", matmul),
    "QLinearMatMul": lambda node: matmul(node) + 3 * node.output.elements,
    "Gemm": _gemm, "FusedGemm": _gemm, "MatMulNBits": _matmul_nbits, "Einsum": _einsum,
    "QGemm": lambda node: _gemm(node) + 3 * node.output.elements,
    "LSTM": _recurrent(4, _LSTM_POINTWISE), "DynamicQuantizeLSTM": _recurrent(4, _LSTM_POINTWISE),
    "GRU": _recurrent(3, _GRU_POINTWISE), "RNN": _recurrent(1, 2),
    "MultiHeadAttention": _multi_head_attention, "GroupQueryAttention": _grouped_attention,
    "Attention": lambda node: _packed_attention(node) if node.attributes.get("num_heads") else _attention(node),
    "LinearClassifier": _linear_model, "LinearRegressor": _linear_model,
}
# Kinds whose integer arithmetic is the network's own work, not the work of computing shapes.
QUANTIZED = frozenset("""ConvInteger QLinearConv QGemm MatMulInteger QLinearMatMul QLinearAdd QLinearMul QLinearSigmoid
    QLinearLeakyRelu QLinearSoftmax QLinearAveragePool QLinearGlobalAveragePool""".split())
