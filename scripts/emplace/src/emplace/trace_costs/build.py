"""From traces and a graph to a cost file and its report."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import os
import re
import tempfile
from typing import TYPE_CHECKING, Any, Sequence

from .. import _compiled
from ..importers import ImportFailure, graph_file, read_json
from ..importers.kineto import copies as kineto_copies
from ..importers.kineto import trace as kineto_trace
from ..importers.kineto.trace import Trace
from . import names, nsight, report, simulated, steps, table
from .graph_ops import GraphOps
from .tally import Tally

if TYPE_CHECKING:
    from .._emplace import Graph

LEAST_SHARE = 0.5  # of the traced time without updates that must match; else the trace is of another model
_PROPERTIES = {"schemaVersion": "trace_schema", "cuda_runtime_version": "cuda", "cuda_driver_version": "driver",
               "torch_version": "torch", "nsight": "nsight"}  # key of a trace -> property of the file
_FIRST_DATE = 1_400_000_000  # [s] in 2014


class CostsFailure(ImportFailure):
    """Traces that give no costs of a graph; the message says where, why, and how to proceed."""


@dataclasses.dataclass
class TraceCosts:
    """text: of the cost file. devices: one for each device kind."""

    text: str
    devices: list[report.DeviceReport]
    warnings: list[str]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the cost file (`.gz`: compressed) completely or not at all. Throws OSError."""
        graph_file.write_bytes(self.text.encode(), path)

    def report(self) -> str:
        """Returns a table for people.

        It shows the matched time, the sources of the other costs, and the difference between the step and the sum of
        its ops.
        """
        return report.as_text(self.devices, self.warnings)

    def json(self) -> dict[str, Any]:
        """Returns the same as one object; times in ns."""
        return report.as_json(self.devices, self.warnings)


def costs_from_trace(traces: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], graph: Graph | str,
                     device_kinds: str | Sequence[str] = (), *, command: str = "") -> TraceCosts:
    """Returns costs of a graph's ops from traces of steps of the same model.

    traces        files of torch.profiler (.json, .json.gz), or databases of Nsight Systems (.sqlite)
    graph         emplace.Graph, a path, or a name of `emplace list graphs`
    device_kinds  of the traces: one for all, or one each; a trace with kernels has the name of its GPU by default
    command       for the file, so that others can repeat it

    Throws CostsFailure, also if less than half of the traced time, without updates of parameters, is found in the
    graph; ImportFailure for a broken trace; InputError for a broken graph.
    """
    files = [os.fspath(traces)] if isinstance(traces, (str, os.PathLike)) else [os.fspath(path) for path in traces]
    kinds = [device_kinds] if isinstance(device_kinds, str) else list(device_kinds)
    if not files:
        raise CostsFailure("no trace is given")
    if len(kinds) not in (0, 1, len(files)):
        raise CostsFailure(f"{len(kinds)} device kinds for {len(files)} traces; expected one for all, or one each")
    ops = GraphOps(_compiled().Graph(graph) if isinstance(graph, str) else graph)
    if not ops.items:
        raise CostsFailure(f"graph {ops.graph.name}: has no op that computes")
    return _Costs(ops, [_source(path, kinds[place % len(kinds)] if kinds else None)
                        for place, path in enumerate(files)], command).run()


@dataclasses.dataclass(frozen=True)
class _Source:
    """A trace. device: whether its times are those of kernels."""

    path: str
    document: dict[str, Any]
    traces: list[Trace]
    device: bool
    kind: str


def _source(path: str, kind: str | None) -> _Source:
    document = nsight.document(path) if nsight.is_database(path) else read_json(path)
    found = kineto_trace.read_steps(document, path)
    device = steps.on_device(found)
    name = kind
    if name is None and device and found[0].device:
        name = re.sub(r"[^a-z0-9]+", "_", found[0].device.lower()).strip("_")
    if not name:
        raise CostsFailure(f"{path}: the trace has no kernels of a named GPU; give --device-kind NAME")
    return _Source(path, document, found, device, name)


class _Costs:
    def __init__(self, graph: GraphOps, sources: Sequence[_Source], command: str) -> None:
        self.graph, self.sources, self.command = graph, sources, command
        self.warnings: list[str] = []

    def run(self) -> TraceCosts:
        by_kind: dict[str, list[_Source]] = collections.defaultdict(list)
        for source in self.sources:
            by_kind[source.kind].append(source)
        found = [self._device(kind, sources) for kind, sources in by_kind.items()]
        copies = [copy for source in self.sources for copy in kineto_copies.copies(source.document, source.path)]
        text = table.cost_file([measured for measured, _ in found], copies, self._machine(), self._properties(),
                               self.warnings)
        with tempfile.TemporaryDirectory(prefix="emplace_costs_") as folder:
            path = os.path.join(folder, "costs.json")
            graph_file.write_bytes(text.encode(), path)
            for measured, device in found:
                self._simulate(measured, device, path)
        return TraceCosts(text, [device for _, device in found], self.warnings)

    def _device(self, kind: str, sources: Sequence[_Source]) -> tuple[table.Measured, report.DeviceReport]:
        device_class = self._class(kind, sources)
        if kind in self.graph.own_costs:
            self._warn(f"graph {self.graph.graph.name} has cost_ns for {kind}, which have priority over the file")
        measured = table.Measured(kind, device_class, bool(_class_in_menu(kind)))
        tally = Tally(self.graph.items)
        for source in sources:
            traced, matched = tally.traced_of_model, tally.matched_of_model
            for step in steps.read(source.traces, self.graph.families):
                self._check_optimizer(source, step)
                for op, time in tally.add(step).items():
                    if time > 0:
                        measured.samples[self.graph.ops[op]].append(time)
            self._check_share(source, tally, tally.traced_of_model - traced, tally.matched_of_model - matched)
            self._tell(source)
        device = tally.report(kind, device_class)
        if device.without_time:
            self._warn(f"{kind}: {device.without_time:,} matched ops ran no kernel, so they have no timing")
        if device.share < 1:
            largest = ", ".join(f"{name} {time / device.traced:.1%}" for name, time in device.unmatched[:5])
            self._warn(f"{kind}: {1 - device.share:.1%} of the traced time is not in any op: {largest}")
        return measured, device

    def _class(self, kind: str, sources: Sequence[_Source]) -> str:
        """Returns "gpu" or "cpu"; traces and menu must agree."""
        if len({source.device for source in sources}) > 1:
            told = ", ".join(f"{source.path} {'has' if source.device else 'has no'} kernels" for source in sources)
            raise CostsFailure(f"device kind {kind}: {told}; give --device-kind for each trace")
        device_class, known = "gpu" if sources[0].device else "cpu", _class_in_menu(kind)
        if known and known != device_class:
            raise CostsFailure(f"device kind {kind}: is a {known}, but {sources[0].path} has the times of a "
                               f"{device_class}; give --device-kind")
        return device_class

    def _check_optimizer(self, source: _Source, step: steps.Step) -> None:
        for name in sorted({call.optimizer for call in step.calls if call.optimizer}):
            if self.graph.updates and not set(self.graph.updates) & set(names.optimizer_kinds(name)):
                self._warn(f"{source.path}: updates by {name!r}, the graph by {', '.join(self.graph.updates)}: not "
                           f"matched")

    def _check_share(self, source: _Source, tally: Tally, traced: float, matched: float) -> None:
        if traced <= 0:
            raise CostsFailure(f"{source.path}: its operators have no times")
        if matched < LEAST_SHARE * traced:
            largest = ", ".join(f"{name} {time / tally.traced:.0%}" for name, time in tally.largest_unmatched()[:5])
            raise CostsFailure(f"{source.path}: {matched / traced:.0%} of the traced time (without updates) is in ops "
                               f"of graph {self.graph.graph.name}, expected at least {LEAST_SHARE:.0%}; without an op: "
                               f"{largest}. Is it the same model, with the same batch, shapes and dtype?")

    def _tell(self, source: _Source) -> None:
        lost = sum(len(trace.kernels.lost) for trace in source.traces)
        if lost:
            self._warn(f"{source.path}: {lost:,} kernels have no launch in the trace, so their time is left out")
        if not all(trace.has_shapes for trace in source.traces):
            self._warn(f"{source.path}: has no shapes (record_shapes=True), so ops are matched by kind and order only")

    def _simulate(self, measured: table.Measured, device: report.DeviceReport, path: str) -> None:
        try:
            cluster = simulated.one_device(table.device_kind(measured), measured.has_figures)
            device.simulated = simulated.simulate(self.graph.graph, cluster, path)
        except _compiled().InputError as error:
            device.not_simulated = str(error)

    def _machine(self) -> str:
        hosts = sorted({str(source.document.get("host_name") or "traces") for source in self.sources})
        return f"{', '.join(hosts)}: {', '.join(dict.fromkeys(source.kind for source in self.sources))}"

    def _properties(self) -> dict[str, str]:
        found = {"source": ", ".join(os.path.basename(source.path) for source in self.sources),
                 "graph": self.graph.graph.name}
        if self.command:
            found["command"] = self.command
        if date := max(_date(source.document) for source in self.sources):
            found["date"] = date
        for source in self.sources:
            found |= {name: _version(key, source.document[key]) for key, name in _PROPERTIES.items()
                      if key in source.document}
            if source.device and source.traces[0].device:
                found["gpu"] = source.traces[0].device
        return found

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


def _version(key: str, value: Any) -> str:
    """Returns the text of a property; CUDA's versions as "13.0" instead of 13000, the driver's as "CUDA 13.0"."""
    if not key.startswith("cuda_") or not isinstance(value, int):
        return str(value)
    return f"{'CUDA ' if key == 'cuda_driver_version' else ''}{value // 1000}.{value % 1000 // 10}"


def _date(document: dict[str, Any]) -> str:
    """Returns the begin of the trace, in the form of `emplace profile`; "" if its times do not count from 1970."""
    base = document.get("baseTimeNanoseconds", 0)
    seconds = min(event["ts"] for event in kineto_trace.spans(document, "")) / 1e6
    seconds += base / 1e9 if isinstance(base, int) and 0 <= base < 2**63 else 0
    if not _FIRST_DATE <= seconds < 2 * _FIRST_DATE:
        return ""
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc):%Y-%m-%d %H:%M} UTC"


def _class_in_menu(kind: str) -> str:
    """Returns the class of a device kind of `emplace list device-kinds`; "" for an unlisted kind."""
    from ..arrays import menu_kinds

    if kind not in menu_kinds():
        return ""
    cluster = _compiled().Cluster.parse(f"{{name: one, devices: [{{name: 'x:0', kind: {kind}}}]}}", "one")
    return str(cluster.device_classes[0])
