"""Captures by running the step: every aten op that eager PyTorch would launch, in its order.

`_Watch` sits below autograd and above the (fake) kernels, so in-place ops stay in place, and ops with
unread results are recorded too.
"""

from __future__ import annotations

import dataclasses

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import ranks
from .notes import Origin, StepNotes
from .training import Training


class _Watch(TorchDispatchMode):
    """Notes every call while it is active; the caller sets `phase` and `module`."""

    def __init__(self, training: Training, notes: StepNotes) -> None:
        super().__init__()
        self.phase, self.module = "forward", ""
        self._training, self._notes = training, notes

    def moved(self, running: list[str]) -> None:
        self.module = running[-1] if running else ""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(map(ranks.is_outer, types)):
            return NotImplemented  # its calls with local tensors come here, too
        result = func(*args, **(kwargs or {}))
        node = torch._C._current_autograd_node()
        if node is not None and node.name() == "torch::autograd::AccumulateGrad":
            # A gradient is copied since the notes hold it, too.
            if func is torch.ops.aten.copy_.default:
                self._notes.same(args[0], args[1])
            return result
        self._notes.add_call(func, args, kwargs or {}, result, self._origin())
        return result

    def _origin(self) -> Origin:
        if self.phase == "forward":
            return Origin("forward", self.module, self._training.area,
                          torch.autograd._get_sequence_nr() - 1)
        node = torch._C._current_autograd_node()
        return dataclasses.replace(self._training.start, sequence_nr=node._sequence_nr() if node else None)


def capture(training: Training, notes: StepNotes
            ) -> tuple[tuple[torch.Tensor, ...], dict[str, torch.Tensor | None]]:
    """Notes forward and backward; returns the results and the gradient of each trained parameter."""
    watch = _Watch(training, notes)
    with watch:
        with training.track_modules(watch.moved):
            results = training.run(training.inputs, training.targets)
        if training.inference:
            return results, {}
        watch.phase = "backward"
        trained = training.trained
        if ranks.gathers(training.setup.module):  # fully_shard sends gradients when they are accumulated
            results[0].backward()
            return results, {name: parameter.grad for name, parameter in trained.items()}
        ends = [result for result in results if result.requires_grad]
        gradients = torch.autograd.grad(ends, list(trained.values()), [torch.ones_like(end) for end in ends],
                                        allow_unused=True)
    return results, dict(zip(trained, gradients))
