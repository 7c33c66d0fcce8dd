"""From exact numbers to integers."""

from fractions import Fraction

import readings


def nearest(value):
    """A number, or a decimal string, to the nearest integer."""
    exact = Fraction(repr(value) if isinstance(value, float) else value)
    if readings.HALVES_ROUND_UP:
        return (2 * exact.numerator + exact.denominator) // (2 * exact.denominator)
    return round(exact)


def rounded_mean(values):
    """To the nearest integer, halves up; 0 of nothing."""
    n = len(values)
    return (2 * sum(values) + n) // (2 * n) if n else 0
