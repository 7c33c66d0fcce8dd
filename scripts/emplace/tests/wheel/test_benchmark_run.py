"""`emplace benchmark` run, score, compare, contribute, draw and page: invented results by hand, and a small folder."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import pathlib
import unittest
from typing import Any, Sequence

MISSING = [name for name in ("h5py", "pandas", "matplotlib") if importlib.util.find_spec(name) is None]
if MISSING:
    raise unittest.SkipTest(f"needs {', '.join(MISSING)}")

import emplace
import gymnasium
import h5py
import matplotlib
import numpy as np
import pandas as pd
from emplace import benchmark
from emplace.benchmark import pictures
from emplace.benchmark.comparison import compare, sign_test, signed_rank
from emplace.benchmark.page import write_page
from emplace.benchmark.protocol import REFERENCE, budget_of, reference_speed, sweep_config
from emplace.benchmark.results_file import Results, load, save, summary, write
from emplace.benchmark.scores import markdown_rows, record, score, text
from test_benchmark import Case
from wheel_support import HERE, TestCase, command

INFINITE = float("inf")
NAN = float("nan")
Search = tuple[str, str, int, Sequence[tuple[float, float]], float, str]


def known(name: str, best: int | None, bound: int | None, groups: int = 10, tier: str = "small") -> benchmark.Instance:
    return benchmark.Instance(
        name, tier, "by hand", "", "", "", pathlib.Path(f"{name}.json.gz"), "queue", "step_time", False, f"sha of {name}",
        {"num_groups": groups}, benchmark.Best(best, "x", "2026-01-01") if best else None,
        benchmark.Bound(bound, "work", 1.0, "2026-01-01") if bound else None, 0.0, 0.0)


def results(path: str, searches: Sequence[Search], budget: str = "4s", not_run: int = 0) -> Results:
    """@param searches  problem, agent, seed, improvements (seconds, value), end [s], status; 3 evaluations each"""
    runs = [{"problem": problem, "sha256": f"sha of {problem}", "split": "small", "agent": agent, "settings": "{}",
             "seed": seed, "status": status, "error": "no luck" if status == "failed" else "", "evaluations": 3,
             "seconds": end, "best_step_time_ns": curve[-1][1] if curve else NAN, "bound_ns": 0, "version": "0", "commit": "c",
             "host": "h", "cpu": "p", "date": "d", "placement": 0 if curve else -1}
            for problem, agent, seed, curve, end, status in searches]
    rows = [{"run": run, "evaluation": i, "wall_seconds": at, "best_step_time_ns": value}
            for run, search in enumerate(searches) for i, (at, value) in enumerate(search[3])]
    machines = [{"host": "h", "cores": 2, "evaluations_per_second": 1234, "date": "d"}]
    write(pathlib.Path(path), pd.DataFrame(runs), pd.DataFrame(rows), np.zeros(9, np.uint8),
          {"budgets": [budget], "instances": {}, "machines": machines}, not_run)
    return load([path])


INSTANCES = [known("p", 100, 80), known("q", 200, 200, groups=300)]
SEARCHES: list[Search] = [
    ("p", "climb", 0, [(0.5, 120), (2, 101)], 4, "budget"), ("p", "climb", 1, [(1, 110)], 4, "budget"),
    ("q", "climb", 0, [(1, 200)], 4, "budget"), ("q", "climb", 1, [], 1, "failed"),
    ("p", "once", 0, [(0.1, 150)], 0.1, "finished"), ("q", "once", 0, [(0.1, 200)], 0.1, "finished")]


class Scores(TestCase):
    def row(self, table: pd.DataFrame, agent: str) -> dict[str, Any]:
        return table[table["agent"] == agent].to_dict("records")[0]

    def test_by_hand(self) -> None:
        found = score(results(self.path("r.h5"), SEARCHES), INSTANCES)
        self.assertEqual(found.table["agent"].tolist(), ["once", "climb"])  # both 50 %: the one with less excess first
        climb, once = self.row(found.table, "climb"), self.row(found.table, "once")
        self.assertEqual([climb[key] for key in ("instances", "runs", "failed")], [2, 4, 1])
        # p: 1 of 2 seeds, q: the seed that did not fail.
        self.assertEqual([climb[key] for key in ("fits", "solved_1", "solved_3", "solved")], [0.75, 0.25, 0.5, 0.5])
        self.assertNotIn("solved_10", climb)
        # p: 2 s + 4 s in vain; q: 1 s + 1 s in vain. once: never on p, 0.1 s on q, which is the fastest.
        self.assertEqual([climb["expected_seconds"], once["expected_seconds"]], [(6 + 2) / 2, INFINITE])
        self.assertEqual([climb["expected_ratio"], once["expected_ratio"]], [(1 + 2 / 0.1) / 2, INFINITE])
        self.assertAlmostEqual(climb["gap"], ((0.2625 + 0.375) / 2 + (0 + 1) / 2) / 2)  # the failed one counts as 100 %
        self.assertAlmostEqual(climb["excess"], ((0.01 + 0.1) / 2 + (0 + 1) / 2) / 2)
        self.assertAlmostEqual(once["excess"], (0.5 + 0) / 2)
        # A quarter of the draws have p twice, a quarter q twice.
        self.assertAlmostEqual(climb["excess_low"], 0.055)
        self.assertAlmostEqual(climb["excess_high"], 0.5)
        self.assertEqual([once["solved_low"], once["solved_high"]], [0, 1])
        self.assertEqual(found.finals["value"].tolist(), [105.5, INFINITE, 150, 200])  # a median of 200 and of nothing
        self.assertEqual(found.finals["ratio"].tolist(), [1.055, INFINITE, 1.5, 1])
        self.assertEqual(len(found.better), 0)

    def test_what_is_missing_is_said(self) -> None:
        searches = [*SEARCHES, ("r", "climb", 0, [(1, 300)], 2, "stopped"), ("s", "climb", 0, [], 2, "budget")]
        loaded = results(self.path("r.h5"), searches, not_run=5)
        found = score(loaded, [*INSTANCES, known("r", None, None), known("s", None, 7)])
        self.assertEqual(found.notes, [
            "not on all 4 instances: once (2)", "not run yet: 5 of 13 searches", "not complete: 1 of 8 searches",
            "failed: climb, seed 1, q: no luck",
            "no best known placement, so the best of these searches counts: r", "no placement that fits is known: s",
            "no bound, so not in the gap: r", "reference speed [evaluations/s in one thread]: 1.23e+03 on h"])
        climb = self.row(found.table, "climb")
        self.assertEqual(climb["solved"], (0.5 + 0.5 + 1 + 0) / 4)
        self.assertAlmostEqual(climb["excess"], (0.055 + 0.5 + 0 + 1) / 4)
        self.assertAlmostEqual(climb["gap"], (0.31875 + 0.5 + 1) / 3)
        for form in (markdown_rows, lambda rows: ""):
            self.assertIn("- failed: climb, seed 1, q: no luck\n", text(found, form))
        self.assertIn("| once | 2 | 100.0% | 50.0% | 50.0% | 50.0% (0.0% .. 100.0%) | not reached (0.1 .. not reached) |",
                      text(found, markdown_rows))
        agents = json.loads(json.dumps(record(loaded, found), allow_nan=False))["agents"]
        self.assertEqual([agent["expected_seconds"] for agent in agents if agent["agent"] == "once"], [None])

    def test_equal_failures_are_one_note(self) -> None:
        failed: list[Search] = [("p", "once", 0, [(1, 100)], 1, "finished")]
        failed += [(problem, agent, seed, [], 1, "failed")
                   for problem, agent, seed in (("q", "climb", 2), ("p", "climb", 0), ("q", "climb", 0), ("q", "once", 1))]
        notes = score(results(self.path("r.h5"), failed), INSTANCES).notes
        self.assertEqual([note for note in notes if note.startswith("failed")], [
            "failed: climb, seeds 0, 2, q: no luck", "failed: climb, seed 0, p: no luck", "failed: once, seed 1, q: no luck"])

    def test_better_than_the_best_known(self) -> None:
        loaded = results(self.path("r.h5"), SEARCHES)
        found = score(loaded, [known("p", 120, 80), INSTANCES[1]])
        self.assertEqual(found.better[["problem", "agent", "seed", "value", "best_known"]].values.tolist(),
                         [["p", "climb", 0, 101, 120]])
        self.assertIn(f"- new best known: p: 101 ns by climb (seed 0) instead of 120 ns; contribute with `emplace benchmark "
                      f"contribute {self.path('r.h5')}`\n", text(found, markdown_rows))

    def test_the_same_agent_in_two_files(self) -> None:
        results(self.path("a.h5"), SEARCHES)
        results(self.path("b.h5"), SEARCHES[:2], budget="60s")
        loaded = load([self.path("a.h5"), self.path("b.h5")])
        self.assertEqual(sorted(set(loaded.runs["agent"])),
                         [f"climb ({self.path('a.h5')})", f"climb ({self.path('b.h5')})", "once"])
        self.assertIn("different budgets: 4s, 60s", score(loaded, INSTANCES).notes)
        self.assertEqual(loaded.improvements["run"].tolist(), [0, 0, 1, 2, 4, 5, 6, 6, 7])

    def test_a_summary_adds_up(self) -> None:
        """1000 and 998 stay, 999.5 and 997.5 improve by less than 0.1 %, 997.2 is the last; then a seed of another file."""
        curve = [(1, 1000), (2, 999.5), (3, 998), (4, 997.5), (5, 997.2)]
        results(self.path("a.h5"), [("q", "climb", 0, [(1, 7)], 4, "budget"), ("p", "tabu", 0, curve, 9, "budget")])
        results(self.path("b.h5"), [("p", "tabu", 1, [(1, 990)], 60, "budget")], budget="60s", not_run=2)
        loaded = load([self.path("a.h5"), self.path("b.h5")])
        some = dataclasses.replace(loaded, runs=loaded.runs[loaded.runs["problem"] == "p"])
        save(summary(some), pathlib.Path(self.path("c.h5")))
        both = load([self.path("c.h5")])
        self.assertEqual(both.runs[["run", "problem", "agent", "seed", "placement"]].values.tolist(),
                         [[0, "p", "tabu", 0, -1], [1, "p", "tabu", 1, -1]])
        self.assertEqual(both.improvements[["run", "evaluation", "wall_seconds", "best_step_time_ns"]].values.tolist(),
                         [[0, 0, 1, 1000], [0, 2, 3, 998], [0, 4, 5, 997.2], [1, 0, 1, 990]])
        self.assertEqual((both.budgets, both.not_run, both.machines), (["4s", "60s"], 2, loaded.machines))

    def test_results_of_something_else(self) -> None:
        loaded = results(self.path("r.h5"), SEARCHES)
        with self.assertRaisesRegex(emplace.InputError, "r.h5: unknown instance 'q'; choices: p"):
            score(loaded, INSTANCES[:1])
        loaded.runs["sha256"] = "old"
        with self.assertRaisesRegex(emplace.InputError, "p: is of another version of the instance, SHA-256 old; expected sha"):
            score(loaded, INSTANCES)
        with self.assertRaisesRegex(emplace.InputError, "none.h5: no such file; expected the results of `emplace benchmark"):
            load([self.path("none.h5")])
        pathlib.Path(self.path("text.h5")).write_text("text", encoding="utf-8")
        with self.assertRaisesRegex(emplace.InputError, "text.h5: no HDF5 file"):
            load([self.path("text.h5")])
        example = pathlib.Path(HERE).parents[1] / "examples/run.h5"
        with self.assertRaisesRegex(emplace.InputError, "run.h5: expected format 'emplace-benchmark', version 2, found "
                                                        "'emplace-results', version 4$"):
            load([example])
        with h5py.File(self.path("r.h5"), "a") as file:
            file.attrs["version"] = 1
        with self.assertRaisesRegex(emplace.InputError, "found 'emplace-benchmark', version 1; run the searches again"):
            load([self.path("r.h5")])

    def test_pictures_and_page(self) -> None:
        matplotlib.use("Agg")
        loaded = results(self.path("r.h5"), SEARCHES)
        profile = pictures.performance_profile(score(loaded, INSTANCES)).axes[0]
        curves = [line.get_ydata().tolist() for line in profile.lines[:2]]
        self.assertEqual(curves, [[0, 0.5, 1, 1], [0, 0.5, 0.5]])  # once: 1 and 1.5 x; climb: 1.055 x, does not fit
        sizes = pictures.excess_by_size(score(loaded, INSTANCES)).axes[0]
        np.testing.assert_allclose([line.get_ydata() for line in sizes.lines], [[0.5, 1e-4], [0.055, 1]])
        written = write_page(loaded, INSTANCES, self.path("page.md"))
        self.assertEqual([path.name for path in written], ["page.md", "page_profile.svg", "page_time.svg", "page_size.svg",
                                                           "page_scores.csv", "page_finals.csv", "page.h5"])
        self.assertTrue(all(path.stat().st_size > 100 for path in written))
        page = written[0].read_text(encoding="utf-8")
        self.assertIn("6 searches with budgets of 4s on 2 instances", page)
        self.assertTrue(all(f"({path.name})" in page for path in written[1:]))
        self.assertEqual(pd.read_csv(written[4])["solved"].tolist(), [0.5, 0.5])
        before = [path.read_bytes() for path in written[:-1]]
        again = write_page(load([written[-1]]), INSTANCES, self.path("page.md"))
        self.assertEqual([path.read_bytes() for path in again[:-1]], before)
        with self.assertRaisesRegex(emplace.InputError, "expected a name that ends in .md"):
            write_page(loaded, INSTANCES, self.path("page.html"))


class Comparisons(TestCase):
    def test_p_values_by_hand(self) -> None:
        self.assertEqual(signed_rank([1, 2, 3, 4, 5]), (2 / 32, 15))
        self.assertEqual(signed_rank([-1, -2, 0, -INFINITE]), (2 / 8, -6))
        self.assertEqual(signed_rank([1, 2, -3]), (1.0, 0))
        # Ranks 2, 2, 2, 4: 4 + 2 + 2 or more, or 2 or less: 3 + 1 and 3 + 1 of 16.
        self.assertEqual(signed_rank([1, 1, -1, 2]), (8 / 16, 6))
        self.assertEqual(signed_rank([0, 0]), (1.0, 0))
        self.assertEqual(sign_test(5, 1), 2 * (1 + 6) / 64)
        self.assertEqual((sign_test(3, 3), sign_test(0, 0)), (1.0, 1.0))

    def test_paired_by_instance(self) -> None:
        """a is 1 % better on six instances, equal within 0.1 % on one; b does not fit on one, and has not run on one."""
        searches: list[Search] = [(f"i{i}", "a", 0, [(1, 990)], 1, "budget") for i in range(6)]
        searches += [(f"i{i}", "b", 0, [(1, 1000)], 1, "budget") for i in range(6)]
        searches += [("tie", "a", 0, [(1, 10000)], 1, "budget"), ("tie", "b", 0, [(1, 10009)], 1, "budget"),
                     ("fit", "a", 0, [(1, 5)], 1, "budget"), ("fit", "b", 0, [], 1, "budget"),
                     ("alone", "a", 0, [(1, 5)], 1, "budget")]
        loaded = results(self.path("r.h5"), searches)
        found = compare(loaded, "a", loaded, "b")
        self.assertEqual((found.wins, found.ties, found.losses, found.instances, found.not_paired, found.fitting),
                         (7, 1, 0, 8, 1, 7))
        self.assertAlmostEqual(found.ratio, (0.99**6 * 10000 / 10009) ** (1 / 7))
        self.assertLessEqual(found.ratio_low, found.ratio)
        self.assertEqual((found.wilcoxon, found.sign), (2 / 128, 2 / 128))
        self.assertRegex(found.conclusion(), r"^a is better than b on 7 of 8 instances and worse on 0; values of a are 0.87% "
                                             r"below those of b in the geometric mean \(interval .*\); p = 0.0156 \(Wilcoxon")
        other = compare(loaded, "b", loaded, "a")
        self.assertRegex(other.conclusion(), "^a is better than b on 7 of 8 .* values of b are 0.88% above those of a")
        self.assertRegex(compare(loaded, "a", loaded, "a").conclusion(), "^no significant difference between a and a")
        with self.assertRaisesRegex(emplace.InputError, "unknown agent 'c'; choices: a, b"):
            compare(loaded, "a", loaded, "c")


class Protocol(Case):
    def test_an_agent_that_refuses_an_instance_has_not_solved_it(self) -> None:
        recipe = {"tier": "small", "about": "x", "graph": "./pair.json", "cluster": "./two.yaml"}
        self.recipes({"step": recipe, "period": {**recipe, "objective": "period"}})
        self.run_command("make")
        arguments = ("benchmark", "run", "period_multilevel", "heft", "--folder", self.folder, "--budget", "64e", "--seeds", "1",
                     "-o", self.path("out"), "--quiet")
        command(*arguments, code=1)
        runs = load([self.path("out")]).runs.set_index(["agent", "problem"])
        self.assertEqual(list(runs.index[runs["status"] == "failed"]), [("period_multilevel", "step")])
        self.assertRegex(runs.loc[("period_multilevel", "step"), "error"], "^period_multilevel: .*searches for the period only")
        table = json.loads(self.run_command("score", self.path("out"), "--json"))["agents"]
        self.assertEqual({row["agent"]: row["fits"] for row in table}, {"heft": 1, "period_multilevel": 0.5})

    def test_run_score_contribute(self) -> None:
        """A random search of 64 placements finds one of 20 ns (two of eight are); all on a takes 29 ns."""
        self.run_command("make")
        sampler, fixed = (f"{{name: 'python:{HERE}/my_agents.py:{name}', label: {label}}}"
                          for name, label in (("Sampler", "mine"), ("Fixed", "on_a")))
        arguments = ("benchmark", "run", sampler, fixed, "--folder", self.folder, "--budget", "64e", "--seeds", "2", "-o",
                     self.path("out"), "--quiet")
        self.assertIn(f"{self.path('out')}/results.h5; table: emplace benchmark score", command(*arguments).stdout)
        loaded = load([self.path("out")])
        self.assertEqual(sorted(loaded.runs["agent"] + loaded.runs["seed"].astype(str)), ["mine0", "mine1", "on_a0", "on_a1"])
        self.assertEqual(loaded.runs.groupby("agent")["best_step_time_ns"].min().to_dict(), {"mine": 20, "on_a": 29})
        self.assertEqual(loaded.runs["evaluations"].tolist(), [64, 64, 1, 1])
        self.assertGreater(loaded.machines[0]["evaluations_per_second"], 0)
        self.assertIn("holds results; --resume continues them", command(*arguments, code=2).stderr)
        command(*arguments, "--resume")
        self.assertIn("was made with another sweep", command(*arguments, "--resume", "--threads", "2", code=2).stderr)
        self.assertEqual(len(load([self.path("out")]).machines), 2)
        command(*arguments, "--first-seed", "2", "-o", self.path("more"))
        together = load([self.path("out"), self.path("more")]).runs
        self.assertEqual(together.groupby("agent")["seed"].agg(sorted).to_dict(), dict.fromkeys(["mine", "on_a"], [0, 1, 2, 3]))

        table = self.run_command("score", self.path("out"))
        self.assertIn("no best known placement, so the best of these searches counts: pair", table)
        self.assertEqual(json.loads(self.run_command("score", self.path("out"), "--json"))["agents"][0]["agent"], "mine")
        self.assertIn("agent,instances,runs,", self.run_command("score", self.path("out"), "--csv"))
        self.assertIn("no significant difference between mine and on_a", self.run_command(
            "compare", "mine", "on_a", self.path("out")))
        self.assertIn("matches no instance", self.run_command("score", self.path("out"), "--instances", "x*", code=2))

        taken = f"{self.path('out')}: pair: taken: 20 ns, none was known\n1 of 1 placements taken\n"
        self.assertEqual(self.run_command("contribute", self.path("out")), taken)
        self.assertEqual({key: self.known()["pair"]["best"][key] for key in ("value", "by")}, {"value": 20, "by": "mine"})
        self.assertIn("1 of 1 instances hold", self.run_command("check"))
        self.assertEqual(self.run_command("contribute", self.path("out")), "0 of 0 placements taken\n")  # not better

    def test_placement_files(self) -> None:
        self.run_command("make")
        problem = benchmark.instance("pair", self.folder).problem()
        paths = {}
        for name, placement in (("29", [0, 0, 0]), ("20", [0, 0, 1])):
            paths[name] = self.path(f"{name}.json")
            problem.write_placement(np.array(placement, np.uint8), paths[name])
        self.assertIn("29.json: expected --by NAME", self.run_command("contribute", paths["29"], code=2))
        self.assertIn("taken: 29 ns, none was known", self.run_command("contribute", paths["29"], "--by", "me"))
        self.assertIn("taken: 20 ns, 29 ns is known", self.run_command("contribute", paths["20"], "--by", "you"))
        before = self.known()
        self.assertEqual(before["pair"]["best"]["by"], "you")
        self.assertIn("29.json: pair: refused: 29 ns, 20 ns is known\n0 of 1 placements taken",
                      self.run_command("contribute", paths["29"], "--by", "me", code=1))
        self.assertEqual(self.known(), before)
        text = pathlib.Path(paths["20"]).read_text(encoding="utf-8").replace('"pair"', '"pear"')
        pathlib.Path(paths["20"]).write_text(text, encoding="utf-8")
        self.assertIn("unknown instance 'pear'; did you mean 'pair'?",
                      self.run_command("contribute", paths["20"], "--by", "me", code=2))

    def test_what_run_refuses(self) -> None:
        self.run_command("make")
        for arguments, message in (
                (("heft", "--budget", "10"), "--budget: got '10', expected a time or a number of evaluations above 0"),
                (("heft", "--budget", "1.5e"), "--budget: got '1.5e'"),
                (("{name: [}",), "AGENT: got '{name: [}', expected a map with the key `name`"),
                (("heft", "--tier", "large"), "expected at least one instance"),
                (("no_such_agent", "--budget", "1e"), "no_such_agent")):
            done = command("benchmark", "run", *arguments, "--folder", self.folder, "-o", self.path("out"), code=2)
            self.assertIn(message, done.stderr)

    def test_the_config(self) -> None:
        self.run_command("make")
        config = sweep_config(["heft"], benchmark.instances(folder=self.folder), "2min", range(1, 3), 4, "slurm")
        self.assertEqual(config["base"], {"agents": ["heft"], "seeds": [1, 2], "threads": 4,
                                          "budget": {"seconds": 120.0, "evaluations": "none"}})
        self.assertEqual(config["overrides"][0]["semantics"], "stream")
        self.assertEqual(config["launcher"], {"name": "slurm"})
        self.assertEqual(budget_of("10000e"), {"evaluations": 10000, "seconds": "none"})
        self.assertIn(REFERENCE, [one.name for one in benchmark.instances("small")])
        self.assertGreater(reference_speed(0.01), 0)


class HiddenTier(TestCase):
    def files(self, folder: str) -> dict[str, bytes]:
        root = pathlib.Path(self.path(folder))
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    def test_the_same_seed_gives_the_same_bytes(self) -> None:
        for folder, seed in (("a", "3"), ("b", "3"), ("c", "4")):
            command("benchmark", "draw", "--seed", seed, "--count", "2", "-o", self.path(folder))
        self.assertEqual(self.files("a"), self.files("b"))
        self.assertEqual(len(self.files("a")), 6)  # two machines, two instances, recipes, known values
        self.assertTrue(set(self.files("a").values()).isdisjoint(self.files("c").values()))
        one, other = benchmark.instances(folder=self.path("a"))
        self.assertNotEqual(one.features, other.features)
        self.assertEqual((one.machine, one.licence), ("emplace benchmark draw --seed 3", "Apache-2.0"))
        self.assertTrue(one.source and other.source)
        self.assertIn("is not empty; expected a new folder",
                      command("benchmark", "draw", "--seed", "3", "-o", self.path("a"), code=2).stderr)
        self.assertIn("--count: got 0", command("benchmark", "draw", "--seed", "3", "--count", "0", "-o", self.path("d"),
                                                code=2).stderr)


class Environments(unittest.TestCase):
    def test_an_id_for_each_instance(self) -> None:
        import emplace.env

        for one in benchmark.instances():
            self.assertIn(f"emplace/{one.name}-v1", gymnasium.registry)
        env = gymnasium.make("emplace/nmt_24_queue-v1", formulation="improvement", horizon=2)
        self.assertIsInstance(env.unwrapped, emplace.env.PlacementEnv)
        _, info = env.reset(seed=0)
        self.assertEqual(info["placement"].shape, (24,))
        problem = benchmark.instance("nmt_24_queue").problem()
        self.assertEqual(info["step_time"], problem.evaluate(info["placement"][None]).step_time[0])
        envs = gymnasium.make_vec("emplace/nmt_24_queue-v1", num_envs=3, formulation="one_shot")
        self.assertEqual(envs.reset(seed=0)[1]["placement"].shape, (3, 24))
        with self.assertRaises(gymnasium.error.NameNotFound):
            gymnasium.make("emplace/nmt_25_queue-v1")


if __name__ == "__main__":
    unittest.main()
