"""Phases of a flat step (forward, backward or update), and the parameter that each op of the update serves."""

from __future__ import annotations

from typing import Iterable, Sequence

from emplace.importers.jax.flatten import Flat


class Reach:
    """Reachability between nodes: the nodes that depend on a node, and the nodes it depends on."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.producer = {value: i for i, node in enumerate(flat.nodes) for value in node.outputs}
        self._before: list[int] = []  # for each node, the nodes that it needs, as bits

    def descendants(self, nodes: Iterable[int], values: Iterable[int] = ()) -> set[int]:
        """Returns the nodes that need a result of these nodes, or one of these values; excludes these nodes."""
        reached = set(values)
        for i in nodes:
            reached.update(self.flat.nodes[i].outputs)
        found = set()
        for i, node in enumerate(self.flat.nodes):
            if reached.intersection(node.inputs):
                found.add(i)
                reached.update(node.outputs)
        return found

    def needs(self, node: int, other: int) -> bool:
        """Returns whether a node needs a result of another one, directly or through others."""
        if not self._before:
            for each in self.flat.nodes:
                bits = 0
                for before in {self.producer[value] for value in each.inputs if value in self.producer}:
                    bits |= self._before[before] | 1 << before
                self._before.append(bits)
        return bool(self._before[node] >> other & 1)

    def ancestors(self, values: Iterable[int]) -> set[int]:
        """Returns the nodes that these values need."""
        wanted = set(values)
        found = set()
        for i in reversed(range(len(self.flat.nodes))):
            node = self.flat.nodes[i]
            if wanted.intersection(node.outputs):
                found.add(i)
                wanted.update(node.inputs)
        return found


def phases(flat: Flat, new_state: Iterable[int]) -> list[str]:
    """Returns the phase of each node.

    backward: nodes made by JAX's transposition, and the nodes between them. update: other nodes that depend on those,
    and nodes that serve only the new state (new_state: values that become state). forward: the rest.
    """
    reach, new_state = Reach(flat), set(new_state)
    marked = {i for i, node in enumerate(flat.nodes) if node.is_backward}
    after = reach.descendants(marked)
    before = reach.ancestors(value for i in marked for value in flat.nodes[i].inputs)
    shown = reach.ancestors(set(flat.outputs) - new_state)
    found = []
    for i in range(len(flat.nodes)):
        if i in marked or i in after and i in before:
            found.append("backward")
        elif i in after or i not in before and i not in shown:
            found.append("update")
        else:
            found.append("forward")
    return found


def owners(flat: Flat, phase: Sequence[str], new_parameters: Sequence[int]) -> list[int | None]:
    """Returns for each node of the update the one parameter (a place in new_parameters) that it serves; else None."""
    serves: dict[int, int] = {}  # value -> bits, one per parameter
    for place, value in enumerate(new_parameters):
        serves[value] = serves.get(value, 0) | 1 << place
    found: list[int | None] = [None] * len(flat.nodes)
    for i in reversed(range(len(flat.nodes))):
        node = flat.nodes[i]
        if phase[i] != "update":
            continue
        bits = 0
        for value in node.outputs:
            bits |= serves.get(value, 0)
        for value in node.inputs:
            serves[value] = serves.get(value, 0) | bits
        if bits and bits & (bits - 1) == 0:
            found[i] = bits.bit_length() - 1
    return found
