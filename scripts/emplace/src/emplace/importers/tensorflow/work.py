"""Work of one TensorFlow op: floating-point operations [FLOP] and bytes moved [B].

The rules are those of ../work.py. They count like `tf.compat.v1.profiler`; the tests compare the kinds it knows.
"""

from __future__ import annotations

import math

from ..work import (PER_UPDATE, OpView, Rule, batch_norm, einsum_sizes, elementwise, gathered_bytes, macs, matmul,
                    per_input, pooling, reduction, same, variadic)

# Kinds without floating-point arithmetic: they move, choose or describe data. Random numbers are
# integer work.
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

# Kinds that read only shapes, or nothing.
_METADATA = frozenset("NoOp Rank Shape ShapeN Size VariableShape".split())


def _conv2d(op: OpView) -> int:
    """Counts a convolution: every output element takes h w channels multiply-adds; 3D likewise.

    The filter is [h, w, channels / groups, filters].
    """
    return macs(op.output.elements, op.inputs[1].shape[:-1])


def _conv2d_backprop_input(op: OpView) -> int:
    """Counts as many multiply-adds as forward: inputs (sizes, filter, d output)."""
    return macs(op.inputs[2].elements, op.inputs[1].shape[:-1])


def _conv2d_backprop_filter(op: OpView) -> int:
    """Counts as many multiply-adds as forward: inputs (input, sizes, d output), output d filter."""
    return macs(op.inputs[2].elements, op.output.shape[:-1])


def _einsum(op: OpView) -> int:
    """Counts a multiply-add for every combination of the letters.

    With one input, counts one addition for each summed element.
    """
    return reduction(op) if len(op.inputs) == 1 else 2 * math.prod(einsum_sizes(op).values())


_RULES: dict[str, Rule] = {
    **elementwise("""Add AddV2 Sub Mul RealDiv Div DivNoNan Maximum Minimum Neg Square Sqrt Reciprocal Inv Exp Log Log1p
        Abs Sign Pow Tanh Sigmoid Erf Sin Cos Floor Relu Relu6 LeakyRelu ReluGrad Relu6Grad Erfc Expm1 Tan Ceil Round
        Rint BiasAdd Less LessEqual Greater GreaterEqual Equal NotEqual Select SelectV2 Rsqrt SquaredDifference SqrtGrad
        TanhGrad SigmoidGrad RsqrtGrad Softplus SoftplusGrad Elu EluGrad Selu Xlogy LeakyReluGrad SeluGrad Softsign
        SoftsignGrad ClipByValue InvGrad ReciprocalGrad Softmax LogSoftmax"""),
    **same("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3", matmul),
    **same("Conv2D Conv3D", _conv2d),
    **same("Conv2DBackpropInput Conv3DBackpropInputV2", _conv2d_backprop_input),
    **same("Conv2DBackpropFilter Conv3DBackpropFilterV2", _conv2d_backprop_filter),
    # Filter [h, w, channels, multiplier]: h w MACs for each element of the forward output, in all three passes.
    "DepthwiseConv2dNative": lambda op: macs(op.output.elements, op.inputs[1].shape[:2]),
    "DepthwiseConv2dNativeBackpropInput": lambda op: macs(op.inputs[2].elements, op.inputs[1].shape[:2]),
    "DepthwiseConv2dNativeBackpropFilter": lambda op: macs(op.inputs[2].elements, op.output.shape[:2]),
    "Einsum": _einsum,
    **same("AvgPool MaxPool", pooling("ksize")),
    "AvgPoolGrad": pooling("ksize", per_element=2, grid=1),  # scales, adds to all of a window: inputs (sizes, dy)
    "MaxPoolGrad": pooling("ksize", extra=1, grid=1),  # finds each window's maximum again, then adds: (x, y, dy)
    **same("Sum Prod Max Min ArgMax ArgMin BiasAddGrad", reduction),
    **same("All Any", lambda op: 0),
    **same("AddN AccumulateNV2", variadic()),
    # Mean: the sums, one division each.
    **same("Mean Cumsum UnsortedSegmentSum SegmentSum", per_input(1)),
    "L2Loss": per_input(2),  # square, add
    # Per element: sum 1, centred square sum 3, scale and shift 2.
    **same("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", batch_norm("is_training", True)),
    # Per element: centre and scale 2, two sums 3, dx = a dy + b x + c 4.
    **same("FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3", per_input(9)),
    "SparseSoftmaxCrossEntropyWithLogits": per_input(6),  # max, subtract, exp, sum, divide, subtract the label
    "SoftmaxCrossEntropyWithLogits": per_input(8),
    **same("AssignAdd AssignSub AssignAddVariableOp AssignSubVariableOp", per_input(1, 1)),
    **{prefix + "Scatter" + what: per_input(1, 2)
       for prefix in ("", "Resource") for what in ("Add", "Sub", "Mul", "Div", "Max", "Min")},
}


def flops(op: OpView) -> int | None:
    """Returns the floating-point operations of one execution [FLOP]; None: no formula is known."""
    if op.kind in NO_FLOPS:
        return 0
    if op.kind in _RULES:
        return int(_RULES[op.kind](op))
    rule, _ = _optimizer_rule(op.kind)
    if rule is not None:
        # The gradient is the largest input that is not state; others are scalars and row indices.
        return PER_UPDATE[rule] * max(v.elements for v in op.inputs if not v.is_state)
    return None


def bytes_accessed(op: OpView) -> int | None:
    """Returns the bytes read and written by one execution [B]; None: inputs plus outputs, the default."""
    if op.kind in VIEWS or op.kind in _METADATA:
        return 0
    if op.kind in ("ZerosLike", "OnesLike", "Fill", "Empty"):
        return op.output_bytes
    if op.kind in ("GatherV2", "ResourceGather", "GatherNd"):
        return gathered_bytes(op)
    if op.kind in ("Slice", "StridedSlice"):
        return 2 * op.output_bytes
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
        # Every state is read and written; a sparse update touches as many rows as the gradient has.
        return sum(others) + 2 * (len(states) * max(others) if is_sparse else sum(states))
    return None


def _optimizer_rule(kind: str) -> tuple[str | None, bool]:
    """Returns ("Adam", sparse?) for "ApplyAdam", "ResourceSparseApplyAdam", ...

    Returns (None, False) for other kinds.
    """
    for prefix, is_sparse in (("ResourceSparseApply", True), ("ResourceApply", False),
                              ("SparseApply", True), ("Apply", False)):
        if kind.startswith(prefix) and kind[len(prefix):] in PER_UPDATE:
            return kind[len(prefix):], is_sparse
    return None, False
