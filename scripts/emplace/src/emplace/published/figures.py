"""Rows of cases, measured and simulated, and figures of their errors."""

from __future__ import annotations

import collections
import dataclasses
import re
import statistics
from typing import Any, Mapping, Sequence

from ..ranks import kendall_tau
from .tables import LeftOut

# Sources of the simulated times.
OPS, FITTED, DATA_SHEET, REPLAY, OTHERS, RANGES = "ops", "fitted", "data sheet", "replay", "others", "ranges"
PREDICTED, RING, FASTEST = "predicted", "ring", "fastest"
MOST_CASES = 60  # in the printed table


@dataclasses.dataclass(frozen=True)
class Compared:
    """A case. group: the op kind, or "step"; totals: groups of groups, such as "all ops". Times in [ns].

    more: other figures, which its source explains. peers: names the cases that users choose among.
    """

    case: str
    gpu: str
    group: str
    measured: float
    simulated: float
    how: str
    totals: tuple[str, ...] = ()
    more: Mapping[str, float] = dataclasses.field(default_factory=dict)
    peers: str = ""

    @property
    def error(self) -> float:
        return self.simulated / self.measured - 1

    def json(self) -> dict[str, Any]:
        return {"case": self.case, "measured": self.measured, "simulated": self.simulated, "error": self.error,
                "how": self.how, "gpu": self.gpu,
                **{key: value for key, value in self.more.items() if key.startswith("memory_")}}


@dataclasses.dataclass(frozen=True)
class Choice:
    """Cases with equal peers. simulated, measured: the first case by each time."""

    cases: int
    simulated: Compared
    measured: Compared

    @property
    def loss(self) -> float:
        """Returns the share of time that the simulated choice loses: its measured time / the least - 1."""
        return self.simulated.measured / self.measured.measured - 1


def choices(rows: Sequence[Compared]) -> dict[tuple[str, str], Choice]:
    """Returns by GPU and peers the choice among their cases, where there are several."""
    groups: dict[tuple[str, str], list[Compared]] = collections.defaultdict(list)
    for row in rows:
        if row.peers:
            groups[row.gpu, row.peers].append(row)
    return {key: Choice(len(group), min(group, key=lambda row: row.simulated), min(group, key=lambda row: row.measured))
            for key, group in sorted(groups.items()) if len(group) > 1}


def choice_report(rows: Sequence[Compared]) -> str:
    """Returns the cases that the simulation ranks first among their peers, beside the best measured ones."""
    return "\n".join(aligned([("GPU", "among", "cases", "simulated first", "best measured", "slower than it"),
                              *((gpu, peers, str(choice.cases), choice.simulated.case, choice.measured.case,
                                 f"{choice.loss:.1%}") for (gpu, peers), choice in choices(rows).items())]))


def spelt(name: str) -> str:
    """Returns a GPU's name in the form of device kinds: nvidia_l4."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def report(rows: Sequence[Compared], left_out: Sequence[LeftOut]) -> str:
    """Returns the cases with the largest errors, the figures of each group and GPU, and the cases left out."""
    shown = sorted(rows, key=lambda row: -abs(row.error))[:MOST_CASES] if len(rows) > MOST_CASES else list(rows)
    lines = aligned([("case", "measured [ms]", "simulated [ms]", "error", "how"),
                      *((row.case, f"{row.measured / 1e6:,.3f}", f"{row.simulated / 1e6:,.3f}", f"{row.error:+.1%}",
                         row.how) for row in shown)])
    if len(shown) < len(rows):
        lines.append(f"the {len(shown)} largest errors of {len(rows):,} cases; --json has all")
    groups: dict[tuple[str, str], list[Compared]] = collections.defaultdict(list)
    for row in rows:
        for name in (row.group, *row.totals):
            groups[row.gpu, name].append(row)
    lines += ["", *aligned([("GPU", "of", "cases", "MAPE", "largest error", "bias", "Kendall's tau"),
                             *((gpu, name, *figures(group)) for (gpu, name), group in sorted(groups.items()))])]
    by_reason: dict[str, list[str]] = collections.defaultdict(list)
    for left in left_out:
        by_reason[left.why].append(left.case)
    for why, cases in by_reason.items():
        more = f" and {len(cases) - 8:,} more" if len(cases) > 8 else ""
        lines.append(f"left out, {why}: {', '.join(cases[:8])}{more}")
    return "\n".join(lines)


def figures(rows: Sequence[Compared]) -> tuple[str, ...]:
    """Returns number, MAPE, largest error, bias and Kendall's tau as texts."""
    errors = [row.error for row in rows]
    tau = kendall_tau([row.measured for row in rows], [row.simulated for row in rows])
    return (f"{len(rows):,}", f"{statistics.mean(map(abs, errors)):.2%}", f"{max(errors, key=abs):+.1%}",
            f"{statistics.median(errors):+.2%}", f"{tau:.3f}")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns lines with columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
