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

from launcher_sweep import LAUNCHERS, LauncherSweep, missing, run_undisturbed, write_sweep
from results_files import sweep_contents

import h5py  # results_files skips without it


def kill_server(sweep: LauncherSweep, rng: random.Random) -> None:
    victim = rng.choice(sweep.servers())
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, signal.SIGKILL)
    if victim == sweep.process.pid:
        sweep.process.wait()
    elif sweep.launcher == "slurm":
        subprocess.run([Path(os.environ["SLURM_LOCALHOST"]) / "start_slurmctld"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


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
    parser.add_argument("--launcher", choices=LAUNCHERS, default="local")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.6, help="longest time between two kills [s]")
    options = parser.parse_args()
    if missing(options.launcher):
        print(f"skipped: {missing(options.launcher)} fails")
        return 77
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        whole, cut = Path(name) / "whole", Path(name) / "cut"
        write_sweep(Path(name), options.runs, options.evaluations)
        seconds = run_undisturbed(options.program, Path(name), "whole")
        print(f"undisturbed, local: {seconds:.1f} s, {options.runs} runs", flush=True)

        sweep, done = LauncherSweep(options.program, options.launcher, cut), Done(cut)
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
                kill_server(sweep, rng)
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
        before, after = sweep_contents(whole), sweep_contents(cut)
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
