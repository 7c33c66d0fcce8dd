"""Families of graphs for the generalisation experiment of Placeto (NeurIPS 2019).

A family is a kind of network whose members are drawn at random; an agent learns on some of them and
is asked about the others. Marks: [V] looked up, [R] recalled, not checked against the text, [?] not
sure, [ours] our choice.

`draw` and `split` are plain Python and depend on their arguments only, on every machine and version
of Python; TensorFlow is needed for `Family.build` alone.
"""

from __future__ import annotations

import dataclasses
import importlib
import types
from typing import Any, Callable, Mapping

from families import architectures
from families.chance import Chance

GRAPHS = 32  # [V] in each family
Architecture = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Family:
    """train: graphs to train on, of GRAPHS; groups: what coarsening brings each graph to."""

    name: str
    sentence: str
    draw_one: Callable[[Chance], dict[str, Any]]
    module: str
    training_step: Mapping[str, Any]  # optimizer, clip, aggregation of emplace.importers.tensorflow.train_step
    train: int
    groups: int

    def build(self, architecture: Architecture) -> Any:
        """Builds the forward pass into TensorFlow's default graph; returns the scalar loss."""
        options = types.SimpleNamespace(**architecture)
        return importlib.import_module(self.module).build(options)


FAMILIES = {family.name: family for family in (
    Family("cifar10", "image classifiers of random convolutional cells, drawn as in ENAS",
           architectures.draw_cifar10, "families.convolutional",
           # [V] ENAS trains with momentum; it clips each gradient, which is left out [ours].
           {"optimizer": "momentum", "clip": None, "aggregation": "add_n"}, train=17, groups=128),
    Family("ptb", "language models of random recurrent cells, drawn as in ENAS",
           architectures.draw_ptb, "families.recurrent",
           # [V] ENAS: gradient descent, global norm clipped to 0.25.
           {"optimizer": "sgd", "clip": 0.25, "aggregation": "add_n"}, train=17, groups=128),
    Family("nmt", "LSTM translation with attention of varied depth, width and length",
           architectures.draw_nmt, "emplace.importers.tensorflow.models.nmt",
           # As `emplace import --from tensorflow` trains it.
           {"optimizer": "adam", "clip": 5.0, "aggregation": "add_n"}, train=5, groups=160))}


def graph_name(index: int) -> str:
    return f"{index:02d}"


def draw(family: Family, seed: int, count: int = GRAPHS) -> list[dict[str, Any]]:
    """[count] architectures, no two alike; the first ones do not depend on `count`."""
    drawn: list[dict[str, Any]] = []
    for index in range(count):
        chance = Chance(f"{family.name}/{seed}/{index}")
        architecture = family.draw_one(chance)
        while architecture in drawn:
            architecture = family.draw_one(chance)
        drawn.append(architecture)
    return drawn


def split(family: Family, seed: int, count: int = GRAPHS) -> tuple[list[str], list[str]]:
    """(train, test): names of graphs, each sorted; together all `count` graphs.

    17 of 32 train in cifar10 and ptb, 5 of 32 in nmt [?]; which ones is drawn [ours]. Fewer graphs
    are shared out in proportion, with at least one on each side.
    """
    names = [graph_name(index) for index in range(count)]
    order = Chance(f"{family.name}/{seed}/split").shuffled(names)
    train = min(max(1, round(count * family.train / GRAPHS)), count - 1)
    return sorted(order[:train]), sorted(order[train:])
