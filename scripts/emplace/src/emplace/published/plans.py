"""Simulates executed plans: replicas, stages and micro-batches of a published step.

A stage of a replica is one device, also where it is a tensor-parallel group whose ops contain their collectives. The
plan is applied to the graph of one micro-batch (emplace.apply_plan), stages are the placement, and the issue order is
that of 1F1B, in stream semantics.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np

from .. import _compiled
from ..arrays import menu_kinds

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._emplace import Cluster

MOST_DEVICES = 64  # of a cluster
TOO_MANY = f"more than {MOST_DEVICES} devices, of which a network is one"
NETWORK = "network"
_ONE_BUCKET = "1000TiB"


@dataclasses.dataclass(frozen=True)
class Costs:
    """Costs of a step's ops. times: device kind -> [ops of the step] [ns].

    sums: [ops of the step] of the sum of the op's gradient with that of the micro-batch before [ns].
    reductions: [stages] of the all-reduce of a stage's gradients [ns].
    """

    times: Mapping[str, npt.NDArray[np.float64]]
    sums: npt.NDArray[np.float64]
    reductions: Sequence[float]


@dataclasses.dataclass(frozen=True)
class Simulated:
    """Times in [ns], memory in [B]."""

    step_time: float
    peak: int  # of the device that needs most


def simulate(document: Mapping[str, Any], stage_of_op: Sequence[int], cluster: Cluster, replicas: int,
             micro_batches: int = 1, costs: Costs | None = None) -> Simulated:
    """Simulates a step on a cluster with one device for each stage of each replica, in this order.

    The gradients of a stage are reduced at once, after its last backward pass.
    stage_of_op: [ops] of the document. costs: None: those of the document, and rings for reductions.
    """
    compiled = _compiled()
    num_stages = max(stage_of_op) + 1
    names = cluster.device_names
    groups = [names[r * num_stages:(r + 1) * num_stages] for r in range(replicas)]
    graph = compiled.Graph.parse(json.dumps(document))
    planned = compiled.apply_plan(graph, cluster, {"replicas": replicas, "micro_batches": micro_batches,
                                                   "bucket": _ONE_BUCKET, "groups": groups}, stage_of_op)
    stages = np.asarray(stage_of_op)
    devices = np.array([stages + r * num_stages for r in range(replicas)])
    placement = planned.placement(devices)
    table = None if costs is None else _cost_table(planned, placement, num_stages, costs)
    problem = compiled.Problem(planned.graph, planned.cluster, costs=table, semantics="stream",
                               issue_order=compiled.pipeline_order(planned, stage_of_op, num_stages))
    groups_at = np.zeros((1, problem.num_groups), dtype=np.uint8)
    groups_at[0, problem.group_of_op] = placement
    outcome = problem.evaluate(groups_at)
    return Simulated(float(outcome.step_time[0]), int(outcome.peaks[0, :num_stages * replicas].max()))


def _cost_table(planned: Any, placement: npt.NDArray[np.uint8], num_stages: int,
                costs: Costs) -> npt.NDArray[np.int64]:
    """Returns [planned ops, devices] [ns]; -1 everywhere but at the op's place."""
    kinds = np.array(planned.cluster.device_kinds)[placement]
    time = np.zeros(len(placement))
    for kind, times in costs.times.items():
        here = (kinds == kind) & (planned.role < 2)
        time[here] = times[planned.op[here]]
    sums = planned.role == 2
    time[sums] = costs.sums[planned.op[sums]]
    collectives = np.flatnonzero(planned.role == 3)
    if len(collectives) > num_stages:
        raise AssertionError("a stage's gradients are in several buckets")
    # Backward passes end with the first stage.
    for place, reduction in zip(collectives, list(costs.reductions)[::-1]):
        time[place] = reduction
    table = np.full((len(placement), planned.cluster.num_devices), -1, dtype=np.int64)
    table[np.arange(len(placement)), placement] = np.rint(time)
    return table


def cluster_of(kinds: Sequence[str], network_slots: int = 0, port: tuple[float, int] | None = None) -> Cluster:
    """Returns a cluster of GPUs.

    kinds: [devices], of `emplace list device-kinds` or others. network_slots: communicators that work at the same time;
    0: without a network device. port: bandwidth [B/s] and latency [ns] at which a GPU sends; None: transfers take no time.
    """
    names = [f"gpu:{place}" for place in range(len(kinds))]
    devices: list[dict[str, Any]] = [{"name": name, "kind": kind} for name, kind in zip(names, kinds)]
    declared = {kind: {"class": "gpu"} for kind in kinds if kind not in menu_kinds()}
    if network_slots:
        devices.append({"name": NETWORK, "kind": NETWORK, "slots": network_slots})
        declared[NETWORK] = {"class": NETWORK}
    routes = {"all_to_all": {"bandwidth": "1000TB/s"}} if port is None else {
        "egress_bus": {"bandwidth": f"{port[0]:.17g}B/s", "latency": f"{port[1]}ns"}}
    cluster: Cluster = _compiled().Cluster.parse(json.dumps({
        "name": "executed", "devices": devices, "device_kinds": declared, **routes}))
    return cluster
