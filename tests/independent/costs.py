"""What an op costs on a kind of device, and its figures of interference: framework/cost/FORMAT.md.

Costs come from the graph file or from measured times, or are 0 of views; no fit and no roofline.
"""

from fractions import Fraction

import readings
from rounding import nearest

# Of the op kinds that problems have ("Classes"); any other is unknown.
CLASS_OF_KIND = {
    "AddV2": "elementwise",
    "ApplyAdam": "update",
    "ConcatV2": "copy",
    "Conv2D": "convolution",
    "FusedBatchNormV3": "normalization",
    "GatherV2": "gather",
    "MatMul": "matmul",
    "MaxPool": "pooling",
    "Reshape": "view",
    "Sum": "reduction",
    "aten.add_": "elementwise",
    "aten.bmm": "matmul",
    "aten.convolution": "convolution",
    "constant": "view",
    "jax.dot_general": "matmul",
    "onnx.Relu": "elementwise",
    "optimizer.sgd": "update",
    "parameter": "view",
    "test.op": "unknown",
}
FIGURES = ("sensitivity", "pressure")


def figures_of(entry):
    """(sensitivity, pressure) in 1/1024 of a map that may have both, to the nearest integers."""
    values = [entry.get(key, 0) for key in FIGURES]
    if readings.FIGURES_ARE_DOUBLES:
        values = [float(value) for value in values]
    return tuple(nearest(Fraction(value) * 1024) for value in values)


def listed(ids, text_of):
    """A list of tensors in a signature: equal texts in a row once with their number; a tensor that stands before
    as its place."""
    texts = [f"#{ids.index(t)}" if t in ids[:i] else text_of(t) for i, t in enumerate(ids)]
    runs = []
    for text in texts:
        if runs and runs[-1][0] == text:
            runs[-1][1] += 1
        else:
            runs.append([text, 1])
    return ", ".join(text if count == 1 else f"{text} x{count}" for text, count in runs)


def signature(op, tensors):
    """Of an op whose tensors have neither shape nor dtype, and which has no FLOPs."""
    inputs, outputs = (
        listed(op[key], lambda t: f"?[{tensors[t]['bytes']}B]") for key in ("inputs", "outputs")
    )
    accessed = sum(tensors[t]["bytes"] for t in op["inputs"] + op["outputs"])
    return f"{op['kind']}({inputs}) -> {outputs or '()'} {{}} 0 FLOP, {accessed} B"


class Costs:
    """`table`: the JSON of a cost file, or None. `apart`: times without what neighbours cost."""

    def __init__(self, graph, table, apart):
        self.tensors, self.apart = graph["tensors"], apart
        entries = table["ops"] if table else []
        self.entries = {(entry["device_kind"], entry["signature"]): entry for entry in entries}

    def _measured(self, op, kind):
        """(time [ns], entry) if a time of the table counts."""
        if not self.entries or kind in op.get("cost_ns", {}):
            return None
        entry = self.entries.get((kind, signature(op, self.tensors)), {})
        for name in ("in_situ", "isolated", "cold"):
            if name in entry:
                time = entry[name]["median_ns"]
                if name == "in_situ":
                    time = entry[name].get("mean_ns") or time
                    time = entry.get("apart_ns", time) if self.apart else time
                return time, entry
        return None

    def of(self, op, kind):
        """[ns]"""
        if kind in op.get("cost_ns", {}):
            return nearest(op["cost_ns"][kind])
        measured = self._measured(op, kind)
        if measured is not None:
            return nearest(measured[0])
        if CLASS_OF_KIND.get(op["kind"]) == "view":
            return 0
        raise KeyError(f"no cost of {op['name']} on {kind}")

    def figures(self, op, kind, of_classes):
        """(sensitivity, pressure); `of_classes`: `interference` of the kind in the cluster."""
        measured = self._measured(op, kind)
        if measured is not None and "interference" in measured[1]:
            return figures_of(measured[1]["interference"])
        return figures_of(of_classes.get(CLASS_OF_KIND.get(op["kind"], "unknown"), {}))
