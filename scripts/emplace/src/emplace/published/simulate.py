"""Simulates published steps on one GPU, and costs published ops, each on its own.

The times come from the published times of the step's own ops (OPS), from a fit (FITTED), or from the published figures
of its device kind (DATA_SHEET). The fit for ops is to other ops of the GPU: the ops of a fold are predicted by a fit to
the ops of the other folds, and collectives by a fit to those on as many GPUs. The fit for steps is that of the device
kind, which scripts/fit_device_kinds makes of ops.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import statistics
import tempfile
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

import numpy as np

from .. import _compiled
from ..arrays import cluster_from_arrays, menu_kinds
from ..importers.graph_file import GraphBuilder
from ..trace_costs import table
from ..trace_costs.graph_ops import GraphOps
from ..trace_costs.simulated import one_device
from . import models
from .figures import DATA_SHEET, FASTEST, FITTED, OPS, RANGES, RING, Compared, spelt
from .fx_step import LONG_OP, step_graph
from .neusight import Step
from .tables import LeftOut, OpCase, PublishedFailure

if TYPE_CHECKING:
    from .._emplace import Cluster, Graph

MOST_FITTED = 1000  # ops of one kind in a fit
LEAST_SIZES = 4  # of a collective; a cost file has no fit of an op kind to fewer
_NO_KIND = "no device kind of the menu has the figures of this GPU"
NO_FIT = "its device kind has no fit"
NO_LINKS = "data sheets of device kinds have no figures of links"
NO_RING = "only for collectives"


def step(case: Step, how: str, factor: float = 1, kind: str = "",
         graphs: pathlib.Path | None = None) -> Compared | LeftOut:
    """Simulates a step in stream semantics. Throws InputError, PublishedFailure.

    factor: of its clock, see step_graph(). kind: a device kind of the menu; "": that of the GPU's name.
    graphs: folder of graphs that the importer made, which replace the table's; see models.graph().
    """
    kind = spelt(case.gpu) if how == OPS else kind or menu_kind(case.gpu)
    if not kind:
        return LeftOut(case.case, _NO_KIND)
    if how == FITTED and "fitted" not in menu_kinds()[kind]:
        return LeftOut(case.case, NO_FIT)
    document = models.graph(case.case, case.num_layers, graphs) if graphs else step_graph(
        case.case, case.rows, case.num_layers, case.training, kind if how == OPS else None, factor)
    if isinstance(document, LeftOut):
        return document
    cluster = cluster_from_arrays(["gpu:0"], 0, kinds=kind) if how == OPS else one_gpu(kind, how)
    problem = _compiled().Problem(_compiled().Graph.parse(json.dumps(document)), cluster, semantics="stream")
    outcome = problem.evaluate(np.zeros((1, problem.num_groups), dtype=np.uint8))
    return Compared(case.case, case.gpu, "step", case.measured, float(outcome.step_time[0]), how)


def one_gpu(kind: str, how: str) -> Cluster:
    """Returns a cluster of one GPU of a device kind of the menu; DATA_SHEET: without its fit."""
    entry = {key: value for key, value in menu_kinds()[kind].items() if key != "fitted"}
    return cluster_from_arrays(["gpu:0"], 0, kinds=kind, device_kinds={kind: entry} if how == DATA_SHEET else None)


def op_costs(case: Step, document: Mapping[str, Any], how: str, kind: str = "") -> list[float]:
    """Returns the cost of each op of a step's graph [ns]. how, kind: see step(). Throws InputError."""
    cluster = one_gpu(kind or menu_kind(case.gpu), how)
    graph = _compiled().Graph.parse(json.dumps(document))
    times: list[float] = _compiled().Costs(graph, cluster, None).time[:, 0].tolist()
    return times


def clock_factor(steps: Sequence[Step]) -> float:
    """Returns the factor with which the mean error of these steps is 0. Throws PublishedFailure if there is none."""
    def error(factor: float) -> float:
        rows = [step(each, OPS, factor) for each in steps]
        return statistics.mean(row.error for row in rows if isinstance(row, Compared))

    missing, slope = -error(1), error(2) - error(1)  # the step of one GPU is linear in the factor
    if slope <= 0 or 1 + missing / slope <= 0:
        raise PublishedFailure(f"--clock-from: no factor of ops up to {LONG_OP / 1e6:g} ms makes the mean error 0")
    return 1 + missing / slope


def ops(cases: Sequence[OpCase], how: str, kind: str = "") -> tuple[list[Compared], list[LeftOut]]:
    """Returns the costs of the ops in the order of GPUs, and ops without one. kind: see step(). Throws InputError."""
    compared: list[Compared] = []
    left_out: list[LeftOut] = []
    by_gpu: dict[tuple[str, int], list[OpCase]] = collections.defaultdict(list)
    for case in cases:
        by_gpu[case.gpu, case.group_size].append(case)
    for (gpu, group_size), here in by_gpu.items():
        chosen = kind or menu_kind(gpu)
        if how == DATA_SHEET and chosen and group_size == 1:
            compared += _costs(here, one_gpu(chosen, how), None, how)
        elif how == FITTED and len({op.fold for op in here}) > 1:
            done = list(_fitted(here))
            compared += [row for row in done if isinstance(row, Compared)]
            left_out += [row for row in done if isinstance(row, LeftOut)]
        else:
            why = {FITTED: "no other ops of this GPU to fit", RANGES: "only links have ranges",
                   **dict.fromkeys((RING, FASTEST), NO_RING)}.get(how, _NO_KIND if group_size == 1 else NO_LINKS)
            left_out += [LeftOut(op.case, why) for op in here]
    return compared, left_out


def _fitted(cases: Sequence[OpCase]) -> Iterator[Compared | LeftOut]:
    keys = GraphOps(graph_of(cases)).ops
    for fold in sorted({op.fold for op in cases}):
        others: dict[str, list[int]] = collections.defaultdict(list)
        for place, op in enumerate(cases):
            if op.fold != fold:
                others[op.kind].append(place)
        measured = table.Measured(spelt(cases[0].gpu), "gpu", False)
        for places in others.values():
            for place in places[::-(-len(places) // MOST_FITTED)]:
                measured.samples[keys[place]].append(cases[place].measured)
        here = [op for op in cases if op.fold == fold]
        few = {op.kind for op in here if op.group_size > 1
               and len({keys[place].signature for place in others[op.kind]}) < LEAST_SIZES}
        yield from (LeftOut(op.case, f"fewer than {LEAST_SIZES} other sizes to fit") for op in here if op.kind in few)
        with tempfile.TemporaryDirectory(prefix="emplace_published_") as folder:
            path = os.path.join(folder, "costs.json")
            pathlib.Path(path).write_text(table.cost_file([measured], [], "published", {}, []), encoding="utf-8")
            cluster = one_device(table.device_kind(measured), False)
            yield from _costs([op for op in here if op.kind not in few], cluster, path, FITTED)


def _costs(cases: Sequence[OpCase], cluster: Cluster, costs: str | None, how: str) -> Iterator[Compared]:
    times = _compiled().Costs(graph_of(cases), cluster, costs).time[:, 0].tolist() if cases else []
    for op, time in zip(cases, times):
        yield Compared(op.case, op.gpu, op.group, op.measured, float(time), how, op.totals)


def graph_of(cases: Sequence[OpCase]) -> Graph:
    """Returns a graph of these ops in this order, none of which reads another one's result."""
    builder = GraphBuilder("ops", {"exporter": "emplace.published"})
    for place, op in enumerate(cases):
        inputs = [builder.tensor("", shape, "f32", role="input") for shape in op.inputs]
        builder.op(str(place), op.kind, inputs, [builder.tensor("", op.output, "f32", role="output")], flops=op.flops,
                   attributes={"group_size": op.group_size} if op.group_size > 1 else {})
    graph: Graph = _compiled().Graph.parse(json.dumps(builder.document()), "ops")
    return graph


def menu_kind(gpu: str) -> str:
    """Returns the device kind of the menu whose name is a part of the GPU's: h100 of NVIDIA_H100_80GB_HBM3."""
    return max((kind for kind in menu_kinds() if f"_{kind}_" in f"_{spelt(gpu)}_"), key=len, default="")
