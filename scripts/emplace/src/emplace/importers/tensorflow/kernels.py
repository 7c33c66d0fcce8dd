"""Kinds of ops that had no GPU kernel, by the state of TensorFlow.

A GPU kernel that keeps its values in host memory (integer shapes and indices, DynamicStitch of 2016)
counts as a GPU kernel: such an op may be placed anywhere, and of a large tensor it reads only the shape.
Kinds that cannot appear in our steps (strings, queues, readers, summaries) are not listed.
"""

from __future__ import annotations

from typing import Any

_TODAY = frozenset(prefix + "SparseApply" + rule for prefix in ("", "Resource")
                   for rule in ("Momentum", "RMSProp", "CenteredRMSProp"))
_2016 = frozenset([
    # Sources of about r0.11 in the fork hughperkins/tf-coriander. UnsortedSegmentSum and Gather have
    # GPU kernels there.
    "Unique", "UniqueWithCounts", "DynamicPartition",
    # tensorflow issue 11228, of July 2017.
    *("Segment" + what for what in ("Sum", "Mean", "Prod", "Min", "Max")),
    # Not looked up: the other updates of rows, and ops that choose, sort or draw indices.
    *("SparseApply" + rule for rule in ("Adadelta", "Adagrad", "AdagradDA", "Ftrl",
                                        "ProximalAdagrad", "ProximalGradientDescent")),
    "SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentMeanGrad",
    "SparseSegmentSqrtNGrad", "Where", "ListDiff", "TopK", "TopKV2", "InTopK", "RandomShuffle",
    "UniformCandidateSampler", "LogUniformCandidateSampler", "LearnedUnigramCandidateSampler",
    "ComputeAccidentalHits", "SparseToDense"])
# The choices of --kernels, and the kinds that run on the CPU alone.
CPU_ONLY = {"today": _TODAY, "tf2016": _TODAY | _2016}


def restrict(document: dict[str, Any], kernels: str) -> int:
    """Restricts the ops of a graph to devices that have kernels for them; returns the number of these ops.

    Changes `document`, an emplace graph, in place; `source` records the choice.
    """
    restricted = [op for op in document["ops"] if op["kind"] in CPU_ONLY[kernels]]
    for op in restricted:
        op["device_kinds"] = ["cpu"]
    document["source"]["kernels"] = kernels
    return len(restricted)
