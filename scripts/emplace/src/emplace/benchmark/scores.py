"""Scores of agents over instances, each with a 95 % interval by bootstrap over the instances.

    benchmark.score(benchmark.load(["results/benchmark"])).table

A search has *solved* an instance when it has had a placement within 1 % of the best known one (known.yaml; of an instance
without one, the best of the searches at hand). Failed searches, and those without a placement that fits, have solved nothing,
and their gaps count as CAP. Seeds are averaged before instances, so that each instance has the same weight.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..results.summaries import COMPLETE, best_of_problem, markdown, quantile
from ..results.targets import FACTOR, number, reaches
from .instances import Instance, instances
from .protocol import budget_of
from .results_file import Results

TIMES = (1, 3, 10, 30, 60, 120, 300, 600, 3600)  # of the shares over time [s]
CAP = 1.0  # a gap counts as 100 % at most
DRAWS = 2000  # of the bootstrap
LEVEL = 0.95
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Score:
    """Scores of agents.

    table     a row per agent, the best one first: agent, instances, runs, failed (searches); then NAME, NAME_low and
              NAME_high of fits (share with a placement that fits), solved_T (share solved after T seconds), solved,
              expected_seconds (of an instance: sum of the times until solved or until the end / number of solved searches,
              the expected running time of COCO, infinite if none is solved; the median over instances), expected_ratio (of
              an instance: to the least of any agent; the median over the instances that an agent has solved), gap (mean
              distance to the proven bound) and excess (mean distance to the best known value; below 0: better)
    finals    a row per agent and instance: problem, split, agent, num_groups, value (median over the seeds [ns]; infinite:
              does not fit), ratio (to the best known)
    better    searches that found a placement better than the best known one: problem, agent, seed, source, run, value,
              best_known [ns]; the best of each instance
    notes     sentences about missing parts
    known     target value of each instance [ns]
    """

    table: pd.DataFrame
    finals: pd.DataFrame
    better: pd.DataFrame
    notes: list[str]
    known: dict[str, float]


def score(loaded: Results, chosen: Iterable[Instance] | None = None) -> Score:
    """Returns the scores. chosen: at least the instances of the results; default: all of the benchmark.

    Throws InputError for results of another instance, or of another version of an instance.
    """
    runs, by_name = loaded.runs, {one.name: one for one in (instances() if chosen is None else chosen)}
    require_same_instances(runs, by_name)
    own = best_of_problem(runs)
    best = {name: float(one.best.value) for name, one in by_name.items() if one.best}
    bounds = {name: one.bound.value for name, one in by_name.items() if one.bound}
    known = {name: best.get(name, own[name]) for name in own}
    limits = [budget_of(text)["seconds"] for text in loaded.budgets]
    limit = np.inf if "none" in limits else max(limits)  # some searches end later
    table = _table(runs, reaches(runs, loaded.improvements, factors=(FACTOR,), known=known), known, bounds, limit)
    values = runs["best_step_time_ns"].fillna(np.inf)
    finals = values.groupby([runs["problem"], runs["split"], runs["agent"]], sort=False).apply(
        lambda some: float(quantile(some, 0.5))).rename("value").reset_index()
    finals["ratio"] = [1.0 if value == known[name] else value / known[name]
                       for name, value in zip(finals["problem"], finals["value"])]
    finals["num_groups"] = finals["problem"].map(lambda name: by_name[name].features["num_groups"])
    target = runs["problem"].map(best)
    better = runs.assign(value=values, best_known=target)[values < target].sort_values("value", kind="stable")
    better = better.groupby("problem", sort=False).first().reset_index()
    return Score(table, finals, better[["problem", "agent", "seed", "source", "run", "value", "best_known"]],
                 _notes(loaded, known, by_name, table), known)


def require_same_instances(runs: pd.DataFrame, by_name: Mapping[str, Instance]) -> None:
    """Throws InputError unless each run belongs to an instance, with the content that the instance has now."""
    from .. import InputError
    from ..tuning.messages import refuse_unknown

    for row in runs.drop_duplicates(["source", "problem"]).itertuples():
        if row.problem not in by_name:
            refuse_unknown(row.source, "instance", row.problem, by_name)
        if row.sha256 != by_name[row.problem].sha256:
            raise InputError(f"{row.source}: {row.problem}: is of another version of the instance, SHA-256 {row.sha256}; "
                             f"expected {by_name[row.problem].sha256}")


def _table(runs: pd.DataFrame, reached: pd.DataFrame, known: Mapping[str, float], bounds: Mapping[str, float],
           limit: float) -> pd.DataFrame:
    problems = sorted(known)
    runs = runs.join(reached.set_index("run")[["to_seconds", "end_seconds"]], on="run")
    runs["to_seconds"] = runs["to_seconds"].fillna(np.inf)  # of instances that no search has placed
    runs["end_seconds"] = runs["end_seconds"].fillna(runs["seconds"])
    runs["got_there"] = np.isfinite(runs["to_seconds"])
    runs["spent"] = runs["to_seconds"].where(runs["got_there"], runs["end_seconds"])
    value = runs["best_step_time_ns"].fillna(np.inf)
    runs["fits"] = np.isfinite(value).astype(float)
    for name, reference in (("gap", bounds), ("excess", known)):
        against = runs["problem"].map(reference).astype(float)
        runs[name] = (value / against.where(against > 0) - 1).clip(upper=CAP).where(np.isfinite(against), np.nan)
    runs.loc[~runs["problem"].map(lambda problem: np.isfinite(known[problem])), "excess"] = CAP
    times = [time for time in TIMES if time <= min(limit, 1.001 * runs["end_seconds"].max())]
    for time in times:
        runs[f"solved_{time}"] = (runs["to_seconds"] <= time).astype(float)
    runs["solved"] = runs["got_there"].astype(float)
    means = ["fits", *(f"solved_{time}" for time in times), "solved", "gap", "excess"]
    picks = np.random.default_rng(0).integers(0, len(problems), (DRAWS, len(problems)))
    sums = runs.groupby(["agent", "problem"])[["spent", "solved"]].sum()
    expected = (sums["spent"] / sums["solved"].where(sums["solved"] > 0)).fillna(np.inf).unstack().reindex(columns=problems)
    fastest = expected.min().where(np.isfinite(expected.min()))
    rows = []
    for agent, group in runs.groupby("agent", sort=True):
        by_problem = group.groupby("problem")
        row: dict[str, Any] = {"agent": agent, "instances": by_problem.ngroups, "runs": len(group),
                               "failed": int((group["status"] == "failed").sum())}
        for name in means:
            column = by_problem[name].mean().reindex(problems).to_numpy()
            _put(row, name, _mean(column), _mean(column[picks]))
        for name, series in (("expected_seconds", expected.loc[agent]), ("expected_ratio", expected.loc[agent] / fastest)):
            column = series.to_numpy()
            _put(row, name, _median(column), _median(column[picks]))
        rows.append(row)
    return pd.DataFrame(rows).sort_values(["solved", "excess"], ascending=[False, True], kind="stable", ignore_index=True)


def _mean(values: Array) -> Array:
    """Returns the mean along the last axis without NaN; NaN without any number."""
    there = ~np.isnan(values)
    count = there.sum(-1)
    mean: Array = np.where(there, values, 0).sum(-1) / np.where(count, count, np.nan)
    return mean


def _median(values: Array) -> Array:
    """Returns the median along the last axis without NaN; NaN without any number."""
    ordered, count = np.sort(values, axis=-1), (~np.isnan(values)).sum(-1)  # NaN are last
    middle = [np.take_along_axis(ordered, np.maximum((count - 1 + part) // 2, 0)[..., None], -1)[..., 0] for part in (0, 1)]
    median: Array = (middle[0] + middle[1]) / 2
    return median


def _put(row: dict[str, Any], name: str, middle: Any, draws: Array) -> None:
    draws = draws[~np.isnan(draws)]
    low, high = (quantile(draws, share) if len(draws) else np.nan for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    row.update({name: float(middle), f"{name}_low": float(low), f"{name}_high": float(high)})


def _notes(loaded: Results, known: Mapping[str, float], by_name: Mapping[str, Instance], table: pd.DataFrame) -> list[str]:
    notes, runs = [], loaded.runs
    partial = table[table["instances"] < len(known)]
    if len(partial):
        notes.append(f"not on all {len(known)} instances: "
                     + ", ".join(f"{row.agent} ({row.instances})" for row in partial.itertuples()))
    if loaded.not_run:
        notes.append(f"not run yet: {loaded.not_run} of {loaded.not_run + len(runs)} searches")
    cut = int((~runs["status"].isin([*COMPLETE, "failed"])).sum())
    if cut:
        notes.append(f"not complete: {cut} of {len(runs)} searches")
    failed = runs[runs["status"] == "failed"].groupby(["agent", "problem", "error"], sort=False)["seed"]
    notes += [f"failed: {agent}, seed{'s' * (len(seeds) > 1)} {', '.join(map(str, sorted(seeds)))}, {problem}: {error}"
              for (agent, problem, error), seeds in failed]
    for what, names in (
            ("no best known placement, so the best of these searches counts",
             [name for name in known if by_name[name].best is None and np.isfinite(known[name])]),
            ("no placement that fits is known", [name for name in known if not np.isfinite(known[name])]),
            ("no bound, so not in the gap", [name for name in known if by_name[name].bound is None])):
        if names:
            notes.append(f"{what}: {', '.join(names)}")
    if len(loaded.budgets) > 1:
        notes.append(f"different budgets: {', '.join(loaded.budgets)}")
    speeds = {" to ".join(f"{one[key]:.3g}" for key in ("evaluations_per_second", "evaluations_per_second_at_end") if key in one)
              + f" on {one['host']}" for one in loaded.machines}
    notes.append(f"reference speed [evaluations/s in one thread]: {'; '.join(sorted(speeds))}")
    return notes


# --- forms

def percent(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.1%}"


def text(scores: Score, form: Callable[[list[list[str]]], str]) -> str:
    """Returns the table, with intervals, then the notes and the new best placements as sentences."""
    times = [column for column in scores.table if column.startswith("solved_") and column.count("_") == 1
             and column.removeprefix("solved_").isdigit()]
    columns = {"fits": ("fits", percent), **{name: (name.removeprefix("solved_") + " s", percent) for name in times},
               "solved": ("within 1 % at the end", percent), "expected_seconds": ("expected [s]", number),
               "expected_ratio": ("x fastest", number), "gap": ("gap to bound", percent), "excess": ("excess", percent)}
    rows = [["agent", "instances", *(head for head, _ in columns.values())]]
    for row in scores.table.to_dict("records"):
        cells = [str(row["agent"]), str(row["instances"])]
        for name, (_, form_of) in columns.items():
            value, low, high = (form_of(row[name + end]) for end in ("", "_low", "_high"))
            cells.append(value if name in times or name == "fits" or value == low == high else f"{value} ({low} .. {high})")
        rows.append(cells)
    lines = [f"- {note}" for note in [*scores.notes, *better_text(scores)]]
    return form(rows) + "\n" + "\n".join(lines) + "\n"


def better_text(scores: Score) -> list[str]:
    """Returns a sentence for each placement that is better than the best known one."""
    return [f"new best known: {row.problem}: {row.value:.0f} ns by {row.agent} (seed {row.seed}) instead of "
            f"{row.best_known:.0f} ns; contribute with `emplace benchmark contribute {row.source}`"
            for row in scores.better.itertuples()]


def markdown_rows(rows: list[list[str]]) -> str:
    return markdown(rows[0], rows[1:])


def record(loaded: Results, scores: Score) -> dict[str, Any]:
    """Returns the scores as JSON values. None: not a number (no bound is known), or infinite (not reached)."""
    return {"agents": json.loads(scores.table.to_json(orient="records")), "better": scores.better.to_dict("records"),
            "machines": loaded.machines, "budgets": loaded.budgets, "notes": scores.notes}
