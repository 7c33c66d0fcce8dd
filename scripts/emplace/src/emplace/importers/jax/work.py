"""Work of one primitive of a jaxpr: floating-point operations [FLOP] and bytes moved [B].

A multiply-add counts as two, a transcendental function as one, as the other importers count. Multiplications with
padding count, those with the zeros between the elements of a dilated operand do not: so the gradients of a
convolution count as much as the convolution. Integer work counts nothing. Figures depend on shapes and parameters
only: `jax` is not needed here.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Value:
    """An operand or result: shape, dtype as in graph files, size [B]."""

    shape: tuple[int, ...]
    dtype: str
    num_bytes: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith(("f", "bf", "c")) and self.dtype != "float0"


@dataclasses.dataclass(frozen=True)
class Equation:
    """What the formulas may look at. operands: literals are among them; read: the operands that are no literals."""

    primitive: str
    operands: Sequence[Value]
    read: Sequence[Value]
    results: Sequence[Value]
    parameters: Mapping[str, Any]

    @property
    def out(self) -> int:
        """Elements of the largest result."""
        return max((value.elements for value in self.results), default=0)


# FLOP for each element of the result.
_PER_RESULT = {
    **dict.fromkeys("""abs acos acosh add add_any asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil
        complex conj cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt igamma igamma_grad_a
        igammac is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter polygamma pow
        random_gamma rem round select_n sign sin sinh sqrt square sub tan tanh zeta""".split(), 1),
    "rsqrt": 2,  # square root, reciprocal
    "clamp": 2,  # two bounds
}
# Primitives that compute nothing in floating point: they move, choose or describe data, or make random bits.
NO_FLOPS = frozenset("""
    and axis_index bitcast_convert_type broadcast_in_dim clz concatenate convert_element_type copy create_token
    device_put dynamic_slice dynamic_update_slice empty expand_dims gather imag iota mulhi name not
    optimization_barrier or pad population_count pvary random_bits random_fold_in random_seed random_split
    random_unwrap random_wrap real reduce_and reduce_or reduce_precision reduce_xor reshape rev rng_bit_generator
    rng_uniform scatter sharding_constraint shift_left shift_right_arithmetic shift_right_logical slice split squeeze
    stack stop_gradient threefry2x32 tile transpose unstack xor""".split())
# Primitives whose results are their operands, one each, under other names or shapes.
VIEWS = frozenset("""bitcast_convert_type device_put expand_dims name optimization_barrier pvary random_unwrap
    random_wrap reshape sharding_constraint squeeze stop_gradient""".split())


def is_view(equation: Equation) -> bool:
    """Whether each result is the operand of its place in the same memory."""
    pairs = list(zip(equation.operands, equation.results))
    if len(pairs) != len(equation.results) or any(a.num_bytes != b.num_bytes for a, b in pairs):
        return False
    if equation.primitive == "convert_element_type":
        return pairs[0][0].dtype == pairs[0][1].dtype
    # A broadcast that copies nothing only adds dimensions of size 1.
    return equation.primitive in VIEWS or equation.primitive == "broadcast_in_dim"


def flops(equation: Equation) -> int | None:
    """Floating-point operations of one run [FLOP]; None: no formula is known."""
    if equation.primitive in NO_FLOPS:
        return 0
    formula = _FORMULAS.get(equation.primitive)
    if formula is None and equation.primitive not in _PER_RESULT:
        return None
    if not any(value.is_float for value in (*equation.operands, *equation.results)):
        return 0
    return int(formula(equation)) if formula else _PER_RESULT[equation.primitive] * equation.out


def bytes_accessed(equation: Equation) -> int | None:
    """Bytes read and written by one run [B]; None: operands plus results, the default."""
    if is_view(equation):
        return 0
    out = sum(value.num_bytes for value in equation.results)
    if equation.primitive == "gather":  # reads the chosen elements only
        return sum(value.num_bytes for value in equation.read[1:]) + 2 * out
    if equation.primitive in ("slice", "dynamic_slice"):
        return 2 * out
    if equation.primitive in ("iota", "empty"):
        return out
    return None


def _dot_general(e: Equation) -> int:
    """dimension_numbers: ((contracted of both), (batches of both))."""
    (contracted, _), _ = e.parameters["dimension_numbers"]
    return 2 * e.out * math.prod(e.operands[0].shape[axis] for axis in contracted)


def _convolution(e: Equation) -> int:
    """rhs: [filters, channels / groups, window...] in the order of its spec.

    With a dilated lhs (the gradient of a strided convolution by its input) each of its elements meets each element of
    the window once, for each filter; else each result takes channels / groups x window multiply-adds.
    """
    spec, rhs = e.parameters["dimension_numbers"].rhs_spec, e.operands[1].shape
    window = math.prod(rhs[axis] for axis in spec[2:])
    if any(step > 1 for step in e.parameters["lhs_dilation"]):
        groups = e.parameters["feature_group_count"]
        return 2 * e.operands[0].elements * window * rhs[spec[0]] // groups
    return 2 * e.out * window * rhs[spec[1]]


def _reduce(e: Equation) -> int:
    return sum(max(0, a.elements - b.elements) for a, b in zip(e.operands, e.results))


def _window(e: Equation) -> int:
    return math.prod(e.parameters["window_dimensions"]) * e.out


def _select_and_scatter(e: Equation) -> int:
    """Operands are the source and the operand: finds each window's maximum, adds the source there."""
    return (math.prod(e.parameters["window_dimensions"]) + 1) * e.operands[0].elements


def _integer_pow(e: Equation) -> int:
    """By squaring; a reciprocal where the exponent is negative."""
    exponent = abs(e.parameters["y"])
    products = max(0, exponent.bit_length() - 1) + max(0, exponent.bit_count() - 1)
    return (products + (e.parameters["y"] < 0)) * e.out


def _sort(e: Equation) -> int:
    """n log2 n comparisons along the dimension."""
    length = e.operands[0].shape[e.parameters["dimension"]]
    return e.operands[0].elements * max(0, length - 1).bit_length()


def _fft(e: Equation) -> int:
    """5 n log2 n for each transform of n points."""
    points = math.prod(e.parameters["fft_lengths"])
    return int(5 * max(e.operands[0].elements, e.out) * math.log2(max(2, points)))


def _matrices(numerator: int, denominator: int) -> Callable[[Equation], int]:
    """n^3 numerator / denominator for each n x n matrix."""
    return lambda e: numerator * e.operands[0].elements * e.operands[0].shape[-1] // denominator


_FORMULAS: dict[str, Callable[[Equation], int]] = {
    "dot_general": _dot_general, "conv_general_dilated": _convolution,
    "ragged_dot": lambda e: 2 * e.out * e.operands[0].shape[-1],
    **dict.fromkeys("reduce reduce_sum reduce_prod reduce_max reduce_min argmax argmin".split(), _reduce),
    **dict.fromkeys("cumsum cumprod cummax cummin".split(), lambda e: e.operands[0].elements),
    "cumlogsumexp": lambda e: 4 * e.operands[0].elements,
    **dict.fromkeys("reduce_window reduce_window_sum reduce_window_max reduce_window_min".split(), _window),
    "select_and_scatter_add": _select_and_scatter, "select_and_gather_add": _window,
    "integer_pow": _integer_pow, "sort": _sort,
    **dict.fromkeys(("top_k", "approx_top_k"), lambda e: e.operands[0].elements),  # one comparison each, at least
    # Operands: what is written to, indices, updates.
    **dict.fromkeys([f"scatter{dash}{what}" for dash in "-_" for what in ("add", "sub", "mul", "min", "max")],
                    lambda e: e.operands[2].elements),
    "fft": _fft, "cholesky": _matrices(1, 3), "lu": _matrices(2, 3),
    "triangular_solve": lambda e: e.out * e.operands[0].shape[-1],
}
