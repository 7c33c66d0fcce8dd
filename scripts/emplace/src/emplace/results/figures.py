"""Pictures of loaded frames, for papers. Each function takes frames and returns a matplotlib Figure.

`emplace report` and `emplace validate --svg` draw their own pictures, because they need no Python.

Nothing is shown or written: use `figure.savefig("curves.svg")`. A notebook shows a figure that is the last value of
a cell. An agent has the same colour in all panels.
"""

from __future__ import annotations

import os
import textwrap
from typing import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from .fidelity_figures import fidelity_errors  # noqa: F401, one of the pictures
from .files import require_choice
from .layout import add_legend, grid_of, require_rows, style_of
from .summaries import (WITHIN, best_median_of_problem, best_so_far, by_agent, by_problem, evaluations_to,
                        final_times, quantile, time_unit)
from .target_figures import target_ecdfs  # noqa: F401, one of the pictures

TOP = 2.5
SEARCHES = 3  # number of best searches whose ends the curves show by default
BEGINNING = 0.1  # part of the longest search; by default it may take the upper half of the picture
FEW = 6  # with fewer seeds, quantiles add nothing to the range
BANDS = {"quantiles": "10 to 90 % of the seeds", "few": f"range of fewer than {FEW} seeds",
         "range": "range of the seeds"}
TITLE_WIDTH = 75  # characters of both titles in one line
MARGIN = 0.06  # of the range of values, above and below


def learning_curves(runs: pd.DataFrame, evaluations: pd.DataFrame, *, x: str = "evaluations",
                    log_x: bool = False, band: str = "quantiles",
                    top: float | None = None) -> Figure:
    """Draws the best step time so far, a panel per problem and a line per agent: its median over the seeds.

    @param x     "evaluations" or "seconds" (of search)
    @param band  "quantiles": from 10 to 90 % of the seeds, or with fewer than six seeds their range; "range":
                 from the least to the greatest; "none". A seed without a placement that fits counts as
                 infinite. The legend names the band.
    @param top   step times above so many times the best one are not drawn. None: at most 2.5 times, and less if
                 the best three searches would end in the lower half of the picture: their improvements after
                 the first tenth then take the lower half. Agents that end above are named, as are those whose
                 median never fits (OOM) or that failed
    A line begins when all seeds have evaluated something. A search that ended keeps its best to the right. An agent
    that evaluates once is a thin line. The bound is drawn if it is near.
    """
    require_choice("x", x, ("evaluations", "seconds"))
    require_choice("band", band, ("quantiles", "range", "none"))
    column = "wall_seconds" if x == "seconds" else "evaluation"
    curves = {run: (rows[column].to_numpy(float) + (column == "evaluation"),
                    rows["best_step_time_ns"].fillna(np.inf).to_numpy(float))
              for run, rows in evaluations.groupby("run")}
    styles = style_of(runs["agent"])
    problems = by_problem(runs)
    figure, panels = grid_of(len(problems), width=5.2, height=3.7)
    bands: dict[str, None] = {}  # in their order
    for axes, (problem, rows) in zip(panels, problems):
        unit, scale = time_unit(final_times(rows))
        there = [curves[run] for run in rows["run"] if run in curves]
        end = max((xs[-1] for xs, _ in there if len(xs)), default=1.0)
        seen: dict[str, np.ndarray] = {}
        begun: dict[str, float] = {}  # of searches: their median after the beginning
        for agent, group in by_agent(rows):
            seeds = [curves[run] for run in group["run"] if run in curves]
            kind = "few" if band == "quantiles" and len(seeds) < FEW else band
            if kind != "none" and len(seeds) > 1:
                bands[kind] = None
            seen[agent] = draw_curve(axes, agent, seeds, end, scale, styles[agent], kind)
            if any(len(seed[0]) > 1 for seed in seeds):
                begun[agent] = float(quantile(best_so_far(np.array([BEGINNING * end]), seeds), 0.5)[0] / scale)
        axes.set_title(problem, loc="left", fontsize="medium")
        failed = [agent for agent, group in rows.groupby("agent") if group["evaluations"].sum() == 0]
        limit_by_curves(axes, seen, begun, failed, rows["bound_ns"].min() / scale, top)
        axes.set(xlabel="evaluations" if x == "evaluations" else "search time [s]",
                 ylabel=f"best step time so far [{unit}]")
        if log_x:
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(right=end)
    for kind in bands:
        panels[0].fill([np.nan], [np.nan], color="0.5", alpha=0.18, linewidth=0, label=BANDS[kind])  # for the legend
    add_legend(figure, panels)
    return figure


def draw_curve(axes: Axes, agent: str, seeds: Sequence[tuple[np.ndarray, np.ndarray]], end: float,
               scale: float, style: Mapping[str, str], band: str) -> np.ndarray:
    """Draws one curve. @return the median where it fits"""
    if not seeds:
        return np.array([])
    # Best-so-far is a step function, so only its values at improvements of any seed are drawn.
    xs = np.unique(np.concatenate([improvements(*seed) for seed in seeds] + [np.array([end])]))
    xs = xs[xs >= max(seed[0][0] for seed in seeds)]
    values = best_so_far(xs, seeds) / scale
    middle = quantile(values, 0.5)
    fits = np.isfinite(middle)
    if not fits.any():
        return middle[fits]
    once = all(len(seed[0]) == 1 for seed in seeds)
    axes.step(xs[fits], middle[fits], where="post", label=agent, linewidth=1 if once else 1.8,
              marker="o" if fits.sum() == 1 else None, **style)
    if band != "none" and len(seeds) > 1:
        shares = (0.1, 0.9) if band == "quantiles" else (0, 1)
        low, high = (quantile(values, share) for share in shares)
        sky = 100 * np.max(middle[fits])
        axes.fill_between(xs, low, np.minimum(high, sky), where=np.isfinite(low), step="post",
                          alpha=0.18, linewidth=0, color=style["color"])
    return middle[fits]


def improvements(xs: np.ndarray, best: np.ndarray) -> np.ndarray:
    return xs[np.append(True, best[1:] != best[:-1])[:len(xs)]]


def limit_by_curves(axes: Axes, seen: Mapping[str, np.ndarray], begun: Mapping[str, float], failed: Sequence[str],
                    bound: float, top: float | None) -> None:
    """Limits the picture to the relevant step times; bad agents and first evaluations are often far above them.

    @param seen  by agent: its median where it fits   @param begun  of those that search: after the beginning
    """
    fitting = {agent: values for agent, values in seen.items() if len(values)}
    if not fitting:
        axes.text(0.5, 0.5, "nothing fits", transform=axes.transAxes, ha="center", va="center")
        return
    low = min(values[-1] for values in fitting.values())
    limit = end_limit(low, fitting, begun) if top is None else top * low
    above = [agent for agent, values in fitting.items() if values[-1] > limit]
    high = max(values[-1] for agent, values in fitting.items() if agent not in above)
    high = min(limit, max(high, float(np.median([values[0] for values in fitting.values()]))))
    oom = [agent for agent in seen if agent not in fitting and agent not in failed]
    named = {"failed": failed, "OOM": oom, "above": above}
    note = "; ".join(f"{what}: {', '.join(agents)}" for what, agents in named.items() if agents)
    lines = textwrap.wrap(note, TITLE_WIDTH, break_long_words=False)
    axes.set_title("\n".join(lines), loc="right", fontsize="x-small", color="0.3")
    if len(axes.get_title("left")) + len(note) > TITLE_WIDTH:
        axes.set_title(axes.get_title("left") + "\n" * len(lines), loc="left", fontsize="medium")
    near = bound > low - (high - low)
    room = MARGIN * ((high - (bound if near else low)) or low)
    axes.set_ylim((bound if near else low) - room, high + room)
    if near:
        axes.axhline(bound, color="0.45", linewidth=0.9, linestyle=(0, (1, 2)), label="bound")


def end_limit(low: float, fitting: Mapping[str, np.ndarray], begun: Mapping[str, float]) -> float:
    """Returns the greatest step time of a picture that shows clearly how the best searches end."""
    best = sorted((values[-1], begun[agent]) for agent, values in fitting.items() if agent in begun)[:SEARCHES]
    excess = max((after - low for _, after in best if np.isfinite(after)), default=0.0)
    return min(TOP * low, low + 2 * excess) if excess > 0 else TOP * low


def generalization_cdfs(tests: pd.DataFrame, *, what: str = "final", log_x: bool = False) -> Figure:
    """Draws the share of unseen graphs and seeds whose step time is at most so much over the best known.

    There is a panel per family and a line per method. Placements that do not fit never count, so a line may end
    below 1.

    @param what  "final": of the placement that the method returns (the last one of a policy that ends after
                 a number of updates, else the best), "best": of the best one evaluated
    """
    require_choice("what", what, ("final", "best"))
    require_rows(tests, "no unseen graph has been placed yet")
    styles = style_of(tests["method"])
    names = tests["family"]
    if tests.groupby("family")["file"].nunique().max() > 1:
        names = names + " [" + tests["file"].map(os.path.basename) + "]"
    families = list(tests.groupby(names, sort=False))
    figure, panels = grid_of(len(families), width=4.8, height=3.7)
    for axes, (name, rows) in zip(panels, families):
        ratios = {method: np.sort(group[f"{what}_ratio"].to_numpy(float))
                  for method, group in rows.groupby("method", sort=False)}
        end = max((values[np.isfinite(values)].max(initial=1.0) for values in ratios.values()))
        end = 1 + (end - 1) * (1 + MARGIN) if end > 1 else 1.1
        for above, (method, values) in zip(range(len(ratios))[::-1], ratios.items()):
            fits = values[np.isfinite(values)]
            shares = np.arange(len(fits) + 1) / len(values)
            if len(fits) < len(values):
                axes.annotate(f"{1 - shares[-1]:.0%} OOM", (end, shares[-1]), xytext=(-2, 3), ha="right",
                              textcoords="offset points", fontsize="small", color=styles[method]["color"])
            # If lines overlap, the lower ones stay visible at the sides.
            axes.step(np.concatenate([[1.0], fits, [end]]), np.append(shares, shares[-1]),
                      where="post", label=method, linewidth=1.5 + 0.6 * above, **styles[method])
        axes.set_title(name, loc="left", fontsize="medium")
        axes.set(xlabel=f"{what} step time / best known",
                 ylabel="share of graphs and seeds", xlim=(1, end), ylim=(0, 1.02))
        if log_x:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
    add_legend(figure, panels)
    return figure


def fidelity_scatter(placements: pd.DataFrame, graphs: pd.DataFrame | None = None, *,
                     band: float = 0.05) -> Figure:
    """Draws simulated over measured step time of each executed placement.

    The picture also has the 95 % interval of the measurement, the diagonal, and lines at -band and +band of the
    measured time.

    @param graphs  with the mean errors and rank correlations for the legend
    """
    require_rows(placements, "no placement was executed")
    unit, scale = time_unit(placements["measured_ns"])
    times = placements[["simulated_ns", "measured_ns", "low_ns", "high_ns"]].to_numpy(float) / scale
    low, high = float(times.min()), float(times.max())
    log = high > 10 * low
    room = MARGIN * (high - low or low)
    ends = (low / 1.15, high * 1.15) if log else (max(0.0, low - room), high + room)
    figure, (axes,) = grid_of(1, width=5.6, height=5.4)
    axes.spines[:].set_visible(True)
    line = np.linspace(*ends, 2)
    axes.fill_between(line, line * (1 - band), line * (1 + band), color="0.5", alpha=0.18,
                      linewidth=0, label=f"± {band:.0%}", zorder=0)
    axes.plot(line, line, color="0.35", linewidth=1, label="equal", zorder=1)
    styles = style_of(placements["graph"])
    for (file, graph), rows in placements.groupby(["file", "graph"], sort=False):
        spread = np.abs(rows[["low_ns", "high_ns"]].to_numpy(float).T - rows["measured_ns"].to_numpy(float))
        axes.errorbar(rows["measured_ns"] / scale, rows["simulated_ns"] / scale, xerr=spread / scale,
                      fmt="o", markersize=5, elinewidth=0.8, alpha=0.85, markeredgewidth=0,
                      color=styles[graph]["color"], label=scatter_label(file, graph, graphs))
    axes.set(xlabel=f"measured step time [{unit}]", ylabel=f"simulated step time [{unit}]",
             xscale="log" if log else "linear", yscale="log" if log else "linear", xlim=ends, ylim=ends)
    axes.set_aspect("equal")
    axes.grid(alpha=0.25)
    axes.legend(loc="upper left", fontsize="small", framealpha=0.85)
    return figure


def scatter_label(file: str, graph: str, graphs: pd.DataFrame | None) -> str:
    if graphs is None:
        return graph
    row = graphs[(graphs["file"] == file) & (graphs["graph"] == graph)].iloc[0]
    tau = row.get("kendall_tau", np.nan)
    return f"{graph}: mean error {row['mape']:.1%}" + ("" if pd.isna(tau) else f", tau {tau:.2f}")


def efficiency_bars(runs: pd.DataFrame, evaluations: pd.DataFrame, *,
                    targets: Mapping[str, float] | float | None = None, within: float = WITHIN,
                    target_name: str = "the best agent's median") -> Figure:
    """Draws the evaluations until an agent's best is within so much of a target, a panel per problem.

    The bar is the median over the seeds, dots are seeds. A hatched bar has the length of the search: the median does
    not reach the target. Open dots are seeds that do not reach it.

    @param targets  [ns], see summaries.evaluations_to(); default: the best agent's median
    """
    targets = best_median_of_problem(runs) if targets is None else targets
    table = runs.assign(needed=evaluations_to(runs, evaluations, targets, within))
    table = table[table["needed"].notna()]
    require_rows(table, "no problem has a target")
    problems = by_problem(table)
    most = max(rows["agent"].nunique() for _, rows in problems)
    figure, panels = grid_of(len(problems), width=5.6, height=1.5 + 0.34 * most)
    styles = style_of(runs["agent"])
    for axes, (problem, rows) in zip(panels, problems):
        agents = sorted(rows.groupby("agent"), key=lambda item: (
            float(quantile(item[1]["needed"], 0.5)), float(quantile(final_times(item[1]), 0.5))))
        for place, (agent, group) in enumerate(agents):
            draw_bar(axes, place, group, styles[agent]["color"])
        goal = targets[problem] if isinstance(targets, Mapping) else targets
        unit, scale = time_unit([goal])
        axes.set_yticks(range(len(agents)), [agent for agent, _ in agents])
        axes.invert_yaxis()
        axes.set_title(problem, loc="left", fontsize="medium")
        axes.set(xscale="log", xlim=(0.8, 2 * rows["evaluations"].max()),
                 xlabel=f"evaluations to within {within:.0%} of {target_name}\n({goal / scale:.4g} {unit})")
        axes.grid(axis="x", alpha=0.25)
        axes.tick_params(axis="y", length=0)
    return figure


def draw_bar(axes: Axes, place: int, group: pd.DataFrame, colour: str) -> None:
    needed = group["needed"].to_numpy(float)
    reached = np.isfinite(needed)
    middle = float(quantile(needed, 0.5))
    length = middle if np.isfinite(middle) else float(group["evaluations"].median())
    plain = {"color": colour, "alpha": 0.75}
    hatched = {"facecolor": "none", "edgecolor": colour, "hatch": "////", "linewidth": 0.8, "alpha": 0.7}
    # On a log scale, a bar from 1 to 1 has no length.
    axes.barh(place, length - 0.8, left=0.8, height=0.62, **(plain if np.isfinite(middle) else hatched))
    if len(needed) > 1:
        axes.plot(needed[reached], np.full(reached.sum(), place), "o", markersize=3.5, color="0.15")
        axes.plot(group["evaluations"][~reached], np.full((~reached).sum(), place), "o", markersize=3.5,
                  markerfacecolor="white", markeredgecolor="0.15")
    note = f"{middle:.0f}" if np.isfinite(middle) else "not reached"
    if reached.any() and not reached.all():
        note = f"reached by {reached.sum()} of {len(needed)}"
    right = max(length, *needed[reached], *group["evaluations"][~reached])
    axes.annotate(note, (right, place), xytext=(6, 0), textcoords="offset points", va="center",
                  fontsize="small", annotation_clip=False)


def final_step_times(runs: pd.DataFrame) -> Figure:
    """Draws the best step time of each run, a panel per problem and a row per agent: dots are seeds.

    With four seeds or more, a box reaches from 25 to 75 %, with the median in it. Placements that do not fit are named.
    """
    problems = by_problem(runs)
    most = max(rows["agent"].nunique() for _, rows in problems)
    figure, panels = grid_of(len(problems), width=5.6, height=1.3 + 0.34 * most)
    styles = style_of(runs["agent"])
    for axes, (problem, rows) in zip(panels, problems):
        unit, scale = time_unit(final_times(rows))
        agents = by_agent(rows)
        for place, (agent, group) in enumerate(agents):
            draw_strip(axes, place, final_times(group).to_numpy(float) / scale, styles[agent]["color"])
        frame_strips(axes, [agent for agent, _ in agents], problem)
        axes.axvline(rows["bound_ns"].min() / scale, color="0.45", linewidth=0.9, linestyle=(0, (1, 2)))
        axes.annotate("bound", (rows["bound_ns"].min() / scale, 1), xycoords=("data", "axes fraction"),
                      xytext=(3, -9), textcoords="offset points", fontsize="x-small", color="0.4")
        axes.set_xlabel(f"step time of the best placement found [{unit}]")
        if not rows["feasible"].all():  # room for the note about them
            left, right = axes.get_xlim()
            axes.set_xlim(left, right + 0.2 * (right - left))
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    return figure


def noise_regrets(draws: pd.DataFrame) -> Figure:
    """Draws regret under noise, a panel per file and a row per placement: dots are draws.

    Boxes are as in final_step_times(). Placements that do not fit are named.

    @param draws  of load_stress()
    """
    noise = draws[draws["scenario"] == "noise"]
    require_rows(noise, "no draw has noise")
    files = list(noise.groupby("file", sort=False))
    most = max(rows["label"].nunique() for _, rows in files)
    figure, panels = grid_of(len(files), width=5.6, height=1.3 + 0.34 * most)
    styles = style_of(noise["label"])
    for axes, (_, rows) in zip(panels, files):
        labels = list(dict.fromkeys(rows["label"]))  # the winner first
        for place, label in enumerate(labels):
            regret = 100 * rows.loc[rows["label"] == label, "regret"].to_numpy(float)
            draw_strip(axes, place, regret, styles[label]["color"])
        frame_strips(axes, labels, f"{rows['graph'].iloc[0]} on {rows['cluster'].iloc[0]}")
        axes.set_xlabel("regret under noise [%]")
    return figure


def frame_strips(axes: Axes, labels: Sequence[str], title: str) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.9)
    axes.set_title(title, loc="left", fontsize="medium")
    axes.grid(axis="x", alpha=0.25)
    axes.tick_params(axis="y", length=0)


def draw_strip(axes: Axes, place: int, times: np.ndarray, colour: str) -> None:
    fits = times[np.isfinite(times)]
    if len(fits) >= 4:
        axes.boxplot(fits, positions=[place], vert=False, widths=0.5, showfliers=False,
                     manage_ticks=False, medianprops={"color": colour, "linewidth": 1.6},
                     **{part: {"color": colour, "alpha": 0.8}
                        for part in ("boxprops", "whiskerprops", "capprops")})
    elif len(fits) > 1:
        axes.plot([np.median(fits)] * 2, [place - 0.3, place + 0.3], color=colour, linewidth=1.6)
    # Seeds with nearly the same time are drawn beside each other.
    offsets = np.linspace(-0.14, 0.14, len(fits)) if len(fits) > 1 else np.zeros(len(fits))
    axes.plot(fits, place + offsets, "o", markersize=4.5, alpha=0.8, markeredgewidth=0, color=colour)
    if len(fits) < len(times):
        note = "OOM" if len(fits) == 0 else f"{len(times) - len(fits)} of {len(times)} OOM"
        axes.annotate(note, (1, place), xycoords=("axes fraction", "data"), xytext=(-4, 0),
                      textcoords="offset points", ha="right", va="center", fontsize="small", color=colour)
