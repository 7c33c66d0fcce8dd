"""The common parts of all pictures: colours, panels and legends."""

from __future__ import annotations

import io
import math
from typing import Any, Iterable, Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .files import ResultsError

# Okabe and Ito's colours, which people with any kind of colour vision can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", ":", "-.")
PANELS_PER_ROW = 3
PADS = {"w_pad": 0.1, "h_pad": 0.08}  # [in]
NOTEBOOK_DPI = 90
LABEL_HEIGHT = 0.16  # of a line's text [in]


class Picture(Figure):
    """A figure that notebooks show with any backend of matplotlib."""

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        self.savefig(image, format="png", dpi=NOTEBOOK_DPI)
        return image.getvalue()


def style_of(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Returns the colour and line style of each name, in the order of their first appearance."""
    return {name: {"color": COLOURS[i % len(COLOURS)], "linestyle": LINES[i // len(COLOURS) % len(LINES)]}
            for i, name in enumerate(dict.fromkeys(names))}


def grid_of(panels: int, *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    columns = min(panels, PANELS_PER_ROW if panels != 4 else 2)
    rows = math.ceil(panels / columns)
    figure = Picture(figsize=(width * columns, height * rows), layout="constrained")
    figure.get_layout_engine().set(**PADS)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for empty in axes[panels:]:
        empty.remove()
    for one in axes[:panels]:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes[:panels]


def add_legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """Adds one legend for all panels, below them."""
    handles: dict[str, object] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    if not handles:
        return
    widest = max(len(label) for label in handles)
    columns = max(1, min(len(handles), int(figure.get_figwidth() / (0.78 + 0.078 * widest))))
    room = 0.12 + 0.2 * math.ceil(len(handles) / columns)  # [in]
    height = figure.get_figheight() + room
    figure.set_figheight(height)
    figure.get_layout_engine().set(rect=(0, room / height, 1, 1 - room / height))
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncol=columns, frameon=False,
                  fontsize="small", handlelength=4)  # shows two dashes of a dashed line


def label_ends(axes: Axes, ends: Mapping[str, tuple[str, float, float]],
               styles: Mapping[str, Mapping[str, str]]) -> None:
    """Writes a text beside the right end of each line, in the order of their heights, without overlaps.

    @param ends   by name of the line: text, height of the end, and a key that orders lines of equal height (the
                  greater above). Heights are within the limits of the axes, which are final
    """
    low, high = axes.get_ylim()
    gap = LABEL_HEIGHT / (axes.get_figure().get_figheight() * axes.get_position().height) * (high - low)
    names = sorted(ends, key=lambda name: ends[name][1:])
    places: list[float] = []
    for name in names:
        places.append(max(ends[name][1], places[-1] + gap) if places else ends[name][1])
    for i in range(len(places)):  # labels above the top move down, and the labels below them, too
        places[-1 - i] = min(places[-1 - i], high - gap * i)
    across = axes.get_yaxis_transform()  # x in widths of the axes
    for name, place in zip(names, places):
        text, height, _ = ends[name]
        axes.plot([1, 1.04], [height, place], transform=across, clip_on=False, linewidth=0.7, **styles[name])
        axes.text(1.05, place, text, transform=across, va="center", fontsize="small", color=styles[name]["color"])


def require_rows(frame: pd.DataFrame, problem: str) -> None:
    if frame.empty:
        raise ResultsError(problem)
