"""The grain of a target: units of ops that get one device each, because the target can say no more than that.

A `Grain` is made of a graph's document (framework/graph/FORMAT.md) and of a unit for every op. Ops of one `colocate`
label share a device, so units that a label joins are one. What is searched and simulated is the whole graph, op by op;
its units only say which ops move together.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import TYPE_CHECKING, Any, Iterable, Sequence

from ..importers.graph_file import SOURCE_KINDS

if TYPE_CHECKING:
    from .._emplace import Graph


class PlaceFailure(Exception):
    """What cannot be placed; the message says where, why, and what to do."""


@dataclasses.dataclass
class Grain:
    """Units of a graph.

    document: of the graph that is simulated. names: [num_units] for people. unit_of_op: [num_ops] unit of each op.
    """

    document: dict[str, Any]
    names: list[str]
    unit_of_op: list[int]

    def scoped(self, device_kinds: Sequence[str] | None = None) -> dict[str, Any]:
        """The document with units as outermost scopes of the ops' names, for the coarsening pass `scope`.

        Names of forward ops are left out: an op that has one would count under its scope. A view of what another unit
        made is no alias here, since an alias must be with the tensor whose memory it shares: on one device with it, it
        counts its bytes once more than it would. device_kinds: where ops that compute may run (None: as told).
        """
        ops, tensors = [], list(self.document["tensors"])
        made = producers(self.document)
        for tensor in tensors:
            maker, shared = made[tensor["id"]], tensor.get("alias_of")
            if shared is None or maker is None or made[shared] is None:
                continue
            if self.unit_of_op[maker] != self.unit_of_op[made[shared]]:
                tensors[tensor["id"]] = {key: value for key, value in tensor.items() if key != "alias_of"}
        for op, unit in zip(self.document["ops"], self.unit_of_op):
            attributes = {key: value for key, value in op.get("attributes", {}).items() if key != "forward_op"}
            op = {**op, "name": f"unit{unit}/{op['name']}", "attributes": attributes}
            ops.append(op if device_kinds is None or is_source(op) else {**op, "device_kinds": list(device_kinds)})
        return {**self.document, "tensors": tensors, "ops": ops}

    def expand(self, devices: Sequence[int]) -> list[int]:
        """[num_units] devices of units -> [num_ops] devices of ops."""
        return [devices[unit] for unit in self.unit_of_op]

    def contract(self, device_of_op: Sequence[int]) -> list[int] | None:
        """[num_ops] -> [num_units]; None: it gives ops of one unit different devices."""
        devices: list[int | None] = [None] * len(self.names)
        for device, unit in zip(device_of_op, self.unit_of_op):
            if devices[unit] is None:
                devices[unit] = device
            elif devices[unit] != device:
                return None
        return [device if device is not None else 0 for device in devices]


def make(document: dict[str, Any], names: Sequence[str], unit_of_op: Sequence[int],
         joined: Iterable[tuple[int, int]] = ()) -> Grain:
    """Units numbered by their first op; those that a `colocate` label or `joined` ties together are one."""
    union = Union(len(names))
    for a, b in joined:
        union.join(a, b)
    first_of_label: dict[str, int] = {}
    for op, unit in zip(document["ops"], unit_of_op):
        label = op.get("colocate")
        if label:
            union.join(first_of_label.setdefault(label, unit), unit)
    members: dict[int, list[int]] = {}
    for unit in range(len(names)):
        members.setdefault(union.root(unit), []).append(unit)
    number: dict[int, int] = {}
    numbers = [number.setdefault(union.root(unit), len(number)) for unit in unit_of_op]
    joined_names = [", ".join(names[unit] for unit in members[root]) for root in number]
    return Grain(document, joined_names, numbers)


class Union:
    """Sets of numbers that grow together; a set is known by its least number."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def root(self, item: int) -> int:
        while self._parent[item] != item:
            self._parent[item] = self._parent[self._parent[item]]
            item = self._parent[item]
        return item

    def join(self, a: int, b: int) -> bool:
        """Were they apart?"""
        a, b = self.root(a), self.root(b)
        self._parent[max(a, b)] = min(a, b)
        return a != b


def is_source(op: dict[str, Any]) -> bool:
    """Does the op hold a value (parameter, constant) instead of computing one?"""
    return op["kind"] in SOURCE_KINDS


def producers(document: dict[str, Any]) -> list[int | None]:
    """[num_tensors] the op that makes each tensor; None: an input of the graph."""
    made: list[int | None] = [None] * len(document["tensors"])
    for op in document["ops"]:
        for tensor in op["outputs"]:
            made[tensor] = op["id"]
    return made


def compiled(document: dict[str, Any]) -> Graph:
    """The graph of a document. Throws InputError if it breaks a rule of the format."""
    import emplace

    return emplace.Graph.parse(json.dumps(document), document["name"])


def order(document: dict[str, Any]) -> list[int]:
    """Ops in the order in which one host thread issues them: of those that can be, the least id first."""
    found: list[int] = compiled(document).topological_order.tolist()
    return found


def one_after_another(document: dict[str, Any], unit_of_op: Sequence[int]) -> dict[str, Any]:
    """The document with control inputs by which a unit starts when the unit before it, in program order, is done.

    So no unit overlaps with another one, as where one host thread runs them and nothing tells it what could.
    """
    ops = document["ops"]
    added: dict[int, int] = {}
    previous: int | None = None
    for op in order(document):
        if is_source(ops[op]):
            continue
        if previous is not None and unit_of_op[previous] != unit_of_op[op]:
            added[op] = previous
        previous = op
    return with_control(document, added)


def with_control(document: dict[str, Any], added: dict[int, int]) -> dict[str, Any]:
    """A copy in which op `key` waits for op `value` as well."""
    ops = []
    for op in document["ops"]:
        if op["id"] in added and added[op["id"]] not in op.get("control_inputs", ()):
            op = {**op, "control_inputs": [*op.get("control_inputs", ()), added[op["id"]]]}
        ops.append(op)
    return {**copy.copy(document), "ops": ops}
