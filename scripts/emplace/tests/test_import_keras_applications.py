"""Tests of `emplace import --from keras`: published figures of keras.applications, formulas by hand."""

import unittest

from support import graph_file, matrix_work, needs

from emplace import importers
from emplace.importers.tensorflow.work import flops
from emplace.importers.work import OpView, Value


class Einsum(unittest.TestCase):
    """Formulas by hand; TensorFlow is not needed."""

    def flops(self, equation: str, inputs: list[list[int]], output: list[int]) -> int | None:
        values = [Value(shape, "f32", 0) for shape in inputs]
        return flops(OpView("Einsum", values, [Value(output, "f32", 0)], {"equation": equation}))

    def test_products(self) -> None:
        # abc,cde->abde, [2, 3, 4] x [4, 5, 6]: 2 * 2 * 3 * 4 * 5 * 6
        self.assertEqual(self.flops("abc,cde->abde", [[2, 3, 4], [4, 5, 6]], [2, 3, 5, 6]), 1440)
        # the dots stand for [2, 3]: 2 * (2 * 3) * 4 * 5 * 7
        self.assertEqual(self.flops("...ab, bc -> ...ac", [[2, 3, 4, 5], [5, 7]], [2, 3, 4, 7]), 1680)

    def test_a_sum(self) -> None:
        self.assertEqual(self.flops("ab->a", [[3, 5]], [3]), 15 - 3)


@needs("tensorflow", "keras")
class Applications(unittest.TestCase):
    """The figures that the papers and keras.applications publish: parameters, multiply-adds an image."""

    def check(self, name: str, inference: bool, parameters: int, total: int, giga: float, delta: float) -> dict:
        imported = importers.read(name, "keras", batch=1, inference=inference)
        document = imported.document
        self.assertEqual(graph_file.check(document), [])
        figures = graph_file.statistics(document)
        self.assertEqual(figures["parameters"], parameters)
        statistics = sum(tensor["bytes"] // 4 for tensor in document["tensors"] if tensor.get("role") == "buffer"
                         and "moving_" in tensor["name"])
        self.assertEqual(parameters + statistics, total)
        self.assertAlmostEqual(matrix_work(document) / 2e9, giga, delta=delta)
        self.assertEqual(imported.dropped, [])
        return document

    def test_resnet50(self) -> None:
        # keras.io: 25,636,712 parameters, 53,120 of them moving averages. He et al., Table 1: 3.8 * 10^9.
        self.check("ResNet50", True, 25_583_592, 25_636_712, 3.86, 0.01)

    def test_densenet121(self) -> None:
        # keras.io: 8,062,504 parameters, 83,648 of them moving averages; 2.83 G multiply-adds.
        self.check("DenseNet121", True, 7_978_856, 8_062_504, 2.83, 0.01)

    def test_mobilenet_v2_training(self) -> None:
        # keras.io: 3,538,984 parameters, 34,112 of them moving averages. Sandler et al., Table 4: 300 M.
        document = self.check("MobileNetV2", False, 3_504_872, 3_538_984, 0.300, 0.002)
        figures = graph_file.statistics(document)
        # Adam keeps two values of each parameter, a step count (i64) and a learning rate (f32).
        self.assertEqual(figures["optimizer_state_bytes"], 2 * 4 * 3_504_872 + 8 + 4)
        # Every product has two gradients, but that of the images is not needed: conv1 32 x 112 x 112 x 27 MACs.
        forward = matrix_work(document)
        self.assertEqual(matrix_work(document, "backward"), 2 * forward - 2 * 32 * 112 * 112 * 27)


if __name__ == "__main__":
    unittest.main()
