"""Tests of emplace.results: methods with other costs. Skipped where its libraries are not installed."""

from __future__ import annotations

import os
import unittest

from results_support import NAN, TestCase, add_stress, run, write_run, write_sweep

import numpy as np

from emplace.results import ResultsError, load_runs, load_stress
from emplace.results.robustness import kendall_tau, method_ratios, ratios

INFINITE = float("inf")


class Tau(unittest.TestCase):

    def test_pairs_in_order_and_ties(self) -> None:
        self.assertEqual(kendall_tau(np.array([1, 2, 3]), np.array([5, 6, 9])), 1)
        self.assertEqual(kendall_tau(np.array([1, 2, 3]), np.array([9, 6, 5])), -1)
        # Two pairs in order, one not, of three.
        self.assertAlmostEqual(kendall_tau(np.array([1, 2, 3]), np.array([1, 3, 2])), 1 / 3)
        # A tie here, none there: of the other two pairs both in order, 2 / sqrt(2 x 3).
        self.assertAlmostEqual(kendall_tau(np.array([1, 1, 3]), np.array([1, 2, 3])), 2 / 6 ** 0.5)
        self.assertEqual(kendall_tau(np.array([1, INFINITE, INFINITE]), np.array([1, INFINITE, INFINITE])), 1)
        self.assertTrue(np.isnan(kendall_tau(np.array([1.0]), np.array([2.0]))))
        self.assertTrue(np.isnan(kendall_tau(np.array([1, 1]), np.array([1, 2]))))


class Methods(TestCase):

    def setUp(self) -> None:
        super().setUp()
        # Unchanged 1000, 1001 and 1002 ns (add_stress); "never" fits nowhere.
        self.file = add_stress(write_run(self.path("r.h5"), [
            {"agent": "a", "best": [1.0]}, {"agent": "a", "best": [1.0], "seed": 1}, {"agent": "b", "best": [1.0]},
            {"agent": "never", "best": [NAN]}, {"agent": "half", "best": [4.0], "status": "stopped"}]),
            ["a.seed0", "b.seed0", "a.seed1"], {"noise": [[100, 110, 120], [100, 80, 120], [100, 110, 120]],
                                                "slow_links": [[5, 4, 3]]})
        self.runs = load_runs(self.file).runs.assign(split="s")

    def test_ratios_to_the_best_of_each_draw(self) -> None:
        frame = ratios(self.runs, load_stress(self.file).draws)
        table = frame.pivot(index=["scenario", "draw"], columns=["agent", "seed"], values="ratio")
        self.assertEqual(table.columns.tolist(), [("a", 0), ("a", 1), ("b", 0), ("never", 0)])
        np.testing.assert_allclose(table.loc["unchanged"], [[1, 1.002, 1.001, INFINITE]])
        np.testing.assert_allclose(table.loc["noise"], [[1, 1.2, 1.1, INFINITE], [1.25, 1.5, 1, INFINITE],
                                                        [1, 1.2, 1.1, INFINITE]])
        other = ratios(self.runs, load_stress(self.file).draws, "slow_links")
        np.testing.assert_allclose(other.loc[other["scenario"] == "slow_links", "ratio"],
                                   [5 / 3, 1, 4 / 3, INFINITE])

    def test_medians_and_order(self) -> None:
        table = method_ratios(ratios(self.runs, load_stress(self.file).draws)).set_index("agent")
        # a: (1 + 1.002) / 2; in the draws 1.1, 1.375, 1.1. b: 1.001; 1.1, 1, 1.1. They tie but in the second draw.
        np.testing.assert_allclose(table.loc["a", ["unchanged", "changed", "low", "high"]].tolist(),
                                   [1.001, 1.1, 1.1, 1.375])
        np.testing.assert_allclose(table.loc["b", ["unchanged", "changed", "low", "high"]].tolist(),
                                   [1.001, 1.1, 1, 1.1])
        self.assertEqual(table.loc["b", ["problems", "runs", "first"]].tolist(), [1, 1, 1])
        self.assertAlmostEqual(table.loc["a", "first"], 2 / 3)
        self.assertEqual(table.loc["never", "changed"], INFINITE)

    def test_the_table(self) -> None:
        code, out, err = run("robustness", self.file)
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(out.startswith("**all problems**, 3 draws, order of the agents: Kendall's tau "), out)
        self.assertIn("| agent | problems | runs | ratio | ratio with noise | range over draws | first in |\n", out)
        self.assertIn("| b | 1 | 1 | 1.001 | 1.100 | 1.000 .. 1.100 | 100% |\n", out)
        self.assertIn("| never | 1 | 1 | OOM | OOM | OOM .. OOM | 0% |\n", out)
        code, out, _ = run("robustness", self.file, "--by-problem", "--split", "mine=g*")
        self.assertTrue(out.startswith("**mine, g on c**, 3 draws"), out)


class Sweeps(TestCase):

    def test_once_per_problem(self) -> None:
        folder = write_sweep(self.path("s"), ["0.h5", "1.h5", "2.h5"])
        for number, graph in enumerate("ggh"):
            path = os.path.join(folder, "runs", f"{number}.h5")
            write_run(path, [{"agent": f"a{number}", "best": [1.0]}], graph=graph)
            if graph == "g":
                add_stress(path, ["a0.seed0", "a1.seed0"], {"noise": [[100, 125], [90, 80]]})
        stress = load_stress(folder)
        self.assertEqual(len(stress.draws), 2 + 2 * 2)
        self.assertEqual(set(stress.draws["file"]), {os.path.join(folder, "runs", "0.h5")})
        self.assertEqual((len(stress.scenarios), len(stress.adversary)), (1, 1))
        frame = ratios(load_runs(folder).runs, stress.draws)
        noise = frame[frame["scenario"] == "noise"].sort_values(["draw", "agent"])
        np.testing.assert_allclose(noise["ratio"], [1, 1.25, 1.125, 1])
        self.assertEqual(set(frame["problem"]), {"g on c"})  # h was not stressed

    def test_a_sweep_that_was_not_stressed(self) -> None:
        folder = write_sweep(self.path("s"), ["0.h5"])
        write_run(os.path.join(folder, "runs", "0.h5"), [{"agent": "a", "best": [1.0]}])
        with self.assertRaisesRegex(ResultsError, "s: `emplace stress` has not processed any of its runs"):
            load_stress(folder)
        code, _, err = run("robustness", folder)
        self.assertEqual(code, 2)
        self.assertIn("has not processed any of its runs", err)


if __name__ == "__main__":
    unittest.main()
