"""Nodes with graphs inside (If, Loop, Scan, SequenceMap). Each stays one op; this file estimates its work."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator, Mapping

from emplace.importers.dtypes import num_bytes
from emplace.importers.onnx.dtypes import dtype_name
from emplace.importers.onnx.model import is_static, tensor_shape
from emplace.importers.onnx.nodes import attributes_of, op_kind
from emplace.importers.onnx.work import bytes_accessed, flops
from emplace.importers.work import OpView, Value


@dataclasses.dataclass
class Work:
    """flops [FLOP] and moved [B] of a node with graphs inside; why: explains the figures to people."""

    flops: int
    moved: int
    why: str


def bodies(node: Any) -> list[tuple[str, Any]]:
    """Returns (attribute, graph) of the graphs inside a node."""
    from onnx import AttributeProto

    found = [(a.name, a.g) for a in node.attribute if a.type == AttributeProto.GRAPH]
    return found + [(a.name, graph) for a in node.attribute if a.type == AttributeProto.GRAPHS for graph in a.graphs]


def captured(node: Any) -> list[str]:
    """Returns the names of outer tensors that the graphs inside read, in the order of their first use."""
    found: dict[str, None] = {}
    for _, graph in bodies(node):
        own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        for inner in graph.node:
            for name in [*inner.input, *captured(inner)]:
                if name and name not in own:
                    found[name] = None
            own.update(inner.output)
        for value in graph.output:
            if value.name not in own:
                found[value.name] = None
    return list(found)


def weights(node: Any) -> Iterator[Any]:
    """Yields the initialisers of the graphs inside (TensorProto), including those of nested graphs."""
    for _, graph in bodies(node):
        yield from graph.initializer
        for inner in graph.node:
            yield from weights(inner)


def work(node: Any, outer: Mapping[str, Value], values: Mapping[str, Any]) -> Work:
    """Returns the work of a node in one run.

    node: after shape inference. outer: the tensors that it can read, by name. values: known elements by name.
    If: the branch with the most FLOP. Loop, Scan: one round times the number of rounds, if that is known.
    """
    figures = {name: _graph_work(graph, {**outer, **_fed(node, graph, outer)}) for name, graph in bodies(node)}
    unknown = sum(missing for _, _, missing in figures.values())
    rest = f"; {unknown} nodes inside are of unknown work" if unknown else ""
    if node.op_type == "If":
        name, (most, moved, _) = max(figures.items(), key=lambda item: item[1][0])
        return Work(most, moved, f"one op, with the work of {name}{rest}")
    one_flops, one_moved = (sum(figure[i] for figure in figures.values()) for i in (0, 1))
    rounds = _rounds(node, outer, values)
    if rounds is None:
        return Work(one_flops, one_moved, "one op, with the work of one round; the number of rounds is known at run "
                                          f"time only{rest}")
    return Work(rounds * one_flops, rounds * one_moved, f"one op, with the work of all rounds{rest}")


def _rounds(node: Any, outer: Mapping[str, Value], values: Mapping[str, Any]) -> int | None:
    """Returns the number of runs of the graph inside; for a Loop with a condition the maximum."""
    if node.op_type == "Loop":
        limit = values.get(node.input[0]) if node.input[0] else None
        return None if limit is None else max(0, int(limit.reshape(-1)[0]))
    attributes = attributes_of(node)
    scans = attributes.get("num_scan_inputs")
    if node.op_type != "Scan" or not scans or node.input[-scans] not in outer:
        return None
    axes = attributes.get("scan_input_axes") or [0]
    shape = outer[node.input[-scans]].shape
    return shape[axes[0]] if shape else None


def _fed(node: Any, graph: Any, outer: Mapping[str, Value]) -> dict[str, Value]:
    """Returns the inputs of the graph inside that come from the inputs of the node."""
    fed: dict[str, Value] = {}
    if node.op_type == "Loop":
        pairs = zip([value.name for value in graph.input[2:]], node.input[2:])
        fed.update({inner: outer[name] for inner, name in pairs if name in outer})
    if node.op_type == "Scan":
        attributes = attributes_of(node)
        scans = attributes.get("num_scan_inputs", 0)
        axes = attributes.get("scan_input_axes") or [0] * scans
        for place, (value, name) in enumerate(zip(graph.input, node.input)):
            if name not in outer:
                continue
            shape = list(outer[name].shape)
            if place >= len(node.input) - scans:
                shape.pop(axes[place - (len(node.input) - scans)])
            fed[value.name] = Value(shape, outer[name].dtype, num_bytes(shape, outer[name].dtype))
    return fed


def _graph_work(graph: Any, seen: Mapping[str, Value]) -> tuple[int, int, int]:
    """Returns (FLOP, bytes moved [B], nodes of unknown work) of one run of a graph."""
    values = dict(seen)
    for tensor in graph.initializer:
        values[tensor.name] = _value(tensor.data_type, list(tensor.dims), graph.name)
    for value in [*graph.input, *graph.value_info, *graph.output]:
        shape = tensor_shape(value)
        if value.name not in values and is_static(shape) and value.type.tensor_type.elem_type:
            values[value.name] = _value(value.type.tensor_type.elem_type, shape, graph.name)
    total, moved, unknown = 0, 0, 0
    for node in graph.node:
        names = [name for name in [*node.input, *node.output] if name]
        if bodies(node):
            inner = work(node, values, {})
            total, moved = total + inner.flops, moved + inner.moved
            continue
        if any(name not in values for name in names):
            unknown += 1
            continue
        view = OpView(op_kind(node).rpartition(".")[2], [values.get(name) for name in node.input],
                        [values.get(name) for name in node.output], attributes_of(node))
        figure, bytes_ = flops(view), bytes_accessed(view)
        unknown += figure is None
        total += figure or 0
        moved += sum(values[name].num_bytes for name in names) if bytes_ is None else bytes_
    return total, moved, unknown


def _value(element_type: int, shape: list[int], where: str) -> Value:
    dtype = dtype_name(element_type, f"graph {where!r} inside a node")
    return Value(shape, dtype, num_bytes(shape, dtype))
