"""Element types: the names in graph files, and the frameworks' names for them.

framework/graph/dtypes.cc has the same list.
"""

from __future__ import annotations

import math
from typing import Iterable

# Bits of one element by the name in graph files; 0: no fixed size.
DTYPE_BITS = {"f64": 64, "f32": 32, "bf16": 16, "f16": 16, "f8": 8, "f4": 4, "i64": 64, "i32": 32, "i16": 16, "i8": 8,
              "i4": 4, "i2": 2, "u64": 64, "u32": 32, "u16": 16, "u8": 8, "u4": 4, "u2": 2, "bool": 8, "c64": 64,
              "c128": 128, "str": 0, "key": 0, "float0": 0}
# Aliases in lower case. Names without a prefix have their meaning in PyTorch.
DTYPE_ALIASES = {
    "float64": "f64", "double": "f64", "fp64": "f64", "float32": "f32", "float": "f32", "single": "f32", "fp32": "f32",
    "bfloat16": "bf16", "bfloat": "bf16", "float16": "f16", "half": "f16", "fp16": "f16", "fp8": "f8", "fp4": "f4",
    "int64": "i64", "long": "i64", "s64": "i64", "int32": "i32", "int": "i32", "s32": "i32", "qint32": "i32",
    "int16": "i16", "short": "i16", "s16": "i16", "qint16": "i16", "int8": "i8", "char": "i8", "s8": "i8",
    "qint8": "i8", "int4": "i4", "s4": "i4", "int2": "i2", "s2": "i2", "uint64": "u64", "uint32": "u32",
    "uint16": "u16", "quint16": "u16", "uint8": "u8", "byte": "u8", "quint8": "u8", "uint4": "u4", "uint2": "u2",
    "boolean": "bool", "bool_": "bool", "pred": "bool", "i1": "bool", "complex64": "c64", "cfloat": "c64",
    "complex128": "c128", "cdouble": "c128", "string": "str"}
# Prefixes of aliases, and families whose members all have the same size.
_PREFIXES = ("torch.", "tf.", "np.", "numpy.", "jnp.", "jax.numpy.", "ml_dtypes.", "dt_", "c10::")
_FAMILIES = {"float8": "f8", "f8_e": "f8", "f8e": "f8", "float4": "f4", "f4e": "f4"}


def dtype_name(text: str) -> str | None:
    """Returns the name in FORMAT.md of an element type ("torch.float16", "half" -> "f16").

    Returns "" for "", and None for an unknown type.
    """
    if text in DTYPE_BITS or text == "":
        return text
    lower = text.lower()
    for prefix in _PREFIXES:
        if lower.startswith(prefix):
            lower = lower[len(prefix):]
            break
    if lower in DTYPE_BITS:
        return lower
    if lower in DTYPE_ALIASES:
        return DTYPE_ALIASES[lower]
    return next((name for family, name in _FAMILIES.items() if lower.startswith(family)), None)


def sized(text: str) -> str | None:
    """Returns the name in FORMAT.md of an element type that has a fixed size; None for others."""
    name = dtype_name(text)
    return name if name and DTYPE_BITS[name] else None


def num_bytes(shape: Iterable[int], dtype: str) -> int:
    """Returns the bytes of a tensor [B]; elements smaller than a byte are packed."""
    return (math.prod(shape) * DTYPE_BITS[dtype] + 7) // 8
