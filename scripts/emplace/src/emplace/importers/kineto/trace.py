"""The trace of PyTorch's profiler (Kineto, Chrome's trace format), as nodes with durations.

The reader uses operators (`cpu_op`), ranges (`user_annotation`), and a GPU's kernels and copies with the
launches they belong to. Times in the file are in microseconds. `read` returns one step, `read_steps` all. The steps are
those that the profiler marks (`profiler.step()`); in a trace of a vLLM worker, each begins with a range `execute_...`
and ends where the next one begins, and they are counted from 0.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Iterable, Mapping, Sequence

from .. import ImportFailure
from ..dtypes import num_bytes
from ..traces import aten, collectives
from ..traces.calls import Node, Ref
from . import damage, kernels
from .kernels import Event, StepKernels

_NUMBERS = ("Record function id", "Sequence number", "External id", "correlation")
_STEP = re.compile(r"ProfilerStep#(\d+)")
_EXECUTE = re.compile(r"execute_(context_\d+.*_generation|new_\d+_cached)_\d+.*")
_EVER = float("inf")


@dataclasses.dataclass
class Trace:
    """One step. nodes: outermost ones; by_function: nodes by their number in an execution trace.

    span: from the begin of the step to its end [ns]; on a GPU from its first kernel's begin to its last kernel's end.
    """

    nodes: list[Node]
    by_function: dict[int, Node]
    device: str | None         # name of the GPU
    step: int | None           # the selected step if there are several
    mark: str                  # name of the range that marks it; "" without steps
    kernels: StepKernels
    has_shapes: bool
    span: int


def read(document: Mapping[str, Any], path: str, step: int | None) -> Trace:
    """Returns one step, by default the last.

    Throws ImportFailure if the trace has no operators, or not this step.
    """
    events = _events(document, path)
    marks = _marks(events)
    if not marks and step is not None:
        raise ImportFailure(f"{path}: --step {step}: the trace marks no steps (profiler.step() was not called)")
    if not marks:
        return _trace(document, path, events)
    step = max(marks) if step is None else step
    if step not in marks:
        raise ImportFailure(f"{path}: --step {step}: the trace has the steps {', '.join(map(str, sorted(marks)))}")
    return _marked(document, path, events, marks[step], step)


def read_steps(document: Mapping[str, Any], path: str) -> list[Trace]:
    """Returns all steps with operators: the profiler's marked steps, else steps ended by the optimiser, else one.

    Throws ImportFailure if the trace has no operators.
    """
    events = _events(document, path)
    marks = _marks(events)
    if marks:
        # The last step may be incomplete.
        filled = [step for step, mark in marks.items() if any(_is_operator(event) and _within(event, mark)
                                                             for event in events)]
        return [_marked(document, path, events, marks[step], step) for step in sorted(filled or marks)]
    ends = sorted(event["ts"] + event["dur"] for event in events if event.get("cat") == "user_annotation"
                  and str(event.get("name")).startswith("Optimizer.step"))
    if len(ends) < 2:
        return [_trace(document, path, events)]
    begins = [-_EVER, *ends[:-1]]
    return [_trace(document, path, events, begin, end) for begin, end in zip(begins, ends)]


def spans(document: Mapping[str, Any], path: str) -> list[Event]:
    """Returns the events with a duration, checked. Throws ImportFailure with the event that is malformed."""
    events = document.get("traceEvents")
    if not isinstance(events, list):
        raise ImportFailure(f"{path}: 'traceEvents' is {type(events).__name__}, expected a list of events")
    return [_checked(event, place, path) for place, event in enumerate(events)
            if isinstance(event, dict) and event.get("ph") == "X"]


def _events(document: Mapping[str, Any], path: str) -> list[Event]:
    events = spans(document, path)
    damage.check(events, path)
    kernels.forget_false_ids(events)
    return events


def _marked(document: Mapping[str, Any], path: str, events: Sequence[Event], mark: Event, step: int) -> Trace:
    """Returns a step that the profiler marked."""
    others = [event for event in events if event is not mark]
    return _trace(document, path, others, mark["ts"], mark["ts"] + mark["dur"], step, mark["dur"], mark["name"])


def _trace(document: Mapping[str, Any], path: str, events: Sequence[Event], begin: float = -_EVER, end: float = _EVER,
           step: int | None = None, host_span: float | None = None, mark: str = "") -> Trace:
    """Returns the step of the host's events in [begin, end). host_span: its length [us] if it is known."""
    hosts = sorted((event for event in events if event.get("cat") in kernels.HOSTS and begin <= event["ts"] < end),
                   key=lambda event: (str(event.get("pid")), str(event.get("tid")), event["ts"], -event["dur"],
                                      event.get("args", {}).get("External id", 0)))
    operators = [event for event in hosts if _is_operator(event)]
    found = kernels.of_step(events, begin, end)
    if not operators and not found.own:
        where = "" if step is None else f"step {step} "
        raise ImportFailure(f"{path}: {where}has no event of the category cpu_op; profile with ProfilerActivity.CPU, "
                            f"too")
    tops, nodes, has_shapes = _nested(hosts)
    kernels.attribute(found.own, events, nodes, tops)
    by_function = {int(event["args"]["Record function id"]): node for event, node in nodes
                   if "Record function id" in event.get("args", {})}
    devices = document.get("deviceProperties")
    names = [str(device["name"]) for device in (devices if isinstance(devices, list) else [])
             if isinstance(device, dict) and device.get("name")]
    ran = found.own + found.lost
    span = _length(ran) if ran else _length(operators) if host_span is None else host_span
    return Trace(tops, by_function, names[0] if names else None, step, mark, found, has_shapes, round(1000 * span))


def _is_operator(event: Event) -> bool:
    return event.get("cat") == "cpu_op"


def _within(event: Event, mark: Event) -> bool:
    begin: float = mark["ts"]
    return event is not mark and begin <= event["ts"] < begin + mark["dur"]


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
    for key, value in (*((key, event.get(key)) for key in ("pid", "tid")),
                       *((key, arguments.get(key)) for key in ("device", "stream"))):
        if isinstance(value, (list, dict)):
            raise wrong(key, value, "a number or a text")
    for key in _NUMBERS:
        if not isinstance(arguments.get(key, 0), int):
            raise wrong(key, arguments[key], "a whole number")
    for key in ("Input Dims", "Input type", "Concrete Inputs"):
        if not isinstance(arguments.get(key, []), list):
            raise wrong(key, arguments[key], "a list")
    return event


def _marks(events: Iterable[Event]) -> dict[int, Event]:
    """Returns the steps, each as an event that spans it."""
    ranges = [event for event in events if event.get("cat") in ("user_annotation", "cpu_op")]
    marks = {int(match[1]): event for event in ranges if (match := _STEP.fullmatch(str(event.get("name"))))}
    if marks:
        return marks
    executed = sorted((event for event in ranges if _EXECUTE.fullmatch(str(event.get("name")))),
                      key=lambda event: float(event["ts"]))
    if not executed:
        return {}
    ends = [event["ts"] for event in executed[1:]] + [max(event["ts"] + event["dur"] for event in ranges)]
    return {number: event | {"dur": end - event["ts"]} for number, (event, end) in enumerate(zip(executed, ends))}


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
        thread = (event.get("pid"), event.get("tid"))
        node = Node(id=int(arguments.get("Record function id", len(nodes))), name=event.get("name", ""),
                    order=event["ts"], inputs=_inputs(arguments), sequence=-1 if backward else sequence,
                    forward_sequence=sequence if backward else -1, duration=round(1000 * event["dur"]),
                    recorded=collectives.recorded(arguments), thread=thread)
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
