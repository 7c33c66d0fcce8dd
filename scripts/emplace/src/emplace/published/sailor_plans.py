"""Executed plans of Sailor (eth-easl/sailor): steps of a model on several nodes, by op tables, collectives and links.

simulations/validation/MACHINE/[MODEL/]N*/plan_config_*.json has one pipeline: the layers of each stage, of each replica
of a stage its GPUs and tensor-parallel degree (tmp_per_stage), the micro-batch (mbs), the global batch (gbs) and the
number of nodes (N). Measured are the step `real` [s] and the memory `max_mem` [B], which are only compared; `red_grads`
is not read. Tables: see sailor.py.

A stage of a replica is one device: the ops of a degree above 1 contain its collectives. Layer 0 has the rows of the op
table before those of a layer ("enc-"), the last layer the rows after them. A transfer between stages takes as long as
the published one of its size, and keeps both devices busy. Gradients are reduced after the last backward pass, on one
node as published for as many GPUs, between nodes by a ring. Sums of gradients and updates (Adam) take the time of their
bytes at the memory bandwidth that the table shows.

Two plans are fitted for each machine, and not compared: the one with the fewest stages and of these the most replicas,
and the one with the smallest micro-batch and of these the most stages and micro-batches. They give four figures: the
launch and waiting contained in each published op time; the factor of reductions between nodes over a ring at the
published bandwidth (without a table of links between nodes, the bandwidth of a node's one link); the share of the
column `activations` that stays in memory; memory that does not depend on the plan.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import pathlib
import re
import statistics
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..importers.graph_file import GraphBuilder
from . import plans, sailor, tables
from .figures import FITTED, OPS, Compared, aligned, spelt
from .tables import LeftOut, OpCase, PublishedFailure

Points = Sequence[tuple[float, float]]  # sizes [B] and times [ns], ascending
_COLUMNS = ("op_name", "forward-compute", "backward-compute", "output_size", "weights", "activations")
_LAYER_ROW, _MIB = "enc-", 2**20
_MOST_LAYERS, _MOST_OPS = 1000, 400_000
# Adam reads parameter, gradient and two moments, and writes all but the gradient. A sum reads two and writes one.
_UPDATE_PASSES, _SUM_PASSES = 7, 3
# The loss needs its logits three more times while it runs: shifted, their exponentials, the gradient.
_LOSS_COPIES = 3
_LEAST_PLANS = 4  # of a machine, two of which are fitted
_SLOWEST_LINK, _FASTEST_LINK = 1e7, 1e12  # [B/s] where no table has the links between nodes
_LARGEST_FACTOR = 100.0


@dataclasses.dataclass(frozen=True)
class Replica:
    gpu: str
    degree: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """An executed plan. stages: layers; replicas: [stages][replicas]; measured [ns]; memory [B]."""

    case: str
    gpu: str  # the machine
    model: str
    stages: list[list[int]]
    replicas: list[list[Replica]]
    micro_batch: int
    micro_batches: int
    nodes: int
    measured: float
    memory: float

    @property
    def width(self) -> int:
        """Returns the number of replicas."""
        return len(self.replicas[0])

    def node(self, replica: int, stage: int) -> int:
        """Returns the node of a stage of a replica; the replicas of a stage are neighbours."""
        groups = len(self.stages) * self.width
        return (stage * self.width + replica) // -(-groups // self.nodes)

    @property
    def crosses_nodes(self) -> bool:
        return self.node(self.width - 1, len(self.stages) - 1) > 0


@dataclasses.dataclass(frozen=True)
class OpRow:
    """A row of an op table. Times in [ns], sizes in [B]."""

    name: str
    forward: float
    backward: float
    output: int
    weights: int
    activations: int


@dataclasses.dataclass(frozen=True)
class Fit:
    """What is fitted for a machine. launch [ns]; link: see the head of this file; share; constant [B]."""

    launch: float = 0.0
    link: float = 1.0
    share: float = 1.0
    constant: float = 0.0


def read(folder: pathlib.Path) -> list[Plan | LeftOut]:
    """Returns the plans. Throws PublishedFailure for a damaged file, and if there is none."""
    return [_plan(path) for path in tables.files(folder, "plan_config_*.json")]


def compare(found: Sequence[Plan], folder: pathlib.Path) -> tuple[list[Compared], list[LeftOut]]:
    """Returns the simulated plans, and those fitted or left out. Throws InputError, PublishedFailure."""
    machines: dict[str, list[Plan]] = collections.defaultdict(list)
    left_out, rows = [], []
    published = Tables(folder)
    for plan in found:
        why = published.missing(plan)
        if why:
            left_out.append(LeftOut(plan.case, why))
        else:
            machines[plan.gpu].append(plan)
    for here in machines.values():
        fit, used = fitted(here, published) if len(here) >= _LEAST_PLANS else (Fit(), [])
        left_out += [LeftOut(plan.case, f"a fit is from it: {described(fit, bool(published.links(used[0])))}")
                     for plan in used]
        for plan in here:
            if not used and plan.crosses_nodes and not published.links(plan):
                left_out.append(LeftOut(plan.case, f"no table of links between nodes, and fewer than {_LEAST_PLANS} "
                                                   "plans to fit them"))
            elif plan not in used:
                done = Executed(plan, published).simulate(fit)
                memory = {"memory_measured": plan.memory, "memory_simulated": round(done.peak + fit.constant)}
                rows.append(Compared(plan.case, plan.gpu, "plan", plan.measured, done.step_time,
                                     FITTED if used else OPS, more=memory if used else {}))
    return rows, left_out


def memory_report(rows: Sequence[Compared]) -> str:
    """Returns the measured and simulated memory of the plans, and the mean error of each machine."""
    known = [(row, row.more["memory_measured"], row.more["memory_simulated"]) for row in rows if row.more]
    lines = aligned([("case", "memory [GB]", "simulated [GB]", "error"),
                     *((row.case, f"{measured / 1e9:.3f}", f"{simulated / 1e9:.3f}", f"{simulated / measured - 1:+.1%}")
                       for row, measured, simulated in known)])
    for machine in dict.fromkeys(row.gpu for row, _, _ in known):
        errors = [abs(simulated / measured - 1) for row, measured, simulated in known if row.gpu == machine]
        lines.append(f"{machine}: mean error of the memory {statistics.mean(errors):.2%}, largest {max(errors):.1%}")
    return "\n".join(lines)


def described(fit: Fit, has_links: bool) -> str:
    """Returns the fitted figures as a text."""
    link = f"reductions between nodes {fit.link:.2f} times a ring" if has_links else (
        f"{fit.link / 1e6:.0f} MB/s between nodes")
    return (f"launch {fit.launch / 1e3:.1f} us, {link}, {fit.share:.3f} of activations, "
            f"{fit.constant / 1e9:.2f} GB of memory")


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
        ops = layers * sum(row.name.startswith(_LAYER_ROW) for row in rows) * 2 * plan.micro_batches * plan.width
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


class Executed:
    """A plan with its tables."""

    def __init__(self, plan: Plan, published: Tables) -> None:
        self.plan, self.published = plan, published
        self.links = published.links(plan)
        self.rows = [published.ops(plan, stage[0]) for stage in plan.replicas]

    def simulate(self, fit: Fit) -> plans.Simulated:
        """Throws InputError."""
        plan = self.plan
        step = _StepGraph(self.rows, plan, fit.share)
        gpus = sorted({replica for stage in plan.replicas for replica in stage}, key=lambda r: (r.gpu, r.degree))
        transfers = [max(self._transfer(step.boundaries[stage], (r, stage), (r, stage + 1), fit)
                         for r in range(plan.width)) for stage in range(len(plan.stages) - 1)]
        times = {_kind(replica): step.times(self.published.ops(plan, replica), fit.launch) for replica in gpus}
        bandwidth = min(_memory_bandwidth(self.published.ops(plan, replica)) for replica in gpus)
        for each in times.values():
            each += step.update_bytes * _UPDATE_PASSES / bandwidth * 1e9
            for op, boundary in step.transfers.items():
                each[op] = transfers[boundary]
        reductions = [self._reduction(stage, size, fit) for stage, size in enumerate(step.gradients)]
        stages = len(plan.stages)
        order = [plan.replicas[stage][r] for r in range(plan.width) for stage in range(stages)]
        cluster = plans.cluster_of([_kind(replica) for replica in order], stages if plan.width > 1 else 0)
        return plans.simulate(step.builder.document(), step.stages, cluster, plan.width, plan.micro_batches,
                              plans.Costs(times, step.gradient_bytes * _SUM_PASSES / bandwidth * 1e9, reductions))

    def _transfer(self, size: int, source: tuple[int, int], target: tuple[int, int], fit: Fit) -> float:
        """Returns the time of a transfer [ns]. source, target: replica and stage."""
        if self.plan.node(*source) == self.plan.node(*target):
            return interpolated(self.published.links(self.plan, "intra"), size)
        return interpolated(self.links, size) if self.links else size / fit.link * 1e9

    def _reduction(self, stage: int, size: int, fit: Fit) -> float:
        """Returns the time of the all-reduce of a stage's gradients [ns]. size: of one GPU [B]."""
        count = self.plan.width
        if count == 1 or size == 0:
            return 0.0
        if len({self.plan.node(replica, stage) for replica in range(count)}) == 1:
            return max(interpolated(self.published.reductions(replica.gpu, count), size)
                       for replica in self.plan.replicas[stage])
        if self.links:
            return 2 * (count - 1) * interpolated(self.links, size / count) * fit.link
        return 2 * (count - 1) / count * size * self.plan.replicas[stage][0].degree / fit.link * 1e9


@dataclasses.dataclass(frozen=True)
class _Pass:
    """The forward op of a row. Tensors: input, weight (-1: none), output, and the one kept for the backward op."""

    name: str
    stage: int
    place: int  # of the row
    row: OpRow
    value: int
    weight: int
    output: int
    kept: int
    workspace: int


class _StepGraph:
    """The graph of one micro-batch. rows: [stages] op tables.

    stages: [ops]; boundaries: [stages] sizes of the tensors that leave a stage; gradients: [stages] of weights [B];
    transfers: sends and receives, with the number of the stage before the boundary; gradient_bytes: [ops] of weights;
    update_bytes: [ops] of the weight that an op updates.
    """

    def __init__(self, rows: Sequence[Sequence[OpRow]], plan: Plan, share: float) -> None:
        self.builder = GraphBuilder(plan.case, {"exporter": "emplace.published"})
        self.stages: list[int] = []
        self.boundaries: list[int] = []
        self.gradients = [0] * len(plan.stages)
        self.transfers: dict[int, int] = {}
        self._of_op: list[tuple[int, bool]] = []  # row and whether backward; -1: takes no time
        passes = self._forward(rows, plan, share)
        weights = self._backward(passes)
        first_update = len(self.builder.ops)
        self._update(weights)
        self.gradient_bytes, self.update_bytes = np.zeros((2, len(self.builder.ops)))
        sizes = {gradient: self.builder.tensors[gradient].num_bytes for _, gradient in weights}
        for op in self.builder.ops:
            self.gradient_bytes[op.id] = sum(sizes.get(tensor, 0) for tensor in op.outputs)
            if op.id >= first_update and op.phase == "update":
                self.update_bytes[op.id] = sizes[op.inputs[1]]

    def times(self, rows: Sequence[OpRow], launch: float) -> npt.NDArray[np.float64]:
        """Returns the times of the ops by a table, less launch; of transfers and updates 0 [ns]."""
        return np.array([0.0 if place < 0 else max(0.0, (rows[place].backward if backward else rows[place].forward)
                                                   - launch) for place, backward in self._of_op])

    def _forward(self, rows: Sequence[Sequence[OpRow]], plan: Plan, share: float) -> list[_Pass]:
        passes = []
        last_layer = max(map(max, plan.stages))
        value = self._tensor("input", 0, "input")
        for stage, layers in enumerate(plan.stages):
            if stage:
                value = self._passed(value, stage - 1, stage, "forward")
            for layer in layers:
                places = _places(rows[stage], layer, last_layer)
                for place in places:
                    row, name, ends = rows[stage][place], f"{layer}/{rows[stage][place].name}", place == places[-1]
                    weight = self._parameter(name, row.weights, "parameter", stage) if row.weights else -1
                    output = self._tensor(name, row.output if ends and layer < last_layer else 0)
                    kept = self._tensor(f"{name}/kept", round(share * row.activations))
                    workspace = row.activations * _LOSS_COPIES if ends and layer == last_layer else 0
                    self._op(name, [value, *([weight] if weight >= 0 else [])], [output, kept], stage, "forward", place,
                             workspace)
                    passes.append(_Pass(name, stage, place, row, value, weight, output, kept, workspace))
                    value = output
            self.boundaries.append(self.builder.tensors[value].num_bytes)
        return passes

    def _backward(self, passes: Sequence[_Pass]) -> list[tuple[_Pass, int]]:
        """Returns the passes with weights, and the gradients of the weights."""
        weights = []
        gradient, stage = passes[-1].output, passes[-1].stage
        for each in reversed(passes):
            if each.stage < stage:
                gradient = self._passed(gradient, stage, each.stage, "backward")
                stage = each.stage
            read, outputs = [each.kept, gradient], []
            if each is not passes[0]:
                size = self.builder.tensors[each.value].num_bytes
                outputs.append(self._tensor(f"{each.name}/gradient", size, "gradient"))
            if each.weight >= 0:
                read.append(each.weight)
                weights.append((each, self._tensor(f"{each.name}/weight gradient", each.row.weights, "gradient")))
                outputs.append(weights[-1][1])
                self.gradients[stage] += each.row.weights
            self._op(f"{each.name}/backward", read, outputs, stage, "backward", each.place, each.workspace)
            gradient = outputs[0] if outputs else gradient
        return weights

    def _update(self, weights: Sequence[tuple[_Pass, int]]) -> None:
        for each, gradient in weights:
            state = self._parameter(f"{each.name}/state", 2 * each.row.weights, "optimizer_state", each.stage)
            self._op(f"{each.name}/update", [each.weight, gradient, state], [], each.stage, "update")

    def _passed(self, value: int, source: int, target: int, phase: str) -> int:
        """Adds a blocking send and receive, each of which keeps its stage busy. Returns the received tensor."""
        made = self._tensor(f"{phase}/{target}", self.builder.tensors[value].num_bytes)
        for name, stage, outputs in (("send", source, []), ("receive", target, [made])):
            self.transfers[len(self.builder.ops)] = min(source, target)
            self._op(f"{phase}/{name} {source} {target}", [value], outputs, stage, phase)
        return made

    def _tensor(self, name: str, num_bytes: int, role: str = "activation") -> int:
        return self.builder.tensor(name, (num_bytes // 4,), "f32", role=role, num_bytes=num_bytes)

    def _parameter(self, name: str, num_bytes: int, role: str, stage: int) -> int:
        tensor = self._tensor(f"{name}/{role}", num_bytes, role)
        self._op(f"{name}/{role}", [], [tensor], stage, "forward", kind="parameter")
        return tensor

    def _op(self, name: str, inputs: Sequence[int], outputs: Sequence[int], stage: int, phase: str, place: int = -1,
            workspace: int = 0, kind: str = "op") -> None:
        self.stages.append(stage)
        self._of_op.append((place, phase == "backward"))
        self.builder.op(name, kind, inputs, outputs, phase=phase, workspace_bytes=workspace)


def fitted(here: Sequence[Plan], published: Tables) -> tuple[Fit, list[Plan]]:
    """Returns the figures of a machine, and the two plans that they are from. Throws InputError."""
    first = min(here, key=lambda plan: (len(plan.stages), -plan.width, plan.case))
    second = min((plan for plan in here if plan is not first),
                 key=lambda plan: (plan.micro_batch, -len(plan.stages), -plan.micro_batches, plan.case))
    used = [first, second]
    executed = [Executed(plan, published) for plan in used]
    has_links = bool(executed[0].links)
    most_launch = min(min(row.forward, row.backward) for plan in here for stage in plan.replicas for replica in stage
                      for row in published.ops(plan, replica))

    def time_errors(launch: float, link: float) -> npt.NDArray[np.float64]:
        rate = link if has_links else 1 / link
        return np.array([each.simulate(Fit(launch, rate)).step_time / each.plan.measured - 1 for each in executed])

    bounds = ((0.0, most_launch), (1.0, _LARGEST_FACTOR) if has_links else (1 / _FASTEST_LINK, 1 / _SLOWEST_LINK))
    ring = 2.0 if first.width > 1 else 1.0
    launch, link = least_squares(time_errors, (most_launch / 2, ring if has_links else 1 / 1e9), bounds)

    def memory_errors(share: float, constant: float) -> npt.NDArray[np.float64]:
        return np.array([(each.simulate(Fit(share=share, link=1.0 if has_links else 1e9)).peak + constant)
                         / each.plan.memory - 1 for each in executed])

    least = min(plan.memory for plan in used)
    share, constant = least_squares(memory_errors, (0.5, least / 4), ((0.01, 2.0), (0.0, least)))
    return Fit(launch, link if has_links else 1 / link, share, constant), used


def least_squares(errors: Callable[[float, float], npt.NDArray[np.float64]], start: tuple[float, float],
                  bounds: tuple[tuple[float, float], tuple[float, float]]) -> tuple[float, float]:
    """Returns two figures within bounds with a small sum of squares, by steps of Gauss and Newton."""
    low, high = np.array(bounds).T
    x, best = np.clip(np.array(start), low, high), np.inf
    for _ in range(8):
        here = errors(*x)
        if best - float(here @ here) < 1e-7:
            break
        best = float(here @ here)
        steps = np.where(x * 1.05 < high, 0.05, -0.05) * np.maximum(x, 0.02 * (high - low))
        slopes = np.array([(errors(*(x + np.eye(2)[k] * steps[k])) - here) / steps[k] for k in range(2)]).T
        x = _descended(errors, x, here, slopes, low, high)
    return float(x[0]), float(x[1])


def _descended(errors: Callable[[float, float], npt.NDArray[np.float64]], x: npt.NDArray[np.float64],
               here: npt.NDArray[np.float64], slopes: npt.NDArray[np.float64], low: npt.NDArray[np.float64],
               high: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns the best of the steps within bounds: both figures, or one with the other at a bound."""
    tried = [x]
    scale = np.maximum(np.abs(x), 1e-30)
    moved = x + scale * np.linalg.lstsq(slopes * scale, -here, rcond=None)[0]
    tried.append(np.clip(moved, low, high))
    for k in range(2):
        for bound in (low[k], high[k]):
            slope = slopes[:, 1 - k]
            if (moved[k] - bound) * (x[k] - bound) < 0 and slope @ slope > 0:
                other = x.copy()
                other[k] = bound
                rest = here + slopes[:, k] * (bound - x[k])
                other[1 - k] = np.clip(x[1 - k] - slope @ rest / (slope @ slope), low[1 - k], high[1 - k])
                tried.append(other)
    sums = [float(each @ each) for each in (errors(*point) for point in tried[1:])]
    return tried[1 + int(np.argmin(sums))] if min(sums) < float(here @ here) else x


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


def _kind(replica: Replica) -> str:
    return f"{spelt(replica.gpu)}_tp{replica.degree}"


def _memory_bandwidth(rows: Sequence[OpRow]) -> float:
    """Returns the largest rate at which a forward op writes its results [B/s]."""
    return max(row.activations / row.forward * 1e9 for row in rows)


def _places(rows: Sequence[OpRow], layer: int, last: int) -> list[int]:
    """Returns the rows of a layer."""
    inner = [place for place, row in enumerate(rows) if row.name.startswith(_LAYER_ROW)]
    if layer == 0:
        return list(range(inner[0]))
    return list(range(inner[-1] + 1, len(rows))) if layer == last else inner


def _op_table(path: pathlib.Path) -> list[OpRow]:
    rows = []
    for row in tables.read(path, _COLUMNS):
        sizes = [round(row.number(column) * _MIB) for column in _COLUMNS[3:]]
        rows.append(OpRow(row.cells["op_name"], row.time("forward-compute") * 1e3, row.time("backward-compute") * 1e3,
                          sizes[0], sizes[1], sizes[2]))
    order = "".join("x" if row.name.startswith(_LAYER_ROW) else "-" for row in rows)
    if not re.fullmatch("-+x+-+", order):
        raise PublishedFailure(f"{path}: op_name: expected rows before, of and after a layer, whose names begin with "
                               f"{_LAYER_ROW}")
    if not any(row.activations for row in rows):
        raise PublishedFailure(f"{path}: activations: are 0 in all rows, expected the sizes of results")
    return rows


def _plan(path: pathlib.Path) -> Plan | LeftOut:
    """Reads a plan. Throws PublishedFailure naming file, key and value."""
    tables.read_numbers(path, ())
    document = json.loads(path.read_bytes())
    machine, model, name = _named(path)
    case = f"{machine}/{name}"
    if "real" not in document:
        return LeftOut(case, "it was not executed (no key real)")
    real, micro_batch, batch, nodes, memory = tables.read_numbers(path, ("real", "mbs", "gbs", "N", "max_mem"))
    for key, value in (("mbs", micro_batch), ("gbs", batch), ("N", nodes)):
        if value != int(value) or value < 1:
            raise _failure(path, key, document[key], "a whole number above 0")
    for key, value in (("real", real), ("max_mem", memory)):
        if value <= 0:
            raise _failure(path, key, document[key], "a number above 0")
    pipelines = document.get("pipeline_list")
    if not isinstance(pipelines, list) or not pipelines:
        raise _failure(path, "pipeline_list", pipelines, "a list of pipelines")
    if len(pipelines) > 1:
        return LeftOut(case, "several pipelines")
    layers, groups = _stages(path, pipelines[0])
    replicas: list[list[Replica]] = []
    for stage in groups:
        replicas.append([])
        for pieces, degree in stage:
            if len({(gpu, zone) for gpu, _, zone in pieces}) > 1:
                return LeftOut(case, "a replica of a stage has several kinds of GPU")
            replicas[-1].append(Replica(pieces[0][0], degree))
    if len({zone for stage in groups for pieces, _ in stage for _, _, zone in pieces}) > 1:
        return LeftOut(case, "no table of links between zones")
    if len(set(map(len, replicas))) > 1:
        return LeftOut(case, "stages with different numbers of replicas")
    each = int(micro_batch) * len(replicas[0])
    if batch % each:
        return LeftOut(case, f"gbs is no multiple of mbs x dp ({int(batch)}, {each})")
    return Plan(case, machine, model, layers, replicas, int(micro_batch), int(batch) // each, int(nodes), real * 1e9,
                memory)


def _named(path: pathlib.Path) -> tuple[str, str, str]:
    """Returns machine, model ("": not named) and the rest of the path."""
    parts = path.resolve().parts
    begin = parts.index("validation") + 1 if "validation" in parts[:-3] else len(parts) - 3
    inner = parts[begin:-1]
    models = [part for part in inner[1:] if not re.fullmatch(r"N\d+", part)]
    return inner[0], models[-1] if models else "", "/".join((*inner[1:], path.stem))


def _stages(path: pathlib.Path,
            pipeline: Any) -> tuple[list[list[int]], list[list[tuple[list[tuple[str, int, str]], int]]]]:
    """Returns the layers of each stage, and its replicas: GPU, number and zone of its pieces, degree."""
    pipeline = pipeline if isinstance(pipeline, dict) else {}
    layers = pipeline.get("layers_per_stage")
    if not isinstance(layers, list) or not all(isinstance(stage, list) and stage for stage in layers) or [
            layer for stage in layers for layer in stage] != list(range(sum(map(len, layers)))):
        raise _failure(path, "layers_per_stage", layers, "the layers 0, 1, 2, ... divided among stages")
    if not 3 <= sum(map(len, layers)) <= _MOST_LAYERS:
        raise _failure(path, "layers_per_stage", layers, f"3 to {_MOST_LAYERS} layers")
    given = pipeline.get("tmp_per_stage")
    if not isinstance(given, list) or len(given) != len(layers):
        raise _failure(path, "tmp_per_stage", given, f"a list of {len(layers)} stages")
    groups = []
    for stage in given:
        if not isinstance(stage, list) or not stage:
            raise _failure(path, "tmp_per_stage", stage, "a list of replicas")
        groups.append([_replica(path, replica) for replica in stage])
    if pipeline.get("dp") != [len(stage) for stage in groups]:
        raise _failure(path, "dp", pipeline.get("dp"), f"the numbers of replicas {[len(stage) for stage in groups]}")
    return layers, groups


def _replica(path: pathlib.Path, replica: Any) -> tuple[list[tuple[str, int, str]], int]:
    match replica:
        case [[_, *_] as pieces, int(degree)] if degree > 0 and not isinstance(degree, bool):
            read = [(gpu, count, zone) for piece in pieces if isinstance(piece, list) and len(piece) == 3
                    for gpu, count, zone in [piece] if isinstance(gpu, str) and gpu and isinstance(count, int)
                    and isinstance(zone, str)]
            if len(read) == len(pieces):
                return read, degree
    raise _failure(path, "tmp_per_stage", replica, 'a replica such as [[["GH-96", 4, "us-central1-a"]], 4]')


def _failure(path: pathlib.Path, key: str, value: Any, expected: str) -> PublishedFailure:
    text = json.dumps(value)
    return PublishedFailure(f"{path}: {key} is {text if len(text) <= 80 else text[:77] + '...'}, expected {expected}")
