#!/usr/bin/env python3
"""Stops a sweep below a launcher's real engine by ctrl-C and by SIGTERM; another launcher goes on with it.

    python3 tests/experiments/sweep/launcher_stop_test.py --program build/release/emplace --launcher hyperqueue
    scripts/slurm_localhost --cpus 2 python3 tests/experiments/sweep/launcher_stop_test.py \\
        --program build/release/emplace --launcher slurm

ctrl-C is SIGINT for all processes of the terminal, SIGTERM is for the one that was started. Each must end the sweep
within --patience seconds with exit code 1 and the message that local processes end with, and leave no process and no file in the temporary
folder. Then --resume with the next launcher whose engine is here must end with the results of an undisturbed sweep. Needs h5py; exit
codes: 0 as it should be, 1 not, 77 something is missing.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

from launcher_sweep import LAUNCHERS, LauncherSweep, missing, run_undisturbed, write_sweep
from results_files import sweep_contents

RUNS = 16
WORKERS = 4  # at most
STOPPED = re.compile(rf"^emplace: stopped: (\d+) of {RUNS} runs are done; --resume continues from there$", re.MULTILINE)


def next_launcher(launcher: str) -> str:
    place = LAUNCHERS.index(launcher)
    return next(other for other in LAUNCHERS[place + 1:] + LAUNCHERS[:place] if not missing(other))


def wait_for_files(sweep: LauncherSweep, count: int) -> None:
    """Until so many runs have a results file, which is done or a checkpoint."""
    while len(list((sweep.folder / "runs").glob("*.h5"))) < count:
        assert sweep.runs(), f"ended before it was to be stopped, exit code {sweep.process.returncode}"
        sweep.mend()
        time.sleep(0.01)


def check_stop(program: Path, launcher: str, number: signal.Signals, folder: Path, patience: float) -> None:
    cut, told = folder / f"cut-{number.name}", folder / "errors"
    sweep = LauncherSweep(program, launcher, cut)
    with open(told, "w", encoding="utf-8") as errors:
        sweep.start(errors.fileno())
    wait_for_files(sweep, WORKERS + 1)  # one is done
    begin = time.monotonic()
    (os.killpg if number == signal.SIGINT else os.kill)(sweep.process.pid, number)
    code = sweep.process.wait(patience)
    ended = time.monotonic() - begin
    while sweep.left():
        assert time.monotonic() - begin < patience, f"{number.name}: processes {sweep.left()} are left"
        time.sleep(0.05)
    gone = time.monotonic() - begin
    files = [path.name for path in sweep.temporary.iterdir() if not path.name.startswith("ompi.")]  # Open MPI's
    assert not files, f"{number.name}: files {files} are left in the temporary folder"
    text = told.read_text(encoding="utf-8")
    assert code == 1, f"{number.name}: expected exit code 1, got {code}: {text}"
    assert len(STOPPED.findall(text)) == 1, f"{number.name}: expected one message of a stop, got: {text}"
    num_done = int(STOPPED.findall(text)[0])
    assert 0 < num_done < RUNS, f"{number.name}: expected some runs done and some not, got {num_done} of {RUNS}"

    other = LauncherSweep(program, next_launcher(launcher), cut)
    other.start()
    assert other.wait() == 0, f"{other.launcher} cannot go on: exit code {other.process.returncode}"
    before, after = sweep_contents(folder / "whole"), sweep_contents(cut)
    different = sorted(run for run in before.keys() | after.keys() if before.get(run) != after.get(run))
    assert not different, f"{number.name}: {other.launcher} ends with other results: {different}"
    print(f"{launcher}: {number.name} ends it after {ended:.1f} s with {num_done} of {RUNS} runs done, no process left "
          f"after {gone:.1f} s; equal after --resume by {other.launcher}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--launcher", choices=LAUNCHERS, default="local")
    parser.add_argument("--evaluations", type=int, default=40_000, help="of each run: it must last some checkpoints")
    parser.add_argument("--patience", type=float, default=30, help="longest time from the signal to the end [s]")
    options = parser.parse_args()
    if missing(options.launcher):
        print(f"skipped: {missing(options.launcher)} fails")
        return 77
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        write_sweep(folder, RUNS, options.evaluations, ops=120, chains=7)
        run_undisturbed(options.program, folder, "whole")
        for number in (signal.SIGINT, signal.SIGTERM):
            check_stop(options.program, options.launcher, number, folder, options.patience)
    return 0


if __name__ == "__main__":
    sys.exit(main())
