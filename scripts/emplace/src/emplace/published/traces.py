"""Steps in profiler traces, simulated with their host: `emplace import --host`."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Sequence

import numpy as np

from .. import _compiled
from ..importers import Imported, ImportFailure, read_json
from ..importers.kineto import host, import_kineto
from . import tables
from .figures import OTHERS, REPLAY, Compared
from .host_times import Host, predicted, unknown_share
from .tables import LeftOut, PublishedFailure

_KIND = "host"


def files(folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns the traces below a folder. Throws PublishedFailure if there is none."""
    found = [path for path in tables.files(folder, "*.json*") if path.name.endswith((".json", ".json.gz"))]
    if not found:
        raise PublishedFailure(f"{folder}: no trace (.json, .json.gz)")
    return found


def steps(paths: Sequence[pathlib.Path], how: str) -> list[Compared | LeftOut]:
    """Simulates the last step of each trace.

    how: REPLAY, by the times of its own host, or OTHERS, by those of the other traces with the same GPU.
    Compared.more: "kernels", the time of kernels and copies / step; of OTHERS "host", the error of the host's time,
    and "unknown", the share of that time in calls that no other trace has.
    """
    if how == REPLAY:
        return [_replay(path) for path in paths]
    hosts = {path: _host(path) for path in paths}
    found = {path: each for path, each in hosts.items() if isinstance(each, Host)}
    done: list[Compared | LeftOut] = [each for each in hosts.values() if isinstance(each, LeftOut)]
    for path, each in found.items():
        others = [other for other in found.values()
                  if other is not each and _gpu(other.imported) == _gpu(each.imported)]
        if not others:
            done.append(LeftOut(_case(path), "no other trace of this GPU"))
            continue
        simulated = predicted(each, others)
        own = _time(each.imported, _KIND)
        host_error = _time(simulated, _KIND) / own - 1 if own > 0 else math.nan
        done.append(_compared(path, each.imported, simulated, how, host=host_error,
                              unknown=unknown_share(each, others)))
    return done


def simulate(imported: Imported) -> int:
    """Returns the time from the begin of the first kernel to the end of the last [ns], in queue semantics."""
    source = imported.document["source"]
    cluster = _compiled().Cluster.parse(host.cluster(source), "host_and_gpu")
    graph = _compiled().Graph.parse(json.dumps(imported.document), source["model"])
    problem = _compiled().Problem(graph, cluster, semantics="queue")
    outcome = problem.evaluate(np.argmax(problem.allowed, axis=1).astype(np.uint8)[None])
    latency: int = source["launch_latency_ns"]
    return int(outcome.step_time[0]) - latency  # of the first kernel


def _replay(path: pathlib.Path) -> Compared | LeftOut:
    try:
        imported = import_kineto(read_json(str(path)), path=str(path), host_kind=_KIND)
    except ImportFailure as failure:
        return _left_out(path, failure)
    return _compared(path, imported, imported, REPLAY)


def _host(path: pathlib.Path) -> Host | LeftOut:
    try:
        document = read_json(str(path))
        return Host(document, import_kineto(document, path=str(path), host_kind=_KIND), str(path))
    except ImportFailure as failure:
        return _left_out(path, failure)


def _compared(path: pathlib.Path, measured: Imported, simulated: Imported, how: str, **more: float) -> Compared:
    span = measured.document["source"]["step_ns"]
    return Compared(_case(path), _gpu(measured), "step", span, simulate(simulated), how,
                    more={"kernels": _time(measured, _gpu(measured)) / span, **more})


def _time(imported: Imported, kind: str) -> int:
    """Returns the sum of the costs of a device kind's ops [ns]."""
    return sum(op.get("cost_ns", {}).get(kind, 0) for op in imported.document["ops"])


def _left_out(path: pathlib.Path, failure: ImportFailure) -> LeftOut:
    return LeftOut(_case(path), str(failure).removeprefix(f"{path}: "))


def _case(path: pathlib.Path) -> str:
    return f"{path.parent.name}/{path.name.removesuffix('.gz').removesuffix('.json')}"


def _gpu(imported: Imported) -> str:
    kind: str = imported.document["source"]["device_kind"]
    return kind
