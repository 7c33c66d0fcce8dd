"""Whether methods keep their order under other costs, for sweeps and runs after `emplace stress`.

    loaded, stress = load_runs("results/learned_local_search"), load_stress("results/learned_local_search")
    robustness.method_ratios(robustness.ratios(loaded.runs, stress.draws))
"""

from __future__ import annotations

from typing import Iterator, Sequence

import numpy as np
import pandas as pd

from ..ranks import kendall_tau
from .layout import require_rows
from .summaries import COMPLETE, markdown

UNCHANGED, NOISE = "unchanged", "noise"


def ratios(runs: pd.DataFrame, draws: pd.DataFrame, scenario: str = NOISE) -> pd.DataFrame:
    """Compares each run's best placement with the best of all placements of its problem, unchanged and in each draw.

    @param runs   of load_runs(), with the splits wanted   @param draws  of load_stress(), of the same paths
    @return a row per run and draw: split, problem, agent, seed, run, scenario ("unchanged" or `scenario`), draw,
            ratio: step time / the least of the problem's placements in this draw; infinite: does not fit, or the
            run has ended and found nothing that fits. Runs whose placement was not stressed are left out
    """
    chosen = draws[draws["scenario"].isin([UNCHANGED, scenario])]
    chosen = chosen.assign(problem=chosen["file"].map(dict(zip(runs["file"], runs["problem"]))),
                           search=chosen["label"].str.split(", "), ratio=1 + chosen["regret"]).explode("search")
    keys = ["problem", "search", "scenario", "draw"]
    every = runs.merge(chosen[["problem", "scenario", "draw"]].drop_duplicates(), on="problem")
    frame = every.merge(chosen[[*keys, "ratio"]], on=keys, how="left")
    never = frame["best_step_time_ns"].isna() & frame["status"].isin(COMPLETE)
    frame["ratio"] = frame["ratio"].where(~never, np.inf)
    return frame.loc[frame["ratio"].notna(), ["split", "problem", "agent", "seed", "run", "scenario", "draw", "ratio"]]


def groups_by(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    """Yields the groups with their names as tuples.

    Older versions of pandas do not make tuples for a single column.
    """
    for names, group in frame.groupby(list(by) if len(by) > 1 else by[0], sort=False):
        yield names if isinstance(names, tuple) else (names,), group


def method_ratios(frame: pd.DataFrame, by: Sequence[str] = ("split",)) -> pd.DataFrame:
    """Returns the median ratio of each agent, unchanged and changed, and whether the order of the agents stays.

    @param frame  of ratios()   @param by  columns that distinguish comparisons: ("split", "problem") for each problem
    @return a row per comparison and agent, the best unchanged one first: problems, runs; unchanged: median over its
            runs; changed, low, high: median, least and greatest over the draws of the median over its runs; first:
            share of the draws in which no agent's median over its runs is less; tau: Kendall's tau-b of the agents'
            medians unchanged and in a draw, mean over the draws, the same for all agents of a comparison (NaN for a
            single one)
    """
    tables = []
    for names, group in groups_by(frame, by):
        plain = group[group["scenario"] == UNCHANGED]
        changed = group[group["scenario"] != UNCHANGED]
        require_rows(changed, "no draw has other costs")
        unchanged = plain.groupby("agent", sort=False)["ratio"].median()
        of_draw = changed.groupby(["draw", "agent"])["ratio"].median().unstack("agent")[unchanged.index]
        taus = [kendall_tau(unchanged.to_numpy(), medians) for medians in of_draw.to_numpy()]
        runs = plain.groupby("agent", sort=False)
        table = pd.DataFrame({
            **dict(zip(by, names)), "agent": unchanged.index, "problems": runs["problem"].nunique(),
            "runs": runs["run"].nunique(), "unchanged": unchanged,
            "changed": of_draw.median(), "low": of_draw.min(), "high": of_draw.max(),
            "first": of_draw.eq(of_draw.min(axis=1), axis=0).mean(), "tau": np.mean(taus)})
        tables.append(table.sort_values("unchanged", kind="stable"))
    return pd.concat(tables, ignore_index=True)


# --- tables

COLUMNS = ("agent", "problems", "runs", "ratio", "ratio with {}", "range over draws", "first in")


def summarise_robustness(frame: pd.DataFrame, scenario: str = NOISE, *, by_problem: bool = False) -> str:
    """Returns a Markdown table per split (and problem): each agent's median ratio to the best, unchanged and with
    other costs.

    @param frame  of ratios()
    """
    by = ["split", "problem"] if by_problem else ["split"]
    draws = frame.loc[frame["scenario"] == scenario, "draw"].nunique()
    parts = []
    for names, rows in groups_by(method_ratios(frame, by), by):
        lines = [[row["agent"], str(row["problems"]), str(row["runs"]), ratio_text(row["unchanged"]),
                  ratio_text(row["changed"]), f"{ratio_text(row['low'])} .. {ratio_text(row['high'])}",
                  f"{row['first']:.0%}"] for row in rows.to_dict("records")]
        tau = rows["tau"].iloc[0]
        order = "" if np.isnan(tau) else f", order of the agents: Kendall's tau {tau:.2f}"
        parts.append(f"**{', '.join(names)}**, {draws} draws{order}\n\n"
                     f"{markdown([column.format(scenario) for column in COLUMNS], lines)}")
    return "\n".join(parts)


def ratio_text(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "OOM"
