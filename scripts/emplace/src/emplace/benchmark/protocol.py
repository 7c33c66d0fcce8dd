"""Runs agents on instances of the benchmark as a sweep of the program.

The folder of a run:

  sweep.yaml    the config of the sweep: an override per instance
  sweep/        the folder of the sweep, a file per search, which --resume continues and launchers write concurrently
  run.json      budget, checksums of the instances, and the speed of the machine at each start and end
  results.h5    all of it in one file without the evaluations that improved nothing (results_file.py), made at the end
"""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import platform
import re
import time
from typing import Any, Iterable, Sequence

import numpy as np

from ..tuning.messages import refuse
from .instances import Instance, instance

SWEEP, RUN, RESULTS = "sweep", "run.json", "results.h5"  # in the folder of a run
REFERENCE = "nmt_24_queue"  # the instance whose evaluations measure a machine
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def run(agents: Iterable[Any], chosen: Sequence[Instance], output: str | os.PathLike[str], *, budget: str = "10s",
        seeds: int = 3, first_seed: int = 0, jobs: int = 0, threads: int = 1, launcher: str = "", resume: bool = False,
        quiet: bool = True) -> int:
    """Searches with each agent and seed on each instance and writes the folder `output`. Returns the exit code of the sweep.

    agents:   names, "python:module.Class", classes (emplace.Agent), or maps {"name": ..., "preset": ..., setting: value}
    budget:   of a search: "10s", "2min", "1h", or evaluations: "10000e"
    seeds:    number of seeds: first_seed, first_seed + 1, ... So results of several calls add up
    jobs:     concurrent searches; 0: one per core   threads: of a search
    launcher: of the sweep, "slurm" or "hyperqueue"; empty: child processes
    resume:   continue the runs in the folder
    Throws InputError: no instance, an unknown agent, a folder with results. A sweep that ends with 1 (stopped, or a search
    failed) leaves the results of its other searches.
    """
    from .. import InputError, _compiled
    from .results_file import pack

    folder = pathlib.Path(output)
    if not chosen:
        raise InputError("expected at least one instance")
    if (folder / SWEEP / "sweep.yaml").exists() and not resume:
        raise InputError(f"{folder}: holds results; --resume continues them, -o names another folder")
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "sweep.yaml", sweep_config(agents, chosen, budget, range(first_seed, first_seed + seeds), threads,
                                                 launcher))
    record: dict[str, Any] = json.loads((folder / RUN).read_text()) if resume and (folder / RUN).exists() else {
        "budgets": [budget], "instances": {one.name: one.sha256 for one in chosen}, "machines": []}
    machine = {"host": platform.node(), "cores": len(os.sched_getaffinity(0)), "evaluations_per_second": round(reference_speed()),
               "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
    record["machines"].append(machine)
    code: int = _compiled().run_program(["emplace", "sweep", str(folder / "sweep.yaml"), "-o", str(folder / SWEEP), "--jobs",
                                         str(jobs), *["--resume"] * resume, *["--quiet"] * quiet])
    if code != 2:
        machine["evaluations_per_second_at_end"] = round(reference_speed())
        _write(folder / RUN, record)
        if any(folder.glob(f"{SWEEP}/runs/*.h5")):
            pack(folder)
    return code


def sweep_config(agents: Iterable[Any], chosen: Sequence[Instance], budget: str = "10s", seeds: Iterable[int] = range(3),
                 threads: int = 1, launcher: str = "") -> dict[str, Any]:
    """Returns the config of the sweep (`emplace sweep --help-config`). Throws InputError for a wrong budget."""
    from ..agent import entries

    config: dict[str, Any] = {
        "allow_refusals": True,  # then the instance is not solved
        "base": {"agents": entries(agents), "seeds": list(seeds), "budget": budget_of(budget), "threads": threads},
        "overrides": [{"graph": str(one.path.resolve()), "cluster": str(one.path.resolve()), "semantics": one.semantics,
                       "objective": one.objective, "count_gaps": one.count_gaps, "split": one.tier} for one in chosen]}
    if launcher:
        config["launcher"] = {"name": launcher}
    return config


def budget_of(text: str) -> dict[str, Any]:
    """Returns the key `budget` of a run config: "10s", "2min" and "1h" are times, "10000e" is a number of evaluations."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|min|h|e)", text)
    if match is None or float(match[1]) <= 0 or match[2] == "e" and "." in match[1]:
        refuse("--budget", text, "a time or a number of evaluations above 0, as in 10s, 2min, 1h or 10000e")
    if match[2] == "e":
        return {"evaluations": int(match[1]), "seconds": "none"}
    return {"seconds": float(match[1]) * _UNITS[match[2]], "evaluations": "none"}


def reference_speed(seconds: float = 1.0) -> float:
    """Returns how many placements per second one thread simulates here.

    The median over batches of the same 256 placements of one instance, for `seconds` [s] after a first batch.
    """
    problem = instance(REFERENCE).problem(threads=1)
    scores = np.random.default_rng(0).random((256, *problem.allowed.shape))
    placements = np.where(problem.allowed, scores, -1).argmax(axis=2).astype(np.uint8)
    problem.evaluate(placements)
    times: list[float] = []
    while sum(times) < seconds:
        begin = time.perf_counter()
        problem.evaluate(placements)
        times.append(time.perf_counter() - begin)
    return len(placements) / float(np.median(times))


def _write(path: pathlib.Path, document: dict[str, Any]) -> None:
    from ..importers import graph_file

    graph_file.write_bytes((json.dumps(document, indent=1) + "\n").encode(), path)
