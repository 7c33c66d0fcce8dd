"""Tests of the models that the PyTorch importer knows by name: published figures."""

from __future__ import annotations

import math
import unittest
from typing import Any

from support import graph_file, needs
from import_torch_support import Folder, needs_torch


@needs_torch
class ModelTest(Folder):
    """Published figures: parameters, and multiply-adds [MAC] of one sample's forward pass."""

    def figures(self, *arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
        document = self.imported(*arguments)
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

    @needs("torchvision")
    def test_resnet50(self) -> None:
        _, figures = self.figures("resnet50", "--batch", "2")
        self.assertEqual(figures["parameters"], 25_557_032)
        self.assertAlmostEqual(figures["forward_flops"] / 2 / 2e9, 4.09, places=2)

    @needs("torchvision")
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
