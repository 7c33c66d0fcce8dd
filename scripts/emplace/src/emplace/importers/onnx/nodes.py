"""What a single ONNX node says: its kind and its attributes as plain values."""

from __future__ import annotations

import math
from typing import Any

DEFAULT_DOMAINS = ("", "ai.onnx")
MAX_LISTED = 64  # elements of a list in the attributes of an op


def op_kind(node: Any) -> str:
    """`onnx.Conv`; of another domain `onnx.com.microsoft.FusedConv`."""
    return f"onnx.{node.op_type}" if node.domain in DEFAULT_DOMAINS else f"onnx.{node.domain}.{node.op_type}"


def attributes_of(node: Any) -> dict[str, Any]:
    """The attributes that are numbers, texts or lists of them, whatever the length. Graphs and tensors are left out."""
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
    """In single precision's digits: 0.001, not 0.0010000000474974513. A text where JSON has no such number."""
    return float(f"{value:.7g}") if math.isfinite(value) else str(value)


def input_name(node: Any, place: int, opset: int) -> str:
    """What ONNX calls an input: "axes", "pads"; `input_3` of an op that it does not know."""
    from onnx import defs

    domain = "" if node.domain in DEFAULT_DOMAINS else node.domain
    try:
        inputs = defs.get_schema(node.op_type, opset, domain).inputs
    except defs.SchemaError:
        return f"input_{place}"
    return inputs[place].name if place < len(inputs) else f"input_{place}"
