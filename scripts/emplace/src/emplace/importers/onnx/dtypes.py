"""ONNX element types under the names of graph files."""

from __future__ import annotations

from emplace.importers import ImportFailure
from emplace.importers.dtypes import sized


def dtype_name(element_type: int, where: str) -> str:
    """Returns the dtype of a TensorProto.DataType. If it has no size, throws ImportFailure, beginning with `where`."""
    import onnx

    name = onnx.TensorProto.DataType.Name(element_type) if element_type in onnx.TensorProto.DataType.values() \
        else str(element_type)
    found = sized(name)
    if found is None:
        raise ImportFailure(f"{where} has elements of the type {name}, which has no fixed size on a device; only "
                            f"numbers can be imported")
    return found
