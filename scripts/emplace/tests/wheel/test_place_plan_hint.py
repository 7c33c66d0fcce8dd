"""Tests of the sentence of `emplace place` on a plan that does better, against times by hand."""

from __future__ import annotations

import json
import unittest
import unittest.mock
from typing import Any

import emplace
from place_wheel_support import cluster, with_costs
from wheel_support import TestCase, command

from emplace.importers import graph_file
from emplace.place import plan_hint
from emplace.place.target import Request
from place_support import training, transformer


def fast(gpus: int, bandwidth: float = 1e15) -> emplace.Cluster:
    """A CPU and GPUs, 100 ns between any two; sums of gradients take no time."""
    names = ["c0", *(f"g{place}" for place in range(gpus))]
    figures = {"peak": {"f32": "1000PFLOP/s"}, "memory_bandwidth": "1000000TB/s"}  # sums take no time
    return emplace.cluster_from_arrays(names, bandwidth, 100, kinds=[f"kind_{name[0]}" for name in names],
                                       memory=[10**8] * len(names),
                                       device_kinds={f"kind_{letter}": {"class": f"{letter}pu", **figures}
                                                     for letter in "cg"})


class PlanHint(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.document = with_costs(training(), 1000, 10**6)

    def find(self, on: emplace.Cluster, time: int = 8000, **options: Any) -> plan_hint.Hint | str:
        request = Request(**{"document": self.document, "model": "m", "cluster": on, **options})
        return plan_hint.find(request, on, time)

    def test_two_replicas_by_hand(self) -> None:
        """Eight ops of 1000 ns, and a ring of two steps of 100 + 1 ns before the two updates."""
        hint = self.find(fast(2))
        assert isinstance(hint, plan_hint.Hint)
        self.assertEqual((hint.plan.plan.replicas, hint.plan.num_stages, hint.plan.step_time), (2, 1, 8202))
        self.assertAlmostEqual(hint.gain, 2 * 8000 / 8202)
        self.assertEqual(hint.sentence("c.yaml"),
                         "A plan would do better: 2 replicas, with 2 times the batch in 0.008 ms, do 1.95 times as "
                         "many samples a second (emplace plan GRAPH --cluster c.yaml --batch B)")
        self.document["source"]["batch"] = 3
        hint = self.find(fast(4))
        assert isinstance(hint, plan_hint.Hint)
        self.assertIn("--batch 12)", hint.sentence("c.yaml"))

    def test_where_no_plan_is_better(self) -> None:
        """One GPU; a reduction of 2 (1024 B / 10 MB/s + 100 ns); a placement as fast as the plan; other requests."""
        slow = fast(2, 1e7)
        for on, options in ((fast(1), {}), (slow, {}), (fast(2), {"time": 4200}), (fast(2), {"memory_only": True}),
                            (fast(2), {"document": with_costs(transformer(2), 1000, 5000)})):
            self.assertEqual(self.find(on, **options), "", options)

    def test_why_no_plan_was_searched(self) -> None:
        hint = self.find(cluster(["g0", "g1"], [10**8] * 2))
        self.assertRegex(str(hint), r"^no plan was searched: model: op .* \(aten.add\) has no cost_ns for device kind")
        with unittest.mock.patch.object(plan_hint, "MOST_OPS", 9):
            self.assertIn("no plan was searched, since the graph has more than 9 ops", self.find(fast(2)))

    def test_the_command(self) -> None:
        cpu, gpu = emplace.Cluster("2xa100_pcie").device_kinds[:2]
        for op in self.document["ops"]:
            if "cost_ns" in op:
                op["cost_ns"] = {gpu: 10**8, cpu: 10**9}
        graph_file.write(self.document, self.path("g.json.gz"))
        arguments = ["place", self.path("g.json.gz"), "--cluster", "2xa100_pcie", "--for", "pytorch", "--seconds", "1",
                     "-o", self.path("g")]
        told = json.loads(command(*arguments, "--json").stdout)
        self.assertEqual(told["plan"]["replicas"], 2)
        self.assertGreater(told["plan"]["gain"], 1.5)
        self.assertIn("\nA plan would do better: 2 replicas, with 2 times the batch in ", command(*arguments).stdout)


if __name__ == "__main__":
    unittest.main()
