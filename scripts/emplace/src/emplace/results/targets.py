"""The time that searches take to come close to the best known placement: expected times, and shares of runs.

    reached = targets.reaches(loaded.runs, loaded.evaluations, factors=(1.05, 1.01))
    targets.expected_running_time(reached, by=("problem", "agent", "factor"))
    targets.ecdf(reached, over="evaluations")
"""

from __future__ import annotations

import fnmatch
from typing import Mapping, Sequence

import numpy as np
import pandas as pd

from .files import ResultsError, require_choice
from .summaries import best_of_problem, markdown

FACTOR = 1.01  # of the best known step time
OVER = {"seconds": "search time [s]", "evaluations": "evaluations"}
OTHERS, ALL = "other problems", "all problems"


def split_of(runs: pd.DataFrame, patterns: Sequence[tuple[str, str]] = ()) -> pd.Series:
    """Returns the part of the comparison to which the problem of each run belongs, indexed as `runs`.

    @param patterns  (split, pattern) of names of problems: "*" any text, "?" any letter; the first that fits
                     counts. Without patterns: the key `split` of the run configs
    @return problems without a split are "other problems", or, if none has one, "all problems"
    @throws ResultsError for a pattern that fits no problem
    """
    if patterns:
        problems = list(dict.fromkeys(runs["problem"]))
        for split, pattern in patterns:
            if not fnmatch.filter(problems, pattern):
                raise ResultsError(f"--split {split}={pattern}: fits no problem; there are: {'; '.join(problems)}")
        names = {problem: next((split for split, pattern in patterns if fnmatch.fnmatchcase(problem, pattern)), "")
                 for problem in problems}
        splits = runs["problem"].map(names)
    else:
        splits = runs["split"]
    return splits.where(splits != "", OTHERS if (splits != "").any() else ALL)


def reaches(runs: pd.DataFrame, evaluations: pd.DataFrame, *, factors: Sequence[float] = (FACTOR,),
            known: Mapping[str, float] | None = None) -> pd.DataFrame:
    """Returns when each run first had a placement of at most `factor` x the best known step time of its problem.

    @param runs, evaluations  of load_runs()   @param factors  1 or more
    @param known   best known step time by problem [ns]; default: the least of `runs`, which is the optimum if one of
                   them found that. Problems without one (nothing fits) are left out
    @return a row per run and factor: run, problem, split (of `runs`, see split_of()), agent, seed, factor,
            best_known_ns; to_evaluations (from 1 on), to_seconds (of search), infinite: never;
            end_evaluations, end_seconds: the run's end, or its latest state if it is running
    """
    known = best_of_problem(runs) if known is None else known
    rows = runs.assign(best_known_ns=runs["problem"].map(known))
    rows = rows[np.isfinite(rows["best_known_ns"])]
    rows = rows.rename(columns={"evaluations": "end_evaluations", "seconds": "end_seconds"})
    ordered = evaluations.sort_values(["run", "evaluation"])
    parts = []
    for factor in factors:
        limit = ordered["run"].map(rows.set_index("run")["best_known_ns"] * factor)
        first = ordered[ordered["best_step_time_ns"] <= limit].groupby("run").first()
        parts.append(rows.assign(
            factor=factor,
            to_evaluations=(rows["run"].map(first["evaluation"]) + 1).astype(float).fillna(np.inf),
            to_seconds=rows["run"].map(first["wall_seconds"]).astype(float).fillna(np.inf)))
    return pd.concat(parts, ignore_index=True)[[
        "run", "problem", "split", "agent", "seed", "factor", "best_known_ns", "to_evaluations", "to_seconds",
        "end_evaluations", "end_seconds"]]


def expected_running_time(reached: pd.DataFrame, by: Sequence[str] = ("split", "problem", "agent", "factor")
                          ) -> pd.DataFrame:
    """Returns the expected effort until the target, if each search that misses it is restarted with another seed.

    It is the sum over the runs of the effort until the target (or until the end of a run that missed it), divided by
    the number of runs that reached it: the expected running time of COCO (Hansen et al., Optimization Methods and
    Software 36(1), 2021).

    @param reached  of reaches()
    @param by       columns that distinguish the numbers; without "problem" the problems are taken together, as if
                    each search were given one of them at random
    @return a row for each of these: problems (how many), runs, reached (how many), share (of the runs);
            expected_seconds, expected_evaluations, infinite: none reached it
    """
    frame = reached.assign(
        got_there=np.isfinite(reached["to_seconds"]),
        **{name: reached[f"to_{name}"].where(np.isfinite(reached[f"to_{name}"]), reached[f"end_{name}"])
           for name in OVER})
    groups = frame.groupby(list(by), sort=False)
    table = groups.agg(problems=("problem", "nunique"), runs=("run", "size"), reached=("got_there", "sum"),
                       share=("got_there", "mean"), seconds=("seconds", "sum"),
                       evaluations=("evaluations", "sum")).reset_index()
    for name in OVER:
        table[f"expected_{name}"] = (table[name] / table["reached"].where(table["reached"] > 0)).fillna(np.inf)
    return table.drop(columns=list(OVER))


def ecdf(reached: pd.DataFrame, over: str = "seconds") -> pd.DataFrame:
    """Returns the share of runs (times targets, if there are several factors) that have reached theirs, over time.

    @param reached  of reaches()   @param over  "seconds" or "evaluations"
    @return a row per split, agent and step of its curve: split, agent, at [s] or evaluations, share (from there
            on). The first has `at` 0 and share 0; an agent that never reaches anything has only that row
    """
    require_choice("over", over, tuple(OVER))
    rows = []
    for (split, agent), group in reached.groupby(["split", "agent"], sort=False):
        times = group[f"to_{over}"].to_numpy(float)
        at, counts = np.unique(times[np.isfinite(times)], return_counts=True)
        rows.append(pd.DataFrame({"split": split, "agent": agent, "at": np.concatenate([[0.0], at]),
                                  "share": np.concatenate([[0.0], np.cumsum(counts) / len(times)])}))
    columns = ["split", "agent", "at", "share"]
    return pd.concat(rows, ignore_index=True)[columns] if rows else pd.DataFrame(columns=columns)


# --- tables

COLUMNS = ("agent", "problems", "runs", "reach it", "expected [s]", "expected evaluations")


def summarise_targets(reached: pd.DataFrame, *, by_problem: bool = False) -> str:
    """Returns a Markdown table per split (and problem) and factor, with a row per agent, the most successful one first.

    @param reached  of reaches()
    """
    heads = ["split", "problem", "factor"] if by_problem else ["split", "factor"]
    table = expected_running_time(reached, [*heads, "agent"])
    parts = []
    for names, rows in table.groupby(heads, sort=False):
        rows = rows.sort_values(["share", "expected_seconds"], ascending=[False, True], kind="stable")
        lines = [[row["agent"], str(row["problems"]), str(row["runs"]), f"{row['share']:.1%}",
                  number(row["expected_seconds"]), number(row["expected_evaluations"])]
                 for row in rows.to_dict("records")]
        parts.append(f"**{', '.join(names[:-1])}**, until at most {names[-1]:g} x the best known\n\n"
                     f"{markdown(COLUMNS, lines)}")
    return "\n".join(parts)


def number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}" if np.isfinite(value) else "not reached"
