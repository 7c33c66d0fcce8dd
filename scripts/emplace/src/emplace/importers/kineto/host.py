"""A graph with the host's part of a step: its time between launches, and the waits of host and kernels.

The threads that launch kernels are one chain of ops of the host's device kind. A cut ends each of them:

    launch           host.launch ends with the call, and the kernel waits for it
    synchronisation  host.run ends where the call begins; host.synchronize waits for the last kernel of each stream
                     that had ended when the call returned, and costs the time from there to the return
    blocking copy    both: the call returns when most of the copy is done

A kernel also waits for the one before it in its stream, and for the kernels of other streams as in order.py. Costs are
those of the trace. The step begins at the end of the first launch, and the last op is the last kernel.

A kernel begins later than its launch returns, by `launch_latency_ns`: the median over launches to an idle stream.
Kernels that were launched in time follow each other by `kernel_gap_ns`, again a median.
"""

from __future__ import annotations

import collections
import dataclasses
import re
import statistics
from typing import Any, Iterator, Mapping, Sequence

from .. import Dropped, Imported, ImportFailure, graph_file
from ..traces.calls import Call, Kernel, Selection, short_name
from .kernels import Event
from .order import Streams
from .trace import Trace

_WAITS = re.compile(r"(cuda|cu|hip)(Stream|Device|Event|Ctx)Synchronize")


@dataclasses.dataclass
class _Cut:
    """A call of the runtime that launches or waits. begin, end [ns]; launched: kernels and the calls they are of.

    name: "" if the launch is not in the trace.
    """

    name: str
    correlation: int | None
    begin: int
    end: int
    launched: list[tuple[Kernel, Call]] = dataclasses.field(default_factory=list)

    @property
    def blocks(self) -> bool:
        """True if the call returns when most of its copy is done; from pageable memory it does so before the end."""
        return bool(self.launched) and all(kernel.copy and kernel.begin + kernel.duration // 2 <= self.end
                                           for kernel, _ in self.launched)

    @property
    def done(self) -> int:
        """The end of the call and of its kernels [ns]."""
        return max([self.end, *(kernel.begin + kernel.duration for kernel, _ in self.launched)])


def build(selection: Selection, trace: Trace, graph: graph_file.GraphBuilder, host_kind: str, path: str) -> Imported:
    """Returns the graph of a step with the host. Throws ImportFailure."""
    if host_kind == graph.source["device_kind"]:
        raise ImportFailure(f"--host {host_kind}: the GPU has this device kind")
    if len({event.get("args", {}).get("device") for event in trace.kernels.own}) > 1:
        raise ImportFailure(f"{path}: --host: the kernels of the step ran on several GPUs")
    cuts, unlaunched = _cuts(selection, trace.kernels.runtime)
    if not cuts:
        raise ImportFailure(f"{path}: --host: the trace does not have the launches of the step's kernels")
    latency, gap = _delays(cuts)
    graph.source |= {"host_kind": host_kind, "step_ns": trace.span, "launch_latency_ns": latency, "kernel_gap_ns": gap,
                     "streams": len({kernel.stream for cut in cuts for kernel, _ in cut.launched})}
    builder = _Builder(selection, graph, host_kind, latency)
    for cut in sorted([*cuts, *unlaunched], key=lambda each: each.end):
        builder.add(cut)
    told = [Dropped("tensors and FLOPs of operators", len(selection.calls), "an operator may have several kernels, so "
                    "the graph has the order of the launches only")]
    if unlaunched:
        told.append(Dropped("launches", len(unlaunched), "not in the trace, so their kernels wait for their stream "
                                                         "only"))
    if len(builder.streams.last) > 1:
        told.append(Dropped("waits between streams", len(builder.streams.last), "not in the trace, so a kernel waits "
                            "for the kernels of other streams that had ended when it began"))
    return Imported(graph.document(), told, [
        f"step: {trace.span / 1e6:,.3f} ms from the begin of the first kernel to the end of the last; a kernel begins "
        f"{latency:,} ns after its launch, or {gap:,} ns after the kernel before it"])


def cluster(source: Mapping[str, Any]) -> str:
    """Returns the cluster file of the host and the GPU of a graph. source: of the graph."""
    return f"""\
name: host_and_gpu
device_kinds:
  {source["host_kind"]}: {{class: cpu}}
  {source["device_kind"]}: {{class: gpu, gap: {source["kernel_gap_ns"]}ns}}
devices:
  - {{name: "cpu:0", kind: {source["host_kind"]}}}
  - {{name: "gpu:0", kind: {source["device_kind"]}, slots: {source["streams"]}}}
channels:
  - {{name: launches, latency: {source["launch_latency_ns"]}ns, bandwidth: 1TB/s}}
  - {{name: returns, bandwidth: 1TB/s}}
routes:
  - {{from: "cpu:0", to: "gpu:0", via: [launches]}}
  - {{from: "gpu:0", to: "cpu:0", via: [returns]}}
"""


def _cuts(selection: Selection, runtime: Sequence[Event]) -> tuple[list[_Cut], list[_Cut]]:
    """Returns the cuts from the first launch to the last, and the kernels whose launch is not known."""
    kernels: dict[int | None, list[tuple[Kernel, Call]]] = collections.defaultdict(list)
    seen: set[int] = set()
    for call in selection.calls:
        for kernel in call.kernels:
            if id(kernel) not in seen:  # the parts of a call on lists have its kernels in common
                seen.add(id(kernel))
                kernels[kernel.correlation].append((kernel, call))
    threads = {_thread(event) for event in runtime if event.get("args", {}).get("correlation") in kernels}
    cuts: list[_Cut] = []
    for event in sorted(runtime, key=lambda each: each["ts"] + each["dur"]):
        launched = kernels.pop(event.get("args", {}).get("correlation"), [])
        waits = _WAITS.fullmatch(str(event.get("name"))) and _thread(event) in threads
        if launched or (waits and cuts):
            launched.sort(key=lambda pair: pair[0].begin)
            begin = round(1000 * event["ts"])
            end = begin + round(1000 * event["dur"])
            cuts.append(_Cut(str(event.get("name")), event.get("args", {}).get("correlation"), begin, end, launched))
    while cuts and not cuts[-1].launched:
        cuts.pop()
    return cuts, [_Cut("", None, pair[0].begin, pair[0].begin, [pair]) for rest in kernels.values() for pair in rest]


def _thread(event: Event) -> tuple[Any, Any]:
    return event.get("pid"), event.get("tid")


def _delays(cuts: Sequence[_Cut]) -> tuple[int, int]:
    """Returns the latency of a launch and the gap between kernels that were launched in time [ns], medians; 0 if none
    is known."""
    followers = list(_followers(cuts))
    idle = [kernel.begin - cut.end for cut, kernel, before in followers if before <= cut.begin and not cut.blocks]
    latency = max(0, round(statistics.median(idle))) if idle else 0
    gaps = [kernel.begin - before for cut, kernel, before in followers if cut.end + latency < before]
    return latency, max(0, round(statistics.median(gaps))) if gaps else 0


def _followers(cuts: Sequence[_Cut]) -> Iterator[tuple[_Cut, Kernel, int]]:
    """Yields the first kernel of each launch and the end of the kernel before it in its stream [ns]."""
    ends: dict[Any, int] = {}
    for cut in cuts:
        for place, (kernel, _) in enumerate(cut.launched):
            if place == 0 and kernel.stream in ends:
                yield cut, kernel, ends[kernel.stream]
            ends[kernel.stream] = kernel.begin + kernel.duration


class _Builder:
    def __init__(self, selection: Selection, graph: graph_file.GraphBuilder, host_kind: str, latency: int) -> None:
        self.graph, self.host_kind, self.latency = graph, host_kind, latency
        self.kind = graph.source["device_kind"]
        self.streams = Streams(selection)
        self.counts: collections.Counter[str] = collections.Counter()
        self.host: int | None = None  # the last op of the host
        self.time: int | None = None  # its end in the trace [ns]
        self.ran: dict[Any, list[tuple[int, int]]] = collections.defaultdict(list)  # stream -> (end [ns], op)

    def add(self, cut: _Cut) -> None:
        """Adds the ops of the host up to the end of a call, and the kernels that it launched."""
        if not cut.name:
            self._kernels(cut, None)
        elif not cut.launched:
            self._host("run", cut, cut.begin)
            self._wait(cut)
        elif cut.blocks:
            self._kernels(cut, self._host("launch", cut, self._submitted(cut)))
            self._wait(cut)
        else:
            self._kernels(cut, self._host("launch", cut, cut.end))

    def _submitted(self, cut: _Cut) -> int:
        """Returns when a blocking copy was submitted [ns]: the latency before its begin, unless it had to wait."""
        kernel = cut.launched[0][0]
        before = max((end for end, _ in self.ran[kernel.stream]), default=0)
        return cut.begin if before > cut.begin else min(max(cut.begin, kernel.begin - self.latency), cut.end)

    def _host(self, what: str, cut: _Cut, end: int, waits: Sequence[int] = (), since: int = 0) -> int:
        """Adds an op of the host and returns its number. end, since: its end and earliest begin in the trace [ns]."""
        cost = 0 if self.time is None else max(0, end - max(self.time, since))
        before = [] if self.host is None else [self.host]
        self.host = self._op(f"host.{what}", [*before, *waits], self.host_kind, cost,
                             {"call": cut.name, "correlation": cut.correlation})
        self.time = max(end, self.time or end)
        return self.host

    def _wait(self, cut: _Cut) -> None:
        """Adds the op of the host that waits until the kernels and copies have ended."""
        ended = [max(found) for ran in self.ran.values() if (found := [each for each in ran if each[0] <= cut.done])]
        self._host("synchronize", cut, cut.end, sorted(op for _, op in ended),
                   max([cut.begin, *(end for end, _ in ended)]))

    def _kernels(self, cut: _Cut, launch: int | None) -> None:
        for kernel, call in cut.launched:
            own = dataclasses.replace(call, kernels=[kernel], attributes={"stream": kernel.stream})
            previous, others = self.streams.before(own)
            waits = {op for op in (previous, launch, *others) if op is not None}
            special = call.kind.startswith(("collective.", "copy."))
            attributes = call.attributes if special else {"operator": call.kind}
            number = self._op(call.kind if special else f"kernel.{short_name(kernel.name)}", sorted(waits), self.kind,
                              kernel.duration, attributes, call.phase)
            self.streams.ran(own, number)
            self.ran[kernel.stream].append((kernel.begin + kernel.duration, number))

    def _op(self, kind: str, waits: Sequence[int], device_kind: str, cost: int, attributes: Mapping[str, Any],
            phase: str = "forward") -> int:
        name = f"{kind}_{self.counts[kind]}"
        self.counts[kind] += 1
        return self.graph.op(name, kind, [], [], control_inputs=waits, phase=phase, device_kinds=[device_kind],
                             attributes=attributes, cost_ns={device_kind: cost})
