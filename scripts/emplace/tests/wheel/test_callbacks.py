"""Progress of running searches: callbacks and event files of TensorBoard."""

from __future__ import annotations

import importlib.util
import os
import unittest
from typing import Any

import emplace
import h5py
import my_agents
import numpy as np
from wheel_support import TestCase

COARSE = ["colocate", {"merge_cheapest": {"groups": 24}}]
HAS_TENSORBOARD = importlib.util.find_spec("tensorboard") is not None


class Callbacks(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.problem = emplace.Problem("inception_v3", "2xk80", coarsen=COARSE)

    def test_every_step_is_seen(self) -> None:
        """16 evaluations a step: 6 steps and 4 more of 100."""
        seen: list[emplace.Progress] = []
        found = emplace.search(self.problem, my_agents.Sampler, seed=3, evaluations=100, callback=seen.append)
        self.assertEqual([progress.evaluations for progress in seen], [16, 32, 48, 64, 80, 96, 100])
        self.assertEqual([progress.status for progress in seen], [""] * 6 + ["budget"])
        self.assertEqual([progress.num_updates for progress in seen], [1, 2, 3, 4, 5, 6, 6])
        for progress in seen:
            self.assertEqual(progress.step_time, found.best_step_times[progress.evaluations - 1])
            self.assertEqual((progress.label, progress.seed), ("python:my_agents.Sampler.seed3", 3))
            self.assertEqual(list(progress.update), ["mean", "least"])
        self.assertEqual(seen[0].update["least"], min(found.step_times[:16]))
        self.assertEqual(seen[1].update["mean"], found.step_times[16:32].mean())

    def test_compiled_learners_hand_over_their_numbers(self) -> None:
        updates: dict[int, dict[str, float]] = {}
        emplace.run(self.problem, [("post", {"label": "mine"})], evaluations=200, output=self.path("r.h5"),
                    callback=lambda progress: updates.update({progress.num_updates: progress.update}))
        with h5py.File(self.path("r.h5")) as file:
            table = file["agents/mine.seed0/updates"][:]
        self.assertGreater(len(table), 2)
        self.assertEqual(tuple(updates[len(table)]), table.dtype.names)
        np.testing.assert_array_equal(list(updates[len(table)].values()), list(table[-1]))

    def test_false_stops_a_search_and_resume_continues_it(self) -> None:
        agents: list[Any] = [("hill_climb", {"patience": 50}), (my_agents.Sampler, {"label": "mine"})]
        whole = emplace.run(self.problem, agents, evaluations=600, output=self.path("whole.h5"), jobs=1)
        seen: list[str] = []

        def stop_mine(progress: emplace.Progress) -> bool:
            seen.append(progress.status)
            return progress.label != "mine.seed0" or progress.evaluations < 200

        part = emplace.run(self.problem, agents, evaluations=600, output=self.path("part.h5"), jobs=1, callback=stop_mine)
        self.assertEqual({status for status in seen if status}, {"budget", "stopped"})
        evaluations = {row["agent"]: row["evaluations"] for row in part["agents"]}
        self.assertEqual(evaluations["hill_climb"]["median"] if isinstance(evaluations["hill_climb"], dict)
                         else evaluations["hill_climb"], 600)
        with h5py.File(self.path("part.h5")) as file:
            self.assertEqual(len(file["agents/mine.seed0/evaluations"]), 208)  # the first multiple of 16 from 200 on
            self.assertEqual(file["agents/mine.seed0"].attrs["status"], "stopped")
        emplace.run(self.problem, agents, evaluations=600, output=self.path("part.h5"), jobs=1, resume=True)
        with h5py.File(self.path("whole.h5")) as a, h5py.File(self.path("part.h5")) as b:
            for label in ("hill_climb.seed0", "mine.seed0"):
                self.assertEqual(a[f"agents/{label}/evaluations"]["step_time_ns"].tolist(),
                                 b[f"agents/{label}/evaluations"]["step_time_ns"].tolist())
        self.assertTrue(whole["agents"])

    def test_what_it_raises_is_raised(self) -> None:
        def fail(progress: emplace.Progress) -> None:
            raise LookupError(f"at {progress.evaluations}")

        with self.assertRaisesRegex(LookupError, "^'?at 16"):
            emplace.search(self.problem, my_agents.Sampler, evaluations=100, callback=fail)
        with self.assertRaisesRegex(LookupError, "^'?at 16"):
            emplace.run(self.problem, [my_agents.Sampler], seeds=3, evaluations=100, output=self.path("r.h5"), jobs=2,
                        callback=fail)

    def test_it_changes_nothing(self) -> None:
        without = emplace.search(self.problem, "hill_climb", seed=1, evaluations=500)
        watched = emplace.search(self.problem, "hill_climb", seed=1, evaluations=500, callback=lambda progress: None)
        self.assertEqual(without.step_times.tolist(), watched.step_times.tolist())


class EventFiles(TestCase):
    @unittest.skipUnless(HAS_TENSORBOARD, "needs the package tensorboard")
    def test_tensorboard_reads_them(self) -> None:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        problem = emplace.Problem("inception_v3", "2xk80", coarsen=COARSE)
        table = emplace.run(problem, ["hill_climb", ("post", {"label": "mine"})], evaluations=200, seeds=2,
                            output=self.path("r.h5"), tensorboard=self.path("events"))
        labels = ["hill_climb.seed0", "hill_climb.seed1", "mine.seed0", "mine.seed1"]
        self.assertEqual(sorted(os.listdir(self.path("events"))), labels)
        with h5py.File(table["results"]) as file:
            for label in labels:
                events = EventAccumulator(self.path(f"events/{label}"))
                events.Reload()
                best = events.Scalars("step_time_ms")
                records = file[f"agents/{label}/evaluations"]
                self.assertEqual(best[-1].step, len(records))
                self.assertAlmostEqual(best[-1].value, records["best_step_time_ns"][-1] / 1e6, places=2)
                self.assertEqual(sorted(event.value for event in best)[::-1], [event.value for event in best])
                if label.startswith("mine"):
                    updates = file[f"agents/{label}/updates"]
                    for name in updates.dtype.names:
                        stated = np.flatnonzero(~np.isnan(updates[name]))
                        if not stated.size:
                            self.assertNotIn(f"update/{name}", events.Tags()["scalars"])
                            continue
                        scalars = events.Scalars(f"update/{name}")
                        self.assertEqual([scalar.step for scalar in scalars], (stated + 1).tolist())
                        np.testing.assert_allclose([scalar.value for scalar in scalars], updates[name][stated], rtol=1e-6)

    @unittest.skipIf(HAS_TENSORBOARD, "tensorboard is installed")
    def test_without_tensorboard_it_says_how_to_get_it(self) -> None:
        with self.assertRaisesRegex(ImportError, "pip install tensorboard"):
            emplace.run(emplace.Problem("inception_v3", "2xk80", coarsen=COARSE), ["heft"], output=self.path("r.h5"),
                        tensorboard=self.path("events"))


if __name__ == "__main__":
    unittest.main()
