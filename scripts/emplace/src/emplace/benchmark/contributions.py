"""Takes placements that are better than the best known ones into the benchmark."""

from __future__ import annotations

import datetime
import os
import pathlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..importers import graph_file
from .instances import Instance, instances, read_known, read_placement, store
from .period import period

if TYPE_CHECKING:
    from .. import Problem


@dataclass(frozen=True)
class Offer:
    """A placement that was offered: its file (of a placement, or of results), instance, and finder.

    value   simulated by the plain reference [ns]; None: it does not fit into memory
    before  the best known value [ns]; None: none was known
    taken   it is the best known placement now
    """

    source: str
    instance: str
    by: str
    value: int | None
    before: int | None
    taken: bool

    def sentence(self) -> str:
        value = "does not fit into memory" if self.value is None else f"{self.value} ns"
        before = "none was known" if self.before is None else f"{self.before} ns is known"
        return f"{self.source}: {self.instance}: {'taken' if self.taken else 'refused'}: {value}, {before}"


def contribute(sources: Sequence[str], folder: str | os.PathLike[str], *, by: str = "") -> Iterator[Offer]:
    """Yields an Offer for each placement, after it has been copied into the folder if it is better.

    sources: placement files of the program, whose graph is an instance; results.h5, or folders of `emplace benchmark run`,
             of which the best placement of each instance is offered if the search reports a better value than the best known
    by:      the finder; default: the label of the agent. A placement file needs it
    Throws InputError for another file, an unknown instance, another version of an instance, or a file without `by`.
    """
    from .. import InputError
    from ..tuning.messages import refuse_unknown

    at = pathlib.Path(folder)
    by_name = {one.name: one for one in instances(folder=at)}
    for source in sources:
        if os.path.isdir(source) or source.endswith(".h5"):
            yield from _of_results(source, by_name, at, by)
            continue
        if not by:
            raise InputError(f"{source}: expected --by NAME, the finder of the placement")
        if not os.path.exists(source):
            raise InputError(f"{source}: no such placement file")
        document = graph_file.read(source)
        name = document.get("graph", "") if isinstance(document, dict) else ""
        if name not in by_name:
            refuse_unknown(source, "instance", str(name), by_name)
        problem = by_name[name].problem(threads=1)
        yield _offer(at, source, by_name[name], problem, read_placement(source, problem), by)


def _of_results(source: str, by_name: Mapping[str, Instance], at: pathlib.Path, by: str) -> Iterator[Offer]:
    from .results_file import load
    from .scores import require_same_instances

    loaded = load([source])
    require_same_instances(loaded.runs, by_name)
    fitting = loaded.runs[loaded.runs["placement"] >= 0].sort_values("best_step_time_ns", kind="stable")
    for row in fitting.groupby("problem", sort=True).first().reset_index().itertuples():
        one = by_name[row.problem]
        if one.best is not None and row.best_step_time_ns >= one.best.value:
            continue
        problem = one.problem(threads=1)
        placement = np.empty(problem.num_groups, np.uint8)
        placement[problem.group_of_op] = loaded.best_placement(int(row.run), problem.num_ops)
        yield _offer(at, source, one, problem, placement, by or str(row.agent))


def _offer(folder: pathlib.Path, source: str, one: Instance, problem: Problem, placement: npt.NDArray[np.uint8], by: str
           ) -> Offer:
    value, fits = reference(one, problem, placement)
    best = read_known(folder)[one.name].get("best")
    taken = fits and take(folder, one, problem, placement, value, by)
    return Offer(source, one.name, by, value if fits else None, best["value"] if best else None, taken)


def take(folder: pathlib.Path, one: Instance, problem: Problem, placement: npt.NDArray[np.uint8], value: int, by: str) -> bool:
    """Makes a placement the best known one if its objective is less than that of the best one so far. Returns whether it is.

    Several processes can offer placements of the same instance at once. placement: uint8 [num_groups], fits into memory;
    value: its objective [ns]; by: its finder
    """
    def is_better(entry: Mapping[str, Any]) -> bool:
        return not entry.get("best") or value < entry["best"]["value"]

    if not is_better(read_known(folder)[one.name]):
        return False
    best: dict[str, Any] = {"value": value, "by": by, "date": datetime.date.today().isoformat()}
    if one.objective == "step_time":
        best["any_order"] = problem.placement_bound(placement)
    taken = False

    def better(entry: dict[str, Any]) -> dict[str, Any]:
        nonlocal taken
        taken = is_better(entry)
        if not taken:
            return entry
        problem.write_placement(placement, str(one.placement_path))
        return {**entry, "best": best}

    store(folder, one.name, better)
    return taken


def reference(one: Instance, problem: Problem, placement: npt.NDArray[np.uint8]) -> tuple[int, bool]:
    """Returns the objective [ns] of a placement, uint8 [num_groups], by the plain reference, and whether it fits.

    problem: of the instance. A step time is that of the program's plain simulation, a period that of period.py.
    """
    fits = bool(problem.evaluate(placement[None]).feasible[0])
    if one.objective == "period":
        names = problem.cluster.device_names
        value, also = period(graph_file.read(one.path), [names[device] for device in placement[problem.group_of_op]])
        return value, fits and also
    plain = problem.timeline(placement)
    return int(plain.step_time), fits and bool(plain.feasible)
