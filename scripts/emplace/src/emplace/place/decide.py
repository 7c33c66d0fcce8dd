"""From a target to a decision: simulates, chooses, writes, reads back and simulates again."""

from __future__ import annotations

import dataclasses
from typing import Any

from .grain import PlaceFailure
from .simulation import Outcome
from .target import Row, Target

LEAST_GAIN = 1e-3  # share of the time; a smaller gain does not justify a map


@dataclasses.dataclass(frozen=True)
class Decision:
    """searched: the best placement of the search. rows: the placements it is compared with. chosen: the placement that
    was written. exported: the same, read back from the files and simulated. gain: whether the searched placement is
    better than all others and therefore chosen."""

    searched: Row
    rows: list[Row]
    chosen: Row
    exported: Outcome
    paths: list[str]
    gain: bool


def decide(target: Target, stem: str) -> Decision:
    """Searches, compares, writes files that begin with `stem`, and checks that they express the simulated placement.

    Throws PlaceFailure if nothing fits into memory, or if the files lead to a different placement.
    """
    rows = target.alternatives()
    searched = target.search()
    key = _fill if target.request.memory_only else _time
    known = [row for row in rows if row.outcome is not None and row.payload is not None]
    best = min([row for row in known if row.told.fits], key=lambda row: key(target, row), default=None)
    gain = searched.told.fits and (best is None or (
        not target.request.memory_only and searched.told.time < best.told.time * (1 - LEAST_GAIN)))
    chosen = searched if gain else best
    if chosen is None:
        least = min([searched, *known], key=lambda row: row.told.missing)
        raise PlaceFailure(f"{target.request.model} does not fit on cluster {target.request.cluster.name!r}: at least "
                           f"{least.told.missing:,} bytes are missing ({least.label}: {_where(target, least)})")
    paths = target.write(chosen.payload, stem)
    device_of_op = target.read(paths)
    exported = target.simulate(device_of_op)
    _require_same(target, chosen, device_of_op, exported)
    tried = target.try_out(paths)
    if tried:
        target.notes.append(tried)
    return Decision(searched, rows, chosen, exported, paths, gain)


def _time(target: Target, row: Row) -> Any:
    return row.told.time


def _fill(target: Target, row: Row) -> Any:
    """Returns the used share of the fullest device's memory."""
    return max(peak / max(int(room), 1) for peak, room in zip(row.told.peaks, target.request.cluster.memory))


def _where(target: Target, row: Row) -> str:
    """Returns "gpu:0 needs 12 B of 10 B" for each device that lacks memory."""
    cluster = target.request.cluster
    return "; ".join(f"{name} needs {peak:,} B and has {int(room):,} B"
                     for name, peak, room in zip(cluster.device_names, row.told.peaks, cluster.memory)
                     if peak > room)


def _require_same(target: Target, chosen: Row, device_of_op: tuple[int, ...], exported: Outcome) -> None:
    moved = [op["name"] for op, a, b in zip(target.simulated_document()["ops"], chosen.device_of_op, device_of_op)
             if a != b]
    if moved or exported.time != chosen.told.time:
        raise PlaceFailure(f"the files for {target.name} do not express the placement: {len(moved)} ops are on other "
                           "devices"
                           f"{' (' + ', '.join(moved[:5]) + ')' if moved else ''}; {exported.time} ns instead of "
                           f"{chosen.told.time} ns. This is an error of emplace; no file was kept")
