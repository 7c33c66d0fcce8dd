"""A TensorFlow training step as an emplace graph: op by op, in the order of the TensorFlow graph.

The conversion changes only the following:

- Ops that the step does not need are left out, as a session leaves them out.
- Placeholders become graph inputs. Constants become ops of kind `constant` with a `buffer` tensor.
- A variable becomes an op of kind `parameter` whose tensor has the variable's bytes. Reading it
  (`Identity`, `ReadVariableOp`) gives an alias; writing it gives an alias of role `output`.
- Values that kernels need and that TensorFlow passes as constant inputs (axes, paddings, slice
  bounds) are copied into the attributes.
- Co-location: ops are tied by a `_class` attribute or by a reference to the same variable, like in
  TensorFlow's placer. The attribute `forward_op` of a gradient op names its forward op.
- Sums of gradients (`AddN`) are listed directly after the last op they wait for, not at the place of
  their creation. A session runs them at that time, and only then do the sums of `--aggregation tree`
  save memory.
- Sizes that depend on the data (`Unique`) are replaced by their upper bounds, marked
  `shape_is_bound`.
"""

from __future__ import annotations

import collections
import re
from typing import Any, Iterable, Sequence

import tensorflow as tf

from emplace.importers.dtypes import num_bytes, sized
from emplace.importers.graph_file import GraphBuilder
from emplace.importers.tensorflow import ModelError
from emplace.importers.tensorflow.kernels import CPU_ONLY
from emplace.importers.tensorflow.train_step import TrainStep, ancestors
from emplace.importers.tensorflow.work import VIEWS, bytes_accessed, flops
from emplace.importers.union import Union
from emplace.importers.work import OpView, Value

_VARIABLES = ("VariableV2", "Variable", "VarHandleOp")
# Attributes that kernels need. The value is the default, which is not stored.
_ATTRIBUTES: dict[str, Any] = {
    "strides": None, "padding": None, "ksize": None, "data_format": None, "axis": None,
    "epsilon": None, "dilations": [1, 1, 1, 1], "explicit_paddings": [], "transpose_a": False,
    "transpose_b": False, "adj_x": False, "adj_y": False, "is_training": True, "batch_dims": 0,
    "keep_dims": False, "use_nesterov": False, "equation": None, "squeeze_dims": [], "begin_mask": 0, "end_mask": 0,
    "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0, "alpha": None, "mode": None}
# Constant inputs that kernels need: kind -> {attribute: input index}.
_OPERANDS: dict[str, dict[str, int]] = {
    "ConcatV2": {"axis": -1}, "Split": {"axis": 0}, "SplitV": {"axis": 2, "sizes": 1},
    "GatherV2": {"axis": 2}, "ExpandDims": {"axis": 1}, "Transpose": {"perm": 1},
    "Pad": {"paddings": 1}, "PadV2": {"paddings": 1}, "MirrorPad": {"paddings": 1},
    "Tile": {"multiples": 1}, "Slice": {"begin": 1, "size": 2}, "ReverseV2": {"axis": 1},
    "StridedSlice": {"begin": 1, "end": 2, "strides": 3},
    "StridedSliceGrad": {"begin": 1, "end": 2, "strides": 3},
    **{kind: {"axis": 1} for kind in ("Sum", "Mean", "Prod", "Max", "Min", "All", "Any", "ArgMax",
                                      "ArgMin")}}
_FORWARD_OP = re.compile(r"(?:^|/)gradients(?:_\d+)?/(.+?)_(?:grad|gradient_sum)(?:_\d+)?/")
_CONTROL_FLOW = frozenset("""While StatelessWhile If StatelessIf Case Enter Exit Switch Merge
    NextIteration LoopCond PartitionedCall StatefulPartitionedCall""".split())


def convert(step: TrainStep, builder: GraphBuilder) -> dict[str, list[int]]:
    """Fills `builder`; returns, for each kind without a FLOP formula, [ops, bytes moved]."""
    return _Converter(step, builder).run()


class _Converter:
    def __init__(self, step: TrainStep, builder: GraphBuilder) -> None:
        self.step, self.builder = step, builder
        needed = {op.name for op in ancestors(step.fetches)}
        self.operations = _sums_early([op for op in step.graph.get_operations()
                                       if op.name in needed])
        backward = [op for op in self.operations if step.stage_of(op) == "backward"]
        self.forward = {op.name for op in ancestors([*(output.op for output in step.outputs), *backward])}
        self.outputs = {output.name for output in step.outputs}
        self.values: dict[str, tuple[int, Value]] = {}  # by TensorFlow's tensor name
        self.bounds: set[str] = set()                   # tensors whose shape is an upper bound
        self.op_ids: dict[str, int] = {}
        self.gradients: set[str] = set()  # gradient ops, and ops computed from them
        self.unknown: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])

    def run(self) -> dict[str, list[int]]:
        groups = self._colocation_groups()
        for op in self.operations:  # first, because values inside a loop have no size and would fail below
            if op.type in _CONTROL_FLOW:
                raise ModelError(f"op {op.name!r} is a {op.type}: functions, loops and conditions "
                                 f"cannot be placed op by op; unroll the loop in Python (the recurrent "
                                 f"layers of Keras are, by --from keras), call functions without tf.function")
        for op in self.operations:
            if op.type == "Placeholder":
                self._add_values(op, "input")
            elif op.type in _VARIABLES or op.type == "Const":
                self._add_source(op, groups.get(op.name))
            else:
                self._add_op(op, groups.get(op.name))
        return dict(self.unknown)

    def _phase(self, op: tf.Operation) -> str:
        """Returns the stage that made the op; ops that only update state (moving averages) are `update`."""
        stage = self.step.stage_of(op)
        return "update" if stage == "forward" and op.name not in self.forward else stage

    def _add_source(self, op: tf.Operation, group: str | None) -> None:
        if op.type == "Const":
            role, kind = "buffer", "constant"
        else:
            kind = "parameter"
            role = ("parameter" if op.name in self.step.parameters else
                    "optimizer_state" if op.name in self.step.slots else "buffer")
        outputs = self._add_values(op, role)
        self.op_ids[op.name] = self.builder.op(op.name, kind, [], outputs, phase=self._phase(op),
                                               colocate=group)

    def _add_op(self, op: tf.Operation, group: str | None) -> None:
        phase = self._phase(op)
        if phase == "backward" or any(value.op.name in self.gradients for value in op.inputs):
            self.gradients.add(op.name)
        inputs = [self.values[value.name] for value in op.inputs]
        writes_state = bool(inputs) and inputs[0][1].is_state and op.type not in VIEWS \
            and (not op.outputs or op.outputs[0].dtype._is_ref_dtype)
        role = "output" if writes_state else "activation"
        aliases = [tensor for tensor, _ in inputs] if op.type in VIEWS else [inputs[0][0]] if writes_state else []
        outputs = self._add_values(op, role, aliases[:1] if op.type != "IdentityN" else aliases)
        if writes_state and not op.outputs:  # a write through a resource handle has no output
            variable = inputs[0]
            dtype = self.builder.tensors[variable[0]].dtype
            outputs = [self.builder.tensor(op.name, variable[1].shape, dtype, role="output",
                                           alias_of=variable[0])]
        view = OpView(op.type, [value for _, value in inputs],
                      [self.values[value.name][1] for value in op.outputs], self._attributes(op))
        work, moved = flops(view), bytes_accessed(view)
        input_ids = [tensor for tensor, _ in inputs]
        if work is None:
            work = self._registered_flops(op)
        if work is None:
            work = 0
            self.unknown[op.type][0] += 1
            self.unknown[op.type][1] += (self.builder.default_bytes(input_ids, outputs)
                                         if moved is None else moved)
        if not any(value.dtype.is_floating or value.dtype.is_complex
                   for value in [*op.inputs, *op.outputs]):
            work = 0  # integer arithmetic on shapes and indices
        control = sorted({self.op_ids[before.name] for before in op.control_inputs
                          if before.name in self.op_ids})
        attributes = dict(view.attributes)
        if phase == "backward":
            match = _FORWARD_OP.search(op.name)
            if match and match[1] in self.forward:
                attributes["forward_op"] = match[1]
        if any(value.name in self.bounds for value in op.outputs):
            attributes["shape_is_bound"] = True
        self.op_ids[op.name] = self.builder.op(
            op.name, op.type, input_ids, outputs, control_inputs=control, flops=work,
            bytes_accessed=moved, phase=phase, colocate=group,
            device_kinds=["cpu"] if op.type in CPU_ONLY["today"] else None, attributes=attributes)

    def _registered_flops(self, op: tf.Operation) -> int | None:
        """Returns the figure of TensorFlow's own profiler [FLOP], for kinds that `work` does not know."""
        from tensorflow.python.framework import ops
        try:
            value = ops.get_stats_for_node_def(self.step.graph, op.node_def, "flops").value
        except ValueError:  # the profiler knows only some layouts
            return None
        return None if value is None else int(value)

    def _add_values(self, op: tf.Operation, role: str, aliases: Sequence[int] = ()) -> list[int]:
        """Adds the tensors of an op's outputs; the first ones are aliases of `aliases`."""
        ids = []
        is_variable = op.type in _VARIABLES
        for index, output in enumerate(op.outputs):
            dtype = op.get_attr("dtype") if op.type == "VarHandleOp" else output.dtype.base_dtype
            is_state = output.dtype == tf.resource or output.dtype._is_ref_dtype
            if output.dtype == tf.resource and not is_variable:
                raise ModelError(f"op {op.name!r} of kind {op.type} passes a resource handle on, "
                                 f"which is not supported")
            name_of_type = sized(dtype.name)
            if name_of_type is None:
                raise ModelError(f"op {op.name!r} of kind {op.type} has a {dtype.name} output, "
                                 f"which has no size on a device; keep it out of the loss")
            if op.type == "VarHandleOp":
                shape = tf.TensorShape(op.get_attr("shape")).as_list()
            else:
                shape = self._static_shape(op, index)
            name = op.name if index == 0 else f"{op.name}:{index}"
            output_role = role
            if output.name in self.outputs:
                output_role = "output"
            elif role == "activation" and op.name in self.gradients and dtype.is_floating:
                output_role = "gradient"
            tensor = self.builder.tensor(name, shape, name_of_type, role=output_role,
                                         alias_of=aliases[index] if index < len(aliases) else None)
            ids.append(tensor)
            self.values[output.name] = (tensor, Value(shape, name_of_type, num_bytes(shape, name_of_type),
                                                      is_state=is_state))
        return ids

    def _static_shape(self, op: tf.Operation, index: int) -> list[int]:
        """Returns the inferred shape, or an upper bound if it depends on the data."""
        output = op.outputs[index]
        shape = output.shape.as_list() if output.shape.rank is not None else None
        if shape is not None and None not in shape:
            return shape
        bound = self._bound(op, index)
        if bound is None or (shape is not None and len(bound) != len(shape)):
            raise ModelError(f"op {op.name!r} of kind {op.type} has no static shape "
                             f"({output.shape}); give every placeholder a fixed shape")
        if not op.type.startswith("FusedBatchNorm"):
            self.bounds.add(output.name)
        return bound if shape is None else [b if s is None else s for b, s in zip(bound, shape)]

    def _bound(self, op: tf.Operation, index: int) -> list[int] | None:
        inputs = [list(self.values[value.name][1].shape) for value in op.inputs]
        if op.type.startswith("FusedBatchNorm"):  # reserve_space_3: empty except in one cuDNN mode
            return [0]
        if op.type in ("Unique", "UniqueV2") or op.type in VIEWS:
            return inputs[index if op.type == "IdentityN" else 0]
        if op.type == "BroadcastGradientArgs":  # at most all axes
            return [max(shape[0] for shape in inputs)]
        if op.type in ("Sum", "Mean", "Max", "Prod"):  # over unknown axes: at worst over none
            return inputs[0]
        if op.type == "UnsortedSegmentSum":  # at most one segment per row
            return [inputs[0][0], *inputs[0][len(inputs[1]):]]
        if op.type in ("GatherV2", "ResourceGather"):  # along axis 0, like reads of embedding tables
            return [*inputs[1], *inputs[0][1:]]
        if op.type == "ConcatV2" and len({tuple(shape[1:]) for shape in inputs[:-1]}) == 1:
            return [sum(shape[0] for shape in inputs[:-1]), *inputs[0][1:]]
        if len(op.outputs) == 1 and op.type in _ELEMENTWISE:
            rank = max(map(len, inputs))
            padded = [[1] * (rank - len(shape)) + shape for shape in inputs]
            return [max(dims) for dims in zip(*padded)]
        return None

    def _attributes(self, op: tf.Operation) -> dict[str, Any]:
        known = op.node_def.attr
        attributes = {}
        for name, default in _ATTRIBUTES.items():
            if name in known:
                value = _plain(op.get_attr(name))
                if value != default:
                    attributes[name] = value
        for name, index in _OPERANDS.get(op.type, {}).items():
            value = tf.get_static_value(op.inputs[index])
            if value is not None:
                attributes[name] = value.tolist()
        return attributes

    def _colocation_groups(self) -> dict[str, str]:
        """Returns op name -> label, for ops that share their device with at least one other op.

        The label is the name of the group's first op; for a variable's group it is the variable.
        """
        union: Union[str] = Union()
        for op in self.operations:
            if op.type == "Placeholder":
                continue
            for label in _class_labels(op):
                union.join(label, op.name)
            for value in op.inputs:
                if value.dtype == tf.resource or value.dtype._is_ref_dtype:
                    union.join(value.op.name, op.name)
        for variable, other in self.step.together.items():
            union.join(other, variable)
        members = collections.defaultdict(list)
        for op in self.operations:
            members[union.root(op.name)].append(op)
        labels = {}
        for group in members.values():
            if len(group) > 1:
                first = next((op for op in group if op.type in _VARIABLES), group[0])
                labels.update((op.name, first.name) for op in group)
        return labels


def _sums_early(operations: list[tf.Operation]) -> list[tf.Operation]:
    """Returns the ops in the same order, except that every AddN directly follows the last op it waits for."""
    ready = {}  # op name -> sort key: (index of the op it follows, number of sums in between)
    for index, op in enumerate(operations):
        ready[op.name] = (index, 0)
        if op.type == "AddN":
            before = [value.op for value in op.inputs] + list(op.control_inputs)
            position, sums = max(ready[other.name] for other in before)
            ready[op.name] = (position, sums + 1)
    return sorted(operations, key=lambda op: ready[op.name])


_ELEMENTWISE = frozenset("""AddV2 Add Sub Mul RealDiv Maximum Minimum Neg Square Sqrt Rsqrt Exp Log
    Cast AddN Less LessEqual Greater GreaterEqual Equal SelectV2 ZerosLike OnesLike""".split())


def _class_labels(op: tf.Operation) -> Iterable[str]:
    """Yields the names in the op's `_class` attribute, ["loc:@name", ...]."""
    if "_class" not in op.node_def.attr:
        return []
    prefix = "loc:@"
    return [text.decode()[len(prefix):] for text in op.get_attr("_class")
            if text.startswith(prefix.encode())]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.7g}")  # single precision: 0.001, not 0.0010000000474974513
    return value
