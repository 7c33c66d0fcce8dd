"""A graph of calls whose tensors are not known: the ops follow each other in the order of the calls.

Each op reads a result of the op before it. That result is as large as the largest input of the reader. The ops of a
gradient also read the result of their forward op: autograd gives both the same number.
"""

from __future__ import annotations

import collections

from .. import Dropped, graph_file
from ..traces import aten
from ..traces.calls import Ref, Selection, refs


def build(selection: Selection, graph: graph_file.GraphBuilder, device_kind: str) -> list[Dropped]:
    """Fills `graph` and returns the dropped parts. device_kind: of the durations."""
    counts: collections.Counter[str] = collections.Counter()
    unknown: collections.Counter[str] = collections.Counter()
    forward: dict[int, int] = {}  # number of autograd -> op
    joined: set[int] = set()      # backward passes that already read their forward op's result
    previous: int | None = None
    links = 0
    for call in selection.calls:
        name = aten.base_name(call.node.name)
        full = f"{name}_{counts[name]}"
        counts[name] += 1
        inputs: list[int] = []
        largest = max(refs(call.inputs), key=lambda ref: ref.num_bytes, default=None)
        if previous is not None:
            inputs.append(_result(graph, previous, largest))
        attributes = {}
        if call.phase == "backward" and call.forward_sequence in forward:
            op = forward[call.forward_sequence]
            attributes["forward_op"] = graph.ops[op].name
            if call.forward_sequence not in joined:
                joined.add(call.forward_sequence)
                links += 1
                result = _result(graph, op, largest)
                inputs += [result] if result not in inputs else []
        shapes = [argument.shape if isinstance(argument, Ref) else None for argument in call.inputs]
        work = aten.flops(call.node.name, shapes, call.inputs, None)
        if work is None:
            unknown[aten.kind(call.node.name)] += 1
        previous = graph.op(full, aten.kind(call.node.name), inputs, [], flops=work or 0, phase=call.phase,
                            attributes=attributes, cost_ns={device_kind: call.duration or 0})
        if call.phase == "forward" and call.node.sequence >= 0:
            forward[call.node.sequence] = previous
    told = [Dropped("dependencies", len(selection.calls), "the trace does not have the tensors that a call read, so "
                                                          f"each op follows the one before, and {links} gradients "
                                                          "read their forward op's result; give "
                    f"--execution-trace for the real ones"),
            Dropped("parameters and inputs", len(selection.calls), "not known for the same reason, so memory is not "
                                                                   "that of the step")]
    if selection.outside:
        told.append(Dropped("host time outside of ops", 1, f"{selection.outside / 1e6:,.3f} ms of autograd and Python"))
    told += [Dropped(f"FLOPs of {kind}", count, "they cannot be found in the trace")
             for kind, count in sorted(unknown.items())]
    return told


def _result(graph: graph_file.GraphBuilder, op: int, like: Ref | None) -> int:
    """Returns the op's result, which is created at its first read.

    It is as large as the largest tensor of its first reader.
    """
    outputs = graph.ops[op].outputs
    if not outputs:
        outputs.append(graph.tensor(graph.ops[op].name, like.shape if like else [], like.dtype if like else "",
                                    num_bytes=like.num_bytes if like else 0,
                                    role="gradient" if graph.ops[op].phase == "backward" else "activation"))
    return outputs[0]
