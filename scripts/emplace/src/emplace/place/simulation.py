"""Placements of a graph on a cluster, simulated: op by op for the table, unit by unit for searches."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Sequence

from ..importers import graph_file
from .grain import Grain, PlaceFailure, compiled

if TYPE_CHECKING:
    from .._emplace import Cluster, Problem


@dataclasses.dataclass(frozen=True)
class Outcome:
    """time: step time or period [ns]; peaks: peak memory per device [B]; missing: memory missing on all devices [B]."""

    time: int
    peaks: tuple[int, ...]
    missing: int

    @property
    def fits(self) -> bool:
        return self.missing == 0


class Simulation:
    """One graph on one cluster.

    document: of the graph. costs: a measured table, or None for the costs of the graph and the model. objective:
    "step_time" or "period". Use it in a `with` statement, at the end of which it deletes the files it made.
    """

    def __init__(self, document: dict[str, Any], cluster: Cluster, costs: str | None = None,
                 objective: str = "step_time") -> None:
        self.document, self.cluster, self.costs, self.objective = document, cluster, costs, objective
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def outcome(self, device_of_op: Sequence[int]) -> Outcome:
        """Returns the outcome of `emplace simulate` for a placement of ops ([num_ops]), independent of the units.

        Throws PlaceFailure with the command's message if it fails, and for the objective "period", which it lacks.
        """
        if self.objective != "step_time":
            raise PlaceFailure(f"objective {self.objective}: simulated for units alone")
        placement, graph, cluster = self.files(device_of_op)
        told = json.loads(emplace_command(
            "simulated", "simulate", "--graph", graph, "--cluster", cluster, "--placement", placement, "--semantics",
            "stream", *(["--costs", self.costs] if self.costs else [])))
        devices = [told["devices"][name] for name in self.cluster.device_names]
        return Outcome(told["step_time_ns"], tuple(device["peak_bytes"] for device in devices),
                       sum(device["deficit_bytes"] for device in devices))

    def files(self, device_of_op: Sequence[int]) -> tuple[str, str, str]:
        """Returns the paths of a placement file, the graph and the cluster; they are valid until the next call."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="emplace_place_")
            graph_file.write(self.document, os.path.join(self._folder.name, "graph.json"))
            self.cluster.write(os.path.join(self._folder.name, "cluster.yaml"))
        names = self.cluster.device_names
        placement = {"format": "emplace-placement", "version": 1, "graph": self.document["name"],
                     "cluster": self.cluster.name,
                     "devices": {op["name"]: names[device] for op, device in zip(self.document["ops"], device_of_op)}}
        path = {name: os.path.join(self._folder.name, name) for name in ("placement.json", "graph.json", "cluster.yaml")}
        with open(path["placement.json"], "w", encoding="utf-8") as file:
            json.dump(placement, file)
        return path["placement.json"], path["graph.json"], path["cluster.yaml"]

    def of_labels(self) -> Problem:
        """Returns the same problem with the graph's own `colocate` labels as groups."""
        return self._problem(self.document, ["colocate"])

    def of_units(self, units: Grain, device_kinds: Sequence[str] | None = None, objective: str | None = None) -> Problem:
        """Returns the same problem with units as groups.

        device_kinds: the kinds that ops that compute may use (None: those of the ops). objective: replaces the
        simulation's.
        """
        return self._problem(units.scoped(device_kinds), [{"scope": {"depth": 1}}], objective)

    def _problem(self, document: dict[str, Any], coarsen: list[Any], objective: str | None = None) -> Problem:
        import emplace

        return emplace.Problem(compiled(document), self.cluster, costs=self.costs, coarsen=coarsen, semantics="stream",
                               objective=objective or self.objective)


def emplace_command(done: str, *arguments: str) -> str:
    """Returns the output of `emplace` in a process of its own.

    Throws PlaceFailure: the placement cannot be `done` ("simulated"), with the command's message.
    """
    result = subprocess.run([sys.executable, "-m", "emplace", *arguments], capture_output=True, text=True, check=False,
                            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    if result.returncode != 0:
        raise PlaceFailure(f"the placement cannot be {done}: {result.stderr.strip()}")
    return result.stdout


def outcomes(problem: Problem, placements: Sequence[Sequence[int]]) -> list[Outcome]:
    """Simulates placements of groups [B, num_groups]."""
    import numpy as np

    columns = problem.evaluate(np.array(placements, dtype=np.uint8), peaks=True)
    assert columns.peaks is not None
    return [Outcome(int(time), tuple(int(peak) for peak in peaks), int(missing))
            for time, peaks, missing in zip(columns.step_time, columns.peaks, columns.deficit)]


def searched(problem: Problem, seconds: float, seed: int) -> tuple[list[int], bool]:
    """Returns the devices of groups that `learned_local_search` finds, [num_groups], and whether they fit into memory.

    Throws PlaceFailure if the time was too short for a single placement.
    """
    import emplace

    found = emplace.search(problem, "learned_local_search", seed=seed, seconds=seconds)
    if found.placement is None:
        raise PlaceFailure(f"--seconds {seconds:g}: no time to simulate a single placement")
    return [int(device) for device in found.placement], found.step_time is not None


def units_of_groups(problem: Problem, units: Grain) -> list[int]:
    """Returns [num_groups] the unit of each group of Simulation.of_units()."""
    found = [-1] * problem.num_groups
    for group, unit in zip(problem.group_of_op.tolist(), units.unit_of_op):
        found[group] = unit
    if len(set(found)) != len(found) or len(found) != len(units.names):
        raise AssertionError("groups of the problem are not the units of the grain")
    return found


def part_of(cluster: Cluster, names: Sequence[str]) -> Cluster:
    """Returns the cluster with only these devices, in its own order; channels and routes between them stay.

    Throws PlaceFailure for a name that the cluster lacks.
    """
    import emplace
    import yaml

    unknown = sorted(set(names) - set(cluster.device_names))
    if unknown:
        raise PlaceFailure(f"cluster {cluster.name!r} has no device {unknown[0]!r}; "
                           f"choices: {', '.join(cluster.device_names)}")
    if list(cluster.device_names) == [name for name in cluster.device_names if name in names]:
        return cluster
    with tempfile.TemporaryDirectory(prefix="emplace_place_") as folder:
        path = os.path.join(folder, "cluster.yaml")
        cluster.write(path)
        with open(path, encoding="utf-8") as file:
            document = yaml.safe_load(file)
    document["devices"] = [device for device in document["devices"] if device["name"] in names]
    document["routes"] = [route for route in document["routes"] if route["from"] in names and route["to"] in names]
    used = {channel for route in document["routes"] for channel in route["via"]}
    document["channels"] = [channel for channel in document["channels"] if channel["name"] in used]
    kinds = {device["kind"] for device in document["devices"]}
    if "device_kinds" in document:
        document["device_kinds"] = {name: kind for name, kind in document["device_kinds"].items() if name in kinds}
    found: emplace.Cluster = emplace.Cluster.parse(yaml.safe_dump(document, sort_keys=False), cluster.name)
    return found


def gpus(cluster: Cluster) -> list[int]:
    """Returns the indices of the GPUs, ascending."""
    return [index for index, kind in enumerate(cluster.device_classes) if kind == "gpu"]


def cpus(cluster: Cluster) -> list[int]:
    return [index for index, kind in enumerate(cluster.device_classes) if kind == "cpu"]
