"""Draws the networks of the families: plain Python, no TensorFlow.

Search spaces: Pham et al., "Efficient Neural Architecture Search via Parameter Sharing" (ENAS, ICML
2018), and its public code. Draws are uniform (our choice): ENAS samples with a controller that it trains. An
architecture is a dict of plain values: the builders take it, and the graph file keeps it under `source`. A cell is a
text with one word per node, so that it can be read there:

    convolutional   "0:sep3+1:id 2:avg3+0:max3 ..."   node = op(input) + op(input)
    recurrent       "relu 0:tanh 0:id 2:sigmoid"       node = act(previous node), highway

Input 0 of a convolutional cell is the output of the last cell but one, input 1 that of the last cell; 2 is the
cell's own first node. Node 0 of a recurrent cell reads the word and the last state.
"""

from __future__ import annotations

from typing import Any

from families.chance import Chance

# ENAS, micro search space: its five ops. sep: separable convolution, applied twice.
CONVOLUTIONAL_OPS = ("id", "sep3", "sep5", "avg3", "max3")
CONVOLUTIONAL_NODES = 5  # besides the two inputs
# ENAS, recurrent search space: its four activations.
ACTIVATIONS = ("tanh", "relu", "id", "sigmoid")

ConvolutionalNode = tuple[int, str, int, str]


def parse_convolutional(cell: str) -> list[ConvolutionalNode]:
    """Parses "0:sep3+1:id" to [(0, "sep3", 1, "id")]."""
    nodes = []
    for word in cell.split():
        (x, x_op), (y, y_op) = (half.split(":") for half in word.split("+"))
        nodes.append((int(x), x_op, int(y), y_op))
    return nodes


def parse_recurrent(cell: str) -> list[tuple[int, str]]:
    """Parses "relu 0:tanh" to [(-1, "relu"), (0, "tanh")]; -1: the word and the last state."""
    words = [word.rpartition(":") for word in cell.split()]
    return [(int(before) if before else -1, activation) for before, _, activation in words]


def loose_ends(nodes: int, used: set[int], inputs: int) -> list[int]:
    """Returns the values that nobody in the cell reads, by number; they make its output."""
    return [value for value in range(inputs + nodes) if value not in used]


def convolutional_ends(cell: list[ConvolutionalNode]) -> list[int]:
    used = {value for x, _, y, _ in cell for value in (x, y)}
    return loose_ends(len(cell), used, 2)


def recurrent_ends(cell: list[tuple[int, str]]) -> list[int]:
    return loose_ends(len(cell), {before for before, _ in cell}, 0)


def _convolutional_cell(chance: Chance) -> str:
    """Draws uniformly from the cells with 3 to 7 separable convolutions among 10 ops (our choice).

    A search would not keep a network of pools and identities alone.
    """
    while True:
        words = []
        for node in range(CONVOLUTIONAL_NODES):
            halves = [f"{chance.below(node + 2)}:{chance.choice(CONVOLUTIONAL_OPS)}"
                      for _ in range(2)]
            words.append("+".join(halves))
        cell = " ".join(words)
        if 3 <= cell.count("sep") <= 7:
            return cell


def draw_cifar10(chance: Chance) -> dict[str, Any]:
    """Draws an image classifier: images 32x32x3, 10 classes.

    ENAS: 5 cells per stage, 36 filters, batch 144. Here the cells are fewer and wider (our choice), so that a group is
    far less than a cell, work outweighs transfers and every network still fits into the 11 GiB of one K80.
    """
    cells = chance.choice((1, 2, 3))
    return {"batch": chance.choice((64, 96, 128)),
            "filters": chance.choice(((64, 80, 96), (48, 64, 80), (36, 48, 64))[cells - 1]),
            "cells": cells,
            "normal": _convolutional_cell(chance),
            "reduction": _convolutional_cell(chance)}


def _recurrent_cell(chance: Chance, nodes: int) -> str:
    words = [chance.choice(ACTIVATIONS)]
    words += [f"{chance.below(node)}:{chance.choice(ACTIVATIONS)}" for node in range(1, nodes)]
    return " ".join(words)


def draw_ptb(chance: Chance) -> dict[str, Any]:
    """Draws a language model for Penn Treebank with 10,000 words.

    ENAS: 12 nodes, one layer, 748 units, batch 64, 35 steps; depth, width, length and nodes vary here (our choice).
    """
    layers = chance.choice((1, 2))
    sizes = {"batch": chance.choice((64, 96, 128)),
             "unroll": chance.choice((12, 15, 18)),
             "hidden": chance.choice((748, 896, 1024, 1152, 1280)),
             "layers": layers,
             "vocab": 10000}
    nodes = chance.choice((8, 10, 12) if layers == 1 else (5, 6, 7))
    return {**sizes, "cell": _recurrent_cell(chance, nodes)}


def draw_nmt(chance: Chance) -> dict[str, Any]:
    """Draws the options of emplace.importers.tensorflow.models.nmt.

    The ranges are our choice; short sequences keep the files small.
    """
    layers = chance.choice((1, 2, 3, 4))
    return {"batch": chance.choice((64, 80, 96, 112, 128)),
            "unroll": chance.choice(range(8, 14) if layers > 2 else range(12, 23)),
            "hidden": chance.choice(range(512, 1025, 64)),
            "layers": layers,
            "vocab": chance.choice((8000, 12000, 16000)),
            "dropout": 0.2}
