"""Tests of models that parallelize_module and fully_shard divide among ranks: the graph of one rank."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import unittest
from typing import Any

from support import SOURCE
from import_torch_support import TINY, Folder, needs_torch

PROGRAM = os.environ.get("EMPLACE_PROGRAM", "")

MODEL = """
    import torch
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, parallelize_module)

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, width), nn.Linear(width, 8)

        def forward(self, x):
            return x + self.down(torch.relu(self.up(self.norm(x))))

    def made(width=16, batch=4):
        net = nn.Sequential(Block(width), Block(width))
        return net, (torch.empty(batch, 6, 8),), lambda y: y.sum()

    def tensor_parallel(size=2, width=16):
        net, *rest = made(width)
        for block in net:
            parallelize_module(block, init_device_mesh("cpu", (size,)),
                               {"up": ColwiseParallel(), "down": RowwiseParallel()})
        return net, *rest

    def unequal():
        return tensor_parallel(2, 15)

    def too_many():
        return tensor_parallel(4)

    def sequence_parallel():
        net, *rest = made()
        for block in net:
            parallelize_module(block, init_device_mesh("cpu", (2,)), {
                "": PrepareModuleInput(input_layouts=(Replicate(),), desired_input_layouts=(Shard(1),)),
                "norm": SequenceParallel(), "up": ColwiseParallel(input_layouts=Shard(1)),
                "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False)})
        return nn.Sequential(net[0]), rest[0], lambda y: y.to_local().sum()

    def sharded():
        net, *rest = made()
        for part in (*net, net):
            fully_shard(part, mesh=init_device_mesh("cpu", (2,)))
        return net, *rest

    def both(batch=4):
        net, *rest = made(16, batch)
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        for block in net:
            parallelize_module(block, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
            fully_shard(block, mesh=mesh["dp"])
        return net, *rest

    def unknown():
        net, *rest = made()
        init_device_mesh("cpu", (2,))
        return net, *rest[:1], lambda y: torch.distributed._functional_collectives.broadcast(
            y, 0, torch.distributed.group.WORLD).sum()
"""
PARAMETERS = 8 + 8 + 8 * 16 + 16 + 16 * 8 + 8  # of a block


@needs_torch
class RanksTest(Folder):
    def rank(self, function: str, ranks: int, capture: str) -> dict[str, Any]:
        return self.imported(self.write("model.py", MODEL), "--function", function, "--ranks", str(ranks),
                             "--capture", capture, "--optimizer", "adam")

    def shape(self, document: dict[str, Any], op: dict[str, Any], key: str = "outputs", index: int = 0) -> list[int]:
        return document["tensors"][op[key][index]]["shape"]

    def collectives(self, document: dict[str, Any]) -> list[dict[str, Any]]:
        found = [op for op in document["ops"] if op["kind"].startswith("collective.")]
        self.assertTrue(all(op["device_kinds"] == ["network"] for op in found))
        self.assertFalse([op for op in document["ops"] if "c10d" in op["kind"] or op["kind"].startswith("fsdp.")])
        return found

    def test_tensor_parallel_has_parts_and_an_all_reduce_for_each_block_and_pass(self) -> None:
        for capture in ("aot", "eager"):
            with self.subTest(capture):
                document = self.rank("tensor_parallel", 2, capture)
                self.assertEqual(document["ranks"], 2)
                found = self.collectives(document)
                self.assertEqual([op["name"] for op in found],
                                 ["0.down/all_reduce", "1.down/all_reduce", "1.up/backward/all_reduce",
                                  "0.up/backward/all_reduce"])
                for op in found:
                    self.assertEqual(op["kind"], "collective.all_reduce")
                    self.assertEqual(self.shape(document, op), [4, 6, 8])
                    self.assertEqual((op["attributes"]["group_size"], op["attributes"]["ranks"]), (2, [0, 1]))
                for name, shape in (("0.up.weight", [8, 8]), ("0.up.bias", [8]), ("0.down.weight", [8, 8]),
                                    ("0.down.bias", [8]), ("0.up.weight.exp_avg", [8, 8])):
                    self.assertEqual(self.shape(document, self.op(document, name)), shape)
                update = self.op(document, "0.up.weight/adam")
                self.assertEqual([self.shape(document, update, "inputs", i) for i in range(4)], [[8, 8]] * 4)
                # Three products of [24, 8] and [8, 8] for each of two linear layers of two blocks.
                self.assertEqual(sum(op.get("flops", 0) for op in document["ops"]), 3 * 4 * 2 * 24 * 8 * 8)
                # Ops read the result of the collective itself. The graph has no op for wait_tensor.
                readers = [op["kind"] for op in document["ops"] if found[0]["outputs"][0] in op["inputs"]]
                self.assertIn("aten.add", readers)

    def test_gradients_of_replicated_parameters_are_reduced_before_the_update(self) -> None:
        for capture in ("aot", "eager"):
            with self.subTest(capture):
                document = self.rank("sequence_parallel", 2, capture)
                found = self.collectives(document)
                made_by = {tensor: op for op in document["ops"] for tensor in op["outputs"]}
                gradient = made_by[self.op(document, "0.norm.weight/adam")["inputs"][1]]
                self.assertEqual(gradient["kind"], "collective.all_reduce")
                self.assertEqual(self.shape(document, gradient), [8])
                # The tokens [4, 6, 8] are in two parts outside of the linear layers; gathered, one after the other.
                self.assertEqual([(op["name"], self.shape(document, op)) for op in found[:4]],
                                 [("0/all_gather", [8, 3, 8]), ("0.down/reduce_scatter", [4, 3, 8]),
                                  ("0.down/backward/all_gather", [8, 3, 8]), ("0/backward/reduce_scatter", [4, 3, 8])])

    def test_fully_shard_gathers_parameters_and_scatters_gradients(self) -> None:
        document = self.rank("sharded", 2, "eager")
        found = self.collectives(document)
        self.assertEqual([op["name"] for op in found],
                         ["0.norm/all_gather", "1.norm/all_gather", "1.norm/backward/all_gather",
                          "0.norm/backward/all_gather", "1.norm/backward/reduce_scatter",
                          "0.norm/backward/reduce_scatter"])
        self.assertEqual([op["attributes"].get("ahead", False) for op in found], [True] * 4 + [False] * 2)
        for op in found[:4]:
            self.assertEqual(self.shape(document, op), [PARAMETERS])
            parts = [document["tensors"][tensor]["shape"] for tensor in op["inputs"]]
            self.assertEqual(sum(shape[0] for shape in parts), PARAMETERS // 2)
        for op in found[4:]:
            self.assertEqual(self.shape(document, op), [PARAMETERS // 2])
        self.assertEqual(self.shape(document, self.op(document, "0.up.weight")), [8, 8])
        # The buffer of a gathered block is not read in the other pass.
        phase = {op["id"]: op.get("phase", "forward") for op in document["ops"]}
        whole = {tensor for op in document["ops"] if op["kind"] == "aten.split_with_sizes_copy"
                 and phase[op["id"]] == "forward" for tensor in op["outputs"]}
        for tensor in document["tensors"]:  # views of these
            whole |= {tensor["id"]} if tensor.get("alias_of") in whole else set()
        self.assertFalse([op["name"] for op in document["ops"] if phase[op["id"]] == "backward"
                          and whole.intersection(op["inputs"])])
        # Backward, the next block is gathered while this one is computed, from when this one's parameters are there.
        copies = [op["id"] for op in document["ops"] if op["kind"] == "aten.split_with_sizes_copy"]
        self.assertEqual([op.get("control_inputs", []) for op in found[:4]], [[], [], [copies[1]], [copies[2]]])
        self.assertFalse([op["name"] for op in document["ops"] if op["kind"] == "aten.copy"])

    def test_groups_of_a_mesh_of_two_dimensions(self) -> None:
        document = self.imported(self.write("model.py", MODEL), "--function", "both", "--ranks", "4", "--batch", "6",
                                 "--capture", "eager")
        self.assertEqual(document["source"]["batch"], 12)  # two parts of the data
        found = self.collectives(document)
        groups = {(op["kind"], *op["attributes"]["ranks"]) for op in found}
        self.assertEqual(groups, {("collective.all_reduce", 0, 1), ("collective.all_gather", 0, 2),
                                  ("collective.reduce_scatter", 0, 2)})

    def test_refusals(self) -> None:
        for function, ranks, capture, expected in (
                ("unequal", 2, "aot", "parameter '0.up.weight' [15, 8]: dimension 0 does not divide among 2 ranks"),
                ("made", 2, "aot", "--ranks 2: the step has no collective"),
                ("too_many", 2, "aot", "Mesh should not be bigger than default world size 2"),
                ("sharded", 2, "aot", "add --capture eager"),
                ("unknown", 2, "eager", "choices: all_gather, all_reduce, all_to_all, reduce_scatter"),
                ("made", 65, "aot", "--ranks 65: expected a number from 1 to 64")):
            with self.subTest(function):
                code, _, err = self.run_model(MODEL, "--function", function, "--ranks", str(ranks),
                                              "--capture", capture)
                self.assertEqual(code, 2, err)
                self.assertIn(expected, err)

    @unittest.skipUnless(os.access(PROGRAM, os.X_OK), "needs $EMPLACE_PROGRAM, the path of emplace")
    def test_plans_of_imported_ranks_on_a_cluster(self) -> None:
        cluster = pathlib.Path(SOURCE).parents[2] / "configs/clusters/8xh100_nvswitch.yaml"
        plan = self.write("plan.yaml", "replicas: 2")
        for function, ranks, capture in (("tensor_parallel", 2, "aot"), ("sharded", 2, "eager"), ("both", 4, "eager")):
            with self.subTest(function):
                self.rank(function, ranks, capture)
                done = subprocess.run([PROGRAM, "plan", self.path("g.json.gz"), "--cluster", str(cluster),
                                       "--plan", plan, "--json"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                told = json.loads(done.stdout)
                self.assertEqual((told["ranks"], told["replicas"]), (ranks, 2))
                self.assertGreater(told["communication"], 0.0)
                self.assertGreater(told["devices"]["gpu:0"]["busy_ns"], 0)
                self.assertEqual(told["devices"]["gpu:0"], told["devices"]["gpu:4"])  # of the other replica

    def test_a_model_after_one_of_ranks_has_no_process_group(self) -> None:
        self.rank("tensor_parallel", 2, "aot")
        document = self.imported(self.write("tiny.py", TINY))
        self.assertNotIn("ranks", document)
        self.assertFalse(self.collectives(document))


if __name__ == "__main__":
    unittest.main()
