"""Placements simulated with other costs, from `emplace stress`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np
import pandas as pd

from .files import Path, ResultsError, as_paths, existing_files, open_results, plain, texts
from .runs import concat


@dataclass(frozen=True)
class Stress:
    """The best placements of runs, simulated with other costs. Times in nanoseconds [ns].

    draws      a row per scenario, draw and placement: file, graph, cluster, scenario ("unchanged", "noise",
               "semantics_stream", "slow_links"), draw, label (of the searches that found the placement),
               step_time_ns (infinite: does not fit), regret (over the best of the draw - 1)
    scenarios  a row per file and scenario: kendall_tau, top_share, regret, worst_regret, regret_ns of the winner
    adversary  a row per file with two placements or more: winner, other, range, epsilon (NaN: none found),
               evaluations
    """

    draws: pd.DataFrame
    scenarios: pd.DataFrame
    adversary: pd.DataFrame


def load_stress(paths: Path | Sequence[Path]) -> Stress:
    """Loads the stress results of results files, and of sweeps' folders.

    A sweep's folder has them once per problem; `file` is then the first of its runs.
    @throws ResultsError naming the file that cannot be read or that `emplace stress` has not processed
    """
    draws: list[pd.DataFrame] = []
    scenarios: list[dict[str, Any]] = []
    adversary: list[dict[str, Any]] = []
    seen: set[tuple[Any, ...]] = set()
    for path, in_sweep in (file for source in as_paths(paths) for file in existing_files(source)):
        with open_results(path) as file:
            if "stress" not in file:
                if in_sweep:
                    continue
                raise ResultsError(f"{path}: expected results of a run after `emplace stress`; found "
                                   f"{' and '.join(sorted(file)) or 'nothing'}")
            group, problem = file["stress"], file["problem"].attrs
            if in_sweep and (same := content_of(group, problem)) in seen:
                continue
            elif in_sweep:
                seen.add(same)
            where = {"file": path, "graph": plain(problem["graph"]), "cluster": plain(problem["cluster"])}
            labels = texts(group["labels"])
            draws.append(draws_of(where, "unchanged", labels, group["step_times_ns"][()][np.newaxis]))
            for name, scenario in group["scenarios"].items():
                draws.append(draws_of(where, name, labels, scenario["step_times_ns"][()]))
                scenarios.append({**where, "scenario": name,
                                  **{key: plain(value) for key, value in scenario.attrs.items()}})
            if "adversary" in group:
                adversary.append({**where, "winner": labels[0], "other": labels[1],
                                  **{key: plain(value) for key, value in group["adversary"].attrs.items()}})
    if not draws:
        raise ResultsError(f"{', '.join(as_paths(paths))}: `emplace stress` has not processed any of its runs")
    return Stress(concat(draws, []), pd.DataFrame(scenarios),
                  pd.DataFrame(adversary, columns=None if adversary else ["file", "graph", "cluster"]))


def content_of(group: Any, problem: Any) -> tuple[Any, ...]:
    """Returns a key that is the same for all files of a problem in a sweep."""
    return (plain(problem["graph"]), plain(problem["cluster"]), plain(group.attrs["date"]), *texts(group["labels"]),
            *group["step_times_ns"][()].tolist(), *group["noise_regret"][()].tolist())


def draws_of(where: dict[str, str], scenario: str, labels: Sequence[str], written: np.ndarray) -> pd.DataFrame:
    """Returns the draws of a scenario. @param written  [draws, placements] -1: does not fit"""
    times = np.where(written < 0, np.inf, written.astype(float))
    best = times.min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        regret = np.where(np.isinf(times), np.inf, times / best - 1)
    count, width = times.shape
    return pd.DataFrame({**where, "scenario": scenario, "draw": np.repeat(np.arange(count), width),
                         "label": list(labels) * count, "step_time_ns": times.ravel(), "regret": regret.ravel()})
