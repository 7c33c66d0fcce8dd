"""The account of a step's kernels: their time, how much of it is in the graph, and what was lost."""

from __future__ import annotations

import collections
import dataclasses
from typing import Iterable

from .. import Dropped, Imported, ImportFailure
from ..traces.calls import Kernel, short_name
from . import kernels
from .trace import Trace

WARN, REFUSE = 0.02, 0.10  # lost shares of the kernels' time


@dataclasses.dataclass
class Account:
    """total: time of the step's kernels and copies [ns]; lost: (name, why, duration [ns]) of each lost one.

    waiting: time in collectives before the last rank arrived [ns]; it is in `total`, but neither lost nor a cost.
    """

    total: int
    lost: list[tuple[str, str, int]]
    waiting: int = 0

    @staticmethod
    def of(trace: Trace) -> "Account":
        lost = [(str(event.get("name")), "no launch in the trace", kernels.length([event]))
                for event in trace.kernels.lost]
        return Account(kernels.length(trace.kernels.own) + kernels.length(trace.kernels.lost), lost)

    def lose(self, found: Iterable[Kernel], why: str) -> None:
        self.lost += [(kernel.name, why, kernel.duration) for kernel in found]

    def settle(self, imported: Imported, trace: Trace, path: str, allowed: bool) -> None:
        """Adds the account to the import. Throws ImportFailure if more than a tenth is lost and `allowed` is false."""
        self._check_launches(imported, trace, path, allowed)
        if not self.total:
            return
        host = imported.document["source"].get("host_kind")
        inside = sum(round(time) for op in imported.document["ops"] for kind, time in op.get("cost_ns", {}).items()
                     if kind != host) if trace.kernels.own else 0  # else they are times of the CPU
        rest = self.total - inside - self.waiting - sum(duration for _, _, duration in self.lost)
        if rest:
            self.lost.append(("kernels", "in no op of the graph", rest))
        imported.dropped[:0] = self._told(trace)
        lost = sum(duration for _, _, duration in self.lost)
        share = lost / self.total
        imported.document["source"] |= {"kernels_ms": round(self.total / 1e6, 6), "lost_ms": round(lost / 1e6, 6)}
        imported.notes.append(f"kernels of the step: {_ms(self.total)}, {_ms(inside)} in the graph"
                              + (f", {_ms(self.waiting)} waiting for other ranks" if self.waiting else "")
                              + f", {_ms(lost)} lost ({share:.1%})")
        text = f"{path}: {share:.1%} of the kernels' time ({_ms(lost)} of {_ms(self.total)}) is not in the graph: " + \
            "; ".join(f"{name} x {count:,} {_ms(time)}" for (name, _), count, time in self._grouped()[:5])
        if share > REFUSE and not allowed:
            raise ImportFailure(f"{text}; give --allow-loss to import the rest")
        if share > WARN:
            imported.warnings.append(text)

    @staticmethod
    def _check_launches(imported: Imported, trace: Trace, path: str, allowed: bool) -> None:
        silent, ran = len(trace.kernels.silent), len(trace.kernels.own)
        share = silent / (silent + ran or 1)
        text = f"{path}: {silent:,} of {silent + ran:,} launches of the step have no kernel in the trace"
        if share > REFUSE and not allowed:
            raise ImportFailure(f"{text}; give --allow-loss to import the rest")
        if share > WARN:
            imported.warnings.append(text)

    def _grouped(self) -> list[tuple[tuple[str, str], int, int]]:
        """Returns ((name, why), number, time) by falling time."""
        counts: collections.Counter[tuple[str, str]] = collections.Counter()
        times: collections.Counter[tuple[str, str]] = collections.Counter()
        for name, why, duration in self.lost:
            key = (short_name(name), why)
            counts[key] += 1
            times[key] += duration
        return [(key, counts[key], time) for key, time in times.most_common()]

    def _told(self, trace: Trace) -> list[Dropped]:
        told = [Dropped(f"kernel {name}", count, f"lost, {_ms(time)} ({time / (self.total or 1):.1%} of the step's "
                                                 f"kernels): {why}") for (name, why), count, time in self._grouped()]
        for events, where in ((trace.kernels.before, "before"), (trace.kernels.after, "after")):
            if events:
                told.append(Dropped(f"kernels of the time {where} the step", len(events),
                                    f"{_ms(kernels.length(events))}, not of the step"))
        return told


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:,.3f} ms"
