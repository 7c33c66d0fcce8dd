"""Tests of the FLOP and byte formulas for JAX's primitives against calculations by hand. They need no package."""

import math
import types
import unittest

from support import kinds_without_class

from emplace.importers.jax import work
from emplace.importers.jax.work import Equation, bytes_accessed, flops, is_view
from emplace.importers.work import Value

SIZES = {"f32": 4, "bf16": 2, "i32": 4, "bool": 1}


def value(*shape: int, dtype: str = "f32") -> Value:
    return Value(shape, dtype, math.prod(shape) * SIZES[dtype])


def equation(primitive: str, operands: list, results: list, **parameters) -> Equation:
    return Equation(primitive, operands, results, parameters, operands)


class Flops(unittest.TestCase):
    def check(self, expected: int | None, primitive: str, operands: list, results: list, **parameters) -> None:
        self.assertEqual(flops(equation(primitive, operands, results, **parameters)), expected)

    def test_products(self) -> None:
        self.check(2 * 3 * 5 * 4, "dot_general", [value(3, 4), value(4, 5)], [value(3, 5)],
                   dimension_numbers=(((1,), (0,)), ((), ())))
        # 7 batches; the first is transposed.
        self.check(2 * 7 * 3 * 5 * 4, "dot_general", [value(7, 4, 3), value(7, 4, 5)], [value(7, 3, 5)],
                   dimension_numbers=(((1,), (1,)), ((0,), (0,))))

    def test_convolution(self) -> None:
        """8 filters of 3 x 3 over 4 channels, stride 2, no padding: 9 x 9 gives 4 x 4."""
        spec = types.SimpleNamespace(rhs_spec=(3, 2, 0, 1))  # HWIO
        macs = 2 * 16 * 8 * (3 * 3 * 4)  # 2 images
        x, w, y = value(2, 9, 9, 4), value(3, 3, 4, 8), value(2, 4, 4, 8)
        self.check(2 * macs, "conv_general_dilated", [x, w], [y], dimension_numbers=spec, lhs_dilation=(1, 1),
                   feature_group_count=1)
        # The gradient by the image: y spread by 2, with w's channels turned: as much, not 4 times as much.
        turned = types.SimpleNamespace(rhs_spec=(2, 3, 0, 1))
        self.check(2 * macs, "conv_general_dilated", [y, w], [x], dimension_numbers=turned, lhs_dilation=(2, 2),
                   feature_group_count=1)
        # The gradient by the filters: y is the window, 2 images are what is summed.
        by_filter = types.SimpleNamespace(rhs_spec=(3, 0, 1, 2))  # of y [images, h, w, filters]
        self.check(2 * macs, "conv_general_dilated", [x, y], [w], dimension_numbers=by_filter, lhs_dilation=(1, 1),
                   feature_group_count=1)

    def test_grouped_convolution(self) -> None:
        spec = types.SimpleNamespace(rhs_spec=(3, 2, 0, 1))
        self.check(2 * 2 * 16 * 8 * 9 * 2, "conv_general_dilated", [value(2, 9, 9, 4), value(3, 3, 2, 8)],
                   [value(2, 4, 4, 8)], dimension_numbers=spec, lhs_dilation=(1, 1), feature_group_count=2)

    def test_elementwise(self) -> None:
        self.check(12, "add", [value(3, 4), value(3, 4)], [value(3, 4)])
        self.check(24, "rsqrt", [value(3, 4)], [value(3, 4)])
        self.check(12, "gt", [value(3, 4), value()], [value(3, 4, dtype="bool")])
        self.check(0, "add", [value(3, dtype="i32"), value(3, dtype="i32")], [value(3, dtype="i32")])

    def test_powers(self) -> None:
        for exponent, products in ((1, 0), (2, 1), (3, 2), (4, 2), (7, 4), (-1, 1), (-2, 2)):
            self.check(12 * products, "integer_pow", [value(3, 4)], [value(3, 4)], y=exponent)

    def test_reductions(self) -> None:
        self.check(9, "reduce_sum", [value(3, 4)], [value(3)])
        self.check(12, "cumsum", [value(3, 4)], [value(3, 4)])
        self.check(4 * 8, "reduce_window_max", [value(4, 8)], [value(2, 4)], window_dimensions=(2, 2))
        self.check(12 * 2, "sort", [value(3, 4)], [value(3, 4)], dimension=1)  # log2 4

    def test_scatters(self) -> None:
        operands = [value(1000, 4), value(5, 1, dtype="i32"), value(5, 4)]
        self.check(20, "scatter-add", operands, [value(1000, 4)])
        self.check(0, "scatter", operands, [value(1000, 4)])

    def test_random_bits_and_moves_count_nothing(self) -> None:
        for primitive in ("random_bits", "transpose", "convert_element_type", "broadcast_in_dim", "gather"):
            self.check(0, primitive, [value(3, 4)], [value(3, 4)])

    def test_unknown(self) -> None:
        self.check(None, "ffi_call", [value(3, 4)], [value(3, 4)])


class Memory(unittest.TestCase):
    def test_views(self) -> None:
        self.assertTrue(is_view(equation("reshape", [value(3, 4)], [value(12)])))
        self.assertTrue(is_view(equation("broadcast_in_dim", [value(4)], [value(1, 4)])))
        self.assertFalse(is_view(equation("broadcast_in_dim", [value(4)], [value(3, 4)])))
        self.assertTrue(is_view(equation("convert_element_type", [value(4)], [value(4)])))
        self.assertFalse(is_view(equation("convert_element_type", [value(4)], [value(4, dtype="i32")])))
        self.assertFalse(is_view(equation("transpose", [value(3, 4)], [value(4, 3)])))
        self.assertTrue(is_view(equation("optimization_barrier", [value(3), value(4)], [value(3), value(4)])))

    def test_bytes(self) -> None:
        # 5 indices of 4 B; 5 rows of 16 B read and written.
        self.assertEqual(bytes_accessed(equation("gather", [value(1000, 4), value(5, 1, dtype="i32")], [value(5, 4)])),
                         5 * 4 + 2 * 5 * 16)
        self.assertEqual(bytes_accessed(equation("slice", [value(1000, 4)], [value(5, 4)])), 160)
        self.assertEqual(bytes_accessed(equation("reshape", [value(3, 4)], [value(12)])), 0)
        self.assertIsNone(bytes_accessed(equation("add", [value(3), value(3)], [value(3)])))


class ClassesOfCostModels(unittest.TestCase):
    """The kinds that have a formula here have a class in framework/cost/op_classes/jax.yaml, but for these."""

    def test_every_kind_has_a_class(self) -> None:
        kinds = {*work._RULES, *work.NO_FLOPS, *work.VIEWS}
        self.assertEqual(kinds_without_class("jax.yaml", kinds), {"fft"})


if __name__ == "__main__":
    unittest.main()
