"""Tests of export_tensorflow.py: published figures, the format's promises, the words of refusals.

The tests that build graphs need TensorFlow and are skipped, loudly, without it. The committed
graphs are checked without it.
"""

import collections
import contextlib
import hashlib
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[1]
GRAPHS = SCRIPTS.parent / "configs" / "graphs"
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS / "emplace" / "src")]

from emplace.importers import graph_file  # noqa: E402
import export_tensorflow  # noqa: E402
from emplace.importers.tensorflow import work  # noqa: E402
from emplace.importers.tensorflow.work import OpView, Value  # noqa: E402

HAS_TENSORFLOW = importlib.util.find_spec("tensorflow") is not None
needs_tensorflow = unittest.skipUnless(
    HAS_TENSORFLOW, "SKIPPED, NOT TESTED: tensorflow is missing; "
                    "pip install -r scripts/requirements-tensorflow.txt")

USER_MODEL = '''
import tensorflow as tf
tf1 = tf.compat.v1

def build(batch, use_resource=False):
    ids = tf1.placeholder(tf.int32, [batch], "ids")
    labels = tf1.placeholder(tf.int32, [batch], "labels")
    with tf1.variable_scope("net", use_resource=use_resource):
        table = tf1.get_variable("table", [50, 16])
        weights = tf1.get_variable("weights", [16, 10])
    x = tf.nn.embedding_lookup(table, ids)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=tf.matmul(x, weights)))

def build_resource(batch):
    return build(batch, True)

def not_a_tensor(batch):
    return 3

def unknown_shape(batch):
    return tf.reduce_sum(tf1.placeholder(tf.float32, [None, 2]) * tf1.get_variable("v", [2]))

def nothing_to_train(batch):
    return tf.constant(1.0)

def loop(batch):
    v = tf1.get_variable("v", [])
    return tf.while_loop(lambda x: x < 3.0, lambda x: x + v, [v])[0]
'''


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the program, run in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = export_tensorflow.main(list(arguments))
        except SystemExit as stop:
            status = int(stop.code or 0)
    return status, out.getvalue(), err.getvalue()


def multiply_adds(document: dict) -> float:
    """Forward multiply-adds of convolutions and matrix products."""
    return sum(op.get("flops", 0) for op in document["ops"]
               if op.get("phase", "forward") == "forward"
               and ("Conv" in op["kind"] or "MatMul" in op["kind"])) / 2


class CommittedGraphs(unittest.TestCase):
    """The figures that papers and other frameworks publish for these networks."""

    def graph(self, name: str) -> tuple[dict, dict]:
        document = graph_file.read(GRAPHS / f"{name}.json.gz")
        self.assertEqual(graph_file.check(document), [])
        return document, graph_file.statistics(document)

    def test_inception_v3(self) -> None:
        document, figures = self.graph("inception_v3")
        self.assertEqual(figures["parameters"], 23_834_568 + 3_326_696)  # network + auxiliary head
        self.assertAlmostEqual(multiply_adds(document) / 32 / 1e9, 5.72, delta=0.02)

    def test_resnet50(self) -> None:
        document, figures = self.graph("resnet50")
        self.assertEqual(figures["parameters"], 25_557_032)
        self.assertAlmostEqual(multiply_adds(document) / 32 / 1e9, 4.09, delta=0.01)

    def test_resnet152(self) -> None:
        for name, batch in (("resnet152", 128), ("resnet152_b32", 32)):
            document, figures = self.graph(name)
            self.assertEqual(figures["parameters"], 60_192_808)
            self.assertAlmostEqual(multiply_adds(document) / batch / 1e9, 11.51, delta=0.01)

    def test_nasnet_mobile(self) -> None:
        document, figures = self.graph("nasnet")
        self.assertEqual(figures["parameters"], 5_289_978)
        self.assertAlmostEqual(multiply_adds(document) / 32 / 1e6, 564, delta=1)

    def test_rnnlm(self) -> None:
        document, figures = self.graph("rnnlm")
        v, h = 10_000, 2048
        self.assertEqual(figures["parameters"], v * h + 2 * (2 * h * 4 * h + 4 * h) + h * v + v)
        # A word: two cells of [2h] x [2h, 4h] and one softmax of [h] x [h, v].
        self.assertEqual(multiply_adds(document), 64 * 40 * (2 * 2 * h * 4 * h + h * v))

    def test_nmt(self) -> None:
        document, figures = self.graph("nmt")
        v, h = 32_000, 1024
        # Four cells; the decoder's first reads the context besides word and state.
        cells = 4 * (2 * h * 4 * h + 4 * h) + h * 4 * h
        self.assertEqual(figures["parameters"],
                         2 * v * h + cells + (h * h + h * h + h + 2 * h * h) + h * v + v)
        per_word = cells - 4 * 4 * h + 4 * h * h + h * v
        self.assertEqual(multiply_adds(document), 64 * 40 * per_word)

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
            return [Value(shape, 4 * Value(shape, 0).elements, index < first_states)
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

    @needs_tensorflow
    def test_agrees_with_tensorflow_s_own_figures(self) -> None:
        """Where the profiler knows a kind; exceptions are listed with the reason."""
        tf = export_tensorflow.import_tensorflow()
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
                view = OpView(op.type, [Value(v.shape.as_list(), 0) for v in op.inputs],
                              [Value(v.shape.as_list(), 0) for v in op.outputs],
                              {name: op.get_attr(name) for name in ("ksize", "transpose_a")
                               if name in op.node_def.attr})
                self.assertEqual(work.flops(view), int(expected), op.type)
                compared[op.type] += 1
        self.assertGreater(len(compared), 12, compared)


class Kernels(unittest.TestCase):
    """--graph with --kernels: the same graph, but for what had no GPU kernel."""

    def test_of_2016_keep_unique_on_the_cpu(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "old.json.gz")
            status, _, err = run("--graph", str(GRAPHS / "nmt.json.gz"), "--kernels", "tf2016",
                                 "-o", path)
            old, today = graph_file.read(path), graph_file.read(GRAPHS / "nmt.json.gz")
        self.assertEqual((status, err), (0, "2 ops without a GPU kernel\n"))
        self.assertEqual((old["name"], old["source"].pop("kernels")), ("old", "tf2016"))
        self.assertEqual(old["source"], today["source"])
        self.assertEqual(old["tensors"], today["tensors"])
        for before, after in zip(today["ops"], old["ops"]):
            restricted = before["kind"] == "Unique"
            self.assertEqual(after, {**before, "device_kinds": ["cpu"]} if restricted else before)


class Refusals(unittest.TestCase):
    def test_wrong_requests_are_answered_with_the_choices(self) -> None:
        for arguments, expected in (
                (["resnet"], "unknown model 'resnet', did you mean 'resnet50'?"),
                (["qqq"], "the models are: inception_v3, nasnet, nmt, resnet50, resnet101, "
                            "resnet152, rnnlm"),
                ([], "give one of MODEL, --module FILE.py and --graphdef FILE"),
                (["resnet50", "--layers", "3"], "--layers does not apply to resnet50"),
                (["rnnlm", "--unroll", "0"], "--unroll is 0, expected a whole number >= 1"),
                (["rnnlm", "--dropout", "1.5"], "--dropout is 1.5, expected a rate in [0, 1)"),
                (["rnnlm", "--optimizer", "adamm"], "invalid choice: 'adamm'"),
                (["--graph", "x.json", "rnnlm"], "takes a graph that is exported already, and no model"),
                (["--graph", "x.json", "-o", "y.json"], "--graph needs --kernels of another year"),
                (["--graph", "x.json", "--kernels", "tf2016"], "and -o FILE"),
                (["--graph", "x.json", "--kernels", "tf2016", "-o", "y.json"], "--graph: x.json: "),
                (["--graphdef", "x.pb"], "--graphdef needs --loss NAME and --train-op NAME")):
            with self.subTest(arguments):
                status, _, err = run(*arguments)
                self.assertEqual(status, 2)
                self.assertIn(expected, err)

    def test_a_missing_package_is_named_with_the_command(self) -> None:
        # -S: no site-packages, so TensorFlow is not found whether installed or not.
        program = str(SCRIPTS / "export_tensorflow.py")
        result = subprocess.run([sys.executable, "-S", program, "rnnlm"], capture_output=True,
                                text=True, env={"PATH": os.environ["PATH"]})
        self.assertEqual(result.returncode, 2)
        self.assertIn("the package 'tensorflow' is missing", result.stderr)
        self.assertIn("pip install -r scripts/requirements-tensorflow.txt", result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1)

    def test_a_missing_folder_is_told_before_the_work(self) -> None:
        status, _, err = run("rnnlm", "-o", "/no_such_folder/x.json.gz")
        self.assertEqual(status, 1)
        self.assertIn("/no_such_folder", err)

    def test_the_list_needs_no_tensorflow(self) -> None:
        status, out, _ = run("--list")
        self.assertEqual(status, 0)
        self.assertIn("--layers 2 --unroll 40 --hidden 1024", out)


@needs_tensorflow
class Exporting(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.module = self.folder / "user_model.py"
        self.module.write_text(USER_MODEL)

    def export(self, *arguments: str) -> dict:
        path = str(self.folder / "out.json")
        status, _, err = run(*arguments, "-o", path)
        self.assertEqual(status, 0, err)
        document = graph_file.read(path)
        self.assertEqual(graph_file.check(document), [])
        return document

    def test_own_models_with_every_optimizer_and_kind_of_variable(self) -> None:
        for function in ("build", "build_resource"):
            for optimizer, slots in (("sgd", 0), ("momentum", 1), ("rmsprop", 2), ("adam", 2)):
                with self.subTest(function=function, optimizer=optimizer):
                    document = self.export("--module", str(self.module), "--function", function,
                                           "--optimizer", optimizer, "--batch", "4")
                    figures = graph_file.statistics(document)
                    self.assertEqual(figures["parameters"], 50 * 16 + 16 * 10)
                    self.assertEqual(figures["optimizer_state_bytes"],
                                     slots * 4 * 960 + (8 if optimizer == "adam" else 0))
                    self.assertEqual(figures["input_bytes"], 2 * 4 * 4)  # ids and labels
                    kinds = {op["kind"] for op in document["ops"]}
                    self.assertFalse(kinds & {"VarHandleOp", "VariableV2", "Const", "Placeholder"})

    def test_own_models_that_cannot_be_placed(self) -> None:
        for function, expected in (("not_a_tensor", "returned int, expected the scalar loss"),
                                   ("unknown_shape", "give every placeholder a fixed shape"),
                                   ("nothing_to_train", "no trainable variables"),
                                   ("loop", "unroll the loop"),
                                   ("missing", "has no function 'missing'")):
            with self.subTest(function):
                status, _, err = run("--module", str(self.module), "--function", function,
                                     "-o", str(self.folder / "x.json"))
                self.assertEqual(status, 2)
                self.assertIn(expected, err)
                self.assertFalse((self.folder / "x.json").exists())

    def test_a_graph_def_gives_the_same_graph(self) -> None:
        for optimizer in export_tensorflow.CHOICES["optimizer"]:
            with self.subTest(optimizer):
                arguments = ["--module", str(self.module), "--optimizer", optimizer, "--batch", "4"]
                direct = self.export(*arguments)
                parsed = export_tensorflow.make_parser().parse_args(arguments)
                step = export_tensorflow.build_step(parsed)[2]
                path = self.folder / "step.pb"
                path.write_bytes(step.graph.as_graph_def().SerializeToString())
                again = self.export("--graphdef", str(path), "--loss", step.loss.op.name,
                                    "--train-op", "train_step")
                for key in ("tensors", "ops"):
                    self.assertEqual(again[key], direct[key])

    def test_two_runs_give_the_same_bytes(self) -> None:
        digests = set()
        for seed in ("1", "2"):
            path = self.folder / seed / "small.json.gz"  # a graph is named after its file
            path.parent.mkdir()
            program = str(SCRIPTS / "export_tensorflow.py")
            options = ["--unroll", "3", "--hidden", "8", "--vocab", "20"]
            subprocess.run([sys.executable, program, "nmt", *options, "-o", str(path)], check=True,
                           capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
            digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
        self.assertEqual(len(digests), 1)

    def test_sizes_change_the_graph_as_they_should(self) -> None:
        def ops(*options: str) -> int:
            return len(self.export("rnnlm", "--hidden", "8", "--vocab", "20", *options)["ops"])
        small = ops("--unroll", "4", "--layers", "1")
        self.assertGreater(ops("--unroll", "8", "--layers", "1"), 1.8 * small)
        self.assertGreater(ops("--unroll", "4", "--layers", "3"), 2.2 * small)

    def test_tree_sums_follow_their_gradients(self) -> None:
        """One sum for each further step, listed as soon as its inputs are."""
        document = self.export("rnnlm", "--hidden", "8", "--vocab", "20", "--unroll", "5",
                               "--layers", "1", "--dropout", "0")
        producer = {t: op["id"] for op in document["ops"] for t in op["outputs"]}
        sums = [op for op in document["ops"] if op["name"].startswith(
            "gradients/lstm0/kernel/read_gradient_sum")]
        self.assertEqual(len(sums), 4)
        for op in sums:
            last = max(producer[t] for t in op["inputs"])
            between = document["ops"][last + 1:op["id"]]
            self.assertTrue(all(other["kind"] == "AddN" for other in between))


if __name__ == "__main__":
    unittest.main()
