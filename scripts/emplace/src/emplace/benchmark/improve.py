"""Searches for better placements of the instances and proves better bounds. Any number of calls add up."""

from __future__ import annotations

import datetime
import os
import pathlib
import sys
import time
from typing import Any, Sequence

from .contributions import take
from .instances import Instance, instances, read_known, store

AGENTS = ("portfolio", "learned_local_search", "large_neighborhood")
OF_PERIOD = ("portfolio", "large_neighborhood", "period_multilevel")  # for objective period


def improve(folder: str | os.PathLike[str], chosen: Sequence[Instance], *, seconds: float, proof: float,
            agents: Sequence[str] = (), rounds: int = 1, quiet: bool = False) -> None:
    """Searches with each agent and proves for a time on each instance, those with the least time so far first.

    Writes each better placement and bound at once, so that a stopped call loses one search. A solved instance, whose best
    placement reaches the bound, is left out.

    seconds: of a search with each agent [s]; proof: of the proof [s]; agents: default: the three best ones
    rounds:  of all instances. The seed of a search is the number of rounds of its instance so far. In every other round
             searches start from the best known placement. The placements of related instances are tried before
    Throws InputError, RunError.
    """
    at = pathlib.Path(folder)
    for _ in range(rounds):
        fresh = {one.name: one for one in instances(folder=at)}
        for one in sorted((fresh[given.name] for given in chosen), key=lambda one: one.searched + one.proved):
            if one.gap == 0:
                continue
            begin = time.monotonic()
            text = _improve_one(at, one, seconds, proof, agents)
            if not quiet:
                print(f"{one.name}: {text} ({time.monotonic() - begin:.0f} s)", file=sys.stderr, flush=True)


def _improve_one(folder: pathlib.Path, one: Instance, seconds: float, proof: float, agents: Sequence[str]) -> str:
    """Improves one instance and returns a line about it."""
    from .. import InputError, agent_help, search

    problem = one.problem(threads=1)

    def add(key: str, amount: float, **found: Any) -> None:
        store(folder, one.name, lambda entry: {**entry, key: round(entry.get(key, 0) + amount, 1), **found})

    if seconds > 0:
        for relative in _relatives(folder, one):
            try:
                placement = relative.best_placement(problem)
            except InputError:  # of other ops, devices or groups
                continue
            outcome = problem.evaluate(placement[None])
            if outcome.feasible[0]:
                take(folder, one, problem, placement, int(outcome.step_time[0]), relative.name)
        entry = read_known(folder)[one.name]
        seed = int(entry.get("rounds", 0))
        for agent in agents or (OF_PERIOD if one.objective == "period" else AGENTS):
            choices: Any = agent_help(agent)["settings"]
            own = seed % 2 == 1 and "start" in choices and bool(entry.get("best"))
            settings = {"start": [str(one.placement_path)]} if own else {}
            found = search(problem, {"name": agent, **settings}, seed=seed, seconds=seconds)
            if found.placement is not None and found.step_time is not None:
                take(folder, one, problem, found.placement, found.step_time, agent)
            add("searched", found.seconds)
        add("rounds", 1)
    entry = read_known(folder)[one.name]
    best = entry["best"]["value"] if entry.get("best") else None
    old = entry["bound"]["value"] if entry.get("bound") else 0
    if proof > 0 and (best is None or old < best):
        begin = time.monotonic()
        proved = problem.bounds(seconds=proof, known=best)
        took = round(time.monotonic() - begin, 1)
        bound = {"value": proved.value, "method": proved.method, "seconds": min(proof, took),
                 "date": datetime.date.today().isoformat()}
        add("proved", took, **{"bound": bound} if proved.value > old else {})
    after = {other.name: other for other in instances(folder=folder)}[one.name]
    return (f"best {'none' if after.best is None else f'{after.best.value / 1e6:.6g} ms by {after.best.by}'}, bound "
            f"{'none' if after.bound is None else f'{after.bound.value / 1e6:.6g} ms by {after.bound.method}'}, gap "
            f"{'unknown' if after.gap is None else f'{after.gap:.2%}'}")


def _relatives(folder: pathlib.Path, one: Instance) -> list[Instance]:
    """Returns the other instances of as many ops that have a placement: the same graph on other machines or in other groups."""
    return [other for other in instances(folder=folder)
            if other.best and other.name != one.name and other.features["num_ops"] == one.features["num_ops"]]
