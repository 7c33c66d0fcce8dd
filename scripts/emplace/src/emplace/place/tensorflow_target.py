"""Target `tensorflow`: a device string for every op, written by `emplace export --to tensorflow`.

The grain is that of TensorFlow itself: ops that a `colocate` label or shared memory ties together. Its executor runs
ops of several devices concurrently, so no order is imposed here.
"""

from __future__ import annotations

import re
from typing import Any, Sequence

from .grain import PlaceFailure
from .simulation import Outcome, Simulation, cpus, emplace_command, gpus, outcomes, searched
from .target import Request, Row, Target, read_json


class TensorFlowTarget(Target):
    """A JSON file: op -> "/job:localhost/replica:0/task:0/device:GPU:0"."""

    name = "tensorflow"
    sentence = "a device string for every op of a TensorFlow graph"

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        framework = str(request.document.get("source", {}).get("framework", ""))
        if not framework.startswith("tensorflow"):
            raise PlaceFailure(f"--for tensorflow: {request.model} is of {framework or 'no framework'}, and its ops"
                               " have other names than TensorFlow's; expected a graph of --from tensorflow")
        self._simulation = Simulation(request.document, request.cluster, request.costs, request.objective)
        self._problem = self._simulation.of_labels()
        self.notes.append(f"grain: {self._problem.num_groups} groups of ops that TensorFlow keeps together")

    def alternatives(self) -> list[Row]:
        cluster = self.request.cluster
        rows = []
        for device in self.first_of_kinds((*gpus(cluster), *cpus(cluster))):
            default = device in gpus(cluster)[:1]
            placement = self._mostly_on(device)
            if placement is not None:
                label = f"one device, {cluster.device_names[device]}{' (the default)' if default else ''}"
                rows.append(self._row(label, placement, default))
        return rows

    def search(self) -> Row:
        found, _ = searched(self._problem, self.request.seconds, self.request.seed)
        return self._row("found by the search", found, outcome=outcomes(self._problem, [found])[0])

    def write(self, payload: Any, stem: str) -> list[str]:
        path = f"{stem}.tensorflow.json"
        placement, graph, cluster = self._simulation.files(payload)
        emplace_command("exported", "export", placement, "--to", "tensorflow", "--graph", graph, "--cluster", cluster,
                        "--semantics", "stream", "-o", path)
        return [path]

    def read(self, paths: list[str]) -> tuple[int, ...]:
        strings = read_json(paths[0])
        number = {f"{kind}:{index}": device for kind, devices in (
            ("CPU", cpus(self.request.cluster)), ("GPU", gpus(self.request.cluster)))
            for index, device in enumerate(devices)}
        found = []
        for op in self.request.document["ops"]:
            told = re.search(r"/device:([A-Z]+:\d+)$", strings.get(op["name"], ""))
            if told is None or told[1] not in number:
                raise PlaceFailure(f"{paths[0]}: no device for op {op['name']!r}")
            found.append(number[told[1]])
        return tuple(found)

    def _mostly_on(self, device: int) -> list[int] | None:
        """Returns that device for all groups, or the first CPU for groups that cannot be there.

        Returns None if a group can be on neither.
        """
        import numpy as np

        allowed = self._problem.allowed
        host = [*cpus(self.request.cluster), device][0]
        placement = np.where(allowed[:, device], device, host)
        possible = bool(allowed[np.arange(len(placement)), placement].all())
        return [int(chosen) for chosen in placement] if possible else None

    def _row(self, label: str, placement: Sequence[int], default: bool = False, outcome: Outcome | None = None) -> Row:
        device_of_op = tuple(placement[group] for group in self._problem.group_of_op.tolist())
        return Row(label, self.counted(outcome, device_of_op), device_of_op, device_of_op, default)
