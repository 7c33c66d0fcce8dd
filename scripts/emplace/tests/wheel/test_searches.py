"""Searches of the installed package: compiled agents, agents in Python, results, resume, sweeps, ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import unittest

import emplace
import h5py
import my_agents
from emplace.results import load_runs
from wheel_support import COMMAND, HERE, TestCase, chain, command

COARSE = [{"merge_cheapest": {"groups": 24}}]


class InMemory(TestCase):
    def test_every_compiled_agent_is_there(self) -> None:
        problem = chain([[10, 20], [30, 5], [7, 7]])
        for name in emplace.agent_names():
            with self.subTest(name):
                help_ = emplace.agent_help(name)
                self.assertEqual(help_["name"], name)
        found = emplace.search(problem, "branch_and_bound")
        self.assertEqual((found.status, found.step_time, found.bound), ("finished", 32, 32))
        self.assertEqual(found.placement.tolist(), [1, 1, 1])

    def test_settings_seeds_and_budgets(self) -> None:
        problem = emplace.Problem("inception_v3", "2xk80", coarsen=COARSE)
        first = emplace.search(problem, "simulated_annealing", seed=4, evaluations=500, chains=2)
        again = emplace.search(problem, "simulated_annealing", seed=4, evaluations=500, chains=2)
        self.assertEqual(first.evaluations, 500)
        self.assertEqual(first.step_times.tolist(), again.step_times.tolist())
        self.assertEqual(first.best_step_times[-1], first.step_time)
        with self.assertRaisesRegex(emplace.InputError, "chainz.*did you mean .*chains"):
            emplace.search(problem, "simulated_annealing", chainz=2)
        with self.assertRaisesRegex(emplace.InputError, 'did you mean "hill_climb"'):
            emplace.search(problem, "hill_clim")

    def test_agents_in_python(self) -> None:
        problem = emplace.Problem("inception_v3", "2xk80", coarsen=COARSE)
        first = emplace.search(problem, my_agents.Sampler, seed=1, evaluations=100, batch=30)
        self.assertEqual((first.status, first.evaluations, first.steps), ("budget", 100, 3))
        again = emplace.search(problem, "python:my_agents.Sampler", seed=1, evaluations=100, batch=30)
        self.assertEqual(first.step_times.tolist(), again.step_times.tolist())
        other = emplace.search(problem, {"name": my_agents.Sampler, "batch": 30}, seed=2, evaluations=100)
        self.assertNotEqual(first.step_times.tolist(), other.step_times.tolist())
        ended = emplace.search(problem, my_agents.Sampler, rounds=3)
        self.assertEqual(ended.status, "finished")
        self.assertEqual(ended.best_step_times[-1], ended.step_time)
        self.assertEqual(problem.evaluate(ended.placement[None]).step_time[0], ended.step_time)

    def test_what_fails_says_where(self) -> None:
        problem = chain([[10, 20], [30, 5]])
        with self.assertRaisesRegex(emplace.RunError, r"my_agents.Broken: KeyError at .*my_agents.py:\d+: 'nothing here'"):
            emplace.search(problem, my_agents.Broken, steps=1)
        with self.assertRaisesRegex(emplace.RunError, "only be used within its own step"):
            emplace.search(problem, my_agents.Keeps, steps=2)
        for name, message in [("python:my_agents.Smapler", "choices: .*Sampler"), ("python:no_such.Thing", "no_such"),
                              ("python:/no/file.py:A", "no such Python file"), ("python:x", "expected python:MODULE")]:
            with self.assertRaisesRegex(emplace.InputError, message):
                emplace.search(problem, name, steps=1)
        with self.assertRaisesRegex(emplace.InputError, "unknown setting 'bacth'; choices: batch, rounds"):
            emplace.search(problem, my_agents.Sampler, steps=1, bacth=3)


class Results(TestCase):
    def test_a_run_is_as_the_commands(self) -> None:
        problem = emplace.Problem("inception_v3", "2xk80", coarsen=COARSE)
        agents = ["heft", ("hill_climb", {"patience": 50}), (my_agents.Sampler, {"label": "mine", "batch": 8})]
        table = emplace.run(problem, agents, seeds=2, evaluations=200, output=self.path("r.h5"))
        self.assertEqual({row["agent"] for row in table["agents"]}, {"heft", "hill_climb", "mine"})
        loaded = load_runs(table["results"])
        mine = loaded.runs[loaded.runs["agent"] == "mine"]
        self.assertEqual(mine["evaluations"].tolist(), [200, 200])
        with h5py.File(table["results"]) as file:
            self.assertEqual(file["agents/mine.seed0"].attrs["agent"], "python:my_agents.Sampler")
            self.assertEqual(file["agents/mine.seed0/updates"].dtype.names, ("mean", "least"))
        for words in (["table", table["results"]], ["report", table["results"], "-o", self.path("r.html")]):
            command(*words)
        found = emplace.search(problem, my_agents.Sampler, seed=1, evaluations=200, batch=8)
        row = mine[mine["seed"] == 1].iloc[0]
        self.assertEqual(row["best_step_time_ns"], found.step_time)

    def test_a_problem_in_memory_is_written_beside(self) -> None:
        problem = chain([[10, 20], [30, 5], [7, 7]])
        table = emplace.run(problem, ["branch_and_bound"], output=self.path("r.h5"))
        self.assertTrue(table["optimal"])
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["r.cluster.yaml", "r.graph.json.gz", "r.h5", "r.placement.json"])
        again = emplace.Problem(self.path("r.graph.json.gz"), self.path("r.cluster.yaml"))
        self.assertEqual(again.costs.tolist(), problem.costs.tolist())
        command("report", self.path("r.h5"), "-o", self.path("r.html"))

    def test_results_are_not_written_over_unasked(self) -> None:
        """Nor is the graph beside them, which they name."""
        problem, other = chain([[10, 20], [30, 5], [7, 7]]), chain([[1, 2]])
        emplace.run(problem, ["heft"], output=self.path("r.h5"))
        with open(self.path("r.graph.json.gz"), "rb") as file:
            graph = file.read()
        with self.assertRaisesRegex(emplace.InputError, "r.h5: holds run r of .* on .*, 1 search; force=True overwrites "
                                                        "it, resume=True continues it, output names another file"):
            emplace.run(other, ["heft"], output=self.path("r.h5"))
        with open(self.path("r.graph.json.gz"), "rb") as file:
            self.assertEqual(file.read(), graph)
        emplace.run(problem, ["heft"], output=self.path("r.h5"), resume=True)
        emplace.run(other, ["heft"], output=self.path("r.h5"), force=True)

    def test_yaml_sweeps_and_resume(self) -> None:
        with open(self.path("s.yaml"), "w", encoding="utf-8") as file:
            file.write("base:\n  graph: inception_v3\n  cluster: 2xk80\n  coarsen: [{merge_cheapest: {groups: 24}}]\n"
                       f"  agents: [heft, {{name: 'python:{HERE}/my_agents.py:Sampler', label: mine}}]\n"
                       "  seeds: [0, 1]\n  budget: {evaluations: 300, seconds: none}\n"
                       "grid:\n  semantics: [queue, stream]\n")
        command("sweep", self.path("s.yaml"), "-o", self.path("out"), "--jobs", "2", "--quiet")
        loaded = load_runs(self.path("out"))
        self.assertEqual((loaded.runs["agent"] == "mine").sum(), 4)
        self.assertTrue((loaded.runs[loaded.runs["agent"] == "mine"]["evaluations"] == 300).all())
        again = command("sweep", self.path("s.yaml"), "-o", self.path("out"), "--resume", "--quiet")
        self.assertEqual(again.returncode, 0)

    def test_ctrl_c_and_resume(self) -> None:
        """Stopped after a second and resumed, the search is bit for bit the one that was never stopped."""
        arguments = ["run", "quickstart", "--set", "graph=inception_v3", "--set", "cluster=2xk80", "--set",
                     "agents=[{name: 'python:my_agents.Sampler', label: mine, batch: 64}]", "--set", "seeds=[5]",
                     "--set", "budget={evaluations: 30000, seconds: none}", "--quiet"]
        whole = command(*arguments, "-o", self.path("whole.h5"))
        self.assertEqual(whole.returncode, 0)
        process = self.started([*COMMAND, *arguments, "-o", self.path("part.h5")], cwd=HERE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
        self.wait_for(self.path("part.h5"))
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        if process.returncode != 0:  # it was not over already
            self.assertIn("--resume continues from there", errors)
            command(*arguments, "-o", self.path("part.h5"), "--resume")
        with h5py.File(self.path("whole.h5")) as a, h5py.File(self.path("part.h5")) as b:
            group = "agents/mine.seed5"
            self.assertEqual(a[group]["evaluations"]["step_time_ns"].tolist(),
                             b[group]["evaluations"]["step_time_ns"].tolist())
            self.assertEqual(a[group]["updates"][:].tolist(), b[group]["updates"][:].tolist())

    def test_ctrl_c_in_python(self) -> None:
        code = ("import emplace, time\np = emplace.Problem('inception_v3', '2xk80')\ntry:\n"
                "    emplace.search(p, 'hill_climb', seconds=60, callback=lambda progress: print('begun'))\n"
                "except KeyboardInterrupt as e:\n    print('stopped:', e)\n"
                "try:\n    print('goes on')\n    time.sleep(60)\n"
                "except KeyboardInterrupt:\n    print('own handler is back')\n")
        process = self.started([sys.executable, "-u", "-c", code], stdout=subprocess.PIPE)
        assert process.stdout is not None
        self.assertEqual(process.stdout.readline(), "begun\n")
        process.send_signal(signal.SIGINT)
        after = next(line for line in process.stdout if line != "begun\n")
        self.assertIn("stopped", after)
        self.assertIn("goes on", process.stdout.readline())
        process.send_signal(signal.SIGINT)
        self.assertIn("own handler is back", process.communicate(timeout=30)[0])

    def test_ctrl_c_is_not_lost_when_a_callback_throws(self) -> None:
        def stop(_: emplace.Progress) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            raise ValueError("of the callback")

        earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with self.assertRaises(KeyboardInterrupt):
                try:
                    emplace.search(emplace.Problem("inception_v3", "2xk80"), "hill_climb", seconds=60, callback=stop)
                except ValueError:
                    time.sleep(30)
        finally:
            signal.signal(signal.SIGINT, earlier)


class CommandLine(unittest.TestCase):
    def test_every_command_and_two_more(self) -> None:
        told = command("--help").stdout
        for name in ("run", "sweep", "table", "simulate", "graph", "list", "export", "import", "tune"):
            self.assertRegex(told, rf"(?m)^\s+{name}\s")
        command("list", "graphs")
        wrong = command("simulat", code=2)
        command("import", "no_such.xyz", code=2)


if __name__ == "__main__":
    unittest.main()
