"""ONNX element types under the names of graph files, and their sizes."""

from __future__ import annotations

import math

from emplace.importers import ImportFailure

# By the names of TensorProto.DataType. Types without a name in graph files keep their own, in lower case.
_NAMES = {"FLOAT": "f32", "DOUBLE": "f64", "FLOAT16": "f16", "BFLOAT16": "bf16", "INT64": "i64", "INT32": "i32",
          "INT16": "i16", "INT8": "i8", "UINT64": "u64", "UINT32": "u32", "UINT16": "u16", "UINT8": "u8",
          "BOOL": "bool", "COMPLEX64": "c64", "COMPLEX128": "c128", "FLOAT8E4M3FN": "f8", "FLOAT8E4M3FNUZ": "f8",
          "FLOAT8E5M2": "f8", "FLOAT8E5M2FNUZ": "f8", "FLOAT8E8M0": "f8", "FLOAT4E2M1": "f4", "INT4": "i4",
          "UINT4": "u4", "INT2": "i2", "UINT2": "u2"}
_BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "f8": 8, "f4": 4, "i64": 64, "i32": 32, "i16": 16, "i8": 8,
         "i4": 4, "i2": 2, "u64": 64, "u32": 32, "u16": 16, "u8": 8, "u4": 4, "u2": 2, "bool": 8, "c64": 64,
         "c128": 128}


def dtype_name(element_type: int, where: str) -> str:
    """Returns the dtype of a TensorProto.DataType. If it has no size, throws ImportFailure, beginning with `where`."""
    import onnx

    name = onnx.TensorProto.DataType.Name(element_type) if element_type in onnx.TensorProto.DataType.values() \
        else str(element_type)
    if name not in _NAMES:
        raise ImportFailure(f"{where} has elements of the type {name}, which has no fixed size on a device; only "
                            f"numbers can be imported")
    return _NAMES[name]


def num_bytes(shape: tuple[int, ...] | list[int], dtype: str) -> int:
    """Returns the bytes of a tensor [B]; elements smaller than a byte are packed, as ONNX stores them."""
    return (math.prod(shape) * _BITS[dtype] + 7) // 8
