"""Tests of the alignment of two sequences: against all pairings of short ones, and one larger than a table."""

import itertools
import random
import unittest
from unittest import mock

import support  # noqa: F401
import numpy as np

from emplace.trace_costs import align


def best(first: list[int], second: list[int], score: np.ndarray) -> int:
    """The largest sum of scores of pairs that do not cross, by trying all."""
    found = 0
    for size in range(min(len(first), len(second)) + 1):
        for left in itertools.combinations(range(len(first)), size):
            for right in itertools.combinations(range(len(second)), size):
                gains = [score[first[i], second[j]] for i, j in zip(left, right)]
                found = max(found, sum(gains) if all(gains) else 0)
    return found


class Align(unittest.TestCase):
    def check(self, first: list[int], second: list[int], score: np.ndarray, pairs: list[tuple[int, int]]) -> int:
        for (a, b), (c, d) in zip(pairs, pairs[1:]):
            self.assertTrue(a < c and b < d, pairs)
        gains = [int(score[first[i], second[j]]) for i, j in pairs]
        self.assertTrue(all(gains), pairs)
        return sum(gains)

    def test_by_hand(self) -> None:
        same = np.eye(3, dtype=np.int32)
        self.assertEqual(align.align([0, 1, 2], [0, 2], same), [(0, 0), (2, 1)])
        self.assertEqual(align.align([0, 1], [2, 2], same), [])
        self.assertEqual(align.align([], [0], same), [])
        # 0 and 1 have changed places: the pair that counts more stays.
        self.assertEqual(align.align([0, 1], [1, 0], np.array([[1, 0], [0, 2]], dtype=np.int32)), [(1, 0)])

    def test_is_the_best_pairing(self) -> None:
        draw = random.Random(1)
        for small in (align._SMALL, 4):  # a table, and by halves
            with mock.patch.object(align, "_SMALL", small):
                for _ in range(150):
                    first = [draw.randrange(3) for _ in range(draw.randrange(7))]
                    second = [draw.randrange(4) for _ in range(draw.randrange(7))]
                    score = np.array([draw.choices((0, 0, 1, 2, 5), k=4) for _ in range(3)], dtype=np.int32)
                    pairs = align.align(first, second, score)
                    self.assertEqual(self.check(first, second, score, pairs), best(first, second, score))

    def test_long_sequences(self) -> None:
        draw = random.Random(2)
        first = [draw.randrange(40) for _ in range(3000)]
        second = [symbol for symbol in first if draw.random() < 0.9]
        score = np.eye(40, dtype=np.int32)
        pairs = align.align(first, second, score)
        self.assertEqual(self.check(first, second, score, pairs), len(second))  # all of it is in there


if __name__ == "__main__":
    unittest.main()
