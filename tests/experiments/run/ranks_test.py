#!/usr/bin/env python3
"""`emplace run` under mpirun: the same results for every number of ranks, kills, stops, and errors.

    python3 tests/experiments/run/ranks_test.py --program build/release/emplace [--kills 1]

All processes are on this machine. Results are equal but for date, times, the cores of a process and the number of
ranks. Exit codes: 0 as it should be, 1 not, 77 mpirun, the module of MPI or h5py is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from processes import children, mpi_rank
from results_files import TIMES, contents

import h5py  # results_files skips without it

DIFFERS = (*TIMES, "cpu", "resumed", "ranks")
# Batches of 600 ops are shared out from 219 placements on.
AGENTS = """\
  - {name: random, batch: 300}
  - {name: hill_climb, batch: 250}
  - {name: hill_climb, label: restarts, islands: 5, exchange: 100}
  - {name: genetic, islands: 4, exchange: 150}
  - {name: portfolio, turn: 200}
  - {name: simulated_annealing, chains: 3}
  - hierarchical
  - heft
"""
LONG = "  - {name: genetic, islands: 3, exchange: 60}\n  - {name: random, batch: 300}\n"
TIMEOUT = 120  # [s] of any run
# Of a rank that Open MPI has started, for a program that does not find its module of MPI.
WITHOUT_MODULE = {**os.environ, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2",
                  "EMPLACE_MPI_MODULE": "/nowhere/m.so"}
LONG_BUDGET = 60_000  # evaluations: some tenths of a second on a fast machine, so that a kill meets the search


def graph(count: int) -> str:
    draw = random.Random(1)
    tensors = [{"id": i, "bytes": draw.randrange(10**6)} for i in range(count)]
    ops = [{"id": i, "name": f"op{i}", "kind": "k", "outputs": [i],
            "inputs": sorted({draw.randrange(max(0, i - 20), i) for _ in range(2)}) if i else [],
            "cost_ns": {"g": draw.randrange(10**5), "c": draw.randrange(10**6)}} for i in range(count)]
    return json.dumps({"format": "emplace-graph", "version": 1, "name": "drawn", "tensors": tensors, "ops": ops})


CLUSTER = """
name: small
device_kinds: {c: {class: cpu}, g: {class: gpu}}
devices:
  - {name: "cpu:0", kind: c, memory: 8GiB}
  - {name: "gpu:0", kind: g, memory: 1GiB}
  - {name: "gpu:1", kind: g, memory: 1GiB}
all_to_all: {latency: 5us, bandwidth: 5GB/s}
"""


class Runs:
    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.folder = os.path.abspath(program), folder
        (folder / "g.json").write_text(graph(600))
        (folder / "c.yaml").write_text(CLUSTER)
        for name, agents in (("all", AGENTS), ("long", LONG)):
            (folder / f"{name}.yaml").write_text(
                f"graph: ./g.json\ncluster: ./c.yaml\nseeds: [3]\nsemantics: stream\nagents:\n{agents}")

    def command(self, ranks: int, config: str, output: str, *more: str) -> list[str]:
        """@param ranks  0: without mpirun"""
        run = [self.program, "run", f"./{config}.yaml", "-o", output, "--quiet", *more]
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return ["mpirun", *root, "--oversubscribe", "-n", str(ranks), *run] if ranks else run

    def start(self, *arguments: object) -> subprocess.Popen:
        return subprocess.Popen(self.command(*arguments), cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run(self.command(*arguments), cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT)

    def equal(self, expected: str, output: str, ranks: int) -> None:
        before, now = (contents(self.folder / name, DIFFERS) for name in (expected, output))
        differing = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
        assert not differing, f"{output} differs from {expected}: {differing[:10]}"
        with h5py.File(self.folder / output, "r") as file:
            found = int(file["config"].attrs["ranks"])
        assert found == ranks, f"{output}: expected {ranks} ranks, got {found}"
        print(f"equal: {expected}, {output} of {ranks} ranks ({len(now)} entries)", flush=True)


def budget(evaluations: int) -> list[str]:
    return ["--set", f"budget={{evaluations: {evaluations}, seconds: none}}"]


def succeed(done: subprocess.CompletedProcess) -> None:
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stdout}\n{done.stderr}"


def check_equal(runs: Runs, counts: list[int]) -> None:
    succeed(runs.run(0, "all", "alone.h5", *budget(450)))
    for count in counts:
        done = runs.run(count, "all", f"over{count}.h5", *budget(450))
        succeed(done)
        assert done.stdout.count("graph    drawn") == 1, "rank 0 alone prints: " + done.stdout
        assert f"ranks    {count}, each with" in done.stdout, done.stdout
        runs.equal("alone.h5", f"over{count}.h5", count)


def has_checkpoint(path: Path) -> bool:
    try:
        with h5py.File(path, "r") as file:
            return any("checkpoint" in group for group in file["agents"].values())
    except (OSError, KeyError):  # not there yet
        return False


def emplace_processes(launcher: int) -> dict[int, int]:
    """{rank: process} below a process."""
    found, waiting = {}, [launcher]
    while waiting:
        process = waiting.pop()
        waiting += children(process)
        if mpi_rank(process) >= 0:
            found[mpi_rank(process)] = process
    return found


def signal_rank(runs: Runs, output: str, rank: int, number: int) -> subprocess.CompletedProcess:
    """Signals one of two ranks once there is a checkpoint."""
    process = runs.start(2, "long", output, "--checkpoint", "0.02", *budget(LONG_BUDGET))
    end = time.monotonic() + TIMEOUT
    while not has_checkpoint(runs.folder / output):
        assert process.poll() is None, f"ended before a checkpoint: {process.communicate()}"
        assert time.monotonic() < end, "no checkpoint"
        time.sleep(0.02)
    os.kill(emplace_processes(process.pid)[rank], number)
    out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode != 0, f"exit code 0: {out}"
    return subprocess.CompletedProcess([], process.returncode, out, err)


def check_kills(runs: Runs, kills: int) -> None:
    succeed(runs.run(0, "long", "whole.h5", *budget(LONG_BUDGET)))
    for kill in range(kills):
        for rank, resumed_on in ((1, 4), (0, 0)):
            output = f"killed{kill}_{rank}.h5"
            signal_rank(runs, output, rank, signal.SIGKILL)
            assert has_checkpoint(runs.folder / output), "the checkpoint is gone"
            succeed(runs.run(resumed_on, "long", output, "--resume", *budget(LONG_BUDGET)))
            runs.equal("whole.h5", output, max(1, resumed_on))
    # Asked to stop, rank 0 tells the others; the launcher is not needed for it.
    done = signal_rank(runs, "stopped.h5", 0, signal.SIGTERM)
    assert "emplace: stopped: " in done.stderr, done.stderr
    succeed(runs.run(2, "long", "stopped.h5", "--resume", *budget(LONG_BUDGET)))
    runs.equal("whole.h5", "stopped.h5", 2)


def refuse(done: subprocess.CompletedProcess, code: int, *parts: str) -> None:
    told = [line for line in done.stderr.splitlines() if line.startswith("emplace: ")]
    assert done.returncode == code, f"exit code {done.returncode}, not {code}: {done.stderr}"
    assert len(told) == 1 and all(part in told[0] for part in parts), f"{parts} expected once in {done.stderr}"
    print(f"refused: {told[0]}", flush=True)


def check_errors(runs: Runs) -> None:
    refuse(runs.run(0, "all", "e.h5", "--set", "ranks=mpi"), 2, "ranks", "mpirun -n N emplace run",
           "choices: auto, none")
    refuse(runs.run(2, "all", "e.h5", "--set", "ranks=none"), 2, "mpirun started 2",
           "choices: auto, mpi")
    refuse(runs.run(0, "all", "e.h5", "--set", "ranks=local"), 2, 'unknown ranks "local"; it is now called "none"')
    refuse(runs.run(3, "all", "e.h5", "--set", "graph=./nowhere.json"), 2, "nowhere.json")
    # Results of two ranks go to a folder that is not there: rank 0 alone notices.
    refuse(runs.run(2, "all", "nowhere/e.h5", *budget(10)), 1, "nowhere/e.h5")
    # Two programs that do not the same.
    both = [*runs.command(1, "all", "e.h5", *budget(10)), ":", "-n", "1",
            *runs.command(0, "all", "e.h5", *budget(11))]
    refuse(subprocess.run(both, cwd=runs.folder, text=True, capture_output=True, timeout=TIMEOUT), 1,
           "ranks diverged at meeting", "rank 0 begins", "rank 1 begins")
    refuse(subprocess.run(runs.command(0, "all", "e.h5"), cwd=runs.folder, text=True, capture_output=True,
                          env=WITHOUT_MODULE, timeout=TIMEOUT), 1,
           "a launcher started 2 processes of emplace, which would all do the same", "/nowhere/m.so")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--ranks", default="2,4", help="numbers of ranks, with commas")
    parser.add_argument("--kills", type=int, default=1, help="of each of two ranks")
    options = parser.parse_args()
    if shutil.which("mpirun") is None:
        print("skipped: mpirun is missing (openmpi-bin)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder  # a launcher whose rank is killed leaves files
        runs = Runs(options.program, Path(folder))
        probe = subprocess.run(runs.command(0, "all", "e.h5", *budget(1)), cwd=folder, text=True,
                               capture_output=True, env=WITHOUT_MODULE)
        if "built without MPI" in probe.stderr:
            print("skipped: built without MPI (libopenmpi-dev)")
            sys.exit(77)
        check_errors(runs)
        check_equal(runs, [int(text) for text in options.ranks.split(",")])
        check_kills(runs, options.kills)


if __name__ == "__main__":
    main()
