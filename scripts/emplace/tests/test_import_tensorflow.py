"""Tests of `emplace import --from tensorflow`: published figures of the committed graphs, formulas, kernels.

What needs TensorFlow is skipped, loudly, without it.
"""

import collections
import math
import pathlib
import unittest

from support import Folder, graph_file, matrix_work, needs, run

from emplace.importers.tensorflow import load_tensorflow, work
from emplace.importers.work import OpView, Value

GRAPHS = pathlib.Path(__file__).resolve().parents[3] / "configs" / "graphs"


class CommittedGraphs(unittest.TestCase):
    """The figures that papers and other frameworks publish for these networks."""

    def graph(self, name: str) -> tuple[dict, dict]:
        document = graph_file.read(GRAPHS / f"{name}.json.gz")
        self.assertEqual(graph_file.check(document), [])
        return document, graph_file.statistics(document)

    def test_inception_v3(self) -> None:
        document, figures = self.graph("inception_v3")
        self.assertEqual(figures["parameters"], 23_834_568 + 3_326_696)  # network + auxiliary head
        self.assertAlmostEqual(matrix_work(document) / 2 / 32 / 1e9, 5.72, delta=0.02)

    def test_resnet50(self) -> None:
        document, figures = self.graph("resnet50")
        self.assertEqual(figures["parameters"], 25_557_032)
        self.assertAlmostEqual(matrix_work(document) / 2 / 32 / 1e9, 4.09, delta=0.01)

    def test_resnet152(self) -> None:
        for name, batch in (("resnet152", 128), ("resnet152_b32", 32)):
            document, figures = self.graph(name)
            self.assertEqual(figures["parameters"], 60_192_808)
            self.assertAlmostEqual(matrix_work(document) / 2 / batch / 1e9, 11.51, delta=0.01)

    def test_nasnet_mobile(self) -> None:
        document, figures = self.graph("nasnet")
        self.assertEqual(figures["parameters"], 5_289_978)
        self.assertAlmostEqual(matrix_work(document) / 2 / 32 / 1e6, 564, delta=1)

    def test_rnnlm(self) -> None:
        document, figures = self.graph("rnnlm")
        v, h = 10_000, 2048
        self.assertEqual(figures["parameters"], v * h + 2 * (2 * h * 4 * h + 4 * h) + h * v + v)
        # A word: two cells of [2h] x [2h, 4h] and one softmax of [h] x [h, v].
        self.assertEqual(matrix_work(document) / 2, 64 * 40 * (2 * 2 * h * 4 * h + h * v))

    def test_nmt(self) -> None:
        document, figures = self.graph("nmt")
        v, h = 32_000, 1024
        # Four cells; the decoder's first reads the context besides word and state.
        cells = 4 * (2 * h * 4 * h + 4 * h) + h * 4 * h
        self.assertEqual(figures["parameters"],
                         2 * v * h + cells + (h * h + h * h + h + 2 * h * h) + h * v + v)
        per_word = cells - 4 * 4 * h + 4 * h * h + h * v
        self.assertEqual(matrix_work(document) / 2, 64 * 40 * per_word)

    def test_backward_is_twice_forward(self) -> None:
        for name in ("inception_v3", "resnet50", "nasnet", "rnnlm", "nmt"):
            figures = self.graph(name)[1]
            ratio = figures["backward_flops"] / figures["forward_flops"]
            self.assertAlmostEqual(ratio, 2, delta=0.03, msg=name)

    def test_loss_states_and_colocation(self) -> None:
        for name, slots in (("resnet50", 1), ("inception_v3", 2), ("nmt", 2), ("rnnlm", 0)):
            document, figures = self.graph(name)
            # Each slot is as large as the parameters; Adam has two scalars more (8 B).
            extra = figures["optimizer_state_bytes"] - slots * figures["parameter_bytes"]
            self.assertIn(extra, (0, 8))
            tensors = document["tensors"]
            self.assertEqual(sum(t.get("role") == "output" and "alias_of" not in t
                                 for t in tensors), 1, "the loss")
            for op in document["ops"]:
                if op["kind"].startswith("Apply"):
                    self.assertEqual(op["phase"], "update")
                    self.assertEqual(tensors[op["outputs"][0]]["alias_of"], op["inputs"][0])
                    owner = next(p for p in document["ops"] if op["inputs"][0] in p["outputs"])
                    self.assertEqual(owner["colocate"], op["colocate"])

    def test_every_gradient_op_names_its_forward_op(self) -> None:
        document, _ = self.graph("resnet50")
        names = {op["name"]: op.get("phase", "forward") for op in document["ops"]}
        for op in document["ops"]:
            forward = op.get("attributes", {}).get("forward_op")
            if op.get("phase") == "backward" and op["kind"] not in ("constant", "AddN", "Fill"):
                self.assertEqual(names[forward], "forward", op["name"])


class Work(unittest.TestCase):
    """Formulas by hand. f32 values, 4 B an element."""

    def view(self, kind, inputs, outputs, states=0, **attributes) -> OpView:
        def values(shapes, first_states):
            return [Value(shape, "f32", 4 * math.prod(shape), is_state=index < first_states)
                    for index, shape in enumerate(shapes)]
        return OpView(kind, values(inputs, states), values(outputs, 0), attributes)

    def test_matmul_transposed(self) -> None:  # [5, 7]^T x [5, 3] -> [7, 3]: 2 * 7 * 3 * 5
        op = self.view("MatMul", [[5, 7], [5, 3]], [[7, 3]], transpose_a=True)
        self.assertEqual(work.flops(op), 210)

    def test_convolution_and_its_gradients_cost_the_same(self) -> None:
        # 8x8x3 image, 3x3 filter, 16 filters, stride 2, VALID: 3x3 outputs.
        x, w, y, sizes = [1, 8, 8, 3], [3, 3, 3, 16], [1, 3, 3, 16], [4]
        expected = 2 * 9 * 16 * 27
        for kind, inputs, output in (("Conv2D", [x, w], y),
                                     ("Conv2DBackpropInput", [sizes, w, y], x),
                                     ("Conv2DBackpropFilter", [x, sizes, y], w)):
            self.assertEqual(work.flops(self.view(kind, inputs, [output])), expected)

    def test_gather_reads_only_the_rows(self) -> None:  # 6 rows of 16: indices, read, write
        op = self.view("GatherV2", [[1000, 16], [6], []], [[6, 16]])
        self.assertEqual(work.bytes_accessed(op), 4 * 6 + 2 * 4 * 96)
        self.assertEqual(work.flops(op), 0)

    def test_optimizer_reads_and_writes_its_states(self) -> None:
        dense = self.view("ApplyMomentum", [[10], [10], [], [10], []], [[10]], states=2)
        self.assertEqual(work.bytes_accessed(dense), 2 * 2 * 40 + 4 + 40 + 4)
        self.assertEqual(work.flops(dense), 40)
        rows = self.view("SparseApplyMomentum", [[99, 5], [99, 5], [], [2, 5], [2], []],
                         [[99, 5]], states=2)
        self.assertEqual(work.bytes_accessed(rows), 2 * 2 * 40 + 4 + 40 + 8 + 4)
        self.assertEqual(work.flops(rows), 4 * 10)

    def test_views_move_nothing_and_unknown_kinds_are_unknown(self) -> None:
        self.assertEqual(work.bytes_accessed(self.view("Reshape", [[6], [2]], [[2, 3]])), 0)
        self.assertIsNone(work.bytes_accessed(self.view("Mul", [[6], [6]], [[6]])))
        self.assertIsNone(work.flops(self.view("Mystery", [[6]], [[6]])))

    @needs("tensorflow")
    def test_agrees_with_tensorflow_s_own_figures(self) -> None:
        """Where the profiler knows a kind; exceptions are listed with the reason."""
        tf = load_tensorflow()
        from tensorflow.python.framework import ops
        tf1 = tf.compat.v1
        with tf.Graph().as_default() as graph:
            x = tf1.placeholder(tf.float32, [2, 9, 9, 4])
            y = tf.nn.conv2d(x, tf1.get_variable("w", [3, 3, 4, 8]), 1, "SAME")
            y = tf.nn.relu(tf.nn.bias_add(y, tf1.get_variable("b", [8])))
            y = tf.nn.avg_pool2d(tf.nn.max_pool2d(y, 3, 3, "VALID"), 3, 1, "SAME")
            window = tf1.get_variable("d", [3, 3, 8, 1])
            y = tf1.nn.depthwise_conv2d_native(y, window, [1, 1, 1, 1], "SAME")
            y = tf.matmul(tf.reshape(y, [2, 72]), tf1.get_variable("m", [72, 5]))
            loss = tf.reduce_mean(tf.square(tf.nn.softmax(y) - tf.sqrt(tf.abs(y))))
            tf1.gradients(loss, tf1.trainable_variables())
            compared = collections.Counter()
            for op in graph.get_operations():
                expected = ops.get_stats_for_node_def(graph, op.node_def, "flops").value
                if expected is None or not op.outputs[0].dtype.is_floating:
                    continue
                view = OpView(op.type, [Value(v.shape.as_list(), "f32", 0) for v in op.inputs],
                              [Value(v.shape.as_list(), "f32", 0) for v in op.outputs],
                              {name: op.get_attr(name) for name in ("ksize", "transpose_a")
                               if name in op.node_def.attr})
                self.assertEqual(work.flops(view), int(expected), op.type)
                compared[op.type] += 1
        self.assertGreater(len(compared), 12, compared)


class Kernels(Folder):
    """A graph file with --kernels: the same graph, but for what had no GPU kernel."""

    def test_of_2016_keep_unique_on_the_cpu(self) -> None:
        path = self.path("old.json.gz")
        status, _, err = run("--from", "tensorflow", str(GRAPHS / "nmt.json.gz"), "--kernels", "tf2016", "-o", path)
        old, today = graph_file.read(path), graph_file.read(GRAPHS / "nmt.json.gz")
        self.assertEqual(status, 0, err)
        self.assertIn("ops that may run anywhere x 2: no GPU kernel in tf2016", err)
        self.assertEqual((old["name"], old["source"].pop("kernels")), ("old", "tf2016"))
        self.assertEqual(old["source"], today["source"])
        self.assertEqual(old["tensors"], today["tensors"])
        for before, after in zip(today["ops"], old["ops"]):
            restricted = before["kind"] == "Unique"
            self.assertEqual(after, {**before, "device_kinds": ["cpu"]} if restricted else before)


if __name__ == "__main__":
    unittest.main()
