"""Finds where every operation of a neural network should run.

    import emplace
    problem = emplace.Problem("inception_v3", "2xk80", coarsen=[{"merge_cheapest": {"groups": 128}}])
    outcomes = problem.evaluate(placements)         # uint8 [B, num_groups] -> times [ns], memory [B]
    found = emplace.search(problem, "learned_local_search", seconds=2)
    problem.timeline(found.placement)               # all events of this step

Problems   Graph, Cluster, Costs, Problem, graph_from_arrays, cluster_from_arrays; Outcomes, Timeline, Bounds
Plans      Plan (replicas, micro-batches, recomputation), apply_plan -> PlannedStep; pipeline_order, in_order;
           search_plans (like `emplace plan`) -> FoundPlans with their FoundPlan
Costs      costs_from_trace (from a trace of your own steps, like `emplace costs`) -> TraceCosts
Imports    import_model (from a file, like `emplace import`), import_torch, import_onnx, import_jax, ... -> Imported
Searches   search (in memory), run (like `emplace run`: HDF5 results, tables, resume), agent_names, agent_help;
           Progress (the argument of their callbacks); tune (settings of agents by Optuna, like `emplace tune`)
           -> Tuned
Agents     Agent: the base of your own agents, which search(), run() and YAML ("python:module.Class") accept
Modules    emplace.benchmark  instances with best known placements and bounds; runs, scores (`emplace benchmark`)
           emplace.env        Gymnasium environments, registered as emplace/Placement-v0 and emplace/INSTANCE-v1
           emplace.importers  models of other frameworks as graphs (`emplace import`)
           emplace.results    results files as data frames, tables and pictures
           emplace.published  published measurements of GPUs beside simulations (a command)
           emplace.pictures   a timeline as a Gantt chart; a plan's passes over micro-batches
Errors     InputError, RunError; BudgetExhausted and Interrupted pass through agents

Times are integers in nanoseconds [ns], memory in bytes [B]. emplace.importers and emplace.results are plain
Python: they also work from the source tree, without the compiled module.
"""

from __future__ import annotations

import importlib
import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._emplace import (Bounds, BudgetExhausted, Cluster, Costs, Evaluator, Graph, InputError, Interrupted,
                           Outcomes, PlannedStep, Problem, ProblemView, RunError, Search, Timeline, agent_help,
                           agent_names, apply_plan, in_order, pipeline_order)
    from .agent import Agent
    from .arrays import cluster_from_arrays, graph_from_arrays
    from .importers import read as import_model
    from .importers.chakra import import_chakra
    from .importers.jax import import_jax
    from .importers.keras import import_keras
    from .importers.kineto import import_kineto
    from .importers.onnx import import_onnx
    from .importers.pipedream import import_pipedream
    from .importers.tensorflow import import_tensorflow
    from .importers.torch import import_torch
    from .plans import FoundPlan, FoundPlans, Plan, search_plans
    from .searches import Progress, run, search
    from .trace_costs.build import costs_from_trace
    from .tuning.study import Tuned, tune

__version__ = "0.1.0"
__all__ = ["Agent", "Bounds", "BudgetExhausted", "Cluster", "Costs", "Evaluator", "FoundPlan", "FoundPlans", "Graph",
           "InputError", "Interrupted", "Outcomes", "Plan", "PlannedStep", "Problem", "ProblemView", "Progress",
           "RunError", "Search", "Timeline", "Tuned",
           "agent_help", "agent_names", "apply_plan", "cluster_from_arrays", "costs_from_trace", "graph_from_arrays",
           "import_chakra", "import_jax", "import_keras", "import_kineto", "import_model", "import_onnx",
           "import_pipedream", "import_tensorflow", "import_torch", "in_order", "pipeline_order", "run", "search",
           "search_plans", "tune"]
_PYTHON = {"Agent": "agent", "cluster_from_arrays": "arrays", "costs_from_trace": "trace_costs.build",
           "graph_from_arrays": "arrays", "import_chakra": "importers.chakra", "import_jax": "importers.jax", "import_keras": "importers.keras",
           "import_kineto": "importers.kineto", "import_onnx": "importers.onnx",
           "import_pipedream": "importers.pipedream", "import_tensorflow": "importers.tensorflow",
           "import_torch": "importers.torch", "Progress": "searches", "run": "searches", "Plan": "plans", "FoundPlan": "plans", "FoundPlans": "plans",
           "search_plans": "plans",
           "search": "searches", "Tuned": "tuning.study",
           "tune": "tuning.study"}  # the module of each; the other names are in the compiled module
_ROOMS = ("benchmark", "env", "importers", "pictures", "results")


def __getattr__(name: str) -> Any:
    """Loads the requested name; the compiled module is loaded only for a name that it defines."""
    if name == "import_model":
        value = importlib.import_module(f"{__name__}.importers").read
    elif name in _ROOMS:
        value = importlib.import_module(f"{__name__}.{name}")
    elif name in _PYTHON:
        value = getattr(importlib.import_module(f"{__name__}.{_PYTHON[name]}"), name)
    elif name in __all__:
        value = getattr(_compiled(), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _compiled() -> Any:
    """Returns the compiled module for this processor, after giving it the menus of the package."""
    try:
        if f"{__name__}._emplace" not in sys.modules:
            from .processor import choose_folder
            __path__.insert(0, str(choose_folder(pathlib.Path(__file__).parent)))
        from . import _emplace
    except ImportError as error:
        raise ImportError(f"the compiled part of emplace does not load ({error}); only emplace.importers and "
                          "emplace.results work from the source tree; to install the package: pip install "
                          "./scripts/emplace") from error
    for name in ("BudgetExhausted", "InputError", "Interrupted", "RunError"):
        getattr(_emplace, name).__module__ = __name__  # the name under which users know them
    configs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "configs")
    if os.path.isdir(configs):
        _emplace.set_configs_folder(configs)
    if "EMPLACE_PYTHON" not in os.environ and sys.executable:
        _emplace.set_highs_python(sys.executable)
    return _emplace
