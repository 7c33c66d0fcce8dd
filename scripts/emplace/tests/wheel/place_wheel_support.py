"""Requests of `emplace place` for the tests of the installed package."""

from __future__ import annotations

from typing import Any, Sequence

import emplace
from emplace.place.decide import Decision, decide
from emplace.place.target import Request, Target
from emplace.place.targets import find


def cluster(names: Sequence[str], memory: Sequence[int]) -> emplace.Cluster:
    """Devices "c..." are CPUs, "g..." GPUs; 1 GB/s and 100 ns between any two."""
    kinds = {"kind_c": {"class": "cpu"}, "kind_g": {"class": "gpu"}}
    return emplace.cluster_from_arrays(names, 1e9, 100, kinds=[f"kind_{name[0]}" for name in names], memory=memory,
                                       device_kinds={kind: kinds[kind] for kind in kinds
                                                     if kind in {f"kind_{name[0]}" for name in names}})


def with_costs(document: dict[str, Any], gpu: int, cpu: int) -> dict[str, Any]:
    """The document with these times for all ops that compute [ns]."""
    for op in document["ops"]:
        if op["kind"] not in ("parameter", "constant"):
            op["cost_ns"] = {"kind_g": gpu, "kind_c": cpu}
    return document


def place(name: str, document: dict[str, Any], on: emplace.Cluster, stem: str,
          **options: Any) -> tuple[Target, Decision]:
    """What the command does, with objects instead of texts."""
    target = find(name)(Request(document, options.pop("model", "the model"), on, **{"seconds": 2.0, **options}))
    try:
        return target, decide(target, stem)
    finally:
        target.close()
