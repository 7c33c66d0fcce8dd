"""The calls of a traced step that may be ops of a graph, with their times.

A call is the outermost operator whose family the graph knows. An operator that the graph does not know is replaced by
the calls in it if the graph knows any of those and the operator itself does little (`aten::linear` of a graph with
`aten.addmm`). Otherwise it stays a call of its own.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Collection, Sequence

from ..importers import graph_file
from ..importers.kineto.trace import Trace
from ..importers.traces import aten
from ..importers.traces.calls import Node, everything, refs
from . import names


@dataclasses.dataclass(frozen=True)
class Work:
    """The properties by which a call and an op are compared.

    sizes: elements of its inputs, ascending, without single numbers; None: not known. dtype: of the largest; "": not
    known.
    """

    family: str
    sizes: tuple[int, ...] | None
    dtype: str


@dataclasses.dataclass
class Call:
    """An operator of the trace. time [ns]: of its kernels, or on the CPU including the calls inside."""

    name: str
    work: Work
    time: int
    optimizer: str  # range "Optimizer.step#Adam.step" around it; "": none


@dataclasses.dataclass(frozen=True)
class Step:
    """calls: in the order of their begins. span: length of the step [ns]."""

    calls: list[Call]
    span: int


def on_device(traces: Sequence[Trace]) -> bool:
    """Returns whether a GPU's kernels were traced; then times are those of kernels, else those of the CPU."""
    return any(node.device is not None for trace in traces for top in trace.nodes for node in everything(top))


def read(traces: Sequence[Trace], families: Collection[str]) -> list[Step]:
    """Returns the steps of one trace. families: those of the graph's ops."""
    device = on_device(traces)
    reader = _Reader(frozenset(families), _workers(traces, device), device)
    return [reader.step(trace) for trace in traces]


def sizes_of(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Returns Work.sizes of tensors with these shapes."""
    return tuple(sorted(count for count in map(math.prod, shapes) if count != 1))


def _workers(traces: Sequence[Trace], device: bool) -> frozenset[str]:
    """Returns the names of operators that run kernels of their own.

    On the CPU: operators that spend most of their time outside of the operators that they call.
    """
    own: collections.Counter[str] = collections.Counter()
    for node in (node for trace in traces for top in trace.nodes for node in everything(top)):
        if device:
            own[node.name] += node.device or 0
        else:
            own[node.name] += (node.duration or 0) - 2 * sum(child.duration or 0 for child in node.children)
    return frozenset(name for name, time in own.items() if time > 0 and aten.base_name(name) not in aten.COMPOSITE)


class _Reader:
    def __init__(self, families: frozenset[str], workers: frozenset[str], device: bool) -> None:
        self.families, self.workers, self.device = families, workers, device
        self.calls: list[Call] = []

    def step(self, trace: Trace) -> Step:
        self.calls = []
        for top in sorted(trace.nodes, key=lambda node: node.order):
            self._collect(top, "")
        return Step(self.calls, trace.span)

    def _collect(self, node: Node, optimizer: str) -> None:
        if node.name.startswith("Optimizer.step"):
            optimizer = node.name
        operator = aten.is_operator(node.name)
        if operator and (optimizer or self._stands_for_itself(node)):
            time = node.duration or 0
            if self.device:
                time = sum(inner.device or 0 for inner in everything(node))
            self.calls.append(Call(node.name, _work(node), time, optimizer))
            return
        before = len(self.calls)
        for child in sorted(node.children, key=lambda child: child.order):
            self._collect(child, optimizer)
        if operator and not self.device and len(self.calls) > before:  # adds its own time
            inside = sum(call.time for call in self.calls[before:])
            self.calls[-1].time += max(0, (node.duration or 0) - inside)

    def _stands_for_itself(self, node: Node) -> bool:
        inner = [each for child in node.children for each in everything(child) if aten.is_operator(each.name)]
        known = any(names.family_of_call(each.name) in self.families for each in inner)
        if names.sometimes_copies(node.name):
            return not known
        return names.family_of_call(node.name) in self.families or not known or node.name in self.workers


def _work(node: Node) -> Work:
    tensors = list(refs(node.inputs))
    largest = max(tensors, key=lambda ref: math.prod(ref.shape), default=None)
    known = largest is not None and largest.shape and largest.dtype in graph_file.DTYPE_BYTES
    return Work(names.family_of_call(node.name), sizes_of([ref.shape for ref in tensors]) if tensors else None,
                largest.dtype if largest is not None and known else "")
