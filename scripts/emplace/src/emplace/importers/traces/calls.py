"""The tree of recorded nodes, and the calls in it that become ops."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, Iterator, Sequence

from . import aten


@dataclasses.dataclass(frozen=True)
class Ref:
    """A tensor as a call saw it. storage: identifies its memory; view: distinguishes views of it; size in [B]."""

    storage: Any
    view: Any
    shape: tuple[int, ...]
    dtype: str
    num_bytes: int


@dataclasses.dataclass
class Node:
    """A recorded node: an operator's call, or a range around calls. Durations in [ns].

    inputs: for each argument a Ref, a list of them, or another value; outputs likewise. order: nodes
    began in this order. duration: host time including inner nodes; device: time of its own kernels.
    """

    id: int
    name: str
    order: float
    inputs: list[Any] = dataclasses.field(default_factory=list)
    outputs: list[Any] = dataclasses.field(default_factory=list)
    schema: str = ""
    sequence: int = -1
    forward_sequence: int = -1
    duration: int | None = None
    device: int | None = None
    children: list["Node"] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Call:
    """A future op: a node, its phase, and the nodes inside it. Durations in [ns]."""

    node: Node
    phase: str
    forward_sequence: int
    inputs: list[Any]
    outputs: list[Any]
    duration: int | None
    inner_inputs: list[Ref] = dataclasses.field(default_factory=list)
    inner_outputs: list[Ref] = dataclasses.field(default_factory=list)
    parts: int = 1  # number of ops into which a call on lists was split


@dataclasses.dataclass
class Selection:
    calls: list[Call]
    split: int = 0           # calls on lists that were split
    outside: int | None = None  # host time outside of calls [ns]
    on_device: bool = False  # durations are those of kernels


def refs(arguments: Iterable[Any]) -> Iterator[Ref]:
    """Yields the tensors in arguments, in order, including those in lists."""
    for argument in arguments:
        if isinstance(argument, Ref):
            yield argument
        elif isinstance(argument, (list, tuple)):
            yield from refs(argument)


def select(roots: Sequence[Node]) -> Selection:
    """Returns the calls that become ops: the outermost operators, but not those that only call others.

    If there are kernels, an op's duration is that of its kernels. Otherwise it is host time; the own time of
    an operator that only calls others is added to the last of them.
    """
    nodes = sorted(roots, key=lambda node: node.order)
    on_device = any(node.device is not None for root in nodes for node in everything(root))
    selection = Selection([], on_device=on_device)
    for root in nodes:
        _select(root, "forward", -1, selection)
    _settle_phases(selection.calls)
    timed = [node for root in nodes for node in _timed(root)]
    if timed and not on_device:
        total = sum(node.duration or 0 for node in timed)
        selection.outside = max(0, total - sum(call.duration or 0 for call in selection.calls))
    selection.calls = [part for call in selection.calls for part in _parts(call, selection)]
    return selection


def everything(node: Node) -> Iterator[Node]:
    """Yields the node and all nodes below it."""
    yield node
    for child in node.children:
        yield from everything(child)


def _timed(node: Node) -> Iterator[Node]:
    """Yields the outermost nodes that have a duration."""
    if node.duration is not None:
        yield node
    else:
        for child in node.children:
            yield from _timed(child)


def _select(node: Node, phase: str, forward: int, selection: Selection) -> None:
    evaluates = node.name.startswith("autograd::engine::evaluate_function")
    if evaluates or node.name.rstrip("0123456789").endswith("Backward"):
        phase = "backward"
        forward = node.forward_sequence if node.forward_sequence >= 0 else forward
    elif node.name.startswith("Optimizer."):
        phase = "update"
    elif node.name == "torch::autograd::AccumulateGrad":
        phase, forward = "backward", -1
    children = sorted(node.children, key=lambda child: child.order)
    operator = aten.is_operator(node.name)
    composite = operator and aten.base_name(node.name) in aten.COMPOSITE
    if operator and not (composite and any(aten.is_operator(child.name) for child in children)):
        inside = [child for top in children for child in everything(top)]
        selection.calls.append(Call(node, phase, forward, node.inputs, node.outputs, _duration(node, selection),
                                    [ref for child in inside for ref in refs(child.inputs)],
                                    [ref for child in inside for ref in refs(child.outputs)]))
        return
    before = len(selection.calls)
    for child in children:
        _select(child, phase, forward, selection)
    if composite and len(selection.calls) > before and not selection.on_device and node.duration is not None:
        own = node.duration - sum(call.duration or 0 for call in selection.calls[before:])
        last = selection.calls[-1]
        last.duration = (last.duration or 0) + max(0, own)


def _duration(node: Node, selection: Selection) -> int | None:
    if selection.on_device:
        return sum(inner.device or 0 for inner in everything(node))
    return node.duration


def _settle_phases(calls: list[Call]) -> None:
    """Assigns calls outside of autograd and the optimiser to the phase that follows them."""
    backward = [index for index, call in enumerate(calls) if call.phase == "backward"]
    if not backward:
        return
    first = backward[0]
    if first and aten.base_name(calls[first - 1].node.name) in ("ones_like", "ones"):  # the gradient of the loss
        calls[first - 1].phase = "backward"
    for index, call in enumerate(calls):
        if index > first and call.phase == "forward":  # for example clipping
            call.phase = "update"


def _parts(call: Call, selection: Selection) -> list[Call]:
    """Splits a call on lists of tensors (`_foreach_add_`, `_fused_adam_`).

    Returns one call for each position in the lists.
    """
    name = aten.base_name(call.node.name)
    lists = [argument for argument in call.inputs if isinstance(argument, list) and any(True for _ in refs(argument))]
    lengths = {len(argument) for argument in lists}
    if not name.startswith(("_foreach_", "_fused_", "_amp_foreach")) or len(lengths) != 1 or lengths == {1}:
        return [call]
    number = lengths.pop()
    selection.split += 1

    def part(arguments: list[Any], index: int) -> list[Any]:
        return [argument[index] if isinstance(argument, list) and len(argument) == number
                and any(True for _ in refs(argument)) else argument for argument in arguments]

    outputs = call.outputs if any(isinstance(output, list) for output in call.outputs) else \
        [call.outputs] if len(call.outputs) == number else []
    calls = [dataclasses.replace(call, inputs=part(call.inputs, index), outputs=part(outputs, index), parts=number,
                                 inner_inputs=[], inner_outputs=[]) for index in range(number)]
    if call.duration is not None:  # in proportion to the bytes, in whole nanoseconds without loss
        sizes = [sum(ref.num_bytes for ref in refs(each.inputs)) for each in calls]
        total, given, done = sum(sizes) or 1, 0, 0
        for each, size in zip(calls, sizes):
            done += size
            each.duration = call.duration * done // total - given
            given += each.duration
    return calls
