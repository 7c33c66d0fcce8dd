"""The examples learn: short runs of what a reader would run for a minute."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import emplace

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples")
sys.path[:0] = [EXAMPLES, os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]


def needs(*packages: str) -> str:
    """Why a test is skipped; empty: all packages are there."""
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return f"needs {', '.join(missing)}" if missing else ""


class Examples(unittest.TestCase):
    def problem(self, groups: int) -> emplace.Problem:
        return emplace.Problem("inception_v3", "2xk80", coarsen=[{"merge_cheapest": {"groups": groups}}], threads=1)

    @unittest.skipIf(needs("torch"), needs("torch"))
    def test_reinforce(self) -> None:
        import reinforce

        problem = self.problem(16)
        first, best, placement = reinforce.learn(problem, seconds=600, num_envs=32, seed=0, updates=400, quiet=True)
        self.assertLess(best, 0.7 * first)
        self.assertEqual(problem.evaluate(placement[None]).step_time[0], best)

    @unittest.skipIf(needs("torch"), needs("torch"))
    def test_ppo(self) -> None:
        import ppo

        first, last, _ = ppo.learn(self.problem(12), seconds=600, num_envs=16, horizon=24, updates=40, quiet=True)
        self.assertGreater(last, 1.5 * first)

    @unittest.skipIf(needs("torch", "stable_baselines3"), needs("torch", "stable_baselines3"))
    def test_stable_baselines(self) -> None:
        import stable_baselines

        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(tempfile, "tempdir", folder):
            before, after = stable_baselines.learn(self.problem(8), steps=4096)
            self.assertEqual([name for name in os.listdir(folder) if name.startswith("SB3-")], [])
        self.assertGreater(after, before)

    @unittest.skipIf(needs("matplotlib"), needs("matplotlib"))
    def test_the_notebook(self) -> None:
        import matplotlib
        import notebooks

        matplotlib.use("Agg")
        pictures, printed = notebooks.check(self, os.path.join(EXAMPLES, "problems.ipynb"))
        self.assertEqual(pictures, 3)
        self.assertIn("ms on gpu:0", printed)
        self.assertRegex(printed, "takes .* less time than data parallel|Nothing that was found beats data parallel")

    @unittest.skipIf(needs("matplotlib", "pandas", "h5py"), needs("matplotlib", "pandas", "h5py"))
    def test_the_notebook_of_the_benchmark(self) -> None:
        import matplotlib
        import notebooks

        matplotlib.use("Agg")
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(tempfile, "tempdir", folder):
            pictures, printed = notebooks.check(self, os.path.join(EXAMPLES, "benchmark.ipynb"))
        self.assertEqual(pictures, 2)
        self.assertRegex(printed, "planted_40x2: .* ms, best known 2 ms")
        self.assertRegex(printed, "(mine|hill_climb) is better than|no significant difference between mine and hill_climb")

    @unittest.skipIf(needs("torch", "transformers", "accelerate", "onnx"),
                     needs("torch", "transformers", "accelerate", "onnx"))
    def test_a_map_for_each_target(self) -> None:
        from emplace.place import targets

        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, os.path.join(EXAMPLES, "place.py"), "--folder", folder, "--seconds",
                                   "1"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            for target in targets.TARGETS:
                self.assertIn(f"--for {target} ", done.stdout)
        tables = done.stdout.split("$ emplace place")[1:]
        self.assertEqual(len(tables), len(targets.TARGETS))
        for table in tables:  # as placed and as exported: the same time
            times = [re.search(r"([\d,]+\.\d{3})  ", line) for line in table.splitlines() if line.startswith("as ")]
            self.assertEqual(times[0][1], times[1][1], table)

    def test_they_are_short(self) -> None:
        for name in ("reinforce.py", "ppo.py", "stable_baselines.py"):
            with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
                self.assertLessEqual(len(file.readlines()), 120, name)


if __name__ == "__main__":
    unittest.main()
