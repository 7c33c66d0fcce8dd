"""Instances of the benchmark, and what is known of each: the best placement and the best proven bound."""

from __future__ import annotations

import dataclasses
import fnmatch
import hashlib
import os
import pathlib
from typing import TYPE_CHECKING, Any, Callable

import numpy as np
import numpy.typing as npt

from ..importers import graph_file
from ..tuning.messages import refuse_unknown

if TYPE_CHECKING:
    from .. import Problem

TIERS = ("small", "papers", "large")
RECIPES = "instances.yaml"  # written by hand: of what each instance is made
KNOWN = "known.yaml"        # written by `make` and `improve`
_HEAD = """\
# Written by `emplace benchmark make` and `emplace benchmark improve`: the checksum and the size of each instance, its best
# known placement and its best proven bound. README.md describes the keys.
"""


@dataclasses.dataclass(frozen=True)
class Best:
    """The best known placement: its objective [ns], the agent that found it, and the date (YYYY-MM-DD).

    any_order: a lower bound on its step time in any order of its ops [ns]; None: not known, as for a period
    """

    value: int
    by: str
    date: str
    any_order: int | None = None


@dataclasses.dataclass(frozen=True)
class Bound:
    """A proven lower bound [ns], the method that proved it, the seconds that it took, and the date."""

    value: int
    method: str
    seconds: float
    date: str


@dataclasses.dataclass(frozen=True)
class Instance:
    """A problem of the benchmark.

    name, tier   of configs/benchmark/instances.yaml
    about        a sentence
    source, machine, licence  of the graph, of the machine, and of the instance file; empty: not stated
    path         the graph file with the key `instance` (framework/graph/FORMAT.md)
    semantics, objective, count_gaps  of the simulation: "queue" or "stream"; "step_time" or "period"; whether the step
                 lasts until the last device has made its gap
    sha256       of the file's content after decompression
    features     num_ops, num_groups, num_devices, edges (per group), communication (transfers of all edges / costs of all
                 groups), memory (resident bytes / memory of all accelerators), equal_devices, one_device_fits
    best, bound  None: not known yet
    searched, proved  seconds of one core that `improve` has spent on it [s]
    """

    name: str
    tier: str
    about: str
    source: str
    machine: str
    licence: str
    path: pathlib.Path
    semantics: str
    objective: str
    count_gaps: bool
    sha256: str
    features: dict[str, Any]
    best: Best | None
    bound: Bound | None
    searched: float
    proved: float

    @property
    def gap(self) -> float | None:
        """Distance of the best known placement to the bound: best / bound - 1. None: one of them is not known."""
        if self.best is None or self.bound is None or self.bound.value <= 0:
            return None
        return self.best.value / self.bound.value - 1

    @property
    def order_gap(self) -> float | None:
        """Waiting in the best placement that bounds do not count: best / best.any_order - 1. None: not known."""
        if self.best is None or self.best.any_order is None:
            return None
        return self.best.value / self.best.any_order - 1

    @property
    def placement_path(self) -> pathlib.Path:
        """File of the best known placement (a placement file of the program)."""
        return self.path.parent / f"{self.name}.placement.json.gz"

    def problem(self, threads: int = 0) -> Problem:
        """Returns the problem. threads: that share a batch of evaluations; 0: all cores. Throws InputError."""
        from .. import InputError, Problem

        if not self.path.exists():
            raise InputError(f"{self.path}: no such file; a wheel holds the instances of tier small only, the source tree "
                             "all of them in configs/benchmark, which --folder names")
        return Problem(str(self.path), str(self.path), semantics=self.semantics, objective=self.objective,
                       count_gaps=self.count_gaps, threads=threads)

    def best_placement(self, problem: Problem) -> npt.NDArray[np.uint8]:
        """Returns the best known placement, uint8 [num_groups]. Throws InputError."""
        return read_placement(self.placement_path, problem)


def read_placement(path: str | os.PathLike[str], problem: Problem) -> npt.NDArray[np.uint8]:
    """Returns the devices of a placement file by group, uint8 [num_groups].

    Throws InputError naming the file and the op: a file of another kind, an op without device, a device that the cluster
    does not have, a group on two devices.
    """
    from .. import InputError

    if not os.path.exists(path):
        raise InputError(f"{path}: no such placement file")
    document = graph_file.read(path)
    devices = document.get("devices") if isinstance(document, dict) else None
    if not isinstance(devices, dict):
        raise InputError(f"{path}: is no placement file: it has no map \"devices\"")
    index = {name: number for number, name in enumerate(problem.cluster.device_names)}
    placement = np.full(problem.num_groups, 255, np.uint8)
    for group, op in zip(problem.group_of_op, problem.graph.op_names):
        device = index.get(devices.get(op, ""))
        if device is None:
            raise InputError(f"{path}: op {op!r}: got device {devices.get(op)!r}; choices: {', '.join(index)}")
        if placement[group] not in (255, device):
            raise InputError(f"{path}: op {op!r}: is on {devices[op]!r}, but its group is on "
                             f"{problem.cluster.device_names[placement[group]]!r}")
        placement[group] = device
    return placement


def default_folder() -> pathlib.Path:
    """Returns the folder of the benchmark in the menus of the program."""
    from .. import _compiled

    return pathlib.Path(_compiled().configs_folder()) / "benchmark"


def read_yaml(path: pathlib.Path) -> dict[str, Any]:
    """Returns a YAML file with a map `instances`. Throws InputError naming the file."""
    import yaml

    from .. import InputError

    try:
        document = yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a folder of the benchmark") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict) or not isinstance(document.get("instances"), dict):
        raise InputError(f"{path}: expected a map with the key `instances`, a map of names")
    return document


def read_known(folder: pathlib.Path) -> dict[str, Any]:
    """Returns the entries of known.yaml by name; none if there is no such file. Throws InputError."""
    found: dict[str, Any] = read_yaml(folder / KNOWN)["instances"] if (folder / KNOWN).exists() else {}
    return found


def store(folder: pathlib.Path, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Replaces the entry of one instance in known.yaml by change(entry). A new instance has an empty entry.

    The folder is locked meanwhile, so that several processes can change entries, even the same.
    """
    import fcntl

    import yaml

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        known = read_known(folder)
        known[name] = change(known.get(name, {}))
        text = yaml.safe_dump({"instances": dict(sorted(known.items()))}, sort_keys=False, default_flow_style=None, width=120)
        graph_file.write_bytes((_HEAD + text).encode(), folder / KNOWN)
    finally:
        os.close(descriptor)


def instances(tier: str | None = None, folder: str | os.PathLike[str] | None = None) -> list[Instance]:
    """Returns the instances of a tier ("small", "papers", "large"), or of all, in the order of instances.yaml.

    folder: of the benchmark; default: the one of the program. Throws InputError for an unknown tier or a broken file.
    """
    if tier is not None and tier not in TIERS:
        refuse_unknown("benchmark", "tier", tier, TIERS)
    at = pathlib.Path(folder) if folder is not None else default_folder()
    document, known = read_yaml(at / RECIPES), read_known(at)
    return [_instance(name, document, known[name], at) for name, recipe in document["instances"].items()
            if name in known and tier in (None, recipe["tier"])]


def instance(name: str, folder: str | os.PathLike[str] | None = None) -> Instance:
    """Returns the instance of this name. Throws InputError with the choices."""
    every = {one.name: one for one in instances(folder=folder)}
    if name not in every:
        refuse_unknown("benchmark", "instance", name, every)
    return every[name]


def checksum(path: pathlib.Path) -> str:
    """Returns the SHA-256 of a file after decompression, which does not depend on the version of zlib."""
    import gzip

    data = path.read_bytes()
    return hashlib.sha256(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).hexdigest()


def _source(sources: dict[str, str], path: str) -> str:
    """Returns the text of the first pattern that matches the file's name, which is that of a graph or machine."""
    name = os.path.basename(path).split(".")[0]
    return next((text for pattern, text in sources.items() if fnmatch.fnmatchcase(name, pattern)), "")


def _instance(name: str, document: dict[str, Any], known: dict[str, Any], folder: pathlib.Path) -> Instance:
    best, bound = known.get("best"), known.get("bound")
    recipe, sources = document["instances"][name], document.get("sources", {})
    return Instance(
        name=name, tier=recipe["tier"], about=recipe["about"],
        source=recipe.get("source") or _source(sources.get("graphs", {}), recipe["graph"]),
        machine=_source(sources.get("machines", {}), recipe["cluster"]),
        licence=recipe.get("licence") or document.get("licence", ""),
        path=folder / recipe["tier"] / f"{name}.json.gz",
        **{key: known[key] for key in ("semantics", "objective", "count_gaps", "sha256", "features")},
        best=Best(**best) if best else None, bound=Bound(**bound) if bound else None,
        searched=known.get("searched", 0.0), proved=known.get("proved", 0.0))
