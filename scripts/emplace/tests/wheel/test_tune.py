"""Settings of agents, searched for with Optuna."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import signal
import subprocess
import sys
import unittest
from typing import Any

import emplace
import h5py
import yaml
from emplace.tuning.command import report
from wheel_support import COMMAND, HERE, TestCase, chain, command

HAS_OPTUNA = importlib.util.find_spec("optuna") is not None
CONFIG = {
    "base": {"graph": "inception_v3", "cluster": "2xk80", "coarsen": ["colocate", {"merge_cheapest": {"groups": 24}}],
             "agents": ["hill_climb"], "seeds": [0, 1], "budget": {"evaluations": 200, "seconds": "none"}},
    "draw": {"agents.hill_climb.batch": {"int": [1, 64], "log": True},
             "agents.hill_climb.start": {"choice": [["random"], ["single_gpu"]]}},
    "trials": 8, "checkpoints": 4,
}


def changed(**keys: Any) -> dict[str, Any]:
    return {**copy.deepcopy(CONFIG), **keys}


def outline(tuned: emplace.Tuned) -> list[tuple[str, float | None, dict[str, Any]]]:
    return [(trial.state, trial.value, trial.settings) for trial in tuned.trials]


@unittest.skipUnless(HAS_OPTUNA, "needs the package optuna")
class Studies(TestCase):
    def write(self, config: dict[str, Any], name: str = "tune.yaml") -> str:
        with open(self.path(name), "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)
        return self.path(name)

    def test_the_same_trials_again_whole_or_in_parts(self) -> None:
        whole = emplace.tune(CONFIG, output=self.path("whole"))
        self.assertEqual(len(whole.trials), 8)
        emplace.tune(CONFIG, output=self.path("parts"), trials=3)
        parts = emplace.tune(CONFIG, output=self.path("parts"))
        self.assertEqual(outline(parts), outline(whole))
        other = emplace.tune(changed(seed=1), output=self.path("other"))
        self.assertNotEqual(outline(other), outline(whole))
        self.assertEqual(len(parts.study.trials), 8)

    def test_the_value_is_that_of_the_results(self) -> None:
        """The median of two seeds is the mean of their step times."""
        tuned = emplace.tune(changed(pruner="none", trials=2), output=self.path("out"))
        assert tuned.best is not None
        with h5py.File(self.path(f"out/trials/{tuned.best.number:04d}.h5")) as file:
            times = [file[f"agents/hill_climb.seed{seed}/evaluations"]["best_step_time_ns"][-1] for seed in (0, 1)]
        self.assertEqual(tuned.step_times, [(times[0] + times[1]) / 2])
        with open(self.path("out/best.yaml"), encoding="utf-8") as best:
            config = yaml.safe_load(best)
        self.assertEqual(config["agents"], [tuned.agent])
        again = emplace.run(config={key: value for key, value in config.items() if key != "agents"},
                            agents=config["agents"], seeds=2, output=self.path("again.h5"))
        self.assertAlmostEqual(again["agents"][0]["step_time_ns"]["median"], tuned.step_times[0] or 0, delta=1)

    def test_several_problems_are_a_geometric_mean(self) -> None:
        problems = [{}, {"cluster": "4xk80"}]
        tuned = emplace.tune(changed(problems=problems, pruner="none", trials=2), output=self.path("out"))
        assert tuned.best is not None
        self.assertEqual(len(tuned.step_times), 2)
        product = 1.0
        for problem, step_time in enumerate(tuned.step_times):
            with h5py.File(self.path(f"out/trials/{tuned.best.number:04d}.{problem}.h5")) as file:
                bests = [file[f"agents/hill_climb.seed{seed}/evaluations"]["best_step_time_ns"][-1] for seed in (0, 1)]
            self.assertEqual(step_time, sum(bests) / 2)
            coarsen: Any = CONFIG["base"]["coarsen"]  # type: ignore[index]
            bound = emplace.Problem("inception_v3", ["2xk80", "4xk80"][problem], coarsen=coarsen).bounds().value
            product *= step_time / bound
        self.assertAlmostEqual(tuned.best.value or 0, product ** 0.5)

    def test_what_matters(self) -> None:
        """Everything on device 0, 1 or 2 takes 97, 72 or 116 ns, whatever the other setting is."""
        problem = chain([[10, 20, 40], [30, 5, 9], [7, 7, 7], [50, 40, 60]])
        problem.graph.write(self.path("g.json"))
        problem.cluster.write(self.path("c.yaml"))
        costs = problem.costs.tolist()
        with open(self.path("g.json"), encoding="utf-8") as file:
            graph = json.load(file)
        for op, row in zip(graph["ops"], costs):
            op["cost_ns"] = {f"kind{device}": cost for device, cost in enumerate(row)}
        with open(self.path("g.json"), "w", encoding="utf-8") as file:
            json.dump(graph, file)
        config = {"base": {"graph": self.path("g.json"), "cluster": self.path("c.yaml"),
                           "agents": [{"name": f"python:{HERE}/my_agents.py:Fixed", "label": "fixed"}]},
                  "draw": {"agents.fixed.device": {"choice": [0, 1, 2]}, "agents.fixed.unused": {"float": ["1e-3", 1]}},
                  "trials": 20, "sampler": "random", "pruner": "none"}
        tuned = emplace.tune(config, output=self.path("out"))
        assert tuned.best is not None
        self.assertEqual((tuned.best.settings["agents.fixed.device"], tuned.step_times), (1, [72]))
        self.assertEqual(tuned.agent["device"], 1)
        self.assertEqual(next(iter(tuned.importances)), "agents.fixed.device")
        self.assertAlmostEqual(sum(tuned.importances.values()), 1)
        self.assertIn("agents.fixed.device", report(tuned))

    def test_bad_trials_are_pruned(self) -> None:
        tuned = emplace.tune(changed(trials=20, sampler="random"), output=self.path("out"))
        self.assertGreater(tuned.count("pruned"), 0)
        self.assertEqual(tuned.count("pruned") + tuned.count("complete"), 20)
        pruned = [trial.number for trial in tuned.trials if trial.state == "pruned"]
        searches = []
        for number in pruned:
            with h5py.File(self.path(f"out/trials/{number:04d}.h5")) as file:
                searches += [len(file[f"agents/{label}/evaluations"]) for label in file["agents"]
                             if "evaluations" in file[f"agents/{label}"]]
        self.assertLess(min(searches), 200)

    def test_processes_share_the_trials(self) -> None:
        tuned = emplace.tune(changed(pruner="none"), output=self.path("out"), trials=5, jobs=2)
        self.assertEqual([trial.state for trial in tuned.trials], ["complete"] * 5)

    def test_the_command(self) -> None:
        path = self.write(CONFIG)
        done = command("tune", path, "-o", self.path("out"))
        self.assertIn("importance of settings", done.stdout)
        self.assertIn("#7 ", done.stderr)
        settings = done.stdout[done.stdout.index("agents:"):done.stdout.index("\nimportance of settings")]
        self.assertEqual(yaml.safe_load(settings)["agents"][0]["name"], "hill_climb")
        self.assertEqual(json.loads(command("tune", path, "-o", self.path("out"), "--json", "--quiet").stdout)["folder"],
                         self.path("out"))
        self.assertEqual(yaml.safe_load(command("tune", "--help-config").stdout)["trials"], 50)
        refused = command("tune", self.write(changed(seed=5)), "-o", self.path("out"), code=2)
        self.assertIn("seed: got 5, and the trials in", refused.stderr)

    def test_ctrl_c_keeps_what_is_done(self) -> None:
        config = changed(trials=400, pruner="none")
        for jobs in ("1", "2"):
            with self.subTest(jobs=jobs):
                out = self.path(f"out{jobs}")
                process = self.started([*COMMAND, "tune", self.write(config), "-o", out, "--jobs", jobs],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                self.wait_for(f"{out}/trials/0003.h5")
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 1, errors)
                self.assertIn("the same command resumes", errors)
                done = emplace.tune(config, output=out, trials=1)
                kept = done.count("complete")
                self.assertGreaterEqual(kept, 2)
                self.assertEqual(emplace.tune(config, output=out, trials=kept + 2).count("complete"), kept + 2)

    def test_mistakes_are_named(self) -> None:
        hill = {"agents.hill_climb.batch": {"int": [1, 64]}}
        for keys, message in [
                ({"sampelr": "tpe"}, "unknown key 'sampelr'; did you mean 'sampler'"),
                ({"sampler": "grid"}, "sampler: unknown sampler 'grid'; choices: random, tpe"),
                ({"pruner": "mediam"}, "did you mean 'median'"),
                ({"trials": 0}, "trials: got 0, expected a whole number of at least 1"),
                ({"draw": {}}, "draw: got {}, expected a map of at least one key"),
                ({"draw": {"agents.hill_climb.batch": {"int": [64, 1]}}}, "batch: int: got \\[64, 1\\], expected a low end"),
                ({"draw": {"agents.hill_climb.batch": {"int": [0, 9], "log": True}}}, "a low end above 0, because log"),
                ({"draw": {"agents.hill_climb.batch": {"ints": [1, 9]}}}, "expected {int: \\[LOW, HIGH\\]}"),
                ({"draw": {"agents.hill_climb.batch": {"int": [1, 9], "lgo": True}}},
                 "batch: unknown key 'lgo'; did you mean 'log'\\?"),
                ({"draw": {"agents.hill_climb.batch": {"int": [1.5, 9]}}}, "got 1.5, expected a whole number"),
                ({"draw": {"agents.hillclimb.batch": {"int": [1, 9]}}}, "unknown agent 'hillclimb'; did you mean 'hill_climb'"),
                ({"draw": {"agents.hill_climb.bacth": {"int": [1, 9]}}}, "draw: agents.hill_climb.bacth: 1: .*batch"),
                ({"draw": {"agents.hill_climb.batch": {"int": [-5, 9]}}}, "draw: agents.hill_climb.batch: -5: .*batch"),
                ({"draw": {**hill, "semantics": {"choice": ["queue", "steam"]}}}, "draw: semantics: 'steam': .*stream"),
                ({"problems": [{"graph": "inception_v4"}]}, "problems.0: .*inception_v4")]:
            with self.subTest(message), self.assertRaisesRegex(emplace.InputError, message):
                emplace.tune(changed(**keys), output=self.path("out"))
        self.assertFalse(os.path.exists(self.path("out")))
        refused = command("tune", self.write(changed(trails=3)), code=2)
        self.assertEqual(refused.stdout, "")
        self.assertIn(f"{self.path('tune.yaml')}: unknown key 'trails'; did you mean 'trials'", refused.stderr)
        self.assertIn("no.yaml: No such file", command("tune", "no.yaml", code=2).stderr)


class WithoutOptuna(TestCase):
    def test_it_says_how_to_get_it(self) -> None:
        code = ("import sys; sys.modules['optuna'] = None; from emplace.tuning.command import main; "
                f"sys.exit(main([{self.path('t.yaml')!r}]))")
        with open(self.path("t.yaml"), "w", encoding="utf-8") as file:
            yaml.safe_dump(CONFIG, file)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("pip install 'optuna>=4'", done.stderr)


if __name__ == "__main__":
    unittest.main()
