"""Tests of `emplace import --from torch`: its command line, and what it says of mistakes."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

from support import SOURCE, graph_file
from import_torch_support import TINY, Folder, needs_torch, net, run

from emplace.importers import read


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
        for arguments, expected in (((), "the model is missing"),
                                    (("resnet50", "--seq", "3"), "has no sequence"),
                                    (("gpt2_small", "--seq", "2000"), "1024 positions"),
                                    (("resnet50", "--transformers", "c.json"), "not both"),
                                    (("resnet50", "--function", "f"), "is for a Python file"),
                                    (("resnet50", "--class", "C"), "--class is for a model's CONFIG.json"),
                                    (("resnet50", "--image", "9"), "--image does not apply"),
                                    (("resnet50", "--inference", "--optimizer", "sgd"), "has no update"),
                                    (("resnet50", "--inference", "--loss", "none"), "has no loss"),
                                    (("resnet50", "--loss", "mean"), "--loss is for a model's CONFIG.json"),
                                    (("m.py:f", "--function", "g"), "does not apply"),
                                    (("a:b.c",), "expected FILE.py:FUNCTION"),
                                    (("c.json", "--function", "g"), "--function does not apply"),
                                    (("resnet50", "--batch", "0"), "not a whole number above 0"),
                                    (("resnet50", "--capture", "x"), "invalid choice"),
                                    (("resnet50", "--optimizer", "x"), "invalid choice"),
                                    (("resnet50", "--loss", "x"), "invalid choice")):
            code, _, err = run(*arguments)
            self.assertEqual(code, 2, arguments)
            self.assertIn(expected, err)
        for options, message in (({"optimizer": "x"}, "optimizer is 'x'; choices: sgd, momentum, adam, adamw, none"),
                                 ({"loss": "x"}, "loss is 'x'; choices: model, mean, none")):
            with self.assertRaises(ValueError) as caught:
                read("resnet50", "torch", **options)
            self.assertEqual(str(caught.exception), message)

    def test_missing_package_is_named_with_the_command(self) -> None:
        # A folder ahead of the others in which importing torch fails as if it were not there.
        with open(self.path("torch.py"), "w", encoding="utf-8") as file:
            file.write("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
        result = subprocess.run(
            [sys.executable, "-m", "emplace", "import", "--from", "torch", "gpt2_small"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join((self.folder, SOURCE))}, capture_output=True,
            text=True, cwd=self.folder, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("the Python package 'torch' is missing", result.stderr)
        self.assertIn("pip install 'emplace-placement[torch]'", result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1)


@needs_torch
class NamedTest(Folder):
    def test_function_of_a_file_and_of_a_module(self) -> None:
        """The same graph, however the function is named: by hand 53 parameters, see test_import_torch_graph.py."""
        path = self.write("my_model.py", TINY.replace("def build(", "def made("))
        module = self.write("some_models.py", TINY)
        documents = []
        for arguments in ((path, "--function", "made"), (f"{path}:made",), (f"{module}",)):
            documents.append(self.imported(*arguments))
            documents[-1]["source"].pop("model")
        self.assertEqual(documents[0], documents[1])
        self.assertEqual(documents[0], documents[2])
        result = subprocess.run(
            [sys.executable, "-m", "emplace", "import", "--from", "torch", "some_models:build", "-o", "h.json"],
            env={**os.environ, "PYTHONPATH": SOURCE}, capture_output=True, text=True, cwd=self.folder, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        document = graph_file.read(self.path("h.json"))
        self.assertEqual(document["source"].pop("model"), "some_models:build")
        self.assertEqual(graph_file.statistics(document)["parameters"], 53)
        self.assertIn("53 parameters", result.stderr)
        self.assertIn("op kind optimizer.momentum x 4: no FLOP formula", result.stderr)


@needs_torch
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
        self.refused("nothing.py: no such Python file", self.path("nothing.py"))
        self.refused("there is no Python module 'no.such.module'", "no.such.module:build")

    def test_unwritable_output_leaves_nothing(self) -> None:
        code, _, err = self.run_model(TINY, "-o", self.path("no/such/folder/g.json"))
        self.assertEqual((code, "there is no folder" in err), (2, True), err)
        blocked = self.path("blocked")
        os.mkdir(blocked)
        os.mkdir(os.path.join(blocked, "g.json"))  # a folder where the file should go
        code, _, err = self.run_model(TINY, "-o", os.path.join(blocked, "g.json"))
        self.assertEqual((code, "g.json" in err), (1, True), err)
        self.assertEqual(os.listdir(blocked), ["g.json"])


@needs_torch
class EagerMistakeTest(MistakeTest):
    """The same with the other capture."""

    capture = "eager"


if __name__ == "__main__":
    unittest.main()
