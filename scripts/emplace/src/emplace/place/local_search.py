"""A local search over choices, for problems that the agents do not search.

These are offloaded weights, cuts, and placements with the least missing memory.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Sequence

Choices = tuple[int, ...]
BATCH = 64


def climb(evaluate: Callable[[Sequence[Choices]], Sequence[Any]], starts: Sequence[Choices],
          neighbourhoods: Sequence[Callable[[Choices], Sequence[Choices]]], seconds: float,
          enough: Callable[[Any], bool] = lambda _: False, size: int = BATCH) -> tuple[Choices, Any]:
    """Returns the best choices found, and their value.

    evaluate: values of choices, which can be compared (less is better). The search begins at the best of `starts` and
    moves to a better neighbour while there is one: to the best of the first batch of `size` neighbours that has a
    better one. Later neighbourhoods are searched only if the earlier ones have no better neighbour. The search ends
    after `seconds` [s], between two batches, or when a value is `enough`.
    """
    end = time.monotonic() + seconds
    values = evaluate(starts)
    best = min(range(len(starts)), key=lambda index: values[index])
    here, value = starts[best], values[best]
    better = True
    while better and not enough(value):
        better = False
        for around, first in ((around, first) for around in map(lambda hood: hood(here), neighbourhoods)
                              for first in range(0, len(around), size)):
            if time.monotonic() > end:
                return here, value
            batch = around[first:first + size]
            values = evaluate(batch)
            best = min(range(len(batch)), key=lambda index: values[index])
            if values[best] < value:
                here, value, better = batch[best], values[best], True
                break
    return here, value


def single_changes(here: Choices, choices: Sequence[int]) -> list[Choices]:
    """Returns all choices that differ from `here` in one place."""
    return [(*here[:index], choice, *here[index + 1:]) for index in range(len(here)) for choice in choices
            if choice != here[index]]


def swaps(here: Choices, farthest: int | None = None) -> list[Choices]:
    """Returns all choices with two different places swapped, at most `farthest` apart."""
    found = []
    for a in range(len(here)):
        for b in range(a + 1, len(here) if farthest is None else min(len(here), a + farthest + 1)):
            if here[a] != here[b]:
                found.append((*here[:a], here[b], *here[a + 1:b], here[a], *here[b + 1:]))
    return found
