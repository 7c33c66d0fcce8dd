"""The importers' view of an op, and the rules by which they count its work in floating-point operations [FLOP].

A multiply-add counts as two, an element-wise function as `_PER_ELEMENT` states. A rule takes an `OpView` and returns
FLOP. The tables of onnx/work.py, tensorflow/work.py and jax/work.py name the rule of each kind. Figures depend on
shapes and attributes only; no framework is needed here.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Iterable, Mapping, Sequence

FLOATS = ("f64", "f32", "f16", "bf16", "f8", "f4", "c64", "c128")


@dataclasses.dataclass(frozen=True)
class Value:
    """An input or output: its shape, its dtype as in graph files, its size [B].

    elements_known: its elements if they are known (integers). is_state: the value is a variable's handle.
    """

    shape: Sequence[int]
    dtype: str
    num_bytes: int
    elements_known: Sequence[Any] | None = None
    is_state: bool = False

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS


@dataclasses.dataclass(frozen=True)
class OpView:
    """The inputs of the rules. Inputs and outputs that an op leaves out are None."""

    kind: str  # without the domain of ONNX
    inputs: Sequence[Value | None]
    outputs: Sequence[Value | None]
    attributes: Mapping[str, Any]

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None

    @property
    def output(self) -> Value:
        """Returns the first output that is present; an empty one if there is none."""
        return next((value for value in self.outputs if value is not None), Value([0], "f32", 0))

    @property
    def largest(self) -> int:
        """Returns the number of elements of the largest output."""
        return max((value.elements for value in self.outputs if value is not None), default=0)

    @property
    def output_bytes(self) -> int:
        return sum(value.num_bytes for value in self.outputs if value is not None)

    @property
    def is_float(self) -> bool:
        """Returns whether an input or output has floating-point elements."""
        return any(value is not None and value.is_float for value in (*self.inputs, *self.outputs))


Rule = Callable[[OpView], float]

# FLOP of one element, by the function's name in lower case; functions that are not listed count one.
_PER_ELEMENT = {
    "rsqrt": 2,              # square root, reciprocal
    "squareddifference": 2,  # (a - b)^2
    "sqrtgrad": 2,           # dy / (2 y)
    "tanhgrad": 3,           # dy (1 - y^2)
    "sigmoidgrad": 3,        # dy y (1 - y)
    "rsqrtgrad": 4,          # -dy y^3 / 2
    "invgrad": 3, "reciprocalgrad": 3,
    "clip": 2, "clipbyvalue": 2, "clamp": 2,  # two bounds
    "softplus": 2, "softplusgrad": 3, "elu": 2, "elugrad": 2, "selu": 3, "selugrad": 3, "celu": 3, "softsign": 2,
    "softsigngrad": 4, "xlogy": 2, "shrink": 2, "swish": 2, "silu": 2, "quickgelu": 3, "mish": 4,
    "hardsigmoid": 4,        # multiply, add, two bounds
    "hardswish": 5,
    "gelu": 5,               # x / sqrt(2), erf, + 1, times x, halved
    "biasgelu": 6,           # gelu and the bias
    "fastgelu": 9,           # tanh of a cubic: 5 for the cubic, tanh, + 1, times x, halved
    "swiglu": 3,             # sigmoid, two products
    "softmax": 5,            # max, subtract, exp, sum, divide
    "logsoftmax": 5,
    "rotaryembedding": 3,    # two products, one sum
    "hannwindow": 4, "hammingwindow": 4, "blackmanwindow": 7, "melweightmatrix": 4, "affinegrid": 6, "scaler": 2,
    # Dequantise both, compute, quantise.
    "qlinearadd": 8, "qlinearmul": 8, "qlinearsigmoid": 6, "qlinearleakyrelu": 6, "qlinearsoftmax": 10,
}

# FLOP for each element that an optimiser updates.
PER_UPDATE = {
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


def per_output(flops: int) -> Rule:
    """Returns the rule that counts `flops` for each element of the largest output."""
    return lambda op: flops * op.largest


def per_input(flops: int, index: int = 0) -> Rule:
    """Returns the rule that counts `flops` for each element of one input."""
    return lambda op: flops * op.inputs[index].elements


def elementwise(kinds: str) -> dict[str, Rule]:
    """Returns the rules of element-wise functions; AddV2 counts as Add."""
    return {kind: per_output(_PER_ELEMENT.get(kind.removesuffix("V2").lower(), 1)) for kind in kinds.split()}


def same(kinds: str, rule: Rule) -> dict[str, Rule]:
    """Returns one rule for several kinds."""
    return dict.fromkeys(kinds.split(), rule)


def variadic(extra: int = 0) -> Rule:
    """Returns the rule that counts n - 1 combinations of n inputs and `extra` more FLOP for each element."""
    return lambda op: (len(op.inputs) - 1 + extra) * op.output.elements


def reduction(op: OpView) -> int:
    """Returns the number of combinations: input elements minus output elements."""
    return sum(max(0, a.elements - b.elements) for a, b in zip(op.inputs, op.outputs))


def pooling(window: str, per_element: int = 1, extra: int = 0, grid: int | None = None) -> Rule:
    """Returns the rule for windows, whose size is the attribute `window`.

    Each window counts `per_element` for each of its elements, and `extra`. There are as many windows as the output, or
    input `grid`, has elements.
    """
    def rule(op: OpView) -> int:
        windows = op.output if grid is None else op.inputs[grid]
        return (per_element * math.prod(op.attributes[window]) + extra) * windows.elements
    return rule


def batch_norm(training: str, default: bool) -> Rule:
    """Returns the rule of batch normalisation.

    Inference counts scale and shift; training (an attribute) also counts the sum and the centred sum of squares.
    """
    return lambda op: (6 if op.attributes.get(training, default) else 2) * op.inputs[0].elements


def macs(results: int, each: Iterable[int]) -> int:
    """Returns the FLOP of `results` sums of products, each of which sums over the sizes `each`."""
    return 2 * results * math.prod(each)


def matmul(op: OpView) -> int:
    """Returns 2 m n k; a is [m, k], or [k, m] if transposed; leading dimensions are batches."""
    transposed = any(op.attributes.get(key) for key in ("transpose_a", "adj_x", "transA"))
    return macs(op.output.elements, [op.inputs[0].shape[-2 if transposed else -1]])


def einsum_sizes(op: OpView) -> dict[str, int]:
    """Returns the size of each letter of an einsum, and of each dimension that an ellipsis stands for."""
    sizes: dict[str, int] = {}
    for term, value in zip(op.attributes["equation"].replace(" ", "").partition("->")[0].split(","), op.inputs):
        start, _, rest = term.partition("...")
        hidden = len(value.shape) - len(start) - len(rest)
        for label, size in zip([*start, *(f"...{hidden - i}" for i in range(hidden)), *rest], value.shape):
            sizes[label] = max(size, sizes.get(label, 1))
    return sizes


def matrices(numerator: int, denominator: int) -> Rule:
    """Returns the rule that counts n^3 numerator / denominator for each n x n matrix."""
    return lambda op: numerator * op.inputs[0].elements * op.inputs[0].shape[-1] // denominator


def fourier(elements: float, points: int) -> float:
    """Returns 5 n log2 n for each transform of n points."""
    return 5 * elements * math.log2(max(2, points))


def gathered_bytes(op: OpView) -> int:
    """Returns the bytes of an op that reads only the indices and the selected elements, and writes these [B]."""
    return op.inputs[1].num_bytes + 2 * op.output_bytes
