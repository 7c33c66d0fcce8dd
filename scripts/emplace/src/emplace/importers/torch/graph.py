"""Turns a recorded step into a graph file: unique names, co-location, no superfluous edges."""

from __future__ import annotations

import collections
from typing import Any, Mapping, Sequence

from emplace.importers.graph_file import SOURCE_KINDS, GraphBuilder, Names
from emplace.importers.union import Union

from .notes import StepNotes


def make_graph(name: str, source: Mapping[str, Any], notes: StepNotes, ranks: int = 1) -> GraphBuilder:
    """Returns the graph of a recorded step; ops are in the order of the notes."""
    ops, values = notes.ops, notes.values
    kept = [index for index, alive in enumerate(_alive(notes)) if alive]
    new_id = {index: position for position, index in enumerate(kept)}
    taken = Names()
    names = {index: taken.unique(ops[index].stem) for index in kept}
    labels = _labels(notes)
    controls = _needed_controls(notes, kept)
    builder = GraphBuilder(name, source, ranks)
    tensor_of: dict[int, int] = {}

    def add_tensor(value: int, tensor_name: str) -> int:
        v = values[value]
        tensor_of[value] = builder.tensor(
            tensor_name, v.shape, v.dtype, role=v.role,
            alias_of=None if v.alias_of is None else tensor_of[v.alias_of])
        return tensor_of[value]

    for value, v in enumerate(values):
        if v.producer is None:
            add_tensor(value, v.name or f"input_{value}")
    for index in kept:
        op, op_name = ops[index], names[index]
        several = len(op.outputs) > 1
        outputs = [add_tensor(value, f"{op_name}:{i}" if several else op_name)
                   for i, value in enumerate(op.outputs)]
        attributes = dict(op.attributes)
        if op.module:
            attributes["module"] = op.module
        if op.forward_op in new_id:
            attributes["forward_op"] = names[op.forward_op]
        builder.op(op_name, op.kind, [tensor_of[v] for v in op.inputs], outputs,
                   control_inputs=[new_id[c] for c in controls[index]], flops=op.flops or 0,
                   bytes_accessed=None if op.kind in SOURCE_KINDS else op.bytes_accessed,
                   phase=op.phase, colocate=labels[index], device_kinds=op.device_kinds, attributes=attributes)
    return builder


def without_flops(notes: StepNotes) -> list[tuple[str, int, int]]:
    """Returns (kind, ops, bytes [B]) of the ops whose FLOP are unknown, most bytes first."""
    count: collections.Counter[str] = collections.Counter()
    moved: collections.Counter[str] = collections.Counter()
    for op, alive in zip(notes.ops, _alive(notes)):
        if alive and op.flops is None:
            count[op.kind] += 1
            moved[op.kind] += op.bytes_accessed
    return sorted(((kind, count[kind], moved[kind]) for kind in count),
                  key=lambda row: (-row[2], row[0]))


def _alive(notes: StepNotes) -> list[bool]:
    """Returns which ops are kept: all but views and allocations that no kept op reads."""
    ops, values = notes.ops, notes.values
    wanted = {v for v, value in enumerate(values) if value.role in ("output", "gradient")}
    alive = [True] * len(ops)
    for index in reversed(range(len(ops))):
        op = ops[index]
        free = op.bytes_accessed == 0 and not op.flops and not op.writes
        if free and op.kind != "parameter" and not wanted.intersection(op.outputs):
            alive[index] = False
        else:
            wanted.update(op.inputs)
    return alive


def _labels(notes: StepNotes) -> list[str | None]:
    """Returns co-location labels: only of state that is written; labels that are tied together become one."""
    union: Union[str] = Union()
    for first, second in notes.same_label:
        union.join(first, second)
    written = {union.root(op.label) for op in notes.ops if op.writes and op.label}
    return [union.root(op.label) if op.label and union.root(op.label) in written else None
            for op in notes.ops]


def _needed_controls(notes: StepNotes, kept: Sequence[int]) -> dict[int, list[int]]:
    """Returns `after` without the ops that already follow from other edges: op -> ops, ascending.

    The ancestors of an op are the bits of one integer; an op's predecessors come before it.
    """
    ops, values = notes.ops, notes.values
    ancestors: dict[int, int] = {}
    controls = {}
    for index in kept:
        reach = 0
        for value in ops[index].inputs:
            producer = values[value].producer
            if producer is not None:
                reach |= ancestors[producer] | 1 << producer
        needed = []
        for before in sorted(ops[index].after, reverse=True):
            if before in ancestors and not reach >> before & 1:
                needed.append(before)
                reach |= ancestors[before] | 1 << before
        ancestors[index], controls[index] = reach, needed[::-1]
    return controls
