"""One training step under fake tensors: forward, loss, backward and the optimiser's update.

Fake tensors have shape, type and strides but no elements, so a model of any size takes no memory and no time.
Code that depends on the elements of parameters or data (`if tensor:`, `.item()`, `nonzero`) cannot be traced; code
that depends on constants can (`fake`).

Ops that only a CPU would run are replaced by ops for every device: dropout is one op, and an LSTM or GRU is
unrolled into the steps of its cells, in place of one oneDNN op per layer.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, Callable, Iterator

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from emplace.importers.torch.models import TrainingSetup

from . import eager, joint, ranks
from .fake import ShapeMode, shape_world, tracing
from .notes import StepNotes
from .training import StepError, Training

# Both record the same step; their files explain their purposes.
CAPTURES = {"aot": joint.capture, "eager": eager.capture}

# Optimiser -> the state it keeps for each parameter, and its usual settings. The update is one op
# per parameter, of kind `optimizer.<name>`, like PyTorch's `fused=True` kernels.
OPTIMIZERS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "sgd": ((), {"lr": 0.01}),
    "momentum": (("momentum_buffer",), {"lr": 0.01, "momentum": 0.9}),
    "adam": (("exp_avg", "exp_avg_sq"), {"lr": 1e-3, "betas": [0.9, 0.999], "eps": 1e-8}),
    "adamw": (("exp_avg", "exp_avg_sq"),
              {"lr": 1e-3, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01}),
}
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


class FusedDropout(TorchFunctionMode):
    """Dropout as accelerators run it: one op that yields values and mask, instead of four ops."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is F.dropout:
            return self._dropout(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    @staticmethod
    def _dropout(input: torch.Tensor, p: float = 0.5, training: bool = True,
                 inplace: bool = False) -> torch.Tensor:
        return torch.native_dropout(input, p, True)[0] if training and p > 0 else input


@dataclasses.dataclass(frozen=True)
class Recorded:
    """Facts about a recorded step that its notes do not contain.

    unused: names of the parameters that require a gradient and get none.
    assumed_reads: input -> places in the code that read a value which depends on the input's example.
    """

    setup: TrainingSetup
    unused: list[str]
    assumed_reads: dict[str, set[str]]


def record(build: Callable[[], TrainingSetup], capture: str, optimizer: str | None, dtype: str | None,
           notes: StepNotes, without_loss: bool = False) -> Recorded:
    """Notes one step of training the model that `build` makes, by the capture `capture`.

    optimizer: "none" for a step without update; None for inference, which is the forward pass of the module in
    evaluation mode alone.
    without_loss: backward begins with a gradient of ones for each result of the module.
    dtype: of all floating-point parameters, buffers and inputs; None leaves them unchanged.

    Throws StepError for a set-up that is not a training step, and any exception of the model's code.
    """
    with shape_world() as mode:
        training = _prepare(build(), dtype, optimizer is None, without_loss, notes, mode)
        with _without_onednn(), FusedDropout(), tracing():
            try:
                with torch.set_grad_enabled(not training.inference):
                    results, gradients = CAPTURES[capture](training, notes)
            except Exception as error:
                notes.failed_in = training.failed_in(error)
                raise
        for result in results:
            _mark_output(notes, notes.value_of(ranks.local(result)))
        unused = [] if optimizer is None else _update(notes, training.trained, gradients, optimizer)
        return Recorded(training.setup, unused, mode.assumed_reads)


def _prepare(setup: TrainingSetup, dtype: str | None, inference: bool, without_loss: bool, notes: StepNotes,
             mode: ShapeMode) -> Training:
    """Casts the set-up and notes the tensors before the step: inputs, parameters, buffers."""
    module, inputs, targets = setup.module.train(not inference), setup.inputs, setup.targets
    ranks.require_equal_parts(module)
    if inference or without_loss:
        targets = ()  # only a loss reads them
    elif setup.loss_fn is None:
        raise StepError("a training step needs a loss; request inference, or a step without loss (--loss none)")
    if dtype is not None:
        _cast_module(module, DTYPES[dtype])
        inputs = tuple(_cast(tensor, DTYPES[dtype]) for tensor in inputs)
        targets = tuple(_cast(tensor, DTYPES[dtype]) for tensor in targets)
    for tensors, names, otherwise in ((inputs, setup.input_names, "input"),
                                      (targets, setup.target_names, "target")):
        for index, tensor in enumerate(tensors):
            name = _name(names, index, otherwise)
            mode.assume(tensor, name, setup.examples.get(name))
            notes.add_input(ranks.local(tensor), name)
    training = Training(setup, inputs, targets, dict(module.named_parameters()),
                        dict(module.named_buffers()), inference, without_loss)
    for name, parameter in training.parameters.items():
        mode.forget(ranks.local(parameter))
        notes.add_state(ranks.local(parameter), name, "parameter", label=name)
    for name, buffer in training.buffers.items():
        notes.add_state(ranks.local(buffer), name, "buffer", label=name.rpartition(".")[0] or name)
    if not inference and not training.trained:
        raise StepError("the module has no parameter that requires a gradient")
    return training


def _mark_output(notes: StepNotes, value: int | None) -> None:
    """Sets the role of a value and of the value it is a view of.

    An input, or state that is returned, keeps its role.
    """
    while value is not None and notes.values[value].role == "activation":
        notes.values[value].role = "output"
        value = notes.values[value].alias_of


@contextlib.contextmanager
def _without_onednn() -> Iterator[None]:
    """Works like torch.backends.mkldnn.flags(enabled=False), but without its warnings about missing GPUs."""
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(before)


def _update(notes: StepNotes, trained: dict[str, torch.Tensor],
            gradients: dict[str, torch.Tensor | None], optimizer: str) -> list[str]:
    """Adds the optimiser's ops; returns the names of the parameters without a gradient.

    Without an optimiser ("none") the gradients are results of the step.
    """
    states, settings = OPTIMIZERS.get(optimizer, ((), {}))
    unused = []
    for name, parameter in trained.items():
        gradient = gradients[name]
        if gradient is None:
            unused.append(name)
            continue
        parameter, gradient = ranks.local(parameter), ranks.local(gradient)
        if optimizer == "none":
            _mark_output(notes, notes.value_of(gradient))
            continue
        value = notes.values[notes.value_of(gradient)]
        if value.role == "activation":
            value.role = "gradient"
        state = [parameter]
        for suffix in states:
            state.append(torch.empty_like(parameter))
            notes.add_state(state[-1], f"{name}.{suffix}", "optimizer_state", label=name)
        notes.add_update(optimizer, name, state, gradient, dict(settings))
    return unused


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def _cast_module(module: torch.nn.Module, dtype: torch.dtype) -> None:
    """Works like module.to(dtype), which cannot exchange fake parameters; tied ones stay tied."""
    made: dict[torch.Tensor, torch.Tensor] = {}  # by identity, as tensors are hashed
    for child in module.modules():
        for old in child._parameters.values():
            if old is not None and old not in made:
                made[old] = torch.nn.Parameter(_cast(old.detach(), dtype), old.requires_grad)
        for old in child._buffers.values():
            if old is not None and old not in made:
                made[old] = _cast(old, dtype)
        for tensors in (child._parameters, child._buffers):
            tensors.update((key, made[old]) for key, old in tensors.items() if old is not None)


def _name(names: tuple[str, ...], index: int, otherwise: str) -> str:
    return names[index] if index < len(names) else f"{otherwise}_{index}"
