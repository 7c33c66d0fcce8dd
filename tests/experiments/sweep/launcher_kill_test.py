#!/usr/bin/env python3
"""Kills what carries a sweep out, again and again, and compares what it ends with to undisturbed local processes.

    python3 tests/experiments/sweep/launcher_kill_test.py --program build/release/emplace --launcher hyperqueue
    scripts/slurm_localhost --cpus 2 python3 tests/experiments/sweep/launcher_kill_test.py \\
        --program build/release/emplace --launcher slurm

--kills workers and --kills servers are killed with SIGKILL, at random moments:

    launcher     worker                         server
    local        the process of a run           the sweep's process
    mpi          a rank above 0                 mpirun, or rank 0
    hyperqueue   a worker's process             HyperQueue's server, or the sweep's process
    slurm        a worker's process             slurmctld (started again), or the sweep's process

Where the sweep has ended for it, it is started again with --resume. At the end no run may be missing, none may have
been written again once it was done, and all attributes and datasets but times must be equal. Needs h5py; exit codes:
0 equal, 1 not, 77 something is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sweep_kill_test import children, results

import h5py  # sweep_kill_test skips without it

GRAPH = """{"format": "emplace-graph", "version": 1, "name": "chain", "tensors": [%s], "ops": [%s]}"""
CLUSTER = """name: inline
device_kinds: {c: {class: cpu}, g: {class: gpu}}
devices:
  - {name: "cpu:0", kind: c, memory: 8GiB}
  - {name: "gpu:0", kind: g, memory: 1GiB}
  - {name: "gpu:1", kind: g, memory: 1GiB}
all_to_all: {latency: 5us, bandwidth: 1GB/s, gap: 0us}
"""


def write_sweep(folder: Path, runs: int, evaluations: int) -> None:
    """`runs` searches of a small graph, one per seed."""
    count = 16
    tensors = ", ".join(f'{{"id": {i}, "bytes": 1000000}}' for i in range(count))
    ops = ", ".join(f'{{"id": {i}, "name": "o{i}", "kind": "k", "inputs": [{"" if i < 2 else i - 2}], '
                    f'"outputs": [{i}], "cost_ns": {{"g": {1000000 + 10000 * i}, "c": 5000000}}}}'
                    for i in range(count))
    (folder / "g.json").write_text(GRAPH % (tensors, ops))
    (folder / "c.yaml").write_text(CLUSTER)
    (folder / "s.yaml").write_text(
        f"base: {{graph: g.json, cluster: c.yaml, seeds: '0:{runs}', agents: [hill_climb],\n"
        f"       budget: {{evaluations: {evaluations}, seconds: 0}}}}\ncheckpoint_seconds: 0.05\n")


def processes(*words: str) -> list[int]:
    """Processes that have all these arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            arguments = path.read_bytes().decode(errors="replace").split("\0")
            if all(word in arguments for word in words):
                found.append(int(path.parent.name))
    return found


def rank_of(pid: int) -> int:
    with contextlib.suppress(OSError):
        for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                return int(variable.split(b"=")[1])
    return -1


class Sweep:
    """`emplace sweep --resume` with a launcher, and whom to kill."""

    def __init__(self, options: argparse.Namespace, folder: Path):
        self.launcher, self.folder = options.launcher, folder
        self.command = [str(options.program.resolve()), "sweep", "s.yaml", "--launcher", options.launcher, "--quiet",
                        "--jobs", "2", "--resume", "-o", str(folder)]
        if options.launcher == "mpi":
            self.command = ["mpirun", "--oversubscribe", "-n", "4", *self.command]
        self.environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                         "HQ_SERVER_DIR": "/nonexistent"}
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, cwd=self.folder.parent, env=self.environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def workers(self) -> list[int]:
        if self.launcher == "local":
            return children(self.process.pid)
        if self.launcher == "mpi":
            return [pid for pid in processes("sweep", str(self.folder)) if rank_of(pid) > 0]
        every = processes("sweep-worker", str(self.folder))
        return [pid for pid in every if not any(pid in children(other) for other in every)]  # not those of runs

    def servers(self) -> list[int]:
        """The sweep's process last."""
        own = [self.process.pid]
        if self.launcher == "mpi":
            return [pid for pid in processes("sweep", str(self.folder)) if rank_of(pid) == 0][:1] + own
        if self.launcher == "hyperqueue":
            return [pid for pid in children(self.process.pid) if pid in processes("cluster")] + own
        if self.launcher == "slurm":
            return [int((Path(os.environ["SLURM_LOCALHOST"]) / "slurmctld.pid").read_text()), *own]
        return own

    def kill_server(self, rng: random.Random) -> None:
        victim = rng.choice(self.servers())
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        if victim == self.process.pid:
            self.process.wait()
        elif self.launcher == "slurm":
            subprocess.run([Path(os.environ["SLURM_LOCALHOST"]) / "start_slurmctld"], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait(self) -> int:
        while self.process.poll() is None:
            self.mend()
            time.sleep(0.1)
        return self.process.returncode

    def mend(self) -> None:
        """What an administrator would do: Slurm takes a node out of service on which a task did not start."""
        if self.launcher == "slurm":
            state = subprocess.run(["sinfo", "--noheader", "--format=%N %T"], capture_output=True, text=True,
                                   check=False)
            for line in state.stdout.splitlines():
                node, _, word = line.partition(" ")
                if word.startswith("drain"):
                    subprocess.run(["scontrol", "update", f"NodeName={node}", "State=RESUME"], check=False)


class Done:
    """Which files said that their run is done, and whether they were written again."""

    def __init__(self, folder: Path):
        self.folder, self.seen = folder, {}

    def look(self) -> None:
        for path in (self.folder / "runs").glob("*.h5"):
            if path.name in self.seen:
                continue
            with open(path, "rb") as file, h5py.File(file, "r") as results_file:
                if all(agent.attrs["status"] in ("finished", "budget") for agent in results_file["agents"].values()):
                    self.seen[path.name] = os.fstat(file.fileno()).st_ino, os.fstat(file.fileno()).st_mtime_ns

    def written_again(self) -> list[str]:
        again = []
        for name, before in self.seen.items():
            status = (self.folder / "runs" / name).stat()
            if (status.st_ino, status.st_mtime_ns) != before:
                again.append(name)
        return again


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--launcher", choices=["local", "mpi", "hyperqueue", "slurm"], default="local")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.6, help="longest time between two kills [s]")
    options = parser.parse_args()
    needed = {"mpi": ["mpirun", "--version"], "hyperqueue": ["python3", "-c", "import hyperqueue"],
              "slurm": ["squeue", "--noheader"]}.get(options.launcher)
    if needed and (shutil.which(needed[0]) is None or
                   subprocess.run(needed, capture_output=True, check=False).returncode != 0):
        print(f"skipped: {' '.join(needed)} fails")
        return 77
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        whole, cut = Path(name) / "whole", Path(name) / "cut"
        write_sweep(Path(name), options.runs, options.evaluations)
        begin = time.monotonic()
        subprocess.run([options.program.resolve(), "sweep", "s.yaml", "--quiet", "--jobs", "2", "-o", "whole"],
                       cwd=name, check=True, stdout=subprocess.DEVNULL)
        print(f"undisturbed, local: {time.monotonic() - begin:.1f} s, {options.runs} runs", flush=True)

        sweep, done = Sweep(options, cut), Done(cut)
        left = ["worker"] * options.kills + ["server"] * options.kills
        rng.shuffle(left)
        starts = rounds = 0
        begin = time.monotonic()
        while left:
            if not sweep.runs():
                if sweep.process is not None and sweep.process.returncode == 0:  # done before all kills: once more
                    again = done.written_again()
                    if again:
                        break
                    shutil.rmtree(cut)
                    done, rounds = Done(cut), rounds + 1
                sweep.start()
                starts += 1
            time.sleep(rng.uniform(0, options.pause))
            sweep.mend()
            done.look()
            if not sweep.runs():
                continue
            if left[-1] == "server":
                sweep.kill_server(rng)
                left.pop()
            elif workers := sweep.workers():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(workers), signal.SIGKILL)
                    left.pop()
        if sweep.runs():
            sweep.wait()
        for _ in range(3):  # a killed process of a run makes a failed run, which --resume tries again
            sweep.start()
            if sweep.wait() == 0:
                break
        print(f"{options.launcher}: killed {options.kills} workers and {options.kills} servers, started {starts + 1} "
              f"times for {rounds + 1} sweeps; {time.monotonic() - begin:.1f} s", flush=True)
        again = done.written_again()
        if again:
            print(f"done twice: {', '.join(again)}", file=sys.stderr)
            return 1
        before, after = results(whole), results(cut)
        lost = before.keys() - after.keys()
        if lost:
            print(f"lost: {', '.join(sorted(lost))}", file=sys.stderr)
            return 1
        different = [run for run in before if before[run] != after[run]]
        if different:
            print(f"different: {', '.join(different)}", file=sys.stderr)
            return 1
        print(f"equal: all {len(before)} runs; {len(done.seen)} were seen done, none was written again")
    return 0


if __name__ == "__main__":
    sys.exit(main())
