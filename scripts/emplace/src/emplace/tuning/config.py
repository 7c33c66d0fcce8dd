"""The config of `emplace tune`: a YAML file, or a map with the same content."""

from __future__ import annotations

import copy
import json
import os
import re
from dataclasses import dataclass, field
from typing import Any, Mapping

from ..agent import name_of
from .messages import refuse, refuse_unknown
from .ranges import Range, read_range

HELP = """\
base:                      # keys of a run config (`emplace run --help-config`) with one agent
  graph: inception_v3
  cluster: 2xk80
  coarsen: [colocate, {merge_cheapest: {groups: 128}}]
  agents: [hill_climb]
  seeds: 0:3               # every trial searches with each of them
  budget: {evaluations: 2000, seconds: none}
problems:                  # maps of keys that replace those of base, one per problem; without them base is the problem
  - {graph: inception_v3}
  - {graph: nmt, coarsen: [colocate, {merge_cheapest: {groups: 280}}]}
draw:                      # keys of base, and agents.LABEL.SETTING
  agents.hill_climb.batch: {int: [1, 256], log: true}
  agents.hill_climb.start: {choice: [[random], [single_gpu]]}
sampler: tpe               # or random
pruner: median             # ends trials that are worse than half of the earlier ones, after ten whole trials and the
                           # first search of a trial; or hyperband, or none
checkpoints: 5             # number of reports of each search's best to the pruner
trials: 50
seed: 0                    # of the sampler
jobs: 1                    # number of processes that do trials; only with one are the trials reproducible
output: results/NAME       # folder; NAME: the name of this file
"""
KEYS = ("base", "problems", "draw", "sampler", "pruner", "checkpoints", "trials", "seed", "jobs", "output")
SAMPLERS = ("random", "tpe")
PRUNERS = ("hyperband", "median", "none")
PATHS = ("graph", "cluster", "costs", "issue_order")  # keys of a run config that may name a file
Settings = dict[str, Any]  # key of `draw` -> value


@dataclass
class Config:
    """The config, read and checked; all of it can be written as JSON."""

    name: str  # of the file, for messages
    beside: str  # folder for relative paths
    base: dict[str, Any]
    problems: list[dict[str, Any]]
    draw: dict[str, Any]  # as given
    sampler: str = "tpe"
    pruner: str = "median"
    checkpoints: int = 5
    trials: int = 50
    seed: int = 0
    jobs: int = 1
    output: str = ""
    ranges: dict[str, Range] = field(default_factory=dict)
    bounds: list[int] = field(default_factory=list)  # of each problem [ns]
    searches: list[int] = field(default_factory=list)  # of each problem: one per seed
    limits: list[tuple[int | None, float | None]] = field(default_factory=list)  # (evaluations, seconds) of a search

    def identity(self) -> dict[str, Any]:
        """Returns the part that all trials of a study share."""
        return {"base": self.base, "problems": self.problems, "draw": self.draw, "sampler": self.sampler,
                "pruner": self.pruner, "checkpoints": self.checkpoints, "seed": self.seed}

    def run_config(self, problem: int, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the run config of a trial on one problem."""
        config = copy.deepcopy({**self.base, **self.problems[problem]})
        for key, value in settings.items():
            self._set(config, key, value)
        return config

    def _set(self, config: dict[str, Any], key: str, value: Any) -> None:
        where = config
        parts = key.split(".")
        if parts[0] == "agents":
            labels = [agent.get("label", agent["name"]) for agent in config["agents"]]
            if len(parts) < 3 or parts[1] not in labels:
                refuse_unknown(f"{self.name}: draw: {key}", "agent", parts[1] if len(parts) > 1 else "", labels)
            where, parts = config["agents"][labels.index(parts[1])], parts[2:]
        for part in parts[:-1]:
            where = where.setdefault(part, {})
            if not isinstance(where, dict):
                refuse(f"{self.name}: draw: {key}", where, f"a map at {part}")
        where[parts[-1]] = value


def read_config(given: Mapping[str, Any] | str | os.PathLike[str]) -> Config:
    """Reads a file or a map, and checks it with all agents. @throws InputError"""
    name, beside, stem = "config", os.getcwd(), "tune"
    keys: Any = given
    if not isinstance(given, Mapping):
        name = os.fspath(given)
        beside, stem = os.path.dirname(os.path.abspath(name)), os.path.splitext(os.path.basename(name))[0]
        keys = _read_yaml(name)
    if not isinstance(keys, Mapping):
        refuse(name, keys, "a map")
    for key in keys:
        if key not in KEYS:
            refuse_unknown(name, "key", str(key), KEYS)
    base, draw = (_map(keys.get(key), f"{name}: {key}") for key in ("base", "draw"))
    if not draw:
        refuse(f"{name}: draw", draw, "a map of at least one key with its range, such as "
                                      "{agents.hill_climb.batch: {int: [1, 64], log: true}}")
    problems = keys.get("problems") or [{}]
    if not isinstance(problems, list) or not all(isinstance(problem, dict) for problem in problems):
        refuse(f"{name}: problems", problems, "a list of maps of keys of a run config")
    config = Config(name, beside, base, problems, draw)
    config.sampler = _choice(keys.get("sampler", config.sampler), SAMPLERS, "sampler", name)
    config.pruner = _choice(keys.get("pruner", config.pruner) or "none", PRUNERS, "pruner", name)
    for key, least in (("checkpoints", 1), ("trials", 1), ("seed", 0), ("jobs", 1)):
        setattr(config, key, whole(keys.get(key, getattr(config, key)), least, f"{name}: {key}"))
    config.output = str(keys.get("output") or os.path.join("results", stem))
    config.ranges = {key: read_range(value, f"{name}: draw: {key}") for key, value in draw.items()}
    for which in (config.base, *config.problems):
        if "agents" in which:
            which["agents"] = _agents(which["agents"], f"{name}: agents")
    _check(config)
    return config


def whole(value: Any, least: int, where: str) -> int:
    """Returns a whole number. @throws InputError unless it is a whole number of at least `least`"""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        refuse(where, value, f"a whole number of at least {least}")
    return value


def _read_yaml(path: str) -> Any:
    import yaml

    from .. import InputError

    try:
        with open(path, encoding="utf-8") as file:
            return yaml.safe_load(file)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error


def _map(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        refuse(where, value, "a map")
    return dict(value)


def _choice(value: Any, choices: tuple[str, ...], key: str, name: str) -> str:
    if value not in choices:
        refuse_unknown(f"{name}: {key}", key, str(value), choices)
    return str(value)


def _agents(agents: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(agents, list) or len(agents) != 1:
        refuse(where, agents, "a list of one agent, whose settings are searched")
    agent = agents[0] if isinstance(agents[0], dict) else {"name": agents[0]}
    if "name" not in agent:
        refuse(where, agents[0], "a name, or a map with the key name")
    return [{**agent, "name": name_of(agent["name"])}]


def _check(config: Config) -> None:
    """Checks every problem, and every setting at its extremes, by the program's own checks.

    Stores the bounds, numbers of searches and limits that the checks return.
    """
    from .. import InputError, _compiled

    def check(problem: int, settings: Settings, where: str) -> dict[str, Any]:
        text = json.dumps(config.run_config(problem, settings))
        try:
            found: dict[str, Any] = _compiled().check_config(text, where, config.beside)
        except InputError as error:
            raise InputError(re.sub(r":1:\d+: ", ": ", str(error), count=1)) from error
        return found

    for index, problem in enumerate(config.problems):
        where = f"{config.name}: base" if problem == {} else f"{config.name}: problems.{index}"
        if "agents" not in {**config.base, **problem}:
            refuse(f"{config.name}: base: agents", None, "a list of one agent, whose settings are searched")
        found = check(index, {}, where)
        config.bounds.append(max(1, found["bound_ns"]))
        config.searches.append(found["searches"])
        config.limits.append((found["evaluations"], found["seconds"]))
    for key, drawn in config.ranges.items():
        for value in drawn.extremes():
            check(0, {key: value}, f"{config.name}: draw: {key}: {value!r}")
