"""Agents written in Python. They run like the compiled agents: with the same meter, budgets, seeds and results.

    import numpy as np
    import emplace

    class Descent(emplace.Agent):
        \"\"\"Steepest descent from random placements.\"\"\"

        def __init__(self, problem, seed, batch: int = 64):
            super().__init__(problem, seed)
            self.batch = batch

        def step(self, evaluator):
            placements = self.random_placements(self.batch)
            outcomes = evaluator.evaluate(placements)
            self.log(mean=outcomes.step_time.mean())

    emplace.search(problem, Descent, seed=3, evaluations=10_000)
    emplace.run(problem, ["learned_local_search", Descent], seeds=5, seconds=10, output="r.h5")

In a config: `agents: [learned_local_search, "python:my_agents.Descent"]`, or {name: "python:FILE.py:Descent", batch: 32}. The
settings are the arguments of __init__ after `problem` and `seed`; they need defaults.

The functions below the class are called by the compiled module.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import os
import pickle
import sys
import traceback
from typing import TYPE_CHECKING, Any, Iterable

import numpy as np

if TYPE_CHECKING:
    from ._emplace import Evaluator, ProblemView

PREFIX = "python:"
_given: dict[str, type] = {}  # classes that were passed as objects, by name: the latest of each


class Agent:
    """The base of an agent. A subclass has step(); __init__ takes (problem, seed, **settings).

    finished  set it to True when further steps cannot change anything
    bound     a proven lower bound on the objective of every placement [ns]; 0: none. Never decreases
    random    a NumPy generator from the seed; use no other source of random numbers, so that runs are reproducible
    """

    finished: bool = False
    bound: int = 0

    def __init__(self, problem: ProblemView, seed: int) -> None:
        self.problem = problem
        self.seed = seed
        self.random = np.random.default_rng(seed)
        self._columns: list[str] = []
        self._rows: list[float] = []

    def step(self, evaluator: Evaluator) -> None:
        """Makes one unit of search. Do not catch BudgetExhausted and Interrupted of the evaluator."""
        raise NotImplementedError

    def log(self, **numbers: float) -> None:
        """Adds a row of the agent's own numbers (loss, entropy, ...) to the results.

        The names must be the same each time.
        """
        if not self._columns:
            self._columns = list(numbers)
        if list(numbers) != self._columns:
            raise ValueError(f"log: got {list(numbers)}, the first row had {self._columns}")
        self._rows += [float(number) for number in numbers.values()]

    def random_placements(self, count: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Returns placements drawn uniformly from the allowed devices of each group. uint8 [count, num_groups]."""
        scores = self.random.random((count, *self.problem.allowed.shape))
        placements: np.ndarray[Any, np.dtype[np.uint8]] = np.where(
            self.problem.allowed, scores, -1.0).argmax(axis=2).astype(np.uint8)
        return placements

    def save(self) -> bytes:
        """Returns the state between two steps; override it if pickle cannot handle your attributes."""
        return pickle.dumps({key: value for key, value in vars(self).items() if key != "problem"})

    def load(self, state: bytes) -> None:
        """Continues from save(), bit for bit."""
        vars(self).update(pickle.loads(state))


@dataclasses.dataclass(frozen=True)
class _Info:
    sentence: str
    uses_seed: bool


def name_of(agent: str | type) -> str:
    """Returns the name of an agent in configs. A class is "python:MODULE.CLASS", valid in this process."""
    if isinstance(agent, str):
        return agent
    name = f"{PREFIX}{agent.__module__}.{agent.__qualname__}"
    _given[name] = agent
    return name


def find(name: str) -> _Info:
    """Returns the registry's entry of an agent; throws InputError if there is none."""
    made = _class_of(name)
    sentence = (inspect.getdoc(made) or f"{made.__name__}, written in Python").split("\n")[0]
    return _Info(sentence, bool(getattr(made, "uses_seed", True)))


def make(name: str, problem: ProblemView, seed: int, settings: str) -> Any:
    """Returns the agent with its settings (YAML)."""
    return _class_of(name)(problem, seed, **_settings_of(name, settings))


def describe_settings(name: str) -> list[tuple[str, str, str]]:
    """Returns (key, default as YAML, help) of each setting."""
    return [(parameter.name, _yaml(parameter.default), _annotation(parameter))
            for parameter in _parameters(name).values()]


def resolve_settings(name: str, settings: str) -> str:
    """Returns all settings as YAML: the given ones, and the defaults of the others."""
    given = _settings_of(name, settings)
    everything = {key: given.get(key, parameter.default) for key, parameter in _parameters(name).items()}
    return "".join(f"{key}: {_yaml(value)}\n" for key, value in everything.items())


def state(agent: Any) -> tuple[bool, int]:
    """Returns (finished, bound [ns])."""
    return bool(getattr(agent, "finished", False)), int(getattr(agent, "bound", 0))


def updates(agent: Any) -> tuple[list[str], list[float]]:
    """Returns the column names and the values of log(), row by row."""
    return getattr(agent, "_columns", []), getattr(agent, "_rows", [])


def save(agent: Any) -> bytes:
    return memoryview(agent.save()).tobytes()


def describe(error: BaseException) -> str:
    """Returns an exception as one line, with its place in the agent."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}: {error}"


def _class_of(name: str) -> type:
    """Returns the current class of a name; notebooks may define a class again."""
    from . import InputError

    if name in _given:
        return _given[name]
    path = name.removeprefix(PREFIX)
    try:
        module, names = _module_of(path)
    except (ImportError, OSError, SyntaxError) as error:
        raise InputError(f"agent {name!r}: {type(error).__name__}: {error}") from error
    found: Any = module
    for part in names.split("."):
        found = getattr(found, part, None)
    if not inspect.isclass(found) or not callable(getattr(found, "step", None)):
        agents = [key for key, value in vars(module).items() if inspect.isclass(value) and hasattr(value, "step")]
        raise InputError(f"agent {name!r}: {module.__name__} has no class {names!r} with step(evaluator); "
                         f"choices: {', '.join(agents) or 'none'}")
    return found


def _module_of(path: str) -> tuple[Any, str]:
    """Returns the module, and the name of the class in it."""
    if ":" in path:
        file, _, names = path.rpartition(":")
        stem = os.path.splitext(os.path.basename(file))[0]
        loaded = sys.modules.get(stem)
        if loaded is not None and os.path.abspath(getattr(loaded, "__file__", None) or "") == os.path.abspath(file):
            return loaded, names
        spec = importlib.util.spec_from_file_location(stem, file)
        if spec is None or spec.loader is None or not os.path.isfile(file):
            raise ImportError(f"{file}: no such Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[stem] = module
        spec.loader.exec_module(module)
        return module, names
    parts = path.split(".")
    if len(parts) < 2:
        raise ImportError("expected python:MODULE.CLASS or python:FILE.py:CLASS")
    for length in range(len(parts) - 1, 0, -1):  # a class may be nested in a class
        name = ".".join(parts[:length])
        try:
            return importlib.import_module(name), ".".join(parts[length:])
        except ModuleNotFoundError as error:
            if length == 1 or (error.name is not None and not name.startswith(error.name)):
                raise
    raise AssertionError


def _parameters(name: str) -> dict[str, inspect.Parameter]:
    """Returns the settings: the arguments of __init__ after problem and seed."""
    from . import InputError

    parameters = list(inspect.signature(_class_of(name)).parameters.values())
    named = {p.name: p for p in parameters[2:] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    for parameter in named.values():
        if parameter.default is parameter.empty:
            raise InputError(f"agent {name!r}: the setting {parameter.name!r} has no default")
    return named


def _settings_of(name: str, text: str) -> dict[str, Any]:
    import yaml

    from . import InputError

    given = yaml.safe_load(text) or {}
    choices = _parameters(name)
    for key in given:
        if key not in choices:
            raise InputError(f"agent {name!r}: unknown setting {key!r}; choices: {', '.join(choices) or 'none'}")
    return dict(given)


def _yaml(value: Any) -> str:
    """Returns a value as YAML on one line."""
    import yaml

    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**6)
    return text.removesuffix("...\n").strip()


def _annotation(parameter: inspect.Parameter) -> str:
    return "" if parameter.annotation is parameter.empty else str(getattr(
        parameter.annotation, "__name__", parameter.annotation))


def entries(agents: Iterable[Any]) -> list[Any]:
    """Returns `agents` of run() as entries of a config.

    They are names, classes, maps, or pairs of one of these and its settings.
    """
    listed: list[Any] = []
    for agent in agents:
        if isinstance(agent, (str, type)):
            listed.append(name_of(agent))
        elif isinstance(agent, tuple) and len(agent) == 2:
            listed.append({"name": name_of(agent[0]), **agent[1]})
        elif isinstance(agent, dict):
            listed.append({**agent, "name": name_of(agent["name"])})
        else:
            raise TypeError(f"agents: got {agent!r}; expected a name, a class, a map, or a pair (agent, settings)")
    return listed
