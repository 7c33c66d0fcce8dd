"""Shapes of JAX's abstract values, and their types under the names of graph files."""

from __future__ import annotations

import math
from typing import Any

from emplace.importers import ImportFailure
from emplace.importers.dtypes import DTYPE_BITS, num_bytes, sized
from emplace.importers.work import Value


def value_of(aval: Any) -> Value:
    """Returns the shape, type and size of an abstract value.

    Throws ImportFailure if it is not an array of a fixed shape (a token, a reference, a symbolic size).
    """
    if not hasattr(aval, "shape") or not hasattr(aval, "dtype") or type(aval).__name__ == "AbstractRef":
        raise ImportFailure(f"the step has a value of type {aval}, which is not an array")
    if not all(isinstance(size, int) for size in aval.shape):
        raise ImportFailure(f"the step has an array of shape {tuple(map(str, aval.shape))}: sizes must be numbers")
    shape = tuple(aval.shape)
    name = str(aval.dtype)
    if name.startswith("key<"):  # as many words as the generator's state has
        return Value(shape, "key", math.prod(shape) * aval.dtype.itemsize)
    if name.startswith("[('float0'") or name == "float0":  # the gradient of an integer: nothing
        return Value(shape, "float0", 0)
    dtype = sized(name)
    if dtype is None:
        raise ImportFailure(f"the step has an array of the type {name}, which has no name in graph files; known: "
                            f"{', '.join(DTYPE_BITS)}")
    return Value(shape, dtype, num_bytes(shape, dtype))


def aval_of(value: Any) -> Any:
    """Returns the abstract value of an array, a number or a jax.ShapeDtypeStruct."""
    import jax

    if isinstance(value, jax.ShapeDtypeStruct):
        return value
    return jax.typeof(value) if hasattr(jax, "typeof") else jax.core.get_aval(value)
