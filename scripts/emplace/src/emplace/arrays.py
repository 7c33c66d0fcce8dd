"""Makes graphs and clusters from arrays, without files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import yaml

from . import _compiled
from .importers.graph_file import GraphBuilder

if TYPE_CHECKING:
    from ._emplace import Cluster, Graph


def graph_from_arrays(op_names: Sequence[str], edges: npt.ArrayLike, output_bytes: npt.ArrayLike, *,
                      kinds: Sequence[str] | None = None, flops: npt.ArrayLike | None = None,
                      bytes_accessed: npt.ArrayLike | None = None, parameter_bytes: npt.ArrayLike | None = None,
                      cost_ns: Mapping[str, npt.ArrayLike] | None = None, name: str = "graph") -> Graph:
    """Returns a graph in which every op makes one tensor, which all its readers get.

    op_names         [num_ops], unique
    edges            int [num_edges, 2]: producer, reader
    output_bytes     [num_ops] size of the tensor that an op makes [B]
    kinds            [num_ops] such as "aten.mm" (default: "op"); with flops and bytes they decide modelled costs
    flops            [num_ops] [FLOP], a multiply-add counting two
    bytes_accessed   [num_ops] [B]; default: bytes of inputs plus output
    parameter_bytes  [num_ops] of parameters that an op reads; one above 0 becomes a parameter in the op's group [B]
    cost_ns          device kind -> [num_ops] measured times [ns]
    Throws InputError for a cycle, a duplicate name or a negative number; ValueError for arrays of a wrong shape.
    """
    count = len(op_names)
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    if pairs.size and not (0 <= pairs.min() and pairs.max() < count):
        raise ValueError(f"edges: ids from {pairs.min()} to {pairs.max()}, but there are {count} ops")
    sizes = _column("output_bytes", output_bytes, count)
    work = _column("flops", flops, count)
    moved = None if bytes_accessed is None else _column("bytes_accessed", bytes_accessed, count)
    parameters = _column("parameter_bytes", parameter_bytes, count)
    costs = {kind: _column(f"cost_ns[{kind!r}]", values, count) for kind, values in (cost_ns or {}).items()}
    builder = GraphBuilder(name, {"framework": "arrays"})
    outputs = [builder.tensor(f"{op}:0", [], "", num_bytes=int(sizes[v])) for v, op in enumerate(op_names)]
    inputs: list[list[int]] = [[] for _ in range(count)]
    for producer, reader in pairs.tolist():
        inputs[reader].append(outputs[producer])
    for v, op in enumerate(op_names):
        if parameters[v] > 0:
            weight = builder.tensor(f"{op}/parameter:0", [], "", role="parameter", num_bytes=int(parameters[v]))
            builder.op(f"{op}/parameter", "parameter", [], [weight], colocate=op)
            inputs[v].append(weight)
        builder.op(op, kinds[v] if kinds is not None else "op", inputs[v], [outputs[v]], flops=float(work[v]),
                   bytes_accessed=None if moved is None else int(moved[v]),
                   colocate=op if parameters[v] > 0 else None,
                   cost_ns={kind: int(values[v]) for kind, values in costs.items()})
    graph: Graph = _compiled().Graph.parse(json.dumps(builder.document()), name)
    return graph


def cluster_from_arrays(device_names: Sequence[str], bandwidth: npt.ArrayLike, latency_ns: npt.ArrayLike = 0, *,
                        kinds: Sequence[str] | str = "device", memory: npt.ArrayLike | None = None,
                        device_kinds: Mapping[str, Mapping[str, Any]] | None = None,
                        name: str = "cluster") -> Cluster:
    """Returns a cluster in which every ordered pair of devices has its own channel.

    device_names  [num_devices]
    bandwidth     [B/s]: a number for all pairs, or [num_devices, num_devices], 0 without a route
    latency_ns    [ns]: likewise
    kinds         [num_devices] or one for all: names of `emplace list device-kinds`, or keys of device_kinds
    memory        [num_devices] [B]; None: no limit
    device_kinds  kinds that no file defines, as in a cluster file; default: one GPU kind per unknown name, which
                  needs graphs with cost_ns for it
    Throws InputError; ValueError for arrays of a wrong shape.
    """
    count = len(device_names)
    rates = np.broadcast_to(np.asarray(bandwidth, dtype=np.float64), (count, count))
    delays = np.broadcast_to(np.asarray(latency_ns, dtype=np.int64), (count, count))
    names = [kinds] * count if isinstance(kinds, str) else list(kinds)
    if len(names) != count:
        raise ValueError(f"kinds: {len(names)} for {count} devices")
    room = None if memory is None else _column("memory", memory, count)
    document: dict[str, Any] = {"name": name, "devices": [], "channels": [], "routes": []}
    for d, device in enumerate(device_names):
        entry: dict[str, Any] = {"name": device, "kind": names[d]}
        if room is not None:
            entry["memory"] = f"{int(room[d])}B"
        document["devices"].append(entry)
    for a, source in enumerate(device_names):
        for b, target in enumerate(device_names):
            if a == b or rates[a, b] <= 0:
                continue
            channel = f"{source}->{target}"
            document["channels"].append({"name": channel, "latency": f"{int(delays[a, b])}ns",
                                         "bandwidth": f"{rates[a, b]:.17g}B/s"})
            document["routes"].append({"from": source, "to": target, "via": [channel]})
    own = device_kinds if device_kinds is not None else {
        kind: {"class": "gpu"} for kind in dict.fromkeys(names) if kind not in menu_kinds()}
    if own:
        document["device_kinds"] = dict(own)
    cluster: Cluster = _compiled().Cluster.parse(json.dumps(document), name)
    return cluster


def menu_kinds() -> dict[str, dict[str, Any]]:
    """Returns the device kinds of the menu: the entry of each name (framework/cluster/FORMAT.md)."""
    folder = os.path.join(_compiled().configs_folder(), "device_kinds")
    kinds: dict[str, dict[str, Any]] = {}
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, file), encoding="utf-8") as text:
            kinds |= (yaml.safe_load(text) or {}).get("device_kinds", {})
    return kinds


def _column(name: str, values: npt.ArrayLike | None, count: int) -> npt.NDArray[np.float64]:
    """Returns [count] numbers; zeros for None."""
    if values is None:
        return np.zeros(count)
    column = np.broadcast_to(np.asarray(values), (count,)) if np.ndim(values) == 0 else np.asarray(values)
    if column.shape != (count,):
        raise ValueError(f"{name}: shape {list(column.shape)}; expected [{count}]")
    return column
