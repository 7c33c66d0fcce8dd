"""The tables of Sailor that plans need: ops of a layer by degree, all-reduces and links by size; see sailor.py."""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import re
from typing import Mapping, Sequence

import numpy as np

from . import plans, sailor, tables
from .sailor_plan_files import Plan, Replica
from .tables import OpCase, PublishedFailure

Points = Sequence[tuple[float, float]]  # sizes [B] and times [ns], ascending
LAYER_ROW = "enc-"  # begin of the names of a layer's ops
_COLUMNS = ("op_name", "forward-compute", "backward-compute", "output_size", "weights", "activations")
_MIB, _MOST_OPS = 2**20, 400_000


@dataclasses.dataclass(frozen=True)
class OpRow:
    """A row of an op table. Times in [ns], sizes in [B]."""

    name: str
    forward: float
    backward: float
    output: int
    weights: int
    activations: int


class Tables:
    """The tables below a folder, read when they are needed."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._paths: dict[str, dict[str, pathlib.Path]] = collections.defaultdict(dict)
        self._ops: dict[pathlib.Path, list[OpRow]] = {}
        self._links: dict[pathlib.Path, Points] = {}
        for path in sorted(folder.rglob("*.csv")):
            if path.parent.name == "profiled-data-fp32":
                self._paths[path.parent.parent.name].setdefault(path.name, path)

    def missing(self, plan: Plan) -> str:
        """Returns why a plan cannot be simulated, or ""."""
        devices = sum(map(len, plan.replicas))
        if devices + (plan.width > 1) > plans.MOST_DEVICES:
            return plans.TOO_MANY
        for stage, replicas in enumerate(plan.replicas):
            if len({replica.degree for replica in replicas}) > 1:
                return f"the replicas of a stage have different tensor-parallel degrees ({stage})"
            for replica in replicas:
                if self._op_path(plan, replica) is None:
                    return (f"no op table of {replica.gpu} for {plan.model or 'one model'}, micro-batch "
                            f"{plan.micro_batch}, degree {replica.degree}")
        rows = self.ops(plan, plan.replicas[0][0])
        names = [row.name for row in rows]
        if any([row.name for row in self.ops(plan, replica)] != names for stage in plan.replicas for replica in stage):
            return "op tables with different ops"
        layers = max(map(max, plan.stages)) + 1
        ops = layers * sum(row.name.startswith(LAYER_ROW) for row in rows) * 2 * plan.micro_batches * plan.width
        if ops > _MOST_OPS:
            return f"more than {_MOST_OPS:,} ops"
        if plan.nodes < devices:  # some stages or replicas share a node
            if not self.links(plan, "intra"):
                return "no table of links within a node"
            if plan.width > 1 and not all(self._reduction_path(replica.gpu, plan.width)
                                          for stage in plan.replicas for replica in stage):
                return "no table of all-reduces within a node"
        return ""

    def ops(self, plan: Plan, replica: Replica) -> list[OpRow]:
        path = self._op_path(plan, replica)
        assert path is not None
        if path not in self._ops:
            self._ops[path] = _op_table(path)
        return self._ops[path]

    def _op_path(self, plan: Plan, replica: Replica) -> pathlib.Path | None:
        pattern = re.compile(rf"(.+)_mbs{plan.micro_batch}_tp{replica.degree}_algo0\.csv")
        found = {match[1]: path for name, path in self._paths[replica.gpu].items()
                 if (match := pattern.fullmatch(name))}
        if plan.model:
            return found.get(plan.model)
        return next(iter(found.values())) if len(found) == 1 else None

    def links(self, plan: Plan, kind: str = "inter") -> Points:
        """Returns the slowest of the published transfers between the plan's GPUs; []: one of them has no table."""
        found = []
        for gpu in sorted({replica.gpu for stage in plan.replicas for replica in stage}):
            path = self._paths[gpu].get(f"p2p_{kind}_node.csv")
            if path is None:
                return []
            if path not in self._links:
                times = {float(case.num_bytes): case.measured for case in sailor.links(path)}  # of the last run
                self._links[path] = _several(path, times)
            found.append(self._links[path])
        return max(found, key=lambda points: points[-1][1] / points[-1][0])

    def reductions(self, gpu: str, count: int) -> Points:
        """Returns all-reduces of so many GPUs of a node, or of the most that were published as a ring of `count`."""
        members, path = self._reduction_path(gpu, count) or (0, pathlib.Path())
        scale = (count - 1) / count * members / (members - 1)
        cases = [case for case in sailor.collectives(path) if isinstance(case, OpCase)]
        return _several(path, {4.0 * case.inputs[0][0]: case.measured * scale for case in cases})

    def _reduction_path(self, gpu: str, count: int) -> tuple[int, pathlib.Path] | None:
        found = {int(match[1]): path for name, path in self._paths[gpu].items()
                 if (match := re.fullmatch(r"prim_.+_all_reduce_([2-9]|[1-9]\d+)gpus\.csv", name))}
        members = count if count in found else max(found, default=0)
        return (members, found[members]) if found else None


def _op_table(path: pathlib.Path) -> list[OpRow]:
    rows = []
    for row in tables.read(path, _COLUMNS):
        sizes = [round(row.number(column) * _MIB) for column in _COLUMNS[3:]]
        rows.append(OpRow(row.cells["op_name"], row.time("forward-compute") * 1e3, row.time("backward-compute") * 1e3,
                          sizes[0], sizes[1], sizes[2]))
    order = "".join("x" if row.name.startswith(LAYER_ROW) else "-" for row in rows)
    if not re.fullmatch("-+x+-+", order):
        raise PublishedFailure(f"{path}: op_name: expected rows before, of and after a layer, whose names begin with "
                               f"{LAYER_ROW}")
    if not any(row.activations for row in rows):
        raise PublishedFailure(f"{path}: activations: are 0 in all rows, expected the sizes of results")
    return rows


def memory_bandwidth(rows: Sequence[OpRow]) -> float:
    """Returns the largest rate at which a forward op writes its results [B/s]."""
    return max(row.activations / row.forward * 1e9 for row in rows)


def _several(where: object, times: Mapping[float, float]) -> Points:
    """Returns the points by size. Throws PublishedFailure for fewer than two."""
    if len(times) < 2:
        raise PublishedFailure(f"{where}: has {len(times)} sizes, expected at least 2")
    return sorted(times.items())


def interpolated(points: Points, size: float) -> float:
    """Returns the time of a size [ns], linear between and beyond the points in logarithms of sizes and times."""
    if size <= 0:
        return 0.0
    x, y = np.log(np.array(points)).T
    place = int(np.clip(np.searchsorted(x, np.log(size)), 1, len(x) - 1))
    slope = (y[place] - y[place - 1]) / (x[place] - x[place - 1])
    return float(np.exp(y[place - 1] + slope * (np.log(size) - x[place - 1])))
