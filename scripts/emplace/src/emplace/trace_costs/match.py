"""Finds the op of a graph for each call of a traced step.

1  Calls and ops are aligned in their order (align.py): a pair belongs to one family, and its known sizes and types
   agree. Pairs whose sizes are all equal count more, views less.
2  Remaining calls and ops are paired in order if family, sizes and types agree: autograd may run branches in another
   order.
3  Calls and ops that remain between two pairs of the first pass are matched together. If there is one op (dropout on a
   CPU), it gets the time of all the calls. If there is one call (a fused kernel), its time is shared among the ops by
   the bytes that they access. At least one pair of sizes must agree.
4  Updates of parameters (`optimizer.NAME`) share the calls of the optimiser's step: a call on tensors of a parameter's
   size goes to the parameters of that size in equal parts. A call on lists or single numbers goes to all parameters in
   proportion to their bytes.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Iterable, Sequence

import numpy as np

from . import align, names
from .steps import Call, Work

_VIEW, _COMPUTE = 2, 8                    # score of a pair
_EQUAL, _LARGEST_EQUAL, _UNKNOWN = 4, 2, 0  # score added for sizes; views get a quarter
_MOST = 16                                # most calls or ops between two pairs that are matched together
# Families of calls that prepare or inspect memory: they do not affect the matches between two pairs.
_MEMORY = frozenset("as_strided detach empty empty_like empty_strided expand lift_fresh new_empty new_empty_strided "
                    "permute record_stream resolve_conj resolve_neg select slice split to transpose unbind "
                    "view".split())


@dataclasses.dataclass(frozen=True)
class Item:
    """An op of the graph that computes. id: its place in the file; num_bytes: bytes that it accesses [B]."""

    id: int
    kind: str
    work: Work
    is_view: bool
    num_bytes: int

    @property
    def is_update(self) -> bool:
        return self.kind.startswith("optimizer.")


@dataclasses.dataclass(frozen=True)
class Share:
    """The share `part` of the time of call `call` (a place in the step) belongs to op `op`."""

    op: int
    call: int
    part: float


def match(items: Sequence[Item], calls: Sequence[Call]) -> list[Share]:
    """Returns the shares of calls in ops. The parts of each call sum up to 1, or it has none."""
    updates = [item for item in items if item.is_update]
    kinds = {item.kind for item in updates}
    fitting = [place for place, call in enumerate(calls)
               if call.optimizer and kinds & set(names.optimizer_kinds(call.optimizer))]
    if updates:
        items = [item for item in items if not item.is_update]
        rest = [place for place, call in enumerate(calls) if not call.optimizer]
    else:
        rest = list(range(len(calls)))
    return _ordered(items, calls, rest) + _updates(updates, calls, fitting)


def _ordered(items: Sequence[Item], calls: Sequence[Call], places: Sequence[int]) -> list[Share]:
    pairs = _aligned(items, [calls[place].work for place in places])
    free_items, free_places = _free(items, places, pairs)
    waiting: dict[str, list[int]] = collections.defaultdict(list)
    for j in free_places:
        waiting[calls[places[j]].work.family].append(j)
    more = []
    for i in free_items:
        queue = waiting[items[i].work.family]
        found = next((j for j in queue if _agreement(items[i].work, calls[places[j]].work) is not None), None)
        if found is not None:
            queue.remove(found)
            more.append((i, found))
    shares = [Share(items[i].id, places[j], 1.0) for i, j in pairs + more]
    return shares + _gaps(items, calls, places, pairs, more)


def _aligned(items: Sequence[Item], works: Sequence[Work]) -> list[tuple[int, int]]:
    own: dict[tuple[Work, bool], int] = {}
    other: dict[Work, int] = {}
    first = [own.setdefault((item.work, item.is_view), len(own)) for item in items]
    second = [other.setdefault(work, len(other)) for work in works]
    score = np.zeros((len(own), len(other)), dtype=np.int32)
    by_family: dict[str, list[Work]] = collections.defaultdict(list)
    for work in other:
        by_family[work.family].append(work)
    for (work, is_view), row in own.items():
        for candidate in by_family[work.family]:
            agreement = _agreement(work, candidate)
            if agreement is not None:
                score[row, other[candidate]] = _VIEW + agreement // 4 if is_view else _COMPUTE + agreement
    return align.align(first, second, score)


def _agreement(op: Work, call: Work) -> int | None:
    """Returns the score added for sizes; None: the call cannot be the op."""
    if op.dtype and call.dtype and op.dtype != call.dtype:
        return None
    if op.sizes is None or call.sizes is None:
        return _UNKNOWN
    if op.sizes == call.sizes:
        return _EQUAL
    return _LARGEST_EQUAL if op.sizes and call.sizes and op.sizes[-1] == call.sizes[-1] else None


def _free(items: Sequence[Item], places: Sequence[int],
          pairs: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    used_items, used_places = {i for i, _ in pairs}, {j for _, j in pairs}
    return ([i for i in range(len(items)) if i not in used_items],
            [j for j in range(len(places)) if j not in used_places])


def _gaps(items: Sequence[Item], calls: Sequence[Call], places: Sequence[int], pairs: Sequence[tuple[int, int]],
          more: Sequence[tuple[int, int]]) -> list[Share]:
    used_items, used_places = {i for i, _ in more}, {j for _, j in more}
    shares: list[Share] = []
    ends = [*pairs, (len(items), len(places))]
    for (i_begin, j_begin), (i_end, j_end) in zip([(-1, -1), *pairs], ends):
        ops = [items[i] for i in range(i_begin + 1, i_end) if i not in used_items and not items[i].is_view]
        left = [places[j] for j in range(j_begin + 1, j_end) if j not in used_places]
        work = [place for place in left if calls[place].work.family not in _MEMORY]
        if not ops or not work or max(len(ops), len(work)) > _MOST:
            continue
        if all(_agreement(op.work, calls[place].work) is None for op in ops for place in work):
            continue
        if len(ops) == 1:
            shares += [Share(ops[0].id, place, 1.0) for place in left]
        elif len(work) == 1:
            total = sum(op.num_bytes for op in ops)
            shares += [Share(op.id, work[0], op.num_bytes / total) for op in ops if op.num_bytes]
    return shares


def _updates(updates: Sequence[Item], calls: Sequence[Call], places: Sequence[int]) -> list[Share]:
    by_size: dict[int, list[Item]] = collections.defaultdict(list)
    for item in updates:
        if item.work.sizes:
            by_size[item.work.sizes[-1]].append(item)
    total = sum(item.num_bytes for item in updates)
    shares: list[Share] = []
    for place in places:
        sizes = calls[place].work.sizes
        same = by_size.get(sizes[-1], []) if sizes else []
        if same:
            shares += [Share(item.id, place, 1 / len(same)) for item in same]
        elif total and not sizes:
            shares += [Share(item.id, place, item.num_bytes / total) for item in updates]
    return shares
