"""The graph of a step, made of the torch.fx table of a model with one layer.

The rows of the layer are repeated; each copy reads the result of the copy before it. In training, a backward op
follows each row whose result depends on a weight. Rows that only make another view of a tensor, or a number of the
host, take no time. The time of another op is the published one less the launch, which a GPU overlaps with the op before
it. The launch is the median time of the rows that run no kernel. Embedding tables are not in the graph, since their
sizes are not published.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from typing import Any, Mapping, Sequence

from ..importers.graph_file import GraphBuilder
from .tables import Shape

VIEWS = frozenset({"view", "permute", "transpose", "t", "unsqueeze", "squeeze", "expand", "split", "chunk", "getitem"})
_KINDS = {"truediv": "div", "contiguous": "clone", "reshape": "clone", "to": "_to_copy", "type": "_to_copy",
          "type_as": "_to_copy", "long": "_to_copy", "bool": "_to_copy", "float": "_to_copy"}
_BACKWARD = {"linear": "linear_backward", "addmm": "linear_backward", "gelu": "gelu_backward", "tanh": "tanh_backward",
             "relu": "threshold_backward", "softmax": "_softmax_backward_data", "dropout": "native_dropout_backward",
             "layer_norm": "native_layer_norm_backward", "embedding": "embedding_dense_backward"}
_PRODUCTS = ("linear", "addmm", "matmul", "bmm")
# [ns] Of an op that takes longer, 25 repeats heat the GPU: its published time has the low clock of a long step already.
LONG_OP = 10e6
_FLOATS = ("f64", "f32", "f16", "bf16")


@dataclasses.dataclass(frozen=True)
class FxRow:
    """A row of the table. dtype: "" if the result is not a tensor. Times in [ns]; 0 where there are none."""

    name: str
    op: str        # "call_module", "get_attr", ...
    function: str  # "addmm", "view"
    inputs: tuple[str, ...]
    shape: Shape
    input_shapes: tuple[Shape, ...]
    dtype: str
    forward: float
    backward: float
    in_layer: bool

    @property
    def is_call(self) -> bool:
        return self.op.startswith("call_")

    @property
    def splits(self) -> bool:
        """Returns whether the result is a list of views, which has no dtype in the table."""
        return self.function in ("split", "chunk") and bool(self.inputs)

    @property
    def is_free(self) -> bool:
        return not self.dtype or self.function in VIEWS

    @property
    def kind(self) -> str:
        if not self.dtype and not self.splits:
            return "aten.sym_size"
        return f"aten.{_KINDS.get(self.function, self.function)}"

    @property
    def backward_kind(self) -> str:
        if self.is_free:
            return "aten.view"
        return f"aten.{_BACKWARD.get(self.function, self.function if self.function in _PRODUCTS else 'mul')}"

    @property
    def flops(self) -> int:
        """Returns the work of a product [FLOP]; other ops cost what their bytes do."""
        if self.function not in _PRODUCTS:
            return 0
        left = self.input_shapes[1 if self.function == "addmm" and len(self.input_shapes) > 1 else 0]
        return 2 * math.prod(self.shape) * (left[-1] if left else 1)


def launch_time(rows: Sequence[FxRow]) -> float:
    """Returns the part of each op time in which the GPU does not work [ns]."""
    return statistics.median([row.forward for row in rows if row.is_call and not row.dtype and not row.splits] or [0.0])


def step_graph(name: str, rows: Sequence[FxRow], num_layers: int, training: bool, device_kind: str | None,
               factor: float = 1) -> dict[str, Any]:
    """Returns the document of a graph file.

    device_kind: gets the published times; None: without times
    factor: of the times of ops up to LONG_OP, for a clock that falls in a long step
    """
    builder = _Builder(name, device_kind, factor, launch_time(rows))
    dtypes = {row.name: row.dtype for row in rows}
    builder.forward([dataclasses.replace(row, function="view") if _is_unchanged(row, training, dtypes) else row
                     for row in rows], num_layers)
    if training:
        builder.backward()
    return builder.graph.document()


def _is_unchanged(row: FxRow, training: bool, dtypes: Mapping[str, str]) -> bool:
    """Returns whether the result is the first input: dropout at inference, a cast to the same type."""
    if row.function == "dropout":
        return not training
    return _KINDS.get(row.function) == "_to_copy" and bool(row.inputs) and dtypes[row.inputs[0]] == row.dtype


@dataclasses.dataclass(frozen=True)
class _Made:
    row: FxRow
    name: str
    inputs: list[int]
    weights: list[int]
    output: int


class _Builder:
    def __init__(self, name: str, device_kind: str | None, factor: float, launch: float) -> None:
        self.graph = GraphBuilder(name, {"framework": "torch.fx", "exporter": "emplace.published"})
        self.device_kind, self.factor, self.launch = device_kind, factor, launch
        self.made: list[_Made] = []
        self.trained: set[int] = set()  # tensors that depend on a weight
        self.producers: set[int] = set()

    def forward(self, rows: Sequence[FxRow], num_layers: int) -> None:
        layer = [row for row in rows if row.in_layer]
        inner = {row.name for row in layer}
        late = set(inner)
        for row in rows:
            if late.intersection(row.inputs):
                late.add(row.name)
        outer: dict[str, int] = {}
        self._add([row for row in rows if row.name not in late], outer, "")
        after = [row for row in rows if row.name in late - inner]
        start, end = _ends(rows, layer, after, inner)
        for index in range(num_layers):
            scope = dict(outer)
            self._add(layer, scope, f"{index}/")
            if start:
                outer[start] = scope[end]
        self._add(after, scope, "")

    def backward(self) -> None:
        gradients: dict[int, list[int]] = {}
        for made in reversed([made for made in self.made if made.output in self.trained]):
            read = [*gradients.get(made.output, []), *made.inputs, *made.weights, made.output]
            outputs = []
            for tensor in dict.fromkeys((*made.inputs, *made.weights)):
                if tensor in self.trained:
                    inner = tensor in self.producers
                    forward = self.graph.tensors[tensor]
                    outputs.append(self.graph.tensor(f"{made.name}/gradient", forward.shape, forward.dtype,
                                                     role="gradient" if inner else "output",
                                                     num_bytes=forward.num_bytes))
                    if inner:
                        gradients.setdefault(tensor, []).append(outputs[-1])
            self.graph.op(f"{made.name}/backward", made.row.backward_kind, read, outputs, flops=2 * made.row.flops,
                          phase="backward", attributes={"forward_op": made.name},
                          cost_ns=self._cost(made.row, made.row.backward))

    def _add(self, rows: Sequence[FxRow], scope: dict[str, int], prefix: str) -> None:
        for row in rows:
            if row.op == "output":
                continue
            name, shape, dtype = prefix + row.name, row.shape, row.dtype
            if not row.is_call:
                scope[row.name] = self._source(row, name)
                continue
            inputs = [scope[before] for before in row.inputs]
            if row.splits:
                shape, dtype = tuple(self.graph.tensors[inputs[0]].shape), self.graph.tensors[inputs[0]].dtype
            elif not dtype:
                shape, dtype = (), "i64"
            alias = inputs[0] if inputs and row.function in VIEWS and (row.dtype or row.splits) else None
            output = self.graph.tensor(name, shape, dtype, alias_of=alias)
            weights = [self._weight(f"{name}/weight", shape) for shape in _weights(row)]
            if dtype in _FLOATS and (weights or row.function == "embedding" or self.trained.intersection(inputs)):
                self.trained.add(output)
            self.producers.add(output)
            self.made.append(_Made(row, name, inputs, weights, output))
            self.graph.op(name, row.kind, [*inputs, *weights], [output], flops=row.flops,
                          cost_ns=self._cost(row, row.forward))
            scope[row.name] = output

    def _source(self, row: FxRow, name: str) -> int:
        if row.op == "placeholder":
            return self.graph.tensor(name, row.shape, row.dtype or "i64", role="input")
        if row.dtype in _FLOATS:
            return self._weight(name, row.shape)
        return self.graph.parameter(name, row.shape, row.dtype or "i64", role="buffer", kind="constant")

    def _weight(self, name: str, shape: Shape) -> int:
        weight = self.graph.parameter(name, shape, "f32")
        self.trained.add(weight)
        return weight

    def _cost(self, row: FxRow, time: float) -> dict[str, int]:
        if self.device_kind is None:
            return {}
        factor = 0 if row.is_free else self.factor if time <= LONG_OP else 1
        return {self.device_kind: round(factor * max(0.0, time - self.launch))}


def _ends(rows: Sequence[FxRow], layer: Sequence[FxRow], after: Sequence[FxRow],
          inner: set[str]) -> tuple[str | None, str]:
    """Returns the names of the tensor that the layer takes and the one that it makes for the next layer.

    The latter is the last of the layer that is read after it, the former the last of its inputs with the same shape.
    """
    used = {name for row in after for name in row.inputs}
    end = next((row for row in reversed(layer) if row.name in used and row.dtype), layer[-1])
    read = {name for row in layer for name in row.inputs} - inner
    starts = [row.name for row in rows if row.name in read and (row.shape, row.dtype) == (end.shape, end.dtype)]
    return (starts[-1] if starts else None), end.name


def _weights(row: FxRow) -> list[Shape]:
    """Returns the shapes of a module's weights, as far as they follow from the table."""
    if row.op != "call_module" or not row.shape or not row.input_shapes or not row.input_shapes[0]:
        return []
    if row.function == "linear":
        return [(row.shape[-1], row.input_shapes[0][-1])]
    return [row.shape[-1:]] if row.function == "layer_norm" else []
