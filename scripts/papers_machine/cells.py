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
    """A row: published steps [s], or OOM, of the baselines it has, and of the paper's own method."""

    label: str
    graph: str
    gpus: int
    rules: str
    published: Mapping[str, float | str]
    own: float | str

    @property
    def base(self) -> str:
        """One GPU, or the CPU where one GPU is out of memory: what steps are compared with."""
        on_cpu = self.published["single_gpu"] == OOM and "single_cpu" in self.published
        return "single_cpu" if on_cpu else "single_gpu"

    def agent(self, name: str) -> str:
        """Who stands for a baseline here: where the published expert's step is one GPU's, one GPU."""
        same = name == "expert" and self.published["expert"] == self.published["single_gpu"] != OOM
        return "single_gpu" if same else name

    def ratio(self, step: float | str | None) -> float | None:
        """A published step over that of `base`; None: one of them is no number."""
        base = self.published[self.base]
        return None if step in (None, OOM) or base == OOM else step / base

    def ratios(self) -> dict[str, float]:
        """Published ratios by baseline, but for those that are 1 by their making."""
        ratios = {name: self.ratio(step) for name, step in self.published.items()}
        return {name: ratio for name, ratio in ratios.items()
                if ratio is not None and self.agent(name) != self.base}

    def fitted(self) -> list[str]:
        return [name for name in self.ratios() if name not in HELD_OUT]


def read_cells(configs: pathlib.Path, machine: Machine) -> list[Cell]:
    """The rows of the machine's paper that have an expert's step; GPU counts are those of the clusters."""
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
    """The rules that a row of `overrides` gives the expert."""
    listed = (agent.get("rules") for agent in override.get("agents", ())
              if isinstance(agent, Mapping) and agent["name"] == "expert")
    return override.get("agents.expert.rules") or next(listed, None)


def own_column(table: Mapping) -> str:
    """The column of the paper's own method: the first of step times that no baseline has."""
    return next(column["name"] for column in table["columns"]
                if column.get("agent") not in (None, *BASELINES) and "value" not in column)
