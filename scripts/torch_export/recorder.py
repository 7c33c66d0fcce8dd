"""Notes every aten op that PyTorch dispatches, with its tensors, as one training step runs.

`StepRecorder` sits below autograd and above the (fake) kernels, so it sees what eager PyTorch
would launch: the same ops, in the same order, with the same in-place updates.

What it keeps apart
- *values*: a tensor at one point in time. An in-place write makes a new value which aliases the
  old one; so does a view. What changes nothing makes none: `detach`, a view of the same layout,
  a transpose of a transpose.
- *order through memory*: an op that overwrites memory comes after the ops which read it, and one
  that reads memory through another view comes after the op which wrote it (`OpRecord.after`).
- *origin*: forward ops carry the path of their module; a backward op carries the forward op whose
  autograd node issued it (both know autograd's sequence number). The sums of gradients that meet
  are noted under the op whose gradient came last.

Not supported: sparse tensors, and tensors whose memory is exchanged (`set_`, `.data =`).
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, Iterator, Sequence

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import costs

_NO_OPS = {"detach", "alias", "lift_fresh", "lift"}
# Arguments that are written although the schema does not say so, when `training` is set.
_HIDDEN_WRITES = {"native_batch_norm": ("running_mean", "running_var"),
                  "cudnn_batch_norm": ("running_mean", "running_var")}


@dataclasses.dataclass
class Value:
    """A tensor at one point in time; `producer` is an op's index, None for a graph input."""

    shape: tuple[int, ...]
    dtype: str
    producer: int | None
    role: str = "activation"
    alias_of: int | None = None
    name: str | None = None


@dataclasses.dataclass
class OpRecord:
    """One dispatched op. `inputs`, `outputs` are value indices, `after` op indices."""

    stem: str                 # its name, still without a number that makes it unique
    kind: str
    inputs: list[int]
    outputs: list[int]
    phase: str
    module: str = ""          # path of the module, its own or its forward op's; "": the root
    after: set[int] = dataclasses.field(default_factory=set)
    flops: int | None = None  # [FLOP]; None: PyTorch's registry does not know the op
    bytes_accessed: int = 0   # [B]
    forward_op: int | None = None
    label: str | None = None  # of the stored state that the op owns or writes in place
    writes: bool = False      # in place
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)


class StepRecorder(TorchDispatchMode):
    """Enter it, run the step, read `ops` and `values`; `phase` and `area` are for the caller."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[OpRecord] = []
        self.values: list[Value] = []
        self.phase = "forward"
        self.area = "model"              # names what belongs to no module: "model" or "loss"
        self.failed_in: str | None = None  # module or area that called the op which raised
        self.same_label: list[tuple[str, str]] = []  # labels that one op ties together
        self._scope = [""]               # paths of the modules that run, innermost last
        self._alive: list[torch.Tensor] = []   # keeps the ids below from being used again
        self._value_of: dict[int, int] = {}    # id of tensor -> value
        self._layouts: list[tuple[Any, ...]] = []  # value -> where its elements are in memory
        self._in_storage: dict[int, int] = {}  # storage -> its latest value
        self._label_of: dict[int, str] = {}    # storage -> label of the state in it
        self._writer: dict[int, int] = {}      # storage -> op that wrote it in place last
        self._readers: dict[int, list[int]] = {}  # storage -> ops that read it since then
        self._op_of_sequence_nr: dict[int, int] = {}

    # --- what the caller says -----------------------------------------------------------------

    def add_input(self, tensor: torch.Tensor, name: str) -> int:
        """A tensor that is there when the step begins, on every device."""
        return self._new_value(tensor, None, role="input", name=name)

    def add_state(self, tensor: torch.Tensor, name: str, role: str, label: str) -> int:
        """A parameter, buffer or optimiser state; what is updated under `label` stays together."""
        self._label_of[_storage(tensor)] = label
        return self._add_source(tensor, name, "parameter", role)

    def add_update(self, optimizer: str, name: str, state: Sequence[torch.Tensor],
                   gradient: torch.Tensor, attributes: dict[str, Any]) -> None:
        """Parameter `name`'s update: reads `gradient`, overwrites `state` (parameter first)."""
        moved = costs.nbytes(gradient) + 2 * sum(map(costs.nbytes, state))
        self._add_op(f"{name}/{optimizer}", f"optimizer.{optimizer}",
                     [state[0], gradient, *state[1:]], state, state, bytes_accessed=moved,
                     module=name.rpartition(".")[0], attributes=attributes)

    def value_of(self, tensor: torch.Tensor) -> int:
        """The value a tensor has now; one never seen before becomes the output of a constant."""
        if id(tensor) not in self._value_of:
            latest = self._in_storage.get(_storage(tensor))
            if latest is None:  # the zero-cost op is made before the op that asks
                return self._add_source(tensor, "constant", "constant", "buffer")
            self._remember(tensor, latest)  # autograd's own handle of a saved tensor
        return self._value_of[id(tensor)]

    @contextlib.contextmanager
    def track_modules(self, module: torch.nn.Module) -> Iterator[None]:
        """Notes the path of the module whose forward() runs, as long as the context lasts."""
        def enter(path: str):
            return lambda *_: self._scope.append(path)

        def leave(*_: Any) -> None:
            self._scope.pop()

        hooks = []
        for path, child in module.named_modules():
            if path:
                hooks.append(child.register_forward_pre_hook(enter(path)))
                hooks.append(child.register_forward_hook(leave, always_call=True))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    # --- what PyTorch says --------------------------------------------------------------------

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        try:
            result = func(*args, **kwargs)
        except Exception:
            self.failed_in = self.failed_in or self._scope[-1] or self.area
            raise
        returned = list(costs.tensors_in(result))
        given = costs.arguments(func, args, kwargs)
        written = self._written(func, given)
        if costs.op_name(func) in _NO_OPS and returned:
            self._remember(returned[0], self.value_of(args[0]))
        elif returned or written:
            self._record(func, args, kwargs, given, result, written)
        return result

    def _written(self, func, given) -> list[torch.Tensor]:
        hidden: Sequence[str] = ()
        if any(argument.name == "training" and value for argument, value in given):
            hidden = _HIDDEN_WRITES.get(costs.op_name(func), ())
        return [tensor for argument, value in given for tensor in costs.tensors_in(value)
                if argument.name in hidden
                or argument.alias_info is not None and argument.alias_info.is_write]

    def _record(self, func, args, kwargs, given, result, written) -> None:
        inputs = [tensor for _, value in given for tensor in costs.tensors_in(value)]
        fresh = [t for t in costs.tensors_in(result) if not any(t is w for w in written)]
        outputs = fresh + written
        memory = {_storage(t) for t in inputs}
        is_view = not written and all(_storage(t) in memory for t in fresh)
        if is_view and len(inputs) == len(fresh) == 1:
            same = self._undone_view(self.value_of(inputs[0]), fresh[0])
            if same is not None:
                self._remember(fresh[0], same)
                return
        name = costs.op_name(func)
        prefix, module, forward_op = self._origin()
        index = self._add_op(
            f"{prefix}/{name}", f"{func.namespace}.{name}", inputs, outputs, written,
            module=module, forward_op=forward_op, is_view=is_view,
            flops=0 if is_view else costs.flops(func, args, kwargs, result),
            bytes_accessed=0 if is_view else costs.traffic(name, given, outputs),
            attributes=costs.attributes(given))
        if self.phase == "forward":  # the node that autograd made for this op, if it made one
            self._op_of_sequence_nr.setdefault(torch.autograd._get_sequence_nr() - 1, index)

    def _undone_view(self, value: int | None, view: torch.Tensor) -> int | None:
        """`value`, or what it is a view of, if that lies in memory exactly as `view` does."""
        while value is not None:
            producer = self.values[value].producer
            if self._layouts[value] == _layout(view):
                return value
            if producer is not None and self.ops[producer].writes:
                return None
            value = self.values[value].alias_of
        return None

    def _origin(self) -> tuple[str, str, int | None]:
        """Prefix of the running op's name, its module, and the forward op it is backward of."""
        if self.phase == "forward":
            return self._scope[-1] or self.area, self._scope[-1], None
        node = torch._C._current_autograd_node()
        forward_op = self._op_of_sequence_nr.get(node._sequence_nr()) if node else None
        if forward_op is None:
            return f"{self.area}/backward", "", None
        forward = self.ops[forward_op]
        return forward.stem.rpartition("/")[0] + "/backward", forward.module, forward_op

    # --- notes --------------------------------------------------------------------------------

    def _add_op(self, stem: str, kind: str, inputs: Sequence[torch.Tensor],
                outputs: Sequence[torch.Tensor], written: Sequence[torch.Tensor],
                is_view: bool = False, **details: Any) -> int:
        read = [self.value_of(t) for t in inputs]  # may add constants, so before our index
        index = len(self.ops)
        op = OpRecord(stem, kind, read, [], self.phase, writes=bool(written), **details)
        self.ops.append(op)
        for tensor, value in zip(inputs, read):
            storage = _storage(tensor)
            writer = self._writer.get(storage)
            producer = self.values[value].producer
            if writer is not None and (producer is None or producer < writer):
                op.after.add(writer)  # it reads memory that was changed through another view
            if not is_view:
                self._readers.setdefault(storage, []).append(index)
        for tensor in written:
            storage = _storage(tensor)
            op.after.update(reader for reader in self._readers.get(storage, ())
                            if reader != index)
            self._readers[storage], self._writer[storage] = [], index
            label = self._label_of.get(storage)
            if label and op.label and label != op.label:
                self.same_label.append((op.label, label))
            op.label = op.label or label
        origin = {_storage(t): v for t, v in zip(reversed(inputs), reversed(read))}
        for tensor in outputs:
            overwritten = any(tensor is w for w in written)
            before = self.value_of(tensor) if overwritten else origin.get(_storage(tensor))
            role = "activation"
            if overwritten and self.values[before].role in ("parameter", "buffer",
                                                            "optimizer_state"):
                role = self.values[before].role
            op.outputs.append(self._new_value(tensor, index, role=role, alias_of=before))
        return index

    def _add_source(self, tensor: torch.Tensor, name: str, kind: str, role: str) -> int:
        index, label = len(self.ops), self._label_of.get(_storage(tensor))
        is_state = role == "optimizer_state"  # belongs where its parameter does
        module = (label if is_state and label else name).rpartition(".")[0]
        value = self._new_value(tensor, index, role=role)
        self.ops.append(OpRecord(name, kind, [], [value], "update" if is_state else "forward",
                                 module, flops=0, label=label))
        return value

    def _new_value(self, tensor: torch.Tensor, producer: int | None, **details: Any) -> int:
        if tensor.dtype not in costs.DTYPE_NAMES:
            raise TypeError(f"a tensor of {tensor.dtype} has no place in an emplace graph")
        self.values.append(Value(tuple(tensor.shape), costs.DTYPE_NAMES[tensor.dtype], producer,
                                 **details))
        self._layouts.append(_layout(tensor))
        self._remember(tensor, len(self.values) - 1)
        return len(self.values) - 1

    def _remember(self, tensor: torch.Tensor, value: int) -> None:
        if id(tensor) not in self._value_of:
            self._alive.append(tensor)
        self._value_of[id(tensor)] = value
        self._in_storage[_storage(tensor)] = value


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset()
