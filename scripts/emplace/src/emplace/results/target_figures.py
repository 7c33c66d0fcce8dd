"""Shares of runs that have come close to the best known placement, over time."""

from __future__ import annotations

from typing import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

from .files import require_choice
from .layout import grid_of, label_ends, require_rows, style_of
from .summaries import COMPLETE
from .targets import FACTOR, OVER, ecdf, reaches

FAILED = "failed"  # has also ended: it reaches nothing more


def target_ecdfs(runs: pd.DataFrame, evaluations: pd.DataFrame, *, factors: Sequence[float] = (FACTOR,),
                 over: str = "seconds", known: Mapping[str, float] | None = None) -> Figure:
    """Draws the share of runs (problems x seeds) that have come close to the best known placement, over time.

    A run has come close when it has had a placement of at most `factor` x the best known step time of its problem.
    There is a panel per split and a line per agent. With several factors, the line is the mean over them, as in COCO.

    A line that does not rise belongs to an agent none of whose runs came close. The cross is at the median end of the
    runs that missed a target; the line to the right of it is based on the other runs. If an agent has not run on all
    problems of the split, its label says so.

    @param factors, known  see targets.reaches()   @param over  "seconds" or "evaluations"
    """
    require_choice("over", over, tuple(OVER))
    reached = reaches(runs, evaluations, factors=factors, known=known)
    require_rows(reached, "no run has a placement that fits")
    curves = ecdf(reached, over)
    styles = style_of(runs["agent"])
    left, right = limits_of(reached, over)
    splits = list(reached.groupby("split", sort=False))
    figure, panels = grid_of(len(splits), width=6.2, height=4.0)
    for axes, (split, rows) in zip(panels, splits):
        problems = rows["problem"].nunique()
        ends = {}
        for agent, group in rows.groupby("agent", sort=False):
            curve = curves[(curves["split"] == split) & (curves["agent"] == agent)]
            at, share = curve["at"].to_numpy(), curve["share"].to_numpy()
            axes.step([left, *at[1:], right], [*share, share[-1]], where="post", linewidth=1.8, label=agent,
                      **styles[agent])
            draw_cross(axes, group, over, at, share, styles[agent]["color"])
            there = group["problem"].nunique()
            text = agent if there == problems else f"{agent} ({there} of {problems} problems)"
            # If agents end at the same share, the one that rose earlier is labelled above.
            ends[agent] = (text, float(share[-1]), float(area(at, share, left, right)))
        axes.set_title(f"{split} ({problems} problem{'s' * (problems != 1)})", loc="left", fontsize="medium")
        going_on = runs[runs["run"].isin(rows["run"]) & ~runs["status"].isin([*COMPLETE, FAILED])]
        if len(going_on):
            axes.set_title(f"{len(going_on)} run{'s' * (len(going_on) != 1)} not complete", loc="right",
                           fontsize="x-small", color="0.3")
        axes.set(xscale="log", xlim=(left, right), ylim=(-0.02, 1.02), ylabel=share_text(factors),
                 xlabel=f"{OVER[over]} (×: median end of the unsuccessful runs)")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if right < 50 * left else (1,), numticks=12))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.grid(alpha=0.25)
        label_ends(axes, ends, styles)
    return figure


def limits_of(reached: pd.DataFrame, over: str) -> tuple[float, float]:
    """Returns the range from a little before the first success (or end, without any) to the last end of a run."""
    right = float(reached[f"end_{over}"].max())
    times = reached[f"to_{over}"].to_numpy(float)
    times = times[np.isfinite(times) & (times > 0)]
    right = max(right, float(times.max(initial=0.0)))
    first = float(times.min(initial=right))
    left = min(0.8 * first, 0.1 * right)
    return (left, right) if right > 0 else (0.1, 1.0)


def draw_cross(axes: Axes, group: pd.DataFrame, over: str, at: np.ndarray, share: np.ndarray, colour: str) -> None:
    missed = group.loc[~np.isfinite(group[f"to_{over}"]), f"end_{over}"]
    if len(missed):
        end = float(missed.median())
        axes.plot(end, share[np.searchsorted(at, end, side="right") - 1], "x", color=colour, markersize=6,
                  markeredgewidth=1.5)


def area(at: np.ndarray, share: np.ndarray, left: float, right: float) -> float:
    """Returns the area below the curve, on a log axis."""
    ends = np.log(np.clip([*at[1:], right], left, right))
    begins = np.log(np.clip([left, *at[1:]], left, right))
    return float(np.sum(share * (ends - begins)))


def share_text(factors: Sequence[float]) -> str:
    if len(factors) == 1:
        return f"runs that found at most {factors[0]:g} x best known"
    return f"runs and targets reached\n(at most {', '.join(f'{factor:g}' for factor in factors)} x best known)"
