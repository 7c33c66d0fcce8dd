"""Our steps of a paper's rows on a machine with given figures, by running `emplace`."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
from typing import Mapping, Sequence

import yaml

from papers_machine.cells import Cell
from papers_machine.machine import Machine, write_files


@dataclasses.dataclass(frozen=True)
class Step:
    """Our step: time [s], None if it does not fit the machine; the largest peak of a GPU [GiB]."""

    seconds: float | None
    peak: float


class Bench:
    """Runs baselines in its own configs folder, which has the machine's files with its figures.

    `close` removes the folder.
    """

    def __init__(self, program: str, configs: pathlib.Path, machine: Machine) -> None:
        self.program, self.configs, self.machine = program, configs.resolve(), machine
        self._holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._holder.name)
        for part in ("graphs", "agents"):
            (self.folder / part).symlink_to(self.configs / part)
        for part in ("clusters", "device_kinds"):
            (self.folder / part).mkdir()
            for file in (self.configs / part).glob("*.yaml"):
                if not machine.cpu or not file.name.startswith(machine.name):
                    (self.folder / part / file.name).symlink_to(file)

    def close(self) -> None:
        self._holder.cleanup()

    def steps(self, cell: Cell, names: Sequence[str], figures: Mapping[str, float]) -> dict[str, Step]:
        """Returns our steps of baselines by name: raw ops, constrained only by the framework's own co-location."""
        if self.machine.cpu:
            write_files(self.folder, self.configs, self.machine, figures)
        agents = sorted({cell.agent(name) for name in names})
        expert = {"name": "expert", "rules": cell.rules}
        if self.machine.before:
            expert["before"] = list(self.machine.before)
        run = {"graph": cell.graph, "cluster": self.machine.cluster(cell.gpus), "semantics": "queue",
               "coarsen": ["colocate"], "budget": {"evaluations": 1, "seconds": "none"}, "jobs": 1,
               "agents": [expert if agent == "expert" else agent for agent in agents]}
        (self.folder / "run.yaml").write_text(yaml.safe_dump(run))
        result = self.folder / "run.h5"
        result.unlink(missing_ok=True)
        answer = emplace(self.program, self.folder, "run", str(self.folder / "run.yaml"), "--quiet", "--json", "-o",
                         str(result))
        steps = {record["agent"]: step(record) for record in answer["agents"]}
        return {name: steps[cell.agent(name)] for name in names}


def step(record: Mapping) -> Step:
    """Returns the step in an agent's record of `emplace run --json`."""
    peaks = [peak for device, peak in record["peak_bytes"].items() if device.startswith("gpu")]
    time = record["step_time_ns"]["median"]
    return Step(None if time is None else time / 1e9, max(peaks) / 2.0 ** 30)


def emplace(program: str, configs: pathlib.Path, *arguments: str) -> dict:
    """Returns the JSON that `emplace` prints; throws RuntimeError with its last words if it fails."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, "EMPLACE_CONFIGS": str(configs)})
    if done.returncode != 0:
        raise RuntimeError(f"{program} {' '.join(arguments)}: exit code {done.returncode}: "
                           f"{done.stderr[-500:].strip()}")
    return json.loads(done.stdout)
