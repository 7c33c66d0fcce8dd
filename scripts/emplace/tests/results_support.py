"""Results files as emplace writes them, made by hand, for the tests of emplace.results."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import unittest
import zlib
from typing import Any, Iterator, Sequence

from support import Folder as TestCase
from support import called

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

MISSING = [name for name in ("h5py", "pandas", "matplotlib") if importlib.util.find_spec(name) is None]
if MISSING:
    raise unittest.SkipTest(f"needs {', '.join(MISSING)} (scripts/requirements-results.txt)")

import h5py
import numpy as np

from emplace.results import cli

NAN = float("nan")
EXAMPLES = os.path.join(PROJECT, "examples")
EVALUATIONS = [("index", "i8"), ("wall_seconds", "f8"), ("step_time_ns", "i8"),
               ("best_step_time_ns", "f8"), ("feasible", "i8")]
TESTS = [("graph", "i8"), ("method", "i8"), ("seed", "i8"), ("final_step_time_ns", "f8"),
         ("best_step_time_ns", "f8"), ("best_known_ns", "f8"), ("evaluations", "i8"), ("seconds", "f8")]
STEPS = [("simulated_ns", "i8"), ("searched_ns", "i8"), ("measured_ns", "f8"), ("low_ns", "f8"),
         ("high_ns", "f8"), ("noise", "f8")]
# As above, and what came later: intervals and traits.
SURE_STEPS = STEPS + [("interval_low_ns", "f8"), ("interval_high_ns", "f8"), ("to_fastest", "f8"),
                      ("to_fastest_low", "f8"), ("to_fastest_high", "f8"), ("crossing_bytes", "i8"),
                      ("crossings", "i8"), ("overlap", "f8")]
CORRELATIONS = [(name, "f8") for name in ("pearson", "pearson_above", "spearman", "spearman_above", "slope")]
TRAITS = ["crossing bytes", "crossings", "overlap", "step time"]
YAML = """graph: {graph}
cluster: "{cluster}"
coarsen:
  - colocate
  - gradients
agents:
  - name: x
    depth: 2
seeds:
  - 0
budget:
  evaluations: {budget}
  seconds: none
"""


# (exit code, stdout, stderr) of `python3 -m emplace.results` with arguments.
run = functools.partial(called, cli.main)


def seal(path: str) -> str:
    """Appends the checksum that every file has. @return path"""
    with open(path, "rb") as file:
        checksum = zlib.crc32(file.read())
    with open(path, "ab") as file:
        file.write(b"\nemplace-results crc32 %08x\n" % checksum)
    return path


@contextlib.contextmanager
def sealed(path: str, mode: str = "a") -> Iterator[h5py.File]:
    """The file, open for writing; it gets its checksum at the end."""
    with h5py.File(path, mode) as file:
        yield file
    seal(path)


def write_head(file: h5py.File, version: int = 4) -> None:
    file.attrs.update(format="emplace-results", version=version)


def write_run(path: str, searches: Sequence[dict[str, Any]], graph: str = "g", cluster: str = "c",
              budget: int = 9, title: str = "", version: int = 4, bound: float = 1.5,
              method: str = "work", single: tuple[str, float] | None = None) -> str:
    """@param searches  what add_search() takes, each @param bound  [s] @param method  that proved it
    @param single  best single device and its step time [s]; None: the file does not say @return path"""
    with sealed(path, "w") as file:
        write_head(file, version)
        config = file.create_group("config")
        config.attrs.update(yaml=YAML.format(graph=graph, cluster=cluster, budget=budget), name="n",
                            version="0.1.0", commit="abc", host="h", cpu="p", gpus="none", date="d")
        if title:
            config.attrs.update(sweep="s", run=title)
        problem = file.create_group("problem")
        problem.attrs.update(graph=graph, cluster=cluster, semantics="queue", objective="step_time",
                             bound_ns=round(1e9 * bound), bound_method=method, optimal=0, id_groups=0, id_costs=0,
                             id_graph=zlib.crc32(graph.encode()), id_cluster=zlib.crc32(cluster.encode()),
                             id_objective=0, id_semantics=0, id_order=0)
        if single:
            problem.attrs.update(best_single_device=single[0], best_single_device_ns=round(1e9 * single[1]))
        problem["device_names"] = ["cpu:0", "gpu:0"]
        file.create_group("agents")
        for search in searches:
            add_search(file, **search)
    return path


def add_search(file: h5py.File, agent: str, best: Sequence[float], seed: int = 0, status: str = "budget",
               seconds: float = 2.0, hardware: float = 7200.0, error: str = "",
               settings: str = "depth: 2\n", updates: dict[str, Sequence[float]] | None = None) -> None:
    """@param best  best step time after each evaluation [s]; NaN: nothing fits yet"""
    group = file.create_group(f"agents/{agent}.seed{seed}")
    group.attrs.update(agent="plugin", label=agent, settings=settings, uses_seed=1, seed=seed,
                       evaluations=len(best), steps=len(best), seconds=seconds,
                       hardware_seconds=hardware, status=status, error=error)
    rows = [(i, 0.5 * (i + 1), 7, time * 1e9, time == time) for i, time in enumerate(best)]
    group["evaluations"] = np.array(rows, dtype=EVALUATIONS)
    if len(best):
        fits = best[-1] == best[-1]
        outcome = group.create_group("best/outcome")
        outcome.attrs.update(step_time_ns=round(1e9 * best[-1]) if fits else 7, feasible=int(fits),
                             evaluation=len(best) - 1)
        outcome["peak_bytes"], outcome["deficit_bytes"] = [10, 20], [0, 0 if fits else 5]
    if updates:
        group["updates"] = np.array(list(zip(*updates.values())), dtype=[(key, "f8") for key in updates])


def add_stress(path: str, labels: Sequence[str], scenarios: dict[str, Sequence[Sequence[int]]],
               epsilon: float = NAN) -> str:
    """What `emplace stress` adds. @param scenarios  step times [draws, placements] [ns]; -1: does not fit
    @return path"""
    with sealed(path) as file:
        group = file.create_group("stress")
        group.attrs.update(seed=0, noise=0.1, version="0.1.0", commit="abc", host="h", cpu="p", gpus="none", date="d")
        group["labels"], group["noise_regret"] = list(labels), [0.5] * len(labels)
        group["step_times_ns"] = np.arange(1000, 1000 + len(labels))
        for name, times in scenarios.items():
            scenario = group.create_group(f"scenarios/{name}")
            scenario["step_times_ns"] = np.array(times)
            scenario.attrs.update(kendall_tau=NAN if len(labels) == 1 else 0.25, top_share=0.75, regret=0.125,
                                  worst_regret=np.inf, regret_ns=125.0)
        if len(labels) > 1:
            group.create_group("adversary").attrs.update(range=0.1, epsilon=epsilon, evaluations=7)
    return path


def write_sweep(folder: str, runs: Sequence[str]) -> str:
    """sweep.yaml for files of these names. @return folder"""
    os.makedirs(os.path.join(folder, "runs"), exist_ok=True)
    with open(os.path.join(folder, "sweep.yaml"), "w", encoding="utf-8") as file:
        file.write("# frozen\nformat: emplace-sweep\nversion: 2\nname: \"s\"\nconfigs:\n  0:\n    graph: g\n"
                   "    runs: 3\nruns:\n")
        for i, name in enumerate(runs):
            file.write(f"  {i}: {{file: runs/{name}, config: 0, agent: \"a\", seed: {i}}}"
                       f"  # graph=g agent=a seed={i}\n")
    return folder


def write_families(path: str, families: dict[str, Sequence[tuple]], failures: Sequence[str] = ()) -> str:
    """@param families  rows of `tests` on graphs x, y, z with methods zero and own; none: no tests yet"""
    with sealed(path, "w") as file:
        write_head(file)
        for name, rows in families.items():
            group = file.create_group(f"families/{name}")
            group.attrs["cluster"] = "c"
            group["graphs"], group["methods"], group["training_graphs"] = list("xyz"), ["zero", "own"], ["t"]
            if failures:
                group["failures"] = list(failures)
            if rows:
                group["tests"] = np.array(rows, dtype=TESTS)
    return path


def write_validation(path: str, rows: Sequence[tuple], graph: str = "g") -> str:
    """@param rows  as STEPS tells, a placement each"""
    with sealed(path, "w") as file:
        write_head(file)
        group = file.create_group(f"validation/{graph}")
        group.attrs.update(graph=graph, cluster="c", placements=len(rows), mape=0.25, max_error=0.5)
        if len(rows) > 1:
            group.attrs.update(kendall_tau=1.0, bias=NAN)
        group["labels"] = [f"random {i}" for i in range(len(rows))]
        group["steps"] = np.array(rows, dtype=STEPS)
        group.create_group("ablations/no host cost").attrs.update(mape=0.75)
    return path


def write_sure_validation(path: str, rows: Sequence[tuple], graph: str = "g") -> str:
    """The same with intervals and residuals. @param rows  as SURE_STEPS tells"""
    write_validation(path, [row[:len(STEPS)] for row in rows], graph)
    with sealed(path) as file:
        group = file[f"validation/{graph}"]
        del group["steps"]
        group["steps"] = np.array(rows, dtype=SURE_STEPS)
        group.attrs.update(interval_low_ratio=0.875, interval_high_ratio=1.125, held_out=17, coverage=0.5,
                           distinct_pairs=1, distinct_accuracy=1.0, paired_level=0.95, differing_pairs=1,
                           differing_in_order=1.0, resolved_difference=0.04,
                           verdict="errors 2.4 %: reliable for differences above 4 %")
        group["warnings"] = ["the machine drifted"]
        for place, pearson in ((group, 0.25), (file, 0.5)):
            residuals = place.create_group("residuals")
            residuals.attrs.update(graphs=1, placements=len(rows), shuffles=1000, largest_above=0.5, systematic=0)
            residuals["traits"] = TRAITS
            residuals["correlations"] = np.array(
                [(pearson, 0.875, -0.125, 0.75, 3.0)] + [(NAN,) * 5] * 3, dtype=CORRELATIONS)
    return path
