"""JAX training steps as emplace graphs: the jaxpr of a function, op by op, before fusion by XLA.

    from emplace.importers.jax import import_jax
    imported = import_jax(step, params, opt_state, images, labels,
                          parameters=["params"], optimizer_state=["opt_state"])
    imported.write("step.json.gz")

Arguments may be arrays or jax.ShapeDtypeStruct: only shapes and types are used, and nothing is run. `load.py`
reads a user's file. `state.py` finds parameters and their new values. `flatten.py` inlines calls. `phases.py` and
`labels.py` find the phase of each op and the ops that share a device. `convert.py` makes the graph.
"""

from __future__ import annotations

import argparse
import functools
import os
from typing import Any, Callable, Mapping, Sequence

from emplace.importers import Dropped, Imported, ImportFailure, require
from emplace.importers.graph_file import GraphBuilder

EPILOG = """FUNCTION takes only the arguments of --set. It returns a dict:
  step             the function to import, jitted or not
  arguments        its arguments: arrays, jax.ShapeDtypeStruct, pytrees of them
  parameters, optimizer_state, buffers
                   the arguments that are state, as in the options of these names
example: emplace import --from jax train.py:adam_step --set batch=64 -o step_b64.json.gz"""


def add_arguments(parser: Any) -> None:
    """Adds the options of `emplace import --from jax`."""
    what = "by its position or name, or a part of it with dots: 0, params, state.params (repeatable)"
    parser.add_argument("--parameters", action="append", metavar="ARGUMENT",
                        help=f"argument of the step that has parameters, {what}; none: no argument has any")
    parser.add_argument("--optimizer-state", action="append", metavar="ARGUMENT",
                        help="likewise, state of the optimiser")
    parser.add_argument("--buffers", action="append", metavar="ARGUMENT",
                        help="likewise, other state that persists: running statistics")
    parser.add_argument("--no-updates", action="store_true",
                        help="treat no result as a new value of state, whatever its shape (an inference step)")
    parser.add_argument("--unroll", type=int, default=0, metavar="N",
                        help="unroll scans of at most N steps (default: a scan is one op)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="argument of FUNCTION, as JSON or text (repeatable)")


def read(model: str, options: argparse.Namespace) -> Imported:
    """Imports FILE.py:FUNCTION. Throws ImportFailure."""
    require(["jax"], "jax")
    from emplace.importers.jax.load import listed, load, setting

    settings = dict(options.set if isinstance(options.set, Mapping) else map(setting, options.set))
    step = load(model, settings)
    declared = dict(step.declared)
    for key in ("parameters", "optimizer_state", "buffers"):
        if getattr(options, key) is not None:
            declared[key] = [name for name in listed(getattr(options, key)) if name != "none"]
    if "parameters" not in declared:
        raise ImportFailure(f"{model}: the arguments of the step that are parameters are not known; give --parameters "
                            "ARGUMENT (or none), or return 'parameters'")
    return _import(step.step, step.arguments, declared, not options.no_updates, options.unroll,
                   os.path.basename(model), settings)


def import_jax(step: Callable[..., Any], *arguments: Any, parameters: Sequence[str] = (),
               optimizer_state: Sequence[str] = (), buffers: Sequence[str] = (), updates: bool = True,
               unroll: int = 0, name: str | None = None) -> Imported:
    """Returns the graph of one call of a function, jitted or not.

    arguments: arrays or jax.ShapeDtypeStruct, in pytrees. parameters, optimizer_state, buffers: the arguments that are
    state, see state.py. updates: whether results may be new values of state. unroll: scans of at most so many steps are
    unrolled. name: of the model, in `source`.
    Throws ImportFailure: a declaration that fits no argument, a step that cannot be traced, values that are not arrays,
    a missing package `jax`.
    """
    require(["jax"], "jax")
    declared = {"parameters": parameters, "optimizer_state": optimizer_state, "buffers": buffers}
    declared = {key: [value] if isinstance(value, (str, int)) else list(value) for key, value in declared.items()}
    return _import(step, arguments, declared, updates, unroll, name or getattr(step, "__name__", "step"), {})


def _import(step: Callable[..., Any], arguments: Sequence[Any], declared: Mapping[str, Sequence[str]],
            may_update: bool, unroll: int, name: str, settings: Mapping[str, Any]) -> Imported:
    import jax
    from emplace.importers.jax.convert import Converter
    from emplace.importers.jax.flatten import flatten
    from emplace.importers.jax.load import guarded
    from emplace.importers.jax.state import argument_leaves, argument_names, leaves, new_values

    names = argument_names(step, len(arguments))
    given, parts = guarded(f"{name}: the arguments are not arrays", argument_leaves, arguments, names, declared)
    trace = functools.partial(jax.make_jaxpr(step, return_shape=True), *arguments)
    closed, shapes = guarded(f"{name}: the step cannot be traced", trace)
    results = leaves(shapes)
    updates = new_values(given, parts, results) if may_update else {}
    flat = flatten(closed, unroll)
    source = {"framework": f"jax {jax.__version__}", "model": name, "settings": dict(sorted(settings.items())),
              "declared": {key: list(value) for key, value in sorted(declared.items()) if value}, "unroll": unroll,
              "exporter": "emplace import --from jax"}
    builder = GraphBuilder(name, {key: value for key, value in source.items() if value})
    converter = Converter(flat, given, results, updates, builder)
    dropped = converter.run()
    kept = [leaf.name for place, leaf in enumerate(given) if leaf.role != "input" and place not in updates]
    if "backward" not in converter.phase and updates:
        dropped.append(Dropped("new value of state", len(updates), "results are assumed to be new values by their "
                                                                   "structure, although there is no backward pass; "
                                                                   "give --no-updates if they are not"))
    elif "backward" in converter.phase and may_update and kept:
        dropped.append(Dropped(f"state like {kept[0]}", len(kept), "the step returns no value with the structure of "
                                                                   "its argument, so it is not updated"))
    return Imported(builder.document(), dropped)
