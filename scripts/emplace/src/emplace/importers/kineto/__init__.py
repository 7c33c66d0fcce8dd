"""Traces of PyTorch's profiler: `emplace import --from kineto trace.json --execution-trace et.json`.

    trace   the file: operators, kernels, durations
    kernels kernels of the step, and the operator of each
    losses  account of the kernels' time
    copies  copies between host and GPUs
    join    trace and execution trace of the same run
    order   a graph from the order of the calls, used if their tensors are not known
"""

from __future__ import annotations

import argparse
import re
from typing import Any

from .. import Dropped, Imported, ImportFailure, graph_file, read_json
from ..chakra import execution_trace, of_selection
from ..traces import calls
from . import join, losses, order, trace

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

An op's time is that of its kernels if the trace has any, else its time on the CPU. The default of --device-kind is
the name of the trace's GPU in small letters; a trace without a GPU does not name its device.
"""


def add_arguments(parser: Any) -> None:
    parser.add_argument("--execution-trace", metavar="FILE", help="execution trace of the same run, for the "
                                                                  "dependencies")
    parser.add_argument("--device-kind", metavar="NAME", help="device kind on which the durations were measured, such "
                                                              "as h100")
    parser.add_argument("--allow-loss", action="store_true", help="import the graph even if more than 10 %% of the "
                                                                  "kernels' time is not in it")
    parser.add_argument("--step", type=int, metavar="N", help="number of the step, if there are several (default: the "
                                                              "last)")


def read(model: str | None, options: argparse.Namespace) -> Imported:
    """Returns the graph of a trace. Throws ImportFailure."""
    if not model:
        raise ImportFailure("name a MODEL: a trace of torch.profiler (.json, .json.gz)")
    execution = None
    if options.execution_trace:
        execution = read_json(options.execution_trace)
    name = re.split(r"[./\\]", model.rstrip("/").rpartition("/")[2])[0] or "trace"
    return import_kineto(read_json(model), execution, device_kind=options.device_kind, step=options.step, name=name,
                         path=model, execution_path=options.execution_trace or "execution trace",
                         allow_loss=options.allow_loss)


def import_kineto(document: dict[str, Any], execution: dict[str, Any] | None = None, *, device_kind: str | None = None,
                  step: int | None = None, name: str = "trace", path: str = "trace",
                  execution_path: str = "execution trace", allow_loss: bool = False) -> Imported:
    """Imports a profiler's trace and the execution trace of the same run, as json.load returns them.

    Throws ImportFailure, also if more than a tenth of the kernels' time is not in the graph; allow_loss: not for that.
    """
    found = trace.read(document, path, step)
    kind = device_kind or (re.sub(r"[^a-z0-9]+", "_", found.device.lower()).strip("_") if found.device else None)
    if not kind:
        raise ImportFailure(f"{path}: the trace does not name a device; give --device-kind NAME")
    framework = f"pytorch profiler (schema {document.get('schemaVersion', '?')})"
    settings: dict[str, Any] = {} if found.step is None else {"step": found.step}
    settings |= {key: value for key, value in _distributed(document).items() if key in ("rank", "world_size")}
    account = losses.Account.of(found)
    if execution is None:
        selection = calls.select(found.nodes)
        settings = {"device_kind": kind, "dependencies": "order of calls", **settings}
        graph = graph_file.GraphBuilder(name, {"framework": framework, "exporter": EXPORTER, "model": name, **settings})
        if not selection.calls:
            raise ImportFailure(f"{path}: holds no call of an operator (aten::...)")
        told = order.build(selection, graph, kind)
        if not found.has_shapes:
            told.append(Dropped("shapes", len(selection.calls), "the trace has none (record_shapes=True), so there "
                                                                "are no bytes and FLOPs"))
        imported = Imported(graph.document(), told)
        account.settle(imported, found, path, allow_loss)
        return imported
    roots = execution_trace.roots(execution, execution_path)
    joined = join.join(roots, execution.get("pid"), found, account, f"{path}, {execution_path}")
    imported = of_selection(calls.select(roots), framework, EXPORTER, name, kind, execution_path,
                            dependencies="execution trace", **settings)
    imported.dropped = joined.told + imported.dropped
    imported.notes.append(joined.note)
    account.settle(imported, found, path, allow_loss)
    return imported


def _distributed(document: dict[str, Any]) -> dict[str, Any]:
    found = document.get("distributedInfo")
    return found if isinstance(found, dict) else {}
