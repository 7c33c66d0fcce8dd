"""Tests of check_export.py. Those that load a model are skipped where its framework is missing."""

from __future__ import annotations

import json
import unittest

import script  # noqa: F401
import support
from support import called, graph_file, needs

import check_export

# Two embeddings added in the root, a residual block, a head tied to the first embedding.
TORCH_NET = """
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return x + self.fc(x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.pos, self.block = nn.Embedding(9, 4), nn.Embedding(5, 4), Block()
            self.scale = nn.Parameter(torch.empty(4))
            self.norm = nn.BatchNorm1d(5)
            self.head = nn.Linear(4, 9, bias=False)
            self.head.weight = self.emb.weight

        def forward(self, ids):
            positions = torch.arange(ids.shape[1], device=ids.device)
            x = self.block(self.emb(ids) + self.pos(positions))
            return self.head(self.norm(x * self.scale))

    def build(batch=2):
        ids = torch.empty(batch, 5, dtype=torch.int64)
        return Net(), (ids,), (ids,), lambda y, t: nn.functional.cross_entropy(
            y.view(-1, 9), t.view(-1))
"""
TORCH_MAP = {"emb": 0, "pos": 0, "block": 1, "scale": 1, "norm": "cpu", "head": 0}

TENSORFLOW_NET = """
    import tensorflow as tf
    tf1 = tf.compat.v1

    def build(batch):
        x = tf1.placeholder(tf.float32, [batch, 6], "x")
        labels = tf1.placeholder(tf.int32, [batch], "labels")
        w = tf1.get_variable("w", [6, 3])
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=tf.matmul(x, w)))
"""


class Folder(support.Folder):
    def write(self, name: str, content: object) -> str:
        return super().write(name, content if isinstance(content, str) else json.dumps(content))

    def graph(self, source: dict[str, object], names: tuple[str, ...] = ("a",)) -> str:
        builder = graph_file.GraphBuilder("g", source)
        for name in names:
            builder.op(name, "k", [], [builder.tensor(name, [1], "f32")])
        path = self.path("g.json")
        builder.write(path)
        return path

    def check(self, export: object, graph: str, *more: str) -> tuple[int, str, str]:
        """(exit code, stdout, stderr)"""
        return called(check_export.main, self.write("e.json", export), "--graph", graph, *more)

    def refused(self, code: int, part: str, export: object, graph: str, *more: str) -> None:
        got, out, err = self.check(export, graph, *more)
        self.assertEqual((got, out), (code, ""), err)
        self.assertIn(part, err)


class InputTest(Folder):
    def test_what_is_no_map_or_no_graph_of_a_framework(self) -> None:
        graph = self.graph({"framework": "jax 1"})
        self.refused(2, "made by jax 1", {"a": 0}, graph)
        self.refused(2, "not a map of names to devices", {"format": "emplace-placement"}, graph)
        self.refused(2, "not a map of names to devices", {"a": [0]}, graph)
        self.refused(2, "not a map of names to devices", {}, graph)
        self.refused(2, "nowhere.json", {"a": 0}, "nowhere.json")

    def test_names_are_clipped(self) -> None:
        self.assertEqual(check_export.some(list("abcdefg")), "'a', 'b', 'c', 'd', 'e' and 2 more")

    def test_keys_cover_by_whole_names(self) -> None:
        for key, name, expected in (("", "x", True), ("h.1", "h.1", True), ("h.1", "h.1.w", True),
                                    ("h.1", "h.10.w", False), ("h.1.w", "h.1", False)):
            self.assertEqual(check_export.covers(key, name), expected, (key, name))

    def test_a_device_may_be_named_in_part(self) -> None:
        full = "/job:localhost/replica:0/task:0/device:GPU:1"
        self.assertTrue(check_export.same_device(full, "/device:GPU:1"))
        self.assertFalse(check_export.same_device(full, "/device:GPU:10"))
        self.assertFalse(check_export.same_device("", full))


@needs("torch")
class TorchTest(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.net = self.write("net.py", TORCH_NET)
        self.source = self.graph({"framework": "torch 2", "model": "net.py:build", "batch": 3})

    def test_a_map_that_holds(self) -> None:
        code, out, err = self.check(TORCH_MAP, self.source, "--module", self.net)
        self.assertEqual(code, 0, err)
        # emb, pos, block.fc twice, scale, norm (2 parameters, 3 buffers), the tied head.
        self.assertIn("6 entries cover 11 parameters and buffers, each once", out)
        self.assertIn("  cpu: 5\n  cuda:0: 3\n  cuda:1: 3\n", out)

    def test_maps_that_do_not(self) -> None:
        def changed(**entries: object) -> dict[str, object]:
            return {key: value for key, value in {**TORCH_MAP, **entries}.items()
                    if value is not None}

        for export, part in (
                (changed(pos=None), "'pos.weight' are parameters that no entry covers"),
                (changed(oops=1), "'oops' name neither a module nor a parameter"),
                ({**TORCH_MAP, "block.fc": 1}, "'block' and 'block.fc' overlap"),
                (changed(head=1), "are one tied weight"),
                (changed(pos=1), "two devices, cuda:0 and cuda:1"),      # the root adds them
                (changed(scale=0), "two devices, cuda:1 and cuda:0"),    # the root multiplies
                ({**changed(block=None), "block.fc": 1}, "two devices")):  # a residual torn apart
            self.refused(1, part, export, self.source, "--module", self.net)

    def test_a_model_that_is_not_there(self) -> None:
        self.refused(2, "name its file with --module", TORCH_MAP, self.source)
        self.refused(2, "has no function 'make'", TORCH_MAP, self.source, "--module", self.net,
                     "--function", "make")


@needs("tensorflow")
class TensorFlowTest(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.net = self.write("net.py", TENSORFLOW_NET)
        self.exported = self.path("exported.json")
        document = self.imported("--from", "tensorflow", self.net, "--batch", "4", output="exported.json")
        self.names = [op["name"] for op in document["ops"]]

    def spread(self) -> dict[str, str]:
        """Every op on one of two devices, co-located ones together."""
        labels = {op["name"]: op.get("colocate") or op["name"]
                  for op in graph_file.read(self.exported)["ops"]}
        order = sorted(set(labels.values()))
        return {name: "/job:localhost/replica:0/task:0/device:GPU:"
                      f"{order.index(label) % 2}" for name, label in labels.items()}

    def test_a_map_that_holds(self) -> None:
        code, out, err = self.check(self.spread(), self.exported, "--module", self.net, "--run")
        self.assertEqual(code, 0, err)
        self.assertIn(f"{len(self.names)} ops, each imported with its device", out)
        self.assertIn("ops run on 2 virtual devices, each on its own", out)

    def test_maps_that_do_not(self) -> None:
        missing, strange, torn = self.spread(), self.spread(), self.spread()
        del missing["MatMul"]
        strange["Mat"] = strange["MatMul"]
        torn["w"] = ("/job:localhost/replica:0/task:0/device:GPU:1" if torn["w"].endswith("0")
                     else "/job:localhost/replica:0/task:0/device:GPU:0")  # its reader stays
        self.refused(1, "'MatMul' have no device", missing, self.exported, "--module", self.net)
        self.refused(1, "'Mat' are not ops of the model", strange, self.exported, "--module",
                     self.net)
        code, _, err = self.check(torn, self.exported, "--module", self.net, "--run")
        self.assertEqual(code, 1)
        self.assertIn("check_export.py: ", err)

    def test_a_model_that_is_not_there(self) -> None:
        self.refused(2, "unknown model 'net'", self.spread(), self.exported)


if __name__ == "__main__":
    unittest.main()
