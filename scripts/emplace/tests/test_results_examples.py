"""The example results and the notebook of emplace.results. Skipped where matplotlib is not installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import unittest
from typing import Any

import notebooks
from results_support import EXAMPLES, TestCase

import h5py
import matplotlib
import numpy as np

from emplace.results import load_fidelity, load_generalization, load_runs, load_stress
from emplace.results.summaries import best_so_far, summarise_fidelity

PROGRAM = os.environ.get("EMPLACE_PROGRAM", "")


def example(name: str) -> str:
    return os.path.join(EXAMPLES, name)


class TableOfTheProgram(TestCase):
    """The frames against what `emplace run --json` has computed from the same searches."""

    def compare(self, path: str, table: dict[str, Any]) -> None:
        runs = load_runs(path).runs
        self.assertEqual(set(runs["agent"]), {row["agent"] for row in table["agents"]})
        for row in table["agents"]:
            with self.subTest(agent=row["agent"]):
                mine = runs[runs["agent"] == row["agent"]]
                times, theirs = mine["best_step_time_ns"], row["step_time_ns"]
                self.assertEqual((len(mine), mine["feasible"].sum(), (mine["status"] == "failed").sum()),
                                 (row["runs"], row["fitting"], row["failed"]))
                if row["fitting"] == 0:
                    self.assertEqual((times.count(), theirs["median"]), (0, None))
                else:
                    # Theirs is a whole number of nanoseconds.
                    self.assertEqual([np.floor(times.median()), times.min(), times.max()],
                                     [theirs["median"], theirs["min"], theirs["max"]])
                self.assertEqual(np.floor(mine["evaluations"].median()), row["evaluations"])
                self.assertEqual(mine["evaluations"].sum(), row["total_evaluations"])
                for key in ("seconds", "hardware_seconds"):
                    self.assertAlmostEqual(mine[key].median(), row[key], places=6)
                    self.assertAlmostEqual(mine[key].sum(), row[f"total_{key}"], places=6)
                self.check_best(mine, row)
        self.assertEqual(set(runs["bound_ns"]), {table["bound_ns"]})

    def check_best(self, mine: Any, row: dict[str, Any]) -> None:
        peaks = {tuple(run[f"peak_bytes.{device}"] for device in row["peak_bytes"]) for _, run in
                 mine[mine["best_step_time_ns"].fillna(0) == (row["step_time_ns"]["min"] or 0)].iterrows()}
        self.assertIn(tuple(row["peak_bytes"].values()), peaks)

    def test_of_the_example(self) -> None:
        with open(example("run.json"), encoding="utf-8") as file:
            self.compare(example("run.h5"), json.load(file))

    @unittest.skipUnless(os.access(PROGRAM, os.X_OK), "needs $EMPLACE_PROGRAM, the path of emplace")
    def test_of_a_new_run(self) -> None:
        result = subprocess.run(
            [PROGRAM, "run", "quickstart", "--set", "graph=gpt2_small_torch", "--set", "cluster=2xk80",
             "--set", "agents=[single_gpu, random, hill_climb]", "--set", "seeds=0:4", "--set",
             "budget.evaluations=6", "--set", "budget.seconds=none", "--quiet", "--json",
             "-o", self.path("r.h5")],
            check=True, capture_output=True, text=True)
        self.compare(self.path("r.h5"), json.loads(result.stdout))


class OtherCosts(TestCase):
    """What the program says of its draws, against the draws."""

    def test_of_the_example(self) -> None:
        loaded, runs = load_stress(example("robustness.h5")), load_runs(example("robustness.h5")).runs
        unchanged = loaded.draws[loaded.draws["scenario"] == "unchanged"]
        self.assertEqual(unchanged["step_time_ns"].min(), runs["best_step_time_ns"].min())
        self.assertEqual(set(runs["bound_method"]) - {""}, set(runs["bound_method"]))
        winner = unchanged["label"].iloc[0]
        for row in loaded.scenarios.itertuples():
            with self.subTest(scenario=row.scenario):
                draws = loaded.draws[loaded.draws["scenario"] == row.scenario]
                own = draws[draws["label"] == winner]
                self.assertAlmostEqual(own["regret"].mean(), row.regret, places=12)
                self.assertAlmostEqual(own["regret"].max(), row.worst_regret, places=12)
                self.assertAlmostEqual((own["regret"] == 0).mean(), row.top_share, places=12)
                best = draws.groupby("draw")["step_time_ns"].min().to_numpy()
                self.assertAlmostEqual((own["step_time_ns"].to_numpy() - best).mean(), row.regret_ns, places=3)


@unittest.skipUnless(os.access(PROGRAM, os.X_OK), "needs $EMPLACE_PROGRAM, the path of emplace")
class CurvesOfTheProgram(TestCase):
    """The best so far of several seeds, which has one rule (framework/results/FORMAT.md), against the report's."""

    def test_of_a_new_run(self) -> None:
        subprocess.run(
            [PROGRAM, "run", "quickstart", "--set", "graph=gpt2_small_torch", "--set", "cluster=2xk80",
             "--set", "agents=[single_gpu, random, hill_climb, heft]", "--set", "seeds=0:4", "--set",
             "budget.evaluations=40", "--set", "budget.seconds=none", "--quiet", "-o", self.path("r.h5")],
            check=True, capture_output=True)
        subprocess.run([PROGRAM, "report", self.path("r.h5"), "--no-graph", "-o", self.path("r.html")], check=True,
                       capture_output=True)
        with open(self.path("r.html"), encoding="utf-8") as file:
            data = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', file.read(), re.DOTALL)
        loaded = load_runs(self.path("r.h5"))
        agents = json.loads(data[1])["problems"][0]["agents"]
        self.assertEqual({agent["agent"] for agent in agents}, set(loaded.runs["agent"]))
        for agent in agents:
            with self.subTest(agent=agent["agent"]):
                self.compare(agent["curve"], loaded, loaded.runs[loaded.runs["agent"] == agent["agent"]])

    def compare(self, theirs: dict[str, Any], loaded: Any, runs: Any) -> None:
        curves = []
        for run in runs["run"]:
            rows = loaded.evaluations[loaded.evaluations["run"] == run]
            curves.append((rows["evaluation"].to_numpy() + 1, rows["best_step_time_ns"].fillna(np.inf).to_numpy()))
        every = np.arange(1, 1 + max(len(best) for _, best in curves))
        values = best_so_far(every, curves)
        # Between two of the report's points nothing changes; it rounds to nanoseconds.
        at = np.searchsorted(theirs["evaluations"], every, side="right") - 1
        for name, mine in (("median", np.median(values, axis=0)), ("least", values.min(axis=0)),
                           ("most", values.max(axis=0))):
            listed = np.array([np.inf if value is None else value for value in theirs[name]])
            reported = np.where(at >= 0, listed[np.maximum(at, 0)], np.inf)
            np.testing.assert_array_equal(np.isfinite(mine), np.isfinite(reported))
            fits = np.isfinite(mine)
            np.testing.assert_allclose(mine[fits], reported[fits], rtol=0, atol=0.5)
            if name == "median" and len(runs) > 1:
                self.assertGreater(len(set(mine[fits])), 1)  # a curve that never falls would show nothing


class Examples(unittest.TestCase):

    def test_what_is_in_them(self) -> None:
        loaded = load_runs([example("run.h5"), example("sweep")])
        self.assertEqual(loaded.runs.groupby("problem")["agent"].nunique().to_dict(), {
            "gpt2_small_torch on 2xk80": 6, "gpt2_mini_torch on 2xk80": 3, "gpt2_mini_torch on 4xk80": 3})
        self.assertEqual(loaded.not_run, ())
        best = loaded.evaluations.groupby("run")["best_step_time_ns"].min()
        np.testing.assert_array_equal(loaded.runs["run"].map(best), loaded.runs["best_step_time_ns"])
        self.assertEqual(loaded.evaluations.groupby("run").size().tolist(),
                         loaded.runs["evaluations"].tolist())

    def test_ratios_are_those_of_the_program(self) -> None:
        tests = load_generalization(example("generalization.h5")).tests
        self.assertEqual(tests.groupby("family")["graph"].nunique().to_dict(), {"nmt": 6, "ptb": 6})
        with h5py.File(example("generalization.h5")) as file:
            for family, group in file["families"].items():
                np.testing.assert_allclose(tests.loc[tests["family"] == family, "final_ratio"],
                                           group["tests"]["final_over_best_known"])

    def test_errors_are_those_of_the_program(self) -> None:
        loaded = load_fidelity(example("validation.h5"))
        errors = loaded.placements["error"].abs().groupby(loaded.placements["graph"])
        graphs = loaded.graphs.set_index("graph")
        np.testing.assert_allclose(errors.mean(), graphs["mape"][errors.mean().index])
        np.testing.assert_allclose(errors.max(), graphs["max_error"][errors.max().index])
        self.assertEqual(len(graphs), 5)
        # A row of the table "Five graphs" in profilers/FIDELITY.md.
        self.assertIn("| inception_v3_b1 | 30 | 1.49% | 2.37% | 9.53% | 0.00% | 0.830 | 0.834 |",
                      summarise_fidelity(loaded))

    def test_they_stay_small(self) -> None:
        size = sum(os.path.getsize(os.path.join(folder, name))
                   for folder, _, names in os.walk(EXAMPLES) for name in names
                   if name.endswith(".h5"))
        self.assertLess(size, 1.6e6)


class Notebook(unittest.TestCase):
    def test_runs_from_top_to_bottom(self) -> None:
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(EXAMPLES)
        matplotlib.use("Agg")
        pictures, printed = notebooks.check(self, example("results.ipynb"))
        self.assertEqual(pictures, 6)
        self.assertIn("| hill_climb |", printed)


if __name__ == "__main__":
    unittest.main()
