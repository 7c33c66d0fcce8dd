"""An ONNX graph as an emplace graph: node by node, in the model's order.

- Inputs that a caller feeds become graph inputs. Initialisers become ops of kind `parameter`, or `constant` if they
  hold single numbers or integers that the nodes need (axes, shapes, indices).
- A node that depends only on constants and shapes runs once, when the model is loaded. It becomes an op of kind
  `constant`, with its ONNX type in the attribute `onnx_op`.
- Reshapes, identities, casts to the same type and dropout at inference give an alias of their input.
- Constant integer inputs (axes, pads, starts) are copied into the attributes, under the input's name in ONNX.
- A node keeps its name. If it has none, or another node has the same, the new name consists of the name or type and a
  number; the attributes then have the `onnx_name` and the first output, `onnx_output`, which is unique.
"""

from __future__ import annotations

import collections
from typing import Any

from emplace.importers import Dropped, ImportFailure
from emplace.importers.dtypes import num_bytes
from emplace.importers.graph_file import GraphBuilder, Names
from emplace.importers.onnx import subgraphs
from emplace.importers.onnx.dtypes import dtype_name
from emplace.importers.onnx.model import Skeleton
from emplace.importers.onnx.nodes import DEFAULT_DOMAINS, MAX_LISTED, attributes_of, input_name, op_kind
from emplace.importers.onnx.shapes import Types, opset_of
from emplace.importers.onnx.work import bytes_accessed, flops, is_view
from emplace.importers.work import FLOATS, OpView, Value

_SMALL_INTEGERS = ("i8", "u8", "i4", "u4", "i2", "u2")
_BIASES = {("QLinearConv", 8), ("DequantizeLinear", 0)}  # 32-bit integer inputs that are the network's own parameters
_STATISTICS = {("BatchNormalization", 3), ("BatchNormalization", 4)}  # running mean, variance: not parameters
_RANDOM = frozenset("RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli Multinomial".split())


def convert(skeleton: Skeleton, types: Types, builder: GraphBuilder) -> list[Dropped]:
    """Fills the builder. Returns the parts that the graph lacks or about which it knows less than the model.

    Throws ImportFailure for a reshape that does not fit; ONNX's inference accepts such a reshape.
    """
    return _Converter(skeleton, types, builder).run()


class _Converter:
    def __init__(self, skeleton: Skeleton, types: Types, builder: GraphBuilder) -> None:
        self.skeleton, self.types, self.builder = skeleton, types, builder
        self.graph = skeleton.proto.graph
        self.opset = opset_of(skeleton.proto)
        self.outputs = {value.name for value in self.graph.output}
        self.tensors: dict[str, int] = {}   # tensor ids by ONNX's names
        self.constants: set[str] = set()    # tensors that are the same in every run
        self.inferred = {name: node for node in types.inferred.graph.node for name in node.output if name}
        self.without_flops: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
        self.folded: collections.Counter[str] = collections.Counter()  # nodes that run only once, by type
        self.told: collections.Counter[tuple[str, str]] = collections.Counter()

    def run(self) -> list[Dropped]:
        for name in self.skeleton.inputs:
            self._add_tensor(name, "input")
        node_names = self._node_names()  # before the names of weights, because placements use the names of nodes
        readers = collections.defaultdict(set)
        for node in self.graph.node:
            for place, name in enumerate(node.input):
                readers[name].add((node.op_type, place))
        for name in self.skeleton.weights:
            self._add_weight(name, readers[name])
        for node, name in zip(self.graph.node, node_names):
            if self._is_constant(node):
                self._add_constant(node, name)
            else:
                self._add_op(node, name)
        return self._report()

    def _node_names(self) -> list[str]:
        """Returns a name for each node: its own if it is the first with that name."""
        self.names = Names(node.name for node in self.graph.node if node.name)
        seen: set[str] = set()
        names = []
        for node in self.graph.node:
            if node.name and node.name not in seen:
                seen.add(node.name)
                names.append(node.name)
            else:
                names.append(self.names.unique(node.name or node.op_type))
        return names

    def _add_tensor(self, name: str, role: str = "activation", alias_of: int | None = None) -> int:
        shape, dtype = self.types.shapes[name], self.types.dtypes[name]
        self.tensors[name] = self.builder.tensor(name, shape, dtype, role=role, alias_of=alias_of,
                                                 num_bytes=num_bytes(shape, dtype))
        return self.tensors[name]

    def _add_weight(self, name: str, readers: set[tuple[str, int]]) -> None:
        """Adds an initialiser as a parameter, running statistic or constant."""
        dtype, weight = self.types.dtypes[name], self.skeleton.weights[name]
        is_number = dtype in FLOATS or dtype in _SMALL_INTEGERS or bool(readers & _BIASES)
        is_parameter = is_number and len(weight.shape) > 0
        if not is_parameter:
            self.constants.add(name)
        if weight.is_sparse:
            self.told["sparse initialiser", "counts as if it were dense"] += 1
        op_name = self.names.unique(name)
        tensor = self._add_tensor(name, "parameter" if is_parameter and not readers & _STATISTICS else "buffer")
        self.builder.op(op_name, "parameter" if is_parameter else "constant", [], [tensor],
                        attributes={"onnx_initializer": name} if op_name != name else {})

    def _is_constant(self, node: Any) -> bool:
        """Returns whether the node has the same result in every run, so that running it once is enough."""
        if node.op_type in _RANDOM or subgraphs.bodies(node):
            return False
        if node.op_type in ("Shape", "Size") and node.domain in DEFAULT_DOMAINS:
            return node.input[0] not in self.types.bounds
        return all(name in self.constants for name in node.input if name)

    def _add_constant(self, node: Any, name: str) -> None:
        outputs = [self._add_tensor(output, "buffer") for output in node.output if output in self.types.shapes]
        self.constants.update(output for output in node.output if output)
        if node.op_type != "Constant":
            self.folded[node.op_type] += 1
        self.builder.op(name, "constant", [], outputs,
                        attributes={"onnx_op": node.op_type, **self._origin(node, name)})

    def _add_op(self, node: Any, name: str) -> None:
        kind = op_kind(node)
        given = attributes_of(node)
        values = {tensor: self._value(tensor) for tensor in [*node.input, *node.output] if tensor in self.types.shapes}
        view = OpView(node.op_type, [values.get(tensor) for tensor in node.input],
                      [values.get(tensor) for tensor in node.output], given)
        aliased = self.tensors[node.input[0]] if is_view(view) and node.domain in DEFAULT_DOMAINS else None
        if aliased is not None and view.inputs[0].num_bytes != view.outputs[0].num_bytes:
            before, after = list(view.inputs[0].shape), list(view.outputs[0].shape)
            raise ImportFailure(f"{self.skeleton.label}: node {name!r} of type {node.op_type} makes {after} of "
                                f"{before}: the model fixes a size that differs from the given one; export it with a "
                                "dynamic dimension, or do not give sizes")
        inputs = [self.tensors[tensor] for tensor in node.input if tensor]
        attributes = {**given, **self._constant_inputs(node), **self._origin(node, name)}
        outside = []
        if subgraphs.bodies(node):
            outside = [tensor for tensor in subgraphs.captured(node) if tensor not in node.input]
            inputs += [self.tensors[tensor] for tensor in outside] + self._inner_weights(node, name)
        outputs = [self._add_tensor(output, "output" if output in self.outputs else "activation",
                                    aliased if place == 0 else None)
                   for place, output in enumerate(node.output) if output in self.types.shapes]
        if subgraphs.bodies(node):
            work, moved = self._work_inside(node)
        else:
            work, moved = flops(view), bytes_accessed(view)
        if work is None:
            self.without_flops[kind][0] += 1
            self.without_flops[kind][1] += self.builder.default_bytes(inputs, outputs) if moved is None else moved
        bounded = [output for output in node.output if output in self.types.bounds]
        if bounded:
            attributes["shape_is_bound"] = True
            self.told[kind, "the size of its output depends on the data; the upper bound is used"] += 1
        listed = {key: value for key, value in attributes.items()
                  if not isinstance(value, list) or len(value) <= MAX_LISTED}
        self.builder.op(name, kind, inputs, outputs, flops=work or 0, bytes_accessed=moved, attributes=listed)

    def _value(self, tensor: str) -> Value:
        shape, dtype = self.types.shapes[tensor], self.types.dtypes[tensor]
        known = self.types.values.get(tensor)
        return Value(shape, dtype, num_bytes(shape, dtype), None if known is None else known.reshape(-1).tolist())

    def _constant_inputs(self, node: Any) -> dict[str, Any]:
        """Returns the known integer inputs of at most one dimension, by their names in ONNX."""
        found = {}
        for place, tensor in enumerate(node.input):
            value = self.types.values.get(tensor) if tensor in self.constants else None
            if value is not None and value.dtype.kind in "iu" and value.ndim <= 1 and value.size <= MAX_LISTED:
                found[input_name(node, place, self.opset)] = value.tolist()
        return found

    def _origin(self, node: Any, name: str) -> dict[str, Any]:
        if name == node.name:
            return {}
        return {"onnx_name": node.name, "onnx_output": next((output for output in node.output if output), "")}

    def _inner_weights(self, node: Any, name: str) -> list[int]:
        """Adds the initialisers of the graphs inside the node; returns their tensors."""
        found = []
        for weight in subgraphs.weights(node):
            dtype = dtype_name(weight.data_type, f"{self.skeleton.label}: {weight.name!r} inside {name!r}")
            is_parameter = dtype in FLOATS and len(weight.dims) > 0
            inner = self.names.unique(f"{name}/{weight.name}")
            found.append(self.builder.tensor(inner, weight.dims, dtype, num_bytes=num_bytes(weight.dims, dtype),
                                             role="parameter" if is_parameter else "buffer"))
            self.builder.op(inner, "parameter" if is_parameter else "constant", [], found[-1:])
        return found

    def _work_inside(self, node: Any) -> tuple[int, int]:
        output = next(name for name in node.output if name)
        seen = {name: self._value(name) for name in [*node.input, *subgraphs.captured(node)] if name in self.tensors}
        work = subgraphs.work(self.inferred.get(output, node), seen, self.types.values)
        self.told[op_kind(node), work.why] += 1
        return work.flops, work.moved

    def _report(self) -> list[Dropped]:
        dropped = [Dropped(what, count, why) for (what, why), count in sorted(self.told.items())]
        if self.folded:
            dropped.append(Dropped(", ".join(sorted(self.folded)), self.folded.total(),
                                   "give the same result in every run, so they run once: kind constant, without cost"))
        for kind, (count, moved) in sorted(self.without_flops.items()):
            dropped.append(Dropped(kind, count, f"no FLOP formula: only its {moved:,} bytes have a cost"))
        if self.skeleton.inlined:
            dropped.append(Dropped("function", self.skeleton.inlined, "its calls are replaced by its nodes"))
        return dropped
