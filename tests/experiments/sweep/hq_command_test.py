#!/usr/bin/env python3
"""`emplace sweep --launcher hyperqueue` where Python does not know HyperQueue but the command `hq` is there.

    python3 tests/experiments/sweep/hq_command_test.py --program build/release/emplace

The server and its workers are HyperQueue's, started by its Python package; hq_stand_in.py, beside this, is the command.
Also: a cluster that a sweep starts for itself leaves no file in the temporary folder.
Needs h5py, and a python3 in the PATH that has the package; exit codes: 0 as it should be, 1 not, 77 something is
missing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from launcher_sweep import missing, run_undisturbed, write_sweep
from results_files import sweep_contents

RUNS = 12
TIMEOUT = 300  # [s] of any sweep
CLIENT = Path(__file__).resolve().parents[3] / "experiments/sweep/launchers/hyperqueue_client.py"
SERVER = """import os, sys
from hyperqueue.cluster import LocalCluster, WorkerConfig
with LocalCluster(sys.argv[1]) as server:
    for _ in range(2):
        server.start_worker(WorkerConfig(cores=1))
    print("ready", flush=True)
    sys.stdin.read()
"""


def write_script(path: Path, command: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)


class Sweeps:
    def __init__(self, program: Path, folder: Path, server: Path):
        self.program, self.folder, self.server = program.resolve(), folder, server
        package = shutil.which("python3")
        # -S: without installed packages.
        write_script(folder / "with_hq/python3", f"{sys.executable} -S")
        write_script(folder / "with_hq/hq", f"{package} {Path(__file__).resolve().parent / 'hq_stand_in.py'}")
        write_script(folder / "with_package/python3", package)
        write_script(folder / "with_neither/python3", f"{sys.executable} -S")

    def run(self, tools: str, output: str, *more: str, server: str = "/nonexistent") -> subprocess.CompletedProcess:
        """@param server  $HQ_SERVER_DIR"""
        environment = os.environ | {"PATH": f"{self.folder / tools}:/usr/bin:/bin", "HQ_SERVER_DIR": server}
        return subprocess.run([self.program, "sweep", "s.yaml", "--launcher", "hyperqueue", "--quiet", "--jobs", "2",
                               "-o", output, *more], cwd=self.folder, env=environment, capture_output=True, text=True,
                              timeout=TIMEOUT)

    def check_equal(self, done: subprocess.CompletedProcess, output: str) -> None:
        assert done.returncode == 0, f"{output}: exit code {done.returncode}: {done.stdout}{done.stderr}"
        assert f"launcher hyperqueue: HyperQueue's server of {self.server}\n" in done.stdout, done.stdout
        before, after = sweep_contents(self.folder / "whole"), sweep_contents(self.folder / output)
        different = sorted(run for run in before.keys() | after.keys() if before.get(run) != after.get(run))
        assert len(before) == RUNS and not different, f"{output}: {len(before)} runs, of which differ: {different}"
        print(f"equal: {output}", flush=True)

    def submitted(self) -> list[dict]:
        """What hq was called with, and forget it."""
        log = self.server / "stand_in.jobs"
        calls = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        log.unlink()
        return calls


def check_refused(done: subprocess.CompletedProcess, text: str) -> None:
    assert done.returncode == 1, f"expected exit code 1, got {done.returncode}: {done.stdout}{done.stderr}"
    assert text in done.stderr, f"expected {text!r} in {done.stderr}"
    print(f"refused: {done.stderr.strip().splitlines()[-1]}", flush=True)


def check(sweeps: Sweeps) -> None:
    done = sweeps.run("with_hq", "by_hq", server=str(sweeps.server))
    sweeps.check_equal(done, "by_hq")
    calls = sweeps.submitted()
    assert len(calls) == 2, calls  # a bundle per worker
    assert all(call["cpus"] == "1" and call["priority"] == 0 for call in calls), calls

    options = ["--set", f"launcher.server={sweeps.server}", "--set", 'launcher.options="--priority 3"']
    sweeps.check_equal(sweeps.run("with_hq", "with_options", *options, "--set", "launcher.cores=1"), "with_options")
    assert all(call["priority"] == 3 for call in sweeps.submitted())

    check_refused(sweeps.run("with_hq", "a"), "no server runs; to start one needs the Python module hyperqueue")
    check_refused(sweeps.run("with_hq", "a", "--resume", "--set", "launcher.server=/nowhere"),
                  "/nowhere: no server of HyperQueue has been started there")
    check_refused(sweeps.run("with_hq", "b", *options[:2], "--set", 'launcher.options="--prioritty 3"'),
                  "unrecognized arguments: --prioritty")
    check_refused(sweeps.run("with_package", "c", *options),
                  "launcher.options ['--priority', '3']: options of `hq submit`, and the command hq is not there")
    check_refused(sweeps.run("with_neither", "d"),
                  "neither the Python module hyperqueue (pip install hyperqueue) nor the command hq is there")


def check_removal(folder: Path) -> None:
    """A cluster of its own removes its folder whenever the signal comes that follows the end of stdin."""
    for milliseconds in range(0, 30, 2):
        with subprocess.Popen(["python3", CLIENT, "open", "", "2", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=os.environ | {"TMPDIR": str(folder), "HQ_SERVER_DIR": "/nonexistent"}) as process:
            assert process.stdout.readline().startswith(b"cluster "), "no cluster has begun"
            assert list(folder.iterdir()), "a cluster without a folder"
            process.stdin.close()
            time.sleep(milliseconds / 1000)
            process.terminate()
            process.wait(TIMEOUT)
        left = [path.name for path in folder.iterdir()]
        assert not left, f"SIGTERM {milliseconds} ms after the end of stdin leaves {left}"
    print("nothing is left of clusters", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    options = parser.parse_args()
    if missing("hyperqueue"):
        print(f"skipped: {missing('hyperqueue')} fails")
        return 77
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder, server = Path(name), Path(name) / "server"
        server.mkdir()
        write_sweep(folder, RUNS, 500)
        run_undisturbed(options.program, folder, "whole")
        with subprocess.Popen(["python3", "-c", SERVER, str(server)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, env=os.environ | {"TMPDIR": name}) as process:
            while process.stdout.readline() != "ready\n":  # the server prints a table of itself
                assert process.poll() is None, "HyperQueue's server has ended"
            check(Sweeps(options.program, folder, server))
            process.stdin.close()
        temporary = folder / "temporary"
        temporary.mkdir()
        check_removal(temporary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
