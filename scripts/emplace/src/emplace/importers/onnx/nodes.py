"""The kind of an ONNX node, and its attributes as plain values."""

from __future__ import annotations

import math
from typing import Any

DEFAULT_DOMAINS = ("", "ai.onnx")
MAX_LISTED = 64  # elements of a list in the attributes of an op


def op_kind(node: Any) -> str:
    """Returns `onnx.Conv`; for another domain `onnx.com.microsoft.FusedConv`."""
    return f"onnx.{node.op_type}" if node.domain in DEFAULT_DOMAINS else f"onnx.{node.domain}.{node.op_type}"


def attributes_of(node: Any) -> dict[str, Any]:
    """Returns the attributes that are numbers, texts or lists of them, of any length.

    Graphs and tensors are left out.
    """
    from onnx import AttributeProto as A

    found: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.type == A.INT:
            found[attribute.name] = attribute.i
        elif attribute.type == A.FLOAT:
            found[attribute.name] = plain_float(attribute.f)
        elif attribute.type == A.STRING:
            found[attribute.name] = attribute.s.decode("utf-8", "replace")
        elif attribute.type == A.INTS:
            found[attribute.name] = list(attribute.ints)
        elif attribute.type == A.FLOATS:
            found[attribute.name] = [plain_float(value) for value in attribute.floats]
        elif attribute.type == A.STRINGS:
            found[attribute.name] = [value.decode("utf-8", "replace") for value in attribute.strings]
    return found


def plain_float(value: float) -> float | str:
    """Returns a number rounded to single precision: 0.001, not 0.0010000000474974513.

    Returns a text if JSON has no such number.
    """
    return float(f"{value:.7g}") if math.isfinite(value) else str(value)


def input_name(node: Any, place: int, opset: int) -> str:
    """Returns the ONNX name of an input: "axes", "pads"; `input_3` for an op that ONNX does not know."""
    from onnx import defs

    domain = "" if node.domain in DEFAULT_DOMAINS else node.domain
    try:
        inputs = defs.get_schema(node.op_type, opset, domain).inputs
    except defs.SchemaError:
        return f"input_{place}"
    return inputs[place].name if place < len(inputs) else f"input_{place}"
