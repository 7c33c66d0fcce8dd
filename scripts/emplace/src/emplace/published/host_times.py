"""The host's time in a step, predicted from the traces of other models.

A trace lists the calls of the launching thread: Python functions, operators and calls of the GPU's runtime, one inside
another. The self time of a call is its time without the calls inside it. A figure of a model is the median self time of
a name; a prediction takes the mean of the figures of the models that have the name. Most names of a model's own Python
code are in no other model. Their calls take the mean self time of their group (Python functions, built-in functions,
operators, calls of the runtime) over the names that not all models have, if there are any, again averaged over the
models.

Only the order of the predicted trace's calls is used, none of their times: the self time of a call is divided equally
among the parts before, between and after the calls inside it.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import re
import statistics
from typing import Any, Iterator, Mapping, Sequence

from ..importers import Imported, ImportFailure
from ..importers.kineto import trace
from ..importers.kineto.kernels import HOSTS, LAUNCHES, Event

_PYTHON = "python_function"
_PLACE = re.compile(r" at 0x[0-9a-f]+|^.*/(?=[^/]+\.py\()")
Name = tuple[str, str]


@dataclasses.dataclass
class _Call:
    """A call of the host: category and name without folders and addresses, and its parts (begin, end) [us]."""

    name: Name
    parts: list[tuple[float, float]] = dataclasses.field(default_factory=list)

    @property
    def group(self) -> str:
        return "built-in" if self.name[1].startswith("<") else self.name[0]

    @property
    def self_time(self) -> float:
        return sum(end - begin for begin, end in self.parts)


class Host:
    """The calls of the thread that launched a step's kernels, and the step's graph. Throws ImportFailure."""

    def __init__(self, document: Mapping[str, Any], imported: Imported, path: str) -> None:
        events = [event for event in trace.spans(document, path)
                  if event.get("cat") in (*HOSTS, *LAUNCHES, _PYTHON)
                  and not str(event.get("name")).startswith("ProfilerStep")]
        self.imported = imported
        runtime = {event["args"]["correlation"]: event for event in events
                   if event["cat"] in LAUNCHES and "correlation" in event.get("args", {})}
        ops = [op for op in imported.document["ops"] if op["kind"].startswith("host.")]
        ends = [runtime[op["attributes"]["correlation"]] for op in ops]
        threads = {(event.get("pid"), event.get("tid")) for event in ends}
        if len(threads) > 1:
            raise ImportFailure(f"{path}: {len(threads)} threads launch kernels")
        if not any(event["cat"] == _PYTHON for event in events):
            raise ImportFailure(f"{path}: has no Python functions (with_stack=True)")
        blocking = {op["attributes"]["correlation"] for op in ops if op["kind"] == "host.synchronize"}
        self.marks = [event["ts"] if op["kind"] != "host.synchronize" and op["attributes"]["correlation"] in blocking
                      else event["ts"] + event["dur"] for op, event in zip(ops, ends)]
        waits = {id(runtime[number]) for number in blocking}
        self.calls = [call for call, event in _calls([event for event in events
                                                      if (event.get("pid"), event.get("tid")) in threads])
                      if id(event) not in waits]

    def figures(self) -> tuple[dict[Name, float], dict[Name, list[_Call]]]:
        """Returns the median self time [us] of each name in the step, and its calls."""
        found: dict[Name, list[_Call]] = collections.defaultdict(list)
        for call in self.calls:
            if self.marks[0] <= call.parts[0][0] and call.parts[-1][1] <= self.marks[-1]:
                found[call.name].append(call)
        return {name: statistics.median(call.self_time for call in calls) for name, calls in found.items()}, found


def predicted(host: Host, others: Sequence[Host]) -> Imported:
    """Returns the step's graph with the host's times, launch latency and kernel gap of other models."""
    time = _Times(others)
    parts = sorted((begin, end, time.of(call) / len(call.parts)) for call in host.calls for begin, end in call.parts)
    document: dict[str, Any] = json.loads(json.dumps(host.imported.document))
    source = document["source"]
    ops = [op for op in document["ops"] if op["kind"].startswith("host.")]
    place = next((i for i, (begin, _, _) in enumerate(parts) if begin >= host.marks[0]), len(parts))
    for op, mark in zip(ops, host.marks):
        cost = 0.0
        while place < len(parts) and sum(parts[place][:2]) / 2 <= mark:
            cost += parts[place][2]
            place += 1
        op["cost_ns"] = {source["host_kind"]: time.waiting if op["kind"] == "host.synchronize" else round(1000 * cost)}
    for key in ("launch_latency_ns", "kernel_gap_ns"):
        known = [found for each in others if (found := each.imported.document["source"][key])]
        source[key] = round(statistics.mean(known)) if known else source[key]
    return Imported(document)


def unknown_share(host: Host, others: Sequence[Host]) -> float:
    """Returns the share of the host's time in the step in calls whose name no other model has."""
    known = {name for other in others for name in other.figures()[0]}
    whole = unknown = 0.0
    for call in host.calls:
        time = sum(end - begin for begin, end in call.parts if host.marks[0] <= begin and end <= host.marks[-1])
        whole += time
        unknown += 0 if call.name in known else time
    return unknown / whole if whole > 0 else 0.0


class _Times:
    """Times of calls from several models. waiting: of host.synchronize, the mean [ns]."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self._figures, calls = zip(*(host.figures() for host in hosts))
        common = set(self._figures[0]).intersection(*self._figures[1:]) if len(hosts) > 1 else set()
        self._groups = _group_means(calls, set()) | _group_means(calls, common)
        waits = [time for host in hosts for op in host.imported.document["ops"] if op["kind"] == "host.synchronize"
                 for time in op["cost_ns"].values()]
        self.waiting = round(statistics.mean(waits)) if waits else 0

    def of(self, call: _Call) -> float:
        """Returns the predicted self time [us]."""
        known = [figures[call.name] for figures in self._figures if call.name in figures]
        return statistics.mean(known) if known else self._groups.get(call.group, 0.0)


def _group_means(models: Sequence[Mapping[Name, Sequence[_Call]]], without: set[Name]) -> dict[str, float]:
    """Returns the mean self time [us] of each group, averaged over the models that have it. without: names to omit."""
    means: dict[str, list[float]] = collections.defaultdict(list)
    for model in models:
        times: dict[str, list[float]] = collections.defaultdict(list)
        for name, calls in model.items():
            if name not in without:
                times[calls[0].group] += [call.self_time for call in calls]
        for group, each in times.items():
            means[group].append(statistics.mean(each))
    return {group: statistics.mean(each) for group, each in means.items()}


def _calls(events: Sequence[Event]) -> Iterator[tuple[_Call, Event]]:
    """Yields the calls of one thread with their events."""
    stack: list[tuple[float, _Call]] = []
    now = 0.0

    def proceed(time: float) -> None:
        nonlocal now
        if stack:
            stack[-1][1].parts.append((now, time))
        now = time

    found = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        while stack and stack[-1][0] <= event["ts"]:
            proceed(stack[-1][0])
            stack.pop()
        proceed(event["ts"])
        call = _Call((event["cat"], _PLACE.sub("", str(event.get("name")))))
        stack.append((event["ts"] + event["dur"], call))
        found.append((call, event))
    while stack:
        proceed(stack[-1][0])
        stack.pop()
    yield from found
