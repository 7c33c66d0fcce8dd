"""The trace of PyTorch's profiler (Kineto, Chrome's trace format), as nodes with durations.

The reader uses operators (`cpu_op`), ranges (`user_annotation`), and a GPU's kernels and copies with the
launches they belong to. Times in the file are in microseconds. `read` returns one step, `read_steps` all.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import re
from typing import Any, Iterable, Mapping, Sequence

from .. import ImportFailure
from ..dtypes import num_bytes
from ..traces import aten
from ..traces.calls import Node, Ref

_KERNELS = ("kernel", "gpu_memcpy", "gpu_memset")
_LAUNCHES = ("cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "runtime")
_NUMBERS = ("Record function id", "Sequence number", "External id", "correlation")
_STEP = re.compile(r"ProfilerStep#(\d+)")
Event = dict[str, Any]


@dataclasses.dataclass
class Trace:
    """One step. nodes: outermost ones; by_function: nodes by their number in an execution trace.

    span: from the begin of the step to its end [ns]; on a GPU from its first kernel's begin to its last kernel's end.
    """

    nodes: list[Node]
    by_function: dict[int, Node]
    device: str | None         # name of the GPU
    step: int | None           # the selected step if there are several
    lost_kernels: int          # kernels whose operator is not in the trace
    has_shapes: bool
    span: int


def read(document: Mapping[str, Any], path: str, step: int | None) -> Trace:
    """Returns one step, by default the last.

    Throws ImportFailure if the trace has no operators, or not this step.
    """
    events, step = _of_step(spans(document, path), step, path)
    return _trace(document, path, events, step, None)


def read_steps(document: Mapping[str, Any], path: str) -> list[Trace]:
    """Returns all steps with operators: the profiler's marked steps, else steps ended by the optimiser, else one.

    Throws ImportFailure if the trace has no operators.
    """
    events = spans(document, path)
    marks = _marks(events)
    if marks:
        # The last step may be incomplete.
        steps = [(*_of_step(events, step, path), marks[step]["dur"]) for step in sorted(marks)]
        filled = [step for step in steps if any(event.get("cat") == "cpu_op" for event in step[0])]
        return [_trace(document, path, *step) for step in filled or steps]
    ends = sorted(event["ts"] + event["dur"] for event in events if event.get("cat") == "user_annotation"
                  and str(event.get("name")).startswith("Optimizer.step"))
    if len(ends) < 2:
        return [_trace(document, path, events, None, None)]
    begins = [-float("inf"), *ends[:-1]]
    return [_trace(document, path, _inside(events, begin, end), None, None) for begin, end in zip(begins, ends)]


def spans(document: Mapping[str, Any], path: str) -> list[Event]:
    """Returns the events with a duration, checked. Throws ImportFailure with the event that is malformed."""
    events = document.get("traceEvents")
    if not isinstance(events, list):
        raise ImportFailure(f"{path}: 'traceEvents' is {type(events).__name__}, expected a list of events")
    return [_checked(event, place, path) for place, event in enumerate(events)
            if isinstance(event, dict) and event.get("ph") == "X"]


def _trace(document: Mapping[str, Any], path: str, events: list[Event], step: int | None,
           host_span: float | None) -> Trace:
    """Returns a step of these events. host_span: its length [us] if it is known."""
    hosts = sorted((event for event in events if event.get("cat") in ("cpu_op", "user_annotation")),
                   key=lambda event: (str(event.get("pid")), str(event.get("tid")), event["ts"], -event["dur"]))
    operators = [event for event in hosts if event["cat"] == "cpu_op"]
    if not operators:
        where = "" if step is None else f"step {step} "
        raise ImportFailure(f"{path}: {where}has no event of the category cpu_op; profile with ProfilerActivity.CPU, "
                            f"too")
    tops, nodes, has_shapes = _nested(hosts)
    lost = _kernels(events, nodes)
    by_function = {int(event["args"]["Record function id"]): node for event, node in nodes
                   if "Record function id" in event.get("args", {})}
    devices = document.get("deviceProperties")
    names = [str(device["name"]) for device in (devices if isinstance(devices, list) else [])
             if isinstance(device, dict) and device.get("name")]
    kernels = [event for event in events if event.get("cat") in _KERNELS]
    span = _length(kernels) if kernels else _length(operators) if host_span is None else host_span
    return Trace(tops, by_function, names[0] if names else None, step, lost, has_shapes, round(1000 * span))


def _length(events: Sequence[Event]) -> float:
    """Returns the time from the begin of the first event to the end of the last [us]."""
    begin: float = min(event["ts"] for event in events)
    end: float = max(event["ts"] + event["dur"] for event in events)
    return end - begin


def _checked(event: Event, place: int, path: str) -> Event:
    """Returns the event; the fields that are read have the required form. Throws ImportFailure."""
    def wrong(key: str, value: Any, expected: str) -> ImportFailure:
        return ImportFailure(f"{path}: traceEvents[{place}] {event.get('name')!r}: {key} is {value!r}, expected "
                             f"{expected}")

    arguments = event.get("args", {})
    for key in ("name", "cat"):
        if not isinstance(event.get(key, ""), str):
            raise wrong(key, event[key], "a text")
    for key in ("ts", "dur"):
        value = event.get(key)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                pass
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e300 \
                or (key == "dur" and value < 0):
            raise wrong(key, event.get(key), "a number of microseconds")
        event[key] = float(value)
    if not isinstance(arguments, dict):
        raise wrong("args", arguments, "an object")
    for key in _NUMBERS:
        if not isinstance(arguments.get(key, 0), int):
            raise wrong(key, arguments[key], "a whole number")
    for key in ("Input Dims", "Input type", "Concrete Inputs"):
        if not isinstance(arguments.get(key, []), list):
            raise wrong(key, arguments[key], "a list")
    return event


def _marks(events: Iterable[Event]) -> dict[int, Event]:
    """Returns the steps of the profiler's schedule."""
    return {int(match[1]): event for event in events if event.get("cat") in ("user_annotation", "cpu_op")
            and (match := _STEP.fullmatch(str(event.get("name"))))}


def _of_step(events: list[Event], step: int | None, path: str) -> tuple[list[Event], int | None]:
    """Returns the events of one step of the profiler's schedule; all events if the profiler marked no step."""
    marks = _marks(events)
    if not marks:
        if step is not None:
            raise ImportFailure(f"{path}: --step {step}: the trace marks no steps (profiler.step() was not called)")
        return events, None
    step = max(marks) if step is None else step
    if step not in marks:
        raise ImportFailure(f"{path}: --step {step}: the trace has the steps {', '.join(map(str, sorted(marks)))}")
    mark = marks[step]
    return [event for event in _inside(events, mark["ts"], mark["ts"] + mark["dur"]) if event is not mark], step


def _inside(events: Iterable[Event], begin: float, end: float) -> list[Event]:
    """Returns the host events that begin in [begin, end), and the kernels except those launched at other times."""
    inside: list[Event] = []
    outside: list[Event] = []
    kernels: list[Event] = []
    for event in events:
        if event.get("cat") in _KERNELS:
            kernels.append(event)
        else:
            (inside if begin <= event["ts"] < end else outside).append(event)
    launches = {event["args"]["correlation"] for event in outside if event.get("cat") in _LAUNCHES
                and "correlation" in event.get("args", {})}
    callers = {event["args"]["External id"] for event in outside if event.get("cat") == "cpu_op"
               and "External id" in event.get("args", {})}
    return inside + [event for event in kernels if event.get("args", {}).get("correlation") not in launches
                     and event.get("args", {}).get("External id") not in callers]


def _nested(hosts: list[Event]) -> tuple[list[Node], list[tuple[Event, Node]], bool]:
    """Returns nodes from events sorted by thread and time: an event inside another is its child."""
    tops: list[Node] = []
    nodes: list[tuple[Event, Node]] = []
    stack: list[tuple[float, Any, Node]] = []  # end, thread
    has_shapes = False
    for event in hosts:
        arguments = event.get("args", {})
        has_shapes |= "Input Dims" in arguments
        sequence = int(arguments.get("Sequence number", -1))
        backward = "Backward" in event.get("name", "")
        node = Node(id=int(arguments.get("Record function id", len(nodes))), name=event.get("name", ""),
                    order=event["ts"], inputs=_inputs(arguments), sequence=-1 if backward else sequence,
                    forward_sequence=sequence if backward else -1, duration=round(1000 * event["dur"]))
        thread = (event.get("pid"), event.get("tid"))
        while stack and (stack[-1][1] != thread or stack[-1][0] <= event["ts"]):
            stack.pop()
        (stack[-1][2].children if stack else tops).append(node)
        stack.append((event["ts"] + event["dur"], thread, node))
        nodes.append((event, node))
    return tops, nodes, has_shapes


def _inputs(arguments: Mapping[str, Any]) -> list[Any]:
    """Returns the arguments. Tensors are shape and type only, since a trace does not identify tensors."""
    shapes, types = arguments.get("Input Dims", []), arguments.get("Input type", [])
    values = arguments.get("Concrete Inputs", [])
    inputs: list[Any] = []
    for index, (shape, kind) in enumerate(zip(shapes, types)):
        if not isinstance(kind, str) or kind in ("", "Scalar", "ScalarList", "None", "TensorList") \
                or not isinstance(shape, list) \
                or not all(isinstance(size, int) and 0 <= size < 2**48 for size in shape):
            inputs.append(_value(values[index]) if index < len(values) else None)
            continue
        name = aten.dtype(str(kind))
        inputs.append(Ref(None, index, tuple(shape), name, num_bytes(shape, name) if name else 0))
    return inputs


def _value(text: Any) -> Any:
    """Returns a number, a truth value or a list of these, as the profiler prints them; else the text."""
    if not isinstance(text, str):
        return text
    if text in ("True", "False"):
        return text == "True"
    if text.startswith("[") and text.endswith("]"):
        return [_value(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    try:
        return int(text)
    except ValueError:
        return text


def _kernels(events: list[Event], nodes: list[tuple[Event, Node]]) -> int:
    """Gives every operator the time of its kernels; returns the number of kernels without an operator.

    A kernel names its operator by `External id`. Otherwise it has the `correlation` of its launch, and the
    operator is the innermost that was running on the thread of the launch.
    """
    by_external = {event["args"]["External id"]: node for event, node in nodes
                   if event.get("cat") == "cpu_op" and "External id" in event.get("args", {})}
    launches = {event["args"]["correlation"]: event for event in events if event.get("cat") in _LAUNCHES
                and "correlation" in event.get("args", {})}
    threads = _Threads(nodes)
    lost = 0
    for kernel in (event for event in events if event.get("cat") in _KERNELS):
        arguments = kernel.get("args", {})
        node = by_external.get(arguments.get("External id"))
        launch = launches.get(arguments.get("correlation"))
        if node is None and launch is not None:
            node = by_external.get(launch["args"].get("External id")) or threads.running(launch)
        if node is None:
            lost += 1
            continue
        node.device = (node.device or 0) + round(1000 * kernel["dur"])
    return lost


class _Threads:
    """Finds the operator that was running on a thread at a time."""

    def __init__(self, nodes: Iterable[tuple[Event, Node]]) -> None:
        self._by_thread: dict[Any, list[tuple[Event, Node]]] = {}
        for event, node in nodes:
            if event.get("cat") == "cpu_op":
                self._by_thread.setdefault(event.get("tid"), []).append((event, node))
        for thread in self._by_thread.values():
            thread.sort(key=lambda pair: pair[0]["ts"])
        self._begins = {key: [event["ts"] for event, _ in thread] for key, thread in self._by_thread.items()}
        self._ends = {key: list(itertools.accumulate((event["ts"] + event["dur"] for event, _ in thread), max))
                      for key, thread in self._by_thread.items()}  # the latest end so far

    def running(self, launch: Event) -> Node | None:
        """Returns the most recently begun operator among those running when a kernel was launched."""
        thread = self._by_thread.get(launch.get("tid"), [])
        for place in range(bisect.bisect_right(self._begins.get(launch.get("tid"), []), launch["ts"]) - 1, -1, -1):
            event, node = thread[place]
            if launch["ts"] <= event["ts"] + event["dur"]:
                return node
            if launch["ts"] > self._ends[launch.get("tid")][place]:
                break
        return None
