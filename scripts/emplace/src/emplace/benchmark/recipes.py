"""Makes instances: freezes a problem of the menus into one file, so that it does not change with cost models."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, Mapping

import numpy as np

from ..importers import graph_file
from .instances import RECIPES, TIERS, checksum, read_known, read_yaml, store

if TYPE_CHECKING:
    from .. import Problem

_KEYS = ("graph", "cluster", "coarsen", "semantics", "objective", "count_gaps", "simulate_groups", "plan")
_SIMULATION = {"semantics": "queue", "objective": "step_time", "count_gaps": False}
_OWN = ("tier", "about", "source", "licence")
FORBIDDEN = 2**56  # cost of an op where it may not run


def make(folder: str | os.PathLike[str], names: list[str] | None = None) -> list[str]:
    """Writes the files of instances.yaml that known.yaml does not have, or those named. Returns their names.

    The best placement and the bound of an instance are forgotten if its content changes. Throws InputError.
    """
    from .. import InputError
    from ..tuning.messages import refuse_unknown

    at = pathlib.Path(folder)
    recipes, known = read_yaml(at / RECIPES)["instances"], read_known(at)
    for name in names or ():
        if name not in recipes:
            refuse_unknown(str(at / RECIPES), "instance", name, recipes)
    made = []
    for name, recipe in recipes.items():
        if name not in names if names else name in known:
            continue
        where = f"{at / RECIPES}: {name}"
        if recipe.get("tier") not in TIERS:
            raise InputError(f"{where}: tier: got {recipe.get('tier')!r}; choices: {', '.join(TIERS)}")
        for key in recipe:
            if key not in _KEYS + _OWN:
                refuse_unknown(where, "key", key, _KEYS + _OWN)
        path = at / recipe["tier"] / f"{name}.json.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            entry = freeze(name, recipe, path, beside=at)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        store(at, name, lambda before: {**(before if before.get("sha256") == entry["sha256"] else {}), **entry})
        made.append(name)
    return made


def freeze(name: str, recipe: Mapping[str, Any], path: pathlib.Path, beside: pathlib.Path) -> dict[str, Any]:
    """Writes the problem of a recipe (keys of a run config) as an instance. Returns its entry in known.yaml.

    beside: folder in which paths of graph and cluster are looked up. Throws InputError.
    """
    from .. import Graph, Problem, apply_plan

    def located(key: str) -> str:
        text = str(recipe[key])
        return str(beside / text) if text.startswith(("./", "../")) else text

    graph: Any = located("graph")
    cluster: Any = located("cluster")
    if "plan" in recipe:
        planned = apply_plan(graph, cluster, recipe["plan"])
        graph, cluster = planned.graph, planned.cluster
    simulation = {key: recipe.get(key, default) for key, default in _SIMULATION.items()}
    problem = Problem(graph, cluster, threads=1, coarsen=recipe.get("coarsen", ["colocate"]),
                      simulate_groups=recipe.get("simulate_groups", False), **simulation)
    view = problem.searched
    with tempfile.TemporaryDirectory() as folder:
        view.graph.write(os.path.join(folder, "graph.json"))
        document = graph_file.read(os.path.join(folder, "graph.json"))
        problem.cluster.write(os.path.join(folder, "cluster.yaml"))
        import yaml

        machine = yaml.safe_load(pathlib.Path(folder, "cluster.yaml").read_text())
    kinds = problem.cluster.device_kinds
    first = {kind: kinds.index(kind) for kind in kinds}  # a kind's devices have equal costs
    groups, sizes = view.group_of_op, np.bincount(view.group_of_op)
    for number, op in enumerate(document["ops"]):
        op.pop("colocate", None)
        if sizes[groups[number]] > 1:
            op["colocate"] = f"group{groups[number]}"
        costs = [(kind, int(view.costs[number, [d for d, other in enumerate(kinds) if other == kind]].min()))
                 for kind in first]
        op["cost_ns"] = {kind: cost for kind, cost in costs if cost < FORBIDDEN}
    if recipe.get("simulate_groups"):
        document["source"] = {**document.get("source", {}), "contracted": True}
    tensors, ops = document.pop("tensors"), document.pop("ops")
    document = {**document, "name": name, "instance": {"version": 1, **simulation, "cluster": machine},
                "tensors": tensors, "ops": ops}
    graph_file.write_bytes(graph_file.serialize(document), path)
    Graph(str(path)).write(str(path))  # in the program's own form
    frozen = Problem(str(path), str(path), threads=1, **simulation)
    if not np.array_equal(frozen.costs, view.costs) or not np.array_equal(frozen.group_of_op, groups):
        raise AssertionError(f"{path}: differs from the problem of its recipe")
    return {**simulation, "sha256": checksum(path), "features": features(frozen)}


def features(problem: Problem) -> dict[str, Any]:
    """Returns numbers by which instances differ (Instance.features)."""
    accelerators = [d for d, name in enumerate(problem.cluster.device_classes) if name == "gpu"]
    accelerators = accelerators or list(range(problem.num_devices))
    costs = np.where(problem.group_costs < 0, np.nan, problem.group_costs.astype(float))
    mean = np.nanmean(costs, axis=1)
    edges = problem.group_edges
    traffic = 0.0
    if len(edges):
        unit = 1 << 20
        small, large = (problem.cluster.transfer_times(size)[np.ix_(accelerators, accelerators)].astype(float)
                        for size in (0, unit))
        used = ~np.eye(len(accelerators), dtype=bool) & (small >= 0)
        if used.any():
            latency, per_byte = small[used].mean(), (large[used] - small[used]).mean() / unit
            traffic = float((latency + edges[:, 2] * per_byte).sum())
    memory = problem.cluster.memory[accelerators].astype(float)
    limited = bool((memory < 2.0**62).all())
    own = costs[:, accelerators][~np.isnan(costs[:, accelerators]).all(axis=1)]
    single = problem.best_single_device()
    return {"num_ops": int(problem.num_ops), "num_groups": int(problem.num_groups),
            "num_devices": int(problem.num_devices), "edges": round(len(edges) / problem.num_groups, 2),
            "communication": round(traffic / float(mean.sum()), 3) if mean.sum() else 0.0,
            "memory": round(float(problem.group_resident_bytes.sum()) / float(memory.sum()), 3) if limited else 0.0,
            "equal_devices": bool(np.all(np.nanmin(own, axis=1) == np.nanmax(own, axis=1))),
            "one_device_fits": single is not None and problem.cluster.device_names.index(single[0]) in accelerators}
