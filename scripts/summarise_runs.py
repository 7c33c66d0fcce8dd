#!/usr/bin/env python3
"""Prints results files of `emplace run` as Markdown tables, one row per agent over its seeds.

    python3 scripts/summarise_runs.py results/*.h5

Per agent: median and range of the best step times, how many seeds found a placement that fits, and
medians over the seeds of: evaluations, evaluations until the best was within 1 % of the final one,
seconds of search, hours that the same evaluations would have taken on the hardware.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from typing import Any, Iterable, Sequence

import numpy as np

REQUIREMENTS = "scripts/requirements-results.txt"
WITHIN = 0.01
COLUMNS = ("agent", "median [s]", "range [s]", "seeds", "evaluations",
           f"evaluations to within {WITHIN:.0%} of the final", "seconds", "hardware [h]")


@dataclass(frozen=True)
class Search:
    """One agent with one seed."""

    agent: str  # the label of the run config
    status: str
    best: np.ndarray  # [evaluations] best step time so far [s]; NaN until a placement fits
    seconds: float
    hardware_seconds: float

    @property
    def final(self) -> float:
        """Best step time [s]; NaN if nothing fitted or nothing was evaluated."""
        return float(self.best[-1]) if len(self.best) else float("nan")

    @property
    def needed(self) -> float:
        """Evaluations until the best was within 1 % of the final one; NaN without one."""
        close = np.flatnonzero(self.best <= (1 + WITHIN) * self.final)
        return float(close[0] + 1) if len(close) else float("nan")


@dataclass(frozen=True)
class Run:
    title: str
    searches: list[Search]


class ResultsError(Exception):
    """A file that is no results file of `emplace run`."""


def read_run(path: str) -> Run:
    import h5py

    try:
        with h5py.File(path, "r") as file:
            problem = file["problem"].attrs
            title = (f"{os.path.basename(path)}: {text(problem['graph'])} on {text(problem['cluster'])}, "
                     f"bound {problem['bound_ns'] / 1e9:.4g} s")
            return Run(title, [read_search(group) for group in file["agents"].values()])
    except (OSError, KeyError, ValueError) as error:
        raise ResultsError(f"{path}: expected a results file of `emplace run`: {error}") from error


def read_search(group: Any) -> Search:
    return Search(agent=text(group.attrs["label"]),
                  status=text(group.attrs["status"]),
                  best=np.asarray(group["evaluations"]["best_step_time_ns"], dtype=float) / 1e9,
                  seconds=float(group.attrs["seconds"]),
                  hardware_seconds=float(group.attrs["hardware_seconds"]))


def text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def summarise(searches: Iterable[Search]) -> list[list[str]]:
    """Rows of cells in the order of COLUMNS, the least median first, what never fits last."""
    agents: dict[str, list[Search]] = {}
    for search in searches:
        agents.setdefault(search.agent, []).append(search)
    rows = [(agent_key(agent, runs), agent_row(agent, runs)) for agent, runs in agents.items()]
    return [row for _, row in sorted(rows)]


def finals(runs: Sequence[Search]) -> np.ndarray:
    times = np.array([run.final for run in runs])
    return times[~np.isnan(times)]


def agent_key(agent: str, runs: Sequence[Search]) -> tuple[float, str]:
    times = finals(runs)
    return (float(np.median(times)) if len(times) else float("inf"), agent)


def agent_row(agent: str, runs: Sequence[Search]) -> list[str]:
    times = finals(runs)
    unfinished = [run.status for run in runs if run.status not in ("budget", "finished")]
    needed = [run.needed for run in runs if not np.isnan(run.needed)]
    seeds = f"{len(times)} of {len(runs)} fit" if len(times) < len(runs) else str(len(runs))
    return [agent,
            f"{np.median(times):.4f}" if len(times) else "does not fit",
            f"{times.min():.4f} .. {times.max():.4f}" if len(times) > 1 else "",
            ", ".join([seeds, *sorted(set(unfinished))]),
            f"{np.median([len(run.best) for run in runs]):.0f}",
            f"{np.median(needed):.0f}" if needed else "",
            f"{np.median([run.seconds for run in runs]):.1f}",
            f"{np.median([run.hardware_seconds for run in runs]) / 3600:.2f}"]


def markdown(run: Run) -> str:
    align = ["---"] + ["---:"] * (len(COLUMNS) - 1)
    lines = [COLUMNS, align, *summarise(run.searches)]
    return f"**{run.title}**\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", metavar="FILE.h5")
    options = parser.parse_args(arguments)
    try:
        print("\n".join(markdown(read_run(path)) for path in options.results), end="")
    except ModuleNotFoundError as error:
        print(f"summarise_runs: {error.name} is missing: pip install -r {REQUIREMENTS}", file=sys.stderr)
        return 2
    except ResultsError as error:
        print(f"summarise_runs: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
