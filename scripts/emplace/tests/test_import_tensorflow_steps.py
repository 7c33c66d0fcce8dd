"""Tests of `emplace import --from tensorflow`: steps that it makes, and what it refuses."""

import argparse
import functools
import unittest

import support
from support import Folder, graph_file, needs, without_packages

from emplace import importers
from emplace.importers import tensorflow
from emplace.importers.tensorflow import request

run = functools.partial(support.run, "--from", "tensorflow")

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

def fails(batch):
    raise ValueError("no such layer")
'''


class Refusals(unittest.TestCase):
    def test_wrong_requests_are_answered_with_the_choices(self) -> None:
        for arguments, expected in (
                (["resnet"], "unknown model 'resnet', did you mean 'resnet50'?"),
                (["qqq"], "the models are: inception_v3, nasnet, nmt, resnet50, resnet101, "
                            "resnet152, rnnlm"),
                ([], "name a MODEL: a network, FILE.py, FILE.pb or FILE.pbtxt"),
                (["resnet50", "--layers", "3"], "--layers does not apply to resnet50"),
                (["rnnlm", "--unroll", "0"], "--unroll is 0, expected a whole number >= 1"),
                (["rnnlm", "--dropout", "1.5"], "--dropout is 1.5, expected a rate in [0, 1)"),
                (["rnnlm", "--optimizer", "adamm"], "invalid choice: 'adamm'"),
                (["x.json", "--batch", "3", "-o", "y.json"], "--batch does not apply to an emplace graph"),
                (["x.json", "-o", "y.json"], "x.json: is an emplace graph; it needs --kernels of another year"),
                (["x.json", "--kernels", "tf2016"], "and -o FILE"),
                (["x.json", "--kernels", "tf2016", "-o", "y.json"], "x.json: cannot be read: "),
                (["rnnlm", "--function", "f"], "--function f: is for FILE.py, not for the network 'rnnlm'"),
                (["net.py:f", "--function", "g"], "names the function 'f', but --function names another one, 'g'"),
                (["rnnlm", "--loss", "l"], "--loss and --train-op are for a GraphDef"),
                (["x.pb", "--batch", "2", "--loss", "l", "--train-op", "t"], "--batch does not apply to a GraphDef"),
                (["x.pb"], "x.pb: a GraphDef needs --loss NAME and --train-op NAME")):
            with self.subTest(arguments):
                status, _, err = run(*arguments)
                self.assertEqual(status, 2)
                self.assertIn(expected, err)

    def test_a_missing_package_is_named_with_the_command(self) -> None:
        said = without_packages("--from", "tensorflow", "rnnlm")
        self.assertIn("the Python package 'tensorflow' is missing", said)
        self.assertIn("pip install 'emplace-placement[tensorflow]'", said)

    def test_a_missing_folder_is_told_before_the_work(self) -> None:
        status, _, err = run("rnnlm", "-o", "/no_such_folder/x.json.gz")
        self.assertEqual(status, 2)
        self.assertIn("/no_such_folder", err)

    def test_the_help_lists_the_networks_and_needs_no_tensorflow(self) -> None:
        self.assertIn("--layers 2 --unroll 40 --hidden 1024", tensorflow.EPILOG)
        self.assertIn("resnet152", tensorflow.EPILOG)


@needs("tensorflow")
class Exporting(Folder):
    options = ("--from", "tensorflow")

    def setUp(self) -> None:
        super().setUp()
        self.module = self.write("user_model.py", USER_MODEL)

    def test_own_models_with_every_optimizer_and_kind_of_variable(self) -> None:
        for function in ("build", "build_resource"):
            for optimizer, slots in (("sgd", 0), ("momentum", 1), ("rmsprop", 2), ("adam", 2)):
                with self.subTest(function=function, optimizer=optimizer):
                    document = self.imported(f"{self.module}:{function}", "--optimizer", optimizer, "--batch", "4")
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
                                   ("fails", "user_model.py:32: fails() failed: ValueError: no such layer"),
                                   ("missing", "has no function 'missing'; choices: build, build_resource")):
            with self.subTest(function):
                self.refused(expected, f"{self.module}:{function}")

    def test_a_graph_def_gives_the_same_graph(self) -> None:
        for optimizer in request.CHOICES["optimizer"]:
            with self.subTest(optimizer):
                arguments = [self.module, "--optimizer", optimizer, "--batch", "4"]
                direct = self.imported(*arguments)
                parser = argparse.ArgumentParser()
                parser.add_argument("model")
                request.add_arguments(parser)
                step = request.build_step(self.module, parser.parse_args(arguments))[2]
                path = self.write("step.pb", step.graph.as_graph_def().SerializeToString())
                again = self.imported(path, "--loss", step.loss.op.name, "--train-op", "train_step")
                object_ = tensorflow.import_tensorflow(step.graph, step.loss.op.name, "train_step").document
                for key in ("tensors", "ops"):
                    self.assertEqual(again[key], direct[key])
                    self.assertEqual(object_[key], direct[key])

    def test_two_runs_give_the_same_bytes(self) -> None:
        self.same_bytes_for_every_hash_seed("nmt", "--unroll", "3", "--hidden", "8", "--vocab", "20")

    def test_sizes_change_the_graph_as_they_should(self) -> None:
        def ops(*options: str) -> int:
            return len(self.imported("rnnlm", "--hidden", "8", "--vocab", "20", *options)["ops"])
        small = ops("--unroll", "4", "--layers", "1")
        self.assertGreater(ops("--unroll", "8", "--layers", "1"), 1.8 * small)
        self.assertGreater(ops("--unroll", "4", "--layers", "3"), 2.2 * small)

    def test_tree_sums_follow_their_gradients(self) -> None:
        """One sum for each further step, listed as soon as its inputs are."""
        document = self.imported("rnnlm", "--hidden", "8", "--vocab", "20", "--unroll", "5",
                               "--layers", "1", "--dropout", "0")
        producer = {t: op["id"] for op in document["ops"] for t in op["outputs"]}
        sums = [op for op in document["ops"] if op["name"].startswith(
            "gradients/lstm0/kernel/read_gradient_sum")]
        self.assertEqual(len(sums), 4)
        for op in sums:
            last = max(producer[t] for t in op["inputs"])
            between = document["ops"][last + 1:op["id"]]
            self.assertTrue(all(other["kind"] == "AddN" for other in between))

    def test_a_broken_file_is_one_sentence(self) -> None:
        broken = {"x.pb": b"no graph", "x.pbtxt": b"node {", "x.py": b"def build(batch:\n",
                  "y.py": b"import no_such_module\n"}
        for name, text in broken.items():
            with self.subTest(name):
                more = ["--loss", "l", "--train-op", "t"] if name.startswith("x.pb") else []
                self.refused(name, self.write(name, text), *more)

    def test_from_python(self) -> None:
        imported = importers.read("rnnlm", "tensorflow", unroll=2, hidden=8, vocab=20)
        self.assertEqual(imported.dropped, [])
        with self.assertRaisesRegex(TypeError, "tensorflow has no option 'depth'"):
            importers.read("rnnlm", "tensorflow", depth=3)


if __name__ == "__main__":
    unittest.main()
