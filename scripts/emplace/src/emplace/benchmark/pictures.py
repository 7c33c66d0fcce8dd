"""Pictures of scores. Each function returns a matplotlib Figure, and an agent has the same colour in all of them.

They have the first MOST_AGENTS agents of the table of scores.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from ..results.layout import add_legend, grid_of, label_ends, style_of
from ..results.target_figures import target_ecdfs
from .results_file import Results
from .scores import CAP, Score

MOST_AGENTS = 18
SIZES = (0, 50, 200, 1000, 5000, np.inf)  # limits of num_groups of a class of instances


def performance_profile(scores: Score, *, most: float = 1.5) -> Figure:
    """Draws the share of instances whose value is at most so many times the best known one, by the median over the seeds.

    (Dolan and Moré, Mathematical Programming 91, 2002.) A panel per tier; the line of an agent ends below 1 if it is more
    than `most` times the best known on the others, does not fit, or has not run. Instances on which nothing ran are left out.
    """
    finals = scores.finals
    agents = scores.table["agent"][:MOST_AGENTS]
    styles = style_of(agents)
    tiers = list(finals.groupby("split", sort=False))
    figure, panels = grid_of(len(tiers), width=5.2, height=3.9)
    for axes, (tier, rows) in zip(panels, tiers):
        count, ends = rows["problem"].nunique(), {}
        for agent in agents:
            excess = np.sort(np.maximum(rows.loc[rows["agent"] == agent, "ratio"].to_numpy(float) - 1, 1e-4))
            excess = excess[excess <= most - 1]
            shares = np.arange(len(excess) + 1) / count
            axes.step([1e-4, *excess, most - 1], [*shares, shares[-1]], where="post", linewidth=1.8, **styles[agent])
            ends[agent] = (agent, float(shares[-1]), -float(excess.sum()))
        axes.set_title(f"{tier} ({count} instances)", loc="left", fontsize="medium")
        axes.set(xscale="log", xlim=(1e-4, most - 1), ylim=(-0.02, 1.02), ylabel="share of instances",
                 xlabel="distance to the best known value (left end: at most 0.01 %)")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.grid(alpha=0.25)
        label_ends(axes, ends, styles)
    return figure


def solved_over_time(loaded: Results, scores: Score) -> Figure:
    """Draws the share of searches that are within 1 % of the best known value, over time; a panel per tier."""
    order = {agent: place for place, agent in enumerate(scores.table["agent"][:MOST_AGENTS])}  # so that colours are alike
    runs = loaded.runs[loaded.runs["agent"].isin(order)].sort_values("agent", key=lambda agents: agents.map(order), kind="stable")
    known = {name: value for name, value in scores.known.items() if np.isfinite(value)}
    return target_ecdfs(runs, loaded.improvements, known=known)


def excess_by_size(scores: Score) -> Figure:
    """Draws the mean distance to the best known value by size of the instance, a line per agent.

    Distances count at most 100 %, and 100 % if nothing fits. Classes without instances are left out.
    """
    finals = scores.finals.assign(excess=(scores.finals["ratio"] - 1).clip(upper=CAP))
    agents = scores.table["agent"][:MOST_AGENTS]
    styles = style_of(agents)
    figure, (axes,) = grid_of(1, width=7.0, height=4.2)
    classes = [(low, high) for low, high in zip(SIZES, SIZES[1:]) if finals["num_groups"].between(low + 1, high).any()]
    for agent in agents:
        rows = finals[finals["agent"] == agent]
        means = [rows.loc[rows["num_groups"].between(low + 1, high), "excess"].mean() for low, high in classes]
        axes.plot(range(len(classes)), np.maximum(means, 1e-4), marker="o", markersize=4, linewidth=1.6, label=agent,
                  **styles[agent])
    counts = [finals.loc[finals["num_groups"].between(low + 1, high), "problem"].nunique() for low, high in classes]
    axes.set_xticks(range(len(classes)), [
        f"{low + 1:,.0f} to {high:,.0f}\n({count})" if np.isfinite(high) else f"above {low:,.0f}\n({count})"
        for (low, high), count in zip(classes, counts)])
    axes.set(yscale="log", ylim=(8e-5, 1.3 * CAP), xlabel="groups of the instance (number of instances)",
             ylabel="mean distance to the best known value\n(lower end: at most 0.01 %)")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.25)
    add_legend(figure, [axes])
    return figure
