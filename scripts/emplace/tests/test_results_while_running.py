"""Results files can be opened by h5py at any moment of a run. Needs the program: $EMPLACE_PROGRAM."""

from __future__ import annotations

import os
import subprocess
import unittest
from collections import Counter

from results_support import TestCase

import h5py
import numpy as np

from emplace.results import load_runs

PROGRAM = os.environ.get("EMPLACE_PROGRAM", "")


class Reader:
    """Opens every .h5 file of a folder, over and over, and remembers how far each run was."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.evaluations: dict[str, int] = {}  # by file and run
        self.openings: Counter[str] = Counter()  # by file

    def read_all(self) -> None:
        for parent, _, names in os.walk(self.folder):
            for name in sorted(names):
                if name.endswith(".h5"):
                    self.read(os.path.join(parent, name))

    def read(self, path: str) -> None:
        self.openings[path] += 1
        with h5py.File(path, "r") as file:
            assert file.attrs["format"] == "emplace-results"
            num_ops = len(file["problem/op_names"])
            for label, group in file.get("agents", {}).items():
                self.read_run(f"{path}/{label}", group, num_ops)

    def read_run(self, run: str, group: h5py.Group, num_ops: int) -> None:
        """Everything in it, held against the other things in it and against the last time."""
        table = group["evaluations"][()]
        best = table["best_step_time_ns"]
        assert len(table) == group.attrs["evaluations"], run
        assert (table["index"] == np.arange(len(table))).all(), run
        assert (np.diff(table["wall_seconds"]) >= 0).all(), run
        fits = table["feasible"] != 0
        so_far = np.minimum.accumulate(np.where(fits, table["step_time_ns"].astype(float), np.inf))
        assert np.array_equal(np.nan_to_num(best, nan=np.inf), so_far), run
        if "best" in group:
            assert len(group["best/placement"][()]) == num_ops, run
            index = group["best/outcome"].attrs["evaluation"]
            assert table["step_time_ns"][index] == group["best/outcome"].attrs["step_time_ns"], run
        assert group.attrs["status"] in ("finished", "budget", "stopped"), run
        assert (group.attrs["status"] == "stopped") == ("checkpoint" in group), run
        assert len(table) >= self.evaluations.get(run, 0), f"{run}: lost evaluations"
        self.evaluations[run] = len(table)


@unittest.skipUnless(os.access(PROGRAM, os.X_OK), "needs $EMPLACE_PROGRAM, the path of emplace")
class WhileRunning(TestCase):

    def watch(self, *arguments: str) -> Reader:
        """Starts the program; reads until it has ended, and once more."""
        reader = Reader(self.folder)
        with open(self.path("output.txt"), "w+", encoding="utf-8") as output:
            with subprocess.Popen([PROGRAM, *arguments], stdout=output, stderr=output) as process:
                try:
                    while process.poll() is None:
                        reader.read_all()
                finally:
                    process.kill()
            output.seek(0)
            self.assertEqual(process.returncode, 0, output.read())
        reader.read_all()
        return reader

    def write_config(self, text: str) -> str:
        path = self.path("config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_a_sweep_with_checkpoints(self) -> None:
        config = self.write_config("base:\n  graph: gpt2_mini_torch\n  coarsen: [colocate, gradients]\n"
                                   "  agents: [single_gpu, hill_climb, post]\n  seeds: 0:2\n"
                                   "  budget: {evaluations: 400, seconds: none}\n"
                                   "grid:\n  cluster: [2xk80, 4xk80]\ncheckpoint_seconds: 0.01\n")
        reader = self.watch("sweep", config, "-o", self.path("sweep"), "--jobs", "2")
        self.assertEqual(len(reader.openings), 10)
        loaded = load_runs(self.path("sweep"))
        self.assertEqual(loaded.not_run, ())
        self.assertEqual(set(loaded.runs.loc[loaded.runs["uses_seed"], "evaluations"]), {400})

    def test_a_run(self) -> None:
        config = self.write_config("graph: gpt2_mini_torch\ncluster: 2xk80\ncoarsen: [colocate, gradients]\n"
                                   "agents: [single_gpu, heft, hill_climb, simulated_annealing, post]\n"
                                   "seeds: 0:3\nbudget: {evaluations: 400, seconds: none}\n")
        reader = self.watch("run", config, "-o", self.path("run.h5"), "--jobs", "2")
        self.assertEqual(list(reader.openings), [self.path("run.h5")])
        self.assertEqual(len(load_runs(self.path("run.h5")).runs), 11)
        self.assertEqual(len(reader.evaluations), 11)


if __name__ == "__main__":
    unittest.main()
