"""Tests of `emplace place --for offload`: times against recurrences, memory, and an independent simulator."""

from __future__ import annotations

import json
import pathlib
import random
import sys
import unittest
from typing import Any

from place_wheel_support import cluster, place, with_costs
from wheel_support import TestCase, command

from emplace.importers import graph_file
from emplace.place import offload
from emplace.place.simulation import Outcome, Simulation
from place_support import Model, training, transformer

sys.path.append(str(pathlib.Path(__file__).resolve().parents[4] / "tests" / "independent"))
import reference  # noqa: E402

ACTIVATION = 256 * 4    # B
LATENCY = 100           # ns; and 1 B a ns
CPU, GPU = 0, 1


def row(rng: random.Random, count: int) -> dict[str, Any]:
    """Linear layers one behind another, with weights of several sizes, and ops without one between them."""
    model = Model()
    y = model.input()
    for index in range(count):
        y = model.linear(f"m{index}", y)
        if rng.random() < 0.3:
            y = model.op(f"act{index}", "relu", [y])
    document = model.graph.document()
    for op in document["ops"]:
        if op["kind"] == "parameter":
            tensor = document["tensors"][op["outputs"][0]]
            rows = rng.randrange(1, 200)
            tensor.update(shape=[rows, 256], bytes=rows * 1024)
        else:
            op["cost_ns"] = {"kind_g": rng.randrange(100, 150_000), "kind_c": 10**7}
    return document


def by_recurrence(document: dict[str, Any], offloaded: set[str]) -> int:
    """The step time of a row of ops on one GPU [ns], by the rule of two buffers and nothing else of ours."""
    weight = {op["outputs"][0]: op["name"] for op in document["ops"] if op["kind"] == "parameter"}
    released: list[int] = []  # when the GPU is done with what a buffer held
    channel = issued = finish = 0
    for op in document["ops"]:
        if op["kind"] == "parameter":
            continue
        arrival, copies = 0, [tensor for tensor in op["inputs"] if weight.get(tensor) in offloaded]
        for tensor in copies:
            free = released[-2] + LATENCY if len(released) >= 2 else 0  # the CPU hears of it
            issued = max(issued, free)
            channel = max(channel, issued) + document["tensors"][tensor]["bytes"]
            arrival = channel + LATENCY
        finish = max(finish, arrival) + op["cost_ns"]["kind_g"]
        released += [finish] * len(copies)
    return finish


def simulated(document: dict[str, Any], device_of_op: list[int], on: Any) -> Outcome:
    with Simulation(document, on) as simulation:
        return simulation.outcome(device_of_op)


class Engine(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.on = cluster(["c0", "g0"], [10**9, 10**9])

    def test_rows_of_layers(self) -> None:
        for seed in range(12):
            rng = random.Random(seed)
            document = row(rng, rng.randrange(3, 12))
            weights = [op["name"] for op in document["ops"] if op["kind"] == "parameter"]
            away = {name for name in weights if rng.random() < 0.6}
            places = [CPU if op["name"] in away else GPU for op in document["ops"]]
            loaded, origin = offload.with_buffers(document, places)
            found = simulated(loaded, [places[op] for op in origin], self.on)
            self.assertEqual(found.time, by_recurrence(document, away), f"seed {seed}")
            sizes = {op["name"]: document["tensors"][op["outputs"][0]]["bytes"] for op in document["ops"]}
            copied = [sizes[name] for name in weights if name in away]
            resident = sum(sizes[name] for name in weights if name not in away)
            pairs = max((sum(copied[i:i + 2]) for i in range(max(1, len(copied) - 1))), default=0)
            self.assertLessEqual(found.peaks[GPU], resident + pairs + 3 * ACTIVATION, f"seed {seed}")
            self.assertGreaterEqual(found.peaks[GPU], resident + max(copied, default=0))

    def test_as_an_independent_simulator(self) -> None:
        """Time and memory, also of training, which copies again, makes views again and updates on the CPU."""
        kinds = {"kind_c": {"class": "cpu"}, "kind_g": {"class": "gpu"}}
        machine = {"device_kinds": kinds, "all_to_all": {"bandwidth": "1000000000", "latency": LATENCY},
                   "devices": [{"name": "c0", "kind": "kind_c", "memory": 10**9},
                               {"name": "g0", "kind": "kind_g", "memory": 10**9}]}
        for seed in range(8):
            rng = random.Random(seed)
            document = row(rng, 6) if seed % 2 else _training(rng)
            stays = offload.stays(document)
            away = {op["colocate"] if op.get("colocate") else op["name"] for op in document["ops"]
                    if offload.is_weight(document, op) and rng.random() < 0.7}
            places = [CPU if stay and (op.get("colocate") or op["name"]) in away else GPU
                      for op, stay in zip(document["ops"], stays)]
            loaded, origin = offload.with_buffers(document, places)
            for op in loaded["ops"]:
                op.setdefault("cost_ns", {"kind_c": 0, "kind_g": 0})
            self.assertEqual(graph_file.check(loaded), [])
            devices = {op["name"]: ("c0", "g0")[places[other]] for op, other in zip(loaded["ops"], origin)}
            outcome, _ = reference.simulate(loaded, machine, {"devices": devices}, "stream")
            found = simulated(loaded, [places[op] for op in origin], self.on)
            self.assertEqual(found.time, outcome["step_time_ns"], f"seed {seed}")
            self.assertEqual(list(found.peaks), [outcome["devices"][name]["peak_bytes"] for name in ("c0", "g0")])

    def test_ahead_is_never_later_than_hooks(self) -> None:
        for seed in range(6):
            rng = random.Random(seed)
            document = row(rng, 8)
            places = [CPU if op["kind"] == "parameter" and rng.random() < 0.7 else GPU for op in document["ops"]]
            times = []
            for loaded, origin in (offload.with_buffers(document, places), offload.with_hooks(document)):
                times.append(simulated(loaded, [places[op] for op in origin], self.on).time)
            self.assertLessEqual(times[0], times[1], f"seed {seed}")


class Targets(TestCase):
    def test_room_for_half_of_the_weights(self) -> None:
        """Five ops that read a weight, 300 us each, and a copy takes 262 us: all but the first are hidden, so that the
        search keeps the first one on the GPU."""
        target, decision = place("offload", with_costs(transformer(2), 300_000, 10**8),
                                 cluster(["c0", "g0"], [10**7, 850_000]), self.path("m"), seconds=20.0)
        self.assertEqual(decision.exported.time, 7 * 300_000)
        self.assertEqual(decision.exported.time, decision.chosen.told.time)
        self.assertTrue(decision.gain)
        with open(decision.paths[0], encoding="utf-8") as file:
            plan = json.load(file)
        self.assertNotIn("embed.weight", plan["host"])
        self.assertEqual([copy["buffer"] for copy in plan["loads"]["g0"]], [i % 2 for i in range(len(plan["host"]))])
        hooks = next(row for row in decision.rows if row.label == "the best map for accelerate's hooks")
        self.assertGreater(hooks.told.time, decision.exported.time)

    def test_training(self) -> None:
        document = with_costs(_training(random.Random(1)), 1000, 50_000)
        total = sum(tensor["bytes"] for tensor in document["tensors"] if tensor.get("role") == "parameter")
        target, decision = place("offload", document, cluster(["c0", "g0"], [10**8, total - 1000]), self.path("m"))
        self.assertTrue(decision.exported.fits)
        self.assertEqual(decision.exported.time, decision.chosen.told.time)
        self.assertIn("training: an offloaded weight is updated on the CPU", " ".join(target.notes))

    def test_errors(self) -> None:
        path = self.path("m.json")
        graph_file.write(transformer(1), path)
        cluster(["g0", "g1"], [10**8] * 2).write(self.path("c.yaml"))
        done = command("place", path, "--cluster", self.path("c.yaml"), "--for", "offload", "-o", self.path("m"),
                       code=2)
        self.assertIn("has no CPU; both are needed", done.stderr)


def _training(rng: random.Random) -> dict[str, Any]:
    """Four layers whose ops take random times; views take none."""
    document = training([f"m{index}" for index in range(4)])
    for op in document["ops"]:
        if op["kind"] != "parameter":
            free = op["name"].endswith("/t")
            op["cost_ns"] = {"kind_g": 0 if free else rng.randrange(100, 300_000), "kind_c": 0 if free else 10**6}
    return document


if __name__ == "__main__":
    unittest.main()
