"""Every tensor's shape and type against what ONNX Runtime computes, for the models that the package onnx ships."""

import os
import pathlib
import unittest
import warnings

from support import graph_file, needs

from emplace.importers import ImportFailure
from emplace.importers.onnx import import_onnx


@needs("onnx", "onnxruntime")
class ShapesAsComputed(unittest.TestCase):
    def test_networks(self) -> None:
        import onnx
        import onnx_support as support
        folder = pathlib.Path(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
        paths = sorted(folder.glob("*.onnx"))
        self.assertGreaterEqual(len(paths), 5, f"models in {folder}")
        for path in paths:
            with self.subTest(path.name):
                model = onnx.load(path)
                computed = support.computed_types(model, support.random_feeds(model, {}))
                document = import_onnx(path).document
                self.assertEqual(support.differences(document, support.read_by_others(model, computed)), [])

    def test_one_model_for_each_node_type(self) -> None:
        """The cases of ONNX's own backend test; what is refused has no tensors, or sizes that the data decide."""
        import onnx
        import onnx_support as support
        from onnx import numpy_helper
        from onnx.backend.test.loader import load_model_tests
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they divide by zero on purpose
            cases = load_model_tests(kind="node")
        refused, compared, tensors = [], 0, 0
        for case in cases:
            try:
                document = import_onnx(case.model).document
            except ImportFailure as failure:
                refused.append(str(failure))
                continue
            self.assertEqual(graph_file.check(document), [], case.name)
            names = [value.name for value in case.model.graph.input]
            feeds = {name: numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
                     for name, value in zip(names, case.data_sets[0][0])}
            try:
                computed = support.computed_types(case.model, feeds)
            except Exception:  # ONNX Runtime has no kernel for it: nothing to compare with
                continue
            with self.subTest(case.name):
                self.assertEqual(support.differences(document, support.read_by_others(case.model, computed)), [])
            compared, tensors = compared + 1, tensors + len(computed)
        self.assertGreater(len(cases) - len(refused), 0.93 * len(cases))
        self.assertGreater(compared, 0.6 * len(cases))
        self.assertGreater(tensors, 5 * compared)
        for message in refused:
            self.assertRegex(message, "has no size on a device|no fixed size on a device|known without running|"
                                      "shapes do not fit")

    def test_a_shape_that_is_wrong_is_found(self) -> None:
        import onnx
        import onnx_support as support
        model = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 18]>
            g (float[2, 4] x) => (float[2, 4] y) { t = Relu (x)
              y = Neg (t) }""")
        computed = support.computed_types(model, support.random_feeds(model, {}))
        self.assertEqual(computed, {"t": ([2, 4], "f32"), "y": ([2, 4], "f32")})
        document = import_onnx(model).document
        self.assertEqual(support.differences(document, computed), [])
        document["tensors"][1]["shape"] = [4, 2]
        self.assertEqual(support.differences(document, computed), ["t: f32[4, 2], computed f32[2, 4]"])


if __name__ == "__main__":
    unittest.main()
