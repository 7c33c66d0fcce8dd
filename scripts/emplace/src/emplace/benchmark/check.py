"""Checks what the benchmark claims: files, placements by the plain reference simulator, bounds by proving them again."""

from __future__ import annotations

import dataclasses
from typing import Iterable, Iterator

from .contributions import reference
from .instances import Instance, checksum

QUICK = 10.0  # proofs that took longer are repeated with `slow` only [s]


@dataclasses.dataclass(frozen=True)
class Checked:
    """The findings about one instance.

    errors  sentences; empty: all claims hold
    proof   "proved again", or the reason why the bound was not proved again
    """

    name: str
    errors: list[str]
    proof: str


def check(chosen: Iterable[Instance], *, slow: bool = False) -> Iterator[Checked]:
    """Yields the findings about each instance.

    The checksum, the simulated value of the best placement by the plain reference implementation, and the bound, which is
    proved again with twice its time, at least 1 s. slow: also proofs that take more than 10 s.
    """
    for one in chosen:
        yield _check(one, slow)


def _check(one: Instance, slow: bool) -> Checked:
    if not one.path.exists():
        return Checked(one.name, [f"{one.path}: no such file"], "not tried")
    errors = []
    if checksum(one.path) != one.sha256:
        errors.append(f"{one.path}: has another content than when its best placement and bound were found: SHA-256 "
                      f"{checksum(one.path)}, expected {one.sha256}")
    problem = one.problem(threads=1)
    if one.best is not None:
        placement = one.best_placement(problem)
        value, fits = reference(one, problem, placement)
        if not fits:
            errors.append(f"{one.placement_path}: does not fit into memory")
        if value != one.best.value:
            errors.append(f"{one.placement_path}: takes {value} ns; known.yaml says {one.best.value} ns")
        if one.best.any_order is not None:
            any_order = problem.placement_bound(placement)
            if any_order < one.best.any_order:
                errors.append(f"{one.placement_path}: takes at least {any_order} ns in any order; known.yaml says "
                              f"{one.best.any_order} ns")
    if one.bound is None:
        return Checked(one.name, errors, "no bound")
    if one.best is not None and one.bound.value > one.best.value:
        errors.append(f"{one.name}: the bound {one.bound.value} ns is above the best placement's {one.best.value} ns")
    if problem.bounds().value >= one.bound.value:
        return Checked(one.name, errors, "proved again")
    seconds = max(1.0, 2 * one.bound.seconds)
    if not slow and one.bound.seconds > QUICK:
        return Checked(one.name, errors, f"not tried: takes up to {seconds:g} s (--slow)")
    again = problem.bounds(seconds=seconds, known=one.bound.value)
    if again.value < one.bound.value:
        return Checked(one.name, errors, f"not proved again in {seconds:g} s: {again.value} ns of {one.bound.value} ns")
    return Checked(one.name, errors, "proved again")
