"""Shapes and types of all tensors, by ONNX's own inference, and the integers that are known without running.

Inference stops at shapes that are computed by nodes it cannot evaluate. Therefore ONNX's reference implementation runs
the nodes whose inputs are known, their results replace them, and inference runs again until it finds nothing new.
A shape that depends on the data takes its upper bound if there is one (`NonZero`, `Compress`, ...).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Iterator

from emplace.importers import ImportFailure
from emplace.importers.onnx import bounds, contrib
from emplace.importers.onnx.dtypes import dtype_name
from emplace.importers.onnx.model import MAX_KNOWN_ELEMENTS, Skeleton, is_static, tensor_shape

_DEFAULT_DOMAINS = ("", "ai.onnx")
# Nodes that are not functions of their inputs alone, or that have no value of their own.
_NOT_FOLDED = frozenset("""RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli Multinomial If Loop
    Scan SequenceMap Dropout""".split())


@dataclasses.dataclass
class Types:
    """The known facts about each tensor, by its name.

    Unread outputs may be missing. shapes [elements], dtypes as in graph files; values: elements as a numpy array;
    bounds: names whose shape is an upper bound.
    """

    shapes: dict[str, list[int]]
    dtypes: dict[str, str]
    values: dict[str, Any]
    bounds: set[str]
    inferred: Any  # the model with inferred shapes, also in subgraphs


def infer(skeleton: Skeleton) -> Types:
    """Infers the types of all tensors.

    Throws ImportFailure with the tensor and its node if a shape stays unknown or a tensor has no size.
    """
    import onnx

    work = onnx.ModelProto()
    work.CopyFrom(skeleton.proto)
    values = _constants(work.graph)
    bounded: set[str] = set()
    while True:
        inferred = _run_inference(skeleton.label, work)
        known = _known_types(inferred)
        found = _fold(skeleton.proto.graph, known, values, opset_of(skeleton.proto))
        if found:
            _put_in_place(work.graph, found)
            values.update(found)
            continue
        if not _complete_next(work, known, bounded):
            break
    return _finish(skeleton, inferred, known, values, bounded)


def _run_inference(label: str, model: Any) -> Any:
    import onnx

    try:
        return onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError as error:
        text = " ".join(line.strip() for line in str(error).splitlines() if line.strip())
        raise ImportFailure(f"{label}: shapes do not fit: {text}") from None


def _known_types(model: Any) -> dict[str, tuple[int, list[int | str] | None]]:
    """Returns element type and shape by name."""
    graph = model.graph
    found = {}
    for value in [*graph.input, *graph.value_info, *graph.output]:
        if value.type.WhichOneof("value") == "tensor_type":
            found[value.name] = (value.type.tensor_type.elem_type, tensor_shape(value))
    for tensor in graph.initializer:
        found[tensor.name] = (tensor.data_type, list(tensor.dims))
    return found


def opset_of(model: Any) -> int:
    return next((entry.version for entry in model.opset_import if entry.domain in _DEFAULT_DOMAINS), 1)


def _constants(graph: Any) -> dict[str, Any]:
    """Returns the values of small initialisers."""
    from onnx import numpy_helper

    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer
            if math.prod(tensor.dims) <= MAX_KNOWN_ELEMENTS and _is_plain(tensor.data_type)}


def _is_plain(element_type: int) -> bool:
    """Returns whether numpy has this type."""
    from onnx import TensorProto as T

    return element_type in (T.FLOAT, T.DOUBLE, T.FLOAT16, T.INT64, T.INT32, T.INT16, T.INT8, T.UINT64, T.UINT32,
                            T.UINT16, T.UINT8, T.BOOL)


def _fold(graph: Any, known: dict[str, tuple[int, list[int | str] | None]], values: dict[str, Any],
          opset: int) -> dict[str, Any]:
    """Returns the values of further nodes whose inputs are known. Shape and Size need only a shape."""
    import numpy

    found: dict[str, Any] = {}
    for node in graph.node:
        if not node.output or node.domain not in _DEFAULT_DOMAINS or node.op_type in _NOT_FOLDED \
                or any(name in values for name in node.output if name):
            continue
        shapes = [known.get(name, (0, None))[1] for name in node.output if name]
        if any(is_static(shape) and math.prod(shape) > MAX_KNOWN_ELEMENTS for shape in shapes):
            continue
        if node.op_type in ("Shape", "Size"):
            shape = known.get(node.input[0], (0, None))[1]
            if is_static(shape):
                attributes = {a.name: a.i for a in node.attribute}
                cut = shape[attributes.get("start", 0):attributes.get("end", len(shape))]
                found[node.output[0]] = numpy.array(cut if node.op_type == "Shape" else math.prod(shape), numpy.int64)
            continue
        inputs = {name: found.get(name, values.get(name)) for name in node.input if name}
        if all(value is not None for value in inputs.values()):
            results = _run(node, inputs, opset)
            found.update({name: value for name, value in zip(node.output, results) if name})
    return found


def _run(node: Any, inputs: dict[str, Any], opset: int) -> list[Any]:
    """Returns the results of a node for these inputs; empty if the reference implementation cannot run it."""
    import numpy
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    if node.op_type == "ConstantOfShape" and math.prod(next(iter(inputs.values())).tolist()) > MAX_KNOWN_ELEMENTS:
        return []
    feeds = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in inputs]
    outputs = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in node.output if name]
    model = helper.make_model(helper.make_graph([node], "one", feeds, outputs),
                              opset_imports=[helper.make_opsetid("", opset)])
    try:
        results = ReferenceEvaluator(model).run(None, inputs)
    except Exception:  # a node that cannot run stays unknown; inference, or its error message, says more
        return []
    fit = all(isinstance(value, numpy.ndarray | numpy.generic) and numpy.size(value) <= MAX_KNOWN_ELEMENTS
              and numpy.asarray(value).dtype.kind in "biuf" for value in results)
    return [numpy.asarray(value) for value in results] if fit and all(node.output) else []


def _put_in_place(graph: Any, found: dict[str, Any]) -> None:
    """Turns known values into initialisers and removes the nodes that computed them."""
    from onnx import numpy_helper

    kept = [node for node in graph.node if not any(name in found for name in node.output)]
    kept = [type(node).FromString(node.SerializeToString()) for node in kept]
    del graph.node[:]
    graph.node.extend(kept)
    graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in found.items())


def _complete_next(model: Any, known: dict[str, tuple[int, list[int | str] | None]], bounded: set[str]) -> bool:
    """Sets the output types of the first nodes that inference left open and that have a rule here."""
    from onnx import helper

    done = False
    given = {value.name: value for value in model.graph.value_info}
    outputs = {value.name: value for value in model.graph.output}
    for node in model.graph.node:
        is_open = [name and not (name in known and known[name][0] and is_static(known[name][1]))
                   for name in node.output]
        inputs = [known.get(name, (0, None)) if name else None for name in node.input]
        if not any(is_open) or any(value is not None and not is_static(value[1]) for value in inputs):
            continue
        is_default = node.domain in _DEFAULT_DOMAINS
        bound = bounds.output_types(node, inputs) if is_default else []
        rule = bound or contrib.output_types(node, inputs)
        for name, wanted, result in zip(node.output, is_open, rule):
            if wanted and result is not None:
                fresh = helper.make_tensor_value_info(name, *result)
                for place in (given, outputs):
                    if name in place:
                        place[name].CopyFrom(fresh)
                if name not in given and name not in outputs:
                    model.graph.value_info.append(fresh)
                known[name] = result
                done = True
                if bound:
                    bounded.add(name)
    return done


def _tensors(graph: Any) -> Iterator[tuple[str, Any]]:
    """Yields each tensor that a node makes, and the node."""
    for node in graph.node:
        for name in node.output:
            if name:
                yield name, node


def _read_tensors(graph: Any) -> set[str]:
    """Returns the names of the tensors that a node, a graph inside a node or the caller reads."""
    from emplace.importers.onnx.subgraphs import captured

    found = {value.name for value in graph.output}
    for node in graph.node:
        found.update(node.input)
        found.update(captured(node))
    return found


def _finish(skeleton: Skeleton, inferred: Any, known: dict[str, tuple[int, list[int | str] | None]],
            values: dict[str, Any], bounded: set[str]) -> Types:
    shapes: dict[str, list[int]] = {}
    dtypes: dict[str, str] = {}
    for name in [value.name for value in skeleton.proto.graph.input] + list(skeleton.weights):
        element_type, shape = known[name]
        shapes[name], dtypes[name] = list(shape), dtype_name(element_type, f"{skeleton.label}: {name!r}")
    others = {value.name: value.type.WhichOneof("value")
              for value in [*inferred.graph.value_info, *inferred.graph.output]}
    wanted = _read_tensors(skeleton.proto.graph)
    for name, node in _tensors(skeleton.proto.graph):
        where = f"{skeleton.label}: tensor {name!r}, made by node {node.name!r} of type {node.op_type},"
        if others.get(name) not in (None, "tensor_type"):
            raise ImportFailure(f"{where} is a {others[name].removesuffix('_type')}, which has no size on a device; "
                                f"only tensors can be imported")
        element_type, shape = known.get(name, (0, None))
        if not is_static(shape) or not element_type:
            if name not in wanted and name != node.output[0]:
                continue  # an unused second output, such as a dropout's mask
            raise ImportFailure(f"{where} has no shape that is known without running the model"
                                f"{_open(shape)}; give it with --shape {name}=SIZE,... if it is always the same")
        shapes[name], dtypes[name] = list(shape), dtype_name(element_type, where)
    return Types(shapes, dtypes, values, bounded & set(shapes), inferred)


def _open(shape: list[int | str] | None) -> str:
    return "" if shape is None else f" ([{', '.join(str(dim) or '?' for dim in shape)}])"
