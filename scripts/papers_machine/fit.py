"""Finds the figures of a machine at which our steps are closest to the published ones, as ratios."""

from __future__ import annotations

import math
import sys
from typing import Callable, Mapping, Sequence

from papers_machine.bench import Bench, Step
from papers_machine.cells import OOM, Cell
from papers_machine.machine import FIGURES, MEMORY, Figure, flow

PRECISION = 1.2  # the least step of the search, as a factor


def rounded(value: float) -> float:
    """Rounds to three digits, as in files."""
    return float(f"{value:.3g}")


def error(cell: Cell, name: str, steps: Mapping[str, Step]) -> float:
    """Returns the logarithm of our ratio to `base` over the published one."""
    return math.log(steps[name].seconds / steps[cell.base].seconds / cell.ratios()[name])


def pattern_search(loss: Callable[[dict[str, float]], float], figures: Sequence[Figure]) -> dict[str, float]:
    """Returns the point of least loss found by changes of one figure at a time, in logarithms, within bounds.

    The search begins in the middle of the ranges with a quarter of each as step. A round without gain takes the
    root of all steps. The search ends when they are below PRECISION.
    """
    point = {f.name: rounded(math.sqrt(f.low * f.high)) for f in figures}
    steps = {f.name: (f.high / f.low) ** 0.25 for f in figures}
    known = {tuple(point.values()): loss(point)}
    best = known[tuple(point.values())]
    while max(steps.values()) >= PRECISION:
        gained = False
        for figure in figures:
            for factor in (steps[figure.name], 1 / steps[figure.name]):
                value = rounded(min(figure.high, max(figure.low, point[figure.name] * factor)))
                if value == point[figure.name]:
                    continue
                trial = {**point, figure.name: value}
                key = tuple(trial.values())
                if key not in known:
                    known[key] = loss(trial)
                if known[key] < best:
                    point, best, gained = trial, known[key], True
                    break
        if not gained:
            steps = {name: math.sqrt(step) for name, step in steps.items()}
    return point


def facts(cells: Sequence[Cell], steps: Mapping[Cell, Mapping[str, Step]]) -> list[tuple[float, bool]]:
    """Returns (peak of a GPU [GiB], whether the published step fits) of one GPU and the expert, by cell."""
    return [(steps[cell][name].peak, cell.published[name] != OOM)
            for cell in cells for name in ("single_gpu", "expert")]


def usable_memory(known: Sequence[tuple[float, bool]]) -> float:
    """Returns the memory [GiB] within MEMORY's range that contradicts the fewest facts.

    All memories between two neighbouring peaks are equivalent. Of the intervals with the fewest contradictions the
    widest is taken, and of it the geometric middle.
    """
    inside = sorted(peak for peak, _ in known if MEMORY.low < peak < MEMORY.high)
    edges = [MEMORY.low, *inside, MEMORY.high]
    best = min(zip(edges, edges[1:]), key=lambda edge: (contradictions(known, math.sqrt(edge[0] * edge[1])),
                                                        edge[0] / edge[1]))
    return rounded(math.sqrt(best[0] * best[1]))


def contradictions(known: Sequence[tuple[float, bool]], memory: float) -> int:
    return sum((peak <= memory) != fits for peak, fits in known)


def fit(bench: Bench, cells: Sequence[Cell]) -> dict[str, float]:
    """Returns all figures of the bench's machine, including memory; reports each trial on standard error."""
    used = [cell for cell in cells if cell.fitted()]

    def loss(point: dict[str, float]) -> float:
        steps = {cell: bench.steps(cell, [cell.base, *cell.fitted()], point) for cell in used}
        total = sum(error(cell, name, steps[cell]) ** 2 for cell in used for name in cell.fitted())
        print(f"{total:8.4f}  {flow(point)}", file=sys.stderr)
        return total

    figures = pattern_search(loss, FIGURES)
    steps = {cell: bench.steps(cell, ["single_gpu", "expert"], figures) for cell in cells}
    return {**figures, "memory": usable_memory(facts(cells, steps))}


def needed(bench: Bench, cell: Cell, name: str, figures: Mapping[str, float], key: str, low: float,
           high: float) -> float | None:
    """Returns the value of a figure between two, to 10 %, that alone would give the published ratio.

    Returns None if no value does.
    """
    unlimited = {other: value for other, value in figures.items() if other != "memory"}

    def too_fast(value: float) -> bool:
        steps = bench.steps(cell, [cell.base, name], {**unlimited, key: value})
        return error(cell, name, steps) < 0

    at_low = too_fast(low)
    if at_low == too_fast(high):
        return None
    while high > 1.1 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if too_fast(middle) == at_low else (low, middle)
    return rounded(math.sqrt(low * high))
