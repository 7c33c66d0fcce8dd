"""Calls with their tensors as a graph; storages in memory connect a tensor's writer with its readers."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

from .. import Dropped, graph_file
from ..union import Union
from . import aten
from .calls import Call, Ref, Selection, refs

Key = tuple[Any, int]  # a storage, and how often its memory had been released before


@dataclasses.dataclass
class _Memory:
    """The contents of a storage: the tensor written last, views of it, and its readers since."""

    current: int
    root: str
    views: dict[Any, int] = dataclasses.field(default_factory=dict)
    readers: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class _Use:
    """The use of a storage that existed before the first call."""

    largest: Ref
    phases: set[str] = dataclasses.field(default_factory=set)
    written: set[str] = dataclasses.field(default_factory=set)  # phases
    places: set[str] = dataclasses.field(default_factory=set)   # "weight", "statistics"


def build(selection: Selection, graph: graph_file.GraphBuilder, device_kind: str | None) -> list[Dropped]:
    """Fills `graph` and returns the dropped parts. device_kind: of the durations, None if there are none."""
    return _Builder(selection, graph, device_kind).run()


class _Builder:
    def __init__(self, selection: Selection, graph: graph_file.GraphBuilder, device_kind: str | None) -> None:
        self.selection, self.graph, self.device_kind = selection, graph, device_kind
        self.calls = selection.calls
        self.generation: dict[Any, int] = {}
        self.keys: list[dict[Ref, Key]] = []        # for each call, the keys of the tensors it reads
        self.results: list[dict[Ref, Key]] = []     # likewise of the tensors it makes
        self.external: dict[Key, _Use] = {}
        self.memory: dict[Key, _Memory] = {}
        self.inner: set[Key] = set()                # memory that was created inside of calls
        self.pending: dict[Key, tuple[int, Ref]] = {}  # created inside of an op, not read yet
        self.counts: collections.Counter[str] = collections.Counter()
        self.by_sequence: dict[int, str] = {}
        self.together: dict[Key, Key] = {}          # a parameter's state -> the parameter
        self.has_update = False                     # parameters are written after the backward pass
        self.roles: dict[Key, str] = {}             # of storages that existed before the first call
        self.numbers: dict[Key, int] = {}
        self.unknown: collections.Counter[str] = collections.Counter()
        self.copies = 0

    def run(self) -> list[Dropped]:
        for call in self.calls:
            self._trace(call)
        self.has_update = any("update" in use.written and use.phases != {"update"} for use in self.external.values())
        self.roles = {key: self._role(use) for key, use in self.external.items()}
        self.numbers = {key: number for number, key in enumerate(self.external, 1)}
        self._join_states()
        for key, use in self.external.items():
            self._source(key, use, self.roles[key])
        for call, read, made in zip(self.calls, self.keys, self.results):
            self._op(call, read, made)
        self._mark_outputs()
        return self._told()

    def _trace(self, call: Call) -> None:
        """Finds the memory of each tensor of a call.

        A result that is in the memory of no input is new memory.
        """
        read: dict[Ref, Key] = {}
        written = aten.written_arguments(call.node.name, call.node.schema, call.inputs)
        for position, argument in enumerate(call.inputs):
            for ref in refs([argument]):
                known = self.generation.get(ref.storage, -1)
                # A number made by Python may use the memory of a number inside an earlier call.
                if known < 0 or (not ref.shape and (ref.storage, known) in self.inner):
                    self.generation[ref.storage] = known = known + 1
                    self.external[ref.storage, known] = _Use(ref)
                key = (ref.storage, known)
                read[ref] = key
                if key in self.external:
                    self._used(self.external[key], ref, call, position, position in written)
        inside = {ref.storage for ref in refs(call.inputs)}
        made: dict[Ref, Key] = {}
        hidden = set(call.inner_outputs) - set(refs(call.outputs))
        for ref in [*refs(call.outputs), *call.inner_outputs]:
            if ref.storage in inside:
                made.setdefault(ref, (ref.storage, self.generation[ref.storage]))
            else:
                self.generation[ref.storage] = self.generation.get(ref.storage, -1) + 1
                inside.add(ref.storage)
                made[ref] = (ref.storage, self.generation[ref.storage])
                if ref in hidden:
                    self.inner.add(made[ref])
        self.keys.append(read)
        self.results.append(made)

    def _used(self, use: _Use, ref: Ref, call: Call, position: int, written: bool) -> None:
        use.phases.add(call.phase)
        if written:
            use.written.add(call.phase)
        if ref.num_bytes > use.largest.num_bytes:
            use.largest = ref
        name = aten.base_name(call.node.name)
        if position in aten.WEIGHTS.get(name, ()):
            use.places.add("weight")
        if position in aten.STATISTICS.get(name, ()):
            use.places.add("statistics")

    def _role(self, use: _Use) -> str:
        if not use.largest.shape and not use.written:  # a Python number
            return "constant"
        if use.phases == {"update"}:
            return "optimizer_state"
        if "update" in use.written:
            return "parameter"
        if "statistics" in use.places or use.written:
            return "buffer"
        return "parameter" if "weight" in use.places and not self.has_update else "input"

    def _join_states(self) -> None:
        """Assigns each state to the parameter that it is used with, or whose gradient it accumulates."""
        union: Union[Key] = Union()
        made = {key: call for call, results in zip(self.calls, self.results) for key in results.values()}
        for call, read in zip(self.calls, self.keys):
            if call.phase != "update":
                continue
            sizes = {key: ref.num_bytes for ref, key in read.items()}
            parameters = [key for key in sizes if self.roles.get(key) == "parameter"]
            gradients = [key for key in sizes if key in made and made[key].phase == "backward"]
            if len(parameters) > 1 or len(gradients) > 1 or not parameters + gradients:
                continue
            first = (parameters + gradients)[0]
            for key, size in sizes.items():
                if size == sizes[first] and (key in gradients or self.roles.get(key) == "optimizer_state"):
                    union.join(first, key)
        owners = {union.root(key): key for key, role in self.roles.items() if role == "parameter"}
        for key, role in self.roles.items():
            if role == "optimizer_state" and union.root(key) in owners:
                self.together[key] = owners[union.root(key)]

    def _source(self, key: Key, use: _Use, role: str) -> None:
        ref = use.largest
        name = f"{role}_{self.numbers[key]}"
        tensor = self.graph.tensor(name, ref.shape, ref.dtype, role="buffer" if role == "constant" else role,
                                   num_bytes=ref.num_bytes)
        if role != "input":
            self.graph.op(name, "constant" if role == "constant" else "parameter", [], [tensor],
                          colocate=self._label(key, role))
        self.memory[key] = _Memory(tensor, role)

    def _label(self, key: Key, role: str) -> str | None:
        """Returns the name of the parameter to which a tensor belongs."""
        owner = self.together.get(key, key)
        if role not in ("parameter", "optimizer_state") or self.roles.get(owner) != "parameter":
            return None
        return f"parameter_{self.numbers[owner]}"

    def _op(self, call: Call, read: dict[Ref, Key], made: dict[Ref, Key]) -> None:
        name = call.base
        written = aten.written_arguments(call.node.name, call.node.schema, call.inputs)
        changed = {read[ref] for position in written for ref in refs(call.inputs[position:position + 1])}
        own = dict.fromkeys(refs(call.outputs))
        runs = self.selection.on_device and call.duration
        if own and not changed and not runs and all(ref in read and made[ref] == read[ref] for ref in own):
            self.copies += 1  # returns its argument
            return
        number = len(self.graph.ops)
        inputs, used = [], {}
        for ref, key in read.items():
            tensor = self._tensor(ref, key)
            used.setdefault(key, tensor)
            if tensor not in inputs:
                inputs.append(tensor)
        waits = {reader for key in changed for reader in self.memory[key].readers} - {number}
        outputs = []
        for ref in own:
            key = made[ref]
            if key not in used:
                outputs.append(self._fresh(call, ref, key, len(outputs)))
            elif key not in changed and ref not in read:
                tensor = self._add(call, ref, len(outputs), used[key])
                self.memory[key].views[ref] = tensor
                outputs.append(tensor)
        for key in sorted(changed, key=lambda key: used[key]):
            before = self.graph.tensors[used[key]]
            root = self.memory[key].root
            role = "output" if root in ("parameter", "optimizer_state", "buffer") else "activation"
            written_name = f"{name}_{self.counts[name]}/{before.name.rpartition('/')[2]}"
            tensor = self.graph.tensor(written_name, before.shape, before.dtype, role=role,
                                       num_bytes=before.num_bytes, alias_of=used[key])
            outputs.append(tensor)
            self.memory[key] = _Memory(tensor, root)
        for ref, key in made.items():
            if ref not in own and key not in used and key not in self.memory:
                self.pending[key] = (number, ref)
        for key in set(read.values()):
            if key not in changed:
                self.memory[key].readers.append(number)
        self._emit(call, name, inputs, outputs, waits, changed, written)

    def _emit(self, call: Call, name: str, inputs: list[int], outputs: list[int], waits: set[int], changed: set[Key],
              written: set[int]) -> None:
        shapes = [argument.shape if isinstance(argument, Ref) else None for argument in call.inputs]
        first = next(refs(call.outputs), None)
        work = 0 if call.rest else aten.flops(call.node.name, shapes, call.inputs, first.shape if first else None)
        if work is None:
            self.unknown[call.kind] += 1
        is_view = bool(outputs) and not changed and all(self.graph.tensors[t].alias_of is not None for t in outputs)
        attributes = dict(call.attributes)
        full = f"{name}_{self.counts[name]}"
        self.counts[name] += 1
        if call.phase == "backward" and call.forward_sequence in self.by_sequence:
            attributes["forward_op"] = self.by_sequence[call.forward_sequence]
        if call.phase == "forward" and call.node.sequence >= 0:
            self.by_sequence[call.node.sequence] = full
        label = next((self._label(key, self.memory[key].root) for key in sorted(changed, key=str)
                      if call.phase == "update" and self._label(key, self.memory[key].root)), None)
        self.graph.op(full, call.kind, inputs, outputs, control_inputs=sorted(waits), flops=work or 0,
                      bytes_accessed=0 if is_view or name.startswith(("empty", "new_empty")) else None,
                      phase=call.phase, colocate=label, attributes=attributes,
                      cost_ns={} if call.duration is None or self.device_kind is None
                      else {self.device_kind: call.duration})

    def _tensor(self, ref: Ref, key: Key) -> int:
        if key in self.pending:  # now it is known to be a result of that op
            number, made = self.pending.pop(key)
            op = self.graph.ops[number]
            tensor = self.graph.tensor(f"{op.name}:{len(op.outputs)}", made.shape, made.dtype, num_bytes=made.num_bytes)
            op.outputs.append(tensor)
            self.memory[key] = _Memory(tensor, "")
        memory = self.memory[key]
        return memory.views.get(ref, memory.current)

    def _fresh(self, call: Call, ref: Ref, key: Key, index: int) -> int:
        tensor = self._add(call, ref, index, None)
        self.memory[key] = _Memory(tensor, "")
        return tensor

    def _add(self, call: Call, ref: Ref, index: int, alias: int | None) -> int:
        name = call.base
        number = f"{name}_{self.counts[name]}" + (f":{index}" if index else "")
        role = "gradient" if call.phase == "backward" and ref.dtype in ("f64", "f32", "f16", "bf16") else "activation"
        return self.graph.tensor(number, ref.shape, ref.dtype, role=role, num_bytes=ref.num_bytes, alias_of=alias)

    def _mark_outputs(self) -> None:
        """Marks the outputs of the step.

        They are the first input of the backward pass, or the unread results of an inference.
        """
        ops, tensors = self.graph.ops, self.graph.tensors
        backward = next((op for op in ops if op.phase == "backward" and op.inputs), None)
        read = {tensor for op in ops for tensor in op.inputs}
        if backward is not None:
            found = [t for t in backward.inputs if tensors[t].role == "activation"][:1]
        else:
            ends = [op for op in ops if op.inputs and not read & set(op.outputs)]
            found = [tensor for op in ends for tensor in op.outputs if tensors[tensor].alias_of is None]
        for tensor in found:
            if tensors[tensor].role == "activation":
                tensors[tensor].role = "output"

    def _told(self) -> list[Dropped]:
        told = [Dropped("calls that return their arguments", self.copies, "no ops")] if self.copies else []
        if self.selection.split:
            told.append(Dropped("calls on lists of tensors", self.selection.split, "one op for each place in the "
                                                                                   "lists, with a share of the time "
                                                                                   "in proportion to its bytes"))
        if self.selection.outside and self.device_kind:
            told.append(Dropped("host time outside of ops", 1, f"{self.selection.outside / 1e6:,.3f} ms of autograd "
                                "and Python"))
        for kind, count in sorted(self.unknown.items()):
            told.append(Dropped(f"FLOPs of {kind}", count, "they cannot be found in the trace"))
        parameters = sum(role == "parameter" for role in self.roles.values())
        if parameters and not self.has_update:
            told.append(Dropped("roles of parameters", parameters, "no optimiser is in the trace; parameters are "
                                                                   "found by their places in the calls, and other "
                                                                   "tensors are inputs"))
        return told
