"""Rank correlation of two lists of numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def kendall_tau(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Returns Kendall's tau-b; NaN if one of them has no order."""
    here, there = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    agreement = pairs_here = pairs_there = 0
    for place in range(len(here)):  # infinite ones are equal
        x = np.greater(here[place], here[place + 1:]).astype(int) - np.less(here[place], here[place + 1:])
        y = np.greater(there[place], there[place + 1:]).astype(int) - np.less(there[place], there[place + 1:])
        agreement += int((x * y).sum())
        pairs_here += int(np.abs(x).sum())
        pairs_there += int(np.abs(y).sum())
    pairs = np.sqrt(float(pairs_here) * float(pairs_there))
    return float(agreement / pairs) if pairs > 0 else float("nan")
