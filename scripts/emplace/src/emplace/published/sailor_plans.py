"""Executed plans of Sailor (eth-easl/sailor): steps of a model on several nodes, by op tables, collectives and links.

simulations/validation/MACHINE/[MODEL/]N*/plan_config_*.json has one pipeline: the layers of each stage, of each replica
of a stage its GPUs and tensor-parallel degree (tmp_per_stage), the micro-batch (mbs), the global batch (gbs) and the
number of nodes (N). Measured are the step `real` [s] and the memory `max_mem` [B], which are only compared; `red_grads`
is not read. Tables: see sailor.py.

A stage of a replica is one device: the ops of a degree above 1 contain its collectives. Layer 0 has the rows of the op
table before those of a layer ("enc-"), the last layer the rows after them. A transfer between stages takes as long as
the published one of its size, and keeps both devices busy. Gradients are reduced after the last backward pass, on one
node as published for as many GPUs, between nodes by a ring. Sums of gradients and updates (Adam) take the time of their
bytes at the memory bandwidth that the table shows.

Two plans are fitted for each machine, and not compared: the one with the fewest stages and of these the most replicas,
and the one with the smallest micro-batch and of these the most stages and micro-batches. They give four figures: the
launch and waiting contained in each published op time; the factor of reductions between nodes over a ring at the
published bandwidth (without a table of links between nodes, the bandwidth of a node's one link); the share of the
column `activations` that stays in memory; memory that does not depend on the plan.
"""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import statistics
from typing import Sequence

import numpy as np
import numpy.typing as npt

from . import plans
from .figures import FITTED, OPS, Compared, aligned, spelt
from .least_squares import least_squares
from .sailor_plan_files import Plan, Replica, read as read
from .sailor_step import StepGraph
from .sailor_tables import Tables, interpolated, memory_bandwidth
from .tables import LeftOut

# Adam reads parameter, gradient and two moments, and writes all but the gradient. A sum reads two and writes one.
_UPDATE_PASSES, _SUM_PASSES = 7, 3
_LEAST_PLANS = 4  # of a machine, two of which are fitted
_SLOWEST_LINK, _FASTEST_LINK = 1e7, 1e12  # [B/s] where no table has the links between nodes
_LARGEST_FACTOR = 100.0


@dataclasses.dataclass(frozen=True)
class Fit:
    """What is fitted for a machine. launch [ns]; link: see the head of this file; share; constant [B]."""

    launch: float = 0.0
    link: float = 1.0
    share: float = 1.0
    constant: float = 0.0


def compare(found: Sequence[Plan], folder: pathlib.Path) -> tuple[list[Compared], list[LeftOut]]:
    """Returns the simulated plans, and those fitted or left out. Throws InputError, PublishedFailure."""
    machines: dict[str, list[Plan]] = collections.defaultdict(list)
    left_out, rows = [], []
    published = Tables(folder)
    for plan in found:
        why = published.missing(plan)
        if why:
            left_out.append(LeftOut(plan.case, why))
        else:
            machines[plan.gpu].append(plan)
    for here in machines.values():
        fit, used = fitted(here, published) if len(here) >= _LEAST_PLANS else (Fit(), [])
        left_out += [LeftOut(plan.case, f"a fit is from it: {described(fit, bool(published.links(used[0])))}")
                     for plan in used]
        for plan in here:
            if not used and plan.crosses_nodes and not published.links(plan):
                left_out.append(LeftOut(plan.case, f"no table of links between nodes, and fewer than {_LEAST_PLANS} "
                                                   "plans to fit them"))
            elif plan not in used:
                done = Executed(plan, published).simulate(fit)
                memory = {"memory_measured": plan.memory, "memory_simulated": round(done.peak + fit.constant)}
                rows.append(Compared(plan.case, plan.gpu, "plan", plan.measured, done.step_time,
                                     FITTED if used else OPS, more=memory if used else {}, peers=plan.peers))
    return rows, left_out


def memory_report(rows: Sequence[Compared]) -> str:
    """Returns the measured and simulated memory of the plans, and the mean error of each machine."""
    known = [(row, row.more["memory_measured"], row.more["memory_simulated"]) for row in rows if row.more]
    lines = aligned([("case", "memory [GB]", "simulated [GB]", "error"),
                     *((row.case, f"{measured / 1e9:.3f}", f"{simulated / 1e9:.3f}", f"{simulated / measured - 1:+.1%}")
                       for row, measured, simulated in known)])
    for machine in dict.fromkeys(row.gpu for row, _, _ in known):
        errors = [abs(simulated / measured - 1) for row, measured, simulated in known if row.gpu == machine]
        lines.append(f"{machine}: mean error of the memory {statistics.mean(errors):.2%}, largest {max(errors):.1%}")
    return "\n".join(lines)


def described(fit: Fit, has_links: bool) -> str:
    """Returns the fitted figures as a text."""
    link = f"reductions between nodes {fit.link:.2f} times a ring" if has_links else (
        f"{fit.link / 1e6:.0f} MB/s between nodes")
    return (f"launch {fit.launch / 1e3:.1f} us, {link}, {fit.share:.3f} of activations, "
            f"{fit.constant / 1e9:.2f} GB of memory")


class Executed:
    """A plan with its tables."""

    def __init__(self, plan: Plan, published: Tables) -> None:
        self.plan, self.published = plan, published
        self.links = published.links(plan)
        self.rows = [published.ops(plan, stage[0]) for stage in plan.replicas]

    def simulate(self, fit: Fit) -> plans.Simulated:
        """Throws InputError."""
        plan = self.plan
        step = StepGraph(self.rows, plan, fit.share)
        gpus = sorted({replica for stage in plan.replicas for replica in stage}, key=lambda r: (r.gpu, r.degree))
        transfers = [max(self._transfer(step.boundaries[stage], (r, stage), (r, stage + 1), fit)
                         for r in range(plan.width)) for stage in range(len(plan.stages) - 1)]
        times = {_kind(replica): step.times(self.published.ops(plan, replica), fit.launch) for replica in gpus}
        bandwidth = min(memory_bandwidth(self.published.ops(plan, replica)) for replica in gpus)
        for each in times.values():
            each += step.update_bytes * _UPDATE_PASSES / bandwidth * 1e9
            for op, boundary in step.transfers.items():
                each[op] = transfers[boundary]
        reductions = [self._reduction(stage, size, fit) for stage, size in enumerate(step.gradients)]
        stages = len(plan.stages)
        order = [plan.replicas[stage][r] for r in range(plan.width) for stage in range(stages)]
        cluster = plans.cluster_of([_kind(replica) for replica in order], stages if plan.width > 1 else 0)
        return plans.simulate(step.builder.document(), step.stages, cluster, plan.width, plan.micro_batches,
                              plans.Costs(times, step.gradient_bytes * _SUM_PASSES / bandwidth * 1e9, reductions))

    def _transfer(self, size: int, source: tuple[int, int], target: tuple[int, int], fit: Fit) -> float:
        """Returns the time of a transfer [ns]. source, target: replica and stage."""
        if self.plan.node(*source) == self.plan.node(*target):
            return interpolated(self.published.links(self.plan, "intra"), size)
        return interpolated(self.links, size) if self.links else size / fit.link * 1e9

    def _reduction(self, stage: int, size: int, fit: Fit) -> float:
        """Returns the time of the all-reduce of a stage's gradients [ns]. size: of one GPU [B]."""
        count = self.plan.width
        if count == 1 or size == 0:
            return 0.0
        if len({self.plan.node(replica, stage) for replica in range(count)}) == 1:
            return max(interpolated(self.published.reductions(replica.gpu, count), size)
                       for replica in self.plan.replicas[stage])
        if self.links:
            return 2 * (count - 1) * interpolated(self.links, size / count) * fit.link
        return 2 * (count - 1) / count * size * self.plan.replicas[stage][0].degree / fit.link * 1e9


def fitted(here: Sequence[Plan], published: Tables) -> tuple[Fit, list[Plan]]:
    """Returns the figures of a machine, and the two plans that they are from. Throws InputError."""
    first = min(here, key=lambda plan: (len(plan.stages), -plan.width, plan.case))
    second = min((plan for plan in here if plan is not first),
                 key=lambda plan: (plan.micro_batch, -len(plan.stages), -plan.micro_batches, plan.case))
    used = [first, second]
    executed = [Executed(plan, published) for plan in used]
    has_links = bool(executed[0].links)
    most_launch = min(min(row.forward, row.backward) for plan in here for stage in plan.replicas for replica in stage
                      for row in published.ops(plan, replica))

    def time_errors(launch: float, link: float) -> npt.NDArray[np.float64]:
        rate = link if has_links else 1 / link
        return np.array([each.simulate(Fit(launch, rate)).step_time / each.plan.measured - 1 for each in executed])

    bounds = ((0.0, most_launch), (1.0, _LARGEST_FACTOR) if has_links else (1 / _FASTEST_LINK, 1 / _SLOWEST_LINK))
    ring = 2.0 if first.width > 1 else 1.0
    launch, link = least_squares(time_errors, (most_launch / 2, ring if has_links else 1 / 1e9), bounds)

    def memory_errors(share: float, constant: float) -> npt.NDArray[np.float64]:
        return np.array([(each.simulate(Fit(share=share, link=1.0 if has_links else 1e9)).peak + constant)
                         / each.plan.memory - 1 for each in executed])

    least = min(plan.memory for plan in used)
    share, constant = least_squares(memory_errors, (0.5, least / 4), ((0.01, 2.0), (0.0, least)))
    return Fit(launch, link if has_links else 1 / link, share, constant), used


def _kind(replica: Replica) -> str:
    return f"{spelt(replica.gpu)}_tp{replica.degree}"
