"""The benchmark of device placement: instances, their best known placements and bounds.

    from emplace import benchmark
    for instance in benchmark.instances("small"):
        problem = instance.problem()                     # emplace.Problem
        found = emplace.search(problem, "hill_climb", seconds=1)
        print(instance.name, found.step_time / instance.best.value)

configs/benchmark/README.md describes the tiers, the rules and the table; `emplace benchmark --help` the command.
"""

from __future__ import annotations

from .instances import Best, Bound, Instance, instance, instances

__all__ = ["Best", "Bound", "Instance", "instance", "instances"]
