"""Families of graphs for the generalisation experiment of Placeto (NeurIPS 2019).

A family is a kind of network whose members are drawn at random. An agent learns on some of them and is tested on the
others. Comments say which values are those of ENAS and which are our choice.

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

GRAPHS = 32  # in each family
Architecture = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Family:
    """train: graphs to train on, of GRAPHS; groups: number of groups of each graph after coarsening."""

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
           # ENAS trains with momentum; it also clips each gradient, which is left out here.
           {"optimizer": "momentum", "clip": None, "aggregation": "add_n"}, train=17, groups=128),
    Family("ptb", "language models of random recurrent cells, drawn as in ENAS",
           architectures.draw_ptb, "families.recurrent",
           # ENAS: gradient descent, global norm clipped to 0.25.
           {"optimizer": "sgd", "clip": 0.25, "aggregation": "add_n"}, train=17, groups=128),
    Family("nmt", "LSTM translation with attention of varied depth, width and length",
           architectures.draw_nmt, "emplace.importers.tensorflow.models.nmt",
           # Trained like by `emplace import --from tensorflow`.
           {"optimizer": "adam", "clip": 5.0, "aggregation": "add_n"}, train=5, groups=160))}


def graph_name(index: int) -> str:
    return f"{index:02d}"


def draw(family: Family, seed: int, count: int = GRAPHS) -> list[dict[str, Any]]:
    """Returns [count] architectures, all different; the first ones do not depend on `count`."""
    drawn: list[dict[str, Any]] = []
    for index in range(count):
        chance = Chance(f"{family.name}/{seed}/{index}")
        architecture = family.draw_one(chance)
        while architecture in drawn:
            architecture = family.draw_one(chance)
        drawn.append(architecture)
    return drawn


def split(family: Family, seed: int, count: int = GRAPHS) -> tuple[list[str], list[str]]:
    """Returns (train, test): names of graphs, each sorted; together all `count` graphs.

    17 of 32 train in cifar10 and ptb, 5 of 32 in nmt (not certain); the graphs are drawn (our choice). Fewer graphs
    are divided in proportion, with at least one on each side.
    """
    names = [graph_name(index) for index in range(count)]
    order = Chance(f"{family.name}/{seed}/split").shuffled(names)
    train = min(max(1, round(count * family.train / GRAPHS)), count - 1)
    return sorted(order[:train]), sorted(order[train:])
