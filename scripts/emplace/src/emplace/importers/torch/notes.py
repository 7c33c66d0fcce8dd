"""One training step as a list of ops and values: the form that every capture fills.

A capture reports each aten call to `StepNotes`, in order, with its tensors and its `Origin`. The consequences for
memory, names and work are derived here, once for all captures.

The notes distinguish:
- *values*: a tensor at one point in time. An in-place write makes a new value that aliases the old one; so does a
  view. A call without effect makes none: `detach`, a view of the same layout, a transpose of a transpose.
- *order through memory*: an op that overwrites memory comes after the ops that read it. An op that reads memory
  through another view comes after the op that wrote it (`OpRecord.after`).
- *origin*: forward ops carry the path of their module. A backward op carries the forward op whose autograd node
  issued it (both know autograd's sequence number). Sums of gradients are noted under the op whose gradient came last.

Not supported: sparse tensors, and tensors whose memory is exchanged (`set_`, `.data =`).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence

import torch
from emplace.importers.dtypes import sized
from emplace.importers.graph_file import RESIDENT_ROLES, SOURCE_KINDS

from . import costs, ranks

_NO_OPS = {"detach", "alias", "lift_fresh", "lift"}
# Arguments that are written if `training` is set, although the schema does not say so.
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

    stem: str                 # its name, before a number makes it unique
    kind: str
    inputs: list[int]
    outputs: list[int]
    phase: str
    module: str = ""          # path of its module, or of its forward op's module; "": the root
    after: set[int] = dataclasses.field(default_factory=set)
    flops: int | None = None  # [FLOP]; None: PyTorch's registry does not know the op
    bytes_accessed: int = 0   # [B]
    forward_op: int | None = None
    label: str | None = None  # of the stored state that the op owns or writes in place
    writes: bool = False      # whether it writes in place
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    device_kinds: list[str] | None = None


@dataclasses.dataclass(frozen=True)
class Origin:
    """The origin of a call.

    module: path of the module whose forward() makes the call, forward only; "": none or the root.
    area: "model" or "loss", for calls outside of modules.
    sequence_nr: forward: of the newest autograd node; backward: of the running one, if any.
    """

    phase: str
    module: str = ""
    area: str = "loss"
    sequence_nr: int | None = None


class StepNotes:
    """The notes of one step: `ops` in the order of their calls, and the `values` between them."""

    def __init__(self) -> None:
        self.ops: list[OpRecord] = []
        self.values: list[Value] = []
        self.failed_in: str | None = None  # module or area whose code raised
        self.same_label: list[tuple[str, str]] = []  # labels that one op ties together
        self._alive: list[torch.Tensor] = []   # keeps the ids below from being reused
        self._value_of: dict[int, int] = {}    # id of tensor -> value
        self._layouts: list[tuple[Any, ...]] = []  # value -> where its elements are in memory
        self._in_storage: dict[int, int] = {}  # storage -> its latest value
        self._label_of: dict[int, str] = {}    # storage -> label of the state in it
        self._writer: dict[int, int] = {}      # storage -> op that wrote it in place last
        self._readers: dict[int, list[int]] = {}  # storage -> ops that read it since then
        self._op_of_sequence_nr: dict[int, int] = {}
        self.data_groups: set[tuple[int, ...]] = set()  # groups of ranks in which fully_shard divides the data
        self._divided = False  # there was a collective
        self._packed: dict[int, list[torch.Tensor]] = {}  # id of a buffer that is sent -> its parts
        self._unpacked: list[int] = []  # ops that take gathered parameters apart
        self._renewed: dict[int, torch.Tensor] = {}  # storage -> the tensor that was written into it last

    # --- before the step, and its end ---------------------------------------------------------

    def add_input(self, tensor: torch.Tensor, name: str) -> int:
        """Adds a tensor that exists when the step begins, on every device."""
        return self._new_value(tensor, None, role="input", name=name)

    def add_state(self, tensor: torch.Tensor, name: str, role: str, label: str) -> int:
        """Adds a parameter, buffer or optimiser state.

        Tensors that are updated under the same `label` stay together.
        """
        self._label_of[_storage(tensor)] = label
        return self._add_source(tensor, name, "parameter", role)

    def add_update(self, optimizer: str, name: str, state: Sequence[torch.Tensor],
                   gradient: torch.Tensor, attributes: dict[str, Any]) -> None:
        """Adds parameter `name`'s update: it reads `gradient` and overwrites `state` (parameter first)."""
        moved = costs.nbytes(gradient) + 2 * sum(map(costs.nbytes, state))
        self._add_op(f"{name}/{optimizer}", f"optimizer.{optimizer}", "update",
                     [state[0], gradient, *state[1:]], state, state, bytes_accessed=moved,
                     module=name.rpartition(".")[0], attributes=attributes)

    def value_of(self, tensor: torch.Tensor) -> int:
        """Returns the current value of a tensor; an unknown tensor becomes the output of a constant."""
        if id(tensor) not in self._value_of:
            latest = self._in_storage.get(_storage(tensor))
            if latest is None:  # the zero-cost op comes before the op that reads it
                return self._add_source(tensor, "constant", "constant", "buffer")
            whole = self._renewed.get(_storage(tensor))
            if whole is not None and _layout(whole) != _layout(tensor):
                maker = self.ops[self.values[latest].producer]
                self._add_op(f"{maker.stem.rpartition('/')[0]}/as_strided", "aten.as_strided", maker.phase, [whole],
                             [tensor], [], is_view=True, module=maker.module, flops=0)
            else:
                self._remember(tensor, latest)  # autograd's own handle of a saved tensor
        return self._value_of[id(tensor)]

    # --- calls of the step --------------------------------------------------------------------

    def add_call(self, func: torch._ops.OpOverload, args: Sequence[Any],
                 kwargs: Mapping[str, Any], result: Any, origin: Origin) -> None:
        """Adds one call of an aten op that returned `result`."""
        returned = list(costs.tensors_in(result))
        given = costs.arguments(func, args, kwargs)
        if ranks.is_call(func):
            self._add_collective(func, given, returned, origin)
            return
        if ranks.packs(func):
            self._packed[id(returned[0])] = [*costs.tensors_in(args[0])]
            self._alive += returned
            return
        written = self._written(func, given)
        if costs.op_name(func) in _NO_OPS and returned:
            self._remember(returned[0], self.value_of(args[0]))
        elif returned or written:
            self._record(func, args, kwargs, given, result, written, origin)

    def same(self, tensor: torch.Tensor, other: torch.Tensor) -> None:
        """Notes that a tensor has the elements of another one, whose memory it shares."""
        self._remember(tensor, self.value_of(other))

    def _add_collective(self, func: torch._ops.OpOverload, given: Sequence[tuple[torch._C.Argument, Any]],
                        returned: Sequence[torch.Tensor], origin: Origin) -> None:
        """Adds a collective, or notes that its result is there.

        What is sent is its last argument, or the tensors that were packed into it. A result in a given buffer is a new
        tensor.
        """
        self._divided = True
        tensors = [tensor for _, value in given for tensor in costs.tensors_in(value)]
        if ranks.waits(func):
            self.same(returned[0], tensors[0])
            return
        kind, received = ranks.kind_of(func), tensors[0] if func.namespace == "c10d" else returned[0]
        sent = self._packed.get(id(tensors[-1]), tensors[-1:])
        prefix, module, forward_op = self._place(origin)
        if func.namespace == "c10d" or origin.phase == "backward" and forward_op is None:
            prefix, module, forward_op = *self._place_of(sent[0], origin, (prefix, module)), None
        in_place = any(received is tensor for tensor in sent)
        attributes = ranks.attributes(func, given)
        if func.namespace == "c10d":
            self.data_groups.add(tuple(attributes["ranks"]))
        index = self._add_op(f"{prefix}/{kind}", f"collective.{kind}", origin.phase, sent, [received],
                             [received] if in_place else [], module=module, forward_op=forward_op, flops=0,
                             bytes_accessed=sum(map(costs.nbytes, [*sent, received])), device_kinds=["network"],
                             attributes=attributes)
        if not in_place:
            self._renew(received)
        if func.namespace == "c10d" and kind == "all_gather":
            # fully_shard has two buffers in the forward pass, and gathers one layer ahead in the backward pass.
            self.ops[index].after.update(self._unpacked[-2:-1] if origin.phase == "forward" else self._unpacked[-1:])

    def _place_of(self, tensor: torch.Tensor, origin: Origin, otherwise: tuple[str, str]) -> tuple[str, str]:
        """Returns prefix and module of the last op before a tensor that has a module.

        DTensor and fully_shard call collectives outside of modules, from autograd nodes without a number.
        """
        index = self.values[self.value_of(tensor)].producer
        while index is not None and not self.ops[index].module and self.ops[index].inputs:
            index = self.values[self.ops[index].inputs[0]].producer
        if index is None or not self.ops[index].module:
            return otherwise
        module = self.ops[index].module
        return f"{module}/backward" if origin.phase == "backward" else module, module

    def _renew(self, tensor: torch.Tensor) -> None:
        """Notes that the memory of a tensor holds nothing but its newest value: other handles are views of this one."""
        storage, value = _storage(tensor), self._value_of[id(tensor)]
        for other in self._alive:
            if other is not tensor and _storage(other) == storage:
                self._value_of.pop(id(other), None)
        self._renewed[storage] = tensor
        self._in_storage[storage] = value
        self._readers[storage] = []
        self._writer.pop(storage, None)

    def store(self, state: torch.Tensor, new: torch.Tensor, module: str) -> None:
        """Makes `new` the value of `state`, as a functional graph returns it.

        The op that made `new` writes in place if it read `state` and no later op reads the old value. Otherwise a
        copy, noted under `module`, overwrites `state`.
        """
        if new is state:
            return
        old, value = self.value_of(state), self.value_of(new)
        before, memory = _storage(state), _storage(new)
        index, readers = self.values[value].producer, self._readers.get(before, [])
        op = None if index is None else self.ops[index]
        in_place = (op is not None and op.kind not in SOURCE_KINDS and old in op.inputs
                    and max(readers, default=-1) <= index
                    and self.values[value].alias_of is None
                    and self.values[value].role == "activation"
                    and self._layouts[value] == self._layouts[old])
        if not in_place:
            self.add_call(torch.ops.aten.copy_.default, (state, new), {}, state,
                          Origin("forward", module, "model"))
            return
        self._overwrite(op, index, before)
        self.values[value].alias_of = old
        if self.values[old].role in RESIDENT_ROLES:
            self.values[value].role = self.values[old].role
        self._readers[before] = list(self._readers.get(memory, ()))
        self._remember(state, value)

    def _written(self, func, given) -> list[torch.Tensor]:
        hidden: Sequence[str] = ()
        if any(argument.name == "training" and value for argument, value in given):
            hidden = _HIDDEN_WRITES.get(costs.op_name(func), ())
        return [tensor for argument, value in given for tensor in costs.tensors_in(value)
                if argument.name in hidden
                or argument.alias_info is not None and argument.alias_info.is_write]

    def _record(self, func, args, kwargs, given, result, written, origin: Origin) -> None:
        inputs = [tensor for _, value in given for tensor in costs.tensors_in(value)]
        fresh = [t for t in costs.tensors_in(result) if not any(t is w for w in written)]
        outputs = fresh + written
        name, kind = costs.op_name(func), f"{func.namespace}.{costs.op_name(func)}"
        if func.namespace == "fsdp":  # it fills new buffers
            kind, inputs, written = ranks.COPIES[name], [t for t in inputs if not any(t is w for w in written)], []
        memory = {_storage(t) for t in inputs}
        is_view = not written and all(_storage(t) in memory for t in fresh)
        if is_view and len(inputs) == len(fresh) == 1:
            same = self._undone_view(self.value_of(inputs[0]), fresh[0])
            if same is not None:
                self._remember(fresh[0], same)
                return
        prefix, module, forward_op = self._place(origin)
        unnumbered = (self._divided and origin.phase == "backward" and forward_op is None
                      and origin.sequence_nr is not None and inputs)
        if func.namespace == "fsdp" or unnumbered:
            prefix, module, forward_op = *self._place_of(inputs[0], origin, (prefix, module)), None
        index = self._add_op(
            f"{prefix}/{name}", kind, origin.phase, inputs, outputs,
            written, module=module, forward_op=forward_op, is_view=is_view,
            flops=0 if is_view else costs.flops(func, args, kwargs, result),
            bytes_accessed=0 if is_view else costs.traffic(name, given, outputs),
            attributes=costs.attributes(given))
        for tensor in outputs if func.namespace == "fsdp" else ():
            self._renew(tensor)
        if name == "split_with_sizes_copy":
            self._unpacked.append(index)
        if origin.phase == "forward" and origin.sequence_nr is not None:
            # The first op with this number is the op for which autograd made the node.
            self._op_of_sequence_nr.setdefault(origin.sequence_nr, index)

    def _undone_view(self, value: int | None, view: torch.Tensor) -> int | None:
        """Returns `value`, or the value it is a view of, if that has exactly the memory layout of `view`."""
        while value is not None:
            producer = self.values[value].producer
            if self._layouts[value] == _layout(view):
                return value
            if producer is not None and self.ops[producer].writes:
                return None
            value = self.values[value].alias_of
        return None

    def _place(self, origin: Origin) -> tuple[str, str, int | None]:
        """Returns the prefix of the op's name, its module, and the forward op to which it belongs."""
        if origin.phase == "forward":
            return origin.module or origin.area, origin.module, None
        forward_op = self._op_of_sequence_nr.get(origin.sequence_nr)
        if forward_op is None:
            return f"{origin.area}/backward", "", None
        forward = self.ops[forward_op]
        return forward.stem.rpartition("/")[0] + "/backward", forward.module, forward_op

    # --- notes --------------------------------------------------------------------------------

    def _add_op(self, stem: str, kind: str, phase: str, inputs: Sequence[torch.Tensor],
                outputs: Sequence[torch.Tensor], written: Sequence[torch.Tensor],
                is_view: bool = False, **details: Any) -> int:
        read = [self.value_of(t) for t in inputs]  # may add constants, so it precedes our index
        index = len(self.ops)
        op = OpRecord(stem, kind, read, [], phase, **details)
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
            self._overwrite(op, index, _storage(tensor))
        origin = {_storage(t): v for t, v in zip(reversed(inputs), reversed(read))}
        for tensor in outputs:
            overwritten = any(tensor is w for w in written)
            before = self.value_of(tensor) if overwritten else origin.get(_storage(tensor))
            role = "activation"
            if overwritten and self.values[before].role in RESIDENT_ROLES:
                role = self.values[before].role
            op.outputs.append(self._new_value(tensor, index, role=role, alias_of=before))
        return index

    def _overwrite(self, op: OpRecord, index: int, storage: int) -> None:
        """Notes that `op` writes `storage`: after its readers, on the device of the state stored there."""
        op.writes = True
        op.after.update(reader for reader in self._readers.get(storage, ()) if reader != index)
        self._readers[storage], self._writer[storage] = [], index
        label = self._label_of.get(storage)
        if label and op.label and label != op.label:
            self.same_label.append((op.label, label))
        op.label = op.label or label

    def _add_source(self, tensor: torch.Tensor, name: str, kind: str, role: str) -> int:
        index, label = len(self.ops), self._label_of.get(_storage(tensor))
        is_state = role == "optimizer_state"  # belongs to the device of its parameter
        module = (label if is_state and label else name).rpartition(".")[0]
        value = self._new_value(tensor, index, role=role)
        self.ops.append(OpRecord(name, kind, [], [value], "update" if is_state else "forward",
                                 module, flops=0, label=label))
        return value

    def _new_value(self, tensor: torch.Tensor, producer: int | None, **details: Any) -> int:
        dtype = sized(str(tensor.dtype))
        if dtype is None:
            raise TypeError(f"an emplace graph cannot contain a tensor of {tensor.dtype}")
        self.values.append(Value(tuple(tensor.shape), dtype, producer, **details))
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
