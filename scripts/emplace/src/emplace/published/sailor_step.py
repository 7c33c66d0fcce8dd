"""The graph of one micro-batch, made of the op tables of Sailor; see sailor_plans.py."""

from __future__ import annotations

import dataclasses
from typing import Sequence

import numpy as np
import numpy.typing as npt

from ..importers.graph_file import GraphBuilder
from .sailor_plan_files import Plan
from .sailor_tables import LAYER_ROW, OpRow

# The loss needs its logits three more times while it runs: shifted, their exponentials, the gradient.
_LOSS_COPIES = 3


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


class StepGraph:
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


def _places(rows: Sequence[OpRow], layer: int, last: int) -> list[int]:
    """Returns the rows of a layer."""
    inner = [place for place, row in enumerate(rows) if row.name.startswith(LAYER_ROW)]
    if layer == 0:
        return list(range(inner[0]))
    return list(range(inner[-1] + 1, len(rows))) if layer == last else inner
