"""A copy of a module with fake tensors: it has the structure, hooks and ties, but not the memory."""

from __future__ import annotations

import copy
from typing import Any, Mapping, Sequence

import torch

from .models import TrainingSetup


def setup(module: torch.nn.Module, inputs: Any, targets: Sequence[torch.Tensor], loss_fn: Any) -> TrainingSetup:
    """Returns the step of a copy of `module`; must be called under a ShapeMode.

    Values of the given tensors serve as examples.
    """
    names: tuple[str, ...] = ()
    keywords = isinstance(inputs, Mapping)
    if keywords:
        names, inputs = tuple(inputs), tuple(inputs.values())
    elif isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    targets = (targets,) if isinstance(targets, torch.Tensor) else tuple(targets)
    for tensor in (*inputs, *targets):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"inputs and targets are tensors, got a {type(tensor).__name__}")
    names = names or tuple(f"input_{i}" for i in range(len(inputs)))
    target_names = tuple(f"target_{i}" for i in range(len(targets)))
    examples = {name: tensor for name, tensor in zip((*names, *target_names), (*inputs, *targets))
                if type(tensor) is torch.Tensor and tensor.device.type == "cpu"}
    return TrainingSetup(_module(module), tuple(map(_tensor, inputs)), tuple(map(_tensor, targets)),
                         loss_fn or own_loss, names, target_names, keywords, examples)


def own_loss(output: Any, *_: torch.Tensor) -> torch.Tensor:
    """Returns the loss that a model computes by itself and returns under this name."""
    loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
    if loss is None:
        raise TypeError(f"the model's output, a {type(output).__name__}, has no `loss`; give a loss function")
    return loss


def _module(module: torch.nn.Module) -> torch.nn.Module:
    """Returns a deep copy whose parameters and buffers are fake."""
    made: dict[int, Any] = {}  # by identity, as deepcopy's memo requires; so tied tensors stay tied
    for parameter in module.parameters():
        made[id(parameter)] = torch.nn.Parameter(_tensor(parameter), parameter.requires_grad)
    for buffer in module.buffers():
        made.setdefault(id(buffer), _tensor(buffer))
    return copy.deepcopy(module, made)


def _tensor(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
