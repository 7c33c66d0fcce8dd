"""A flat step as an emplace graph: names, roles, phases, updates in place, co-location.

- Declared state becomes ops of kind `parameter`; arrays that the step captures become ops of kind `constant`. Other
  arguments are graph inputs.
- A new value of state is written in place: the op that computes it aliases the old tensor and is listed as its
  reader. The op waits for the ops that read the old value, unless these come first anyway. If something needs the old
  value later, or the new value is a view or appears in two places, a `jax.copy` at the end writes it.
- A parameter, its optimiser state, and the ops that serve only its update share a label.
"""

from __future__ import annotations

import collections
from typing import Mapping, Sequence

from emplace.importers import Dropped
from emplace.importers.graph_file import GraphBuilder, Names
from emplace.importers.jax.flatten import Flat
from emplace.importers.jax.labels import labels_of
from emplace.importers.jax.names import attributes_of, forward_ops, name_of
from emplace.importers.jax.phases import Reach, phases
from emplace.importers.jax.state import Leaf


class Converter:
    """Converts a flat step.

    arguments: the leaves of flat.inputs. results: the leaves of flat.outputs. updates: place of an argument -> place of
    the result that is its new value.
    """

    def __init__(self, flat: Flat, arguments: Sequence[Leaf], results: Sequence[Leaf], updates: Mapping[int, int],
                 builder: GraphBuilder) -> None:
        self.flat, self.arguments, self.results, self.builder = flat, arguments, results, builder
        self.state = {flat.inputs[old]: flat.outputs[new] for old, new in updates.items()}  # value -> its new value
        self.leaf_of = dict(zip(flat.inputs, arguments))
        self.reach = Reach(flat)
        self.written: dict[int, int] = {}         # new value -> the state that it overwrites
        self.copies: list[tuple[int, int]] = []   # (new value, state), written by a copy at the end
        self.tensors: dict[int, int] = {}         # value -> tensor
        self.op_ids: dict[int, int] = {}          # node -> op
        self.told: collections.Counter[tuple[str, str]] = collections.Counter(flat.dropped)
        self.readers: dict[int, list[int]] = collections.defaultdict(list)  # value, or the value that it views -> nodes
        self.root: dict[int, int] = {}            # a view -> the value that it views

    def run(self) -> list[Dropped]:
        self._find_readers()
        # A value that is also returned outside the state is not an update, and neither is an unchanged value.
        changed = {old: new for old, new in self.state.items() if old != new}
        self.phase = phases(self.flat, changed.values())
        self.shown_state = {self.root.get(value, value) for value in self.flat.outputs} & set(changed)
        for old, new in changed.items():
            self._choose_writing(old, new)
        self.labels = labels_of(self.flat, self.phase, self.leaf_of, changed, self.written, self.readers)
        self.names = Names()
        self._add_sources()
        self._add_nodes()
        self._add_copies()
        return [Dropped(what, count, why) for (what, why), count in sorted(self.told.items())]

    def _find_readers(self) -> None:
        for i, node in enumerate(self.flat.nodes):
            for value in dict.fromkeys(node.inputs):
                self.readers[self.root.get(value, value)].append(i)
            for place, output in zip(node.views, node.outputs):
                if place is not None:
                    source = node.inputs[place]
                    self.root[output] = self.root.get(source, source)

    def _choose_writing(self, old: int, new: int) -> None:
        """Lets the op that computes the new value write in place if that is possible; else adds a copy."""
        producer = self.reach.producer.get(new)
        taken = new in self.written or new in {copied for copied, _ in self.copies}
        # Nodes are in execution order: the op that overwrites must be the last reader.
        if producer is not None and not taken and new not in self.root and old not in self.shown_state \
                and all(reader <= producer for reader in self.readers[old]):
            self.written[new] = old
        else:
            self.copies.append((new, old))

    def _add_sources(self) -> None:
        for value, leaf in zip(self.flat.inputs, self.arguments):
            shape = self.flat.values[value]
            name = self.names.unique(leaf.name)
            role = leaf.role
            self.tensors[value] = self.builder.tensor(name, shape.shape, shape.dtype, role=role,
                                                      num_bytes=shape.num_bytes)
            if role != "input":
                self.builder.op(name, "parameter", [], [self.tensors[value]], colocate=self.labels.of_state.get(value))
        for value in self.flat.constants:
            shape = self.flat.values[value]
            name = self.names.unique("constant")
            self.tensors[value] = self.builder.tensor(name, shape.shape, shape.dtype, role="buffer",
                                                      num_bytes=shape.num_bytes)
            self.builder.op(name, "constant", [], [self.tensors[value]])
            if shape.is_float and shape.elements > 1:
                self.told["array that the step captures", "is a constant and not a parameter; pass it as an argument "
                                                          "if it is a parameter"] += 1

    def _add_nodes(self) -> None:
        shown = set(self.flat.outputs)
        forward = forward_ops(self.flat, self.phase, self.root)
        op_names: dict[int, str] = {}
        for i, node in enumerate(self.flat.nodes):
            label = self.labels.of_node.get(i)
            name = op_names[i] = self.names.unique(name_of(node, self.phase[i], label))
            inputs = [self.tensors[value] for value in node.inputs]
            moved = self.builder.default_bytes(inputs, []) + sum(self.flat.values[v].num_bytes for v in node.outputs)
            if node.moved is not None:
                moved = node.moved
            overwritten = [self.written[value] for value in node.outputs if value in self.written]
            inputs += [self.tensors[old] for old in overwritten if old not in node.inputs]
            outputs = [self._add_output(i, place, name, value in shown)
                       for place, value in enumerate(node.outputs)]
            if node.flops is None:
                self.told[f"jax.{node.primitive}", "no FLOP formula: only its bytes have a cost"] += 1
            if node.note:
                self.told[f"jax.{node.primitive}", node.note] += 1
            attributes = attributes_of(node)
            if i in forward:
                attributes["forward_op"] = op_names[forward[i]]
            self.op_ids[i] = self.builder.op(
                name, f"jax.{node.primitive}", inputs, outputs, flops=node.flops or 0, bytes_accessed=moved,
                control_inputs=self._waited_for(i, overwritten) or self._not_before(i), phase=self.phase[i],
                colocate=label, attributes=attributes)

    def _add_output(self, i: int, place: int, name: str, is_shown: bool) -> int:
        node = self.flat.nodes[i]
        value = node.outputs[place]
        what, alias, role = self.flat.values[value], None, "activation"
        if value in self.written:
            alias, role = self.tensors[self.written[value]], "output"
        elif node.views[place] is not None:
            alias = self.tensors[node.inputs[node.views[place]]]
        if is_shown and value not in {new for new, _ in self.copies}:
            role = "output"
        elif role == "activation" and self.phase[i] == "backward" and what.is_float:
            role = "gradient"
        self.tensors[value] = self.builder.tensor(f"{name}:{place}" if len(node.outputs) > 1 else name, what.shape,
                                                  what.dtype, role=role, alias_of=alias, num_bytes=what.num_bytes)
        return self.tensors[value]

    def _waited_for(self, i: int, overwritten: Sequence[int]) -> list[int]:
        """Returns the ops that read the values overwritten by op i and that do not already precede it."""
        return sorted({self.op_ids[reader] for old in overwritten for reader in self.readers[old]
                       if reader != i and not self.reach.needs(i, reader)})

    def _not_before(self, i: int) -> list[int]:
        """Returns, for an op without operands, the last op before it that its first reader needs."""
        node = self.flat.nodes[i]
        first = next((j for value in node.outputs for j in self.readers[value]), None)
        if node.inputs or first is None:
            return []
        before = [self.reach.producer.get(value, i) for value in self.flat.nodes[first].inputs]
        return [self.op_ids[j] for j in sorted(before) if j < i][-1:]

    def _add_copies(self) -> None:
        """Copies the new values that no op writes in place.

        Old values that are the new values of other state are saved first.
        """
        saved: dict[int, tuple[int, int]] = {}  # new value -> its copy's tensor and op
        for new, _ in self.copies:
            if self.root.get(new, new) in self.shown_state and new not in saved:
                saved[new] = self._add_copy("saved", new, [])
        for new, old in self.copies:
            waited = [self.op_ids[reader] for reader in self.readers[old]] + [op for _, op in saved.values()]
            self._add_copy("copy", new, sorted(set(waited)), old, saved.get(new, (self.tensors[new], 0))[0])

    def _add_copy(self, what: str, new: int, waited: list[int], old: int | None = None,
                  source: int | None = None) -> tuple[int, int]:
        """Copies value `new`, or its tensor `source`, to new memory, or over the state `old`."""
        value = self.flat.values[new]
        name = self.names.unique(f"update/{self.leaf_of[old].name}/copy" if old is not None else f"update/{what}")
        inputs = [self.tensors[new] if source is None else source]
        if old is not None and self.tensors[old] not in inputs:
            inputs.append(self.tensors[old])
        tensor = self.builder.tensor(name, value.shape, value.dtype, num_bytes=value.num_bytes,
                                     role="activation" if old is None else "output",
                                     alias_of=None if old is None else self.tensors[old])
        op = self.builder.op(name, "jax.copy", inputs, [tensor], phase="update", bytes_accessed=2 * value.num_bytes,
                             control_inputs=waited, colocate=self.labels.of_state.get(old))
        return tensor, op
