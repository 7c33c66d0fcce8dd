"""Runs as data frames: results files of `emplace run` and folders of `emplace sweep`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np
import pandas as pd

from .files import Path, ResultsError, as_paths, flat_config, open_results, plain, require_choice, sweep_runs, texts

PROBLEM = ("graph", "cluster", "semantics", "objective")
PARTS = ("graph", "groups", "cluster", "costs", "objective", "semantics", "order")  # of a problem's id
INTERVAL = {"interval_low_ns": "interval_low_ratio", "interval_high_ns": "interval_high_ratio"}
PROVENANCE = ("version", "commit", "host", "cpu", "gpus", "date")
# Keys of a run config that have columns of their own, or on which no result depends.
NOT_CONFIG = ("agents", "seeds", "jobs", "output", "split", "ranks")


@dataclass(frozen=True)
class Runs:
    """A run is one agent with one seed. Times in nanoseconds [ns] unless a name says otherwise.

    runs         a row per run: run (its number, by which the other frames name it); source (the
                 path it was loaded by), file, sweep, title; problem (runs of the same problem are compared with
                 each other: "nmt on 2xk80", see name_problems()), split (of the run config; "" without),
                 graph, cluster, semantics, objective; bound_ns (the largest proven in the files of the
                 problem that were loaded) and bound_method, gap (best / bound - 1; NaN without one),
                 optimal (the bound proves it); best_single_device (its name; "" if none holds the
                 model), best_single_device_ns (its step time)
                 and speed_up over it (NaN likewise);
                 agent (its label), algorithm (its registered name),
                 search (label and seed, as its group in the file), seed, uses_seed; status:
                 "finished", "budget" (used up), "stopped" (a checkpoint: still running, or to be
                 resumed), "failed" with error; best_step_time_ns (NaN: nothing evaluated fits),
                 feasible, best_evaluation; interval_low_ns, interval_high_ns (the interval in which a
                 measurement of it should lie; NaN if the costs give none); evaluations, steps, seconds (of search),
                 hardware_seconds (the time that measuring would have taken); peak_bytes and
                 deficit_bytes.DEVICE of the best placement; ranks (processes that made the
                 run together); version, commit, host, cpu, gpus, date;
                 config.KEY of the run config and setting.KEY of the agent (NaN if it has no
                 such key)
    evaluations  run, evaluation (0, 1, ...), wall_seconds, step_time_ns, best_step_time_ns (so
                 far; NaN until a placement fits), feasible
    updates      run, update and the agent's own numbers; NaN if it has no such column
    not_run      titles of a sweep's runs that have no file yet
    """

    runs: pd.DataFrame
    evaluations: pd.DataFrame
    updates: pd.DataFrame
    not_run: tuple[str, ...] = ()


EVALUATIONS = ("all", "improvements", "none")


def load_runs(paths: Path | Sequence[Path], *, evaluations: str = "all") -> Runs:
    """Loads all runs of results files and sweeps' folders. Running runs are read as of their last checkpoint.

    @param evaluations  the rows of that frame. "all" rows of a large sweep do not fit into memory. "improvements" are
                        those with a better placement than all before, which is enough for targets
    @throws ResultsError naming the file that cannot be read, or if no run is found
    """
    rows: list[dict[str, Any]] = []
    require_choice("evaluations", evaluations, EVALUATIONS)
    tried: list[pd.DataFrame] = []
    updates: list[pd.DataFrame] = []
    not_run: list[str] = []
    sources = as_paths(paths)
    for source in sources:
        for path in files_of(source, not_run):
            with open_results(path) as file:
                if "agents" not in file or "problem" not in file:
                    raise ResultsError(f"{path}: expected results of `emplace run` or `emplace "
                                       f"sweep`, found {' and '.join(sorted(file)) or 'nothing'}")
                head = {"source": source, "file": path, **read_head(file, path)}
                for group in file["agents"].values():
                    run = len(rows)
                    rows.append({"run": run, **head, **read_run(group, head["devices"], path)})
                    if evaluations != "none":
                        rows_of_run = table(group["evaluations"], {"run": run}, "evaluation")
                        tried.append(rows_of_run if evaluations == "all" else improvements(rows_of_run))
                    if "updates" in group:
                        updates.append(table(group["updates"], {"run": run}, "update"))
    if not rows:
        raise ResultsError(f"{', '.join(sources)}: there is no run yet")
    runs = with_bounds(pd.DataFrame(rows)).drop(columns=["devices", "same_problem"])
    runs.insert(1, "problem", name_problems(runs))
    for column in INTERVAL:  # these columns were ratios up to here
        runs[column] *= runs["best_step_time_ns"]
    curves = concat(tried, ["run", "evaluation", "feasible"]).drop(columns="index", errors="ignore")
    curves["feasible"] = curves["feasible"].astype(bool)
    return Runs(runs, curves, concat(updates, ["run", "update"]), tuple(not_run))


def files_of(source: str, not_run: list[str]) -> list[str]:
    if not os.path.isdir(source):
        return [source]
    there = []
    for path, title in sweep_runs(source):
        if os.path.exists(path):
            there.append(path)
        else:
            not_run.append(title)
    return there


def read_head(file: Any, path: str) -> dict[str, Any]:
    config, problem = file["config"].attrs, file["problem"].attrs
    keys = flat_config(plain(config["yaml"]), path)
    return {
        "sweep": plain(config["sweep"]) if "sweep" in config else "",
        "title": plain(config["run"]) if "run" in config else "",
        "split": str(keys.get("split", "")),
        **{key: plain(problem[key]) for key in (*PROBLEM, "bound_ns", "bound_method")},
        "best_single_device": plain(problem.get("best_single_device", "")),
        "best_single_device_ns": float(problem.get("best_single_device_ns", np.nan)),
        **{column: float(problem.get(ratio, np.nan)) for column, ratio in INTERVAL.items()},
        "same_problem": tuple(int(problem[f"id_{part}"]) for part in PARTS),
        "ranks": int(plain(config["ranks"])) if "ranks" in config else 1,
        **{key: plain(config[key]) for key in PROVENANCE},
        **{f"config.{key}": value for key, value in keys.items() if key not in NOT_CONFIG},
        "devices": texts(file["problem/device_names"]),
    }


def with_bounds(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the runs of one problem with the largest of their bounds, the gap, and whether they are optimal.

    See framework/results/FORMAT.md.
    """
    largest = runs.loc[runs.groupby("same_problem")["bound_ns"].transform("idxmax")]
    runs["bound_ns"] = largest["bound_ns"].to_numpy()
    runs["bound_method"] = largest["bound_method"].to_numpy()
    bound = runs["bound_ns"].where(runs["bound_ns"] > 0)
    runs["gap"] = runs["best_step_time_ns"] / bound - 1
    runs["optimal"] = runs["best_step_time_ns"] <= runs["bound_ns"]
    runs["speed_up"] = runs["best_single_device_ns"] / runs["best_step_time_ns"]
    return runs


def read_run(group: Any, devices: list[str], path: str) -> dict[str, Any]:
    attributes = {key: plain(value) for key, value in group.attrs.items()}
    row = {"agent": attributes["label"], "algorithm": attributes["agent"],
           "search": group.name.rpartition("/")[2],
           "uses_seed": bool(attributes["uses_seed"]),
           **{key: attributes[key] for key in ("seed", "status", "error", "evaluations", "steps",
                                               "seconds", "hardware_seconds")},
           "best_step_time_ns": np.nan, "feasible": False, "best_evaluation": np.nan}
    if "best" in group:
        outcome = group["best/outcome"]
        row["feasible"] = bool(outcome.attrs["feasible"])
        row["best_evaluation"] = plain(outcome.attrs["evaluation"])
        if row["feasible"]:  # an infeasible placement has only the time of a step that cannot run
            row["best_step_time_ns"] = float(outcome.attrs["step_time_ns"])
        for name in ("peak_bytes", "deficit_bytes"):
            row.update({f"{name}.{device}": value
                        for device, value in zip(devices, outcome[name][()].tolist())})
    settings = flat_config(attributes["settings"], f"{path}: {group.name}")
    return {**row, **{f"setting.{key}": value for key, value in settings.items()}}


def table(dataset: Any, where: dict[str, Any], counter: str) -> pd.DataFrame:
    """Returns a dataset after the columns `where`, and after the numbers of its rows if it lacks them."""
    frame = pd.DataFrame(dataset[()])
    for place, (column, value) in enumerate(where.items()):
        frame.insert(place, column, value)
    if counter not in frame:
        frame.insert(len(where), counter, np.arange(len(frame)))
    return frame


def improvements(evaluations: pd.DataFrame) -> pd.DataFrame:
    """Returns those evaluations of one run whose placement is better than all before."""
    best = evaluations["best_step_time_ns"].to_numpy(float)
    before = np.concatenate([[np.inf], np.where(np.isnan(best[:-1]), np.inf, best[:-1])])
    return evaluations[best < before]


def concat(frames: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def name_problems(runs: pd.DataFrame) -> pd.Series:
    """Returns a name per run, the same for runs that are compared with each other.

    The name consists of graph and cluster and, if they differ, semantics and objective. A config key is added only if
    an agent would otherwise have run twice with one seed (for example in a grid over budgets). If no key distinguishes
    such runs, their source does.
    """
    keys = list(PROBLEM)
    varying = [key for key in runs.columns
               if key.startswith("config.") and runs[key].nunique(dropna=False) > 1]
    for key in (*varying, "source"):
        twice = runs[runs.duplicated([*keys, "agent", "seed"], keep=False)]
        if twice.empty:
            break
        if (twice.groupby([*keys, "agent", "seed"], dropna=False)[key].nunique(dropna=False) > 1).any():
            keys.append(key)
    names = runs["graph"] + " on " + runs["cluster"]
    for key in keys[2:]:
        if runs[key].nunique(dropna=False) > 1:
            label = "" if key in (*PROBLEM, "source") else key.removeprefix("config.") + "="
            names = names + ", " + label + runs[key].astype(str)
    return names
