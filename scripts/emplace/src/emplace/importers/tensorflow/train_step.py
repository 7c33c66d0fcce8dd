"""Completes a forward pass to a training step: gradients, clipping, optimiser, op by op.

The ops are TensorFlow's own (`tf.compat.v1` gradients and optimisers in graph mode). The stage that made an op
follows from the number of ops in the graph at the end of each stage.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Callable

import tensorflow as tf

from emplace.importers.tensorflow import ModelError

tf1 = tf.compat.v1

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: tf1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf1.train.MomentumOptimizer(0.1, 0.9),
    "rmsprop": lambda: tf1.train.RMSPropOptimizer(0.045, decay=0.9, momentum=0.9, epsilon=1.0),
    "adam": lambda: tf1.train.AdamOptimizer(1e-3),
}
AGGREGATIONS = {"add_n": tf1.AggregationMethod.ADD_N,
                "tree": tf1.AggregationMethod.EXPERIMENTAL_TREE}


@dataclasses.dataclass
class TrainStep:
    """A whole step in `graph`: running `fetches` runs all of it.

    outputs: the purpose of the step: the loss, or for an inference the results.
    stage_of(op): "forward", "backward" or "update", by the stage that made the op.
    slots: names of optimiser variables; parameters: names of trainable ones. together: variables
    that share their device with another one, by name, if no op says so.
    """

    graph: tf.Graph
    outputs: list[tf.Tensor]
    fetches: list[tf.Operation]
    stage_of: Callable[[tf.Operation], str]
    parameters: set[str]
    slots: set[str]
    together: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def loss(self) -> tf.Tensor:
        return self.outputs[0]


def check_loss(loss: Any) -> tf.Tensor:
    """Returns `loss` if it is a scalar floating-point tensor; throws ModelError if not."""
    if not isinstance(loss, tf.Tensor):
        raise ModelError(f"the build function returned {type(loss).__name__}, expected the scalar "
                         f"loss tensor")
    if loss.shape.rank != 0 or not loss.dtype.is_floating:
        raise ModelError(f"the loss has shape {loss.shape} and type {loss.dtype.name}, expected a "
                         f"floating-point scalar (reduce it with tf.reduce_mean)")
    return loss


def complete(graph: tf.Graph, loss: tf.Tensor, optimizer: str, clip: float | None,
             aggregation: str) -> TrainStep:
    """Adds gradients and the update to the forward pass in `graph` (which must be the default).

    clip: global norm to which gradients are scaled down, None for no clipping.
    """
    if not tf1.trainable_variables():
        raise ModelError("the model has no trainable variables, so there is no training step; make "
                         "them with tf.compat.v1.get_variable inside the build function")
    before = {variable.op.name for variable in tf1.global_variables()}
    end_of_forward = len(graph.get_operations())
    rule = OPTIMIZERS[optimizer]()
    pairs = rule.compute_gradients(loss, aggregation_method=AGGREGATIONS[aggregation])
    pairs = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
    if not pairs:
        raise ModelError("no trainable variable has a gradient: the loss does not depend on any")
    end_of_backward = len(graph.get_operations())
    if clip is not None:
        gradients, variables = zip(*pairs)
        gradients, _ = tf.clip_by_global_norm(gradients, clip)
        pairs = list(zip(gradients, variables))
    apply = rule.apply_gradients(pairs, name=optimizer)
    train = tf.group(apply, *tf1.get_collection(tf1.GraphKeys.UPDATE_OPS), name="train_step")
    order = {op.name: index for index, op in enumerate(graph.get_operations())}

    def stage_of(op: tf.Operation) -> str:
        index = order[op.name]
        if index < end_of_forward:
            return "forward"
        return "backward" if index < end_of_backward else "update"

    parameters = {variable.op.name for variable in tf1.trainable_variables()}
    slots = {variable.op.name for variable in tf1.global_variables()} - before
    return TrainStep(graph, [loss], [train, loss.op], stage_of, parameters, slots)


_GRADIENT_SCOPE = re.compile(r"(^|/)gradients(_\d+)?/")
_WRITER = re.compile(r"(Resource)?(Sparse)?Apply|Assign|(Resource)?Scatter(?!Nd$)")
_POWER = re.compile(r"beta[12]_power(_\d+)?")
_VARIABLE_KINDS = ("VariableV2", "Variable", "VarHandleOp")


def from_graph_def(graph: tf.Graph, loss_name: str, train_name: str) -> TrainStep:
    """Returns the training step in an imported v1 GraphDef; its stages are recovered from names and edges.

    backward: ops inside a name scope `gradients`. update: other ops that the loss does not need.
    Variables that the loss needs and the step writes are parameters. Other variables that an Apply* op
    reads, or that are named like an optimiser's, are its state. The rest are buffers.
    """
    def find(name: str, what: str) -> tf.Operation:
        try:
            return graph.get_operation_by_name(name.split(":")[0].lstrip("^"))
        except KeyError:
            raise ModelError(f"the GraphDef has no {what} {name!r}") from None

    loss_op, train = find(loss_name, "loss"), find(train_name, "train op")
    needed = {op.name for op in ancestors([loss_op])}

    def stage_of(op: tf.Operation) -> str:
        if op.name in needed:
            return "forward"
        return "backward" if _GRADIENT_SCOPE.search(op.name) else "update"

    step = ancestors([train, loss_op])
    variables = {op.name for op in step if op.type in _VARIABLE_KINDS}
    parameters: set[str] = set()
    slots: set[str] = set()
    for op in step:
        if _WRITER.match(op.type) and op.inputs[0].op.name in needed:
            parameters.add(op.inputs[0].op.name)
        if "Apply" in op.type:
            slots.update(value.op.name for value in op.inputs if value.op.name in variables)
    for name in variables - needed:  # slots of sparse updates, "table/Adam_1"; Adam's two powers
        scope, _, last = name.rpartition("/")
        if scope in parameters or _POWER.fullmatch(last):
            slots.add(name)
    return TrainStep(graph, [loss_op.outputs[0]], [train, loss_op], stage_of, parameters,
                     slots - parameters)


def ancestors(fetches: list[tf.Operation]) -> list[tf.Operation]:
    """Returns all ops that `fetches` need, themselves included, as a session would run them."""
    seen: dict[str, tf.Operation] = {}
    waiting = list(fetches)
    while waiting:
        op = waiting.pop()
        if op.name not in seen:
            seen[op.name] = op
            waiting.extend(value.op for value in op.inputs)
            waiting.extend(op.control_inputs)
    return list(seen.values())
