"""Numbers and Markdown tables over loaded frames. A placement that does not fit counts as infinitely slow."""

from __future__ import annotations

import os
from typing import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from .fidelity import Fidelity
from .files import ResultsError
from .generalization import Generalization
from .runs import Runs
from .stress import Stress

COMPLETE = ("finished", "budget")
WITHIN = 0.01  # of a target
QUANTILES = (0.1, 0.5, 0.9)
ZERO_SHOT, SCRATCH, CLOSE = "placeto_zero_shot", "placeto_scratch", 0.1
UNITS = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))


def quantile(values: np.ndarray | Sequence[float], share: float) -> np.ndarray:
    """Returns a quantile along the first axis, linear between the sorted values.

    It is infinite if an infinite value takes part.
    """
    ordered = np.sort(np.asarray(values, dtype=float), axis=0)
    low, part = divmod(share * (len(ordered) - 1), 1)
    here = ordered[int(low)]
    return here if part == 0 else (1 - part) * here + part * ordered[int(low) + 1]


def time_unit(times: Iterable[float]) -> tuple[str, float]:
    """Returns (name, nanoseconds) of the unit that suits `times` [ns].

    It is the largest unit that is not above their median.
    """
    finite = [time for time in times if np.isfinite(time)]
    typical = float(np.median(finite)) if finite else 1e9
    return next((unit for unit in UNITS if typical >= unit[1]), UNITS[-1])


def duration(seconds: float) -> str:
    """Returns a duration in the unit that suits it: "325.1 ms", "52.0 s", "12.5 min", "41.2 h"."""
    if 0 < seconds < 1:
        unit, scale = time_unit([1e9 * seconds])
        return f"{1e9 * seconds / scale:.4g} {unit}"
    unit, scale = ("s", 1) if seconds < 100 else ("min", 60) if seconds < 6000 else ("h", 3600)
    return f"{seconds / scale:.1f} {unit}"


def final_times(runs: pd.DataFrame) -> pd.Series:
    """Returns the best step time of each run [ns]; infinite if nothing fits."""
    return runs["best_step_time_ns"].fillna(np.inf)


def by_agent(runs: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Returns (agent, its runs) of one problem: the least median first, agents that never fit last."""
    groups = list(runs.groupby("agent", sort=True))
    return sorted(groups, key=lambda item: float(quantile(final_times(item[1]), 0.5)))


def by_problem(runs: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Returns (problem, its runs) in the order of the frame."""
    return [(str(name), rows) for name, rows in runs.groupby("problem", sort=False)]


def best_of_problem(runs: pd.DataFrame) -> dict[str, float]:
    """Returns the least step time that any run of each problem found [ns]; infinite if none fits."""
    return final_times(runs).groupby(runs["problem"]).min().to_dict()


def best_median_of_problem(runs: pd.DataFrame) -> dict[str, float]:
    """Returns the least median over the seeds that any agent has on each problem [ns]."""
    return {problem: float(quantile(final_times(by_agent(rows)[0][1]), 0.5))
            for problem, rows in by_problem(runs)}


def median_of_agent(runs: pd.DataFrame, agent: str) -> dict[str, float]:
    """Returns the median final step time of one agent on each problem on which it ran [ns]."""
    rows = runs[runs["agent"] == agent]
    if rows.empty:
        raise ResultsError(f"unknown agent \"{agent}\"; choices: {', '.join(sorted(set(runs['agent'])))}")
    return {problem: float(quantile(final_times(group), 0.5)) for problem, group in by_problem(rows)}


def best_so_far(points: np.ndarray, curves: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Returns the best of each search at each of `points`: "Best so far" in framework/results/FORMAT.md.

    @param curves  per search: the begins of its values, ascending (evaluations from 1, or seconds), and its best
                   from each begin on; infinite while nothing fits
    @return [searches, points]
    """
    values = []
    for begins, best in curves:
        index = np.searchsorted(begins, points, side="right") - 1
        values.append(np.where(index >= 0, best[np.maximum(index, 0)], np.inf))
    return np.stack(values)


def evaluations_to(runs: pd.DataFrame, evaluations: pd.DataFrame,
                   targets: Mapping[str, float] | float, within: float = WITHIN) -> pd.Series:
    """Returns the evaluations of each run until its best is at most (1 + within) x the target of its problem.

    @param targets  [ns], for all problems or by problem, see best_of_problem(), median_of_agent()
    @return indexed as `runs`; infinite: never reached, NaN: its problem has no target
    """
    goal = (runs["problem"].map(targets) if isinstance(targets, Mapping)
            else pd.Series(float(targets), index=runs.index))
    limits = pd.Series((goal * (1 + within)).to_numpy(), index=runs["run"].to_numpy())
    close = evaluations[evaluations["best_step_time_ns"] <= evaluations["run"].map(limits)]
    first = close.groupby("run")["evaluation"].min() + 1
    needed = runs["run"].map(first).astype(float).fillna(np.inf)
    return needed.where(goal.notna())


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a Markdown table. The first column is text, the others are numbers."""
    align = ["---"] + ["---:"] * (len(columns) - 1)
    return "".join(f"| {' | '.join(row)} |\n" for row in (columns, align, *rows))


# --- runs

RUN_COLUMNS = ("agent", "median [{unit}]", "range [{unit}]", "seeds", "evaluations",
               f"evaluations to within {WITHIN:.0%} of the final", "search", "on hardware")


def summarise_runs(loaded: Runs) -> str:
    """Returns a Markdown table per problem, with a row per agent over its seeds.

    The median counts a seed without a placement that fits as infinite; the range is over the seeds that have one.
    Medians of: evaluations, evaluations until the best was within 1 % of the final one (if there is one), time of
    search, time that measuring would have taken on the hardware.
    """
    finals = evaluations_to_final(loaded)
    parts = []
    for problem, runs in by_problem(loaded.runs):
        unit, scale = time_unit(final_times(runs))
        rows = [run_row(agent, group, finals[group.index], scale) for agent, group in by_agent(runs)]
        columns = [column.format(unit=unit) for column in RUN_COLUMNS]
        parts.append(f"**{problem}**, {bound_text(runs, unit, scale)}\n\n{markdown(columns, rows)}")
    failed = loaded.runs[loaded.runs["status"] == "failed"]
    notes = ["\nMedians over the seeds of each agent; range: of the seeds that fit.\n"]
    notes += [f"\nfailed: {row.agent}, seed {row.seed}, {row.problem}: {row.error}\n"
             for row in failed.itertuples()]
    if loaded.not_run:
        notes.append(f"\nnot run yet: {len(loaded.not_run)} of {len(loaded.runs) + len(loaded.not_run)}\n")
    return "\n".join(parts) + "".join(notes)


def bound_text(runs: pd.DataFrame, unit: str, scale: float) -> str:
    """Returns a bound that holds for all runs of a name, its proof method, and the gap of the best run."""
    bound = runs.loc[runs["bound_ns"].idxmin()]
    text = f"bound {bound['bound_ns'] / scale:.4g} {unit} by {bound['bound_method']}"
    best = final_times(runs).min()
    if best <= bound["bound_ns"]:
        return text + ", reached: optimal"
    gap = best / bound["bound_ns"] - 1 if bound["bound_ns"] > 0 else np.inf
    return text + (f", gap {gap:.1%}" if np.isfinite(gap) else "")


def evaluations_to_final(loaded: Runs) -> pd.Series:
    """Returns evaluations_to() with each run's own final step time as the target; NaN without one."""
    own = loaded.runs.assign(problem=loaded.runs["run"])
    targets = own.set_index("run")["best_step_time_ns"].to_dict()
    return evaluations_to(own, loaded.evaluations, targets)


def run_row(agent: str, runs: pd.DataFrame, needed: pd.Series, scale: float) -> list[str]:
    times = final_times(runs) / scale
    fitting = times[np.isfinite(times)]
    unfinished = sorted(set(runs["status"]) - set(COMPLETE))
    seeds = f"{len(fitting)} of {len(runs)} fit" if len(fitting) < len(runs) else str(len(runs))
    middle = float(quantile(times, 0.5))
    needed = needed.dropna()
    return [agent, f"{middle:.4g}" if np.isfinite(middle) else "OOM",
            f"{fitting.min():.4g} .. {fitting.max():.4g}" if len(fitting) > 1 else "",
            ", ".join([seeds, *unfinished]),
            f"{runs['evaluations'].median():.0f}",
            f"{needed.median():.0f}" if len(needed) else "",
            duration(runs["seconds"].median()), duration(runs["hardware_seconds"].median())]


# --- generalisation

METHOD_COLUMNS = ("method", *(f"final {share:.0%}" for share in QUANTILES),
                  *(f"best {share:.0%}" for share in QUANTILES), "evaluations", "seconds")


def summarise_generalization(loaded: Generalization, zero_shot: str | None = None,
                             scratch: str | None = None) -> str:
    """Returns a Markdown table per family, with a row per method.

    Columns: quantiles over unseen graphs and seeds of the final and of the best step time over the best known of the
    graph; medians of evaluations and seconds. Below the table is the final step time of `zero_shot` over those of
    `scratch`, which was trained on the very graph, graph by graph and seed by seed: the median, and the share of pairs
    within 10 %. Methods that are not named are those of placeto2019, if present.

    @throws ResultsError for a method that no family has
    """
    known = list(dict.fromkeys(loaded.tests["method"]))
    for method in filter(None, (zero_shot, scratch)):
        if method not in known:
            raise ResultsError(f"unknown method \"{method}\"; choices: {', '.join(known)}")
    parts = []
    for family in loaded.families.itertuples():
        tests = tests_of(loaded.tests, family)
        methods = dict(list(tests.groupby("method", sort=False)))
        rows = [method_row(label, methods[label]) for label in family.methods if label in methods]
        part = (f"{os.path.basename(family.file)}: **{family.family}** ({family.graphs} unseen "
                f"graphs)\n\n{markdown(METHOD_COLUMNS, rows)}")
        pair = (zero_shot or ZERO_SHOT, scratch or SCRATCH)
        if all(label in methods for label in pair):
            part += comparison(*pair, methods)
        failures = tests_of(loaded.failures, family)["failure"]
        parts.append(part + "".join(f"\nfailed: {failure}\n" for failure in failures))
    return "\n".join(parts)


def tests_of(frame: pd.DataFrame, family: object) -> pd.DataFrame:
    return frame[(frame["file"] == family.file) & (frame["family"] == family.family)]


def method_row(label: str, tests: pd.DataFrame) -> list[str]:
    return [label, *(ratio(quantile(tests[f"{what}_ratio"], share))
                     for what in ("final", "best") for share in QUANTILES),
            f"{tests['evaluations'].median():.0f}", f"{tests['seconds'].median():.2f}"]


def ratio(value: float | np.ndarray) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "OOM"


def comparison(zero_shot: str, scratch: str, methods: Mapping[str, pd.DataFrame]) -> str:
    pairs = methods[zero_shot].merge(methods[scratch], on=["graph", "seed"], suffixes=("", "_theirs"))
    text = "\n"
    for what in ("final", "best"):
        theirs = pairs[f"{what}_step_time_ns_theirs"]
        ratios = (pairs["final_step_time_ns"].fillna(np.inf) / theirs)[theirs.notna()]
        text += f"- final of {zero_shot} over {what} of {scratch}: "
        if ratios.empty:
            text += "no graph that both have\n"
            continue
        text += (f"median {ratio(quantile(ratios, 0.5))}, within {CLOSE:.0%} on "
                 f"{np.mean(ratios <= 1 + CLOSE):.0%} of {len(ratios)}\n")
    return text


# --- simulated against measured

FIDELITY_COLUMNS = ("graph", "placements", "noise", "MAPE", "largest error", "bias", "Kendall's tau",
                    "tau of repeats", "pairs in order", "best regret", "90 % interval", "covers",
                    "differing pairs in order")
RESIDUAL_COLUMNS = ("correlation of errors with", "Pearson", "above shuffled", "Spearman", "above shuffled")


def summarise_fidelity(loaded: Fidelity) -> str:
    """Returns the verdicts on graphs and files that have one, with their warnings, and a Markdown table.

    The table has a row per graph and file, and "–" for a figure that needs more placements. Below it, for each file
    that has them, are the correlations of the errors of all its graphs together.
    """
    rows = []
    verdicts = ""
    for row in loaded.graphs.to_dict("records"):
        if isinstance(row.get("verdict"), str):
            verdicts += f"- {row['graph']}: {row['verdict']}\n"
            verdicts += "".join(f"  - warning: {warning}\n" for warning in row["warnings"])
        share = {key: "–" if pd.isna(row.get(key, np.nan)) else f"{row[key]:.2%}" for key in (
            "median_noise", "mape", "max_error", "bias", "pair_accuracy", "best_regret", "coverage",
            "differing_in_order")}
        low, high = (row.get(f"interval_{end}_ratio", np.nan) for end in ("low", "high"))
        interval = f"{low - 1:+.1%} .. {high - 1:+.1%}" if np.isfinite(high) else "–"
        tau = {key: "–" if pd.isna(row.get(key, np.nan)) else f"{row[key]:.3f}"
               for key in ("kendall_tau", "repeat_tau")}
        rows.append([row["graph"], str(row["placements"]), share["median_noise"], share["mape"],
                     share["max_error"], share["bias"], tau["kendall_tau"], tau["repeat_tau"],
                     share["pair_accuracy"], share["best_regret"], interval, share["coverage"],
                     share["differing_in_order"]])
    text = (verdicts + "\n" if verdicts else "") + markdown(FIDELITY_COLUMNS, rows)
    if "pearson" not in loaded.residuals:
        return text
    pooled = loaded.residuals[loaded.residuals["graph"].isna()]
    for file, traits in pooled.groupby("file", sort=False):
        lines = [[row["trait"], *(figure for kind in ("pearson", "spearman") for figure in (
            "–" if pd.isna(row[kind]) else f"{row[kind]:+.3f}",
            "–" if pd.isna(row[f"{kind}_above"]) else f"{row[f'{kind}_above']:.1%}"))]
            for row in traits.to_dict("records")]
        text += (f"\n{os.path.basename(file)}: {traits['placements'].iloc[0]} placements\n\n"
                 f"{markdown(RESIDUAL_COLUMNS, lines)}")
    return text


# --- placements with other costs

STRESS_COLUMNS = ("scenario", "draws", "Kendall's tau", "winner stays best", "its regret", "largest")


def summarise_stress(loaded: Stress) -> str:
    """Returns a Markdown table per file, with a row per scenario; below it the adversary's result."""
    draws = loaded.draws.groupby(["file", "scenario"])["draw"].nunique()
    parts = []
    for file, scenarios in loaded.scenarios.groupby("file", sort=False):
        rows = [[row["scenario"], str(draws[file, row["scenario"]]),
                 "–" if pd.isna(row["kendall_tau"]) else f"{row['kendall_tau']:.3f}", f"{row['top_share']:.1%}",
                 regret_text(row["regret"]), regret_text(row["worst_regret"])]
                for row in scenarios.to_dict("records")]
        first = scenarios.iloc[0]
        part = (f"{os.path.basename(file)}: **{first['graph']} on {first['cluster']}** with other costs\n\n"
                f"{markdown(STRESS_COLUMNS, rows)}")
        for row in loaded.adversary[loaded.adversary["file"] == file].to_dict("records"):
            part += (f"\n{row['other']} beats {row['winner']} " +
                     (f"after changes of at most {row['epsilon']:.3%}" if row["epsilon"] == row["epsilon"] else
                      f"after no change found within {row['range']:.0%}") + "\n")
        parts.append(part)
    return "\n".join(parts)


def regret_text(value: float) -> str:
    return f"{value:.2%}" if np.isfinite(value) else "OOM"
