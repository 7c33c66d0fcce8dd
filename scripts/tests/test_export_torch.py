"""Tests of export_torch.py. Those that trace a model are skipped where torch is not installed."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import math
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from typing import Any

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [SCRIPTS, os.path.join(SCRIPTS, "emplace", "src")]

from emplace.importers import graph_file  # noqa: E402
import export_torch  # noqa: E402

HAVE_TORCH = importlib.util.find_spec("torch") is not None
HAVE_TORCHVISION = HAVE_TORCH and importlib.util.find_spec("torchvision") is not None

TINY = """
    import torch
    from torch import nn

    def build(batch=8):
        module = nn.Sequential(nn.Linear(6, 5), nn.ReLU(inplace=True), nn.Linear(5, 3))
        images, labels = torch.empty(batch, 6), torch.empty(batch, dtype=torch.int64)
        return module, (images,), (labels,), nn.functional.cross_entropy
"""


def net(forward: str, init: str = "") -> str:
    """Source of a model around `self.inner`, 4 -> 4; `init` makes more of it, separated by `;`."""
    lines = "".join(f"        {line}\n" for line in textwrap.dedent(forward).strip().split("\n"))
    return ("import torch\nfrom torch import nn\n"
            "class Net(nn.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            f"        self.inner = nn.Linear(4, 4); {init}\n"
            f"    def forward(self, x):\n{lines}"
            "def build():\n"
            "    return nn.Sequential(Net()), torch.empty(2, 4), lambda y: y.sum()\n")


def run(*arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of the program called with `arguments`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = export_torch.main(arguments)
        except SystemExit as stop:  # argparse
            code = stop.code
    return code, out.getvalue(), err.getvalue()


class Folder(unittest.TestCase):
    """A test with a folder of its own and a way to export the source text of a model."""

    capture = "aot"

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def run_model(self, source: str, *options: str) -> tuple[int, str, str]:
        with open(self.path("model.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(source))
        return run("--module", self.path("model.py"), "-o", self.path("g.json.gz"),
                   "--capture", self.capture, *options)

    def export(self, source: str, *options: str) -> dict[str, Any]:
        code, _, err = self.run_model(source, *options)
        self.assertEqual(code, 0, err)
        return graph_file.read(self.path("g.json.gz"))

    def op(self, document: dict[str, Any], name: str) -> dict[str, Any]:
        found = [op for op in document["ops"] if op["name"] == name]
        self.assertTrue(found, f"no op {name!r} in {[op['name'] for op in document['ops']]}")
        return found[0]

    def written_to(self, document: dict[str, Any], state: str) -> tuple[dict, dict[str, Any]]:
        """The tensor that overwrites the state op `state`, and the op that makes it."""
        first = self.op(document, state)["outputs"][0]
        tensor = next(t for t in document["tensors"]
                      if t.get("alias_of") == first and "role" in t)  # a view has none
        return tensor, next(op for op in document["ops"] if tensor["id"] in op["outputs"])


class CommandLineTest(Folder):
    def test_list_names_every_model(self) -> None:
        code, out, _ = run("--list")
        self.assertEqual(code, 0)
        self.assertEqual([line.split()[0] for line in out.splitlines()],
                         ["bert_base", "gpt2_mini", "gpt2_small", "inception_v3", "resnet50"])

    def test_wrong_name_suggests_the_right_one(self) -> None:
        code, _, err = run("inception_v4")
        self.assertEqual(code, 2)
        self.assertIn("did you mean 'inception_v3'?", err)
        self.assertIn("bert_base, gpt2_mini, gpt2_small, inception_v3, resnet50", err)

    def test_options_that_do_not_fit(self) -> None:
        for arguments, expected in (((), "which model?"),
                                    (("resnet50", "--seq", "3"), "has no sequence"),
                                    (("gpt2_small", "--seq", "2000"), "1024 positions"),
                                    (("resnet50", "--module", "x.py"), "not both"),
                                    (("resnet50", "--batch", "0"), "not a whole number above 0"),
                                    (("resnet50", "--capture", "x"), "invalid choice"),
                                    (("resnet50", "--optimizer", "x"), "invalid choice")):
            code, _, err = run(*arguments)
            self.assertEqual(code, 2, arguments)
            self.assertIn(expected, err)

    def test_missing_package_is_named_with_the_command(self) -> None:
        # A folder ahead of the others in which importing torch fails as if it were not there.
        with open(self.path("torch.py"), "w", encoding="utf-8") as file:
            file.write("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
        result = subprocess.run(
            [sys.executable, os.path.join(SCRIPTS, "export_torch.py"), "gpt2_small"],
            env={**os.environ, "PYTHONPATH": self.folder}, capture_output=True, text=True,
            cwd=self.folder, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("the Python package 'torch' is missing", result.stderr)
        self.assertIn("pip install -r scripts/requirements-torch.txt", result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1)


@unittest.skipUnless(HAVE_TORCH, "needs torch")
class GraphTest(Folder):
    """What holds for both captures, here with the default one."""

    def test_two_layers(self) -> None:
        """By hand, batch 8: 2 * 8 * (6 * 5 + 5 * 3) = 720 FLOP forward; backward the same for
        the weights' gradients, and 2 * 8 * 15 = 240 for the second layer's input."""
        document = self.export(TINY)
        figures = graph_file.statistics(document)
        self.assertEqual(figures["parameters"], 6 * 5 + 5 + 5 * 3 + 3)
        self.assertEqual(figures["forward_flops"], 720)
        self.assertEqual(figures["backward_flops"], 720 + 240)
        self.assertEqual(document["source"]["optimizer"], "momentum")
        self.assertEqual(document["source"]["capture"], self.capture)
        roles = [t.get("role") for t in document["tensors"]]
        self.assertEqual((roles.count("input"), roles.count("gradient"), roles.count("output")),
                         (2, 4, 1))

    def test_convolution_by_groups(self) -> None:
        """By hand, 2 images of 4 channels and 8x8: 2 * 2 * 64 * 4 * 9 = 9216 FLOP for each of two
        layers, and as much for each of their gradients but that of the images. A transposed layer
        of 2 groups makes 16x16 of that: 2 * 2 * 64 * 4 * 2 * 4 = 8192."""
        document = self.export("""
            import torch
            from torch import nn

            def build():
                module = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, groups=4),
                                       nn.Conv2d(4, 4, 3, padding=1, groups=4),
                                       nn.ConvTranspose2d(4, 4, 2, stride=2, groups=2))
                return module, torch.empty(2, 4, 8, 8), lambda y: y.sum()
        """)
        figures = graph_file.statistics(document)
        self.assertEqual(figures["forward_flops"], 2 * 9216 + 8192)
        self.assertEqual(figures["backward_flops"], 3 * 9216 + 2 * 8192)

    def test_view_shares_memory(self) -> None:
        document = self.export(TINY)
        view = self.op(document, "0/t")
        self.assertEqual(view["bytes_accessed"], 0)
        self.assertEqual(document["tensors"][view["outputs"][0]]["alias_of"], view["inputs"][0])

    def test_in_place_op(self) -> None:
        """Its own tensor in the functional graph, its input's memory when PyTorch runs it."""
        document = self.export(TINY)
        relu, addmm = self.op(document, "1/relu"), self.op(document, "0/addmm")
        self.assertEqual(relu["kind"], "aten.relu")
        self.assertEqual(relu["inputs"], addmm["outputs"])
        self.assertEqual(document["tensors"][relu["outputs"][0]].get("alias_of"),
                         addmm["outputs"][0] if self.capture == "eager" else None)

    def test_sum_of_gradients_belongs_to_the_last_of_them(self) -> None:
        document = self.export(net("y = self.inner(x).sin()\nreturn y + self.b(y)",
                                   "self.b = nn.Linear(4, 4)"))
        self.assertEqual(self.op(document, "0.b/backward/add")["attributes"]["module"], "0.b")

    def test_backward_op_names_its_forward_op(self) -> None:
        document = self.export(TINY)
        op = self.op(document, "0/backward/mm")
        self.assertEqual(op["phase"], "backward")
        self.assertEqual(op["attributes"], {"module": "0", "forward_op": "0/addmm"})

    def test_update_owns_its_state_and_waits_for_readers(self) -> None:
        document = self.export(TINY, "--optimizer", "adamw")
        update = self.op(document, "2.weight/adamw")
        self.assertEqual((update["kind"], update["phase"]), ("optimizer.adamw", "update"))
        for name in ("2.weight", "2.weight.exp_avg", "2.weight.exp_avg_sq", "2.weight/adamw"):
            self.assertEqual(self.op(document, name)["colocate"], "2.weight")
        # The second layer's input gradient reads the weight and is no ancestor of its update.
        self.assertEqual(update["control_inputs"], [self.op(document, "2/backward/mm")["id"]])
        self.assertNotIn("control_inputs", self.op(document, "0.weight/adamw"))

    def test_optimizer_state_by_optimizer(self) -> None:
        for optimizer, states in (("sgd", 0), ("momentum", 1), ("adam", 2), ("adamw", 2)):
            document = self.export(TINY, "--optimizer", optimizer)
            figures = graph_file.statistics(document)
            self.assertEqual(figures["optimizer_state_bytes"], states * 4 * 53, optimizer)

    def test_batch_and_dtype(self) -> None:
        document = self.export(TINY, "--batch", "2", "--dtype", "bf16")
        self.assertEqual(document["tensors"][0]["shape"], [2, 6])
        self.assertEqual({t["dtype"] for t in document["tensors"]}, {"bf16", "i64"})

    def test_running_statistics_stay_with_their_writer(self) -> None:
        document = self.export("""
            import torch
            def build():
                return torch.nn.BatchNorm2d(3), torch.empty(2, 3, 4, 4), lambda y: y.sum()
        """)
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            tensor, writer = self.written_to(document, name)
            self.assertEqual(tensor["role"], "buffer")
            self.assertEqual(writer["colocate"], self.op(document, name)["colocate"])
        self.assertIn("native_batch_norm", self.written_to(document, "running_var")[1]["kind"])

    def test_memory_written_through_a_view_is_read_later(self) -> None:
        document = self.export(net("""
            y = self.inner(x)
            before = self.history.sum()
            self.history[1].copy_(y.detach().mean(0))
            return y * self.history.sum() * before
            """, "self.register_buffer('history', torch.zeros(2, 4))"))
        before, after = self.op(document, "0/sum"), self.op(document, "0/sum_1")
        if self.capture == "eager":  # in memory that both sums read
            writer = self.op(document, "0/copy")
            self.assertEqual(after["control_inputs"], [writer["id"]])
        else:                        # as a new value, for which the old one makes room
            tensor, writer = self.written_to(document, "0.history")
            self.assertEqual(writer["kind"], "aten.select_scatter")
            self.assertEqual((tensor["role"], after["inputs"]), ("buffer", [tensor["id"]]))
        self.assertEqual(writer["control_inputs"], [before["id"]])
        self.assertEqual(writer["colocate"], self.op(document, "0.history")["colocate"])
        self.assertIsNotNone(writer["colocate"])

    def test_state_whose_old_value_is_still_read_is_overwritten_later(self) -> None:
        document = self.export(net("""
            y, before = self.inner(x), self.mean.clone()
            self.mean.mul_(0.9).add_(y.detach().mean(0))
            return y * self.mean * before
            """, "self.register_buffer('mean', torch.zeros(4))"))
        _, writer = self.written_to(document, "0.mean")
        self.assertEqual(writer["kind"], {"eager": "aten.mul", "aot": "aten.copy"}[self.capture])
        self.assertEqual(writer["control_inputs"], [self.op(document, "0/clone")["id"]])

    def test_tensor_that_no_module_owns_is_a_constant(self) -> None:
        document = self.export("""
            import torch
            def build():
                scale = torch.ones(3)
                return torch.nn.Linear(4, 3), torch.empty(2, 4), lambda y: (y * scale).sum()
        """)
        constant = self.op(document, "constant")
        self.assertEqual(constant["kind"], "constant")
        self.assertIn(constant["outputs"][0], self.op(document, "loss/mul")["inputs"])

    def test_tied_weight_is_one_parameter_and_embedding_moves_rows(self) -> None:
        document = self.export("""
            import torch
            from torch import nn
            class Tied(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.embedding, self.head = nn.Embedding(100, 4), nn.Linear(4, 100, bias=False)
                    self.head.weight = self.embedding.weight
                def forward(self, tokens):
                    return self.head(self.embedding(tokens))
            def build():
                return Tied(), torch.empty(2, 3, dtype=torch.int64), lambda y: y.sum()
        """)
        self.assertEqual(graph_file.statistics(document)["parameters"], 400)
        # 6 indices of 8 B, and 6 rows of 16 B read and written.
        self.assertEqual(self.op(document, "embedding/embedding")["bytes_accessed"], 48 + 2 * 96)

    def test_same_bytes_twice(self) -> None:
        self.export(TINY)
        with open(self.path("g.json.gz"), "rb") as file:
            first = file.read()
        self.export(TINY)
        with open(self.path("g.json.gz"), "rb") as file:
            self.assertEqual(file.read(), first)

    def test_unknown_flops_and_unused_parameters_are_listed(self) -> None:
        code, _, err = self.run_model(net("return self.inner(x).tanh()",
                                          "self.unused = nn.Linear(4, 4)"))
        self.assertEqual(code, 0, err)
        self.assertIn("no gradient, so no update (2): 0.unused.weight, 0.unused.bias", err)
        self.assertRegex(err, r"aten\.tanh +1 +64")


@unittest.skipUnless(HAVE_TORCH, "needs torch")
class EagerGraphTest(GraphTest):
    """The same with the other capture."""

    capture = "eager"


@unittest.skipUnless(HAVE_TORCH, "needs torch")
class CapturesAgreeTest(Folder):
    SOURCE = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8),
                                          nn.ReLU(inplace=True), nn.Conv2d(8, 16, 3, groups=2))
                self.q, self.out = nn.Linear(16, 16), nn.Linear(16, 5, bias=False)
                self.table = nn.Embedding(5, 16)
                self.out.weight = self.table.weight
            def forward(self, x, tokens):
                x = self.stem(x).flatten(2).transpose(1, 2)
                x = x + self.table(tokens)[:, None]
                x = nn.functional.dropout((self.q(x) @ x.transpose(1, 2)).softmax(-1), 0.1) @ x
                return self.out(x.mean(1))

        def build():
            return (Net(), (torch.empty(2, 3, 8, 8), torch.empty(2, dtype=torch.int64)),
                    (torch.empty(2, dtype=torch.int64),), nn.functional.cross_entropy)
    """

    def test_same_work_and_state(self) -> None:
        found = {}
        for self.capture in ("aot", "eager"):
            document = self.export(self.SOURCE)
            self.assertEqual(graph_file.check(document), [])  # no cycle, among others
            work: dict[Any, float] = {}
            for op in document["ops"]:
                key = op.get("phase", "forward"), op["kind"]
                if op.get("flops"):
                    work[key] = work.get(key, 0) + op["flops"]
            state = [(t["name"], t["shape"], t["role"]) for t in document["tensors"]
                     if t.get("role") in graph_file.RESIDENT_ROLES and "alias_of" not in t]
            self.assertNotIn("table.weight", [name for name, _, _ in state])  # tied
            backward = [(op["name"], op["attributes"]["forward_op"].replace(
                            "_native_batch_norm_legit_functional", "native_batch_norm"))
                        for op in document["ops"]
                        if op.get("phase") == "backward" and op.get("flops", 0) > 0]
            updates = [op["name"] for op in document["ops"] if "optimizer." in op["kind"]]
            found[self.capture] = work, state, backward, updates
        self.assertEqual(found["aot"], found["eager"])
        work, state, _, updates = found["aot"]
        self.assertEqual({"aten.mm", "aten.bmm", "aten.convolution",
                          "aten.convolution_backward"}, {kind for _, kind in work})
        self.assertEqual(updates, [f"{name}/momentum" for name, _, role in state
                                   if role == "parameter"])  # one update each


@unittest.skipUnless(HAVE_TORCH, "needs torch")
class MistakeTest(Folder):
    def test_control_flow_on_data_is_explained(self) -> None:
        code, _, err = self.run_model(net(
            "y = self.inner(x)\nif y.sum() > 0:\n    y = -y\nreturn y"))
        self.assertEqual(code, 2)
        self.assertIn("data-dependent control flow", err)
        self.assertIn("model.py:9 (if y.sum() > 0:) in module '0'", err)

    def test_shape_on_data_is_explained(self) -> None:
        code, _, err = self.run_model("""
            import torch
            def build():
                return torch.nn.Linear(4, 4), torch.empty(2, 4), lambda y: y[y > 0].sum()
        """)
        self.assertEqual(code, 2)
        self.assertIn("data-dependent shape", err)

    def test_argument_written_through_shared_memory_points_to_the_other_capture(self) -> None:
        code, _, err = self.run_model("""
            import torch
            class Shared(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.model = torch.nn.Linear(4, 4)
                def forward(self, x, y):
                    x.mul_(2)
                    return self.model(x) + y
            def build():
                x = torch.empty(2, 4)
                return Shared(), (x, x.view(2, 4)), (), lambda y: y.sum()
        """)
        if self.capture == "eager":
            self.assertEqual(code, 0, err)
        else:
            self.assertEqual((code, "try --capture eager" in err), (2, True), err)

    def test_model_files_that_are_no_models(self) -> None:
        linear = "import torch\ndef build(): return torch.nn.Linear(4, 4), torch.empty({}), {}"
        for source, expected in ((linear.format("2, 4", "lambda y: y"), "expected a scalar"),
                                 (linear.format("2, 3", "lambda y: y.sum()"), "RuntimeError"),
                                 ("def build(): return 3", "must return (module, inputs"),
                                 ("def buildd(): pass", "did you mean 'buildd'?"),
                                 ("def build(:", "SyntaxError")):
            code, _, err = self.run_model(source)
            self.assertEqual(code, 2, source)
            self.assertIn(expected, err)
            self.assertFalse(os.path.exists(self.path("g.json.gz")))
        code, _, err = self.run_model(TINY, "--seq", "4")
        self.assertEqual((code, "takes no argument 'seq'" in err), (2, True))
        code, _, err = run("--module", self.path("nothing.py"))
        self.assertEqual((code, "no such Python file" in err), (2, True))

    def test_unwritable_output_leaves_nothing(self) -> None:
        code, _, err = self.run_model(TINY, "-o", self.path("no/such/folder/g.json"))
        self.assertEqual(code, 1)
        self.assertIn("cannot write", err)
        blocked = self.path("blocked")
        os.mkdir(blocked)
        os.mkdir(os.path.join(blocked, "g.json"))  # a folder where the file should go
        code, _, err = self.run_model(TINY, "-o", os.path.join(blocked, "g.json"))
        self.assertEqual(code, 1)
        self.assertEqual(os.listdir(blocked), ["g.json"])


@unittest.skipUnless(HAVE_TORCH, "needs torch")
class EagerMistakeTest(MistakeTest):
    """The same with the other capture."""

    capture = "eager"


@unittest.skipUnless(HAVE_TORCH, "needs torch")
class ModelTest(Folder):
    """Published figures: parameters, and multiply-adds [MAC] of one sample's forward pass."""

    def figures(self, *arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
        code, _, err = run(*arguments, "-o", self.path("g.json.gz"))
        self.assertEqual(code, 0, err)
        document = graph_file.read(self.path("g.json.gz"))
        self.assertEqual(document["source"]["capture"], "aot")
        return document, graph_file.statistics(document)

    def test_gpt2_small(self) -> None:
        _, figures = self.figures("gpt2_small", "--batch", "1")
        self.assertEqual(figures["parameters"], 124_439_808)
        # Products with the 12 layers' matrices and the embedding, and attention's two products.
        macs = 1024 * (12 * 12 * 768**2 + 768 * 50257 + 12 * 2 * 1024 * 768)
        self.assertEqual(figures["forward_flops"], 2 * macs)

    def test_bert_base(self) -> None:
        _, figures = self.figures("bert_base", "--batch", "1", "--seq", "128")
        self.assertEqual(figures["parameters"], 109_514_298)
        macs = 128 * (12 * 12 * 768**2 + 768**2 + 768 * 30522 + 12 * 2 * 128 * 768)
        self.assertEqual(figures["forward_flops"], 2 * macs)

    @unittest.skipUnless(HAVE_TORCHVISION, "needs torchvision")
    def test_resnet50(self) -> None:
        _, figures = self.figures("resnet50", "--batch", "2")
        self.assertEqual(figures["parameters"], 25_557_032)
        self.assertAlmostEqual(figures["forward_flops"] / 2 / 2e9, 4.09, places=2)

    @unittest.skipUnless(HAVE_TORCHVISION, "needs torchvision")
    def test_inception_v3(self) -> None:
        document, figures = self.figures("inception_v3", "--batch", "2")
        self.assertEqual(figures["parameters"], 27_161_264)
        auxiliary = [op for op in document["ops"] if op["name"].startswith("AuxLogits")]
        shapes = [document["tensors"][op["outputs"][0]] for op in auxiliary
                  if op["kind"] == "parameter"]
        without = figures["parameters"] - sum(math.prod(t["shape"]) for t in shapes
                                              if t.get("role") == "parameter")
        self.assertEqual(without, 23_834_568)
        macs = (figures["forward_flops"] - sum(op.get("flops", 0) for op in auxiliary
                                               if "phase" not in op)) / 2 / 2
        self.assertAlmostEqual(macs / 1e9, 5.71, places=2)
        self.op(document, "Mixed_5b.branch1x1.conv/convolution")
        self.op(document, "Mixed_5b.branch1x1.conv/backward/convolution_backward")


if __name__ == "__main__":
    unittest.main()
