"""Timings of matched ops as a cost file (framework/cost/FORMAT.md): pooled by signature, with other facts from
traces."""

from __future__ import annotations

import collections
import dataclasses
import json
from typing import Any, Iterable, Mapping, Sequence

from .. import _compiled
from ..importers.kineto.copies import Copy


@dataclasses.dataclass(frozen=True)
class Op:
    """The key of an op in a cost file. flops [FLOP]; num_bytes: accessed [B]; dtype: of its largest input."""

    signature: str
    kind: str
    op_class: str
    flops: float
    num_bytes: int
    dtype: str


@dataclasses.dataclass
class Measured:
    """Timings [ns] of a device kind: one for each op and step.

    has_figures: whether the menu has its published figures, such as the peak.
    """

    name: str
    device_class: str  # "cpu", "gpu"
    has_figures: bool
    samples: dict[Op, list[float]] = dataclasses.field(default_factory=lambda: collections.defaultdict(list))


def cost_file(measured: Sequence[Measured], copies: Iterable[Copy], machine: str, properties: Mapping[str, str],
              warnings: Sequence[str]) -> str:
    """Returns the text of the file, as `emplace profile` writes it, with fits."""
    ops = [_op(kind.name, op, samples) for kind in measured for op, samples in kind.samples.items()]
    document = {"format": "emplace-costs", "version": 1, "machine": machine, "properties": dict(properties),
                "warnings": list(warnings), "device_kinds": [device_kind(kind) for kind in measured], "ops": ops,
                "links": _links(copies)}
    text: str = _compiled().costs_with_fits(json.dumps(document), "costs of traces")
    return text


def device_kind(kind: Measured) -> dict[str, Any]:
    """Returns a record of `device_kinds`. Without published figures it has the largest rates that any op reached."""
    record: dict[str, Any] = {"name": kind.name, "class": kind.device_class, "source": "traces"}
    if kind.has_figures:
        return record
    medians = {op: float(_compiled().summarize_timings(samples)["median_ns"]) for op, samples in kind.samples.items()}
    peak: dict[str, float] = {}
    for op, median in medians.items():
        dtype = op.dtype if op.dtype.startswith(("f", "bf")) else "f32"
        if op.flops > 0:
            peak[dtype] = max(peak.get(dtype, 0), 1e9 * op.flops / median)
    record["memory_bandwidth"] = max((1e9 * op.num_bytes / median for op, median in medians.items()
                                      if op.op_class != "view"), default=0)
    record["peak"] = peak
    record["efficiency"] = {"memory": 1}
    for name in sorted({op.op_class for op in medians if op.flops > 0} - {"view", "unknown"}):
        reached = max(op.flops / median for op, median in medians.items() if op.op_class == name)
        record["efficiency"][name] = min(1.0, 1e9 * reached / max(peak.values()))
    record["source"] = "traces; peak and memory_bandwidth: the most that any op reached"
    return record


def _op(kind: str, op: Op, samples: Sequence[float]) -> dict[str, Any]:
    return {"device_kind": kind, "signature": op.signature, "kind": op.kind, "class": op.op_class, "flops": op.flops,
            "bytes": op.num_bytes, "in_situ": _compiled().summarize_timings(list(samples))}


def _links(copies: Iterable[Copy]) -> list[dict[str, Any]]:
    by_link: dict[tuple[str, str, str], dict[int, list[float]]] = collections.defaultdict(
        lambda: collections.defaultdict(list))
    for copy in copies:
        by_link[copy.source, copy.target, copy.memory][copy.num_bytes].append(copy.duration)
    links = []
    for (source, target, memory), sizes in sorted(by_link.items()):
        points = [{"bytes": size, **_compiled().summarize_timings(times)} for size, times in sorted(sizes.items())]
        ranges, error = ([], 0.0) if len(points) < 2 else _compiled().fit_link(
            [(point["bytes"], point["median_ns"]) for point in points])
        links.append({"from": source, "to": target, "memory": memory, "max_relative_error": error, "points": points,
                      "ranges": [{"from_bytes": begin, "latency_ns": latency, "bytes_per_second": rate}
                                 for begin, latency, rate in ranges]})
    return links
