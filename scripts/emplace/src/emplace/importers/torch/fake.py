"""Tensors that have a shape but no elements, except if the elements are known for certain.

A model of any size is built and run under a `ShapeMode` without memory for its tensors. PyTorch's fake tensors
refuse every read of a value (`if tensor:`, `.item()`, `nonzero`). A `ShapeMode` allows a read if the value does
not depend on a parameter, on data, or on random numbers: tables of positions, masks, schedules of rates
(`torch.linspace(0, rate, depth).tolist()`). Small tensors made from numbers alone keep their real elements beside
the fake ones, and so do tensors computed from these alone. Other reads raise as in PyTorch's own fake tensors.

Inputs may have example values (`assume`): a mask of ones, labels without padding. A read that depends on an example
is allowed and recorded (`assumed_reads`), so that it can be reported to the user.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import sys
from typing import Any, Iterator
from unittest import mock

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException, DynamicOutputShapeException, FakeTensor, FakeTensorMode)
from torch.utils import _pytree as pytree
from torch.utils._mode_utils import no_dispatch

from .shape_rules import RULES

# Tensors with at most this many elements keep their values: 0.5 MiB of i64.
MOST_ELEMENTS = 1 << 16
_ATTRIBUTE = "_emplace_known"
# Ops whose result holds the previous contents of the memory.
_UNSET = ("aten::empty", "aten::new_empty")


@dataclasses.dataclass
class _Memory:
    """The common state of tensors that share memory."""

    known: bool = True
    assumed: frozenset[str] = frozenset()  # names of the inputs on whose example values the memory depends


@dataclasses.dataclass(frozen=True)
class _Known:
    """The real elements of a fake tensor, valid as long as the elements of its memory are."""

    real: torch.Tensor
    memory: _Memory


class ShapeMode(FakeTensorMode):
    """A FakeTensorMode that keeps small constant values; see the head of this file.

    assumed_reads: input -> places in the code where a value that depends on its example was read.
    """

    def __init__(self) -> None:
        super().__init__(allow_non_fake_inputs=True)
        self.assumed_reads: dict[str, set[str]] = {}

    def assume(self, tensor: FakeTensor, name: str, example: torch.Tensor | None = None) -> None:
        """Gives an input the elements of `example`, or those it was created with.

        Does nothing if there are too many elements.
        """
        known = _known(tensor if example is None else example)
        if known is not None:
            setattr(tensor, _ATTRIBUTE, _Known(known.real, _Memory(assumed=frozenset((name,)))))

    def forget(self, tensor: torch.Tensor) -> None:
        """Marks the elements as unknown, since they will change: a parameter's elements are not constants."""
        known = _known(tensor)
        if known:
            known.memory.known = False

    def dispatch(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not isinstance(func, torch._ops.OpOverload):
            return super().dispatch(func, types, args, kwargs)
        flat, spec = pytree.tree_flatten((args, kwargs))
        tensors = [value for value in flat if isinstance(value, torch.Tensor)]
        inputs = [_known(tensor) for tensor in tensors]
        computable = all(inputs) and not func._schema.name.startswith(_UNSET) \
            and torch.Tag.nondeterministic_seeded not in func.tags \
            and torch.Tag.inplace_view not in func.tags
        rule = RULES.get(func)
        if rule is not None:
            with self:
                out = rule(self._read_by_rule, *args, **kwargs)
            if out is not NotImplemented:
                return out
        try:
            out = super().dispatch(func, types, args, kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException):
            if not computable:
                raise
            self._note_read(inputs)
            real = _compute(func, flat, spec)
            out = pytree.tree_map_only(
                torch.Tensor, lambda t: self.fake_tensor_converter.from_real_tensor(self, t.clone()), real)
        else:
            results = [t for t in pytree.tree_leaves(out) if isinstance(t, FakeTensor)]
            small = computable and results and all(t.numel() <= MOST_ELEMENTS for t in results)
            real = _compute(func, flat, spec) if small else None
        if real is not None:
            _attach(out, real, inputs)
        elif func._schema.is_mutable:
            for argument, value in zip(func._schema.arguments, args):
                _forget_written(argument, value)
            for argument in func._schema.arguments:
                if argument.name in kwargs:
                    _forget_written(argument, kwargs[argument.name])
        return out

    def _read_by_rule(self, tensor: torch.Tensor) -> torch.Tensor | None:
        known = _known(tensor)
        if known is None:
            return None
        self._note_read([known])
        with no_dispatch():
            return known.real.clone()

    def _note_read(self, inputs: list[_Known]) -> None:
        names = frozenset().union(*(known.memory.assumed for known in inputs))
        place = _reader() if names else None
        if place is not None:
            for name in names:
                self.assumed_reads.setdefault(name, set()).add(place)


def _known(tensor: torch.Tensor) -> _Known | None:
    """Returns the values of a fake tensor if they are known; a real tensor under the mode is a constant."""
    if isinstance(tensor, FakeTensor):
        known = getattr(tensor, _ATTRIBUTE, None)
        return known if known is not None and known.memory.known else None
    if type(tensor) is torch.Tensor and tensor.numel() <= MOST_ELEMENTS and tensor.device.type == "cpu":
        return _Known(tensor, _Memory())
    return None


def _compute(func, flat: list[Any], spec) -> Any:
    """Returns the result of `func` for the known values of its arguments."""
    values = [_known(value).real if isinstance(value, torch.Tensor) else value for value in flat]
    args, kwargs = pytree.tree_unflatten(values, spec)
    with no_dispatch(), torch.no_grad():
        return func(*args, **kwargs)


def _attach(out: Any, real: Any, inputs: list[_Known]) -> None:
    """Stores the real results beside the fake ones; views share the memory of their base."""
    assumed = frozenset().union(*(known.memory.assumed for known in inputs))
    memories = {known.real.untyped_storage()._cdata: known.memory for known in inputs}
    for fake, value in zip(pytree.tree_leaves(out), pytree.tree_leaves(real)):
        if isinstance(fake, FakeTensor) and isinstance(value, torch.Tensor):
            memory = memories.setdefault(value.untyped_storage()._cdata, _Memory())
            memory.assumed |= assumed
            setattr(fake, _ATTRIBUTE, _Known(value, memory))


def _forget_written(argument: torch._C.Argument, value: Any) -> None:
    if argument.alias_info is not None and argument.alias_info.is_write:
        for tensor in pytree.tree_leaves(value):
            known = _known(tensor) if isinstance(tensor, FakeTensor) else None
            if known:
                known.memory.known = False


def _reader() -> str | None:
    """Returns `FOLDER/FILE:LINE` of the model's call that reads a value; None for a read by a capture.

    A capture repeats the model's calls, whose reads were noted before.
    """
    here = os.path.dirname(os.path.abspath(__file__)) + os.sep
    skipped = (os.path.dirname(torch.__file__) + os.sep, here, "<")
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(skipped):
        if frame.f_code.co_filename == f"{here}joint.py":
            return None
        frame = frame.f_back
    if frame is None:
        return None
    return f"{'/'.join(frame.f_code.co_filename.split(os.sep)[-2:])}:{frame.f_lineno}"


@contextlib.contextmanager
def shape_world() -> Iterator[ShapeMode]:
    """Yields a ShapeMode in which whole models are built.

    Initialisers read no values, and random numbers are the same each time.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(_same_chance())
        # The one initialiser of torch.nn.init that reads its draws and draws again.
        stack.enter_context(mock.patch("torch.nn.init._no_grad_trunc_normal_",
                                       lambda tensor, *args, **kwargs: tensor))
        yield stack.enter_context(ShapeMode())


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Makes `torch.compiler.is_compiling()` true for a model that asks while its ops are recorded."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(torch.compiler, "_is_compiling_flag", True))
        experts = sys.modules.get("transformers.integrations.moe")
        if experts is not None:  # when compiling, it would replace the grouped product by a loop for the CPU
            stack.enter_context(mock.patch.object(experts, "_can_use_grouped_mm", lambda *_: True))
        yield


@contextlib.contextmanager
def _same_chance() -> Iterator[None]:
    """Makes the random numbers of Python and NumPy (for instance to drop a layer) the same each time."""
    numpy = sys.modules.get("numpy")
    python_state, numpy_state = random.getstate(), numpy.random.get_state() if numpy else None
    random.seed(0)
    if numpy:
        numpy.random.seed(0)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            yield
    finally:
        random.setstate(python_state)
        if numpy:
            numpy.random.set_state(numpy_state)
