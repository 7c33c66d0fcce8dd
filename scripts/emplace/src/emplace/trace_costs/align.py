"""The best order-preserving pairing of two sequences.

Among all pairings whose pairs do not cross, it is the one with the largest sum of scores: a longest common
subsequence with weights, by dynamic programming over rows. The memory grows with one sequence only:
Hirschberg, "A linear space algorithm for computing maximal common subsequences", CACM 18 (1975).
"""

from __future__ import annotations

from typing import Callable, Sequence

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[np.int32]
_SMALL = 1 << 22  # cells of a table that is stored completely


def align(first: Sequence[int], second: Sequence[int], score: npt.NDArray[np.int32]) -> list[tuple[int, int]]:
    """Returns pairs (place in first, place in second), ascending in both.

    first, second: symbols [n], [m]; score: [symbols of first, symbols of second], >= 0, 0: no pair.
    O(n m) time. Ties: the later place in `first` pairs first, the same for every call.
    """
    a, b = np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)
    pairs: list[tuple[int, int]] = []
    _solve(a, b, 0, 0, score, pairs.append)
    return pairs


def _solve(a: npt.NDArray[np.intp], b: npt.NDArray[np.intp], begin_a: int, begin_b: int, score: npt.NDArray[np.int32],
           add: Callable[[tuple[int, int]], None]) -> None:
    if not len(a) or not len(b):
        return
    if len(a) * len(b) <= _SMALL or len(a) == 1:
        for i, j in _table(a, b, score):
            add((begin_a + i, begin_b + j))
        return
    half = len(a) // 2
    before = _last_row(a[:half], b, score)
    after = _last_row(a[half:][::-1], b[::-1], score)[::-1]
    split = int(np.argmax(before + after))
    _solve(a[:half], b[:split], begin_a, begin_b, score, add)
    _solve(a[half:], b[split:], begin_a + half, begin_b + split, score, add)


def _next(row: Row, gains: Row) -> Row:
    """Returns the table's next row [m + 1]: adds an element of `first`, which is paired or not."""
    better = row.copy()
    np.maximum(better[1:], row[:-1] + np.where(gains > 0, gains, np.int32(-1)), out=better[1:])
    return np.maximum.accumulate(better)


def _last_row(a: npt.NDArray[np.intp], b: npt.NDArray[np.intp], score: npt.NDArray[np.int32]) -> Row:
    row = np.zeros(len(b) + 1, dtype=np.int32)
    for symbol in a:
        row = _next(row, score[symbol, b])
    return row


def _table(a: npt.NDArray[np.intp], b: npt.NDArray[np.intp], score: npt.NDArray[np.int32]) -> list[tuple[int, int]]:
    rows = [np.zeros(len(b) + 1, dtype=np.int32)]
    for symbol in a:
        rows.append(_next(rows[-1], score[symbol, b]))
    pairs = []
    i, j = len(a), len(b)
    while i > 0 and j > 0:
        if rows[i][j] == rows[i][j - 1]:
            j -= 1
        elif rows[i][j] == rows[i - 1][j]:
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]
