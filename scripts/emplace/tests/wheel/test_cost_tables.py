"""What the compiled part offers for cost files: signatures and classes of ops, timings in few numbers, fits."""

from __future__ import annotations

import json
import unittest
from typing import Any

import emplace
from emplace import _emplace
from emplace.importers import graph_file


def table(*ops: dict[str, Any]) -> str:
    return json.dumps({"format": "emplace-costs", "version": 1, "machine": "box", "ops": ops,
                       "device_kinds": [{"name": "k", "class": "cpu"}]})


def op(bytes_moved: int, nanos: float) -> dict[str, Any]:
    timing = {"median_ns": nanos, "low_ns": nanos, "high_ns": nanos, "samples": 1}
    return {"device_kind": "k", "signature": f"aten.exp #{bytes_moved}", "kind": "aten.exp", "class": "elementwise",
            "flops": 0, "bytes": bytes_moved, "in_situ": timing}


class CostTables(unittest.TestCase):
    def test_ops_of_a_graph(self) -> None:
        builder = graph_file.GraphBuilder("two", source={})
        x, w = builder.tensor("x", [4, 6], "f32", role="input"), builder.parameter("w", [6, 3], "f32")
        y = builder.tensor("y", [4, 3], "f32")
        builder.op("mm", "aten.mm", [x, w], [y], flops=144, attributes={"module": "a"})
        builder.op("relu", "aten.relu", [y], [builder.tensor("z", [4, 3], "f32", role="output")])
        graph = emplace.Graph.parse(json.dumps(builder.document()))
        self.assertEqual(graph.op_kinds, ["parameter", "aten.mm", "aten.relu"])
        self.assertEqual(graph.op_classes, ["view", "matmul", "elementwise"])
        self.assertEqual(graph.op_signatures[1:], ["aten.mm(f32[4,6], f32[6,3]) -> f32[4,3] {}",
                                                   "aten.relu(f32[4,3]) -> f32[4,3] {}"])

    def test_timings(self) -> None:
        # Of fewer than six the interval is their range; the mean is without the longest.
        self.assertEqual(_emplace.summarize_timings([30.0, 10.0, 20.0]),
                         {"median_ns": 20, "low_ns": 10, "high_ns": 30, "mean_ns": 15, "samples": 3})
        with self.assertRaisesRegex(emplace.InputError, "no timings"):
            _emplace.summarize_timings([])

    def test_links(self) -> None:
        # 90 B more take 9 ns more: 0.1 ns/B, and 10 - 10 x 0.1 ns are left.
        (begin, latency, rate), = _emplace.fit_link([(10, 10), (100, 19)])[0]
        self.assertEqual(begin, 0)
        self.assertAlmostEqual(latency, 9, places=6)
        self.assertAlmostEqual(rate / 1e10, 1, places=6)
        with self.assertRaises(emplace.InputError):
            _emplace.fit_link([(10, 10)])

    def test_fits(self) -> None:
        # 1 ns a byte beside 100 ns.
        text = _emplace.costs_with_fits(table(*(op(size, 100 + size) for size in (1000, 2000, 4000, 8000))))
        fits = json.loads(text)["fits"]
        self.assertEqual([(fit["scope"], fit["name"], fit["samples"]) for fit in fits],
                         [("op", "aten.exp", 4), ("class", "elementwise", 4)])
        self.assertAlmostEqual(fits[0]["bytes_per_second"] / 1e9, 1, delta=0.02)
        self.assertEqual(_emplace.costs_with_fits(text), text)
        with self.assertRaisesRegex(emplace.InputError, r'mine: ops\[0\].*median_ns'):
            _emplace.costs_with_fits(table(op(1000, -1)), "mine")


if __name__ == "__main__":
    unittest.main()
