"""What the tests of the PyTorch importer share: a way to import a model's source."""

from __future__ import annotations

import functools
import importlib.util
import textwrap
from typing import Any

import support

HAVE_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = support.needs("torch")
run = functools.partial(support.run, "--from", "torch")

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


class Folder(support.Folder):
    """A test with a folder of its own and a way to import the source text of a model."""

    options = ("--from", "torch")
    capture = "aot"

    def run_model(self, source: str, *options: str) -> tuple[int, str, str]:
        return run(self.write("model.py", source), "-o", self.path("g.json.gz"), "--capture", self.capture, *options)

    def export(self, source: str, *options: str) -> dict[str, Any]:
        return self.imported(self.write("model.py", source), "--capture", self.capture, *options)

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
