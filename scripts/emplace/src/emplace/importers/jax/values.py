"""Shapes of JAX's abstract values, and their types under the names of graph files."""

from __future__ import annotations

import math
from typing import Any

from emplace.importers import ImportFailure
from emplace.importers.work import Value

_NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
          "int16": "i16", "int8": "i8", "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8",
          "bool": "bool", "complex64": "c64", "complex128": "c128", "int4": "i4", "uint4": "u4", "int2": "i2",
          "uint2": "u2"}


def value_of(aval: Any) -> Value:
    """Returns the shape, type and size of an abstract value.

    Throws ImportFailure if it is not an array of a fixed shape (a token, a reference, a symbolic size).
    """
    if not hasattr(aval, "shape") or not hasattr(aval, "dtype") or type(aval).__name__ == "AbstractRef":
        raise ImportFailure(f"the step has a value of type {aval}, which is no array")
    if not all(isinstance(size, int) for size in aval.shape):
        raise ImportFailure(f"the step has an array of shape {tuple(map(str, aval.shape))}: sizes must be numbers")
    shape = tuple(aval.shape)
    name = str(aval.dtype)
    if name.startswith("key<"):  # as many words as the generator's state has
        return Value(shape, "key", math.prod(shape) * aval.dtype.itemsize)
    if name.startswith("[('float0'") or name == "float0":  # the gradient of an integer: nothing
        return Value(shape, "float0", 0)
    if name.startswith("float8"):
        return Value(shape, "f8", math.prod(shape))
    if name not in _NAMES:
        raise ImportFailure(f"the step has an array of the type {name}, which has no name in graph files; known: "
                            f"{', '.join(_NAMES)}")
    bits = 4 if name.endswith("int4") else 2 if name.endswith("int2") else 8 * aval.dtype.itemsize
    return Value(shape, _NAMES[name], (math.prod(shape) * bits + 7) // 8)


def aval_of(value: Any) -> Any:
    """Returns the abstract value of an array, a number or a jax.ShapeDtypeStruct."""
    import jax

    if isinstance(value, jax.ShapeDtypeStruct):
        return value
    return jax.typeof(value) if hasattr(jax, "typeof") else jax.core.get_aval(value)
