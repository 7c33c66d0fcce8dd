"""A graph of calls whose tensors are not known: the ops follow each other in the order of the calls.

Each op reads a result of the op before it in its stream. That result is as large as the largest input of the reader.
The ops of a gradient also read the result of their forward op: autograd gives both the same number. An op waits for
the ops of other streams that had ended when it began: a stream waits for another one without leaving a trace.
"""

from __future__ import annotations

import bisect
import collections
from typing import Any

from .. import Dropped, graph_file
from ..traces import aten
from ..traces.calls import Call, Ref, Selection, refs


def build(selection: Selection, graph: graph_file.GraphBuilder, device_kind: str) -> list[Dropped]:
    """Fills `graph` and returns the dropped parts. device_kind: of the durations."""
    counts: collections.Counter[str] = collections.Counter()
    unknown: collections.Counter[str] = collections.Counter()
    forward: dict[int, int] = {}  # number of autograd -> op
    joined: set[int] = set()      # backward passes that already read their forward op's result
    streams = Streams(selection)
    links = 0
    for call in selection.calls:
        name = call.base
        full = f"{name}_{counts[name]}"
        counts[name] += 1
        inputs: list[int] = []
        largest = max(refs(call.inputs), key=lambda ref: ref.num_bytes, default=None)
        previous, others = streams.before(call)
        if previous is not None:
            inputs.append(_result(graph, previous, largest))
        attributes = dict(call.attributes)
        if call.phase == "backward" and call.forward_sequence in forward:
            op = forward[call.forward_sequence]
            attributes["forward_op"] = graph.ops[op].name
            if call.forward_sequence not in joined:
                joined.add(call.forward_sequence)
                links += 1
                result = _result(graph, op, largest)
                inputs += [result] if result not in inputs else []
        shapes = [argument.shape if isinstance(argument, Ref) else None for argument in call.inputs]
        work = 0 if call.rest else aten.flops(call.node.name, shapes, call.inputs, None)
        if work is None:
            unknown[call.kind] += 1
        number = graph.op(full, call.kind, inputs, [], control_inputs=others, flops=work or 0, phase=call.phase,
                          attributes=attributes, cost_ns={device_kind: call.duration or 0})
        streams.ran(call, number)
        if call.phase == "forward" and call.node.sequence >= 0:
            forward[call.node.sequence] = number
    where = f" in its stream ({len(streams.last)} streams)" if len(streams.last) > 1 else ""
    told = [Dropped("dependencies", len(selection.calls),
                    f"the trace does not have the tensors that a call read, so each op follows the one before{where}, "
                    f"and {links} gradients read their forward op's result; give --execution-trace for the real ones"),
            Dropped("parameters and inputs", len(selection.calls), "not known for the same reason, so memory is not "
                                                                   "that of the step")]
    if selection.outside:
        told.append(Dropped("host time outside of ops", 1, f"{selection.outside / 1e6:,.3f} ms of autograd and Python"))
    told += [Dropped(f"FLOPs of {kind}", count, "they cannot be found in the trace")
             for kind, count in sorted(unknown.items())]
    return told


class Streams:
    """The last ops of the streams. A call without kernels is of the stream of the call before it."""

    def __init__(self, selection: Selection) -> None:
        self.last: dict[Any, int] = {}
        self._current: Any = next((call.attributes["stream"] for call in selection.calls
                                   if "stream" in call.attributes), None)
        self._ended: dict[Any, list[tuple[int, int]]] = {}  # stream -> (end [ns], op), both ascending
        self._waited: dict[tuple[Any, Any], int] = {}       # (stream, other one) -> op for which it has waited

    def before(self, call: Call) -> tuple[int | None, list[int]]:
        """Returns the op before the call in its stream, and ops of other streams for which it waits."""
        if "stream" in call.attributes:
            self._current = call.attributes["stream"]
        others = []
        for stream, ended in self._ended.items():
            if stream == self._current or not call.kernels:
                continue
            place = bisect.bisect_right(ended, (min(kernel.begin for kernel in call.kernels), float("inf"))) - 1
            if place >= 0 and ended[place][1] > self._waited.get((self._current, stream), -1):
                self._waited[self._current, stream] = ended[place][1]
                others.append(ended[place][1])
        return self.last.get(self._current), sorted(others)

    def ran(self, call: Call, op: int) -> None:
        """Updates the streams: the call has become an op."""
        self.last[self._current] = op
        if call.kernels:
            ended = self._ended.setdefault(self._current, [])
            end = max(kernel.begin + kernel.duration for kernel in call.kernels)
            ended.append((max(end, ended[-1][0]) if ended else end, op))


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
