"""The benchmark of device placement: instances, their best known placements and bounds.

    from emplace import benchmark
    for instance in benchmark.instances("small"):
        problem = instance.problem()                     # emplace.Problem
        found = emplace.search(problem, "hill_climb", seconds=1)
        print(instance.name, found.step_time / instance.best.value)

    benchmark.run(["hill_climb", MyAgent], benchmark.instances("small"), "results/mine", budget="1s")
    mine = benchmark.load(["results/mine"])              # needs the packages of emplace.results
    benchmark.score(mine).table                          # a data frame
    benchmark.compare(mine, "hill_climb", mine, "python:my_agents.MyAgent").conclusion()

configs/benchmark/README.md describes the tiers, the rules and the table; `emplace benchmark --help` the command.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .instances import Best, Bound, Instance, instance, instances

if TYPE_CHECKING:
    from .comparison import compare
    from .protocol import run
    from .results_file import load
    from .scores import score

__all__ = ["Best", "Bound", "Instance", "compare", "instance", "instances", "load", "run", "score"]
_MODULES = {"compare": "comparison", "load": "results_file", "run": "protocol", "score": "scores"}


def __getattr__(name: str) -> Any:
    """Loads a function whose packages (h5py, pandas) not every installation has."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
