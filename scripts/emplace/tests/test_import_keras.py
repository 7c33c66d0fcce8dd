"""Tests of `emplace import --from keras`: hand calculations, what is inlined, refusals.

What needs TensorFlow and Keras is skipped, loudly, without them.
"""

import unittest

from support import Folder, by_name, graph_file, matrix_work, needs, run, without_packages

from emplace import importers

MODELS = '''
import keras
import tensorflow as tf
from keras import layers

def build():
    x = layers.Input([6])
    y = layers.Dense(3, use_bias=True, name="dense")(x)
    model = keras.Model(x, y)
    model.compile("adam", "mse")
    return model

def not_compiled():
    return keras.Sequential([layers.Input([6]), layers.Dense(3)])

def text():
    model = keras.Sequential([layers.Input([None], dtype="int32"), layers.Embedding(50, 8), layers.LSTM(4),
                              layers.Dense(2, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model

def transformer(batch):
    x = layers.Input([5, 12])
    y = layers.LayerNormalization(name="norm")(x + layers.MultiHeadAttention(3, 4, name="attention")(x, x))
    z = layers.Dense(12, name="narrow")(layers.Dense(48, "gelu", name="wide")(y))
    model = keras.Model(x, layers.Add()([y, z]))
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    return model

class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.a, self.b = layers.Dense(7), layers.Dense(2)

    @tf.function
    def helper(self, x):
        return tf.nn.relu(self.a(x)) * 2.0

    @tf.function
    def outer(self, left, right):
        return self.b(self.helper(left) + tf.stop_gradient(self.a(right)))

    def call(self, pair, training=False):
        return self.outer(pair["left"], pair["right"])

def own():
    model = Own()
    model.compile("rmsprop", "mse")
    spec = tf.TensorSpec([None, 3], tf.float32)
    return model, {"left": spec, "right": spec}

def shapeless():
    return Own()

def frozen():
    model = build()
    model.get_layer("dense").trainable = False
    return model

class Looping(keras.Model):
    def build(self, shape):
        self.w = self.add_weight(shape=[])

    def call(self, x):
        return keras.ops.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * self.w), (0, x))[1]

def loop():
    model = Looping()
    model.compile("sgd", "mse")
    return model, tf.TensorSpec([None, 3], tf.float32)

def condition():
    model = keras.Sequential([layers.Input([4]), layers.Dense(3)])
    model.compile(keras.optimizers.SGD(gradient_accumulation_steps=2), "mse")
    return model

def number():
    return 3
'''


class Refusals(unittest.TestCase):
    def test_a_missing_package_is_named_with_the_command(self) -> None:
        self.assertIn("the Python package 'tensorflow' is missing", without_packages("--from", "keras", "ResNet50"))

    def test_wrong_options(self) -> None:
        for arguments, expected in ((["ResNet50", "--batch", "0"], "--batch is 0, expected a whole number >= 1"),
                                    ([], "name a MODEL: FILE.keras"),
                                    (["ResNet50", "--length", "-2"], "--length is -2")):
            with self.subTest(arguments):
                status, _, err = run("--from", "keras", *arguments)
                self.assertEqual(status, 2)
                self.assertIn(expected, err)


@needs("tensorflow", "keras")
class Models(Folder):
    options = ("--from", "keras")

    def setUp(self) -> None:
        super().setUp()
        self.module = self.write("models.py", MODELS)

    def model(self, function: str, **options) -> importers.Imported:
        imported = importers.read(f"{self.module}:{function}", "keras", **options)
        self.assertEqual(graph_file.check(imported.document), [])
        return imported

    def test_a_dense_layer_op_by_op(self) -> None:
        document = self.model("build", batch=4).document
        tensors = document["tensors"]
        ops = by_name(document)
        kernel = ops["dense/kernel"]
        self.assertEqual((kernel["kind"], tensors[kernel["outputs"][0]]["role"]), ("parameter", "parameter"))
        product = next(op for op in document["ops"] if op["kind"] == "MatMul" and op.get("phase") is None)
        self.assertEqual(product["flops"], 2 * 4 * 6 * 3)
        gradient = [op for op in document["ops"] if op["kind"] == "MatMul" and op.get("phase") == "backward"]
        self.assertEqual([op["flops"] for op in gradient], [2 * 4 * 6 * 3])  # of the kernel; x needs none
        self.assertEqual(gradient[0]["attributes"]["forward_op"], product["name"])
        writes = [op for op in document["ops"] if op["kind"].startswith("Assign")]
        for op in writes:
            self.assertEqual(op["phase"], "update")
            self.assertEqual(tensors[op["outputs"][0]]["alias_of"], op["inputs"][0])
        # Kernel, its two slots and what reads and writes them are together.
        together = {op["name"] for op in document["ops"] if op.get("colocate") == "dense/kernel"
                    and op["kind"] == "parameter"}
        self.assertEqual(len(together), 3, together)
        figures = graph_file.statistics(document)
        self.assertEqual(figures["parameters"], 6 * 3 + 3)
        self.assertEqual(figures["optimizer_state_bytes"], 2 * 4 * 21 + 8 + 4)
        self.assertEqual(figures["input_bytes"], 4 * (4 * 6 + 4 * 3))
        outputs = [t["name"] for t in tensors if t.get("role") == "output" and "alias_of" not in t]
        self.assertEqual(len(outputs), 1, outputs)  # the loss

    def test_an_lstm_is_unrolled(self) -> None:
        imported = self.model("text", batch=2, length=7)
        self.assertEqual([str(d) for d in imported.dropped],
                         ["loops of recurrent layers x 1: unrolled: every time step has its own ops"])
        figures = graph_file.statistics(imported.document)
        # Table, cell (x and h to four gates, biases), classes.
        self.assertEqual(figures["parameters"], 50 * 8 + (8 + 4) * 16 + 16 + 4 * 2 + 2)
        # Seven steps of [2, 8] x [8, 16] and [2, 4] x [4, 16], then [2, 4] x [4, 2].
        self.assertEqual(matrix_work(imported.document), 2 * (7 * 2 * (8 + 4) * 16 + 2 * 4 * 2))
        self.assertIn("GatherV2", {op["kind"] for op in imported.document["ops"]})

    def test_a_transformer_block(self) -> None:
        imported = self.model("transformer", batch=2)
        self.assertEqual(imported.dropped, [])
        figures = graph_file.statistics(imported.document)
        # Query, key, value, output (width 12, three heads of 4) and biases; norm; 12 -> 48 -> 12.
        self.assertEqual(figures["parameters"], 4 * (12 * 12 + 12) + 2 * 12 + 12 * 48 + 48 + 48 * 12 + 12)
        # A token: four products 12 x 12, two 12 x 48; and in each head 5 scores and 5 sums of width 4.
        tokens = 2 * 5
        self.assertEqual(matrix_work(imported.document), 2 * tokens * (4 * 144 + 2 * 576 + 2 * 3 * 5 * 4))
        self.assertEqual(matrix_work(imported.document, "backward"),
                         2 * matrix_work(imported.document) - 2 * tokens * 3 * 144)  # x itself needs none
        self.assertEqual(figures["optimizer_state_bytes"], 4 * figures["parameters"] + 8 + 4)

    def test_a_class_of_ones_own_with_a_function_that_is_inlined(self) -> None:
        document = self.model("own", batch=4).document
        self.assertEqual(graph_file.statistics(document)["parameters"], 3 * 7 + 7 + 7 * 2 + 2)
        kinds = {op["kind"] for op in document["ops"]}
        self.assertFalse({kind for kind in kinds if "Call" in kind}, kinds)
        self.assertEqual(sum(op["kind"] == "Relu" for op in document["ops"]), 1)
        self.assertEqual(sum(op["kind"] == "ReluGrad" for op in document["ops"]), 1)
        relu = next(op for op in document["ops"] if op["kind"] == "Relu")
        self.assertEqual((relu["flops"], relu.get("phase", "forward")), (28, "forward"))
        back = next(op for op in document["ops"] if op["kind"] == "ReluGrad")
        self.assertEqual(back["phase"], "backward")
        # left: 4 x 3 x 7 and its weight's gradient; right the same without; 4 x 7 x 2 and two gradients.
        self.assertEqual(matrix_work(document), 2 * (2 * 84 + 56))
        self.assertEqual(matrix_work(document, "backward"), 2 * (84 + 2 * 56))

    def test_of_a_condition_the_larger_branch_is_taken(self) -> None:
        imported = self.model("condition", batch=2)
        self.assertEqual([str(dropped).split(":")[0] for dropped in imported.dropped], ["conditions x 1"])
        self.assertIn("the branch with more ops is taken", imported.dropped[0].why)
        kinds = {op["kind"] for op in imported.document["ops"]}
        self.assertFalse(kinds & {"If", "StatelessIf"})
        # The step that updates: the kernel is written, not the sum of its gradients alone.
        written = {imported.document["tensors"][tensor]["alias_of"] for op in imported.document["ops"]
                   if op["kind"].startswith("Assign") for tensor in op["outputs"]}
        kernel = next(op for op in imported.document["ops"] if op["name"].endswith("dense/kernel"))
        self.assertIn(kernel["outputs"][0], written)

    def test_inference(self) -> None:
        document = self.model("not_compiled", batch=4, inference=True).document
        figures = graph_file.statistics(document)
        self.assertEqual((figures["backward_ops"], figures["update_ops"], figures["output_bytes"]), (0, 0, 4 * 3 * 4))
        self.assertTrue(document["source"]["inference"])

    def test_frozen_weights_are_parameters_without_gradient(self) -> None:
        document = self.model("frozen", batch=4, inference=True).document
        self.assertEqual(graph_file.statistics(document)["parameters"], 21)
        with self.assertRaisesRegex(importers.ImportFailure, "no trainable variables"):
            self.model("frozen", batch=4)

    def test_a_saved_model_is_the_same_step(self) -> None:
        from emplace.importers.keras import load_keras
        keras = load_keras()
        keras.utils.clear_session()
        path = self.path("saved.keras")
        keras.Sequential([keras.layers.Input([6]), keras.layers.Dense(3)]).save(path)
        first = importers.read(path, batch=4, loss="mse", optimizer="adam").document
        second = self.model("not_compiled", batch=4, loss="mse", optimizer="adam").document
        self.assertEqual([op["kind"] for op in first["ops"]], [op["kind"] for op in second["ops"]])
        self.assertEqual(first["source"]["optimizer"], "adam")

    def test_from_python(self) -> None:
        from emplace.importers.keras import import_keras, load_keras
        keras = load_keras()
        model = keras.Sequential([keras.layers.Input([6, 2]), keras.layers.LSTM(3)])
        document = import_keras(model, batch=2, loss="mse", optimizer="sgd").document
        self.assertEqual(graph_file.statistics(document)["parameters"], 4 * (2 * 3 + 3 * 3 + 3))
        self.assertFalse(model.layers[0].unroll, "left as it was")

    def test_two_runs_give_the_same_bytes(self) -> None:
        self.same_bytes_for_every_hash_seed(f"{self.module}:text", "--length", "3")

    def test_what_is_refused(self) -> None:
        broken = self.write("broken.keras", "no archive")
        for model, options, expected in (
                (f"{self.module}:not_compiled", [], "the model is not compiled"),
                (f"{self.module}:text", [], "give --length N for the open dimensions"),
                (f"{self.module}:shapeless", ["--inference"], "the inputs of the model are not known"),
                (f"{self.module}:loop", [], "unroll the loop"),
                (f"{self.module}:number", [], "number() returned int, expected a keras.Model"),
                (f"{self.module}:nothing", [], "has no function 'nothing'"),
                (f"{self.module}:build", ["--loss", "no_loss"], "no_loss"),
                (f"{self.module}:build", ["--optimizer", "no_rule"], "no_rule"),
                (broken, [], "broken.keras: keras"),
                (self.path("none.keras"), [], "there is no file"),
                ("Resnet50", [], "unknown model 'Resnet50', did you mean 'ResNet50'?")):
            with self.subTest(model=model, options=options):
                self.refused(expected, model, *options)


if __name__ == "__main__":
    unittest.main()
