"""Traits of placements that correlate with the errors of simulated step times."""

from __future__ import annotations

from typing import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from .files import ResultsError, require_choice
from .layout import add_legend, grid_of, require_rows, style_of
from .summaries import time_unit

# Trait under its name in the program: column, label of the axis, divisor of the axis.
TRAITS = {
    "crossing bytes": ("crossing_bytes", "bytes that cross between devices [MB]", 1e6),
    "crossings": ("crossings", "crossings", 1),
    "overlap": ("overlap", "share of the step in which devices overlap", 1),
    "step time": ("simulated_ns", "simulated step time", None),
}


def fidelity_errors(placements: pd.DataFrame, residuals: pd.DataFrame | None = None, *,
                    traits: Sequence[str] = ("crossing bytes", "overlap")) -> Figure:
    """Draws how far each measured step time is above or below the simulated one, over a trait of the placement.

    There is a panel per trait, a colour per graph, and for each graph the straight line of least squares.

    @param residuals  with the correlations over all graphs, for the titles (Fidelity.residuals)
    @param traits     names of TRAITS
    @throws ResultsError for results of a version of emplace that did not record these traits yet
    """
    for trait in traits:
        require_choice("trait", trait, tuple(TRAITS))
    require_rows(placements, "no placement was executed")
    for trait in traits:
        column = TRAITS[trait][0]
        if column not in placements or placements[column].isna().any():
            files = placements["file"] if column not in placements else placements["file"][placements[column].isna()]
            raise ResultsError(f"{files.iloc[0]}: has no {trait} of its placements; validate again with this "
                               "version of emplace")
    styles = style_of(placements["graph"])
    figure, panels = grid_of(len(traits), width=4.8, height=3.7)
    for axes, trait in zip(panels, traits):
        column, label, scale = TRAITS[trait]
        if scale is None:
            unit, scale = time_unit(placements[column])
            label += f" [{unit}]"
        axes.axhline(0, color="0.35", linewidth=1)
        for graph, rows in placements.groupby("graph", sort=False):
            xs = rows[column].to_numpy(float) / scale
            errors = (rows["measured_ns"] / rows["simulated_ns"] - 1).to_numpy(float)
            axes.plot(xs, errors, "o", markersize=4, alpha=0.8, markeredgewidth=0, color=styles[graph]["color"],
                      label=graph)
            draw_line(axes, xs, errors, styles[graph]["color"])
        axes.set_title(correlation_text(trait, residuals), loc="left", fontsize="medium")
        axes.set(xlabel=label, ylabel="measured / simulated - 1")
        axes.yaxis.set_major_formatter(PercentFormatter(1))
    add_legend(figure, panels)
    return figure


def draw_line(axes: Axes, xs: np.ndarray, errors: np.ndarray, colour: str) -> None:
    if np.ptp(xs) > 0:
        slope, at_zero = np.polyfit(xs, errors, 1)
        ends = np.array([xs.min(), xs.max()])
        axes.plot(ends, at_zero + slope * ends, "-", linewidth=1, color=colour)


def correlation_text(trait: str, residuals: pd.DataFrame | None) -> str:
    """Returns "r +0.62, above 100% of shuffles", from the rows over all graphs, or of the only graph."""
    if residuals is None or residuals.empty:
        return trait
    rows = residuals[residuals["trait"] == trait]
    rows = rows[rows["graph"].isna()] if rows["graph"].isna().any() else rows
    if len(rows) != 1 or pd.isna(rows["pearson"].iloc[0]):
        return trait
    row = rows.iloc[0]
    return f"{trait}: r {row['pearson']:+.2f}, above {row['pearson_above']:.0%} of shuffles"
