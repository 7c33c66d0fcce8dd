"""Searches for better placements of the instances and proves better bounds. Any number of calls add up."""

from __future__ import annotations

import datetime
import os
import pathlib
import sys
import time
from typing import Any, Sequence

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
    today = datetime.date.today().isoformat()
    entry = dict(read_known(folder)[one.name])
    best = entry["best"]["value"] if entry.get("best") else None

    def keep(placement: Any, value: int, by: str) -> None:
        nonlocal best
        best = value
        problem.write_placement(placement, str(one.placement_path))
        entry["best"] = {"value": value, "by": by, "date": today}
        store(folder, one.name, entry)

    if seconds > 0:
        for relative in _relatives(folder, one):
            try:
                placement = relative.best_placement(problem)
            except InputError:  # of other ops, devices or groups
                continue
            outcome = problem.evaluate(placement[None])
            if outcome.feasible[0] and (best is None or outcome.step_time[0] < best):
                keep(placement, int(outcome.step_time[0]), relative.name)
        seed = int(entry.get("rounds", 0))
        for agent in agents or (OF_PERIOD if one.objective == "period" else AGENTS):
            choices: Any = agent_help(agent)["settings"]
            own = seed % 2 == 1 and best is not None and "start" in choices
            settings = {"start": [str(one.placement_path)]} if own else {}
            found = search(problem, {"name": agent, **settings}, seed=seed, seconds=seconds)
            if found.step_time is not None and (best is None or found.step_time < best):
                keep(found.placement, found.step_time, agent)
            entry["searched"] = round(entry.get("searched", 0.0) + found.seconds, 1)
        entry["rounds"] = seed + 1
        store(folder, one.name, entry)
    old = entry["bound"]["value"] if entry.get("bound") else 0
    if proof > 0 and (best is None or old < best):
        begin = time.monotonic()
        proved = problem.bounds(seconds=proof, known=best)
        took = round(time.monotonic() - begin, 1)
        entry["proved"] = round(entry.get("proved", 0.0) + took, 1)
        if proved.value > old:
            entry["bound"] = {"value": proved.value, "method": proved.method, "seconds": min(proof, took), "date": today}
        store(folder, one.name, entry)
    after = {other.name: other for other in instances(folder=folder)}[one.name]
    return (f"best {'none' if after.best is None else f'{after.best.value / 1e6:.6g} ms by {after.best.by}'}, bound "
            f"{'none' if after.bound is None else f'{after.bound.value / 1e6:.6g} ms by {after.bound.method}'}, gap "
            f"{'unknown' if after.gap is None else f'{after.gap:.2%}'}")


def _relatives(folder: pathlib.Path, one: Instance) -> list[Instance]:
    """Returns the other instances of as many ops that have a placement: the same graph on other machines or in other groups."""
    return [other for other in instances(folder=folder)
            if other.best and other.name != one.name and other.features["num_ops"] == one.features["num_ops"]]
