"""A local search over choices, for what the agents do not search: offloaded weights, cuts, the least missing memory."""

from __future__ import annotations

import time
from typing import Any, Callable, Sequence

Choices = tuple[int, ...]
BATCH = 64


def climb(evaluate: Callable[[Sequence[Choices]], Sequence[Any]], starts: Sequence[Choices],
          neighbourhoods: Sequence[Callable[[Choices], Sequence[Choices]]], seconds: float,
          enough: Callable[[Any], bool] = lambda _: False, size: int = BATCH) -> tuple[Choices, Any]:
    """The best choices met, and their value.

    evaluate: values of choices, which compare (less is better). From the best of `starts` goes on as long as there is a
    better neighbour: the best of the first `size` with a better one. Later neighbourhoods are looked at where earlier ones
    have none. Ends after `seconds` [s] between two batches, or when a value is `enough`.
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
    """All that differ from `here` in one place."""
    return [(*here[:index], choice, *here[index + 1:]) for index in range(len(here)) for choice in choices
            if choice != here[index]]


def swaps(here: Choices, farthest: int | None = None) -> list[Choices]:
    """All in which two places that differ have changed choices; farthest: apart."""
    found = []
    for a in range(len(here)):
        for b in range(a + 1, len(here) if farthest is None else min(len(here), a + farthest + 1)):
            if here[a] != here[b]:
                found.append((*here[:a], here[b], *here[a + 1:b], here[a], *here[b + 1:]))
    return found
