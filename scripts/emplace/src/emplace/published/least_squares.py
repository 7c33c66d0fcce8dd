"""Fits two figures within bounds."""

from __future__ import annotations

from typing import Callable

import numpy as np
import numpy.typing as npt


def least_squares(errors: Callable[[float, float], npt.NDArray[np.float64]], start: tuple[float, float],
                  bounds: tuple[tuple[float, float], tuple[float, float]]) -> tuple[float, float]:
    """Returns two figures within bounds with a small sum of squares, by steps of Gauss and Newton."""
    low, high = np.array(bounds).T
    x, best = np.clip(np.array(start), low, high), np.inf
    for _ in range(8):
        here = errors(*x)
        if best - float(here @ here) < 1e-7:
            break
        best = float(here @ here)
        steps = np.where(x * 1.05 < high, 0.05, -0.05) * np.maximum(x, 0.02 * (high - low))
        slopes = np.array([(errors(*(x + np.eye(2)[k] * steps[k])) - here) / steps[k] for k in range(2)]).T
        x = _descended(errors, x, here, slopes, low, high)
    return float(x[0]), float(x[1])


def _descended(errors: Callable[[float, float], npt.NDArray[np.float64]], x: npt.NDArray[np.float64],
               here: npt.NDArray[np.float64], slopes: npt.NDArray[np.float64], low: npt.NDArray[np.float64],
               high: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns the best of the steps within bounds: both figures, or one with the other at a bound."""
    tried = [x]
    scale = np.maximum(np.abs(x), 1e-30)
    moved = x + scale * np.linalg.lstsq(slopes * scale, -here, rcond=None)[0]
    tried.append(np.clip(moved, low, high))
    for k in range(2):
        for bound in (low[k], high[k]):
            slope = slopes[:, 1 - k]
            if (moved[k] - bound) * (x[k] - bound) < 0 and slope @ slope > 0:
                other = x.copy()
                other[k] = bound
                rest = here + slopes[:, k] * (bound - x[k])
                other[1 - k] = np.clip(x[1 - k] - slope @ rest / (slope @ slope), low[1 - k], high[1 - k])
                tried.append(other)
    sums = [float(each @ each) for each in (errors(*point) for point in tried[1:])]
    return tried[1 + int(np.argmin(sums))] if min(sums) < float(here @ here) else x
