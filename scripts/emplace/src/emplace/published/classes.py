"""Steps by class of op: the ops of the table beside those of the importer's graph, which has no op times.

Shows where a simulation without op times loses accuracy. Ops without cost (views) are left out. In the table, the time
of a product contains the copies of its operands, and in the backward pass the sum of the gradient of the bias.
"""

from __future__ import annotations

import collections
from typing import Any, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..importers.graph_file import bytes_accessed
from .figures import aligned
from .fx_step import step_graph
from .neusight import Step

_CLASSES = {
    "linear": ("linear", "addmm", "mm", "linear_backward"), "products of attention": ("matmul", "bmm"),
    "softmax": ("softmax", "_softmax", "_softmax_backward_data"),
    "dropout": ("dropout", "native_dropout", "native_dropout_backward"),
    "layer norm": ("layer_norm", "native_layer_norm", "native_layer_norm_backward"),
    "embedding": ("embedding", "embedding_dense_backward"), "sums": ("sum",),
    "copies": ("clone", "_to_copy", "cat", "copy", "full", "ones_like", "select_backward")}
_CLASS_OF = {f"aten.{name}": cls for cls, names in _CLASSES.items() for name in names}
Key = tuple[str, str, str]  # GPU, pass, class
_HEADER = ("GPU", "pass", "class", "ops of the table", "GFLOP", "GB", "published [ms]",
           "ops of the graph", "GFLOP", "GB", "simulated [ms]")


def sums(steps: Sequence[tuple[Step, Mapping[str, Any], Sequence[float]]]) -> dict[Key, npt.NDArray[np.float64]]:
    """Returns the last eight columns of report(), summed over steps.

    A step comes with the importer's graph and its costs [ns].
    """
    found: dict[Key, npt.NDArray[np.float64]] = collections.defaultdict(lambda: np.zeros(8))
    for step, graph, costs in steps:
        table = step_graph(step.case, step.rows, step.num_layers, step.training, "published")
        published = [op["cost_ns"]["published"] if "cost_ns" in op else 0 for op in table["ops"]]
        for first, document, times in ((0, table, published), (4, graph, costs)):
            for op, time in zip(document["ops"], times):
                if time:
                    phase = op.get("phase", "forward")
                    found[step.gpu, phase, _CLASS_OF.get(op["kind"], "element-wise")][first:first + 4] += (
                        1, op.get("flops", 0) / 1e9, bytes_accessed(document, op) / 1e9, time / 1e6)
    return found


def report(found: Mapping[Key, npt.NDArray[np.float64]]) -> str:
    """Returns a table of sums() for people."""
    return "\n".join(aligned([_HEADER, *((*key, *(f"{value:,.{0 if place % 4 == 0 else 1}f}"
                                                  for place, value in enumerate(values)))
                                         for key, values in sorted(found.items()))]))
