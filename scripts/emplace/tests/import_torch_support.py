"""What the tests of the PyTorch importer share: a folder of their own, and a way to import a model's source."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import textwrap
import unittest
from typing import Any

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src")
sys.path.insert(0, SOURCE)

from emplace.importers import command, graph_file  # noqa: E402

HAVE_TORCH = importlib.util.find_spec("torch") is not None
HAVE_TORCHVISION = HAVE_TORCH and importlib.util.find_spec("torchvision") is not None
HAVE_TRANSFORMERS = HAVE_TORCH and importlib.util.find_spec("transformers") is not None
HAVE_DIFFUSERS = HAVE_TORCH and importlib.util.find_spec("diffusers") is not None

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
    """(exit code, stdout, stderr) of `emplace import --from torch` called with `arguments`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = command.main(["--from", "torch", *arguments])
        except SystemExit as stop:  # argparse
            code = stop.code
    return code, out.getvalue(), err.getvalue()


class Folder(unittest.TestCase):
    """A test with a folder of its own and a way to import the source text of a model."""

    capture = "aot"

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, text: str) -> str:
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return self.path(name)

    def run_model(self, source: str, *options: str) -> tuple[int, str, str]:
        return run(self.write("model.py", source), "-o", self.path("g.json.gz"), "--capture", self.capture, *options)

    def export(self, source: str, *options: str) -> dict[str, Any]:
        code, _, err = self.run_model(source, *options)
        self.assertEqual(code, 0, err)
        document = graph_file.read(self.path("g.json.gz"))
        self.assertEqual(graph_file.check(document), [])
        return document

    def refused(self, expected: str, *arguments: str) -> None:
        """One sentence, exit code 2, nothing written."""
        code, out, err = run(*arguments, "-o", self.path("refused.json"))
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn(expected, err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertFalse(os.path.exists(self.path("refused.json")))

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
