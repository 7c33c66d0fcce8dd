"""Tests of `emplace place` with models of PyTorch: what accelerate and PyTorch make of the files."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import runpy
import unittest
import warnings

from wheel_support import TestCase, command

MISSING = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "intermediate_size": 256,
          "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 1000,
          "max_position_embeddings": 128, "tie_word_embeddings": False}
# Weights of it, f32: embedding and head 1000 x 128, each layer 4 x 128 x 128 + 3 x 128 x 256 + 2 x 128, a norm 128.
BYTES = 4 * (2 * 128_000 + 4 * (65_536 + 98_304 + 256) + 128)
CLUSTER = """
name: two
devices:
  - {{name: "cpu:0", kind: epyc_9654, memory: 1GiB}}
  - {{name: "gpu:0", kind: a100, memory: {first}B}}
  - {{name: "gpu:1", kind: a100, memory: {second}B}}
channels:
  - {{name: host, latency: 8us, bandwidth: 24GB/s}}
  - {{name: p2p, latency: 9us, bandwidth: 20GB/s}}
routes:
  - {{from: "cpu:0", to: "gpu:*", via: [host]}}
  - {{from: "gpu:*", to: "cpu:0", via: [host]}}
  - {{from: "gpu:*", to: "gpu:*", via: [p2p]}}
"""
OWN = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 256)
        self.second = nn.Sequential(nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.third = nn.Linear(256, 8)

    def forward(self, x):
        return self.third(self.second(self.first(x)))

def build():
    return Net(), (torch.empty(4, 64),), (torch.empty(4, dtype=torch.int64),), nn.functional.cross_entropy
"""


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class Torch(TestCase):
    def place(self, model: str, target: str, first: int, second: int, *more: str) -> dict:
        pathlib.Path(self.path("two.yaml")).write_text(CLUSTER.format(first=first, second=second))
        done = command("place", model, "--cluster", self.path("two.yaml"), "--for", target, "-o", self.path("m"),
                       "--seconds", "3", "--json", *more)
        told = json.loads(done.stdout)
        self.assertEqual(told["as_exported"], told["as_placed"])
        return told

    def test_a_device_map_covers_the_model(self) -> None:
        import torch
        import transformers

        pathlib.Path(self.path("config.json")).write_text(json.dumps(CONFIG))
        told = self.place(self.path("config.json"), "transformers", BYTES * 6 // 10, BYTES * 7 // 10, "--batch", "1",
                          "--seq", "16")
        with open(told["files"][0], encoding="utf-8") as file:
            entries = json.load(file)
        default = next(row for row in told["compared"] if row["label"] == "accelerate.infer_auto_device_map")
        with torch.device("meta"):
            model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**CONFIG))
        self.assertEqual(sum(p.numel() * 4 for p in model.parameters()), BYTES)
        if importlib.util.find_spec("accelerate") is None:
            self.assertIn("accelerate is not installed", default["note"])
            return
        from accelerate.utils.modeling import check_device_map

        self.assertIn("time_ns", default)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_device_map(model, entries)
            with self.assertRaisesRegex(ValueError, "does not give any device"):
                check_device_map(model, dict(list(entries.items())[1:]))

    def test_place_modules(self) -> None:
        """The file's function, with names of devices that this machine has: modules and what enters them are moved."""
        import torch

        pathlib.Path(self.path("net.py")).write_text(OWN)
        weights = 4 * (64 * 256 + 256 + 256 * 256 + 256 + 256 * 8 + 8)
        told = self.place(self.path("net.py"), "pytorch", weights * 2, weights * 2, "--inference")
        made = runpy.run_path(told["files"][0])
        model = runpy.run_path(self.path("net.py"))["Net"]()
        x = torch.randn(4, 64)
        expected = model(x)
        made["place_modules"](model, {key: "cpu" for key in made["DEVICE_OF"]})
        self.assertTrue(torch.equal(model(x), expected))
        made["place_modules"](model, {"": "cpu", "second": "meta", "third.bias": "cpu"})
        self.assertEqual([p.device.type for p in model.parameters()], ["cpu", "cpu", "meta", "meta", "cpu", "cpu"])
        seen = []
        model.second[0].register_forward_pre_hook(lambda _, args: seen.append(args[0].device.type))
        model.second(model.first(x))
        self.assertEqual(seen, ["meta"])


if __name__ == "__main__":
    unittest.main()
