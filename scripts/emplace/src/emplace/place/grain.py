"""The grain of a target: units of ops that get one device each, since the target cannot express finer placements.

A `Grain` consists of a graph's document (framework/graph/FORMAT.md) and a unit for every op. Ops with the same
`colocate` label share a device, so units that a label joins become one. Search and simulation use the whole graph, op
by op; its units only define the ops that move together.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import TYPE_CHECKING, Any, Iterable, Sequence

from ..importers.graph_file import SOURCE_KINDS
from ..importers.union import Union

if TYPE_CHECKING:
    from .._emplace import Graph


class PlaceFailure(Exception):
    """A model that cannot be placed; the message says where, why, and how to proceed."""


@dataclasses.dataclass
class Grain:
    """Units of a graph.

    document: of the simulated graph. names: [num_units] for people. unit_of_op: [num_ops] unit of each op.
    """

    document: dict[str, Any]
    names: list[str]
    unit_of_op: list[int]

    def scoped(self, device_kinds: Sequence[str] | None = None) -> dict[str, Any]:
        """Returns the document with units as outermost scopes of the ops' names, for the coarsening pass `scope`.

        Names of forward ops are left out: an op with one would count under its scope. A view of another unit's tensor
        is not an alias here, since an alias must be on the device of the tensor whose memory it shares. If both are on
        one device, the bytes of the view are therefore counted once too often. device_kinds: the kinds that ops that
        compute may use (None: those of the ops).
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
        """Returns the devices of ops [num_ops] for the devices of units [num_units]."""
        return [devices[unit] for unit in self.unit_of_op]

    def contract(self, device_of_op: Sequence[int]) -> list[int] | None:
        """Returns the devices of units [num_units] for the devices of ops [num_ops].

        Returns None if ops of one unit have different devices.
        """
        devices: list[int | None] = [None] * len(self.names)
        for device, unit in zip(device_of_op, self.unit_of_op):
            if devices[unit] is None:
                devices[unit] = device
            elif devices[unit] != device:
                return None
        return [device if device is not None else 0 for device in devices]


def make(document: dict[str, Any], names: Sequence[str], unit_of_op: Sequence[int],
         joined: Iterable[tuple[int, int]] = ()) -> Grain:
    """Returns units numbered by their first op.

    Units that a `colocate` label or `joined` ties together become one.
    """
    union: Union[int] = Union()
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


def is_source(op: dict[str, Any]) -> bool:
    """Returns whether the op holds a value (parameter, constant) instead of computing one."""
    return op["kind"] in SOURCE_KINDS


def producers(document: dict[str, Any]) -> list[int | None]:
    """Returns [num_tensors] the op that makes each tensor; None: an input of the graph."""
    made: list[int | None] = [None] * len(document["tensors"])
    for op in document["ops"]:
        for tensor in op["outputs"]:
            made[tensor] = op["id"]
    return made


def compiled(document: dict[str, Any]) -> Graph:
    """Returns the graph of a document. Throws InputError if it breaks a rule of the format."""
    import emplace

    return emplace.Graph.parse(json.dumps(document), document["name"])


def order(document: dict[str, Any]) -> list[int]:
    """Returns the ops in the order in which one host thread issues them: of the ready ops, the least id first."""
    found: list[int] = compiled(document).topological_order.tolist()
    return found


def one_after_another(document: dict[str, Any], unit_of_op: Sequence[int]) -> dict[str, Any]:
    """Returns the document with control inputs that make each unit wait for the unit before it, in program order.

    So no unit overlaps with another one, as on a runtime whose single host thread cannot know which could.
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
    """Returns a copy in which op `key` also waits for op `value`."""
    ops = []
    for op in document["ops"]:
        if op["id"] in added and added[op["id"]] not in op.get("control_inputs", ()):
            op = {**op, "control_inputs": [*op.get("control_inputs", ()), added[op["id"]]]}
        ops.append(op)
    return {**copy.copy(document), "ops": ops}
