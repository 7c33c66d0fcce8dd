"""Finds the requested model: a name of the menu, a function of a file or package, or a config."""

from __future__ import annotations

import argparse
import difflib
import importlib
import importlib.util
import inspect
import os
import sys
from typing import Any

from .. import ImportFailure, graph_name
from . import configs
from .models import MODELS, Source, TrainingSetup

LOSS_NAMES = ("model", "mean", "none")
# Options that apply only to a config, and their spelling on the command line.
_CONFIG_OPTIONS = {"model_class": "--class", "loss": "--loss", "attention": "--attention", "input": "--input"}


def find(model: str | None, options: argparse.Namespace) -> Source:
    """Returns the model that MODEL and the options name. Throws ImportFailure."""
    given = {key: value for key in ("batch", "seq", "image") for value in [getattr(options, key)] if value is not None}
    if options.transformers is not None:
        if model is not None:
            raise ImportFailure(f"give either MODEL ({model}) or --transformers ({options.transformers}), not both")
        model = options.transformers
    if model is None:
        raise ImportFailure("the model is missing; give a name that --list shows, FILE.py, PACKAGE.MODULE:FUNCTION "
                            "or a model's CONFIG.json")
    if options.transformers is not None or model.endswith(".json"):
        if options.function is not None:
            raise ImportFailure(f"{model} is a config, so --function does not apply")
        return configs.find(model, given, options)
    for name, written in _CONFIG_OPTIONS.items():
        if getattr(options, name) not in (None, "none"):  # --loss none is for all models
            raise ImportFailure(f"{written} is for a model's CONFIG.json, not for {model}")
    if ":" in model or model.endswith(".py"):
        return _own(model, options.function, given)
    if options.function is not None:
        raise ImportFailure(f"--function is for a Python file, not for {model}")
    return _of_menu(model, given)


def _of_menu(model: str, given: dict[str, int]) -> Source:
    if model not in MODELS:
        close = difflib.get_close_matches(model, MODELS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ImportFailure(f"there is no model {model!r}{hint} (choices: {', '.join(sorted(MODELS))}; "
                            "or FILE.py, PACKAGE.MODULE:FUNCTION, CONFIG.json)")
    entry = MODELS[model]
    if entry.seq is None and "seq" in given:
        raise ImportFailure(f"{model} has no sequence, so --seq does not apply")
    if entry.max_seq is not None and given.get("seq", 0) > entry.max_seq:
        raise ImportFailure(f"{model} has {entry.max_seq} positions, so --seq {given['seq']} is too long")
    if "image" in given:
        raise ImportFailure(f"the size of the images of {model} is fixed, so --image does not apply")
    chosen = {"batch": entry.batch, **({"seq": entry.seq} if entry.seq else {}), **given}
    return Source(model, lambda: entry.build(**chosen), {"model": entry.sentence, **chosen}, entry.packages,
                  entry.optimizer, "f32")


def _own(model: str, function: str | None, given: dict[str, int]) -> Source:
    path, colon, named = model.rpartition(":") if ":" in model else (model, "", "")
    if colon and function is not None:
        raise ImportFailure(f"{model} names its function, so --function {function} does not apply")
    function = named or function or "build"
    if not path or not function.isidentifier():
        raise ImportFailure(f"{model}: expected FILE.py:FUNCTION or PACKAGE.MODULE:FUNCTION")
    name = graph_name(path).removesuffix(".py") if path.endswith(".py") else function
    settings = {"model": f"{os.path.basename(path)}:{function}", **given}
    return Source(name, lambda: build_own(path, function, given), settings, ("torch",), "momentum")


def build_own(path: str, function: str, given: dict[str, int]) -> TrainingSetup:
    """Calls `function` of a Python file or of a module with the given ones of batch and seq.

    Throws ImportFailure if the function does not exist or does not return a set-up.
    """
    module = _file(path) if path.endswith(".py") else _module(path)
    build = getattr(module, function, None)
    if not callable(build):
        close = difflib.get_close_matches(function, dir(module), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ImportFailure(f"{path} has no function {function!r}{hint}")
    for key in given:
        if key not in inspect.signature(build).parameters:
            raise ImportFailure(f"--{key}: {function}() in {path} takes no argument {key!r}")
    made = build(**given)
    if isinstance(made, TrainingSetup):
        return made
    if not isinstance(made, (tuple, list)) or len(made) not in (3, 4):
        raise ImportFailure(f"{function}() in {path} must return (module, inputs, targets, loss_fn) "
                            f"or (module, inputs, loss_fn), got {type(made).__name__}")
    targets = _as_tuple(made[2]) if len(made) == 4 else ()
    return TrainingSetup(made[0], _as_tuple(made[1]), targets, made[-1])


def _file(path: str) -> Any:
    if not os.path.isfile(path):
        raise ImportFailure(f"{path}: no such Python file")
    spec = importlib.util.spec_from_file_location("emplace_user_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    return module


def _module(path: str) -> Any:
    sys.path.insert(0, os.getcwd())  # as `python3 -m` does
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name and (path + ".").startswith(error.name + "."):
            raise ImportFailure(f"there is no Python module {path!r}") from error
        raise


def _as_tuple(tensors: Any) -> tuple[Any, ...]:
    return tuple(tensors) if isinstance(tensors, (tuple, list)) else (tensors,)
