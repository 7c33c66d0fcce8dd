"""Tests of emplace.results: how soon targets are reached. Skipped where its libraries are not installed."""

from __future__ import annotations

import unittest
from typing import Any, Sequence

from results_support import NAN, TestCase, run, sealed, write_run

import numpy as np
import pandas as pd

from emplace.results import ResultsError, figures, load_runs
from emplace.results.targets import ecdf, expected_running_time, reaches, split_of

INFINITE = float("inf")


def frames(searches: Sequence[tuple[str, str, str, Sequence[float]]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """@param searches  (split, problem, agent, best so far after each evaluation [ns]); an evaluation takes half a
    second, the search ends half a second after the last @return runs, evaluations"""
    runs, evaluations = [], []
    for number, (split, problem, agent, best) in enumerate(searches):
        runs.append({"run": number, "problem": problem, "split": split, "agent": agent, "seed": number,
                     "status": "budget", "best_step_time_ns": best[-1], "evaluations": len(best),
                     "seconds": 0.5 * (len(best) + 1)})
        evaluations += [{"run": number, "evaluation": i, "wall_seconds": 0.5 * (i + 1), "best_step_time_ns": time}
                        for i, time in enumerate(best)]
    return pd.DataFrame(runs), pd.DataFrame(evaluations)


# Best known: 100 of p, 200 of q; q is not run by "once", nothing fits r.
SEARCHES = [("a", "p", "climb", [NAN, 120.0, 104.0, 100.0]), ("a", "p", "climb", [110.0, 102.0]),
            ("a", "p", "once", [130.0]), ("b", "q", "climb", [220.0, 200.0]), ("b", "r", "climb", [NAN])]


def column(frame: pd.DataFrame, name: str) -> list[Any]:
    return frame[name].tolist()


class Reaches(unittest.TestCase):

    def test_first_evaluation_at_most_the_target(self) -> None:
        reached = reaches(*frames(SEARCHES), factors=(1.05, 1))
        self.assertEqual(column(reached, "run"), [0, 1, 2, 3] * 2)  # nothing is known of r
        self.assertEqual(column(reached, "factor"), [1.05] * 4 + [1] * 4)
        self.assertEqual(column(reached, "best_known_ns"), [100, 100, 100, 200] * 2)
        # At most 105 (210), then 100 (200).
        self.assertEqual(column(reached, "to_evaluations"), [3, 2, INFINITE, 2, 4, INFINITE, INFINITE, 2])
        self.assertEqual(column(reached, "to_seconds"), [1.5, 1, INFINITE, 1, 2, INFINITE, INFINITE, 1])
        self.assertEqual(column(reached, "end_evaluations")[:4], [4, 2, 1, 2])
        self.assertEqual(column(reached, "end_seconds")[:4], [2.5, 1.5, 1, 1.5])

    def test_a_better_one_is_known(self) -> None:
        reached = reaches(*frames(SEARCHES), factors=(1.05,), known={"p": 80.0, "q": 200.0})
        self.assertEqual(column(reached, "to_evaluations"), [INFINITE, INFINITE, INFINITE, 2])

    def test_the_order_of_rows_does_not_matter(self) -> None:
        runs, evaluations = frames(SEARCHES)
        mixed = reaches(runs, evaluations.sample(frac=1, random_state=3), factors=(1.3,))
        pd.testing.assert_frame_equal(mixed, reaches(runs, evaluations, factors=(1.3,)))


class Expected(unittest.TestCase):

    def test_time_in_vain_counts(self) -> None:
        reached = reaches(*frames(SEARCHES), factors=(1,))
        table = expected_running_time(reached).set_index(["problem", "agent"])
        # climb on p: 2 s and 4 evaluations, in vain 1.5 s and 2; once: never.
        self.assertEqual(table.loc[("p", "climb"), ["runs", "reached", "share"]].tolist(), [2, 1, 0.5])
        self.assertEqual(table.loc[("p", "climb"), ["expected_seconds", "expected_evaluations"]].tolist(), [3.5, 6])
        self.assertEqual(table.loc[("p", "once"), "expected_seconds"], INFINITE)
        self.assertEqual(table.loc[("q", "climb"), "expected_seconds"], 1)
        # Both problems as one: 2 s, in vain 1.5 s, 1 s, over two.
        together = expected_running_time(reached, by=["agent"]).set_index("agent").loc["climb"]
        self.assertEqual(together[["problems", "runs", "reached"]].tolist(), [2, 3, 2])
        self.assertEqual(together["expected_seconds"], 2.25)

    def test_against_the_definition_on_random_runs(self) -> None:
        chance = np.random.default_rng(5)
        for _ in range(20):
            curves = [np.minimum.accumulate(chance.integers(100, 140, chance.integers(1, 9))).astype(float).tolist()
                      for _ in range(6)]
            runs, evaluations = frames([("s", "p", "a", best) for best in curves])
            row = expected_running_time(reaches(runs, evaluations, factors=(1.1,))).iloc[0]
            limit = 1.1 * min(best[-1] for best in curves)
            needed = [next((i + 1 for i, time in enumerate(best) if time <= limit), None) for best in curves]
            spent = sum(len(best) if count is None else count for count, best in zip(needed, curves))
            self.assertEqual(row["expected_evaluations"], spent / sum(count is not None for count in needed))


class Shares(unittest.TestCase):

    def test_steps(self) -> None:
        curves = ecdf(reaches(*frames(SEARCHES), factors=(1.05,)), over="evaluations")
        self.assertEqual(curves.to_numpy().tolist(), [
            ["a", "climb", 0, 0], ["a", "climb", 2, 0.5], ["a", "climb", 3, 1], ["a", "once", 0, 0],
            ["b", "climb", 0, 0], ["b", "climb", 2, 1]])

    def test_several_targets_are_averaged(self) -> None:
        # On p at most 105 after 1.5 s and 1 s, 100 after 2 s and never: of four, at 1, 1.5 and 2 s.
        curves = ecdf(reaches(*frames(SEARCHES[:3]), factors=(1.05, 1)))
        climb = curves[curves["agent"] == "climb"]
        self.assertEqual(climb[["at", "share"]].to_numpy().tolist(), [[0, 0], [1, 0.25], [1.5, 0.5], [2, 0.75]])
        with self.assertRaisesRegex(ResultsError, 'over: unknown value "hours"; choices: seconds, evaluations'):
            ecdf(reaches(*frames(SEARCHES)), over="hours")


class Splits(unittest.TestCase):

    def test_by_config_or_pattern(self) -> None:
        runs, _ = frames(SEARCHES)
        self.assertEqual(split_of(runs).tolist(), ["a", "a", "a", "b", "b"])
        self.assertEqual(split_of(runs.assign(split=["", "", "", "b", "b"])).tolist()[0], "other problems")
        self.assertEqual(set(split_of(runs.assign(split=""))), {"all problems"})
        self.assertEqual(split_of(runs, [("one", "p"), ("two", "[pq]")]).tolist(),
                         ["one", "one", "one", "two", "other problems"])
        with self.assertRaisesRegex(ResultsError, "--split one=x: fits no problem; there are: p; q; r"):
            split_of(runs, [("one", "x")])


class Pictures(unittest.TestCase):

    def test_lines_labels_and_crosses(self) -> None:
        runs, evaluations = frames(SEARCHES)
        one = figures.target_ecdfs(runs.assign(split="all"), evaluations, factors=(1.05,))
        axes, = one.axes
        lines = {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}
        climb, once = lines["climb"].get_xydata(), lines["once"].get_xydata()
        # All runs of climb that have a target reach it: two after 1 s, one after 1.5 s; the last ends after 2.5 s.
        np.testing.assert_allclose(climb[1:], [[1, 2 / 3], [1.5, 1], [2.5, 1]])
        np.testing.assert_allclose(once[:, 1], [0, 0])
        self.assertEqual([text.get_text() for text in axes.texts], ["once (1 of 2 problems)", "climb"])
        crosses = [line.get_xydata().tolist() for line in axes.get_lines() if line.get_marker() == "x"]
        self.assertEqual(crosses, [[[1, 0]]])
        self.assertEqual((axes.get_xscale(), axes.get_title("left")), ("log", "all (2 problems)"))
        self.assertEqual(axes.get_ylabel(), "runs that found at most 1.05 x best known")

    def test_a_panel_per_split_and_labels_apart(self) -> None:
        names = [f"agent{i}" for i in range(8)]
        runs, evaluations = frames([(split, split, name, [2.0 + (split == "s" and i > 0)])
                                    for split in "st" for i, name in enumerate(names)])
        figure = figures.target_ecdfs(runs, evaluations, over="evaluations")
        self.assertEqual([axes.get_title("left") for axes in figure.axes], ["s (1 problem)", "t (1 problem)"])
        for axes in figure.axes:
            heights = sorted(text.get_position()[1] for text in axes.texts)
            self.assertGreater(min(np.diff(heights)), 0.03)
            self.assertLess(max(heights), 1.03)
            self.assertGreaterEqual(min(heights), 0)
        figure.savefig("/dev/null", format="png")

    def test_runs_that_go_on_are_told(self) -> None:
        runs, evaluations = frames(SEARCHES)
        runs["status"] = ["stopped", "failed", "finished", "budget", "budget"]
        figure = figures.target_ecdfs(runs, evaluations)
        self.assertEqual([axes.get_title("right") for axes in figure.axes], ["1 run not complete", ""])
        with self.assertRaisesRegex(ResultsError, "no run has a placement that fits"):
            figures.target_ecdfs(runs[runs["problem"] == "r"], evaluations)


class Program(TestCase):

    def setUp(self) -> None:
        super().setUp()
        # Best known 1 s, by "fast", which the second call leaves out.
        self.runs = write_run(self.path("r.h5"), [
            {"agent": "fast", "best": [3.0, 1.0], "seconds": 1.0},
            {"agent": "slow", "best": [3.0, 1.005], "seconds": 1.5},
            {"agent": "slow", "best": [2.0], "seed": 1, "seconds": 3.0}], graph="nmt")

    def test_the_table(self) -> None:
        code, out, err = run("targets", self.runs)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, "**all problems**, until at most 1.01 x the best known\n\n"
                         "| agent | problems | runs | reach it | expected [s] | expected evaluations |\n"
                         "| --- | ---: | ---: | ---: | ---: | ---: |\n"
                         "| fast | 1 | 1 | 100.0% | 1 | 2 |\n"
                         "| slow | 1 | 2 | 50.0% | 4 | 3 |\n")  # 1 s and, in vain, 3 s; 2 and 1 evaluations
        code, out, _ = run("targets", self.runs, "--agents", "slow", "--factors", "1.001,2", "--split",
                           "mine=nmt on *", "--by-problem")
        self.assertIn("**mine, nmt on c**, until at most 1.001 x the best known", out)
        self.assertIn("| slow | 1 | 2 | 0.0% | not reached | not reached |", out)
        self.assertIn("**mine, nmt on c**, until at most 2 x the best known", out)
        self.assertNotIn("fast", out)

    def test_the_picture(self) -> None:
        for suffix, begin in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
            target = self.path("e" + suffix)
            self.assertEqual(run("ecdf", self.runs, "--x", "evaluations", "--factors", "1.1,1.01", "-o", target),
                             (0, target + "\n", ""))
            with open(target, "rb") as file:
                self.assertTrue(file.read().startswith(begin))

    def test_mistakes(self) -> None:
        for arguments, message in ((["--factors", "0.9"], "expected numbers from 1 on, as in 1.05,1.01"),
                                   (["--factors", "1.1,x"], "expected numbers from 1 on"),
                                   (["--split", "nmt"], "expected NAME=PATTERN"),
                                   (["--split", "a=bert*"], "fits no problem; there are: nmt on c"),
                                   (["--agents", "none"], "choices: fast, slow")):
            with self.subTest(arguments=arguments):
                code, out, err = run("targets", self.runs, *arguments)
                self.assertEqual((code, out), (2, ""))
                self.assertIn(message, err)

    def test_the_split_of_a_file(self) -> None:
        self.assertEqual(set(load_runs(self.runs).runs["split"]), {""})
        with sealed(self.runs) as file:
            file["config"].attrs["yaml"] += "split: unseen graphs\n"
        self.assertEqual(set(load_runs(self.runs).runs["split"]), {"unseen graphs"})
        self.assertIn("**unseen graphs**", run("targets", self.runs)[1])


if __name__ == "__main__":
    unittest.main()
