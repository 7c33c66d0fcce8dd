"""Simulates published transfers over a link between two devices.

The bandwidth of real transfers grows with their size. A channel of a cluster has one latency and one bandwidth, which
are fitted here to all sizes (FITTED); the ranges of a cost file have one of each for every range of sizes (RANGES). A
fit never sees the size that it predicts. A collective is predicted by a ring (RING) or the fastest algorithm (FASTEST)
over the channel of a link, without any time of a collective.
"""

from __future__ import annotations

import collections
import itertools
import json
import math
from typing import Any, Sequence

import numpy as np

from .. import _compiled
from ..arrays import cluster_from_arrays, graph_from_arrays
from . import plans
from .figures import DATA_SHEET, FASTEST, RANGES, RING, Compared
from .simulate import NO_LINKS, NO_RING
from .tables import LeftOut, LinkCase, OpCase

WITHIN_NODE = "p2p_intra_node"
Points = Sequence[tuple[int, float]]  # sizes [B] and times [ns]


def transfers(cases: Sequence[LinkCase], how: str) -> tuple[list[Compared], list[LeftOut]]:
    """Returns the simulated transfers, and those left out. Throws InputError."""
    compared: list[Compared] = []
    left_out: list[LeftOut] = []
    points = _points(cases)
    for case in cases:
        others = [point for point in points[case.gpu, case.group] if point[0] != case.num_bytes]
        if how in (DATA_SHEET, RING, FASTEST):
            left_out.append(LeftOut(case.case, NO_LINKS if how == DATA_SHEET else NO_RING))
        elif len({size for size, _ in others}) < 2:
            left_out.append(LeftOut(case.case, "fewer than 2 other sizes of this link to fit"))
        else:
            latency, bandwidth = channel(others) if how != RANGES else _range_of(ranges(others), case.num_bytes)
            compared.append(Compared(case.case, case.gpu, case.group, case.measured,
                                     simulate(case.num_bytes, latency, bandwidth), how, case.totals))
    return compared, left_out


def collectives(cases: Sequence[OpCase], links: Sequence[LinkCase], how: str) -> tuple[list[Compared], list[LeftOut]]:
    """Returns the simulated collectives, and those left out. Throws InputError.

    Every pair of GPUs has a channel, fitted to all sizes of the GPU's link WITHIN_NODE.
    """
    compared: list[Compared] = []
    left_out: list[LeftOut] = []
    fitted = {gpu: channel(points) for (gpu, link), points in _points(links).items()
              if link == WITHIN_NODE and len({size for size, _ in points}) > 1}
    for case in cases:
        if case.group_size > plans.MOST_DEVICES:
            left_out.append(LeftOut(case.case, f"more than {plans.MOST_DEVICES} GPUs"))
        elif case.gpu in fitted:
            compared.append(Compared(case.case, case.gpu, case.group, case.measured,
                                     collective(case, how, *fitted[case.gpu]), how, case.totals))
        else:
            left_out.append(LeftOut(case.case, f"no table {WITHIN_NODE} of at least 2 sizes"))
    return compared, left_out


def collective(case: OpCase, how: str, latency: float, bandwidth: float) -> int:
    """Returns the time by Cluster.collective_times, on GPUs with equal channels for all pairs [ns]."""
    cluster = _equal_gpus(case.group_size, latency, bandwidth)
    name = case.kind.removeprefix("collective.")
    tensors = [case.output] if name == "all_gather" else case.inputs
    times: dict[str, int] = cluster.collective_times(name, sum(4 * math.prod(shape) for shape in tensors))
    return times[how] if how == RING else min(times.values())


def simulate(num_bytes: int, latency: float, bandwidth: float) -> int:
    """Returns the step time of an op that reads the result of an op on another device [ns]. Both ops take no time."""
    cluster = _equal_gpus(2, latency, bandwidth)
    graph = graph_from_arrays(["send", "receive"], [(0, 1)], [num_bytes, 0], cost_ns={"gpu": [0, 0]})
    problem = _compiled().Problem(graph, cluster, semantics="stream")
    return int(problem.evaluate(np.array([[0, 1]], dtype=np.uint8)).step_time[0])


def _equal_gpus(count: int, latency: float, bandwidth: float) -> Any:
    return cluster_from_arrays([f"gpu:{place}" for place in range(count)], bandwidth, round(latency), kinds="gpu",
                               device_kinds={"gpu": {"class": "gpu"}})


def channel(points: Points) -> tuple[float, float]:
    """Returns the latency [ns] and bandwidth [B/s] with the least mean relative error.

    points: of at least 2 sizes. The best line passes through two of them, or through one and the origin.
    """
    lines = [(0.0, time / size) for size, time in points]
    for (size, time), (other, later) in itertools.combinations(points, 2):
        if size != other and (later > time) == (other > size) and later != time:
            slope = (later - time) / (other - size)
            lines.append((time - slope * size, slope))
    latency, slope = min((line for line in lines if line[0] >= 0),
                         key=lambda line: sum(abs(line[0] + line[1] * size - time) / time for size, time in points))
    return latency, 1e9 / slope


def ranges(points: Points) -> list[tuple[int, float, float]]:
    """Returns ranges as `links` of a cost file has them: from [B], latency [ns], bandwidth [B/s]."""
    fitted: list[tuple[int, float, float]] = _compiled().fit_link(points)[0]
    return fitted


def described(cases: Sequence[LinkCase], how: str) -> str:
    """Returns a line for each link with the figures that are fitted to all its sizes, at least two."""
    lines = []
    for (gpu, link), points in _points(cases).items():
        if how == RANGES:
            fitted = [{"from_bytes": begin, "latency_ns": round(latency), "bytes_per_second": round(bandwidth)}
                      for begin, latency, bandwidth in ranges(points)]
            lines.append(f"ranges of {gpu}/{link}, as in a cost file: {json.dumps(fitted)}\n")
        else:
            latency, bandwidth = channel(points)
            lines.append(f"channel of {gpu}/{link}, as in a cluster file: "
                         f"{{latency: {latency / 1e3:.3f}us, bandwidth: {bandwidth / 1e9:.6g}GB/s}}\n")
    return "".join(lines)


def _points(cases: Sequence[LinkCase]) -> dict[tuple[str, str], list[tuple[int, float]]]:
    points: dict[tuple[str, str], list[tuple[int, float]]] = collections.defaultdict(list)
    for case in cases:
        points[case.gpu, case.group].append((case.num_bytes, case.measured))
    return points


def _range_of(fitted: Sequence[tuple[int, float, float]], num_bytes: int) -> tuple[float, float]:
    _, latency, bandwidth = max(each for each in fitted if each[0] <= num_bytes)
    return latency, bandwidth
