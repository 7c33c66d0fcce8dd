"""Work of one primitive of a jaxpr: floating-point operations [FLOP] and bytes moved [B], by the rules of ../work.py.

Multiplications with padding count. Multiplications with the zeros between the elements of a dilated operand do not
count, so the gradients of a convolution count as much as the convolution. Integer work counts nothing.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Sequence

from ..work import (OpView, Rule, Value, elementwise, fourier, macs, matmul, matrices, per_input, pooling, reduction,
                    same)


@dataclasses.dataclass(frozen=True)
class Equation(OpView):
    """read: the inputs that are not literals."""

    read: Sequence[Value] = ()


# Primitives without floating-point arithmetic: they move, choose or describe data, or make random bits.
NO_FLOPS = frozenset("""
    and axis_index bitcast_convert_type broadcast_in_dim clz concatenate convert_element_type copy create_token
    device_put dynamic_slice dynamic_update_slice empty expand_dims gather imag iota mulhi name not
    optimization_barrier or pad population_count pvary random_bits random_fold_in random_seed random_split
    random_unwrap random_wrap real reduce_and reduce_or reduce_precision reduce_xor reshape rev rng_bit_generator
    rng_uniform scatter sharding_constraint shift_left shift_right_arithmetic shift_right_logical slice split squeeze
    stack stop_gradient threefry2x32 tile transpose unstack xor""".split())
# Primitives whose results are their operands, one by one, under other names or shapes.
VIEWS = frozenset("""bitcast_convert_type device_put expand_dims name optimization_barrier pvary random_unwrap
    random_wrap reshape sharding_constraint squeeze stop_gradient""".split())


def is_view(equation: Equation) -> bool:
    """Returns whether each result is the operand of the same position, in the same memory."""
    pairs = list(zip(equation.inputs, equation.outputs))
    if len(pairs) != len(equation.outputs) or any(a.num_bytes != b.num_bytes for a, b in pairs):
        return False
    if equation.kind == "convert_element_type":
        return pairs[0][0].dtype == pairs[0][1].dtype
    # A broadcast without a copy only adds dimensions of size 1.
    return equation.kind in VIEWS or equation.kind == "broadcast_in_dim"


def flops(equation: Equation) -> int | None:
    """Returns the floating-point operations of one run [FLOP]; None: no rule is known."""
    if equation.kind in NO_FLOPS:
        return 0
    rule = _RULES.get(equation.kind)
    if rule is None:
        return None
    return int(rule(equation)) if equation.is_float else 0


def bytes_accessed(equation: Equation) -> int | None:
    """Returns the bytes read and written by one run [B]; None: operands plus results, the default."""
    if is_view(equation):
        return 0
    out = equation.output_bytes
    if equation.kind == "gather":  # reads only the selected elements
        return sum(value.num_bytes for value in equation.read[1:]) + 2 * out
    if equation.kind in ("slice", "dynamic_slice"):
        return 2 * out
    if equation.kind in ("iota", "empty"):
        return out
    return None


def _dot_general(e: OpView) -> int:
    """Counts a product. dimension_numbers: ((contracted of both), (batches of both))."""
    (contracted, _), _ = e.attributes["dimension_numbers"]
    return macs(e.output.elements, (e.inputs[0].shape[axis] for axis in contracted))


def _convolution(e: OpView) -> int:
    """Counts a convolution. rhs: [filters, channels / groups, window...] in the order of its spec.

    With a dilated lhs (the gradient of a strided convolution with respect to its input), each of its elements meets
    each element of the window once for each filter. Otherwise each result takes channels / groups x window MACs.
    """
    spec, rhs = e.attributes["dimension_numbers"].rhs_spec, e.inputs[1].shape
    window = math.prod(rhs[axis] for axis in spec[2:])
    if any(step > 1 for step in e.attributes["lhs_dilation"]):
        return macs(e.inputs[0].elements, (window, rhs[spec[0]])) // e.attributes["feature_group_count"]
    return macs(e.output.elements, (window, rhs[spec[1]]))


def _integer_pow(e: OpView) -> int:
    """Counts repeated squaring, and a reciprocal if the exponent is negative."""
    exponent = abs(e.attributes["y"])
    products = max(0, exponent.bit_length() - 1) + max(0, exponent.bit_count() - 1)
    return (products + (e.attributes["y"] < 0)) * e.largest


def _sort(e: OpView) -> int:
    """Counts n log2 n comparisons along the dimension."""
    length = e.inputs[0].shape[e.attributes["dimension"]]
    return e.inputs[0].elements * max(0, length - 1).bit_length()


_RULES: dict[str, Rule] = {
    **elementwise("""abs acos acosh add add_any asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp
        complex conj cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt igamma igamma_grad_a
        igammac is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter polygamma pow
        random_gamma rem round rsqrt select_n sign sin sinh sqrt square sub tan tanh zeta"""),
    "dot_general": _dot_general, "conv_general_dilated": _convolution,
    "ragged_dot": matmul,
    **same("reduce reduce_sum reduce_prod reduce_max reduce_min argmax argmin", reduction),
    **same("cumsum cumprod cummax cummin", per_input(1)),
    "cumlogsumexp": per_input(4),
    **same("reduce_window reduce_window_sum reduce_window_max reduce_window_min select_and_gather_add",
           pooling("window_dimensions")),
    # Inputs are the source and the operand. Finds each window's maximum and adds the source there.
    "select_and_scatter_add": pooling("window_dimensions", extra=1, grid=0),
    "integer_pow": _integer_pow, "sort": _sort,
    **same("top_k approx_top_k", per_input(1)),  # at least one comparison per element
    # Inputs: the array that is written, indices, updates.
    **{f"scatter{dash}{what}": per_input(1, 2) for dash in "-_" for what in ("add", "sub", "mul", "min", "max")},
    "fft": lambda e: fourier(max(e.inputs[0].elements, e.largest), math.prod(e.attributes["fft_lengths"])),
    "cholesky": matrices(1, 3), "lu": matrices(2, 3),
    "triangular_solve": lambda e: e.output.elements * e.inputs[0].shape[-1],
}
