"""A sweep of small searches, carried out by any launcher on the real engine of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from processes import all_processes, children, environment, mpi_rank, with_arguments

LAUNCHERS = ("local", "mpi", "hyperqueue", "slurm")
MARK = "EMPLACE_TEST_SWEEP"  # the folder, in the environment of all that the sweep starts
GRAPH = """{"format": "emplace-graph", "version": 1, "name": "chain", "tensors": [%s], "ops": [%s]}"""
CLUSTER = """name: inline
device_kinds: {c: {class: cpu}, g: {class: gpu}}
devices:
  - {name: "cpu:0", kind: c, memory: 8GiB}
  - {name: "gpu:0", kind: g, memory: 1GiB}
  - {name: "gpu:1", kind: g, memory: 1GiB}
all_to_all: {latency: 5us, bandwidth: 1GB/s, gap: 0us}
"""


def write_sweep(folder: Path, runs: int, evaluations: int, ops: int = 16, chains: int = 2) -> None:
    """s.yaml: `runs` searches of a small graph, one per seed. Two chains are soon placed as well as can be, which ends
    a search; more are not."""
    tensors = ", ".join(f'{{"id": {i}, "bytes": 1000000}}' for i in range(ops))
    ops = ", ".join(f'{{"id": {i}, "name": "o{i}", "kind": "k", "inputs": [{"" if i < chains else i - chains}], '
                    f'"outputs": [{i}], "cost_ns": {{"g": {1000000 + 10000 * i}, "c": 5000000}}}}'
                    for i in range(ops))
    (folder / "g.json").write_text(GRAPH % (tensors, ops))
    (folder / "c.yaml").write_text(CLUSTER)
    (folder / "s.yaml").write_text(
        f"base: {{graph: g.json, cluster: c.yaml, seeds: '0:{runs}', agents: [hill_climb],\n"
        f"       budget: {{evaluations: {evaluations}, seconds: none}}}}\ncheckpoint_seconds: 0.05\n")


def run_undisturbed(program: Path, folder: Path, output: str) -> float:
    """s.yaml in local processes; its seconds."""
    begin = time.monotonic()
    subprocess.run([program.resolve(), "sweep", "s.yaml", "--quiet", "--jobs", "2", "-o", output], cwd=folder,
                   check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def missing(launcher: str) -> str:
    """The command that fails here for want of the launcher's engine; empty: it is there."""
    needed = {"mpi": ["mpirun", "--version"], "hyperqueue": ["python3", "-c", "import hyperqueue"],
              "slurm": ["squeue", "--noheader"]}.get(launcher)
    if needed and (shutil.which(needed[0]) is None or
                   subprocess.run(needed, capture_output=True, check=False).returncode != 0):
        return " ".join(needed)
    return ""


class LauncherSweep:
    """`emplace sweep s.yaml --resume` with a launcher, in the folder of s.yaml."""

    def __init__(self, program: Path, launcher: str, folder: Path):
        """@param folder  of the results, beside s.yaml"""
        self.launcher, self.folder = launcher, folder
        self.command = [str(program.resolve()), "sweep", "s.yaml", "--launcher", launcher, "--quiet", "--jobs", "2",
                        "--resume", "-o", str(folder)]
        if launcher == "slurm":  # a controller that is killed may forget that a task has ended
            self.command += ["--set", "launcher.patience_seconds=10"]
        if launcher == "mpi":
            self.command = ["mpirun", "--oversubscribe", "-n", "4", *self.command]
        self.temporary = folder.parent / "temporary"
        self.temporary.mkdir(exist_ok=True)
        self.environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                         "HQ_SERVER_DIR": "/nonexistent", "TMPDIR": str(self.temporary),
                                         MARK: str(folder)}
        self.process: subprocess.Popen | None = None

    def start(self, errors: int = subprocess.DEVNULL) -> None:
        """In a session of its own, as a terminal starts it. @param errors  where stderr goes, as for Popen"""
        self.process = subprocess.Popen(self.command, cwd=self.folder.parent, env=self.environment, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                        start_new_session=True)

    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def wait(self) -> int:
        """Its exit code."""
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

    def left(self) -> list[int]:
        """Processes that it has started, on whatever way, and that live."""
        return [pid for pid in all_processes() if f"{MARK}={self.folder}" in environment(pid)]

    def workers(self) -> list[int]:
        if self.launcher == "local":
            return children(self.process.pid)
        if self.launcher == "mpi":
            return [pid for pid in with_arguments("sweep", str(self.folder)) if mpi_rank(pid) > 0]
        every = with_arguments("sweep-worker", str(self.folder))
        return [pid for pid in every if not any(pid in children(other) for other in every)]  # not those of runs

    def servers(self) -> list[int]:
        """The sweep's process last."""
        own = [self.process.pid]
        if self.launcher == "mpi":
            return [pid for pid in with_arguments("sweep", str(self.folder)) if mpi_rank(pid) == 0][:1] + own
        if self.launcher == "hyperqueue":
            return [pid for pid in children(self.process.pid) if pid in with_arguments("open")] + own
        if self.launcher == "slurm":
            return [int((Path(os.environ["SLURM_LOCALHOST"]) / "slurmctld.pid").read_text()), *own]
        return own
