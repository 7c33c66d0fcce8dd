"""Work of one ONNX node: floating-point operations [FLOP] and bytes moved [B].

A multiply-add counts as two. An element-wise function counts as written below, a transcendental one
as one. Integer products of quantised nodes count as floating-point ones do; other integer work
(shapes, indices) counts nothing. Figures depend on shapes and attributes only: `onnx` is not needed.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Mapping, Sequence

from .work_of_products import PRODUCTS, QUANTIZED

FLOATS = ("f64", "f32", "f16", "bf16", "f8", "f4", "c64", "c128")


@dataclasses.dataclass(frozen=True)
class Value:
    """An input or output: its shape, dtype as in graph files, size [B]; its elements where known (integers)."""

    shape: Sequence[int]
    dtype: str
    num_bytes: int
    elements_known: Sequence[Any] | None = None

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


@dataclasses.dataclass(frozen=True)
class NodeView:
    """What the formulas may look at. Inputs and outputs that a node leaves out are None."""

    kind: str  # the op type without its domain
    inputs: Sequence[Value | None]
    outputs: Sequence[Value | None]
    attributes: Mapping[str, Any]

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None

    @property
    def output(self) -> Value:
        """The first output that is there; an empty one if none is."""
        return next((value for value in self.outputs if value is not None), Value([0], "f32", 0))

    @property
    def largest(self) -> int:
        """Elements of the largest output."""
        return max((value.elements for value in self.outputs if value is not None), default=0)


# FLOP for each element of the largest output.
_PER_OUTPUT = {
    **dict.fromkeys("""Abs Acos Acosh Add Asin Asinh Atan Atanh Ceil Cos Cosh Div Equal Erf Exp Floor Greater
        GreaterOrEqual IsInf IsNaN LeakyRelu Less LessOrEqual Log Mod Mul Neg PRelu Pow Reciprocal Relu Round
        Sigmoid Sign Sin Sinh Sqrt Sub Tan Tanh ThresholdedRelu Where Bernoulli BiasAdd Binarizer
        Imputer Normalizer""".split(), 1),
    "Clip": 2,            # two bounds
    "Shrink": 2, "Softplus": 2, "Elu": 2, "Swish": 2, "Silu": 2, "QuickGelu": 3, "Softsign": 3,
    "Selu": 3, "Celu": 3,
    "HardSigmoid": 4,     # multiply, add, two bounds
    "HardSwish": 5, "Mish": 4,
    "Gelu": 5,            # x / sqrt(2), erf, + 1, times x, halved
    "BiasGelu": 6,        # the bias as well
    "FastGelu": 9,        # tanh of a cubic: 5 for the cubic, tanh, + 1, times x, halved
    "SwiGLU": 3,          # sigmoid, two products
    "Softmax": 5,         # max, subtract, exp, sum, divide
    "LogSoftmax": 5, "Hardmax": 1,
    "RotaryEmbedding": 3,  # two products, one sum
    "HannWindow": 4, "HammingWindow": 4, "BlackmanWindow": 7, "MelWeightMatrix": 4,
    "AffineGrid": 6, "Scaler": 2,
    **{"QLinear" + kind: work for kind, work in  # dequantise both, compute, quantise
       {"Add": 8, "Mul": 8, "Sigmoid": 6, "LeakyRelu": 6, "Softmax": 10}.items()},
}
# FLOP for each element of the first input.
_PER_INPUT = {
    "LayerNormalization": 7,       # sum, centre, square, sum, divide, scale, shift
    "InstanceNormalization": 7, "GroupNormalization": 7, "GroupNorm": 7,
    "SkipLayerNormalization": 8, "EmbedLayerNormalization": 0,  # see _FORMULAS
    "RMSNormalization": 4,         # square, sum, divide, scale
    "SimplifiedLayerNormalization": 4, "SkipSimplifiedLayerNormalization": 5,
    "MeanVarianceNormalization": 5, "LpNormalization": 3,
    "QuantizeLinear": 3,           # divide, round, add the zero point
    "DequantizeLinear": 2,         # subtract the zero point, scale
    "DynamicQuantizeLinear": 5,    # minimum, maximum, quantise
    "GlobalAveragePool": 1, "GlobalMaxPool": 1, "GlobalLpPool": 2, "QLinearGlobalAveragePool": 1,
    "ReduceMean": 1, "ReduceL2": 2, "ReduceLogSum": 1, "ReduceLogSumExp": 4,
    "CumSum": 1, "CumProd": 1, "TopK": 1,  # one comparison, at least
    "SoftmaxCrossEntropyLoss": 6,  # a softmax, and the label's logit
}
# FLOP for each parameter that an optimiser updates: inputs are R, T, then n of each: X, G, state.
_PER_UPDATE = {"Adam": (11, 4), "Adagrad": (5, 3), "Momentum": (4, 3)}

# Kinds that compute nothing in floating point: they move, choose or describe data. Random numbers are integer work.
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


def is_view(node: NodeView) -> bool:
    """Whether output 0 is input 0 in the same memory: a reshape, a cast to the same type, dropout at inference."""
    if not node.has(0) or node.outputs[0] is None:
        return False
    if node.kind in VIEWS:
        return True
    if node.kind == "BitCast":
        return node.inputs[0].num_bytes == node.outputs[0].num_bytes
    if node.kind in ("Cast", "CastLike"):
        return node.inputs[0].dtype == node.outputs[0].dtype
    # Training mode is a constant input that is true; the mask, if wanted, makes it an op with work to do.
    return node.kind == "Dropout" and all(value is None for value in node.outputs[1:]) \
        and not (node.has(2) and node.inputs[2].elements_known != [False])


def flops(node: NodeView) -> int | None:
    """Floating-point operations of one run [FLOP]; None: no formula is known."""
    if node.kind == "Dropout" and not is_view(node):
        return 2 * node.output.elements  # compare and scale; random numbers are integer work
    if node.kind in NO_FLOPS:
        return 0
    if node.kind in PRODUCTS:
        return int(PRODUCTS[node.kind](node))
    known = (*node.inputs, *node.outputs)
    if node.kind not in QUANTIZED and not any(value is not None and value.dtype in FLOATS for value in known):
        return 0 if node.kind in _FORMULAS or node.kind in _PER_OUTPUT or node.kind in _PER_INPUT else None
    if node.kind in _FORMULAS:
        return int(_FORMULAS[node.kind](node))
    if node.kind in _PER_INPUT:
        return _PER_INPUT[node.kind] * node.inputs[0].elements
    if node.kind in _PER_OUTPUT:
        return _PER_OUTPUT[node.kind] * node.largest
    if node.kind in _PER_UPDATE:
        per_element, groups = _PER_UPDATE[node.kind]
        updated = node.inputs[2:2 + (len(node.inputs) - 2) // groups]
        return per_element * sum(value.elements for value in updated if value is not None)
    return None


def bytes_accessed(node: NodeView) -> int | None:
    """Bytes read and written by one run [B]; None: inputs plus outputs, the default."""
    if node.kind in _METADATA or is_view(node):
        return 0
    out = sum(value.num_bytes for value in node.outputs if value is not None)
    if node.kind in _WRITERS:
        return out
    if node.kind in ("Gather", "GatherElements", "GatherND"):  # reads the chosen elements only
        return node.inputs[1].num_bytes + 2 * out
    if node.kind == "Slice":
        return 2 * out
    if node.kind == "EmbedLayerNormalization":  # rows of the tables for each word
        indices = sum(node.inputs[i].num_bytes for i in (0, 1) if node.has(i))
        return indices + 3 * node.output.num_bytes
    return None


def _variadic(extra: int) -> Callable[[NodeView], int]:
    """n - 1 combinations and `extra` more for each element."""
    return lambda node: (len(node.inputs) - 1 + extra) * node.output.elements


def _reduce(node: NodeView) -> int:
    return max(0, node.inputs[0].elements - node.output.elements)


def _pool(per_element: int) -> Callable[[NodeView], int]:
    return lambda node: per_element * math.prod(node.attributes["kernel_shape"]) * node.output.elements


def _batch_norm(node: NodeView) -> int:
    """At inference scale and shift; in training also the sum and the centred square sum."""
    return (6 if node.attributes.get("training_mode") else 2) * node.inputs[0].elements


def _resize(node: NodeView) -> int:
    """Linear: 2 products and a sum for each axis that changes size; cubic: 4 and 3; nearest: none."""
    mode = node.attributes.get("mode", "nearest")
    if mode == "nearest":
        return 0
    axes = sum(a != b for a, b in zip(node.inputs[0].shape, node.output.shape))
    taps = 4 if mode == "cubic" else 2
    return node.output.elements * sum((2 * taps - 1) * taps ** axis for axis in range(axes))


def _grid_sample(node: NodeView) -> int:
    """As Resize from 2 or 3 axes, and 2 for each coordinate's scaling."""
    axes, mode = len(node.inputs[0].shape) - 2, node.attributes.get("mode", "linear")
    taps = 1 if mode == "nearest" else 4 if mode in ("cubic", "bicubic") else 2
    return node.output.elements * sum((2 * taps - 2) * taps ** axis for axis in range(axes)) \
        + 2 * node.inputs[1].elements


def _roi_align(node: NodeView) -> int:
    """Bilinear samples, 4 products and 3 sums each, and the sum over them (adaptive: 2 x 2 of them)."""
    samples = (node.attributes.get("sampling_ratio", 0) or 2) ** 2
    return 8 * samples * node.output.elements


def _dft(node: NodeView) -> int:
    """5 n log2 n for each transform, n points each."""
    axis = node.attributes.get("axis", 1)
    if node.has(2) and node.inputs[2].elements_known:
        axis = node.inputs[2].elements_known[0]
    length = max(2, node.output.shape[axis])
    return int(5 * (node.output.elements / 2) * math.log2(length))


def _stft(node: NodeView) -> int:
    """A window's products and a transform for each frame: 5 n log2 n, n the frame's length."""
    frames, bins = math.prod(node.output.shape[:2]), node.output.shape[2]
    length = max(2, bins if node.attributes.get("onesided", 1) == 0 else 2 * (bins - 1))
    return int(frames * (length + 5 * length * math.log2(length)))


_FORMULAS: dict[str, Callable[[NodeView], int]] = {
    "Sum": _variadic(0), "Max": _variadic(0), "Min": _variadic(0), "Mean": _variadic(1),
    "ReduceSum": _reduce, "ReduceMax": _reduce, "ReduceMin": _reduce, "ReduceProd": _reduce,
    "ArgMax": _reduce, "ArgMin": _reduce,
    "ReduceL1": lambda node: node.inputs[0].elements + _reduce(node),
    "ReduceSumSquare": lambda node: node.inputs[0].elements + _reduce(node),
    "MaxPool": _pool(1), "AveragePool": _pool(1), "LpPool": _pool(2), "QLinearAveragePool": _pool(1),
    "MaxRoiPool": lambda node: node.inputs[0].elements,
    "RoiAlign": _roi_align,
    "BatchNormalization": _batch_norm,
    "LRN": lambda node: (node.attributes["size"] + 5) * node.output.elements,
    "Resize": _resize, "Upsample": _resize, "GridSample": _grid_sample,
    "Col2Im": lambda node: node.inputs[0].elements,
    "DFT": _dft, "STFT": _stft,
    "Det": lambda node: 2 * node.inputs[0].elements * node.inputs[0].shape[-1] // 3,  # elimination: 2/3 n^3
    # Each word: three rows added, then a layer norm.
    "EmbedLayerNormalization": lambda node: 9 * node.output.elements,
    "NegativeLogLikelihoodLoss": lambda node: 2 * node.inputs[1].elements,
    # Updates that add or compare; else they only write.
    **{kind: (lambda node: node.inputs[2].elements if node.attributes.get("reduction", "none") != "none" else 0)
       for kind in ("ScatterElements", "ScatterND", "Scatter")},
}
