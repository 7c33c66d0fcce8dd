"""Whether a plan of several GPUs would do more steps a second than the placement: a short search for one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from . import grain
from .target import Request

if TYPE_CHECKING:
    from .._emplace import Cluster
    from ..plans import FoundPlan

SECONDS = 3.0  # of the search
LEAST_GAIN = 1.05
MOST_OPS = 20_000  # larger graphs need more time before the search begins


@dataclasses.dataclass(frozen=True)
class Hint:
    """A plan that is better. count: its samples are those of so many steps; gain: samples a second / placement's."""

    plan: FoundPlan
    count: int
    gain: float
    batch: int | None  # samples of its step; None: the graph does not have its own

    def sentence(self, cluster: str) -> str:
        """Returns the sentence for the user, who named the cluster so."""
        plan, command = self.plan, f"emplace plan GRAPH --cluster {cluster} --batch "
        parts = [f"{number} {name}" + "s" * (number > 1) for number, name in (
            (plan.plan.replicas, "replica"), (plan.num_stages, "stage")) if number > 1]
        return (f"A plan would do better: {' of '.join(parts)}, with {self.count} times the batch in "
                f"{plan.step_time / 1e6:,.3f} ms, {'do' if plan.plan.replicas > 1 else 'does'} {self.gain:.2f} times "
                f"as many samples a second ({command}{self.batch or 'B'})")

    def json(self) -> dict[str, Any]:
        return {"replicas": self.plan.plan.replicas, "stages": self.plan.num_stages,
                "micro_batches": self.plan.plan.micro_batches, "steps": self.count,
                "step_time_ns": self.plan.step_time, "gain": self.gain}


def find(request: Request, cluster: Cluster, time: int) -> Hint | str:
    """Returns a plan whose samples a second are at least LEAST_GAIN times those of a placement; else "", or why not.

    time: of the placement, step time or period [ns]. Only training steps have plans, on at least two GPUs.
    """
    import emplace

    count = cluster.device_classes.count("gpu")
    if request.inference or request.memory_only or count < 2:
        return ""
    if len(request.document["ops"]) > MOST_OPS:
        return f"no plan was searched, since the graph has more than {MOST_OPS:,} ops; `emplace plan` searches"
    try:
        found = emplace.search_plans(grain.compiled(request.document), cluster, count, sizes=[1], costs=request.costs,
                                     seconds=SECONDS)
    except emplace.InputError as error:
        return f"no plan was searched: {error}"
    plan = found.plans[0] if found.best is not None else None
    if plan is None or plan.plan.replicas * plan.num_stages == 1:
        return ""
    gain = count * time / plan.step_time
    size = request.document.get("source", {}).get("batch")
    return Hint(plan, count, gain, count * size if isinstance(size, int) else None) if gain >= LEAST_GAIN else ""
