"""Joins a profiler's trace with the execution trace of the same run: the latter's calls get the former's times.

Recorded at once, both number their calls alike (`Record function id`). Without these numbers, calls are joined by
thread and order: on each thread, both traces list the same calls in the order of their begins.
"""

from __future__ import annotations

import collections
import dataclasses
import difflib
import itertools
from typing import Iterable, Iterator

from .. import Dropped, ImportFailure
from ..traces.calls import Node, Ref, everything
from .losses import Account
from .trace import Trace

LEAST_NUMBERED = 0.5  # share of the profiler's calls that must be in the execution trace
LEAST_ORDERED = 0.9   # the same without numbers, where names alone can agree by chance
LEAST_SHAPED = 0.9    # share of the joined calls that must have the same shapes; all of them if the processes differ
_PARAMETERS = "torch::autograd::AccumulateGrad"  # one call for each parameter
_OPTIMIZER = "Optimizer.step"
_HELP = "record both at once (see --from kineto --help)"
Pair = tuple[Node, Node]  # of the execution trace, of the profiler's


@dataclasses.dataclass
class Joined:
    """note: the joined share; told: the parts that are not joined."""

    note: str
    told: list[Dropped]


def join(roots: list[Node], process: object, found: Trace, account: Account, files: str) -> Joined:
    """Gives the nodes of the execution trace the times of the profiler's, and removes those without a partner.

    process: number of the execution trace's process. Throws ImportFailure if the two are not of the same run. files:
    their names, for messages.
    """
    numbered = any(number != 0 for number in found.by_function)
    total = sum(1 for node in _all(found.nodes) if not _added(node))
    if numbered:
        pairs, total = _by_number(roots, found, files), len(found.by_function)
        if not total or len(pairs) < LEAST_NUMBERED * total:
            raise ImportFailure(f"{files}: {len(pairs)} of {total} calls are in both; {_HELP}")
    else:
        _check_counts(roots, found.nodes, files)
        pairs = _by_order(roots, found.nodes)
        if len(pairs) < LEAST_ORDERED * total:
            raise ImportFailure(f"{files}: are not of the same run: the order of {total - len(pairs):,} of {total:,} "
                                f"calls differs; {_HELP}")
    _check_shapes(pairs, process, files)
    _give(pairs, found.nodes, account)
    known = {id(node) for node, _ in pairs}
    _prune(roots, known)
    time = sum(node.device or 0 for root in roots for node in everything(root))
    how = "number" if numbered else "thread and order"
    note = f"joined by {how}: {len(pairs):,} of {total:,} calls ({len(pairs) / (total or 1):.1%})"
    if account.total:
        note += f", {time / account.total:.1%} of the kernels' time"
    told = [Dropped("calls that the execution trace does not have", total - len(pairs), "left out; their kernels "
                    "are those of the calls around them")] if len(pairs) < total else []
    return Joined(note, told)


def _by_number(roots: list[Node], found: Trace, files: str) -> list[Pair]:
    pairs = []
    for node in _all(roots):
        other = found.by_function.get(node.id)
        if other is None or node.id == 0:
            continue
        if other.name != node.name:
            raise ImportFailure(f"{files}: are not of the same run: call {node.id} is {other.name!r} in one and "
                                f"{node.name!r} in the other; {_HELP}")
        pairs.append((node, other))
    return pairs


def _by_order(roots: list[Node], tops: list[Node]) -> list[Pair]:
    """Returns pairs of calls of the same name.

    Each of the profiler's threads belongs to the thread of the execution trace with which it shares most calls.
    """
    threads: dict[object, list[Node]] = collections.defaultdict(list)
    for top in tops:
        threads[top.thread] += [node for node in everything(top) if not _added(node)]
    left = _threads(roots)
    pairs: list[Pair] = []
    for others in sorted(threads.values(), key=len, reverse=True):
        names = _names(others)
        best = max(range(len(left)), key=lambda place: sum((names & _names(left[place])).values()), default=None)
        if best is not None:
            found = _aligned(left[best], sorted(others, key=lambda node: (node.order, -(node.duration or 0))))
            taken = {id(node) for node, _ in found}
            left[best] = [node for node in left[best] if id(node) not in taken]
            pairs += found
    return pairs


def _aligned(calls: list[Node], others: list[Node]) -> list[Pair]:
    """Returns the pairs of two threads: equal runs of names, and within unequal ones each name in its order."""
    pairs: list[Pair] = []
    begin = 0
    while begin < min(len(calls), len(others)) and calls[begin].name == others[begin].name:
        pairs.append((calls[begin], others[begin]))
        begin += 1
    calls, others = calls[begin:], others[begin:]
    matcher = difflib.SequenceMatcher(None, [node.name for node in calls], [node.name for node in others], False)
    for same, first, last, other_first, other_last in matcher.get_opcodes():
        # Begins within a microsecond change places.
        waiting: dict[str, collections.deque[Node]] = collections.defaultdict(collections.deque)
        for node in calls[first:last]:
            waiting[node.name].append(node)
        pairs += [(waiting[other.name].popleft(), other) for other in others[other_first:other_last]
                  if waiting[other.name]]
    return pairs


def _names(nodes: Iterable[Node]) -> collections.Counter[str]:
    return collections.Counter(node.name for node in nodes)


def _threads(roots: list[Node]) -> list[list[Node]]:
    """Returns the calls of each thread of an execution trace, in the order of their begins."""
    tops = [node for root in roots for node in (root.children if _frame(root) else [root])]
    found = [top.children for top in tops if _frame(top)] + [[top for top in tops if not _frame(top)]]
    return [sorted((node for top in thread for node in everything(top)), key=lambda node: node.order)
            for thread in found if thread]


def _frame(node: Node) -> bool:
    """Returns whether a node is the process or a thread."""
    return node.name.startswith("[pytorch|profiler|")


def _added(node: Node) -> bool:
    """Returns whether a node stands for a kernel without an operator."""
    return node.thread is None


def _all(nodes: Iterable[Node]) -> Iterator[Node]:
    return (each for node in nodes for each in everything(node))


def _check_counts(roots: list[Node], tops: list[Node], files: str) -> None:
    """Throws ImportFailure with the counts that differ if the two list other calls in a step."""
    ours = _names(node for node in _all(roots) if not _frame(node))
    theirs = _names(node for node in _all(tops) if not _added(node))
    steps = [max(1, sum(count for name, count in counts.items() if name.startswith(_OPTIMIZER)))
             for counts in (theirs, ours)]
    per_step = {name: (theirs[name] / steps[0], ours[name] / steps[1]) for name in {**theirs, **ours}}
    same = sum(min(pair) for pair in per_step.values())
    both = all(any(name.startswith(_OPTIMIZER) for name in counts) for counts in (ours, theirs))
    total = max(sum(pair[side] for pair in per_step.values()) for side in ((0, 1) if both else (0,)))
    if same >= LEAST_ORDERED * total:
        return
    differ = {name: abs(first - second) for name, (first, second) in per_step.items() if first != second}
    largest = sorted(differ, key=lambda name: (name != _PARAMETERS, -differ[name], name))[:6]
    counts = ", ".join(f"{name} {per_step[name][0]:.4g} and {per_step[name][1]:.4g}" for name in largest)
    raise ImportFailure(f"{files}: are not of the same run: calls in a step ({steps[0]} and {steps[1]} steps): "
                        f"{counts}; {_HELP}")


def _check_shapes(pairs: list[Pair], process: object, files: str) -> None:
    """Throws ImportFailure if the joined calls have tensors of other shapes: of another batch, or of another rank."""
    known = [(node.name, _shapes(node), _shapes(other)) for node, other in pairs if _shapes(other)]
    others = [each for each in known if each[1] != each[2]]
    processes = {other.thread[0] for _, other in pairs}
    least = LEAST_SHAPED if process in processes else 1
    if len(others) > (1 - least) * len(known):
        name, ours, theirs = others[0]
        first, second = next(pair for pair in itertools.zip_longest(theirs, ours) if pair[0] != pair[1])
        told = "" if process in processes else f" (processes {', '.join(map(str, processes))} and {process})"
        raise ImportFailure(f"{files}: are not of the same run{told}: {len(others):,} of {len(known):,} joined calls "
                            f"have other shapes, such as {name} {first} and {second}; {_HELP}")


def _shapes(node: Node) -> list[list[int]]:
    return [list(ref.shape) for ref in node.inputs if isinstance(ref, Ref) and ref.shape]


def _give(pairs: list[Pair], tops: list[Node], account: Account) -> None:
    """Gives the times and kernels to the partners.

    The kernels of a call without partner are those of the call around it, or lost.
    """
    partners = {id(other): node for node, other in pairs}
    for node, other in pairs:
        node.duration, node.device, node.kernels = other.duration, other.device, list(other.kernels)
        node.recorded = {**node.recorded, **other.recorded}

    def visit(other: Node, around: Node | None, order: float) -> float:
        """Returns the place of the last partner inside; order: of the last partner before."""
        own = partners.get(id(other))
        if own is not None:
            order = own.order
        elif other.device is not None and around is None:
            account.lose(other.kernels, "its call is not in the execution trace")
        elif other.device is not None and around is not None and _added(other):
            around.children.append(dataclasses.replace(other, order=order + 0.5))
        elif other.device is not None and around is not None:
            around.device = (around.device or 0) + other.device
            around.kernels += other.kernels
        for child in sorted(other.children, key=lambda each: each.order):
            order = visit(child, own or around, order)
        return order

    for top in tops:
        visit(top, None, 0)


def _prune(nodes: list[Node], known: set[int]) -> None:
    """Removes the nodes without partner, except ranges around nodes with one, and kernels without an operator."""
    for node in nodes:
        _prune(node.children, known)
    nodes[:] = [node for node in nodes if id(node) in known or node.children or node.kernels]
