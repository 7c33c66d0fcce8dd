"""Tests of the importer of JAX steps with networks in flax and optimisers of optax: counts by hand and XLA's."""

import pathlib
import unittest

from support import by_name, graph_file, needs

from emplace.importers import read

MODELS = pathlib.Path(__file__).with_name("jax_models.py")


@needs("jax", "flax", "optax")
class Networks(unittest.TestCase):
    def load(self, name: str, **settings) -> None:
        self.imported = read(f"{MODELS}:{name}", "jax", set=settings)
        self.document = self.imported.document
        self.assertEqual(graph_file.check(self.document), [])
        self.figures = graph_file.statistics(self.document)
        self.ops = by_name(self.document)

    def products(self, phase: str) -> float:
        return sum(op["flops"] for op in self.document["ops"] if op.get("phase", "forward") == phase
                   and op["kind"] in ("jax.dot_general", "jax.conv_general_dilated"))

    def check_state(self) -> None:
        """All state is written once, where it is; every update of a parameter is with it."""
        tensors = self.document["tensors"]
        state = [t for t in tensors if t.get("role") in ("parameter", "optimizer_state", "buffer")]
        written = [t["alias_of"] for t in tensors if t.get("role") == "output" and t.get("alias_of") is not None]
        self.assertEqual(sorted(written), [t["id"] for t in state])
        producer = {t: op for op in self.document["ops"] for t in op["outputs"]}
        for tensor in tensors:
            if tensor.get("role") == "output" and tensor.get("alias_of") is not None:
                place = producer[tensor["alias_of"]]["colocate"]
                self.assertEqual(producer[tensor["id"]]["colocate"], place)
                if tensors[tensor["alias_of"]]["role"] == "parameter":
                    self.assertEqual(place, tensors[tensor["alias_of"]]["name"])
        self.assertEqual(self.imported.dropped, [])

    def compare_with_xla(self, name: str, tolerance: float) -> None:
        """The FLOP of the whole step and those that XLA counts in the same program before it optimises."""
        import jax
        import jax_models
        said = getattr(jax_models, name)()
        xla = jax.jit(said["step"]).lower(*said["arguments"]).cost_analysis()["flops"]
        ours = sum(self.figures[f"{phase}_flops"] for phase in graph_file.PHASES)
        self.assertLess(abs(ours / xla - 1), tolerance, f"ours {ours:,}, XLA's {xla:,}")

    def test_mlp(self) -> None:
        self.load("mlp")
        self.assertEqual(self.figures["parameters"], 784 * 256 + 256 + 256 * 10 + 10)
        self.assertEqual(self.figures["optimizer_state_bytes"], 2 * 4 * self.figures["parameters"] + 4)
        forward = 2 * 32 * (784 * 256 + 256 * 10)
        self.assertEqual(self.products("forward"), forward)
        # By the weights as much again, by the hidden layer its part; not by the images.
        self.assertEqual(self.products("backward"), forward + 2 * 32 * 256 * 10)
        self.assertEqual(self.products("update"), 0)
        self.check_state()
        self.compare_with_xla("mlp", 0.03)

    def test_names_and_forward_ops(self) -> None:
        self.load("mlp")
        gradients = [op["attributes"]["forward_op"] for name, op in self.ops.items()
                     if name.startswith("backward/Mlp/Dense_0/dot_general")]
        self.assertEqual(gradients, ["Mlp/Dense_0/dot_general"] * 2)
        self.assertEqual(self.ops["Mlp/Dense_0/dot_general"]["attributes"]["module"], "Mlp/Dense_0")
        self.assertEqual(self.ops["params/params/Dense_0/kernel"]["kind"], "parameter")

    def test_cnn(self) -> None:
        self.load("cnn")
        # 33 -> 16 -> 7 pixels, halved by the pooling: 3 x 3 x 64 features. A batch norm has a scale and a bias.
        self.assertEqual(self.figures["parameters"], 27 * 32 + 2 * 32 + 9 * 32 * 64 + 2 * 64 + 576 * 10 + 10)
        self.assertEqual(self.figures["buffer_bytes"], 4 * 2 * (32 + 64))
        first, second, dense = 16 * 16 * 32 * 27, 7 * 7 * 64 * 9 * 32, 576 * 10
        self.assertEqual(self.products("forward"), 2 * 32 * (first + second + dense))
        # Gradients by filters and, behind the first layer, by inputs: as much each.
        self.assertEqual(self.products("backward"), 2 * 32 * (first + 2 * second + 2 * dense))
        self.check_state()
        self.compare_with_xla("cnn", 0.05)

    def test_transformer(self) -> None:
        self.load("transformer")
        words, width, layers, length = 1000, 128, 2, 64
        block = 2 * 2 * width + 4 * (width * width + width) + 8 * width * width + 5 * width
        self.assertEqual(self.figures["parameters"],
                         2 * words * width + length * width + layers * block + 2 * width)
        rows = 4 * length
        # 12 width^2 in the weights of a block; scores and weighted sums: length x width each, for each row.
        forward = 2 * rows * (layers * (12 * width * width + 2 * length * width) + words * width)
        self.assertEqual(self.products("forward"), forward)
        self.assertEqual(self.products("backward"), 2 * forward)
        self.check_state()
        self.compare_with_xla("transformer", 0.02)

    def test_the_norm_of_all_gradients_is_on_no_parameters_device(self) -> None:
        self.load("transformer")
        squares = [op for op in self.document["ops"] if op.get("phase") == "update" and op["kind"] == "jax.sqrt"
                   and not op.get("colocate")]
        self.assertEqual(len(squares), 1)

    def test_equal_steps_give_equal_bytes(self) -> None:
        self.load("transformer", layers=1)
        first = graph_file.serialize(self.document)
        self.load("transformer", layers=1)
        self.assertEqual(graph_file.serialize(self.document), first)


if __name__ == "__main__":
    unittest.main()
