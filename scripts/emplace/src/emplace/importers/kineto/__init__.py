"""Traces of PyTorch's profiler: `emplace import --from kineto trace.json --execution-trace et.json`.

    trace   the file: operators, kernels, durations
    kernels kernels of the step, and the operator of each
    losses  account of the kernels' time
    copies  copies between host and GPUs
    join    trace and execution trace of the same run
    ranks   waiting and transfer in the collectives of several ranks
    order   a graph from the order of the calls, used if their tensors are not known
    host    a graph with the host's part of the step
"""

from __future__ import annotations

import argparse
import re
from typing import Any, Mapping

from .. import Dropped, Imported, ImportFailure, graph_file, read_json
from ..chakra import execution_trace, of_selection
from ..traces import calls
from . import host, join, losses, order, ranks, trace

EXPORTER = "emplace import --from kineto"
EPILOG = """
FILE is what torch.profiler writes with export_chrome_trace (.json or .json.gz). It has times, but not the tensors
that a call read, so its graph is a sequence of ops. For exact dependencies, record the execution trace of the same
step as well:

    observer = torch.profiler.ExecutionTraceObserver()
    observer.register_callback("et.json")
    with torch.profiler.profile(record_shapes=True, execution_trace_observer=observer) as profiler:
        step()
    profiler.export_chrome_trace("trace.json")

    emplace import trace.json --execution-trace et.json --device-kind h100

The traces of all ranks (emplace import rank*.json) separate the waiting in collectives from the transfer; the graph is
that of the first.

An op's time is that of its kernels if the trace has any, else its time on the CPU. The default of --device-kind is
the name of the trace's GPU in small letters; a trace without a GPU does not name its device.
"""


def add_arguments(parser: Any) -> None:
    parser.add_argument("other_ranks", nargs="*", default=[], metavar="RANK", help="traces of the other ranks in the "
                        "same step; the graph is that of MODEL")
    parser.add_argument("--execution-trace", metavar="FILE", help="execution trace of the same run, for the "
                                                                  "dependencies")
    parser.add_argument("--device-kind", metavar="NAME", help="device kind on which the durations were measured, such "
                                                              "as h100")
    parser.add_argument("--allow-loss", action="store_true", help="import the graph even if more than 10 %% of the "
                                                                  "kernels' time is not in it")
    parser.add_argument("--host", metavar="KIND", help="add the host: one op for each kernel, and ops of this device "
                                                       "kind for the host's time between launches")
    parser.add_argument("--cluster", metavar="FILE", help="with --host: also write the cluster of host and GPU")
    parser.add_argument("--step", type=int, metavar="N", help="number of the step, if there are several (default: the "
                                                              "last)")


def read(model: str | None, options: argparse.Namespace) -> Imported:
    """Returns the graph of a trace. Throws ImportFailure."""
    if not model:
        raise ImportFailure("name a MODEL: a trace of torch.profiler (.json, .json.gz)")
    if options.cluster and not options.host:
        raise ImportFailure("--cluster: needs --host KIND")
    execution = None
    if options.execution_trace:
        execution = read_json(options.execution_trace)
    name = re.split(r"[./\\]", model.rstrip("/").rpartition("/")[2])[0] or "trace"
    imported = import_kineto(read_json(model), execution, device_kind=options.device_kind, step=options.step, name=name,
                             path=model, execution_path=options.execution_trace or "execution trace",
                             allow_loss=options.allow_loss, host_kind=options.host,
                             others={other: read_json(other) for other in options.other_ranks})
    if options.cluster:
        graph_file.write_bytes(host.cluster(imported.document["source"]).encode(), options.cluster)
    return imported


def import_kineto(document: dict[str, Any], execution: dict[str, Any] | None = None, *, device_kind: str | None = None,
                  step: int | None = None, name: str = "trace", path: str = "trace",
                  execution_path: str = "execution trace", allow_loss: bool = False,
                  others: Mapping[str, dict[str, Any]] | None = None, host_kind: str | None = None) -> Imported:
    """Imports a profiler's trace and the execution trace of the same run, as json.load returns them.

    others: traces of the other ranks by their paths; host_kind: device kind of the host, to add its ops. Throws
    ImportFailure; unless allow_loss also if more than a tenth of the kernels' time is not in the graph.
    """
    found = trace.read(document, path, step)
    kind = device_kind or (re.sub(r"[^a-z0-9]+", "_", found.device.lower()).strip("_") if found.device else None)
    if not kind:
        raise ImportFailure(f"{path}: the trace does not name a device; give --device-kind NAME")
    if host_kind and (execution is not None or others):
        raise ImportFailure("--host: its graph has the order of the launches in one trace; leave out --execution-trace "
                            "and the other ranks")
    own = ranks.Rank.of(path, found, document)
    account = losses.Account.of(found)
    told: list[Dropped] = []
    notes = [f"step {found.step}: {found.mark}"] if found.mark.startswith("execute_") else []
    roots = found.nodes
    if execution is not None:
        roots = execution_trace.roots(execution, execution_path)
        joined = join.join(roots, execution.get("pid"), found, account, f"{path}, {execution_path}")
        told, notes = joined.told, [*notes, joined.note]
    selection = calls.select(roots)
    if others:
        waiting = ranks.separate(selection.calls, own, [
            ranks.Rank.of(other, trace.read(each, other, found.step), each) for other, each in others.items()])
        account.waiting = waiting.total
        told, notes = told + waiting.told, notes + waiting.notes
    framework = f"pytorch profiler (schema {document.get('schemaVersion', '?')})"
    settings = {key: value for key, value in (("step", found.step), ("rank", own.number),
                                              ("world_size", own.world_size)) if value is not None}
    if execution is not None:
        imported = of_selection(selection, framework, EXPORTER, name, kind, execution_path,
                                dependencies="execution trace", **settings)
    else:
        source = {"framework": framework, "exporter": EXPORTER, "model": name, "device_kind": kind,
                  "dependencies": "order of launches" if host_kind else "order of calls", **settings}
        imported = host.build(selection, found, graph_file.GraphBuilder(name, source), host_kind, path) if host_kind \
            else _ordered(selection, graph_file.GraphBuilder(name, source), kind, found.has_shapes, path)
    imported.dropped = told + imported.dropped
    imported.notes += notes
    account.settle(imported, found, path, allow_loss)
    return imported


def _ordered(selection: calls.Selection, graph: graph_file.GraphBuilder, kind: str, has_shapes: bool,
             path: str) -> Imported:
    """Returns the graph of calls whose tensors are not known."""
    if not selection.calls:
        raise ImportFailure(f"{path}: holds no call of an operator (aten::...)")
    told = order.build(selection, graph, kind)
    if not has_shapes:
        told.append(Dropped("shapes", len(selection.calls), "the trace has none (record_shapes=True), so there are no "
                                                            "bytes and FLOPs"))
    return Imported(graph.document(), told)
