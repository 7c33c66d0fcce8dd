"""A model of Transformers from its config, with inputs, labels and loss: nothing is downloaded."""

from __future__ import annotations

import difflib
import inspect
from typing import Any, Mapping, Sequence

import torch
import transformers

from .. import ImportFailure
from . import example_inputs
from .copies import own_loss
from .models import TrainingSetup


def build(path: str, values: Mapping[str, Any], class_name: str | None, given: Mapping[str, int],
          loss: str | None, attention: str | None, more: Sequence[str] = ()) -> TrainingSetup:
    """Returns the step of the model that a config describes; must be called under a ShapeMode.

    values: of the config at `path`. loss: "model", "mean", "none", or None for inference.
    more: names of optional inputs. Throws ImportFailure.
    """
    transformers.logging.set_verbosity_error()
    config = _config(path, values)
    cls, config = _class(path, config, class_name)
    notes = _without_chance(config)
    model = _model(path, cls, config, attention)
    if hasattr(model, "_can_set_experts_implementation") and _has_experts(model):
        model.set_experts_implementation("grouped_mm")
        notes.append(("load of the experts", sum(map(_is_experts, model.modules())),
                      "the expert of a token depends on the data; each layer is one grouped product over all tokens "
                      "and choices, whose FLOPs are the same for any load, and reads the weights of all experts"))
    inputs = example_inputs.make(path, model, given, labels=loss == "model", more=more)
    names = tuple(inputs)
    missing = sorted(set(_other_modalities(model)) - set(names))
    if missing:
        notes.append(("input that was not given", len(missing), f"the model runs without {', '.join(missing)}"))
    return TrainingSetup(model, tuple(inputs.values()), (), {"model": own_loss, "mean": _mean_loss}.get(loss or ""),
                         names, keywords=True, notes=tuple(notes))


def _config(path: str, values: Mapping[str, Any]) -> Any:
    kind = values["model_type"]
    if kind not in transformers.CONFIG_MAPPING:
        close = difflib.get_close_matches(str(kind), list(transformers.CONFIG_MAPPING.keys()), n=3)
        hint = f"; close ones: {', '.join(close)}" if close else ""
        raise ImportFailure(f"{path}: Transformers {transformers.__version__} has no model_type {kind!r}{hint}")
    try:
        cls = transformers.CONFIG_MAPPING[kind]
        return cls.from_dict(cls._decode_special_floats(dict(values)))  # as from a file: infinity is {"__float__": ...}
    except Exception as error:  # a config class may throw anything for values it refuses
        first = " ".join(str(error).split())
        raise ImportFailure(f"{path}: {transformers.CONFIG_MAPPING[kind].__name__} refuses it: {first}") from error


def _class(path: str, config: Any, name: str | None) -> tuple[type, Any]:
    """Returns the class, and the config or the part of it (such as the text's) that the class takes."""
    choices = _classes_of(config)
    hint = f" (choices for {config.model_type}: {', '.join(choices)})" if choices else ""
    if name is None:
        raise ImportFailure(f"{path}: names no class under `architectures`; give --class NAME{hint}")
    cls = getattr(transformers, name, None)
    if not inspect.isclass(cls) or not issubclass(cls, transformers.PreTrainedModel):
        raise ImportFailure(f"{path}: Transformers {transformers.__version__} has no model class {name!r}{hint}")
    for part in _parts(config):
        if cls.config_class is None or isinstance(part, cls.config_class):
            return cls, part
    raise ImportFailure(f"{path}: {name} takes a {cls.config_class.__name__}, but the config is a "
                        f"{type(config).__name__}{hint}")


def _classes_of(config: Any) -> list[str]:
    """Returns the classes that Transformers lists for a kind of model."""
    from transformers.models.auto import modeling_auto

    found = set()
    for name, mapping in vars(modeling_auto).items():
        if name.endswith("_MAPPING_NAMES") and config.model_type in mapping:
            entry = mapping[config.model_type]
            found.update((entry,) if isinstance(entry, str) else entry)
    return sorted(name for name in found if not name.endswith("Config"))


def _model(path: str, cls: type, config: Any, attention: str | None) -> Any:
    options = {} if attention is None else {"attn_implementation": attention}
    try:
        return cls._from_config(config, **options)
    except ImportError as error:
        first = " ".join(str(error).split())
        raise ImportFailure(f"{path}: {cls.__name__} needs a package that is missing: {first}") from error
    except ValueError as error:
        if attention is None:
            raise
        raise ImportFailure(f"{path}: --attention {attention}: {' '.join(str(error).split())}") from error


def _parts(config: Any) -> list[Any]:
    """Returns the config and those inside it, of encoder and decoder, or of text and images."""
    parts = [config]
    for key in getattr(config, "sub_configs", {}):
        part = getattr(config, key, None)
        if part is not None:
            parts += _parts(part)
    return parts


def _without_chance(config: Any) -> list[tuple[str, int, str]]:
    """Removes settings that make the ops of a step depend on random numbers; returns the changes."""
    notes = []
    for part in _parts(config):
        if getattr(part, "use_cache", False):
            part.use_cache = False  # keys and values of past tokens serve only generation, one token at a time
        for name in sorted(vars(part)):
            value = getattr(part, name)
            if "layerdrop" in name and isinstance(value, (int, float)) and value > 0:
                setattr(part, name, 0.0)
                notes.append((f"{name} {value}", 1, "layers that are randomly left out; a graph has all of them"))
    return notes


def _is_experts(module: torch.nn.Module) -> bool:
    return hasattr(module, "num_experts") and any(p.dim() == 3 for p in module.parameters(recurse=False))


def _has_experts(model: Any) -> bool:
    return any(_is_experts(module) and isinstance(owner, transformers.PreTrainedModel)
               and owner._can_set_experts_implementation()
               for owner in model.modules() if isinstance(owner, transformers.PreTrainedModel)
               for module in owner.modules())


def _other_modalities(model: Any) -> list[str]:
    """Returns the arguments of forward() for images, sound or film."""
    return [name for name in inspect.signature(model.forward).parameters
            if name in ("pixel_values", "pixel_values_videos", "input_features", "input_values")]


def _mean_loss(output: Any) -> torch.Tensor:
    """Returns the mean of the squares of the first floating-point tensor that the model returns."""
    from torch.utils import _pytree as pytree

    for tensor in pytree.tree_leaves(output):
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and tensor.requires_grad:
            return tensor.square().mean()
    raise TypeError(f"a {type(output).__name__} has no tensor that depends on the parameters")
