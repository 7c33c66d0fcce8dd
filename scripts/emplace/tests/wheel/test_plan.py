"""Plans from Python: Plan, apply_plan, pipeline_order, in_order, issue orders of problems and searches, by hand."""

from __future__ import annotations

import dataclasses
import json
import unittest
from typing import Any

import emplace
import emplace.pictures
import numpy as np
import yaml
from emplace.importers.graph_file import GraphBuilder

# Sums of gradients take no time.
CLUSTER = {"name": "two", "device_kinds": {"g": {"class": "gpu", "peak": {"f32": "1000PFLOP/s"},
                                                 "memory_bandwidth": "1000000TB/s"}},
           "devices": [{"name": "gpu:0", "kind": "g"}, {"name": "gpu:1", "kind": "g"}],
           "all_to_all": {"bandwidth": "1000TB/s"}}


def step() -> emplace.Graph:
    """Two layers of 10 ns forward and 20 ns backward, weights of 8 bytes, updates of 1 ns; results of 0 bytes."""
    builder = GraphBuilder("step", {})
    x = builder.tensor("x", (), "f32", role="input")
    weights, outputs, values = [], [], [x]
    for layer in range(2):
        weights.append(builder.parameter(f"w{layer}", (2,), "f32"))
        outputs.append(builder.tensor(f"y{layer}", (), "f32", num_bytes=0))
        builder.op(f"f{layer}", "op", [values[-1], weights[-1]], [outputs[-1]], cost_ns={"g": 10})
        values.append(outputs[-1])
    gradient = values[-1]
    gradients = {}
    for layer in (1, 0):
        gradients[layer] = builder.tensor(f"dw{layer}", (2,), "f32", role="gradient")
        made = [gradients[layer]] + ([builder.tensor("dy0", (), "f32", role="gradient", num_bytes=0)] if layer else [])
        builder.op(f"b{layer}", "op", [gradient, outputs[layer]], made, phase="backward", cost_ns={"g": 20},
                   attributes={"forward_op": f"f{layer}"})
        gradient = made[-1]
    for layer in (1, 0):
        builder.op(f"u{layer}", "op", [weights[layer], gradients[layer]], [], phase="update", cost_ns={"g": 1})
    return emplace.Graph.parse(json.dumps(builder.document()))


class Plans(unittest.TestCase):
    def setUp(self) -> None:
        self.graph, self.cluster = step(), emplace.Cluster.parse(json.dumps(CLUSTER))
        self.stages = [int(name[1]) for name in self.graph.op_names]

    def costs(self, planned: Any, placement: Any) -> Any:
        """Returns costs by kind of op: 10, 20, 1; sums and weights take no time, reductions 7 ns."""
        costs = np.full((planned.graph.num_ops, planned.cluster.num_devices), -1)
        for op, name in enumerate(planned.graph.op_names):
            last = name.rpartition("/")[2][0]
            time = {"f": 10, "b": 20, "u": 1}.get(last, 0) if planned.role[op] == 0 else 7 * (planned.role[op] == 3)
            costs[op, placement[op]] = time
        return costs

    def step_time(self, planned: Any, placement: Any, order: Any = None, graph: Any = None,
                  semantics: str = "stream") -> int:
        problem = emplace.Problem(graph or planned.graph, planned.cluster, costs=self.costs(planned, placement),
                                  semantics=semantics, issue_order=order)
        rows = np.zeros((1, problem.num_groups), dtype=np.uint8)
        rows[0, problem.group_of_op] = placement
        return int(problem.evaluate(rows).step_time[0])

    def test_times_of_collectives(self) -> None:
        """Four GPUs, 10 ns and 1 B/ns each way: two rings of parts of 12.5, trees of 4 rounds of 100 B."""
        four = {**CLUSTER, "devices": [{"name": f"gpu:{place}", "kind": "g"} for place in range(4)],
                "all_to_all": {"latency": "10ns", "bandwidth": "1GB/s"}}
        cluster = emplace.Cluster.parse(json.dumps(four))
        self.assertEqual(cluster.collective_times("all_reduce", 100), {"ring": 6 * 35, "rings": 6 * 23, "tree": 440})
        self.assertEqual(cluster.collective_times("all_gather", 100, ["gpu:1", "gpu:2"]), {"ring": 60})
        for wrong, told in ((("sum", 1), 'collective_times: unknown collective "sum"; choices: all_gather, all_reduce, '),
                            (("all_reduce", -1), "bytes: got -1, expected at least 0"),
                            (("all_reduce", 1, ["gpu:0", "gpu:0"]), 'devices: "gpu:0" is there twice'),
                            (("all_reduce", 1, ["gpu:4"]), 'unknown device "gpu:4"; .*choices: gpu:0, gpu:1')):
            with self.assertRaisesRegex(emplace.InputError, told):
                cluster.collective_times(*wrong)

    def test_a_pipeline(self) -> None:
        """M = 3 micro-batches on S = 2 stages: (M + S - 1) (10 + 20), and the update of the first stage."""
        planned = emplace.apply_plan(self.graph, self.cluster, {"micro_batches": 3})
        self.assertEqual(repr(planned), "PlannedStep(20 ops, 1 replicas, 2 devices)")
        self.assertEqual(np.bincount(planned.role).tolist(), [16, 0, 4])
        self.assertEqual(sorted(planned.micro_batch.tolist()), [-1] * 4 + [0] * 4 + [1] * 6 + [2] * 6)
        copy = planned.graph.op_names.index("m2/f1")
        self.assertEqual((planned.op[copy], planned.micro_batch[copy], planned.replica[copy]),
                         (self.graph.find("f1"), 2, 0))
        placement = planned.placement([self.stages])
        order = emplace.pipeline_order(planned, self.stages, 2)
        self.assertEqual(sorted(order.tolist()), list(range(20)))
        self.assertEqual(self.step_time(planned, placement, order), 4 * 30 + 1)
        ordered = emplace.in_order(planned.graph, placement, order)
        self.assertEqual(self.step_time(planned, placement, graph=ordered, semantics="queue"), 4 * 30 + 1)
        gpipe = emplace.pipeline_order(planned, self.stages, 2, "gpipe")
        self.assertNotEqual(gpipe.tolist(), order.tolist())
        self.assertEqual(self.step_time(planned, placement, gpipe), 4 * 30 + 1)
        self.assertEqual(emplace.pipeline_order(planned, self.stages, 2, "interleaved").tolist(), order.tolist())

    def test_replicas(self) -> None:
        """30 + 30 ns, a reduction of 7 ns after each backward op, updates of 1 ns."""
        planned = emplace.apply_plan(self.graph, self.cluster, "{replicas: 2, bucket: 8B}")
        self.assertEqual((planned.replicas, planned.cluster.device_classes[2]), (2, "network"))
        collectives = np.flatnonzero(planned.role == 3)
        self.assertEqual([planned.graph.op_names[op] for op in collectives], ["all_reduce/0", "all_reduce/1"])
        self.assertEqual((planned.op[collectives].tolist(), planned.replica[collectives].tolist()),
                         ([-1, -1], [-1, -1]))
        placement = planned.placement([[0] * 8, [1] * 8])
        self.assertEqual(placement[collectives].tolist(), [2, 2])
        order = emplace.pipeline_order(planned, [0] * 8, 1)
        self.assertEqual(self.step_time(planned, placement, order), 60 + 7 + 1)
        together = emplace.apply_plan(self.graph, self.cluster, {"replicas": 2}, [0] * 8)
        self.assertEqual(int((together.role == 3).sum()), 1)

    def test_a_plan_has_the_keys_of_a_plan_file(self) -> None:
        plan = emplace.Plan(replicas=2, recompute=("f0",), groups=[["gpu:0"], ["gpu:1"]])
        self.assertEqual(list(yaml.safe_load(emplace.Plan().yaml())),
                         [field.name for field in dataclasses.fields(plan)])
        self.assertEqual(dict(plan), {"replicas": 2, "micro_batches": 1, "recompute": ["f0"], "bucket": "25MB",
                                      "collectives": "network", "states": "replicated",
                                      "groups": [["gpu:0"], ["gpu:1"]]})
        self.assertEqual(emplace.Plan.from_yaml(plan.yaml()), plan)
        self.assertEqual(emplace.Plan.from_yaml("micro_batches: 3"), emplace.Plan(micro_batches=3))
        self.assertEqual(emplace.apply_plan(self.graph, self.cluster, plan).replicas, 2)

    def test_a_search(self) -> None:
        """Two micro-batches: a replica for each takes 60 ns and 1 ns for both updates; a pipeline 3 x 30 + 1.

        Reductions take 2 ns at 1 PB/s: two steps of 1 ns.
        """
        found = emplace.search_plans(self.graph, self.cluster, 2, sizes=[1], seconds=20, layers="f*")
        self.assertTrue(found.complete)
        best = found.plans[0]
        self.assertEqual((best.plan.replicas, best.num_stages, best.micro_batch, best.graph, best.ranks),
                         (2, 1, 1, 0, 1))
        self.assertEqual(best.step_time, 60 + 2 + 2)
        pipeline = next(plan for plan in found.plans if plan.num_stages == 2)
        self.assertEqual((pipeline.plan.micro_batches, pipeline.virtual_stages, pipeline.step_time),
                         (2, 1, 3 * 30 + 1))
        self.assertEqual([[device for device, _ in replica] for replica in pipeline.stages], [["gpu:0", "gpu:1"]])
        self.assertEqual(found.usual["data parallel"], best)
        self.assertGreaterEqual(best.step_time, found.bound)
        self.assertAlmostEqual(best.gap, best.step_time / found.bound - 1)
        self.assertEqual(found.verdict, "Nothing that was found beats data parallel.")
        placed = found.best
        assert placed is not None
        self.assertEqual(placed.timeline.step_time, best.step_time)
        self.assertEqual(len(placed.placement), placed.planned.graph.num_ops)
        picture = emplace.pictures.plan(placed.planned, placed.timeline, "two & two")
        self.assertIn(">two &amp; two</text>", picture._repr_svg_())
        self.assertEqual(picture.count('class="pass'), 2 * 3 + 1)
        with self.assertRaisesRegex(emplace.InputError, "timeline: has .* ops, and the planned step has 8"):
            emplace.pictures.plan(emplace.apply_plan(self.graph, self.cluster, {}), placed.timeline)

    def test_refusals(self) -> None:
        planned = emplace.apply_plan(self.graph, self.cluster, {})
        order = emplace.pipeline_order(planned, self.stages, 2)
        for call, expected in (
                (lambda: emplace.apply_plan(self.graph, self.cluster, {"replicas": 3}), "replicas: the 2 GPUs"),
                (lambda: emplace.apply_plan(self.graph, self.cluster, {"replica": 2}), "replica"),
                (lambda: emplace.apply_plan(self.graph, self.cluster, {}, [0]), "together: has 1 numbers, expected 8"),
                (lambda: emplace.Plan(replicas=0), "replicas: expected a number from 1 to 64, got 0"),
                (lambda: emplace.Plan.from_yaml("stages: 2"), "stages"),
                (lambda: emplace.search_plans(self.graph, self.cluster, 2), "source.batch is missing"),
                (lambda: emplace.search_plans(self.graph, self.cluster, 2, sizes=[1, 2]), "sizes: has 2 numbers"),
                (lambda: emplace.search_plans(self.graph, self.cluster, 0, sizes=[1]), "batch: got 0"),
                (lambda: emplace.search_plans(self.graph, self.cluster, 3, sizes=[2]), "3 is no multiple of"),
                (lambda: planned.placement([[0] * 7]), r"shape \[1, 7\]; expected .* = \[1, 8\]"),
                (lambda: planned.placement([[0] * 7 + [2]]), r"device_of_op\[0\]\[7\]: got 2, expected .* 0 to 1"),
                (lambda: emplace.pipeline_order(planned, self.stages, 1), r"stage_of_op\[\d\]: got 1, expected"),
                (lambda: emplace.pipeline_order(planned, self.stages, 0), "num_stages: got 0"),
                (lambda: emplace.pipeline_order(planned, self.stages, 2, "zb"), "choices: gpipe, 1f1b, interleaved"),
                (lambda: emplace.pipeline_order(planned, [0] * 8, 1, virtual_stages=0), "virtual_stages: got 0"),
                (lambda: emplace.pipeline_order(planned, self.stages, 2, "interleaved", 2),
                 "micro_batches: got 1, expected a multiple of the 2 stages"),
                (lambda: emplace.in_order(planned.graph, [0] * 8, order[::-1]), "issue order: "),
                (lambda: self.step_time(planned, [0] * 8, order[::-1]), "issue order: "),
                (lambda: self.step_time(planned, [0] * 8, [9] * 8), "issue order: position 0 is op -1"),
                (lambda: self.step_time(planned, [0] * 8, order, semantics="queue"), "queue semantics has none")):
            with self.assertRaisesRegex(emplace.InputError, expected):
                call()


if __name__ == "__main__":
    unittest.main()
