"""The forward pass of a training step as one function, and the tracking of the running module."""

from __future__ import annotations

import contextlib
import dataclasses
import traceback
from typing import Any, Callable, Iterator, Mapping, Sequence

import torch
from torch.utils import _pytree as pytree

from emplace.importers.torch.models import TrainingSetup

from . import ranks
from .notes import Origin


class StepError(ValueError):
    """The model cannot be recorded; the message gives the reason."""


@dataclasses.dataclass
class Training:
    """A set-up under fake tensors with its stored state; `run()` may run more than once.

    parameters, buffers: those of the module by name; a tied one once, under its first name.
    inference: the forward pass alone, without loss or gradients. without_loss: backward begins at the module's results.
    area: the part that `run()` is executing, "model" or "loss"; "" when it is not running.
    """

    setup: TrainingSetup
    inputs: tuple[torch.Tensor, ...]
    targets: tuple[torch.Tensor, ...]
    parameters: dict[str, torch.Tensor]
    buffers: dict[str, torch.Tensor]
    inference: bool = False
    without_loss: bool = False
    area: str = ""

    @property
    def divided(self) -> bool:
        """Returns whether parameters are DTensors that no module gathers by itself."""
        return not ranks.gathers(self.setup.module) and any(
            ranks.is_outer(type(parameter)) for parameter in self.parameters.values())

    @property
    def start(self) -> Origin:
        """Returns the origin of the gradient with which backward begins."""
        return Origin("backward", area="model" if self.without_loss else "loss")

    @property
    def trained(self) -> dict[str, torch.Tensor]:
        """The parameters that require a gradient; none without a backward pass."""
        return {} if self.inference else {name: p for name, p in self.parameters.items() if p.requires_grad}

    def run(self, inputs: Sequence[torch.Tensor], targets: Sequence[torch.Tensor],
            state: Mapping[str, torch.Tensor] | None = None) -> tuple[torch.Tensor, ...]:
        """Returns the scalar loss; without one all tensors that the module returns, each once.

        `state` replaces the module's own parameters and buffers.
        """
        self.area = "model"
        args, kwargs = tuple(inputs), {}
        if self.setup.keywords:
            args, kwargs = (), nested(dict(zip(self.setup.input_names, inputs, strict=True)))
        if state is None and self.divided:
            state = self.parameters
        if state is None:
            output = self.setup.module(*args, **kwargs)
        else:
            aligned = {name: ranks.reduced(tensor) for name, tensor in state.items()}
            output = torch.func.functional_call(self.setup.module, aligned, args, kwargs)
        if self.inference or self.without_loss:
            results = tuple({id(t): t for t in pytree.tree_leaves(output) if isinstance(t, torch.Tensor)}.values())
            if not results:
                raise StepError(f"the module returns a {type(output).__name__}, expected tensors")
            if self.without_loss and not any(result.requires_grad for result in results):
                raise StepError("no result of the module depends on a parameter that requires a gradient")
        else:
            self.area = "loss"
            results = (self.setup.loss_fn(output, *targets),)
            _check_loss(results[0])
        self.area = ""
        return results

    @contextlib.contextmanager
    def track_modules(self, moved: Callable[[list[str]], None]) -> Iterator[None]:
        """Calls `moved` with the paths of the running modules, innermost last, at each change.

        The root's path is "". The caller may read the list but not keep it.
        """
        running: list[str] = []

        def enter(path: str):
            def hook(*_: Any) -> None:
                running.append(path)
                moved(running)
            return hook

        def leave(*_: Any) -> None:
            running.pop()
            moved(running)

        hooks = []
        for path, child in self.setup.module.named_modules():
            hooks.append(child.register_forward_pre_hook(enter(path)))
            hooks.append(child.register_forward_hook(leave, always_call=True))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def failed_in(self, error: BaseException) -> str | None:
        """Returns the innermost module whose code raised `error`; "loss" for the loss function's."""
        path_of = {module: path for path, module in self.setup.module.named_modules()}
        for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
            owner = frame.f_locals.get("self")
            if isinstance(owner, torch.nn.Module) and path_of.get(owner):
                return path_of[owner]
        return self.area or None


def nested(named: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """Returns keyword arguments; `a.b` is the entry "b" of a dictionary "a"."""
    arguments: dict[str, Any] = {}
    for name, tensor in named.items():
        owner, dot, key = name.partition(".")
        if dot:
            arguments.setdefault(owner, {})[key] = tensor
        else:
            arguments[name] = tensor
    return arguments


def _check_loss(loss: Any) -> None:
    if not isinstance(loss, torch.Tensor):
        raise StepError(f"the loss is a {type(loss).__name__}, expected a tensor")
    if loss.numel() != 1:
        raise StepError(f"the loss has shape {list(loss.shape)}, expected a scalar; "
                        "take its mean or sum")
    if not loss.requires_grad:
        raise StepError("the loss does not depend on any parameter that requires a gradient")
