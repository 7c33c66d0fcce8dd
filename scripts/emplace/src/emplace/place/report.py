"""The table for the user, and the same as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .decide import Decision
from .simulation import Outcome
from .target import Row, Target

if TYPE_CHECKING:
    from .._emplace import Cluster


def table(target: Target, decision: Decision) -> str:
    """Returns the rows: the search's result, single devices, the target's own placement; as placed, as exported."""
    request = target.request
    best = decision.chosen.told
    lines = [["", "" if request.memory_only else f"{_objective(request.objective)} [ms]", "memory [MiB] of "
              + ", ".join(request.cluster.device_names), "" if request.memory_only else "against it"]]
    found = [decision.searched, *decision.rows]
    for row in found:
        lines.append([row.label, *_cells(request.cluster, row, best, request.memory_only)])
    for row in (Row(f"as placed: {decision.chosen.label}", best), Row("as exported, read back", decision.exported)):
        lines.append([row.label, *_cells(request.cluster, row, best, request.memory_only)])
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    text = [f"{line[0]:{widths[0]}}  {line[1]:>{widths[1]}}  {line[2]:{widths[2]}}  {line[3]}".rstrip()
            for line in lines]
    return "\n".join(text + ["", verdict(target, decision)])


def verdict(target: Target, decision: Decision) -> str:
    """Returns one sentence that says which placement was written and why."""
    files = ", ".join(decision.paths)
    only = f" (text only: {target.name} is not run here)" if target.text_only else ""
    if decision.gain and target.request.memory_only:
        return f"{files}{only}: fits; no simpler placement does"
    if decision.gain:
        known = [row for row in decision.rows if row.outcome is not None and row.told.fits]
        if not known:
            return f"{files}{only}: the placement found; no simpler placement fits"
        rival = min(known, key=lambda row: row.told.time)
        ratio = rival.told.time / decision.chosen.told.time
        return (f"{files}{only}: the placement found, {ratio:.{2 if ratio >= 1.05 else 3}f} times as fast as "
                f"{rival.label}")
    if target.request.memory_only:
        return f"{files}{only}: {decision.chosen.label}, which fits"
    return f"{files}{only}: {decision.chosen.label}, because no better placement was found; there is no gain"


def as_json(target: Target, decision: Decision) -> dict[str, Any]:
    """Returns the content of the table, with times in ns and memory in bytes."""
    request = target.request
    names = request.cluster.device_names

    def entry(row: Row) -> dict[str, Any]:
        if row.outcome is None:
            return {"label": row.label, "note": row.note, "default": row.default}
        return {"label": row.label, "default": row.default, **_record(row.told, names)}

    return {"target": target.name, "text_only": target.text_only, "model": request.model,
            "graph": request.document["name"], "cluster": request.cluster.name, "objective": request.objective,
            "memory_only": request.memory_only, "files": decision.paths, "chosen": decision.chosen.label,
            "gain": decision.gain, "found": entry(decision.searched),
            "as_placed": _record(decision.chosen.told, names),
            "as_exported": _record(decision.exported, names), "compared": [entry(row) for row in decision.rows],
            "notes": target.notes}


def _record(outcome: Outcome, names: Any) -> dict[str, Any]:
    return {"time_ns": outcome.time, "fits": outcome.fits, "missing_bytes": outcome.missing,
            "peak_bytes": dict(zip(names, outcome.peaks))}


def _cells(cluster: Cluster, row: Row, best: Outcome, memory_only: bool) -> list[str]:
    if row.outcome is None:
        return ["-", row.note, ""]
    memory = ", ".join(f"{peak / 2**20:,.0f}" for peak in row.told.peaks)
    if not row.told.fits:
        memory += f" ({row.told.missing / 2**20:,.0f} missing)"
    if memory_only:
        return ["", memory, ""]
    ratio = f"{row.told.time / best.time:.2f}" if best.time and row.told.fits else ""
    return [f"{row.told.time / 1e6:,.3f}", memory, ratio]


def _objective(name: str) -> str:
    return name.replace("_", " ")
