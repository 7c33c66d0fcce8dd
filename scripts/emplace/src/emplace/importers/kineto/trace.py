"""The trace of PyTorch's profiler (Kineto, Chrome's trace format), as nodes with durations.

Read are the operators (`cpu_op`), ranges (`user_annotation`), kernels and copies of a GPU with the
launches they belong to. Times in the file are in microseconds.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Iterable, Mapping

from .. import ImportFailure
from ..traces import aten
from ..traces.calls import Node, Ref

_KERNELS = ("kernel", "gpu_memcpy", "gpu_memset")
_LAUNCHES = ("cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "runtime")
_NUMBERS = ("Record function id", "Sequence number", "External id", "correlation")
_STEP = re.compile(r"ProfilerStep#(\d+)")


@dataclasses.dataclass
class Trace:
    """nodes: outermost ones; by_function: nodes by the number that an execution trace knows them by."""

    nodes: list[Node]
    by_function: dict[int, Node]
    device: str | None         # name of the GPU
    step: int | None           # of several steps the one that was taken
    lost_kernels: int          # kernels whose operator is not in the trace
    has_shapes: bool


def read(document: Mapping[str, Any], path: str, step: int | None) -> Trace:
    """Throws ImportFailure if the trace has no operators, or not the step."""
    events = document.get("traceEvents")
    if not isinstance(events, list):
        raise ImportFailure(f"{path}: 'traceEvents' is {type(events).__name__}, expected a list of events")
    spans = [_checked(event, place, path) for place, event in enumerate(events)
             if isinstance(event, dict) and event.get("ph") == "X"]
    spans, step = _of_step(spans, step, path)
    hosts = sorted((event for event in spans if event.get("cat") in ("cpu_op", "user_annotation")),
                   key=lambda event: (str(event.get("pid")), str(event.get("tid")), event["ts"], -event["dur"]))
    if not any(event["cat"] == "cpu_op" for event in hosts):
        raise ImportFailure(f"{path}: has no event of the category cpu_op; profile with ProfilerActivity.CPU, too")
    tops, nodes, has_shapes = _nested(hosts)
    lost = _kernels(spans, nodes)
    by_function = {int(event["args"]["Record function id"]): node for event, node in nodes
                   if "Record function id" in event.get("args", {})}
    devices = document.get("deviceProperties")
    names = [str(device["name"]) for device in (devices if isinstance(devices, list) else [])
             if isinstance(device, dict) and device.get("name")]
    return Trace(tops, by_function, names[0] if names else None, step, lost, has_shapes)


def _checked(event: dict[str, Any], place: int, path: str) -> dict[str, Any]:
    """The event, with what is read of it in the form that it has to have. Throws ImportFailure."""
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


def _of_step(spans: list[dict[str, Any]], step: int | None, path: str) -> tuple[list[dict[str, Any]], int | None]:
    """The events of one step of the profiler's schedule; of all if it marked none."""
    marks = {int(match[1]): event for event in spans if event.get("cat") in ("user_annotation", "cpu_op")
             and (match := _STEP.fullmatch(str(event.get("name"))))}
    if not marks:
        if step is not None:
            raise ImportFailure(f"{path}: --step {step}: the trace marks no steps (profiler.step() was not called)")
        return spans, None
    step = max(marks) if step is None else step
    if step not in marks:
        raise ImportFailure(f"{path}: --step {step}: the trace has the steps {', '.join(map(str, sorted(marks)))}")
    begin, end = marks[step]["ts"], marks[step]["ts"] + marks[step]["dur"]
    inside = [event for event in spans if event is not marks[step]
              and (event.get("cat") in _KERNELS or begin <= event["ts"] < end)]
    return inside, step


def _nested(hosts: list[dict[str, Any]]) -> tuple[list[Node], list[tuple[dict[str, Any], Node]], bool]:
    """Nodes from events that are sorted by thread and time: one within another is its child."""
    tops: list[Node] = []
    nodes: list[tuple[dict[str, Any], Node]] = []
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
    """Arguments: tensors as shape and type, since a trace does not say which tensor it was."""
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
        inputs.append(Ref(None, index, tuple(shape), name, _bytes(shape, name)))
    return inputs


def _bytes(shape: Iterable[int], dtype: str) -> int:
    from ..graph_file import DTYPE_BYTES
    size = DTYPE_BYTES.get(dtype, 0)
    for length in shape:
        size *= length
    return size


def _value(text: Any) -> Any:
    """A number, a truth value or a list of such, as the profiler prints them; else the text."""
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


def _kernels(spans: list[dict[str, Any]], nodes: list[tuple[dict[str, Any], Node]]) -> int:
    """Gives every operator the time of its kernels; returns how many kernels found none.

    A kernel names its operator by `External id`; if not, it has the `correlation` of its launch, and
    the operator is the innermost that was running on the thread of the launch.
    """
    by_external = {event["args"]["External id"]: node for event, node in nodes
                   if event.get("cat") == "cpu_op" and "External id" in event.get("args", {})}
    launches = {event["args"]["correlation"]: event for event in spans if event.get("cat") in _LAUNCHES
                and "correlation" in event.get("args", {})}
    known = {id(node) for _, node in nodes}
    lost = 0
    for kernel in (event for event in spans if event.get("cat") in _KERNELS):
        arguments = kernel.get("args", {})
        node = by_external.get(arguments.get("External id"))
        launch = launches.get(arguments.get("correlation"))
        if node is None and launch is not None:
            node = by_external.get(launch["args"].get("External id")) or _running(launch, nodes)
        if node is None or id(node) not in known:
            lost += 1
            continue
        node.device = (node.device or 0) + round(1000 * kernel["dur"])
    return lost


def _running(launch: dict[str, Any], nodes: list[tuple[dict[str, Any], Node]]) -> Node | None:
    """The operator that began last of those running when a kernel was launched."""
    found = [(event["ts"], node) for event, node in nodes if event.get("cat") == "cpu_op"
             and event.get("tid") == launch.get("tid") and event["ts"] <= launch["ts"] <= event["ts"] + event["dur"]]
    return max(found, key=lambda pair: pair[0])[1] if found else None
