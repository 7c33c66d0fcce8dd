"""A report for people, and as JSON: matched and unmatched calls, and the difference between ops and the whole step."""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

from .simulated import Simulated

_SHOWN = 12  # kinds of ops, and unmatched calls


@dataclasses.dataclass
class KindRow:
    """An op kind: mean times [ns] per step, number of ops of the graph."""

    kind: str
    traced: float = 0
    matched: float = 0
    ops: int = 0
    matched_ops: int = 0


@dataclasses.dataclass
class DeviceReport:
    """One device kind. Mean times [ns] per step: traced, matched, unmatched; span: median length of a step."""

    device_kind: str
    device_class: str
    steps: int
    span: float
    traced: float
    matched: float
    ops: int
    matched_ops: int
    without_time: int  # matched ops that ran no kernel and are not views
    kinds: list[KindRow]
    unmatched: list[tuple[str, float]]  # operator, time
    simulated: Simulated | None = None
    not_simulated: str = ""             # the reason

    @property
    def share(self) -> float:
        return self.matched / self.traced if self.traced else 0.0

    @property
    def residual(self) -> float | None:
        """Returns the traced step minus the step simulated on one device [ns]."""
        return None if self.simulated is None else self.span - self.simulated.step


def as_text(reports: Sequence[DeviceReport], warnings: Sequence[str]) -> str:
    lines: list[str] = []
    for report in reports:
        lines += [*_device(report), ""]
    return "\n".join([*lines, *(f"warning: {warning}" for warning in warnings)]).rstrip()


def as_json(reports: Sequence[DeviceReport], warnings: Sequence[str]) -> dict[str, Any]:
    return {"device_kinds": [{**dataclasses.asdict(report), "matched_share": report.share,
                              "residual": report.residual} for report in reports], "warnings": list(warnings)}


def _device(report: DeviceReport) -> list[str]:
    lines = [f"{report.device_kind} ({report.device_class}): {report.steps} step{'s' * (report.steps != 1)}; matched "
             f"{report.matched_ops:,} of {report.ops:,} ops, {100 * report.share:.1f} % of {_ms(report.traced)} ms "
             f"traced in ops"]
    rows = [["op kind", "ms a step", "matched", "ops", "matched"]]
    rows += [[row.kind, _ms(row.traced), f"{100 * row.matched / row.traced:.1f} %" if row.traced else "",
              f"{row.ops:,}" if row.ops else "", f"{row.matched_ops:,}" if row.ops else ""]
             for row in report.kinds[:_SHOWN]]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines += ["  " + f"{row[0]:{widths[0]}}  " + "  ".join(f"{cell:>{width}}" for cell, width in
                                                          zip(row[1:], widths[1:])) for row in rows]
    if len(report.kinds) > _SHOWN:
        lines.append(f"  and {len(report.kinds) - _SHOWN} kinds with less time")
    if report.unmatched:
        lines.append("  largest without an op [ms a step]: "
                     + ", ".join(f"{name} {_ms(time)}" for name, time in report.unmatched[:_SHOWN]))
    if report.simulated is None:
        lines.append(f"  costs of the other ops: none ({report.not_simulated})")
        return lines
    simulated = report.simulated
    lines.append("  costs from: " + ", ".join(f"{source} {100 * share:.1f} % ({simulated.ops[source]:,} ops)"
                                              for source, share in
                                              sorted(simulated.shares.items(), key=lambda each: -each[1])))
    lines.append(f"  step {_ms(report.span)} ms traced, {_ms(simulated.step)} ms simulated on one device (sum of ops "
                 f"{_ms(simulated.total)} ms); residual {_ms(report.span - simulated.step)} ms, "
                 f"{100 * (report.span - simulated.step) / report.span:.1f} % of the step")
    return lines


def _ms(nanos: float) -> str:
    return f"{nanos / 1e6:,.3f}"
