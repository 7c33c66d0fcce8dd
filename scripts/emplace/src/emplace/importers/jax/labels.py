"""Co-location: a parameter, its optimiser state and the ops that update them must share a device."""

from __future__ import annotations

import dataclasses
from typing import Mapping, Sequence

from emplace.importers.jax.flatten import Flat
from emplace.importers.jax.phases import owners
from emplace.importers.jax.state import Leaf


@dataclasses.dataclass
class Labels:
    """Co-location labels by node and by state (its value)."""

    of_node: dict[int, str]
    of_state: dict[int, str]


def labels_of(flat: Flat, phase: Sequence[str], leaf_of: Mapping[int, Leaf], changed: Mapping[int, int],
              written: Mapping[int, int], readers: Mapping[int, Sequence[int]]) -> Labels:
    """Returns the labels of the state that changes; a parameter's label is its name.

    changed: state -> its new value. written: output of an op -> the state that it overwrites. readers: value -> nodes.
    """
    parameters = [old for old in changed if leaf_of[old].role == "parameter"]
    owner = owners(flat, phase, [changed[old] for old in parameters])
    of_state = {old: leaf_of[old].name for old in changed}
    for old in changed:
        if leaf_of[old].role != "parameter":
            users = {owner[i] for i in readers.get(old, ())}
            if len(users) == 1 and None not in users:
                of_state[old] = leaf_of[parameters[users.pop()]].name
    of_node = {i: leaf_of[parameters[place]].name for i, place in enumerate(owner) if place is not None}
    same: dict[str, str] = {}  # a label -> the label that replaced it
    for i, node in enumerate(flat.nodes):
        for value in node.outputs:
            if value in written:  # an op that writes state runs on the device of the state
                label = _final(same, of_state[written[value]])
                if i in of_node and _final(same, of_node[i]) != label:
                    same[_final(same, of_node[i])] = label
                of_node[i] = label
    return Labels({i: _final(same, label) for i, label in of_node.items()},
                  {old: _final(same, label) for old, label in of_state.items()})


def _final(same: Mapping[str, str], label: str) -> str:
    while label in same:
        label = same[label]
    return label
