#!/usr/bin/env python3
"""Draws a max-load instance (msr-fiddle/dnn-partitioning's format).

    scripts/draw_max_load.py training --layers 48 --seed 3 -o t48.json
    scripts/draw_max_load.py operators --layers 12 --seed 1 -o o12.json
    emplace graph convert t48.json g.json --from max_load

training: a forward and a backward node per layer, both of one colour; every second layer has a residual edge, and the
second half of the layers reads the output of the first half, as in GNMT. operators: inference; each layer has three
branches of operators with a join, a mask that all joins read, and a residual edge. 6 accelerators and a CPU that is
10 times slower. Times [ms] and costs of edges are uniform.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import sys
from collections.abc import Sequence


class Drawing:
    """Nodes and edges, in the order in which they are drawn."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.nodes: list[dict] = []
        self.edges: list[dict] = []
        self.cost: dict[int, float] = {}

    def node(self, low: float, high: float, color: int, *, backward: bool = False) -> int:
        """Draws a node with a time in [low, high]; returns its id."""
        time = round(self.random.uniform(low, high), 3)
        number = len(self.nodes) + 1
        self.nodes.append(dict(name=f"n{number}", id=number, supportedOnFpga=1, cpuLatency=10 * time, fpgaLatency=time,
                               isBackwardNode=int(backward), size=1e7, colorClass=color))
        return number

    def edge(self, source: int, target: int, low: float, high: float) -> None:
        """Draws an edge; all edges of a source carry its output, so they have one cost."""
        cost = self.cost.setdefault(source, round(self.random.uniform(low, high), 3))
        self.edges.append(dict(sourceId=source, destId=target, cost=cost))


def training(draw: Drawing, layers: int) -> None:
    """Draws forward and backward nodes."""
    forward: list[int] = []
    for layer in range(layers):
        forward.append(draw.node(0.5, 2, layer))
        if layer:
            draw.edge(forward[-2], forward[-1], 0.05, 0.6)
        if layer > 1 and layer % 2 == 0:
            draw.edge(forward[-3], forward[-1], 0.05, 0.6)
        if layer > layers // 2:
            draw.edge(forward[layers // 2], forward[-1], 0.05, 0.6)
    backward: list[int] = []
    for layer in reversed(range(layers)):
        backward.append(draw.node(1, 4, layer, backward=True))
        draw.edge(forward[layer], backward[-1], 0.05, 0.6)
        if len(backward) > 1:
            draw.edge(backward[-2], backward[-1], 0.05, 0.6)


def operators(draw: Drawing, layers: int) -> None:
    """Draws layers of branches."""
    def node(low: float, high: float) -> int:
        """Draws a node of its own colour."""
        return draw.node(low, high, len(draw.nodes))

    previous = node(0.1, 0.1)
    mask = node(0.01, 0.01)
    for _ in range(layers):
        branches = []
        for _ in range(3):
            branch = [previous]
            for low, high in ((0.2, 0.6), (0.02, 0.3), (0.02, 0.3)):
                branch.append(node(low, high))
                draw.edge(branch[-2], branch[-1], 0.02, 0.2)
            branches.append(branch[-1])
        join = node(0.1, 0.3)
        for end in (*branches, mask, previous):
            draw.edge(end, join, 0.02, 0.2)
        previous = node(0.5, 1.2)
        draw.edge(join, previous, 0.02, 0.2)


KINDS = {"training": training, "operators": operators}


def main(argv: Sequence[str] | None = None) -> int:
    """Writes the instance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--accelerators", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    options = parser.parse_args(argv)
    draw = Drawing(options.seed)
    KINDS[options.kind](draw, options.layers)
    instance = dict(maxSizePerFPGA=1.6e10, maxFPGAs=options.accelerators, maxCPUs=1, nodes=draw.nodes, edges=draw.edges)
    options.output.write_text(json.dumps(instance) + "\n")
    print(f"{options.output}: {len(draw.nodes)} nodes, {len(draw.edges)} edges")
    return 0


if __name__ == "__main__":
    sys.exit(main())
