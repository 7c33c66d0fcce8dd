"""Upper bounds of shapes that depend on the data, for nodes of ONNX's own domain."""

from __future__ import annotations

import math
from typing import Any, Sequence

Type = tuple[int, list[int]]  # element type, shape


def output_types(node: Any, inputs: Sequence[Type | None]) -> list[Type | None]:
    """Returns a type for each output; [] for other nodes. The inputs' shapes are known."""
    from onnx import TensorProto

    shape = inputs[0][1] if inputs and inputs[0] is not None else []
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    if node.op_type == "NonZero":  # as if every element were nonzero
        return [(TensorProto.INT64, [len(shape), math.prod(shape)])]
    if node.op_type == "Compress":  # as if every element were kept
        if "axis" not in attributes:
            return [(inputs[0][0], [min(math.prod(shape), inputs[1][1][0])])]
        axis = attributes["axis"]
        return [(inputs[0][0], [min(size, inputs[1][1][0]) if i == axis % len(shape) else size
                                for i, size in enumerate(shape)])]
    if node.op_type == "Unique":  # as if all elements differed
        count = shape[attributes["axis"]] if "axis" in attributes else math.prod(shape)
        first = shape if "axis" in attributes else [count]
        return [(inputs[0][0], list(first)), *[(TensorProto.INT64, [count])] * 3]
    if node.op_type == "NonMaxSuppression":  # selects all; boxes [batch, n, 4], scores [batch, classes, n]
        return [(TensorProto.INT64, [math.prod(inputs[1][1]), 3])]
    return []
