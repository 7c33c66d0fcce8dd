"""Simulates the step on one device with the written costs: the source of each op's cost, and the sum of all costs."""

from __future__ import annotations

import collections
import dataclasses
import json
from typing import TYPE_CHECKING, Any, Mapping

from .. import _compiled

if TYPE_CHECKING:
    from .._emplace import Cluster, Graph


@dataclasses.dataclass(frozen=True)
class Simulated:
    """shares, ops: shares of `total` and numbers of ops, by source of the cost (FORMAT.md lists the sources).

    total: sum of all costs [ns], step: the step [ns].
    """

    shares: Mapping[str, float]
    ops: Mapping[str, int]
    total: int
    step: int


def one_device(record: Mapping[str, Any], in_menu: bool) -> Cluster:
    """Returns a cluster of one device of the kind. record: of `device_kinds` in a cost file."""
    document: dict[str, Any] = {"name": "one", "devices": [{"name": f"{record['class']}:0", "kind": record["name"]}]}
    if not in_menu:
        kind: dict[str, Any] = {"class": record["class"], "efficiency": record["efficiency"]}
        if record["peak"]:
            kind["peak"] = {dtype: f"{rate:.17g}FLOP/s" for dtype, rate in record["peak"].items()}
        if record["memory_bandwidth"]:
            kind["memory_bandwidth"] = f"{record['memory_bandwidth']:.17g}B/s"
        document["device_kinds"] = {record["name"]: kind}
    cluster: Cluster = _compiled().Cluster.parse(json.dumps(document), "one")
    return cluster


def simulate(graph: Graph, cluster: Cluster, table: str) -> Simulated:
    """Simulates the step. table: path of the cost file. Throws InputError if an op has no cost."""
    import numpy as np

    costs = _compiled().Costs(graph, cluster, table)
    time, source = costs.time[:, 0], costs.source[:, 0]
    total = int(time.sum())
    shares: dict[str, float] = collections.defaultdict(float)
    ops: collections.Counter[str] = collections.Counter()
    for each, index in zip(time.tolist(), source.tolist()):
        shares[costs.sources[index]] += each / total if total else 0
        ops[costs.sources[index]] += 1
    problem = _compiled().Problem(graph, cluster, costs=table, semantics="stream")
    outcome = problem.evaluate(np.zeros((1, problem.num_groups), dtype=np.uint8))
    return Simulated(dict(shares), dict(ops), total, int(outcome.step_time[0]))
