"""PipeDream profiles (graph.txt): `emplace import --from pipedream graph.txt --device-kind NAME`.

Every layer has a forward op, its parameters and their update, all on one device. A layer also has a backward op there
if that op takes time or a gradient passes through it. Times [ms] of the profile become `cost_ns` of the device kind.
"""

from __future__ import annotations

import argparse
import os
import pathlib
from typing import Any

from .. import Dropped, Imported, ImportFailure, graph_file
from .profile import Node, in_order, parse

EXPORTER = "emplace import --from pipedream"
EPILOG = """
The file is what PipeDream's profiler writes: a line for each layer,
  node2 -- ReLU() -- forward_compute_time=1.2, backward_compute_time=2.3, activation_size=4.0, parameter_size=0.0
with times in milliseconds and sizes in bytes, and a line for each edge: a tab, then node1 -- node2.
"""


def add_arguments(parser: Any) -> None:
    parser.add_argument("--device-kind", metavar="NAME",
                        help="device kind on which the profile was measured, such as v100; the file does not name it")


def read(model: str | None, options: argparse.Namespace) -> Imported:
    """Returns the training step of a profile. Throws ImportFailure with the line that is wrong."""
    if not model:
        raise ImportFailure("name a MODEL: the graph.txt of a PipeDream profile")
    if not options.device_kind:
        raise ImportFailure(f"{model}: a profile does not name its device; give --device-kind NAME")
    try:
        text = pathlib.Path(model).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ImportFailure(f"{model}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return import_pipedream(text, options.device_kind, name=_name(model), path=model)


def import_pipedream(text: str, device_kind: str, *, name: str = "graph", path: str = "profile") -> Imported:
    """Imports a profile's text. `path` appears in messages. Throws ImportFailure."""
    nodes = in_order(parse(text, path), path)
    source = {"framework": "pipedream", "exporter": EXPORTER, "model": name, "device_kind": device_kind}
    graph = graph_file.GraphBuilder(name, source)
    return _Builder(graph, nodes, device_kind).run()


def _name(path: str) -> str:
    """Returns the graph's name: of the folder, since all profiles are called graph.txt."""
    stem = pathlib.Path(path).stem
    folder = os.path.basename(os.path.dirname(os.path.abspath(path)))
    return folder if stem == "graph" and folder else stem


class _Builder:
    def __init__(self, graph: graph_file.GraphBuilder, nodes: list[Node], device_kind: str) -> None:
        self.graph, self.nodes, self.device_kind = graph, nodes, device_kind
        self.by_name = {node.name: node for node in nodes}
        self.results: dict[str, list[int]] = {}    # of a node's forward op
        self.weights: dict[str, int] = {}
        self.weight_gradients: dict[str, int] = {}
        self.gradients: dict[int, list[int]] = {}  # result -> gradients from the backward ops of its readers
        self.trained: set[str] = set()             # names of the nodes with parameters in them or before them
        self.backward: set[str] = set()            # names of the nodes with a backward op

    def run(self) -> Imported:
        for node in self.nodes:
            if node.parameters or any(before in self.trained for before in node.inputs):
                self.trained.add(node.name)
        for node in reversed(self.nodes):
            works = node.backward_ms > 0 or node.parameters or any(after in self.backward for after in node.readers)
            if node.name in self.trained and works and node.kind != "Size":
                self.backward.add(node.name)
        for node in self.nodes:
            self._forward(node)
        for node in reversed(self.nodes):
            if node.name in self.backward:
                self._backward(node)
        updates = [node for node in self.nodes if node.parameters]
        for node in updates:
            self._update(node)
        return Imported(self.graph.document(), self._dropped(len(updates)))

    def _forward(self, node: Node) -> None:
        if node.is_input:
            self.results[node.name] = [self.graph.tensor(name, [], "", role="input", num_bytes=size)
                                       for name, size in _numbered(node.name, node.activations)]
            return
        inputs = self._read(node)
        if node.parameters:
            self.weights[node.name] = self.graph.parameter(
                f"{node.name}/parameters", *_shape(node.parameters), colocate=node.name)
            inputs = [*inputs, self.weights[node.name]]
        alias = self._alias(node, inputs)
        last = not node.readers
        outputs = [self.graph.tensor(name, [], "", role="output" if last else "activation", num_bytes=size,
                                     alias_of=alias)
                   for name, size in _numbered(f"{node.name}/{node.kind}", node.activations)]
        self.results[node.name] = outputs
        self.graph.op(f"{node.name}/{node.kind}", f"pipedream.{node.kind}", inputs, outputs, colocate=node.name,
                      cost_ns=self._cost(node.forward_ms), attributes=_attributes(node))

    def _backward(self, node: Node) -> None:
        """Adds the backward op of a node.

        It reads the inputs and results of the forward op and the gradients of the results. It writes the gradients of
        the inputs.
        """
        name = f"{node.name}/{node.kind}/backward"
        read = self._read(node)
        received = [gradient for result in self.results[node.name] for gradient in self.gradients.get(result, [])]
        weights = [self.weights[node.name]] if node.parameters else []
        outputs = []
        for before in node.inputs:
            for tensor in read:
                if before in self.backward and tensor in self.results[before]:
                    size = self.graph.tensors[tensor].num_bytes
                    gradient = self.graph.tensor(f"{name}/{self.graph.tensors[tensor].name}", [], "", role="gradient",
                                                 num_bytes=size)
                    self.gradients.setdefault(tensor, []).append(gradient)
                    outputs.append(gradient)
        if node.parameters:
            self.weight_gradients[node.name] = self.graph.tensor(
                f"{node.name}/parameters/gradient", *_shape(node.parameters), role="gradient")
            outputs.append(self.weight_gradients[node.name])
        self.graph.op(name, f"pipedream.{node.kind}.backward", [*received, *read, *self.results[node.name], *weights],
                      outputs, phase="backward", colocate=node.name, cost_ns=self._cost(node.backward_ms),
                      attributes={"forward_op": f"{node.name}/{node.kind}", **_attributes(node)})

    def _update(self, node: Node) -> None:
        weights, gradient = self.weights[node.name], self.weight_gradients[node.name]
        updated = self.graph.tensor(f"{node.name}/update", *_shape(node.parameters), role="output", alias_of=weights)
        self.graph.op(f"{node.name}/update", "optimizer.sgd", [weights, gradient], [updated], phase="update",
                      flops=2 * (node.parameters // 4), colocate=node.name, cost_ns=self._cost(0))

    def _read(self, node: Node) -> list[int]:
        """Returns the results that a node reads: for an item access the one item, else all of its inputs."""
        if node.item is not None and len(node.inputs) == 1 and node.item < len(self.results[node.inputs[0]]) > 1:
            return [self.results[node.inputs[0]][node.item]]
        return [result for before in node.inputs for result in self.results[before]]

    def _alias(self, node: Node, inputs: list[int]) -> int | None:
        """Returns the tensor whose memory the result shares: for a view, an item access, a layer in place."""
        in_place = "inplace" in node.text and "inplace=False" not in node.text
        if len(node.activations) != 1 or not (in_place or node.item is not None or node.kind == "View"):
            return None
        same = [tensor for tensor in inputs if self.graph.tensors[tensor].num_bytes == node.activations[0]
                and self.graph.tensors[tensor].role != "parameter"]
        return same[0] if same else None

    def _cost(self, milliseconds: float) -> dict[str, int]:
        return {self.device_kind: round(milliseconds * 1e6)}

    def _dropped(self, updates: int) -> list[Dropped]:
        dropped = []
        loading = [node for node in self.nodes if node.is_input and node.forward_ms + node.backward_ms > 0]
        if loading:
            total = sum(node.forward_ms + node.backward_ms for node in loading)
            dropped.append(Dropped("time of inputs", len(loading), f"{total:,.3f} ms of loading data are left out: "
                                                                   "inputs are on every device without cost, as in "
                                                                   "PipeDream's planner"))
        if updates:
            dropped.append(Dropped("time of updates", updates, "a profile has none; they cost 0 ns, as in PipeDream's "
                                                               "planner; optimiser state is not known either"))
        count = sum(not node.is_input for node in self.nodes)
        dropped.append(Dropped("FLOPs and element types", count, "a profile has none; costs are known on "
                                                                 f"{self.device_kind} only, and parameters are assumed "
                                                                 "to be f32"))
        idle = [node for node in self.nodes if not node.is_input and node.name not in self.backward]
        if idle:
            dropped.append(Dropped("backward ops", len(idle), "no time, no parameters and no reader of their gradient"))
        return dropped


def _numbered(name: str, sizes: list[int]) -> list[tuple[str, int]]:
    return [(name if index == 0 else f"{name}:{index}", size) for index, size in enumerate(sizes)]


def _shape(num_bytes: int) -> tuple[list[int], str]:
    """Parameters are f32, since the profiler multiplies their number by four; other tensors are bytes."""
    return ([num_bytes // 4], "f32") if num_bytes % 4 == 0 else ([num_bytes], "u8")


def _attributes(node: Node) -> dict[str, Any]:
    return {"layer": node.text, **({} if node.stage is None else {"stage": node.stage})}
