"""Searches from Python: in memory, and like `emplace run`."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping

from . import _compiled
from .agent import entries

if TYPE_CHECKING:
    from ._emplace import Problem, Search

NO_LIMIT = 2**63 - 1
MOST_BYTES = 200  # of a file name without its ending


@dataclasses.dataclass(frozen=True)
class Progress:
    """State of a search between two of its steps, or after its end: the argument of a callback.

    label         of the search in results: "hill_climb.seed2"
    seed          of the search
    steps         number of the agent's finished steps
    evaluations   number of evaluated placements
    seconds       since the search began [s]
    step_time     of the best placement so far that fits [ns]; None: none fits yet
    bound         lower bound that the agent has proved [ns]; 0: none
    num_updates   number of updates that a learner has made
    update        the learner's numbers of its latest update (loss, entropy, reward, ...); empty: none
    status        "finished", "budget", "stopped" or "failed" after the end; empty while the search runs
    """

    label: str
    seed: int
    steps: int
    evaluations: int
    seconds: float
    step_time: int | None
    bound: int
    num_updates: int
    update: dict[str, float]
    status: str


Callback = Callable[[Progress], Any]


def search(problem: Problem, agent: str | type | Mapping[str, Any], *, seed: int = 0,
           evaluations: int | None = None, seconds: float | None = None, steps: int | None = None,
           callback: Callback | None = None, **settings: Any) -> Search:
    """Runs one agent in memory; without a limit for 10 s.

    agent: a name of agent_names(), a class (emplace.Agent), or a map {"name": ..., "preset": ..., setting: value};
    settings: the agent's own. callback: as in run(). Ctrl-C ends the search (KeyboardInterrupt).
    Throws InputError for an unknown agent or setting, RunError if the agent fails.
    """
    entry = entries([dict(agent) if isinstance(agent, Mapping) else agent])[0]
    entry = {"name": entry} if isinstance(entry, str) else entry
    if evaluations is None and seconds is None and steps is None:
        seconds = 10.0
    found: Search = _compiled().search_with(
        problem, json.dumps([{**entry, **settings}]), seed, NO_LIMIT if evaluations is None else evaluations,
        1e18 if seconds is None else seconds, NO_LIMIT if steps is None else steps, observer([callback]))
    return found


def run(problem: Problem | None = None, agents: Iterable[Any] | None = None, *,
        config: Mapping[str, Any] | None = None, seeds: int | Iterable[int] = (0,),
        evaluations: int | None = None, seconds: float | None = None, steps: int | None = None,
        output: str | os.PathLike[str] | None = None, resume: bool = False, force: bool = False, jobs: int = 0,
        quiet: bool = True, callback: Callback | None = None,
        tensorboard: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Runs every agent with every seed, metered, and writes a results file (HDF5), like `emplace run`.

    problem:  if its graph or cluster has no file, it is written beside the results, so that every command that
              reads results finds it; None: config names them
    agents:   names, classes (emplace.Agent), maps, or pairs (agent, settings)
    config:   further keys of a run config (`emplace run --help-config`)
    seeds:    their number (3 is [0, 1, 2]), or a list; a config does not accept a number
    evaluations, seconds, steps: limits for each agent and seed. Without any: 30 s
    output:   results file; default: results/<graph>_<cluster>.h5
    resume:   continue the runs in the results file
    force:    overwrite it; an existing file is refused without resume and force
    jobs:     concurrent searches; 0: one per core
    quiet:    no progress on stderr
    callback: called with a Progress between the steps of every search, and after its end; if jobs > 1, by several
              threads, one at a time. Its time counts. If it returns False, that search stops, and resume can
              continue it. If it throws, all searches stop, and the exception is raised here
    tensorboard: a folder for event files, one per search (needs the package tensorboard): step time and bound
              over evaluations, a learner's numbers over its updates
    Returns the table as `emplace run --json` prints it, with the key "results": the path of the results file.
    Throws InputError; RunError if searches fail; KeyboardInterrupt after ctrl-C, when the results are saved.
    """
    keys: dict[str, Any] = dict(config or {})
    if problem is not None:
        keys = {**json.loads(problem.config), **keys}
    if output is None:
        output = default_output(problem.graph.name, problem.cluster.name) if problem is not None else "results/run.h5"
    output = os.path.abspath(os.fspath(output))
    os.makedirs(os.path.dirname(output), exist_ok=True)
    if not resume and not force:
        _compiled().require_unused(output)
    base = os.path.splitext(output)[0]
    if problem is not None:
        keys["graph"] = _file_of(problem.graph, f"{base}.graph.json.gz")
        keys["cluster"] = _file_of(problem.cluster, f"{base}.cluster.yaml")
    if agents is not None:
        keys["agents"] = entries(agents)
    keys["seeds"] = list(range(seeds)) if isinstance(seeds, int) else [int(seed) for seed in seeds]
    limits = {"evaluations": evaluations, "seconds": seconds, "steps": steps}
    if any(limit is not None for limit in limits.values()):
        keys["budget"] = {name: "none" if limit is None else limit for name, limit in limits.items()}
    events = None
    if tensorboard is not None:
        from .events import Events
        events = Events(tensorboard)
    try:
        table: dict[str, Any] = _compiled().run_config(
            json.dumps(keys), os.path.basename(base), os.getcwd(), output, resume, force, jobs, quiet,
            problem, observer([events, callback]))
    finally:
        if events is not None:
            events.close()
    return {**table, "results": output}


def observer(callbacks: Iterable[Callback | None]) -> Callable[..., bool] | None:
    """Returns the callbacks in the form that the compiled module calls; None: there are none."""
    called = [callback for callback in callbacks if callback is not None]

    def watch(label: str, seed: int, steps: int, evaluations: int, seconds: float, step_time: int | None, bound: int,
              num_updates: int, columns: list[str], row: list[float], status: str) -> bool:
        progress = Progress(label, seed, steps, evaluations, seconds, step_time, bound, num_updates,
                            dict(zip(columns, row)), status)
        return all([callback(progress) is not False for callback in called])

    return watch if called else None


def default_output(graph: str, cluster: str) -> str:
    """Returns a file in results/. Any name of a graph or a cluster becomes one part of the path."""
    name = re.sub(r"[/\x00-\x1f\x7f]", "_", f"{graph}_{cluster}")
    return os.path.join("results", name.encode()[:MOST_BYTES].decode(errors="ignore") + ".h5")


def _file_of(thing: Any, path: str) -> str:
    """Returns the file of a graph or cluster; one made in memory is written."""
    if thing.path:
        return str(thing.path)
    thing.write(path)
    return path
