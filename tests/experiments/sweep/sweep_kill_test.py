#!/usr/bin/env python3
"""Kills a sweep again and again and compares what it ends with to an undisturbed one.

    python3 tests/experiments/sweep/sweep_kill_test.py --program build/release/emplace \\
        --config six_cells --set scale=small --kills 20

scripts/test --slow runs it on the sweep `quick`. Needs h5py; exit codes: 0 equal, 1 not, 77 h5py is missing.

Each time the sweep is started with --resume and SIGKILLed after a random while: the supervisor, or one
of its workers. Meanwhile results files are opened with h5py. At the end all attributes and datasets of
/agents, /config and /problem must be equal but for the date and the times a run took.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from processes import children
from results_files import sweep_contents

import h5py  # results_files skips without it


def watch(folder: Path, process: subprocess.Popen, seconds: float) -> int:
    """Opens results files until the time is over or the process has ended; how many it opened."""
    opened = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        paths = sorted((folder / "runs").glob("*.h5"), key=lambda path: path.stat().st_mtime)[-4:]
        for path in paths:
            with h5py.File(path, "r") as file:
                assert file.attrs["format"] == "emplace-results", path
            opened += 1
        time.sleep(0.05)
    return opened


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--config", default="six_cells")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    command = [str(options.program), "sweep", options.config, "--jobs", str(options.jobs), "--quiet"]
    for setting in options.settings:
        command += ["--set", setting]

    with tempfile.TemporaryDirectory() as name:
        whole, cut = Path(name) / "whole", Path(name) / "cut"
        begin = time.monotonic()
        subprocess.run([*command, "-o", str(whole)], check=True, stdout=subprocess.DEVNULL)
        duration = time.monotonic() - begin
        print(f"undisturbed: {duration:.1f} s, {len(sweep_contents(whole))} runs")

        # The kills are spread over the time the sweep takes; starting it anew takes time, too.
        killed = {"supervisor": 0, "worker": 0}
        opened = starts = 0
        begin = time.monotonic()
        while sum(killed.values()) < options.kills:
            starts += 1
            process = subprocess.Popen([*command, "-o", str(cut), "--resume"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and sum(killed.values()) < options.kills:
                opened += watch(cut, process, rng.uniform(0.1, 1.6) * duration / options.kills)
                workers = children(process.pid)
                if process.poll() is not None:
                    break
                if workers and rng.random() < 0.5:
                    with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                        os.kill(rng.choice(workers), signal.SIGKILL)
                        killed["worker"] += 1
                else:
                    process.kill()
                    process.wait()
                    killed["supervisor"] += 1
            if process.poll() == 0:
                break
        if process.poll() is None:
            process.wait()
        subprocess.run([*command, "-o", str(cut), "--resume"], check=True, stdout=subprocess.DEVNULL)
        print(f"killed: {killed['supervisor']} times the supervisor, {killed['worker']} times a worker; "
              f"started {starts + 1} times; {time.monotonic() - begin:.1f} s in all; meanwhile results files were "
              f"opened {opened} times")
        if sum(killed.values()) < options.kills:
            print("the sweep ended before all kills", file=sys.stderr)
            return 1
        before, after = sweep_contents(whole), sweep_contents(cut)
        different = [run for run in before if before[run] != after.get(run)]
        if different or before.keys() != after.keys():
            print(f"different: {', '.join(different) or 'the runs there are'}", file=sys.stderr)
            return 1
        print(f"equal: all {len(before)} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
