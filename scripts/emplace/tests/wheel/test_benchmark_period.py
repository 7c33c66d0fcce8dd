"""The period by the plain implementation of `emplace benchmark check`: by hand, and beside the program's on random problems."""

from __future__ import annotations

import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[4] / "tests/independent"))

import emplace  # noqa: E402
import files  # noqa: E402
import problems  # noqa: E402
from emplace.benchmark.period import period  # noqa: E402
from emplace.benchmark.recipes import freeze  # noqa: E402
from emplace.importers import graph_file  # noqa: E402
from wheel_support import TestCase, random_placements  # noqa: E402

MACHINE = {"device_kinds": {"host": {"pays_transfers": False}, "gpu": {}},
           "devices": [{"name": "h", "kind": "host"}, {"name": "a", "kind": "gpu", "memory": "60B"},
                       {"name": "b", "kind": "gpu", "memory": "60B"}],
           "channels": [{"name": "up", "latency": "2ns", "setup": "1ns", "bandwidth": "1500000000B/s"},
                        {"name": "wire", "latency": "5ns", "bandwidth": "10000000000B/s"}],
           "routes": [{"from": "h", "to": "a", "via": ["up"]}, {"from": "h", "to": "b", "via": ["up", "wire"]},
                      {"from": "a", "to": "b", "via": ["wire"]}]}


class Period(TestCase):
    def test_by_hand(self) -> None:
        """`load` on h sends x, 40 B, to a: 2 + 1 + 26.7 rounded up = 30 ns, and to b over two hops: 30 + 5 + 4 = 39 ns. h
        pays nothing: 60 ns, not 99. `left` on a sends y, 10 B, to b once for two readers: 5 + 1 = 6 ns. a: 20 + 30 + 6 = 56 ns. b:
        30 + 10 + 39 + 6 and the control item of `left`, 5 ns = 90 ns, and a pays that as well: 61 ns.
        Bytes: a holds the input w (20 B) and y: 30 B; b holds w and z, not its alias: 20 + 40 = 60 B."""
        document = {
            "instance": {"cluster": MACHINE},
            "tensors": [{"bytes": 20}, {"bytes": 40}, {"bytes": 10}, {"bytes": 40}, {"bytes": 40, "alias_of": 3}],
            "ops": [{"name": "load", "inputs": [], "outputs": [1], "cost_ns": {"host": 60}},
                    {"name": "left", "inputs": [0, 1], "outputs": [2], "cost_ns": {"gpu": 20}},
                    {"name": "right", "inputs": [0, 1, 2], "outputs": [3], "cost_ns": {"gpu": 30}},
                    {"name": "end", "inputs": [2, 3], "control_inputs": [1], "outputs": [4], "cost_ns": {"gpu": 10}}]}
        self.assertEqual(period(document, ["h", "a", "b", "b"]), (90, True))
        document["tensors"][3]["bytes"] = 41
        self.assertEqual(period(document, ["h", "a", "b", "b"]), (90, False))
        self.assertEqual(period(document, ["h", "b", "b", "b"])[0], 20 + 30 + 10 + 39)

    def test_as_the_program_on_random_problems(self) -> None:
        compared, fitting = 0, 0
        for number in range(100):
            rng = random.Random(f"period/{number}")
            problem = problems.generate(rng, set(problems.FEATURES) - {"measured"})
            for kind in problem["cluster"]["device_kinds"].values():
                kind["pays_transfers"] = rng.random() < 0.7
            folder = pathlib.Path(self.path(str(number)))
            graph = files.write(problem, folder, rng)
            recipe = {"graph": str(graph), "cluster": str(folder / "cluster.yaml"), "objective": "period"}
            path = folder / "instance.json"
            try:
                freeze("instance", recipe, path, folder)
            except emplace.InputError:  # a search refuses the problem, as where a route is missing
                continue
            frozen = emplace.Problem(str(path), str(path), objective="period", threads=1)
            document, names = graph_file.read(path), frozen.cluster.device_names
            placements = random_placements(frozen, 5, number)
            outcome = frozen.evaluate(placements)
            for placement, time, fits in zip(placements, outcome.step_time.tolist(), outcome.feasible.tolist()):
                with self.subTest(number, placement=placement.tolist()):
                    place = [names[device] for device in placement[frozen.group_of_op]]
                    self.assertEqual(period(document, place), (time, fits))
                compared, fitting = compared + 1, fitting + fits
        self.assertGreater(fitting, 100)
        self.assertGreater(compared - fitting, 100)
