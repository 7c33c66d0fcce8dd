"""Models for tests of the ONNX importer, and what ONNX Runtime says of all their tensors."""

from __future__ import annotations

from typing import Any, Mapping

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

from emplace.importers.onnx.dtypes import dtype_name

onnxruntime.set_default_logger_severity(4)


def computed_types(model: onnx.ModelProto, feeds: Mapping[str, Any], folder: str = "",
                   ) -> dict[str, tuple[list[int], str]]:
    """(shape, dtype) of every tensor that a node computes, by name, as ONNX Runtime computes it on the CPU.

    folder: where external data lies. Throws what ONNX Runtime throws for a model that it cannot run.
    """
    everything = onnx.ModelProto()
    everything.CopyFrom(model)
    known = {value.name for value in everything.graph.output}
    for node in everything.graph.node:
        for name in node.output:
            if name and name not in known:
                known.add(name)
                everything.graph.output.append(onnx.ValueInfoProto(name=name))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    if folder:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    session = onnxruntime.InferenceSession(everything.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    values = session.run(names, dict(feeds))
    return {name: (list(value.shape), _DTYPES[str(value.dtype)]) for name, value in zip(names, values)
            if isinstance(value, numpy.ndarray) and str(value.dtype) in _DTYPES}


_DTYPES = {str(helper.tensor_dtype_to_np_dtype(kind)): dtype_name(kind, "numpy's types")
           for kind in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT64,
                        TensorProto.INT32, TensorProto.INT16, TensorProto.INT8, TensorProto.UINT64,
                        TensorProto.UINT32, TensorProto.UINT16, TensorProto.UINT8, TensorProto.BOOL)}


def read_by_others(model: onnx.ModelProto, computed: Mapping[str, Any]) -> dict[str, Any]:
    """Without what no node and no caller reads: a second output of that kind need not be in a graph."""
    read = {name for node in model.graph.node for name in node.input} | {out.name for out in model.graph.output}
    return {name: value for name, value in computed.items() if name in read}


def random_feeds(model: onnx.ModelProto, sizes: Mapping[str, int], low: int = 0, high: int = 2) -> dict[str, Any]:
    """Inputs of a model, the same in every call: uniform floats, integers in [low, high)."""
    generator = numpy.random.default_rng(1)
    weights = {tensor.name for tensor in model.graph.initializer}
    feeds = {}
    for value in model.graph.input:
        if value.name in weights:
            continue
        tensor = value.type.tensor_type
        shape = [dim.dim_value if dim.HasField("dim_value") else sizes[dim.dim_param] for dim in tensor.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        feeds[value.name] = (generator.integers(low, high, shape) if dtype.kind in "iub"
                             else generator.random(shape)).astype(dtype)
    return feeds


def differences(document: Mapping[str, Any], computed: Mapping[str, tuple[list[int], str]]) -> list[str]:
    """Where a graph's tensors differ from what was computed; an upper bound must not be too small."""
    bounded = {tensor for op in document["ops"] if op.get("attributes", {}).get("shape_is_bound")
               for tensor in op["outputs"]}
    tensors = {tensor["name"]: tensor for tensor in document["tensors"]}
    found = []
    for name, (shape, dtype) in computed.items():
        if name not in tensors:
            found.append(f"{name}: not in the graph")
            continue
        ours = tensors[name]
        fits = ours["shape"] == shape or ours["id"] in bounded and len(shape) == len(ours["shape"]) \
            and all(a <= b for a, b in zip(shape, ours["shape"]))
        # numpy has no 8-bit floats: ONNX Runtime hands their bytes over.
        same_dtype = ours["dtype"] == dtype or (ours["dtype"], dtype) == ("f8", "u8")
        if not fits or not same_dtype:
            found.append(f"{name}: {ours['dtype']}{ours['shape']}, computed {dtype}{shape}")
    return found
