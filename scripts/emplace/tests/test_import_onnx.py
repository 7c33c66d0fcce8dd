"""Tests of the importer of ONNX models: names, weights, sizes, views, refusals, the command."""

import importlib.util
import os
import unittest

from support import Folder, by_name, graph_file, needs, run

from emplace import importers
from emplace.importers import ImportFailure
from emplace.importers.onnx import import_onnx
from emplace.importers.onnx.model import load

needs_onnx = needs("onnx")

CLASSIFIER = """<ir_version: 9, opset_import: ["" : 18]>
classifier (float[batch, 4] x) => (float[rows, 3] y)
<float[4, 6] w, float[6] b, int64[2] sizes = {-1, 3}, float scale = {0.5}>
{
  [fc] h = MatMul (x, w)
  t = Add (h, b)
  [fc] r = Relu (t)
  [cut] v = Reshape (r, sizes)
  [cut_2] y0 = Mul (v, scale)
  y = Identity (y0)
}"""


def parse(text: str):
    """A model of the text. Weights that it declares without data become initialisers of zeros."""
    import numpy
    import onnx
    from onnx import numpy_helper, parser

    model = parser.parse_model(text)
    given = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.value_info:  # the parser puts weights without data here
        if value.name not in given and not any(value.name in node.output for node in model.graph.node):
            shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            model.graph.initializer.append(numpy_helper.from_array(numpy.zeros(shape, dtype), value.name))
    return model


class Interface(unittest.TestCase):
    def test_the_format_is_known_by_the_name_of_the_file(self) -> None:
        self.assertEqual(importers.format_of("some/model.onnx").name, "onnx")

    @unittest.skipIf(importlib.util.find_spec("onnx"), "the package onnx is installed")
    def test_the_missing_package_is_named(self) -> None:
        with self.assertRaisesRegex(ImportFailure, r"package 'onnx' is missing.*emplace-placement\[onnx\]"):
            import_onnx("model.onnx")


@needs_onnx
class Graphs(Folder):
    def document(self, text: str, **options) -> dict:
        self.imported = import_onnx(parse(text), **options)
        self.assertEqual(graph_file.check(self.imported.document), [])
        return self.imported.document

    def test_names_are_unique_and_lead_back(self) -> None:
        ops = by_name(self.document(CLASSIFIER, dims={"batch": 8}))
        self.assertEqual([name for name, op in ops.items() if op["kind"].startswith("onnx.")],
                         ["fc", "Add", "fc_1", "cut", "cut_2", "Identity"])
        self.assertNotIn("onnx_name", ops["fc"].get("attributes", {}))
        self.assertEqual(ops["fc_1"]["attributes"], {"onnx_name": "fc", "onnx_output": "r"})
        self.assertEqual(ops["Add"]["attributes"], {"onnx_name": "", "onnx_output": "t"})

    def test_a_weight_gives_way_to_a_node_of_its_name(self) -> None:
        ops = by_name(self.document(CLASSIFIER.replace("[fc] h", "[w] h"), dims={"batch": 8}))
        self.assertEqual(ops["w"]["kind"], "onnx.MatMul")
        self.assertEqual((ops["w_1"]["kind"], ops["w_1"]["attributes"]), ("parameter", {"onnx_initializer": "w"}))

    def test_weights_and_constants(self) -> None:
        document = self.document(CLASSIFIER, dims={"batch": 8})
        ops, roles = by_name(document), {t["name"]: t.get("role") for t in document["tensors"]}
        self.assertEqual({name: ops[name]["kind"] for name in ("w", "b", "sizes", "scale")},
                         {"w": "parameter", "b": "parameter", "sizes": "constant", "scale": "constant"})
        self.assertEqual((roles["x"], roles["w"], roles["sizes"], roles["y"]),
                         ("input", "parameter", "buffer", "output"))
        self.assertEqual(graph_file.statistics(document)["parameters"], 4 * 6 + 6)

    def test_work_and_views(self) -> None:
        document = self.document(CLASSIFIER, dims={"batch": 8})
        ops, tensors = by_name(document), {t["name"]: t for t in document["tensors"]}
        self.assertEqual(ops["fc"]["flops"], 2 * 8 * 4 * 6)
        self.assertEqual(tensors["v"]["shape"], [16, 3])  # 8 x 6 = 48 elements in rows of 3
        self.assertEqual(tensors["v"]["alias_of"], tensors["r"]["id"])
        self.assertEqual(tensors["y"]["alias_of"], tensors["y0"]["id"])
        self.assertEqual(ops["cut"]["bytes_accessed"], 0)
        self.assertEqual(ops["cut"]["attributes"], {"shape": [-1, 3]})

    def test_the_source_is_told(self) -> None:
        source = self.document(CLASSIFIER, dims={"batch": 8})["source"]
        import onnx
        self.assertEqual(source, {"framework": f"onnx {onnx.__version__}", "model": "classifier",
                                  "opset": {"ai.onnx": 18}, "dims": {"batch": 8}, "pass": "inference",
                                  "exporter": "emplace import --from onnx"})

    def test_equal_models_give_equal_bytes(self) -> None:
        first, second = (graph_file.serialize(self.document(CLASSIFIER, dims={"batch": 8})) for _ in range(2))
        self.assertEqual(first, second)

    def test_shapes_that_inference_alone_does_not_find(self) -> None:
        """y has max(1, 2, 3, 4) = 4 copies of x: the numbers below half its width of 10."""
        document = self.document("""<ir_version: 9, opset_import: ["" : 18]>
            g (float[2, 10] x) => (float[?, ?] y) <int64 one = {1}, int64 two = {2}> {
              s = Shape (x)
              width = Gather (s, one)
              half = Div (width, two)
              r = Range (one, half, one)
              copies = ReduceMax (r)
              both = Concat <axis = 0> (copies, s)
              many = Expand (x, both)
              y = Flatten <axis = 2> (many) }""")
        tensors = {t["name"]: t for t in document["tensors"]}
        self.assertEqual(tensors["r"]["shape"], [4])
        self.assertEqual(tensors["y"]["shape"], [8, 10])  # 4 x 2 rows
        dropped = {str(line) for line in self.imported.dropped}
        self.assertIn("Concat, Div, Gather, Range, ReduceMax, Shape x 6: give the same result in every "
                      "run, so they run once: kind constant, without cost", dropped)

    def test_sizes_that_depend_on_the_data_are_bounds(self) -> None:
        document = self.document("""<ir_version: 9, opset_import: ["" : 18]>
            g (float[3, 5] x) => (int64[?, ?] y) { [where] n = NonZero (x)
              [turn] y = Transpose <perm = [1, 0]> (n) }""")
        tensors, ops = {t["name"]: t for t in document["tensors"]}, by_name(document)
        self.assertEqual(tensors["y"]["shape"], [15, 2])
        self.assertTrue(ops["where"]["attributes"]["shape_is_bound"])
        self.assertEqual(self.imported.dropped[0].what, "onnx.NonZero")

    def test_functions_are_put_in_place(self) -> None:
        document = self.document("""<ir_version: 9, opset_import: ["" : 18, "my" : 1]>
            g (float[2, 4] x) => (float[2, 4] y) { a = my.twice (x)
              y = my.twice (a) }
            <domain: "my", opset_import: ["" : 18]>
            twice (a) => (b) { b = Add (a, a) }""")
        self.assertEqual([op["kind"] for op in document["ops"]], ["onnx.Add", "onnx.Add"])
        self.assertEqual([(d.what, d.count) for d in self.imported.dropped], [("function", 1)])

    def test_graphs_inside_nodes(self) -> None:
        document = self.document("""<ir_version: 9, opset_import: ["" : 18]>
            g (float[8, 4] x, bool c) => (float[8, 4] y, float[8, 4] z)
            <float[4, 4] w, int64[1] n = {5}, bool t = {1}> {
              [if] y = If (c) <then_branch = a () => (float[8, 4] p) { p = MatMul (x, w) },
                               else_branch = b () => (float[8, 4] q) { q = Relu (x) }>
              [loop] z = Loop (n, t, x) <body = d (int64 i, bool ci, float[8, 4] v)
                  => (bool co, float[8, 4] vo) { co = Identity (ci)
                                                 vo = MatMul (v, w) }> }""")
        ops, tensors = by_name(document), {t["name"]: t["id"] for t in document["tensors"]}
        self.assertEqual(ops["if"]["flops"], 2 * 8 * 4 * 4)        # the product, not the 32 of Relu
        self.assertEqual(ops["if"]["inputs"], [tensors["c"], tensors["x"], tensors["w"]])
        self.assertEqual(ops["loop"]["flops"], 5 * 2 * 8 * 4 * 4)  # five rounds
        self.assertEqual([str(line) for line in self.imported.dropped],
                         ["onnx.If x 1: one op, with the work of then_branch",
                          "onnx.Loop x 1: one op, with the work of all rounds"])

    def test_batch_norm_statistics_are_no_parameters(self) -> None:
        document = self.document("""<ir_version: 9, opset_import: ["" : 18]>
            g (float[2, 3, 4, 4] x) => (float[2, 3, 4, 4] y) <float[3] s, float[3] b, float[3] m, float[3] v> {
              y = BatchNormalization (x, s, b, m, v) }""")
        self.assertEqual(graph_file.statistics(document)["parameters"], 6)
        self.assertEqual(graph_file.statistics(document)["buffer_bytes"], 24)

    def test_other_domains_and_quantised_weights(self) -> None:
        document = self.document("""<ir_version: 9, opset_import: ["" : 18, "com.microsoft" : 1]>
            g (float[2, 3, 8, 8] x) => (float[2, 4, 8, 8] y)
            <int8[4, 3, 3, 3] q, float scale = {0.1}, int8 zero = {0}> {
              w = DequantizeLinear (q, scale, zero)
              y = com.microsoft.FusedConv <pads = [1, 1, 1, 1], activation = "Relu"> (x, w) }""")
        ops = by_name(document)
        self.assertEqual(ops["FusedConv"]["kind"], "onnx.com.microsoft.FusedConv")
        self.assertEqual(ops["FusedConv"]["flops"], 2 * 4 * 64 * (2 * 27 + 1))  # 512 outputs: 27 MACs, one Relu
        self.assertEqual(graph_file.statistics(document)["parameters"], 4 * 3 * 3 * 3)
        self.assertEqual(graph_file.statistics(document)["parameter_bytes"], 108)

    def test_external_data_need_not_be_there(self) -> None:
        import onnx
        path = self.path("m.onnx")
        onnx.save_model(parse(CLASSIFIER), path, save_as_external_data=True, location="m.data", size_threshold=0)
        there = import_onnx(path, dims={"batch": 8}).document
        self.assertEqual(there, {**import_onnx(parse(CLASSIFIER), dims={"batch": 8}).document, "name": "m",
                                 "source": {**there["source"], "model": "m.onnx"}})
        onnx.save_model(parse(CLASSIFIER), path, save_as_external_data=True, location="gone.data",
                        size_threshold=64)  # of the weights only `w` is as large
        os.unlink(self.path("gone.data"))
        self.assertEqual(import_onnx(path, dims={"batch": 8}).document, there)

    def test_external_data_stays_below_the_folder(self) -> None:
        import onnx
        path = self.path("m.onnx")
        self.write("m", bytes(8))
        for location, expected in (("m", None), ("./m", None), ("../m", "../m"), ("a/../../m", "../m"),
                                   ("/etc/passwd", "/etc/passwd"), ("..", "..")):
            shape = onnx.TensorProto(name="s", data_type=onnx.TensorProto.INT64, dims=[1],
                                     data_location=onnx.TensorProto.EXTERNAL)
            shape.external_data.add(key="location", value=location)
            model = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [], [shape]))
            onnx.save_model(model, path)
            with self.subTest(location):
                if expected is None:
                    self.assertEqual(load(path)[0].graph.initializer[0].raw_data, bytes(8))
                    continue
                with self.assertRaises(ImportFailure) as caught:
                    load(path)
                self.assertEqual(str(caught.exception), f"{path}: the external data of 's' is {expected!r}; "
                                 "expected a file in the model's folder")


@needs_onnx
class KnownNetworks(unittest.TestCase):
    """Published figures: torchvision's documentation of its weights (MACs "GFLOPS", parameters)."""

    def work(self, name: str) -> tuple[float, int]:
        """(multiply-adds of convolutions and products [GMAC], elements of weights and biases they read)."""
        import onnx
        folder = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
        document = import_onnx(os.path.join(folder, f"light_{name}.onnx")).document
        self.assertEqual(graph_file.check(document), [])
        macs, weights = 0, set()
        for op in document["ops"]:
            if op["kind"] in ("onnx.Conv", "onnx.Gemm"):
                out = document["tensors"][op["outputs"][0]]
                bias = len(op["inputs"]) == 3
                macs += (op["flops"] - bias * out["bytes"] // 4) / 2
            if op["kind"] in ("onnx.Conv", "onnx.Gemm", "onnx.BatchNormalization"):
                weights.update(op["inputs"][1:3])
        sizes = (document["tensors"][tensor]["bytes"] // 4 for tensor in weights)
        return macs / 1e9, sum(sizes)

    def test_resnet50(self) -> None:
        macs, weights = self.work("resnet50")
        self.assertAlmostEqual(macs, 4.089184256, places=9)  # 4.09
        self.assertEqual(weights, 25_557_032)

    def test_vgg19(self) -> None:
        macs, weights = self.work("vgg19")
        self.assertAlmostEqual(macs, 19.63, delta=0.01)
        self.assertEqual(weights, 143_667_240)

    def test_densenet121(self) -> None:
        self.assertAlmostEqual(self.work("densenet121")[0], 2.83, delta=0.005)


@needs_onnx
class Refusals(unittest.TestCase):
    def refuse(self, text: str, message: str, **options) -> None:
        with self.assertRaisesRegex(ImportFailure, message):
            import_onnx(parse(text), **options)

    def test_open_sizes(self) -> None:
        self.refuse(CLASSIFIER, r"sizes of inputs are open: 'x' \[batch, 4\]; give them with --dim batch=SIZE")
        self.refuse(CLASSIFIER.replace("batch, 4", "?, 4"), r"'x' \[\?, 4\]; give them with --shape x=SIZE,...")

    def test_names_that_are_not_there(self) -> None:
        self.refuse(CLASSIFIER, r"--dim bacth=8: no input has a dimension of this name; choices: batch",
                    dims={"bacth": 8})
        self.refuse(CLASSIFIER, r"--shape z: this tensor does not exist; inputs: x", shapes={"z": [8, 4]})

    def test_sizes_that_do_not_fit(self) -> None:
        self.refuse(CLASSIFIER, r"--shape x=8: has 1 dimensions, the input has 2", shapes={"x": [8]})
        self.refuse(CLASSIFIER, r"shapes do not fit: .*MatMul", shapes={"x": [8, 5]})

    def test_another_size_than_a_reshape_fixes(self) -> None:
        text = """<ir_version: 9, opset_import: ["" : 18]>
            g (float[1, 4, 2, 2] x) => (float[1, 16] y) <int64[2] row = {1, 16}> { z = Relu (x)
              [flat] y = Reshape (z, row) }"""
        self.assertEqual(graph_file.check(import_onnx(parse(text)).document), [])
        self.refuse(text, r"node 'flat' of type Reshape makes \[1, 16\] of \[8, 4, 2, 2\]: the model fixes a size",
                    shapes={"x": [8, 4, 2, 2]})

    def test_another_batch_than_the_file_says(self) -> None:
        text = """<ir_version: 9, opset_import: ["" : 18]>
            g (float[1, 4] x) => (float[1, 6] y) <float[4, 6] w> { y = MatMul (x, w) }"""
        document = import_onnx(parse(text), shapes={"x": [8, 4]}).document
        self.assertEqual(graph_file.statistics(document)["forward_flops"], 2 * 8 * 4 * 6)

    def test_sequences_and_texts(self) -> None:
        self.refuse("""<ir_version: 9, opset_import: ["" : 18]>
            g (float[2] x) => (float[2] y) { s = SequenceConstruct (x)
            y = ConcatFromSequence <axis = 0> (s) }""",
                    r"tensor 's', made by node '' of type SequenceConstruct, is a sequence, which has no size")
        self.refuse("""<ir_version: 9, opset_import: ["" : 18]>
            g (string[2] x) => (string[2] y) { y = Identity (x) }""", r"'x' has elements of the type STRING")

    def test_shapes_nobody_knows(self) -> None:
        text = """<ir_version: 9, opset_import: ["" : 18, "own" : 1]>
            g (float[2] x) => (float[?] y) { [odd] t = own.Odd (x)
            y = Relu (t) }"""
        self.refuse(text, r"tensor 't', made by node 'odd' of type Odd, has no shape that is known without running the "
                          r"model; give it with --shape t=SIZE,...")


@needs_onnx
class Command(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.model, self.output = self.path("m.onnx"), self.path("m_b8.json.gz")

    def test_a_model_becomes_a_graph_file(self) -> None:
        import onnx
        onnx.save(parse(CLASSIFIER), self.model)
        code, _, text = run(self.model, "--dim", "batch=8", "-o", self.output)
        self.assertEqual(code, 0)
        self.assertIn("m_b8: 10 ops, 11 tensors, 30 parameters", text)
        self.assertEqual(graph_file.read(self.output)["name"], "m_b8")
        self.assertEqual(run(self.model, "--shape", "x=8,4", "-o", self.output)[0], 0)

    def test_a_broken_file_gives_one_sentence(self) -> None:
        good = parse(CLASSIFIER).SerializeToString()
        cut = parse(CLASSIFIER)
        cut.graph.node[1].input[0] = "nowhere"
        kinds = {"empty": b"", "text": b"no model at all", "cut off": good[:len(good) // 2],
                 "a tensor from nowhere": cut.SerializeToString()}
        for what, data in kinds.items():
            with self.subTest(what):
                code, _, text = run(self.write("m.onnx", data), "--dim", "batch=8", "-o", self.output)
                self.assertEqual(code, 2, text)
                self.assertRegex(text, r"^emplace import: .*m\.onnx: is not an? (valid )?ONNX model: [^\n]+\n$")
        self.assertFalse(os.path.exists(self.output))

    def test_a_missing_file_and_wrong_sizes(self) -> None:
        self.refused("emplace import: gone.onnx: cannot be read: No such file or directory\n", "gone.onnx")
        self.refused("emplace import: --dim batch=eight: 'eight' is not a size; expected whole numbers >= 0\n", self.model,
                     "--dim", "batch=eight")
        self.refused("emplace import: --dim batch: expected NAME=VALUE\n", self.model, "--dim", "batch")


if __name__ == "__main__":
    unittest.main()
