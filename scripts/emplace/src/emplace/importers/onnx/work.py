"""Work of one ONNX node: floating-point operations [FLOP] and bytes moved [B], by the rules of ../work.py.

Integer products of quantised nodes count like floating-point products. Other integer work (shapes, indices) counts
nothing.
"""

from __future__ import annotations

import math

from ..work import (PER_UPDATE, OpView, Rule, batch_norm, elementwise, fourier, gathered_bytes, matrices, per_input,
                    per_output, pooling, reduction, same, variadic)
from .work_of_products import PRODUCTS, QUANTIZED

# Kinds without floating-point arithmetic: they move, choose or describe data. Random numbers are integer work.
NO_FLOPS = frozenset("""
    parameter constant And ArrayFeatureExtractor BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast
    CastLike CategoryMapper CenterCropPad Compress Concat Constant ConstantOfShape DepthToSpace Dropout Expand
    EyeLike FeatureVectorizer Flatten Gather GatherElements GatherND GatherBlockQuantized Identity LabelEncoder
    MaxUnpool Multinomial NonZero Not OneHot OneHotEncoder Optional Or Pad RandomNormal RandomNormalLike
    RandomUniform RandomUniformLike Range Reshape ReverseSequence Shape Size Slice SpaceToDepth Split Squeeze
    StringConcat TensorScatter Tile Transpose Trilu Unique Unsqueeze Xor""".split())

# Kinds whose output is their first input under another name or shape, in the same memory.
VIEWS = frozenset("Flatten Identity Reshape Squeeze Unsqueeze".split())
_METADATA = frozenset("Shape Size".split())
_WRITERS = frozenset("ConstantOfShape EyeLike RandomNormal RandomNormalLike RandomUniform RandomUniformLike "
                     "Range".split())  # read no tensor, or only its shape


def is_view(node: OpView) -> bool:
    """Returns whether output 0 is input 0 in the same memory.

    This holds for a reshape, a cast to the same type, and dropout at inference.
    """
    if not node.has(0) or node.outputs[0] is None:
        return False
    if node.kind in VIEWS:
        return True
    if node.kind == "BitCast":
        return node.inputs[0].num_bytes == node.outputs[0].num_bytes
    if node.kind in ("Cast", "CastLike"):
        return node.inputs[0].dtype == node.outputs[0].dtype
    # In training mode (a constant input that is true), or if the mask is used, the op has work to do.
    return node.kind == "Dropout" and all(value is None for value in node.outputs[1:]) \
        and not (node.has(2) and node.inputs[2].elements_known != [False])


def flops(node: OpView) -> int | None:
    """Returns the floating-point operations of one run [FLOP]; None: no rule is known."""
    if node.kind == "Dropout" and not is_view(node):
        return 2 * node.output.elements  # compare and scale; random numbers are integer work
    if node.kind in NO_FLOPS:
        return 0
    if node.kind in PRODUCTS:
        return int(PRODUCTS[node.kind](node))
    rule = _RULES.get(node.kind)
    if rule is None:
        return None
    return int(rule(node)) if node.is_float or node.kind in QUANTIZED else 0


def bytes_accessed(node: OpView) -> int | None:
    """Returns the bytes read and written by one run [B]; None: inputs plus outputs, the default."""
    if node.kind in _METADATA or is_view(node):
        return 0
    if node.kind in _WRITERS:
        return node.output_bytes
    if node.kind in ("Gather", "GatherElements", "GatherND"):
        return gathered_bytes(node)
    if node.kind == "Slice":
        return 2 * node.output_bytes
    if node.kind == "EmbedLayerNormalization":  # rows of the tables for each word
        indices = sum(node.inputs[i].num_bytes for i in (0, 1) if node.has(i))
        return indices + 3 * node.output.num_bytes
    return None


def _resize(node: OpView) -> int:
    """Counts for each axis that changes size 2 products and a sum (linear), 4 and 3 (cubic), or nothing (nearest)."""
    mode = node.attributes.get("mode", "nearest")
    if mode == "nearest":
        return 0
    axes = sum(a != b for a, b in zip(node.inputs[0].shape, node.output.shape))
    taps = 4 if mode == "cubic" else 2
    return node.output.elements * sum((2 * taps - 1) * taps ** axis for axis in range(axes))


def _grid_sample(node: OpView) -> int:
    """Counts like a Resize of 2 or 3 axes, plus 2 for scaling each coordinate."""
    axes, mode = len(node.inputs[0].shape) - 2, node.attributes.get("mode", "linear")
    taps = 1 if mode == "nearest" else 4 if mode in ("cubic", "bicubic") else 2
    return node.output.elements * sum((2 * taps - 2) * taps ** axis for axis in range(axes)) \
        + 2 * node.inputs[1].elements


def _roi_align(node: OpView) -> int:
    """Counts bilinear samples (4 products and 3 sums each) and the sum over them.

    If the number of samples is adaptive, 2 x 2 are assumed.
    """
    samples = (node.attributes.get("sampling_ratio", 0) or 2) ** 2
    return 8 * samples * node.output.elements


def _dft(node: OpView) -> float:
    axis = node.attributes.get("axis", 1)
    if node.has(2) and node.inputs[2].elements_known:
        axis = node.inputs[2].elements_known[0]
    return fourier(node.output.elements / 2, node.output.shape[axis])


def _stft(node: OpView) -> float:
    """Counts a window's products and a transform for each frame."""
    frames, bins = math.prod(node.output.shape[:2]), node.output.shape[2]
    length = max(2, bins if node.attributes.get("onesided", 1) == 0 else 2 * (bins - 1))
    return frames * (length + fourier(length, length))


def _update(kind: str, groups: int) -> Rule:
    """Inputs are R, T, then n of each group: X, G, state."""
    return lambda node: PER_UPDATE[kind] * sum(
        value.elements for value in node.inputs[2:2 + (len(node.inputs) - 2) // groups] if value is not None)


def _scatter(node: OpView) -> int:
    """Counts one operation per added or compared update; otherwise nothing, since the op only writes."""
    return node.inputs[2].elements if node.attributes.get("reduction", "none") != "none" else 0


_RULES: dict[str, Rule] = {
    **elementwise("""Abs Acos Acosh Add Asin Asinh Atan Atanh Ceil Cos Cosh Div Equal Erf Exp Floor Greater
        GreaterOrEqual IsInf IsNaN LeakyRelu Less LessOrEqual Log Mod Mul Neg PRelu Pow Reciprocal Relu Round Sigmoid
        Sign Sin Sinh Sqrt Sub Tan Tanh ThresholdedRelu Where Bernoulli BiasAdd Binarizer Imputer Normalizer Clip Shrink
        Softplus Elu Swish Silu QuickGelu Selu Celu HardSigmoid HardSwish Mish Gelu BiasGelu FastGelu SwiGLU Softmax
        LogSoftmax Hardmax RotaryEmbedding HannWindow HammingWindow BlackmanWindow MelWeightMatrix AffineGrid Scaler
        QLinearAdd QLinearMul QLinearSigmoid QLinearLeakyRelu QLinearSoftmax"""),
    "Softsign": per_output(3),
    # Sum, centre, square, sum, divide, scale, shift.
    **same("LayerNormalization InstanceNormalization GroupNormalization GroupNorm", per_input(7)),
    "SkipLayerNormalization": per_input(8),
    **same("RMSNormalization SimplifiedLayerNormalization", per_input(4)),  # square, sum, divide, scale
    **same("SkipSimplifiedLayerNormalization MeanVarianceNormalization", per_input(5)),
    "LpNormalization": per_input(3),
    # For each word, three rows are added, then a layer norm.
    "EmbedLayerNormalization": lambda node: 9 * node.output.elements,
    "BatchNormalization": batch_norm("training_mode", False),
    "LRN": lambda node: (node.attributes["size"] + 5) * node.output.elements,
    "QuantizeLinear": per_input(3),         # divide, round, add the zero point
    "DequantizeLinear": per_input(2),       # subtract the zero point, scale
    "DynamicQuantizeLinear": per_input(5),  # minimum, maximum, quantise
    "SoftmaxCrossEntropyLoss": per_input(6),  # a softmax, and the label's logit
    "NegativeLogLikelihoodLoss": per_input(2, 1),
    **same("Sum Max Min", variadic()), "Mean": variadic(1),
    **same("ReduceSum ReduceMax ReduceMin ReduceProd ArgMax ArgMin", reduction),
    **same("ReduceL1 ReduceSumSquare", lambda node: node.inputs[0].elements + reduction(node)),
    **same("ReduceMean ReduceLogSum CumSum CumProd TopK", per_input(1)),  # TopK: at least one comparison
    "ReduceL2": per_input(2), "ReduceLogSumExp": per_input(4),
    **same("GlobalAveragePool GlobalMaxPool QLinearGlobalAveragePool MaxRoiPool Col2Im", per_input(1)),
    "GlobalLpPool": per_input(2),
    **same("MaxPool AveragePool QLinearAveragePool", pooling("kernel_shape")), "LpPool": pooling("kernel_shape", 2),
    "RoiAlign": _roi_align, **same("Resize Upsample", _resize), "GridSample": _grid_sample,
    "DFT": _dft, "STFT": _stft, "Det": matrices(2, 3),  # elimination
    **same("ScatterElements ScatterND Scatter", _scatter),
    "Adam": _update("Adam", 4), "Adagrad": _update("Adagrad", 3), "Momentum": _update("Momentum", 3),
}
