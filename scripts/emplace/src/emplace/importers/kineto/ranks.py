"""Waiting and transfer in the collectives of several ranks.

A collective's kernel runs from the arrival of its rank until the data are there, so it also waits for the last rank.
The last rank waits for nobody: the shortest of the kernels of one collective is the transfer, the rest of the others is
waiting. Clocks need not agree. Collectives of one group come in the same order on all of its ranks.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, Mapping, Sequence

from .. import Dropped, ImportFailure
from ..traces import calls, collectives
from ..traces.calls import Call
from .trace import Trace


@dataclasses.dataclass(frozen=True)
class Rank:
    """A rank's step. number, world_size: None if the file does not have them."""

    path: str
    trace: Trace
    number: int | None
    world_size: int | None

    @staticmethod
    def of(path: str, trace: Trace, document: Mapping[str, Any]) -> "Rank":
        found = document.get("distributedInfo")
        found = found if isinstance(found, dict) else {}
        number, size = (found.get(key) if isinstance(found.get(key), int) else None for key in ("rank", "world_size"))
        return Rank(path, trace, number, size)


@dataclasses.dataclass
class Waiting:
    """total: of the first rank [ns]."""

    total: int
    notes: list[str]
    told: list[Dropped]


def separate(selected: Sequence[Call], own: Rank, others: Sequence[Rank]) -> Waiting:
    """Takes the waiting out of the durations of `selected`, the calls of `own`; the attribute waiting_ns has it.

    Only collectives of which all ranks are given are separated. Throws ImportFailure if ranks have other collectives.
    """
    ranks = [own, *others]
    _check(ranks)
    sequences = [_collectives(selected), *(_collectives(calls.select(rank.trace.nodes).calls) for rank in others)]
    waits = [0] * len(ranks)
    left = 0
    for group in dict.fromkeys(key for sequence in sequences for key in sequence):
        members = [place for place, sequence in enumerate(sequences) if group in sequence]
        found = [sequences[place][group] for place in members]
        _check_group(group, [ranks[place] for place in members], found)
        if len(members) < (found[0][0].attributes.get("group_size") or own.world_size or len(ranks)):
            left += len(sequences[0].get(group, []))
            continue
        for together in zip(*found):
            transfer = min(map(_time, together))
            for place, call in zip(members, together):
                waits[place] += _time(call) - transfer
                if place == 0:
                    call.attributes["waiting_ns"] = _time(call) - transfer
                    call.duration = (call.duration or 0) - (_time(call) - transfer)
    notes = [f"{_name(rank)}: {_ms(sum(map(_time, _all(sequence))))} in collectives, of it {_ms(wait)} waiting"
             for rank, sequence, wait in zip(ranks, sequences, waits)]
    told = [Dropped("collectives with waiting", left, "not all ranks of their group are given")] if left else []
    return Waiting(waits[0], notes, told)


def _collectives(selected: Sequence[Call]) -> dict[str, list[Call]]:
    """Returns the collectives with kernels by their group, in the order of their calls."""
    found: dict[str, list[Call]] = collections.defaultdict(list)
    for call in selected:
        if call.kind.startswith("collective.") and call.base not in collectives.POINT_TO_POINT and _time(call):
            found[str(call.attributes.get("ranks") or call.attributes.get("group") or "")].append(call)
    return found


def _all(sequence: Mapping[str, list[Call]]) -> list[Call]:
    return [call for group in sequence.values() for call in group]


def _time(call: Call) -> int:
    return sum(kernel.duration for kernel in call.kernels if collectives.is_kernel(kernel.name))


def _check(ranks: Sequence[Rank]) -> None:
    numbers = collections.Counter(rank.number for rank in ranks if rank.number is not None)
    for number, count in numbers.items():
        if count > 1:
            same = [rank.path for rank in ranks if rank.number == number]
            raise ImportFailure(f"{', '.join(same)}: are all of rank {number}; give one file for each rank")
    for what, values in (("world_size", [rank.world_size for rank in ranks]),
                         ("step", [rank.trace.step for rank in ranks])):
        for rank, value in zip(ranks, values):
            if value != values[0]:
                raise ImportFailure(f"{ranks[0].path}, {rank.path}: are not of the same run: {what} is {values[0]} and "
                                    f"{value}")


def _check_group(group: str, ranks: Sequence[Rank], found: Sequence[list[Call]]) -> None:
    """Throws ImportFailure if the ranks of a group have other collectives."""
    first = [call.base for call in found[0]]
    for rank, sequence in zip(ranks, found):
        names = [call.base for call in sequence]
        if names != first:
            counts = [collections.Counter(each) for each in (first, names)]
            differ = ", ".join(f"{name} {counts[0][name]} and {counts[1][name]}" for name in sorted({*first, *names})
                               if counts[0][name] != counts[1][name]) or "in another order"
            raise ImportFailure(f"{ranks[0].path}, {rank.path}: have other collectives"
                                + (f" in group {group}" if group else "") + f": {differ}")


def _name(rank: Rank) -> str:
    return rank.path if rank.number is None else f"rank {rank.number}"


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:,.3f} ms"
