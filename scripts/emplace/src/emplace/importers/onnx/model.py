"""An ONNX model without its weights: read from a file or an object, with functions inlined and input sizes set.

Only the shapes and types of weights are needed. Large weights, and weights in external data files, become inputs of
the skeleton. Small weights stay, since shapes are computed from them. Therefore external data files may be missing,
and shape inference runs on a small model even if the weights are large.
"""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any, Mapping, Sequence

from emplace.importers import ImportFailure

# The elements of larger initialisers are not read: no shape is computed from so many numbers.
MAX_KNOWN_ELEMENTS = 4096


@dataclasses.dataclass(frozen=True)
class Weight:
    """An initialiser: its shape and ONNX element type, and whether its elements are mostly zero."""

    shape: tuple[int, ...]
    element_type: int
    is_sparse: bool = False


@dataclasses.dataclass
class Skeleton:
    """A model without weights.

    proto: an onnx.ModelProto; the weights that were taken out are among its inputs.
    weights: all initialisers by name, in the model's order.
    inputs: names of the inputs that a caller feeds.
    inlined: number of the model's own functions that were inlined.
    """

    label: str
    proto: Any
    weights: dict[str, Weight]
    inputs: list[str]
    inlined: int = 0


def load(model: Any) -> tuple[Any, str]:
    """Returns the ModelProto of a path or an object, and its name in messages. External data is not read.

    Throws ImportFailure if the file does not exist or is not an ONNX model.
    """
    import onnx
    from google.protobuf.message import DecodeError

    if isinstance(model, onnx.ModelProto):
        return model, model.graph.name or "the model"
    path = os.fspath(model)
    try:
        proto = onnx.load_model(path, load_external_data=False)
    except OSError as error:
        raise ImportFailure(f"{path}: cannot be read: {error.strerror or error}") from None
    except (DecodeError, ValueError, UnicodeDecodeError) as error:
        raise ImportFailure(f"{path}: is not an ONNX model: {_sentence(error)}") from None
    if not proto.HasField("graph"):
        raise ImportFailure(f"{path}: is not an ONNX model: it has no graph")
    _keep_small_external_data(proto, os.path.dirname(path), path)
    return proto, path


def skeleton(model: Any, dims: Mapping[str, int] | None = None,
             shapes: Mapping[str, Sequence[int]] | None = None) -> Skeleton:
    """Returns the model without weights and with all input sizes known.

    dims: sizes by the names of dimensions. shapes: whole shapes by the names of inputs or other tensors.
    Throws ImportFailure: an invalid model, a missing size, a name that is not in the model, types without a size.
    """
    import onnx

    proto, label = load(model)
    small = onnx.ModelProto()
    small.CopyFrom(proto) if proto.ByteSize() < 1 << 20 else _copy_without_large_weights(proto, small)
    weights = _take_out_weights(small.graph)
    inputs = [value.name for value in small.graph.input if value.name not in weights]
    try:
        onnx.checker.check_model(small)
    except onnx.checker.ValidationError as error:
        raise ImportFailure(f"{label}: is not a valid ONNX model: {_sentence(error)}") from None
    inlined = len(small.functions)
    if inlined:
        import onnx.inliner
        small = onnx.inliner.inline_local_functions(small, convert_version=False)
    _fix_weights(small)
    _give_sizes(small.graph, label, inputs, dims or {}, shapes or {})
    return Skeleton(label, small, weights, inputs, inlined)


def _fix_weights(model: Any) -> None:
    """Makes constants of the initialisers.

    In the first IR versions, initialisers are also inputs and therefore not constant.
    """
    model.ir_version = max(model.ir_version, 4)
    known = {tensor.name for tensor in model.graph.initializer}
    kept = [type(value).FromString(value.SerializeToString()) for value in model.graph.input
            if value.name not in known]
    del model.graph.input[:]
    model.graph.input.extend(kept)


def tensor_shape(value: Any) -> list[int | str] | None:
    """Returns the shape in a ValueInfoProto; None: unknown rank.

    A dimension of unknown size is given by its name, "" without one.
    """
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type" or not value.type.tensor_type.HasField("shape"):
        return None
    return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param
            for dim in value.type.tensor_type.shape.dim]


def is_static(shape: Sequence[int | str] | None) -> bool:
    return shape is not None and all(isinstance(dim, int) and dim >= 0 for dim in shape)


def _sentence(error: BaseException) -> str:
    """Returns the first informative line of a message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__


def _copy_without_large_weights(proto: Any, small: Any) -> None:
    """Copies all but the data of large initialisers, so that a model of gigabytes is not in memory twice."""
    for field, value in proto.ListFields():
        if field.name != "graph":
            _copy_field(small, field, value)
    for field, value in proto.graph.ListFields():
        if field.name != "initializer":
            _copy_field(small.graph, field, value)
    for tensor in proto.graph.initializer:
        if math.prod(tensor.dims) <= MAX_KNOWN_ELEMENTS:
            small.graph.initializer.add().CopyFrom(tensor)
        else:
            small.graph.initializer.add(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type)


def _copy_field(target: Any, field: Any, value: Any) -> None:
    if field.message_type is None and not _is_repeated(value):
        setattr(target, field.name, value)
    elif _is_repeated(value):
        getattr(target, field.name).extend(value)
    else:
        getattr(target, field.name).CopyFrom(value)


def _is_repeated(value: Any) -> bool:
    return hasattr(value, "extend")


def _take_out_weights(graph: Any) -> dict[str, Weight]:
    """Turns initialisers that are large or missing into inputs; returns all initialisers."""
    import onnx

    weights: dict[str, Weight] = {}
    declared = {value.name for value in graph.input}
    kept = []
    for tensor in graph.initializer:
        weights[tensor.name] = Weight(tuple(tensor.dims), tensor.data_type)
        if tensor.data_location != onnx.TensorProto.EXTERNAL and math.prod(tensor.dims) <= MAX_KNOWN_ELEMENTS:
            kept.append(tensor)
        elif tensor.name not in declared:
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    for tensor in graph.sparse_initializer:
        name, element_type = tensor.values.name, tensor.values.data_type
        weights[name] = Weight(tuple(tensor.dims), element_type, is_sparse=True)
        if name not in declared:
            graph.input.append(onnx.helper.make_tensor_value_info(name, element_type, tensor.dims))
    kept = [onnx.TensorProto.FromString(tensor.SerializeToString()) for tensor in kept]
    del graph.initializer[:], graph.sparse_initializer[:]
    graph.initializer.extend(kept)
    return weights


def _keep_small_external_data(proto: Any, folder: str, label: str) -> None:
    """Reads small integer initialisers from external files that exist.

    Shapes may depend on them.
    """
    import onnx
    from onnx import external_data_helper

    for tensor in proto.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL and math.prod(tensor.dims) <= MAX_KNOWN_ELEMENTS \
                and tensor.data_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32):
            location = os.path.normpath(external_data_helper.ExternalDataInfo(tensor).location)
            if os.path.isabs(location) or location.split("/")[0] == ".." or "\0" in location:
                raise ImportFailure(f"{label}: the external data of {tensor.name!r} is {location!r}; expected a file "
                                    "in the model's folder")
            if os.path.isfile(os.path.join(folder, location)):
                external_data_helper.load_external_data_for_tensor(tensor, folder)
                tensor.data_location = onnx.TensorProto.DEFAULT
                del tensor.external_data[:]


def _give_sizes(graph: Any, label: str, inputs: Sequence[str], dims: Mapping[str, int],
                shapes: Mapping[str, Sequence[int]]) -> None:
    """Writes the sizes into the inputs and into the shapes that the file declares for other tensors.

    Declared shapes that stay open are removed.
    """
    names = {dim for value in graph.input for dim in tensor_shape(value) or () if isinstance(dim, str) and dim}
    unknown = sorted(set(dims) - names)
    if unknown:
        raise ImportFailure(f"{label}: --dim {unknown[0]}={dims[unknown[0]]}: no input has a dimension of this name; "
                            f"choices: {', '.join(sorted(names)) or 'none, all sizes are fixed'}")
    tensors = {value.name for value in graph.input} | {name for node in graph.node for name in node.output if name}
    for name in shapes:
        if name not in tensors:
            raise ImportFailure(f"{label}: --shape {name}: this tensor does not exist; inputs: {', '.join(inputs)}")
    missing: dict[str, str] = {}
    changed = False
    for value in graph.input:
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            raise ImportFailure(f"{label}: input {value.name!r} is a {kind or 'value without type'}, which has no size "
                                f"on a device; only tensors can be imported")
        before = tensor_shape(value)
        if value.name in shapes:
            _check_rank(label, value.name, before, shapes[value.name])
            changed = changed or is_static(before) and list(before) != list(shapes[value.name])
            _set_shape(value, shapes[value.name])
        elif before is not None:
            _set_shape(value, [dims.get(dim, dim) if isinstance(dim, str) else dim for dim in before])
        after = tensor_shape(value)
        if not is_static(after):
            missing[value.name] = "[?]" if after is None else f"[{', '.join(str(dim) or '?' for dim in after)}]"
    if missing:
        raise ImportFailure(_missing_sizes(label, graph, missing))
    kept = []
    for value in [*graph.value_info, *graph.output]:
        shape = tensor_shape(value)
        if shape is not None:
            _set_shape(value, [dims.get(dim, dim) if isinstance(dim, str) else dim for dim in shape])
            if changed or not is_static(tensor_shape(value)):
                value.type.tensor_type.ClearField("shape")
            else:
                kept.append(value)
    kept = [type(value).FromString(value.SerializeToString()) for value in kept
            if not any(value is output for output in graph.output)]
    del graph.value_info[:]
    graph.value_info.extend(kept)


def _check_rank(label: str, name: str, before: Sequence[int | str] | None, given: Sequence[int]) -> None:
    if before is not None and len(before) != len(given):
        raise ImportFailure(f"{label}: --shape {name}={','.join(map(str, given))}: has {len(given)} dimensions, "
                            f"the input has {len(before)}")


def _missing_sizes(label: str, graph: Any, missing: Mapping[str, str]) -> str:
    """Returns the message that lists the missing sizes and how to set them."""
    named = {dim: None for value in graph.input for dim in tensor_shape(value) or () if isinstance(dim, str) and dim}
    unnamed = [value.name for value in graph.input if value.name in missing
               and (tensor_shape(value) is None or "" in tensor_shape(value))]
    how = [f"--dim {name}=SIZE" for name in named] + [f"--shape {name}=SIZE,..." for name in unnamed]
    shapes = ", ".join(f"{name!r} {shape}" for name, shape in missing.items())
    return f"{label}: sizes of inputs are open: {shapes}; give them with {' '.join(how)}"


def _set_shape(value: Any, shape: Sequence[int | str]) -> None:
    tensor = value.type.tensor_type
    tensor.ClearField("shape")
    tensor.shape.SetInParent()
    for dim in shape:
        entry = tensor.shape.dim.add()
        if isinstance(dim, int):
            entry.dim_value = dim
        elif dim:
            entry.dim_param = dim
