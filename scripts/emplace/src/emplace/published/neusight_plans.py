"""Executed plans of NeuSight (sitar-lab/NeuSight): training steps of transformers on several GPUs of one node.

label/GPU/MODEL-train-SEQ-BATCH-PLAN.json has the measured step e2e_latency [ms], which is only compared. BATCH is that
of all GPUs. PLAN: dpN replicas, tpN tensor-parallel ranks, ppN_M stages and micro-batches. A step is the forward and
the backward pass, as in neusight.py.

The graph is made of the table of a step with the same model and sequence. If that step is of the same GPU and has the
batch of a replica's micro-batch, op times are the published ones. Otherwise its tensors get the other batch, and op
times are predicted by the device kind, by its fit if it has one. Layers are divided evenly among stages.

dp: all gradients are reduced at once after the backward pass, as Megatron-LM does by default. tp: the linear layers of
a layer are divided by columns and by rows in turn, as Megatron-LM does (Shoeybi et al., 2019), the last one by columns.
A reduction of activations follows each linear layer divided by rows; the backward pass has as many. One rank is
simulated, since all do the same at the same time. Reductions are rings over ports whose figures LINKS states.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
from typing import Any, Mapping, Sequence

from . import neusight, plans, tables
from .figures import OPS, PREDICTED, Compared, spelt
from .fx_step import FxRow, step_graph
from .simulate import menu_kind
from .tables import LeftOut, PublishedFailure, Shape

# [B/s] at which a GPU sends: the first part that a GPU's name has, figure and source.
LINKS = (
    ("_v100_pcie_", 16e9, "PCI Express 3.0 x16, NVIDIA V100 Tensor Core GPU data sheet: 32 GB/s in both directions"),
    ("_pcie_", 32e9, "PCI Express 4.0 x16, NVIDIA A100 Tensor Core GPU data sheet: 64 GB/s in both directions"),
    ("_l4_", 32e9, "PCI Express 4.0 x16, NVIDIA L4 Tensor Core GPU data sheet: 64 GB/s in both directions"),
    ("_h100_", 450e9, "NVLink 4, NVIDIA H100 Tensor Core GPU data sheet: 900 GB/s in both directions"),
    ("_h200_", 450e9, "NVLink 4, NVIDIA H200 Tensor Core GPU data sheet: 900 GB/s in both directions"),
    ("_a100_", 300e9, "NVLink 3, NVIDIA A100 Tensor Core GPU data sheet: 600 GB/s in both directions"),
    ("_v100_", 150e9, "NVLink 2, NVIDIA V100 Tensor Core GPU data sheet: 300 GB/s in both directions"),
)
LATENCY = 6_000  # [ns] of a step of a ring, as in configs/clusters/8xh100_nvswitch.yaml
_NAME = re.compile(r"(?P<model>.+?)-train-(?P<seq>\d+)-(?P<batch>\d+)-(?P<plan>.+)")
_PLAN = re.compile(r"(?P<kind>dp|tp)(?P<count>[1-9]\d{0,3})|pp(?P<stages>[1-9]\d{0,3})_(?P<micro>[1-9]\d{0,3})")
_REDUCE = "all_reduce"


@dataclasses.dataclass(frozen=True)
class Plan:
    """An executed plan of one kind: dp, tp or pp. batch: of all GPUs; measured [ns]."""

    case: str
    gpu: str
    model: str
    seq: int
    batch: int
    kind: str
    count: int
    micro_batches: int
    measured: float

    @property
    def part(self) -> int:
        """Returns the batch of a replica's micro-batch."""
        return self.batch // (self.count if self.kind == "dp" else self.micro_batches)


@dataclasses.dataclass(frozen=True)
class Source:
    """A step whose table the graph is made of."""

    step: neusight.Step
    batch: int


def read(folder: pathlib.Path) -> list[Plan | LeftOut]:
    """Returns the plans. Throws PublishedFailure for a damaged file, and if there is none."""
    files = [(file, match) for file in neusight.step_files(folder) if (match := _NAME.fullmatch(file.path.stem))]
    found = [_plan(file, match) for file, match in files if match["plan"] != "fusion"]
    if not found:
        raise PublishedFailure(f"{folder}: holds no file GPU/MODEL-train-SEQ-BATCH-PLAN.json with PLAN dpN, tpN or "
                               "ppN_M")
    return found


def compare(found: Sequence[Plan], folder: pathlib.Path) -> tuple[list[Compared], list[LeftOut]]:
    """Returns the simulated plans, and those left out. Throws InputError, PublishedFailure."""
    steps = _steps(folder)
    done = [_simulated(plan, steps) for plan in found]
    return ([row for row in done if isinstance(row, Compared)], [row for row in done if isinstance(row, LeftOut)])


def link(gpu: str) -> tuple[float, str]:
    """Returns bandwidth [B/s] and source of the links of a GPU; 0: not stated."""
    return next(((rate, source) for part, rate, source in LINKS if part in f"_{spelt(gpu)}_"), (0.0, ""))


def _plan(file: neusight.StepFile, match: re.Match[str]) -> Plan | LeftOut:
    measured, = tables.read_numbers(file.path, ("e2e_latency",))
    if measured <= 0:
        raise PublishedFailure(f"{file.path}: e2e_latency is {measured:g}, expected a time above 0")
    plan = _PLAN.fullmatch(match["plan"])
    if not plan:
        return LeftOut(file.case, "a plan of another form than dpN, tpN, ppN_M")
    batch, count = int(match["batch"]), int(plan["count"] or plan["stages"])
    made = Plan(file.case, file.gpu, match["model"], int(match["seq"]), batch, plan["kind"] or "pp", count,
                int(plan["micro"] or 1), measured * 1e6)
    if batch == 0 or batch % (count if made.kind == "dp" else made.micro_batches):
        return LeftOut(file.case, "its batch cannot be divided among replicas or micro-batches")
    if count + (made.kind == "dp") > plans.MOST_DEVICES:
        return LeftOut(file.case, plans.TOO_MANY)
    return made


def _steps(folder: pathlib.Path) -> dict[tuple[str, int], list[Source]]:
    """Returns training steps with op times by model and sequence."""
    steps: dict[tuple[str, int], list[Source]] = {}
    for file in neusight.step_files(folder):
        match = re.fullmatch(r"(.+)-train-(\d+)-([1-9]\d*)", file.path.stem)
        step = neusight.read_step(file) if match else None
        if match and isinstance(step, neusight.Step):
            steps.setdefault((match[1], int(match[2])), []).append(Source(step, int(match[3])))
    return steps


def _simulated(plan: Plan, steps: Mapping[tuple[str, int], Sequence[Source]]) -> Compared | LeftOut:
    sources = steps.get((plan.model, plan.seq), ())
    if not sources:
        return LeftOut(plan.case, "no table of a step of the model with this sequence")
    source = min(sources, key=lambda each: (each.step.gpu != plan.gpu, abs(each.batch - plan.part), each.step.gpu))
    bandwidth, _ = link(plan.gpu)
    if not bandwidth and plan.count > 1:
        return LeftOut(plan.case, "no figures of this GPU's links")
    how = OPS if source.step.gpu == plan.gpu and source.batch == plan.part and plan.kind != "tp" else PREDICTED
    kind = spelt(plan.gpu) if how == OPS else menu_kind(plan.gpu)
    if not kind:
        return LeftOut(plan.case, "no table of its batch, and no device kind of the menu has the figures of this GPU")
    if source.step.num_layers < (plan.count if plan.kind == "pp" else 1):
        return LeftOut(plan.case, f"{source.step.num_layers} layers for {plan.count} stages")
    rows = with_batch(source.step.rows, source.batch, plan.part)
    if plan.kind == "tp":
        rows = divided(rows, plan.count, plan.part)
    document = step_graph(plan.case, rows, source.step.num_layers, True, kind if how == OPS else None)
    _cost_reductions(document, kind, plan.count, bandwidth)
    stages = [0] * len(document["ops"])
    if plan.kind == "pp":
        stages = stages_of(document, source.step.num_layers, plan.count)
    if plan.kind == "dp":
        _add_updates(document, stages, kind)
    replicas, gpus = (plan.count if plan.kind == "dp" else 1), (1 if plan.kind == "tp" else plan.count)
    cluster = plans.cluster_of([kind] * gpus, port=(bandwidth, LATENCY))
    done = plans.simulate(document, stages, cluster, replicas, plan.micro_batches)
    return Compared(plan.case, plan.gpu, f"plan, {how}", plan.measured, done.step_time, how, ("all plans",),
                    peers=f"{plan.model}, sequence {plan.seq}, {plan.count} GPUs, batch {plan.batch}")


def with_batch(rows: Sequence[FxRow], batch: int, wanted: int) -> list[FxRow]:
    """Returns the rows with another batch: the first size of each tensor that depends on the model's input."""
    depends: set[str] = set()
    made = []
    for row in rows:
        if row.op == "placeholder" or depends.intersection(row.inputs) and (row.dtype or row.splits):
            depends.add(row.name)
            if row.shape and row.dtype and row.shape[0] % batch == 0:
                row = dataclasses.replace(row, shape=(row.shape[0] // batch * wanted, *row.shape[1:]))
        made.append(row)
    return made


def divided(rows: Sequence[FxRow], degree: int, batch: int) -> list[FxRow]:
    """Returns the rows of one of `degree` tensor-parallel ranks, with the reductions of activations."""
    held: set[str] = set()  # tensors of which a rank has a part
    parts: dict[str, Shape] = {}  # shapes of divided weights
    reduced: dict[str, str] = {}
    by_name = {row.name: row for row in rows}
    for row in rows:
        linear = row.function in ("linear", "addmm")
        is_held = bool(held.intersection(row.inputs))
        if linear and not is_held or not linear and is_held and row.dtype or row.splits and is_held:
            held.add(row.name)
        if row.function == "addmm" and len(row.inputs) == 3:
            bias, _, weight = (by_name[name] for name in row.inputs)
            by_rows = (_part(weight.shape[0], degree), *weight.shape[1:])
            parts[weight.name] = by_rows if is_held else _last(weight.shape, degree)
            parts[bias.name] = bias.shape if is_held else _last(bias.shape, degree)
    made = []
    for row in rows:
        row = dataclasses.replace(row, inputs=tuple(reduced.get(name, name) for name in row.inputs))
        if row.name in parts:
            row = dataclasses.replace(row, shape=parts[row.name])
        elif row.function in ("linear", "addmm") and row.name not in held:
            left = 1 if row.function == "addmm" and len(row.input_shapes) > 1 else 0
            shapes = list(row.input_shapes)
            shapes[left] = _last(shapes[left], degree)
            row = dataclasses.replace(row, input_shapes=tuple(shapes))
            made.append(row)
            reduced[row.name] = f"{row.name}_reduced"
            row = FxRow(reduced[row.name], "call_function", _REDUCE, (row.name,), row.shape, (row.shape,), row.dtype, 0,
                        0, row.in_layer)
        elif row.name in held and row.dtype:
            row = dataclasses.replace(row, shape=_held(row, degree, batch))
        made.append(row)
    return made


def _held(row: FxRow, degree: int, batch: int) -> Shape:
    """Returns the shape of a rank's part: fewer heads, or a shorter last dimension."""
    shape = row.shape
    if len(shape) == 4:  # heads before or behind the sequence, which is longer
        place = min((1, 2), key=lambda at: shape[at])
    else:  # heads of all samples in the first dimension
        place = 0 if len(shape) == 3 and shape[0] != batch else len(shape) - 1
    return tuple(_part(size, degree) if at == place else size for at, size in enumerate(shape))


def _last(shape: Shape, degree: int) -> Shape:
    return (*shape[:-1], _part(shape[-1], degree))


def _part(size: int, degree: int) -> int:
    return -(-size // degree)


def stages_of(document: Mapping[str, Any], num_layers: int, count: int) -> list[int]:
    """Returns the stage of each op: layers divided evenly; before the first layer 0, behind the last one the last."""
    stages: list[int] = []
    last = 0
    by_name: dict[str, int] = {}
    for op in document["ops"]:
        layer = re.match(r"(\d+)/", op["name"])
        origin = by_name.get(op.get("attributes", {}).get("forward_op", ""))
        if origin is not None:
            stage = stages[origin]
        elif layer:
            last = stage = int(layer[1]) * count // num_layers
        else:
            stage = 0 if not stages or last == 0 and not any(stages) else count - 1
        by_name[op["name"]] = len(stages)
        stages.append(stage)
    readers: dict[int, int] = {}  # weights are where their first reader is
    for place, op in enumerate(document["ops"]):
        for tensor in op["inputs"]:
            readers.setdefault(tensor, place)
    return [stages[readers.get(op["outputs"][0], place)] if op["kind"] in ("parameter", "constant") else stages[place]
            for place, op in enumerate(document["ops"])]


def _cost_reductions(document: Mapping[str, Any], kind: str, count: int, bandwidth: float) -> None:
    """Gives the reductions of activations the time of a ring."""
    reductions = {op["name"] for op in document["ops"] if op["kind"] == f"aten.{_REDUCE}"}
    for op in document["ops"]:
        if op["name"] in reductions or op.get("attributes", {}).get("forward_op") in reductions:
            size = document["tensors"][op["outputs"][0]]["bytes"]
            op["cost_ns"] = {kind: round(2 * (count - 1) * (LATENCY + size / count / bandwidth * 1e9))}


def _add_updates(document: Mapping[str, Any], stages: list[int], kind: str) -> None:
    """Adds a reader, which takes no time, to each gradient of a weight, so that replicas reduce it."""
    for op in list(document["ops"]):
        for tensor in op["outputs"]:
            if op.get("phase") == "backward" and document["tensors"][tensor].get("role") == "output":
                stages.append(0)
                document["ops"].append({
                    "id": len(document["ops"]), "name": f"{op['name']}/{tensor}/update", "kind": "update", "inputs":
                    [tensor], "outputs": [], "phase": "update", "cost_ns": {kind: 0}})
