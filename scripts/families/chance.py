"""Random choices that are the same on every machine and version of Python."""

from __future__ import annotations

import random
from typing import Sequence, TypeVar

T = TypeVar("T")


class Chance:
    """A generator based only on `random.random()`, the one sequence that Python promises never to change."""

    def __init__(self, seed: str) -> None:
        self._generator = random.Random()
        self._generator.seed(seed, version=2)

    def below(self, count: int) -> int:
        """Returns a number that is uniform in 0 .. count - 1."""
        return int(self._generator.random() * count)

    def choice(self, values: Sequence[T]) -> T:
        return values[self.below(len(values))]

    def shuffled(self, values: Sequence[T]) -> list[T]:
        left = list(values)
        return [left.pop(self.below(len(left))) for _ in values]
