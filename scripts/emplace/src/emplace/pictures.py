"""Pictures of single steps, for notebooks: a timeline as a Gantt chart, and the passes of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _compiled

if TYPE_CHECKING:
    from . import PlannedStep, Timeline

PHASE_COLOURS = ("#4c78a8", "#f58518", "#54a24b")  # forward, backward, update
PHASES = ("forward", "backward", "update")
TRANSFER_COLOUR = "#9d755d"


class Svg(str):
    """A picture as SVG text, which notebooks show."""

    def _repr_svg_(self) -> str:
        return str(self)


def plan(planned: PlannedStep, timeline: Timeline, title: str = "") -> Svg:
    """Returns a picture: a row for each device by replica and stage with its passes over micro-batches and its memory.

    planned: of apply_plan() or BestPlan; timeline: of its step, for example Problem(...).timeline(placement).
    """
    return Svg(_compiled().plan_picture(planned, timeline, title))


def gantt(timeline: Timeline, graph: Any = None, *, memory: bool = True, width: float = 10) -> Any:
    """Returns a matplotlib Figure: a row per device slot and per channel in use; below, the memory of each device.

    graph: emplace.Graph of the timeline (Problem.graph), which distinguishes forward, backward and update.
    """
    from matplotlib.patches import Patch

    from .results.layout import Picture

    ops, transfers = timeline.ops, timeline.transfers
    ops = ops[ops[:, 5] > ops[:, 4]]
    rows = sorted({(int(d), int(s)) for d, s in ops[:, 1:3]})
    channels = sorted({int(k) for k in transfers[:, 2]})
    names = [timeline.device_names[d] + (f" slot {s}" if (d, 1) in rows else "") for d, s in rows]
    names += [timeline.channel_names[k] for k in channels]
    panels = 2 if memory and len(timeline.memory) else 1
    figure = Picture(figsize=(width, 1.2 + 0.32 * len(names) + 1.8 * (panels - 1)), layout="constrained")
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False,
                           height_ratios=[max(1.5, 0.32 * len(names)), 1.6][:panels])[:, 0]
    phases = graph.phase[ops[:, 0]] if graph is not None else np.zeros(len(ops), dtype=int)
    for y, (device, slot) in enumerate(rows):
        mine = (ops[:, 1] == device) & (ops[:, 2] == slot)
        for phase in range(3):
            chosen = ops[mine & (phases == phase)]
            axes[0].broken_barh(np.stack([chosen[:, 4], chosen[:, 5] - chosen[:, 4]], axis=1) / 1e6, (y - 0.4, 0.8),
                                facecolors=PHASE_COLOURS[phase], edgecolor="white", linewidth=0.2)
    for y, channel in enumerate(channels, start=len(rows)):
        chosen = transfers[transfers[:, 2] == channel]
        axes[0].broken_barh(np.stack([chosen[:, 6], chosen[:, 7] - chosen[:, 6]], axis=1) / 1e6, (y - 0.3, 0.6),
                            facecolors=TRANSFER_COLOUR, linewidth=0)
    axes[0].set_yticks(range(len(names)), names, fontsize=8)
    axes[0].invert_yaxis()
    axes[0].set_title(f"step time {timeline.step_time / 1e6:.3f} ms"
                      f"{'' if timeline.feasible else ' (does not fit into memory)'}", fontsize=10, loc="left")
    used = PHASES if graph is not None else ("op",)
    axes[0].legend(handles=[*(Patch(color=PHASE_COLOURS[i], label=name) for i, name in enumerate(used)),
                            Patch(color=TRANSFER_COLOUR, label="transfer")], fontsize=7, loc="lower right",
                   bbox_to_anchor=(1, 1), borderaxespad=0.3, frameon=False, ncols=4)
    if panels == 2:
        for d, name in enumerate(timeline.device_names):
            mine = timeline.memory[timeline.memory[:, 0] == d]
            if len(mine) and mine[:, 2].max() > 0:
                axes[1].step(np.append(mine[:, 1], timeline.step_time) / 1e6,
                             np.append(mine[:, 2], mine[-1, 2]) / 2**30, where="post", label=name, linewidth=1)
        axes[1].set_ylabel("memory [GiB]", fontsize=8)
        axes[1].set_ylim(bottom=0)
        axes[1].legend(fontsize=7, loc="upper right")
    axes[-1].set_xlabel("time [ms]", fontsize=8)
    return figure
