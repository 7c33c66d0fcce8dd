"""The rows of the papers' tables, as configs/papers/ has them."""

from __future__ import annotations

import dataclasses
import pathlib
import re
from typing import Mapping

import yaml

from papers_machine.machine import Machine

OOM = "oom"
BASELINES = ("single_cpu", "single_gpu", "expert", "scotch", "min_cut")
HELD_OUT = ("scotch", "min_cut")


@dataclasses.dataclass(frozen=True, eq=False)
class Cell:
    """A row: published steps [s], or OOM, of its baselines and of the paper's own method."""

    label: str
    graph: str
    gpus: int
    rules: str
    published: Mapping[str, float | str]
    own: float | str

    @property
    def base(self) -> str:
        """Returns the baseline that steps are compared with: one GPU, or the CPU if one GPU is out of memory."""
        on_cpu = self.published["single_gpu"] == OOM and "single_cpu" in self.published
        return "single_cpu" if on_cpu else "single_gpu"

    def agent(self, name: str) -> str:
        """Returns the agent that represents a baseline here.

        If the published expert's step is that of one GPU, it is one GPU.
        """
        same = name == "expert" and self.published["expert"] == self.published["single_gpu"] != OOM
        return "single_gpu" if same else name

    def ratio(self, step: float | str | None) -> float | None:
        """Returns a published step over that of `base`; None if one of them is not a number."""
        base = self.published[self.base]
        return None if step in (None, OOM) or base == OOM else step / base

    def ratios(self) -> dict[str, float]:
        """Returns the published ratios by baseline, except those that are 1 by construction."""
        ratios = {name: self.ratio(step) for name, step in self.published.items()}
        return {name: ratio for name, ratio in ratios.items()
                if ratio is not None and self.agent(name) != self.base}

    def fitted(self) -> list[str]:
        return [name for name in self.ratios() if name not in HELD_OUT]


def read_cells(configs: pathlib.Path, machine: Machine) -> list[Cell]:
    """Returns the rows of the machine's paper that have an expert's step.

    GPU counts are those of the clusters.
    """
    paper = yaml.safe_load((configs / "papers" / f"{machine.sweep}.yaml").read_text())
    agents = {column["name"]: column["agent"] for column in paper["table"]["columns"] if "agent" in column}
    rules = {row["graph"]: name for row in paper["overrides"] if (name := expert_rules(row))}
    own = own_column(paper["table"])
    cells = []
    for row in paper["table"]["rows"]:
        steps = {agents[name]: step for name, step in row["published"].items() if name in agents}
        if "expert" in steps:
            published = {name: steps[name] for name in BASELINES if steps.get(name) is not None}
            if not machine.cpu:
                published.pop("single_cpu", None)
            gpus = int(re.search(r"(\d+)x", row["cluster"]).group(1))
            cells.append(Cell(row["label"], row["graph"], gpus, rules.get(row["graph"]) or row["graph"], published,
                              row["published"][own]))
    return cells


def expert_rules(override: Mapping) -> str | None:
    """Returns the rules that a row of `overrides` gives the expert."""
    listed = (agent.get("rules") for agent in override.get("agents", ())
              if isinstance(agent, Mapping) and agent["name"] == "expert")
    return override.get("agents.expert.rules") or next(listed, None)


def own_column(table: Mapping) -> str:
    """Returns the column of the paper's own method: the first column of step times that is not a baseline's."""
    return next(column["name"] for column in table["columns"]
                if column.get("agent") not in (None, *BASELINES) and "value" not in column)
