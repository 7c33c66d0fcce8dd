"""Steps in profiler traces, simulated with their host: `emplace import --host`."""

from __future__ import annotations

import json
import pathlib

import numpy as np

from .. import _compiled
from ..importers import Imported, ImportFailure, read_json
from ..importers.kineto import host, import_kineto
from .figures import REPLAY, Compared
from .tables import LeftOut, PublishedFailure

HOST = "host"


def files(folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns the traces below a folder. Throws PublishedFailure if there is none."""
    found = sorted(path for path in folder.rglob("*.json*") if path.name.endswith((".json", ".json.gz")))
    if not found:
        raise PublishedFailure(f"{folder}: no trace (.json, .json.gz)")
    return found


def replay(path: pathlib.Path) -> Compared | LeftOut:
    """Simulates a trace's last step by the times of its own host and kernels."""
    name = path.name.removesuffix(".gz").removesuffix(".json")
    try:
        imported = import_kineto(read_json(str(path)), name=name, path=str(path), host_kind=HOST)
    except ImportFailure as failure:
        return LeftOut(f"{path.parent.name}/{name}", str(failure).removeprefix(f"{path}: "))
    source = imported.document["source"]
    return Compared(f"{path.parent.name}/{name}", source["device_kind"], "step", source["step_ns"],
                    simulate(imported), REPLAY)


def simulate(imported: Imported) -> int:
    """Returns the time from the begin of the first kernel to the end of the last [ns], in queue semantics."""
    source = imported.document["source"]
    cluster = _compiled().Cluster.parse(host.cluster(source), "host_and_gpu")
    graph = _compiled().Graph.parse(json.dumps(imported.document), source["model"])
    problem = _compiled().Problem(graph, cluster, semantics="queue")
    outcome = problem.evaluate(np.argmax(problem.allowed, axis=1).astype(np.uint8)[None])
    latency: int = source["launch_latency_ns"]
    return int(outcome.step_time[0]) - latency  # of the first kernel
