"""Work of one TensorFlow op: floating-point operations [FLOP] and bytes moved [B].

A multiply-add counts as two. An element-wise function counts as written below, transcendental ones
as one, as `tf.compat.v1.profiler` counts; where it knows a kind, the tests compare with it.
Figures depend on shapes only, so TensorFlow is not needed here.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Sequence


@dataclasses.dataclass(frozen=True)
class Value:
    """An op's input or output: its static shape and size [B]. `is_state`: a variable's handle."""

    shape: Sequence[int]
    num_bytes: int
    is_state: bool = False

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


@dataclasses.dataclass(frozen=True)
class OpView:
    """What the formulas may look at."""

    kind: str
    inputs: Sequence[Value]
    outputs: Sequence[Value]
    attributes: dict[str, Any]


# FLOP for each element of the (largest) output.
_PER_OUTPUT = {
    **dict.fromkeys("""Add AddV2 Sub Mul RealDiv Div DivNoNan Maximum Minimum Neg Square Sqrt
        Reciprocal Inv Exp Log Log1p Abs Sign Pow Tanh Sigmoid Erf Sin Cos Floor Relu Relu6
        LeakyRelu ReluGrad Relu6Grad Erfc Expm1 Tan Ceil Round Rint
        BiasAdd Less LessEqual Greater GreaterEqual Equal NotEqual
        Select SelectV2""".split(), 1),
    "Rsqrt": 2,              # square root, reciprocal
    "SquaredDifference": 2,  # (a - b)^2
    "SqrtGrad": 2,           # dy / (2 y)
    "TanhGrad": 3,           # dy (1 - y^2)
    "SigmoidGrad": 3,        # dy y (1 - y)
    "RsqrtGrad": 4,          # -dy y^3 / 2
    "Softplus": 2, "SoftplusGrad": 3, "Elu": 2, "EluGrad": 2, "Selu": 3, "Xlogy": 2,
    "LeakyReluGrad": 1, "SeluGrad": 3, "Softsign": 2, "SoftsignGrad": 4, "ClipByValue": 2, "InvGrad": 3,
    "ReciprocalGrad": 3,
    "Softmax": 5,            # max, subtract, exp, sum, divide
    "LogSoftmax": 5,
}

# FLOP for each element that an optimiser updates: rows x width for the sparse forms.
_PER_UPDATE = {
    "GradientDescent": 2,   # w -= lr g
    "Momentum": 4,          # a = mu a + g; w -= lr a
    "KerasMomentum": 4,
    "Adagrad": 5,           # s += g^2; w -= lr g / sqrt(s)
    "AdagradV2": 6,
    "RMSProp": 10,          # s += (g^2 - s)(1 - rho); m = mu m + lr g / sqrt(s + eps); w -= m
    "CenteredRMSProp": 14,
    # m += (g - m)(1 - b1); v += (g^2 - v)(1 - b2); w -= lr m / (sqrt(v) + eps)
    "Adam": 11,
}

# Kinds that compute nothing in floating point: they move, choose or describe data. Random numbers
# are integer work.
NO_FLOPS = frozenset("""
    parameter constant Assign AssignVariableOp BroadcastArgs BroadcastGradientArgs BroadcastTo Cast
    ConcatOffset ConcatV2 DynamicStitch Empty ExpandDims Fill FloorDiv FloorMod GatherNd GatherV2
    Identity IdentityN InvertPermutation LogicalAnd LogicalNot LogicalOr MirrorPad NoOp OneHot
    OnesLike Pack Pad PadV2 PlaceholderWithDefault PreventGradient RandomStandardNormal
    RandomUniform RandomUniformInt Range Rank ReadVariableOp Reshape ResourceGather ReverseSequence
    ReverseV2 Shape ShapeN Size Slice Snapshot Split SplitV Squeeze StatelessRandomUniformV2
    StopGradient StridedSlice StridedSliceGrad Tile Transpose TruncatedNormal Unique UniqueV2 Unpack
    StatelessRandomGetKeyCounter MatrixBandPart MatrixDiagV3
    MatrixDiagPartV3 MatrixSetDiagV3 DepthToSpace SpaceToDepth SpaceToBatchND BatchToSpaceND Bitcast
    Roll CheckNumerics IsFinite IsInf IsNan LinSpace StatelessRandomNormalV2 StatelessTruncatedNormalV2
    StatelessRandomUniformIntV2 VariableShape Where ZerosLike ScatterUpdate ResourceScatterUpdate ScatterNd""".split())

# Kinds whose output is their first input under another name or shape; TensorFlow shares the buffer.
VIEWS = frozenset("""ExpandDims Identity IdentityN PlaceholderWithDefault PreventGradient ReadVariableOp
    Reshape Snapshot Squeeze StopGradient""".split())

# Kinds that look at shapes only, or at nothing.
_METADATA = frozenset("NoOp Rank Shape ShapeN Size VariableShape".split())


def _matmul(op: OpView) -> int:
    """2 m n k; a [m, k] (or [k, m] transposed), leading dimensions are batches."""
    transposed = op.attributes.get("transpose_a") or op.attributes.get("adj_x")
    return 2 * op.outputs[0].elements * op.inputs[0].shape[-2 if transposed else -1]


def _conv2d(op: OpView) -> int:
    """Filter [h, w, channels / groups, filters]: every output element takes h w channels MACs; 3D likewise."""
    return 2 * op.outputs[0].elements * math.prod(op.inputs[1].shape[:-1])


def _conv2d_backprop_input(op: OpView) -> int:
    """As many MACs as forward: inputs (sizes, filter, d output)."""
    return 2 * op.inputs[2].elements * math.prod(op.inputs[1].shape[:-1])


def _conv2d_backprop_filter(op: OpView) -> int:
    """As many MACs as forward: inputs (input, sizes, d output), output d filter."""
    return 2 * op.inputs[2].elements * math.prod(op.outputs[0].shape[:-1])


def _depthwise(output: int, filter_of: str) -> Callable[[OpView], int]:
    """Filter [h, w, channels, multiplier]: h w MACs an output element, in all three passes.

    output: index of the input that has the forward output's shape, -1 for the op's own output.
    """
    def flops(op: OpView) -> int:
        grid = op.outputs[0] if output < 0 else op.inputs[output]
        window = op.outputs[0] if filter_of == "output" else op.inputs[1]
        return 2 * grid.elements * math.prod(window.shape[:2])
    return flops


def _pool(op: OpView) -> int:
    return math.prod(op.attributes["ksize"]) * op.outputs[0].elements


def _max_pool_grad(op: OpView) -> int:
    """Finds each window's maximum again, then adds: inputs (x, y, dy)."""
    return (math.prod(op.attributes["ksize"]) + 1) * op.inputs[1].elements


def _avg_pool_grad(op: OpView) -> int:
    """Scales and adds to every element of a window: inputs (sizes, dy)."""
    return 2 * math.prod(op.attributes["ksize"]) * op.inputs[1].elements


def _reduce(op: OpView) -> int:
    return max(0, op.inputs[0].elements - op.outputs[0].elements)


def _einsum(op: OpView) -> int:
    """A multiply-add for every combination of the letters; one input: as many additions as are summed."""
    equation = op.attributes["equation"].replace(" ", "").replace("...", ".")
    terms = equation.partition("->")[0].split(",")
    sizes: dict[str, int] = {}
    for term, value in zip(terms, op.inputs):
        shape = list(value.shape)
        before, dots, after = term.partition(".")
        sizes.update(zip(before, shape))
        sizes.update(zip(reversed(after), reversed(shape)))
        if dots:
            middle = math.prod(shape[len(before):len(shape) - len(after)])
            sizes["."] = max(middle, sizes.get(".", 1))
    if len(op.inputs) == 1:
        return _reduce(op)
    return 2 * math.prod(sizes.values())


_FORMULAS: dict[str, Callable[[OpView], int]] = {
    "MatMul": _matmul, "BatchMatMul": _matmul, "BatchMatMulV2": _matmul, "BatchMatMulV3": _matmul,
    "Conv2D": _conv2d, "Conv2DBackpropInput": _conv2d_backprop_input,
    "Conv2DBackpropFilter": _conv2d_backprop_filter,
    "Conv3D": _conv2d, "Conv3DBackpropInputV2": _conv2d_backprop_input,
    "Conv3DBackpropFilterV2": _conv2d_backprop_filter,
    "DepthwiseConv2dNative": _depthwise(-1, "input"),
    "DepthwiseConv2dNativeBackpropInput": _depthwise(2, "input"),
    "DepthwiseConv2dNativeBackpropFilter": _depthwise(2, "output"),
    "Einsum": _einsum, "Cumsum": lambda op: op.inputs[0].elements,
    "AvgPool": _pool, "MaxPool": _pool,
    "AvgPoolGrad": _avg_pool_grad, "MaxPoolGrad": _max_pool_grad,
    "Sum": _reduce, "Prod": _reduce, "Max": _reduce, "Min": _reduce, "ArgMax": _reduce,
    "ArgMin": _reduce, "All": lambda op: 0, "Any": lambda op: 0,
    "Mean": lambda op: op.inputs[0].elements,           # the sums, one division each
    "BiasAddGrad": _reduce,
    "AddN": lambda op: (len(op.inputs) - 1) * op.outputs[0].elements,
    "AccumulateNV2": lambda op: (len(op.inputs) - 1) * op.outputs[0].elements,
    "L2Loss": lambda op: 2 * op.inputs[0].elements,     # square, add
    # Per element: sum 1, centred square sum 3, scale and shift 2.
    "FusedBatchNormV3": lambda op: (6 if op.attributes.get("is_training", True) else 2)
    * op.inputs[0].elements,
    # Per element: centre and scale 2, two sums 3, dx = a dy + b x + c 4.
    "FusedBatchNormGradV3": lambda op: 9 * op.inputs[0].elements,
    # Per logit: max, subtract, exp, sum, divide, subtract the label.
    "SparseSoftmaxCrossEntropyWithLogits": lambda op: 6 * op.inputs[0].elements,
    "SoftmaxCrossEntropyWithLogits": lambda op: 8 * op.inputs[0].elements,
    "UnsortedSegmentSum": lambda op: op.inputs[0].elements,
    "SegmentSum": lambda op: op.inputs[0].elements,
    "AssignAdd": lambda op: op.inputs[1].elements, "AssignSub": lambda op: op.inputs[1].elements,
    "AssignAddVariableOp": lambda op: op.inputs[1].elements,
    "AssignSubVariableOp": lambda op: op.inputs[1].elements,
    **{prefix + "Scatter" + what: (lambda op: op.inputs[2].elements)
       for prefix in ("", "Resource") for what in ("Add", "Sub", "Mul", "Div", "Max", "Min")},
}
_FORMULAS.update({kind + version: _FORMULAS[kind + "V3"]
                  for kind in ("FusedBatchNorm", "FusedBatchNormGrad") for version in ("", "V2")})


def flops(op: OpView) -> int | None:
    """Floating-point operations of one execution [FLOP]; None: no formula is known."""
    if op.kind in NO_FLOPS:
        return 0
    if op.kind in _FORMULAS:
        return int(_FORMULAS[op.kind](op))
    if op.kind in _PER_OUTPUT:
        return _PER_OUTPUT[op.kind] * max(value.elements for value in op.outputs)
    rule, _ = _optimizer_rule(op.kind)
    if rule is not None:
        # The gradient is the largest input that is no state; others are scalars, row indices.
        return _PER_UPDATE[rule] * max(v.elements for v in op.inputs if not v.is_state)
    return None


def bytes_accessed(op: OpView) -> int | None:
    """Bytes read and written by one execution [B]; None: inputs plus outputs, the default."""
    if op.kind in VIEWS or op.kind in _METADATA:
        return 0
    out = sum(value.num_bytes for value in op.outputs)
    if op.kind in ("ZerosLike", "OnesLike", "Fill", "Empty"):
        return out
    if op.kind in ("GatherV2", "ResourceGather", "GatherNd"):  # reads the chosen rows only
        return op.inputs[1].num_bytes + 2 * out
    if op.kind in ("Slice", "StridedSlice"):
        return 2 * out
    if op.kind in ("Assign", "AssignVariableOp"):  # overwrites without reading
        return 2 * op.inputs[1].num_bytes
    if op.kind in ("ScatterUpdate", "ResourceScatterUpdate"):
        return op.inputs[1].num_bytes + 2 * op.inputs[2].num_bytes
    if "Scatter" in op.kind and op.inputs and op.inputs[0].is_state:  # rows are read and written
        return op.inputs[1].num_bytes + 3 * op.inputs[2].num_bytes
    rule, is_sparse = _optimizer_rule(op.kind)
    if rule is not None:
        states = [value.num_bytes for value in op.inputs if value.is_state]
        others = [value.num_bytes for value in op.inputs if not value.is_state]
        # Every state is read and written; of a sparse one, as many rows as the gradient has.
        return sum(others) + 2 * (len(states) * max(others) if is_sparse else sum(states))
    return None


def _optimizer_rule(kind: str) -> tuple[str | None, bool]:
    """("Adam", sparse?) of "ApplyAdam", "ResourceSparseApplyAdam", ...; (None, False) of others."""
    for prefix, is_sparse in (("ResourceSparseApply", True), ("ResourceApply", False),
                              ("SparseApply", True), ("Apply", False)):
        if kind.startswith(prefix) and kind[len(prefix):] in _PER_UPDATE:
            return kind[len(prefix):], is_sparse
    return None, False
