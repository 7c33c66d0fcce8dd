"""The kernels of a step: those of the step, those of the steps around it, and the operator of each.

A kernel names its operator by `External id`, or it has the `correlation` of its launch; then the operator is the
innermost one that was running on the thread of the launch. Files of 2022 and 2023 have the correlation in both places
(`External id` counts launches there, not operators), so theirs is not used. AMD's files may have neither correlation
nor stream in a kernel's arguments, and the device and the stream as its process and thread.

All kernels of a CUDA or HIP graph have the launch of the graph. Each of them is a node of its own.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import itertools
import re
from typing import Any, Iterable, Sequence

from ..traces import collectives
from ..traces.calls import Kernel, Node, short_name

KERNELS = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES = ("cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "runtime")
HOSTS = ("cpu_op", "user_annotation")
# Calls that run a kernel or a copy; an empty memset runs nothing.
_LAUNCH = re.compile(r"(cuda|cu|hip)(\w*Launch\w*Kernel|Memcpy\w*Async|MemcpyWithStream|GraphLaunch)")
_GRAPH_LAUNCH = re.compile(r"(cuda|cu|hip)GraphLaunch")
_COPY = re.compile(r"Memcpy (\w)to(\w)")
_MEMORY = {"H": "host", "D": "device", "A": "device", "P": "peer"}
_HIP_COPIES = {"1": "host_to_device", "2": "device_to_host", "3": "device_to_device"}  # hipMemcpyKind
Event = dict[str, Any]


@dataclasses.dataclass
class StepKernels:
    """The kernels and copies of a file, seen from one step.

    lost: began in the step, but their launch is not known; silent: launches of the step whose kernel is not there;
    runtime: calls of the GPU's runtime by the step's host.
    """

    own: list[Event] = dataclasses.field(default_factory=list)
    lost: list[Event] = dataclasses.field(default_factory=list)
    before: list[Event] = dataclasses.field(default_factory=list)
    after: list[Event] = dataclasses.field(default_factory=list)
    silent: list[Event] = dataclasses.field(default_factory=list)
    runtime: list[Event] = dataclasses.field(default_factory=list)


def forget_false_ids(events: Iterable[Event]) -> None:
    """Removes `External id` from kernels and launches if it is the correlation in all kernels."""
    events = [event for event in events if event.get("cat") in KERNELS + LAUNCHES]
    kernels = [event["args"] for event in events if event["cat"] in KERNELS and "External id" in event.get("args", {})]
    if all(arguments["External id"] == arguments.get("correlation") for arguments in kernels):
        for event in events:
            event.get("args", {}).pop("External id", None)


def of_step(events: Sequence[Event], begin: float, end: float) -> StepKernels:
    """Returns the kernels of the step in which the host was in [begin, end) [us].

    A kernel belongs to the step that launched it. Kernels of one stream run in the order of their launches, so one
    without a recorded launch is of an earlier step if it ran before all kernels of this step in its stream.
    """
    found = StepKernels()
    launches = _by(events, "correlation", LAUNCHES)
    callers = _by(events, "External id", HOSTS)
    unknown = []
    for kernel in (event for event in events if event.get("cat") in KERNELS):
        arguments = kernel.get("args", {})
        launch = launches.get(arguments.get("correlation")) or callers.get(arguments.get("External id"))
        if launch is None:
            unknown.append(kernel)
        else:
            (found.before if launch["ts"] < begin else found.after if launch["ts"] >= end else found.own).append(kernel)
    first, last = _ends(found.own)
    for kernel in unknown:
        stream = _stream(kernel) if _stream(kernel) in first else None
        if kernel["ts"] < first.get(stream, begin):
            found.before.append(kernel)
        elif kernel["ts"] >= max(end, last.get(stream, end)):
            found.after.append(kernel)
        else:
            found.lost.append(kernel)
    found.runtime = [event for event in events if event.get("cat") in LAUNCHES and begin <= event["ts"] < end]
    ran = {event.get("args", {}).get("correlation") for event in events if event.get("cat") in KERNELS}
    if ran != {None}:  # else no kernel names its launch
        found.silent = [launch for number, launch in launches.items() if number not in ran
                        and begin <= launch["ts"] < end and _LAUNCH.match(str(launch.get("name")))]
    return found


def attribute(kernels: Sequence[Event], events: Iterable[Event], nodes: Sequence[tuple[Event, Node]],
              tops: list[Node]) -> None:
    """Gives every operator its kernels.

    A kernel launched outside of all operators, or with a graph, becomes a node `kernel::NAME` of its own.
    """
    by_external = {event["args"]["External id"]: (event, node) for event, node in nodes
                   if "External id" in event.get("args", {})}
    launches = _by(events, "correlation", LAUNCHES)
    threads = _Threads(nodes)
    devices = {_stream(event)[0] for event in kernels}
    for event in sorted(kernels, key=lambda each: each["ts"]):
        arguments = event.get("args", {})
        launch = launches.get(arguments.get("correlation"))
        caller = by_external.get(arguments.get("External id"))
        if caller is None and launch is not None:
            caller = by_external.get(launch["args"].get("External id")) or threads.running(launch)
        kernel = _kernel(event, launch, len(devices) > 1)
        calls = caller is not None and (caller[0]["cat"] == "cpu_op" or collectives.is_range(caller[1].name))
        of_graph = launch is not None and _GRAPH_LAUNCH.match(str(launch.get("name"))) is not None
        if caller is not None and calls and not of_graph:
            node = caller[1]
        else:
            node = Node(id=0, name=_own_name(kernel), order=(launch or event)["ts"])
            (tops if caller is None or calls else caller[1].children).append(node)
        node.kernels.append(kernel)
        node.device = (node.device or 0) + kernel.duration


def length(kernels: Iterable[Event]) -> int:
    """Returns the sum of the durations [ns]."""
    return sum(round(1000 * kernel["dur"]) for kernel in kernels)


def _kernel(event: Event, launch: Event | None, several: bool) -> Kernel:
    """Returns a kernel; several: streams of several devices have the device in their names."""
    arguments = event.get("args", {})
    call = {} if launch is None else launch["args"]
    copy, size = "", 0
    if event["cat"] == "gpu_memcpy":
        match = _COPY.match(str(event.get("name")))
        copy = f"{_MEMORY.get(match[1], 'other')}_to_{_MEMORY.get(match[2], 'other')}" if match \
            else _HIP_COPIES.get(str(call.get("kind")), "")
        size = next((int(text) for text in (str(arguments.get("bytes")), str(call.get("size")))
                     if text.isdecimal() and len(text) < 16), 0)
    return Kernel(str(event.get("name")), round(1000 * event["ts"]), round(1000 * event["dur"]),
                  "{}:{}".format(*_stream(event)) if several else _stream(event)[1], copy, size,
                  collectives.recorded(arguments), arguments.get("correlation"))


def _own_name(kernel: Kernel) -> str:
    """Returns the name of the node of a kernel without an operator."""
    if collectives.is_kernel(kernel.name):
        return f"nccl:{collectives.of_kernel(kernel.name)}"
    return f"kernel::{short_name(kernel.name)}"


def _by(events: Iterable[Event], number: str, categories: Sequence[str]) -> dict[int, Event]:
    return {event["args"][number]: event for event in events
            if event.get("cat") in categories and number in event.get("args", {})}


def _stream(kernel: Event) -> tuple[Any, Any]:
    arguments = kernel.get("args", {})
    return arguments.get("device", kernel.get("pid")), arguments.get("stream", kernel.get("tid"))


def _ends(kernels: Sequence[Event]) -> tuple[dict[Any, float], dict[Any, float]]:
    """Returns the begins of the first and of the last kernel [us] by stream, and by None of all streams."""
    begins: dict[Any, list[float]] = collections.defaultdict(list)
    for kernel in kernels:
        begins[_stream(kernel)].append(kernel["ts"])
        begins[None].append(kernel["ts"])
    return ({stream: min(times) for stream, times in begins.items()},
            {stream: max(times) for stream, times in begins.items()})


class _Threads:
    """Finds the operator or range that was running on a thread at a time."""

    def __init__(self, nodes: Iterable[tuple[Event, Node]]) -> None:
        self._by_thread: dict[Any, list[tuple[Event, Node]]] = {}
        for event, node in nodes:
            self._by_thread.setdefault(event.get("tid"), []).append((event, node))
        for thread in self._by_thread.values():
            thread.sort(key=lambda pair: (pair[0]["ts"], -pair[0]["dur"]))
        self._begins = {key: [event["ts"] for event, _ in thread] for key, thread in self._by_thread.items()}
        self._ends = {key: list(itertools.accumulate((event["ts"] + event["dur"] for event, _ in thread), max))
                      for key, thread in self._by_thread.items()}  # the latest end so far

    def running(self, launch: Event) -> tuple[Event, Node] | None:
        """Returns the most recently begun event among those running when a kernel was launched."""
        thread = self._by_thread.get(launch.get("tid"), [])
        for place in range(bisect.bisect_right(self._begins.get(launch.get("tid"), []), launch["ts"]) - 1, -1, -1):
            event, _ = thread[place]
            if launch["ts"] <= event["ts"] + event["dur"]:
                return thread[place]
            if launch["ts"] > self._ends[launch.get("tid")][place]:
                break
        return None
