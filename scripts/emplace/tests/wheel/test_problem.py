"""Problems of the installed package: files, arrays, evaluation, moves, timelines, bounds."""

from __future__ import annotations

import json
import threading
import unittest

import emplace
import numpy as np
from wheel_support import TestCase, chain, command, random_placements


class FromArrays(TestCase):
    def test_a_chain_by_hand(self) -> None:
        """Costs 10, 20 | 30, 5: both on d0 10 + 30; d0 then d1: 10 + 100 latency + 1000 B / 1 GB/s + 5."""
        problem = chain([[10, 20], [30, 5]])
        outcomes = problem.evaluate(np.array([[0, 0], [0, 1], [1, 1], [1, 0]], dtype=np.uint8), busy=True)
        self.assertEqual(outcomes.step_time.tolist(), [40, 10 + 100 + 1000 + 5, 25, 20 + 100 + 1000 + 30])
        self.assertEqual(outcomes.busy.tolist(), [[40, 0], [10, 5], [0, 25], [30, 20]])
        self.assertTrue(outcomes.feasible.all())

    def test_memory_that_is_missing(self) -> None:
        """Two outputs of 1000 B live together on one device of 1500 B while op1 runs."""
        problem = chain([[10, 10], [10, 10]], memory=[1500, 4000])
        outcomes = problem.evaluate(np.zeros((1, 2), dtype=np.uint8))
        self.assertEqual(outcomes.peaks.tolist(), [[2000, 0]])
        self.assertEqual((outcomes.feasible.tolist(), outcomes.deficit.tolist()), ([False], [500]))

    def test_where_an_op_may_not_run(self) -> None:
        problem = chain([[10, -1], [30, 5]])
        self.assertEqual(problem.allowed.tolist(), [[True, False], [True, True]])
        self.assertEqual(problem.group_costs.tolist(), [[10, -1], [30, 5]])
        with self.assertRaisesRegex(emplace.InputError, 'op "op0".*may not run on device "d1"'):
            problem.evaluate(np.array([[1, 0]], dtype=np.uint8))

    def test_one_of_two_equal_devices_and_a_network_device(self) -> None:
        graph = emplace.graph_from_arrays(["a", "b", "sum"], [[0, 2], [1, 2]], [8, 8, 8])
        cluster = emplace.cluster_from_arrays(["x", "y", "net"], 1e9, kinds=["k", "k", "ring"], device_kinds={
            "k": {"class": "gpu"}, "ring": {"class": "network"}})
        self.assertEqual(list(cluster.device_classes), ["gpu", "gpu", "network"])
        costs = np.array([[5, 5, 3], [5, -1, -1], [-1, -1, 3]], dtype=np.int64)
        problem = emplace.Problem(graph, cluster, costs=costs)
        self.assertEqual(problem.allowed.tolist(), (costs >= 0).tolist())
        self.assertEqual(problem.group_costs.tolist(), costs.tolist())
        self.assertEqual(problem.best_single_device()[0], "y")  # beside b, which only x may run

    def test_what_is_refused(self) -> None:
        graph = emplace.graph_from_arrays(["a", "b"], [[0, 1]], [8, 8])
        cluster = emplace.cluster_from_arrays(["x", "y"], 1e9, kinds="k")
        for costs, message in [([[1, 2], [3, 3]], 'both of kind k'), ([[1, 1]], r"shape \[1, 2\]; expected .* \[2, 2\]"),
                               ([[-2, -2], [1, 1]], "got -2"), ([[-1, -1], [1, 1]], '"a" may not run on any device')]:
            with self.assertRaisesRegex(emplace.InputError, message):
                emplace.Problem(graph, cluster, costs=np.array(costs, dtype=np.int64))
        with self.assertRaisesRegex(emplace.InputError, "cycle"):
            emplace.graph_from_arrays(["a", "b"], [[0, 1], [1, 0]], [8, 8])
        with self.assertRaisesRegex(ValueError, "there are 2 ops"):
            emplace.graph_from_arrays(["a", "b"], [[0, 2]], [8, 8])
        with self.assertRaisesRegex(emplace.InputError, "did you mean \"queue\""):
            emplace.Problem(graph, cluster, costs=np.ones((2, 2), dtype=np.int64), semantics="queu")
        with self.assertRaisesRegex(emplace.InputError, "unknown graph \"inceptoin_v3\"; did you mean"):
            emplace.Graph("inceptoin_v3")


class Files(TestCase):
    def test_menus_and_round_trips(self) -> None:
        graph, cluster = emplace.Graph("inception_v3"), emplace.Cluster("2xk80")
        graph.write(self.path("g.json.gz"))
        cluster.write(self.path("c.yaml"))
        again = emplace.Problem(self.path("g.json.gz"), self.path("c.yaml"))
        problem = emplace.Problem(graph, cluster)
        placements = random_placements(problem, 5)
        self.assertEqual(problem.evaluate(placements).step_time.tolist(),
                         again.evaluate(placements).step_time.tolist())

    def test_arrays_are_views(self) -> None:
        graph = emplace.Graph("inception_v3")
        for array in (graph.flops, graph.edges, graph.tensor_bytes):
            self.assertFalse(array.flags.writeable)
            self.assertFalse(array.flags.owndata)
        self.assertIs(graph.flops.base is None, False)
        self.assertEqual(graph.flops.__array_interface__["data"], graph.flops.__array_interface__["data"])
        self.assertEqual(len(graph.op_names), graph.num_ops)
        producers, readers = graph.edges[:, 0], graph.edges[:, 1]
        position = np.empty(graph.num_ops, dtype=int)
        position[graph.topological_order] = np.arange(graph.num_ops)
        self.assertTrue((position[producers] < position[readers]).all())
        self.assertEqual(np.from_dlpack(graph.edges).tolist()[0], graph.edges.tolist()[0])

    def test_costs_and_where_they_come_from(self) -> None:
        graph, cluster = emplace.Graph("inception_v3"), emplace.Cluster("2xk80")
        costs = emplace.Costs(graph, cluster)
        self.assertEqual(costs.time.shape, (graph.num_ops, 3))
        self.assertEqual({costs.sources[i] for i in np.unique(costs.source)}, {"roofline", "free"})
        problem = emplace.Problem(graph, cluster, costs=costs)
        self.assertEqual(np.where(costs.time < 0, 2**56, costs.time).tolist(), problem.costs.tolist())
        again = emplace.Problem(graph, cluster, costs=costs.time)
        placements = random_placements(problem, 4)
        self.assertEqual(problem.evaluate(placements).step_time.tolist(), again.evaluate(placements).step_time.tolist())
        with self.assertRaisesRegex(emplace.InputError, "costs: unknown cost table"):
            emplace.Costs(graph, cluster, "no_such")

    def test_the_best_single_device_is_not_the_first_gpu(self) -> None:
        graph = emplace.graph_from_arrays(["a", "b"], [[0, 1]], [8, 8], cost_ns={"slow": [60, 60], "fast": [20, 20]})
        cluster = emplace.cluster_from_arrays(["gpu:0", "gpu:1"], 1e9, 7, kinds=["slow", "fast"])
        self.assertEqual(emplace.Problem(graph, cluster).best_single_device(), ("gpu:1", 40))  # 20 + 20

    def test_as_the_command_simulates(self) -> None:
        problem = emplace.Problem("inception_v3", "2xk80", coarsen=[{"merge_cheapest": {"groups": 24}}], semantics="stream")
        placement = random_placements(problem, 1, seed=3)[0]
        problem.write_placement(placement, self.path("p.json"))
        done = command("simulate", "--graph", "inception_v3", "--cluster", "2xk80", "--placement", self.path("p.json"))
        self.assertEqual(done.stderr, "")  # the file says that the semantics is stream
        told = json.loads(done.stdout)
        outcomes = problem.evaluate(placement[None], busy=True)
        self.assertEqual(told["step_time_ns"], outcomes.step_time[0])
        self.assertEqual([device["peak_bytes"] for device in told["devices"].values()], outcomes.peaks[0].tolist())
        self.assertEqual([device["busy_ns"] for device in told["devices"].values()], outcomes.busy[0].tolist())


class Evaluation(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.problem = emplace.Problem("inception_v3", "4xk80", coarsen=[{"merge_cheapest": {"groups": 64}}])

    def test_other_integers_and_wrong_ones(self) -> None:
        placements = random_placements(self.problem, 6)
        expected = self.problem.evaluate(placements).step_time.tolist()
        self.assertEqual(self.problem.evaluate(placements.astype(np.int64)).step_time.tolist(), expected)
        self.assertEqual(self.problem.evaluate(placements.astype(np.int32)).step_time.tolist(), expected)
        with self.assertRaisesRegex(emplace.InputError, "-1 at position 0 is not a device index"):
            self.problem.evaluate(np.full((1, self.problem.num_groups), -1))
        with self.assertRaisesRegex(emplace.InputError, "has 3 groups, but the problem has 64"):
            self.problem.evaluate(np.zeros((1, 3), dtype=np.uint8))
        with self.assertRaises(TypeError):
            self.problem.evaluate(np.zeros((1, 64)))

    def test_moves_are_placements(self) -> None:
        base = random_placements(self.problem, 1, seed=1)[0]
        rng = np.random.default_rng(0)
        moves = np.stack([rng.integers(0, 64, 90), rng.integers(0, 4, 90)], axis=1)
        moves[:, 1] = np.where(self.problem.allowed[moves[:, 0], moves[:, 1]], moves[:, 1], base[moves[:, 0]])
        begin = np.array([0, 1, 3, 3, 30, 90])
        whole = []
        for first, end in zip(begin[:-1], begin[1:]):
            placement = base.copy()
            for group, device in moves[first:end]:
                placement[group] = device
            whole.append(placement)
        expected = self.problem.evaluate(np.array(whole))
        told = self.problem.moves(base, moves, begin, peaks=True, busy=True)
        self.assertEqual(told.step_time.tolist(), expected.step_time.tolist())
        self.assertEqual(told.peaks.tolist(), expected.peaks.tolist())
        single = self.problem.moves(base, moves[:7])
        self.assertEqual(len(single), 7)
        self.assertIsNone(single.peaks)
        for wrong in ([[64, 0]], [[0, 5]], [[-1, 0]]):
            with self.assertRaisesRegex(emplace.InputError, "64 groups and 5 devices"):
                self.problem.moves(base, np.array(wrong))
        with self.assertRaisesRegex(emplace.InputError, "begin must ascend"):
            self.problem.moves(base, moves, np.array([0, 50, 20, 90]))

    def test_threads_take_turns(self) -> None:
        placements = random_placements(self.problem, 256)
        expected = self.problem.evaluate(placements).step_time.tolist()
        results: list[list[int]] = []
        threads = [threading.Thread(target=lambda: results.append(
            self.problem.evaluate(placements).step_time.tolist())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [expected] * 4)

    def test_a_timeline_is_its_outcome(self) -> None:
        placement = random_placements(self.problem, 1, seed=2)[0]
        timeline = self.problem.timeline(placement)
        outcomes = self.problem.evaluate(placement[None], busy=True)
        self.assertEqual(timeline.step_time, outcomes.step_time[0])
        self.assertEqual(len(timeline.ops), self.problem.num_ops)
        self.assertEqual(timeline.ops[:, 5].max(), timeline.step_time)
        peaks = [timeline.memory[timeline.memory[:, 0] == d][:, 2].max(initial=0) for d in range(5)]
        self.assertEqual(peaks, outcomes.peaks[0].tolist())
        device_of_op = self.problem.expand(placement)
        self.assertTrue((device_of_op[timeline.ops[:, 0]] == timeline.ops[:, 1]).all())
        self.assertIn("traceEvents", json.loads(timeline.chrome_trace()))

    def test_bounds_hold(self) -> None:
        bounds = self.problem.bounds()
        self.assertLessEqual(max(bounds.critical_path, bounds.work), bounds.value)
        placements = random_placements(self.problem, 64)
        times = self.problem.evaluate(placements).step_time
        self.assertLessEqual(bounds.value, times.min())
        for placement, time in zip(placements[:4], times):
            self.assertLessEqual(bounds.value, self.problem.placement_bound(placement))
            self.assertLessEqual(self.problem.placement_bound(placement), time)
        with self.assertRaisesRegex(emplace.InputError, "placement: group 0 may not run on device 5"):
            self.problem.placement_bound(np.full(self.problem.num_groups, 5, np.uint8))
        period = emplace.Problem("inception_v3", "4xk80", objective="period")
        with self.assertRaisesRegex(emplace.InputError, "expected a problem of objective step_time, got period"):
            period.placement_bound(np.zeros(period.num_groups, np.uint8))


if __name__ == "__main__":
    unittest.main()
