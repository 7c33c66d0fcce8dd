"""The tree of recorded nodes, and the calls in it that become ops."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Iterable, Iterator, Sequence

from . import aten, collectives


@dataclasses.dataclass(frozen=True)
class Ref:
    """A tensor as a call saw it. storage: identifies its memory; view: distinguishes views of it; size in [B]."""

    storage: Any
    view: Any
    shape: tuple[int, ...]
    dtype: str
    num_bytes: int


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel or copy of a GPU. begin, duration in [ns]; stream: None if not known.

    copy: host_to_device and the like, "": no copy; num_bytes: copied [B]; recorded: see collectives.recorded;
    correlation: number of its launch.
    """

    name: str
    begin: int
    duration: int
    stream: Any = None
    copy: str = ""
    num_bytes: int = 0
    recorded: dict[str, Any] = dataclasses.field(default_factory=dict)
    correlation: int | None = None


@dataclasses.dataclass
class Node:
    """A recorded node: an operator's call, or a range around calls. Durations in [ns].

    inputs: for each argument a Ref, a list of them, or another value; outputs likewise. order: nodes
    began in this order. duration: host time including inner nodes; device: time of its own kernels, which are in
    `kernels` if the trace has them one by one. recorded: figures of a collective. thread: None if not known.
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
    kernels: list[Kernel] = dataclasses.field(default_factory=list)
    recorded: dict[str, Any] = dataclasses.field(default_factory=dict)
    thread: Any = None


@dataclasses.dataclass
class Call:
    """A future op: a node, its phase, and the nodes inside it. Durations in [ns].

    base: its name without namespace; kind: of the op; attributes: those of the op. rest: only the own kernels of a
    node, and the nodes inside it are calls of their own.
    """

    node: Node
    phase: str
    forward_sequence: int
    inputs: list[Any]
    outputs: list[Any]
    duration: int | None
    base: str
    kind: str
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    kernels: list[Kernel] = dataclasses.field(default_factory=list)
    inner_inputs: list[Ref] = dataclasses.field(default_factory=list)
    inner_outputs: list[Ref] = dataclasses.field(default_factory=list)
    rest: bool = False
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
    streams = {kernel.stream for call in selection.calls for kernel in call.kernels}
    if len(streams) > 1:
        for call in selection.calls:
            if call.kernels:
                call.attributes["stream"] = stream_of(call)
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
    inside = [child for top in children for child in everything(top)]
    operator = aten.is_operator(node.name)
    composite = operator and aten.base_name(node.name) in aten.COMPOSITE
    collective = _collective(node, inside)
    only_calls = composite and any(aten.is_operator(child.name) for child in children)
    if collective or (operator and not only_calls and not any(_is_collective(child) for child in inside)):
        selection.calls.append(_call(node, phase, forward, inside, selection, collective))
        return
    before = len(selection.calls)
    for child in children:
        _select(child, phase, forward, selection)
    if node.device is not None:  # its own kernels, beside those of the operators that it called
        made = [ref for call in selection.calls[before:] for ref in refs(call.outputs)]
        own = _call(node, phase, forward, [], selection, "")
        own.inputs, own.rest = own.inputs + made, True
        selection.calls.append(own)
    elif operator and len(selection.calls) > before and not selection.on_device and node.duration is not None:
        rest = node.duration - sum(call.duration or 0 for call in selection.calls[before:])
        last = selection.calls[-1]
        last.duration = (last.duration or 0) + max(0, rest)


def _call(node: Node, phase: str, forward: int, inside: list[Node], selection: Selection, collective: str) -> Call:
    """Returns the call of a node and the nodes inside it. collective: its name if it is one."""
    kernels = [kernel for each in [node, *inside] for kernel in each.kernels]
    duration = node.duration
    if selection.on_device:
        duration = sum(each.device or 0 for each in [node, *inside])
    call = Call(node, phase, forward, node.inputs, node.outputs, duration, aten.base_name(node.name),
                aten.kind(node.name), {}, kernels, [ref for child in inside for ref in refs(child.inputs)],
                [ref for child in inside for ref in refs(child.outputs)])
    copies = {kernel.copy for kernel in kernels}
    if collective:
        call.base, call.kind = collective, f"collective.{collective}"
        call.attributes = _figures([node, *inside], kernels)
    elif len(copies) == 1 and copies not in ({""}, {"device_to_device"}):
        direction = copies.pop()
        call.base, call.kind = f"copy_{direction}", f"copy.{direction}"
        call.attributes = {"bytes": sum(kernel.num_bytes for kernel in kernels)}
    return call


def _is_collective(node: Node) -> bool:
    return bool(collectives.of_range(node.name) or collectives.of_operator(node.name)
                or node.recorded.get("collective"))


def _collective(node: Node, inside: Sequence[Node]) -> str:
    """Returns the name of the collective that a node is, without operators around it; "" for other nodes."""
    parameters = node.name == collectives.PARAMETERS
    if not parameters and not collectives.is_range(node.name) and not collectives.of_operator(node.name):
        return ""
    kernels = [kernel for each in [node, *inside] for kernel in each.kernels]
    if collectives.is_range(node.name) and not kernels:  # of a thread of Gloo; the operator that asked for it is the op
        return ""
    recorded = [each.recorded.get("collective") for each in [node, *inside]]
    ranges = [collectives.of_range(each.name) for each in [*inside, node]]
    names = [*recorded, *ranges, collectives.of_operator(node.name),
             *(collectives.of_kernel(kernel.name) for kernel in kernels if collectives.is_kernel(kernel.name))]
    return next((name for name in names if name), "")


def _figures(nodes: Sequence[Node], kernels: Sequence[Kernel]) -> dict[str, Any]:
    """Returns bytes and group of a collective: as recorded, else the bytes of the tensors of its range."""
    found: dict[str, Any] = {}
    for recorded in [node.recorded for node in nodes] + [kernel.recorded for kernel in kernels]:
        found |= {key: value for key, value in recorded.items() if key not in found}
    found.pop("collective", None)
    ranges = [node for node in nodes if collectives.is_range(node.name)]
    for node in [*ranges, *(node for node in nodes if node.name == collectives.PARAMETERS), *nodes]:
        size = sum(ref.num_bytes for ref in refs(node.inputs))
        if size:
            return {"bytes": size, **found}
    return found


def stream_of(call: Call) -> Any:
    """Returns the stream in which the call spent most of its time; None without kernels."""
    times: dict[Any, int] = {}
    for kernel in call.kernels:
        times[kernel.stream] = times.get(kernel.stream, 0) + kernel.duration
    return max(times, key=lambda stream: times[stream], default=None)


def short_name(kernel: str) -> str:
    """Returns the name of a kernel without result, namespaces, template and arguments."""
    plain = kernel.replace("(anonymous namespace)::", "").removeprefix("void ")
    return re.sub(r"\W+", "_", re.split(r"[<(]", plain)[0].split("::")[-1].strip()) or "kernel"


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
