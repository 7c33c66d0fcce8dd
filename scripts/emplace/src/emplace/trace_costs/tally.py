"""Sums over the steps of a device kind: the traced times, and their shares in each op."""

from __future__ import annotations

import collections
from typing import Any, Mapping, Sequence

from .. import _compiled
from ..importers.traces import aten
from .match import Item, Share, match
from .report import DeviceReport, KindRow
from .steps import Call, Step


class Tally:
    """traced, matched: sums over all steps [ns]; of the model: without the optimiser's step."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.traced = self.matched = 0.0
        self.traced_of_model = self.matched_of_model = 0.0
        self._kinds = {item.id: item.kind for item in items}
        self._known: dict[tuple[Any, ...], list[Share]] = {}
        self._spans: list[float] = []
        self._rows: dict[str, KindRow] = {}
        self._unmatched: collections.Counter[str] = collections.Counter()
        self._timed: set[int] = set()
        self._untimed: set[int] = set()

    def add(self, step: Step) -> Mapping[int, float]:
        """Matches a step; returns the time of each matched op by its id [ns]."""
        times: dict[int, float] = collections.defaultdict(float)
        matched = [0.0] * len(step.calls)
        kinds: dict[int, str] = {}
        for share in self._shares(step.calls):
            times[share.op] += share.part * step.calls[share.call].time
            matched[share.call] += share.part
            kinds[share.call] = self._kinds[share.op]
        self._spans.append(float(step.span))
        for place, call in enumerate(step.calls):
            row = self._row(kinds.get(place) or aten.kind(call.name))
            row.traced += call.time
            row.matched += call.time * matched[place]
            self.traced += call.time
            self.matched += call.time * matched[place]
            if not call.optimizer:
                self.traced_of_model += call.time
                self.matched_of_model += call.time * matched[place]
            if not matched[place]:
                self._unmatched[call.name] += call.time
        for op, time in times.items():
            (self._timed if time > 0 else self._untimed).add(op)
        return times

    def largest_unmatched(self) -> list[tuple[str, float]]:
        """Returns operators without an op, by their time in all steps [ns]."""
        return [(name, time) for name, time in self._unmatched.most_common() if time > 0]

    def report(self, kind: str, device_class: str) -> DeviceReport:
        count = len(self._spans)
        found = self._timed | self._untimed
        rows = {kind: KindRow(kind, row.traced / count, row.matched / count) for kind, row in self._rows.items()}
        for item in self.items:
            row = rows.setdefault(item.kind, KindRow(item.kind))
            row.ops += 1
            row.matched_ops += item.id in found
        untimed = sum(item.id in self._untimed - self._timed for item in self.items if not item.is_view)
        span = float(_compiled().summarize_timings(self._spans)["median_ns"])
        return DeviceReport(kind, device_class, count, span, self.traced / count, self.matched / count,
                            len(self.items), len(found), untimed,
                            sorted(rows.values(), key=lambda row: (-row.traced, row.kind)),
                            [(name, time / count) for name, time in self.largest_unmatched()])

    def _shares(self, calls: Sequence[Call]) -> list[Share]:
        """Returns the shares of a step; steps with the same calls are matched once."""
        key = tuple((call.work, call.optimizer) for call in calls)
        if key not in self._known:
            self._known[key] = match(self.items, calls)
        return self._known[key]

    def _row(self, kind: str) -> KindRow:
        return self._rows.setdefault(kind, KindRow(kind))
