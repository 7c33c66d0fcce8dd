"""Costs of fitted device kinds beside the formula of framework/cost/FORMAT.md, "Fitted device kinds", written again."""

from __future__ import annotations

import json
import math
import random
import unittest
from typing import Any

import emplace
from emplace import _compiled
from emplace.arrays import cluster_from_arrays, menu_kinds
from emplace.importers.graph_file import GraphBuilder

_CLASS = {"aten.bmm": "matmul", "aten.gelu": "elementwise", "aten.native_layer_norm": "normalization"}


def random_kind(rng: random.Random) -> dict[str, Any]:
    tiles = [{"rows": 2 ** rng.randint(3, 8), "columns": 2 ** rng.randint(3, 8), "share": rng.uniform(0.1, 1)}
             for _ in range(rng.randint(1, 4))]
    fit = {"dtype": "f32", "watts": rng.uniform(1, 40), "tile_start": rng.choice([0, rng.uniform(0, 50)]),
           "tiles": tiles, "bandwidth": {name: rng.uniform(0.1, 1) for name in _CLASS.values()}, "start": f"{rng.randint(0, 9000)}ns",
           "error": 0.1}
    return {"class": "gpu", "peak": {"f32": f"{rng.randint(1, 99)}TFLOP/s"}, "multiprocessors": rng.randint(1, 200),
            "memory_bandwidth": f"{rng.randint(10, 4000)}GB/s", "power": rng.uniform(20, 900), "fitted": fit}


def expected(kind: dict[str, Any], op_class: str, shape: tuple[int, ...], flops: int, num_bytes: int) -> float:
    """Returns the cost of an op [ns]. shape: of its output."""
    fit = kind["fitted"]
    peak = float(kind["peak"]["f32"].removesuffix("TFLOP/s")) * 1e12
    seconds = num_bytes / (float(kind["memory_bandwidth"].removesuffix("GB/s")) * 1e9 * fit["bandwidth"][op_class])
    if op_class == "matmul":
        *batches, rows, columns = (1, *shape)
        depth = flops / 2 / math.prod(shape)
        reached = peak * min(1, (kind["power"] / (fit["watts"] * peak / 1e12)) ** 0.5)
        products = []
        for tile in fit["tiles"]:
            blocks = math.prod(batches) * -(-rows // tile["rows"]) * -(-columns // tile["columns"])
            executed = -(-blocks // kind["multiprocessors"]) * kind["multiprocessors"] * tile["rows"] * tile["columns"]
            products.append(executed * 2 * (depth + fit["tile_start"]) / (reached * tile["share"]))
        seconds = max(seconds, min(products))
    return int(fit["start"].removesuffix("ns")) + seconds * 1e9


class KernelFits(unittest.TestCase):

    def test_random_kinds_and_ops(self) -> None:
        rng = random.Random(3)
        for _ in range(40):
            kind = random_kind(rng)
            builder = GraphBuilder("ops", {})
            wanted = []
            for place in range(25):
                name, op_class = rng.choice(list(_CLASS.items()))
                shape = tuple(2 ** rng.randint(0, 10) + rng.randint(0, 3) for _ in range(rng.randint(1, 4)))
                flops = 2 * math.prod(shape) * rng.randint(0, 5000)
                output = builder.tensor("", shape, "f32", role="output")
                small = builder.tensor("", (1,), "f32", role="output")
                builder.op(str(place), name, [], rng.sample([output, small], 2), flops=flops)
                wanted.append(expected(kind, op_class, shape, flops, 4 * math.prod(shape) + 4))
            graph = emplace.Graph.parse(json.dumps(builder.document()), "ops")
            cluster = cluster_from_arrays(["gpu:0"], 0, kinds="k", device_kinds={"k": kind})
            times = _compiled().Costs(graph, cluster, None).time[:, 0].tolist()
            for time, value in zip(times, wanted):
                self.assertAlmostEqual(time, value, delta=1 + 1e-12 * value)

    def test_the_menu(self) -> None:
        fitted = {name for name, kind in menu_kinds().items() if "fitted" in kind}
        self.assertLessEqual({"h100", "v100_pcie", "l4", "a100_pcie_40gb", "t4", "p4"}, fitted)
        # The machines of the papers, and vendors without published ops.
        self.assertFalse(fitted & {"k40", "k80", "p100", "mi100", "mi300x", "haswell_18c"})


if __name__ == "__main__":
    unittest.main()
