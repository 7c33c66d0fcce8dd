"""The ops of a graph in the form that calls are compared with, and in the form of a cost file."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, Iterable

from ..importers import graph_file
from . import names, steps
from .match import Item
from .steps import Work
from .table import Op

if TYPE_CHECKING:
    from .._emplace import Graph

_NUMBER = 16  # [B] limit of a single number: a larger tensor without a shape has an unknown shape


class GraphOps:
    """items: the ops that compute, in file order; ops: by Item.id; own_costs: device kinds of `cost_ns`."""

    def __init__(self, graph: Graph) -> None:
        document = _document(graph)
        tensors = document["tensors"]
        signatures, classes = graph.op_signatures, graph.op_classes
        flops, accessed = graph.flops.tolist(), graph.bytes_accessed.tolist()
        self.graph = graph
        self.items: list[Item] = []
        self.ops: dict[int, Op] = {}
        self.own_costs = {kind for op in document["ops"] for kind in op.get("cost_ns", ())}
        for place, op in enumerate(document["ops"]):
            if op["kind"] in graph_file.SOURCE_KINDS:
                continue
            read = [tensors[tensor] for tensor in op["inputs"]]
            largest = max(read, key=lambda tensor: tensor["bytes"], default=None)
            dtype = largest["dtype"] if largest and largest.get("shape") else ""
            work = Work(names.family_of_kind(op["kind"]), _sizes(read), dtype)
            self.items.append(Item(place, op["kind"], work, classes[place] == "view", accessed[place]))
            self.ops[place] = Op(signatures[place], op["kind"], classes[place], flops[place], accessed[place], dtype)
        self.families = frozenset(item.work.family for item in self.items)
        self.updates = sorted({item.kind for item in self.items if item.is_update})


def _sizes(tensors: Iterable[dict[str, Any]]) -> tuple[int, ...] | None:
    """Returns the sizes of tensors; None: there are none, or one is not known."""
    shapes = []
    for tensor in tensors:
        shape = tensor.get("shape", [])
        if not shape and tensor["bytes"] > _NUMBER:
            return None
        shapes.append(shape)
    return steps.sizes_of(shapes) if shapes else None


def _document(graph: Graph) -> dict[str, Any]:
    if graph.path:
        return graph_file.read(graph.path)
    with tempfile.TemporaryDirectory(prefix="emplace_costs_") as folder:
        path = os.path.join(folder, "graph.json")
        graph.write(path)
        return graph_file.read(path)
