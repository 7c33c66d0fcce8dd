"""Tests of the FLOP and byte formulas for ONNX nodes against calculations by hand. They need no package."""

import unittest

from support import kinds_without_class

from emplace.importers.onnx import work
from emplace.importers.onnx.work import bytes_accessed, flops, is_view
from emplace.importers.work import OpView, Value

SIZES = {"f32": 4, "f16": 2, "i64": 8, "i32": 4, "i8": 1, "u8": 1, "bool": 1}


def value(*shape: int, dtype: str = "f32", known: list | None = None) -> Value:
    count = 1
    for size in shape:
        count *= size
    return Value(list(shape), dtype, count * SIZES[dtype], known)


def node(kind: str, inputs: list, outputs: list, **attributes) -> OpView:
    return OpView(kind, inputs, outputs, attributes)


class Products(unittest.TestCase):
    def check(self, expected: int, kind: str, inputs: list, outputs: list, **attributes) -> None:
        self.assertEqual(flops(node(kind, inputs, outputs, **attributes)), expected)

    def test_convolution(self) -> None:
        # 1 x 8 x 6 x 6 = 288 outputs, each 4 x 3 x 3 = 36 multiply-adds.
        x, w, y = value(1, 4, 8, 8), value(8, 4, 3, 3), value(1, 8, 6, 6)
        self.check(2 * 288 * 36, "Conv", [x, w], [y])
        self.check(2 * 288 * 36 + 288, "Conv", [x, w, value(8)], [y])

    def test_grouped_convolution(self) -> None:
        # 2 groups: each output sees half of the 4 channels, 2 x 9 multiply-adds.
        self.check(2 * 288 * 18, "Conv", [value(1, 4, 8, 8), value(8, 2, 3, 3)], [value(1, 8, 6, 6)], group=2)

    def test_transposed_convolution(self) -> None:
        # Each of 4 x 5 x 5 = 100 inputs is multiplied with 6 filters x 3 x 3.
        self.check(2 * 100 * 54, "ConvTranspose", [value(1, 4, 5, 5), value(4, 6, 3, 3)], [value(1, 6, 7, 7)])

    def test_quantised_convolution(self) -> None:
        # As the convolution with a bias, and 3 for each output: scale, round, zero point.
        x, w, y = value(1, 4, 8, 8, dtype="u8"), value(8, 4, 3, 3, dtype="i8"), value(1, 8, 6, 6, dtype="u8")
        one, zero = value(), value(dtype="u8")
        self.check(288 * (72 + 1 + 3), "QLinearConv",
                   [x, one, zero, w, one, zero, one, zero, value(8, dtype="i32")], [y])
        self.check(288 * 72, "ConvInteger", [x, w], [value(1, 8, 6, 6, dtype="i32")])

    def test_matmul(self) -> None:
        self.check(2 * 3 * 5 * 4, "MatMul", [value(3, 4), value(4, 5)], [value(3, 5)])
        # The second matrix serves 7 x 2 of the first.
        self.check(2 * 7 * 2 * 3 * 5 * 4, "MatMul", [value(7, 2, 3, 4), value(2, 4, 5)], [value(7, 2, 3, 5)])
        self.check(2 * 4, "MatMul", [value(4), value(4)], [value()])
        self.check(2 * 3 * 5 * 4, "MatMulInteger", [value(3, 4, dtype="u8"), value(4, 5, dtype="i8")],
                   [value(3, 5, dtype="i32")])

    def test_gemm(self) -> None:
        self.check(2 * 3 * 5 * 4, "Gemm", [value(3, 4), value(4, 5)], [value(3, 5)])
        self.check(2 * 3 * 5 * 4 + 15, "Gemm", [value(4, 3), value(5, 4), value(5)], [value(3, 5)], transA=1, transB=1)

    def test_einsum(self) -> None:
        self.check(2 * 2 * 3 * 4 * 5, "Einsum", [value(2, 3, 4), value(2, 4, 5)], [value(2, 3, 5)],
                   equation="bij,bjk->bik")
        self.check(3 * 4, "Einsum", [value(3), value(4)], [value(3, 4)], equation="i,j->ij")  # products alone
        self.check(3 * 4, "Einsum", [value(3, 4)], [value(3)], equation="ij->i")              # sums alone
        self.check(2 * 7 * 3 * 4 * 5, "Einsum", [value(7, 3, 4), value(4, 5)], [value(7, 3, 5)],
                   equation="...ij,jk->...ik")

    def test_lstm(self) -> None:
        # 5 steps x 2 rows, each 4 gates x 3 units x (4 + 3) multiply-adds = 84, and 3 x 13 around them.
        x, w, r, b = value(5, 2, 4), value(1, 12, 4), value(1, 12, 3), value(1, 24)
        y = value(5, 1, 2, 3)
        self.check(10 * (2 * 84 + 39), "LSTM", [x, w, r], [y], hidden_size=3)
        self.check(10 * (2 * 84 + 39 + 24), "LSTM", [x, w, r, b], [y], hidden_size=3)  # two biases of 12
        # Both directions.
        self.check(2 * 10 * (2 * 84 + 39), "LSTM", [x, value(2, 12, 4), value(2, 12, 3)], [value(5, 2, 2, 3)])

    def test_gru_and_rnn(self) -> None:
        # 3 gates x 3 x 7 = 63 multiply-adds and 11 x 3; one gate: 21 and 2 x 3.
        self.check(10 * (126 + 33), "GRU", [value(5, 2, 4), value(1, 9, 4), value(1, 9, 3)], [value(5, 1, 2, 3)])
        self.check(10 * (42 + 6), "RNN", [value(5, 2, 4), value(1, 3, 4), value(1, 3, 3)], [value(5, 1, 2, 3)])

    def test_attention(self) -> None:
        # 2 x 4 heads x 6 queries x 10 keys = 480 pairs: 8 + 8 multiply-adds, scale 1, softmax 5.
        q, k, v = value(2, 4, 6, 8), value(2, 4, 10, 8), value(2, 4, 10, 8)
        self.check(480 * (32 + 6), "Attention", [q, k, v], [value(2, 4, 6, 8)])
        self.check(480 * (32 + 7), "Attention", [q, k, v, value(6, 10)], [value(2, 4, 6, 8)])  # + the mask
        flat = [value(2, 6, 32), value(2, 10, 16), value(2, 10, 16)]  # 4 heads of 8; 2 of keys and values
        self.check(480 * (32 + 6), "Attention", flat, [value(2, 6, 32)], q_num_heads=4, kv_num_heads=2)
        past = value(2, 4, 5, 8)  # 15 keys
        self.check(720 * (32 + 6), "Attention", [q, k, v, None, past, past], [value(2, 4, 6, 8)])
        self.check(480 * (32 + 6), "MultiHeadAttention",
                   [value(2, 6, 32), value(2, 10, 32), value(2, 10, 32)], [value(2, 6, 32)], num_heads=4)
        # com.microsoft: q, k, v projections of 2 x 6 rows, 16 -> 96, and 2 x 4 x 6 x 6 = 288 pairs.
        self.check(12 * 96 * (2 * 16 + 1) + 288 * 38, "Attention",
                   [value(2, 6, 16), value(16, 96), value(96)], [value(2, 6, 32)], num_heads=4)


class OtherKinds(unittest.TestCase):
    def check(self, expected: int | None, kind: str, inputs: list, outputs: list, **attributes) -> None:
        self.assertEqual(flops(node(kind, inputs, outputs, **attributes)), expected)

    def test_pooling(self) -> None:
        self.check(9 * 2 * 16, "MaxPool", [value(1, 2, 9, 9)], [value(1, 2, 4, 4)], kernel_shape=[3, 3])
        self.check(128, "GlobalAveragePool", [value(1, 2, 8, 8)], [value(1, 2, 1, 1)])

    def test_normalisation_and_softmax(self) -> None:
        self.check(2 * 12, "BatchNormalization", [value(3, 4)] + [value(4)] * 4, [value(3, 4)])
        self.check(7 * 12, "LayerNormalization", [value(3, 4), value(4), value(4)], [value(3, 4)])
        self.check(5 * 12, "Softmax", [value(3, 4)], [value(3, 4)])

    def test_elementwise(self) -> None:
        self.check(12, "Add", [value(3, 4), value(4)], [value(3, 4)])  # broadcast: as many as results
        self.check(24, "Sum", [value(3, 4)] * 3, [value(3, 4)])        # two additions each
        self.check(36, "Mean", [value(3, 4)] * 3, [value(3, 4)])       # and a division
        self.check(60, "Gelu", [value(3, 4)], [value(3, 4)])

    def test_reductions(self) -> None:
        self.check(9, "ReduceSum", [value(3, 4)], [value(3)])   # 3 additions a row
        self.check(12, "ReduceMean", [value(3, 4)], [value(3)])
        self.check(21, "ReduceSumSquare", [value(3, 4)], [value(3)])

    def test_quantisation(self) -> None:
        self.check(36, "QuantizeLinear", [value(3, 4), value()], [value(3, 4, dtype="u8")])
        self.check(24, "DequantizeLinear", [value(3, 4, dtype="u8"), value()], [value(3, 4)])

    def test_integer_work_on_shapes_counts_nothing(self) -> None:
        self.check(0, "Add", [value(4, dtype="i64"), value(4, dtype="i64")], [value(4, dtype="i64")])

    def test_resize(self) -> None:
        # Two axes, linear: 3 for the first, 3 for each of two taps of the second.
        self.check(9 * 64, "Resize", [value(1, 1, 4, 4)], [value(1, 1, 8, 8)], mode="linear")
        self.check(0, "Resize", [value(1, 1, 4, 4)], [value(1, 1, 8, 8)], mode="nearest")

    def test_optimisers(self) -> None:
        # R, T, then X, G, V, H.
        self.check(11 * 6, "Adam", [value(), value(dtype="i64"), *[value(2, 3)] * 4], [value(2, 3)] * 3)

    def test_unknown(self) -> None:
        self.check(None, "TreeEnsemble", [value(3, 4)], [value(3)])


class Memory(unittest.TestCase):
    def test_views_move_nothing(self) -> None:
        for kind in ("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"):
            view = node(kind, [value(3, 4)], [value(12)])
            self.assertTrue(is_view(view), kind)
            self.assertEqual((flops(view), bytes_accessed(view)), (0, 0), kind)

    def test_casts(self) -> None:
        self.assertTrue(is_view(node("Cast", [value(3)], [value(3)], to=1)))
        self.assertFalse(is_view(node("Cast", [value(3)], [value(3, dtype="f16")], to=10)))

    def test_dropout(self) -> None:
        rate, on, off = value(known=[0.5]), value(dtype="bool", known=[True]), value(dtype="bool", known=[False])
        self.assertTrue(is_view(node("Dropout", [value(3)], [value(3)])))
        self.assertTrue(is_view(node("Dropout", [value(3), rate, off], [value(3)])))
        self.assertFalse(is_view(node("Dropout", [value(3), rate, on], [value(3)])))
        self.assertEqual(flops(node("Dropout", [value(3), rate, on], [value(3)])), 6)

    def test_gathers_read_what_they_fetch(self) -> None:
        # 5 indices of 8 B; 5 rows of 16 B read and written; not the table of 1000 rows.
        self.assertEqual(bytes_accessed(node("Gather", [value(1000, 4), value(5, dtype="i64")], [value(5, 4)])),
                         5 * 8 + 2 * 5 * 16)

    def test_slices_read_what_they_keep(self) -> None:
        self.assertEqual(bytes_accessed(node("Slice", [value(1000, 4), value(1, dtype="i64")], [value(5, 4)])), 160)

    def test_shapes_read_nothing(self) -> None:
        self.assertEqual(bytes_accessed(node("Shape", [value(3, 4)], [value(2, dtype="i64")])), 0)

    def test_default(self) -> None:
        self.assertIsNone(bytes_accessed(node("Add", [value(3), value(3)], [value(3)])))


class ClassesOfCostModels(unittest.TestCase):
    """The kinds that have a formula here have a class in framework/cost/op_classes/onnx.yaml, but for these."""

    def test_every_kind_has_a_class(self) -> None:
        kinds = {*work._RULES, *work.NO_FLOPS, *work.VIEWS, *work.PRODUCTS} - {"parameter", "constant"}
        self.assertEqual(kinds_without_class("onnx.yaml", kinds), {"DFT", "Det", "Optional", "STFT", "StringConcat"})


if __name__ == "__main__":
    unittest.main()
