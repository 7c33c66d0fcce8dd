"""A model from its config.json, of Transformers or diffusers: class, sizes and loss, but no weights."""

from __future__ import annotations

import argparse
import os
from typing import Any, Mapping

from .. import ImportFailure, graph_name, read_json
from .models import Source, TrainingSetup


def find(path: str, given: Mapping[str, int], options: argparse.Namespace) -> Source:
    """Returns the model of the config at `path`.

    Throws ImportFailure if the file is not a config, or if an option does not fit it.
    """
    config = read_json(path)
    loss = None if options.inference else options.loss or "model"
    if "model_type" in config:
        name = options.model_class or _first(config.get("architectures"))
        settings = {"model": f"{name or config['model_type']} of {os.path.basename(path)}", **given}
        if options.input:
            settings["inputs"] = list(options.input)
        if loss:
            settings["loss"] = loss
        return Source(_name(path), lambda: _build(path, config, name, given, loss, options), settings,
                      ("torch", "transformers"), "adamw")
    if "_class_name" in config:
        for value, written in ((options.attention, "--attention"), (options.loss, "--loss"),
                               (options.input, "--input")):
            if value not in (None, "none"):
                raise ImportFailure(f"{path}: {written} applies to a config of Transformers, but this one is of "
                                    "diffusers")
        name = options.model_class or config["_class_name"]
        settings = {"model": f"{name} of {os.path.basename(path)}", **given}
        return Source(_name(path), lambda: _build_denoiser(path, config, name, given, loss not in (None, "none")),
                      settings, ("torch", "diffusers"), "adamw")
    raise ImportFailure(f"{path}: is not a config of a model: it has neither `model_type` (Transformers) nor "
                        "`_class_name` (diffusers)")


def _build(path: str, config: dict[str, Any], name: str | None, given: Mapping[str, int], loss: str | None,
           options: argparse.Namespace) -> TrainingSetup:
    from . import transformers_models  # imports Transformers

    return transformers_models.build(path, config, name, given, loss, options.attention, options.input or ())


def _build_denoiser(*arguments: Any) -> TrainingSetup:
    from . import diffusers_models  # imports diffusers

    return diffusers_models.build(*arguments)


def _first(names: Any) -> str | None:
    return names[0] if isinstance(names, list) and names and isinstance(names[0], str) else None


def _name(path: str) -> str:
    return graph_name(path) or "model"
