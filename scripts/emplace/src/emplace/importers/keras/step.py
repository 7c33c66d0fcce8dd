"""One step of a Keras model as a TensorFlow graph: traced by tf.function, calls inlined, variables named."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, Iterator

import keras
import tensorflow as tf

from .. import Dropped, ImportFailure
from ..tensorflow import ModelError
from ..tensorflow.inline import INLINED, TAKEN, inline_calls
from ..tensorflow.train_step import TrainStep
from .network import Network


@dataclasses.dataclass
class Traced:
    """A step for the TensorFlow importer's `convert`, and notes for the user."""

    step: TrainStep
    notes: list[Dropped]


@dataclasses.dataclass
class _Ends:
    """Names and numbers known only after tracing: results, and the number of ops at the end of each stage."""

    outputs: list[str] = dataclasses.field(default_factory=list)
    forward: int = 0
    backward: int = 0


def trace(network: Network, inference: bool) -> Traced:
    """Traces the step.

    Throws ImportFailure if Keras cannot build the step, ModelError if it cannot be placed op by op.
    """
    ends = _Ends()
    notes: list[Dropped] = []
    with _unrolled(network, notes):
        function = _inference(network, ends) if inference else _training(network, ends, notes)
        specs = [network.inputs] if inference else [network.inputs, network.targets]
        try:
            graph = tf.function(function, autograph=False).get_concrete_function(*specs).graph
        except ImportFailure:
            raise
        except Exception as error:
            first = (str(error).strip().splitlines() or [""])[0]
            raise ImportFailure(f"{network.name}: its step cannot be built: {type(error).__name__}: {first}") from error
    return Traced(_step(network.model, graph, ends, inference, notes), notes)


def _inference(network: Network, ends: _Ends) -> Any:
    def predict(x: Any) -> Any:
        results = network.model(x, training=False)
        ends.outputs = [value.name for value in tf.nest.flatten(results)]
        ends.forward = ends.backward = len(tf.compat.v1.get_default_graph().get_operations())
        return results
    return predict


def _training(network: Network, ends: _Ends, notes: list[Dropped]) -> Any:
    """Traces forward pass, loss, gradients and update: keras.Model.train_step without metrics."""
    model, optimizer = network.model, network.model.optimizer
    variables = model.trainable_variables
    if not variables:
        raise ModelError(f"{network.name}: the model has no trainable variables, so there is no training step; give "
                         "--inference")
    optimizer.build(variables)

    def train(x: Any, y: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        loss = model.compute_loss(x=x, y=y, y_pred=model(x, training=True), training=True)
        scaled = optimizer.scale_loss(loss)
        ends.outputs, ends.forward = [loss.name], len(graph.get_operations())
        gradients = tf.gradients(scaled, [variable.value for variable in variables])
        pairs = [(gradient, variable) for gradient, variable in zip(gradients, variables) if gradient is not None]
        if not pairs:
            raise ModelError(f"{network.name}: no trainable variable has a gradient, because the loss depends on none")
        if len(pairs) < len(variables):
            notes.append(Dropped("weights without gradient", len(variables) - len(pairs), "the loss does not depend on "
                                 "them, so they are not updated"))
        ends.backward = len(graph.get_operations())
        optimizer.apply_gradients(pairs)
        return loss
    return train


@contextlib.contextmanager
def _unrolled(network: Network, notes: list[Dropped]) -> Iterator[None]:
    """Unrolls recurrent layers over their time steps while the step is traced."""
    layers = [layer for layer in network.model._flatten_layers() if isinstance(layer, keras.layers.RNN)
              and not layer.unroll]
    for layer in layers:
        layer.unroll = True
    if layers:
        notes.append(Dropped("loops of recurrent layers", len(layers), "unrolled: every time step has its own ops"))
    try:
        yield
    finally:
        for layer in layers:
            layer.unroll = False


def _step(model: Any, traced: Any, ends: _Ends, inference: bool, notes: list[Dropped]) -> TrainStep:
    """Returns the traced graph as a plain graph: variables and captured values are ops, calls are inlined."""
    definition = traced.as_graph_def()
    order = {op.name: index for index, op in enumerate(traced.get_operations())}
    known = {variable.value.handle.ref(): variable for variable in _variables(model, inference)}
    taken = set(order)
    names: dict[int, str] = {}  # id of a variable -> name of its op
    replaced: dict[str, Any] = {}  # name of a placeholder -> the node that replaces it
    for value, placeholder in traced.captures:
        node = tf.compat.v1.NodeDef()
        if value.dtype == tf.resource:
            variable = known.get(value.ref())
            path = variable.path if variable is not None else placeholder.op.name
            handle = value.handle_data if hasattr(value, "handle_data") else None
            shape, dtype = _kind_of(value, variable, handle)
            node.name, node.op = _unique(path, taken), "VarHandleOp"
            node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
            node.attr["dtype"].type = tf.as_dtype(dtype).as_datatype_enum
            node.attr["shared_name"].s = node.name.encode()
            names[id(variable)] = node.name
        else:
            node.name, node.op = _unique(placeholder.op.name, taken), "Const"
            node.attr["dtype"].type = value.dtype.as_datatype_enum
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value.numpy()))
        replaced[placeholder.op.name] = node
    stages = {node.name: "forward" for node in replaced.values()}
    plain = tf.compat.v1.GraphDef()
    plain.versions.CopyFrom(definition.versions)
    plain.library.CopyFrom(definition.library)
    by_name = {node.name: node for node in replaced.values()}
    plain.node.extend(by_name[names[id(variable)]] for variable in _variables(model, inference)
                      if id(variable) in names)  # parameters come first
    plain.node.extend(node for node in replaced.values() if node.op == "Const")
    done = {node.name for node in plain.node}
    plain.node.extend(node for node in replaced.values() if node.name not in done)
    for node in definition.node:
        if node.name in replaced:
            continue
        copy = plain.node.add()
        copy.CopyFrom(node)
        for index, name in enumerate(copy.input):
            base = name.lstrip("^").split(":")[0]
            if base in replaced:
                copy.input[index] = ("^" if name.startswith("^") else "") + replaced[base].name
    graph = tf.Graph()
    with graph.as_default():
        inlined, conditions = inline_calls(plain)
        tf.compat.v1.import_graph_def(inlined, name="")
    if conditions:
        notes.append(Dropped("conditions", len(conditions), f"the branch with more ops is taken: "
                             f"{', '.join(conditions[:5])}{' ...' if len(conditions) > 5 else ''}"))

    def stage_of(op: tf.Operation) -> str:
        name = op.name
        while name not in order and name not in stages:  # an op of an inlined call has the stage of the call
            name = name.rpartition("/")[0]
        index = order.get(name, 0)
        return "forward" if index < ends.forward else "backward" if index < ends.backward else "update"

    def found(name: str) -> tf.Tensor:
        return graph.get_tensor_by_name(_after_inlining(graph, traced, name))

    outputs = [found(name) for name in ends.outputs]
    fetches = [output.op for output in outputs]
    if not inference:
        fetches += [graph.get_operation_by_name(f"{op.name}/finished" if op.type in INLINED else op.name)
                    for op in traced.control_outputs]
    parameters = {names[id(variable)] for variable in _weights(model) if id(variable) in names}
    slots, together = (set(), {}) if inference else _slots(model, names)
    return TrainStep(graph, outputs, fetches, stage_of, parameters, slots, together)


def _after_inlining(graph: tf.Graph, traced: Any, name: str) -> str:
    """Returns the name of a traced tensor after inlining; results of a call have new names."""
    if traced.get_tensor_by_name(name).op.type in INLINED:
        return TAKEN.format(*name.split(":"))
    return name


def _variables(model: Any, inference: bool) -> list[Any]:
    """Returns the model's weights, then the optimiser's variables, then all others (seeds)."""
    weights = _weights(model)
    rest = [variable for variable in model.variables if not any(variable is weight for weight in weights)]
    return weights + ([] if inference else list(model.optimizer.variables)) + rest


def _weights(model: Any) -> list[Any]:
    """Returns the weights that training would change, frozen or not, each once."""
    weights: dict[int, Any] = {}
    for layer in model._flatten_layers():
        for variable in layer._trainable_variables:
            weights.setdefault(id(variable), variable)
    return list(weights.values())


def _slots(model: Any, names: dict[int, str]) -> tuple[set[str], dict[str, str]]:
    """Returns the names of the optimiser's variables, and the weight to which each belongs.

    An optimiser keeps its state in lists that are as long as the list of the trainable variables.
    """
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    trainable = model.trainable_variables
    slots = {names[id(variable)] for variable in model.optimizer.variables if id(variable) in names}
    together = {}
    for values in vars(optimizer).values():
        if not isinstance(values, (list, tuple)) or len(values) != len(trainable) or values is trainable:
            continue
        for slot, weight in zip(values, trainable):
            slot_name = names.get(id(slot))
            if slot_name in slots and id(weight) in names:
                together[slot_name] = names[id(weight)]
    return slots, together


def _kind_of(value: Any, variable: Any, handle: Any) -> tuple[Any, Any]:
    """Returns the shape and element type of a variable, from Keras or from its handle."""
    if variable is not None:
        return variable.shape, variable.value.dtype
    data = getattr(value, "_handle_data", None) or handle
    if data is None or not data.is_set or len(data.shape_and_type) != 1:
        raise ModelError(f"the step reads {value!r}, a resource that is not a variable (a table, an iterator); it has "
                         "no size on a device, so leave it out of the model")
    return tf.TensorShape(data.shape_and_type[0].shape), tf.as_dtype(data.shape_and_type[0].dtype)


def _unique(name: str, taken: set[str]) -> str:
    """Returns `name` in TensorFlow's letters, with a number appended if an op already has it."""
    plain = "".join(letter if letter.isalnum() or letter in "_./-" else "_" for letter in name).lstrip("_/-") or "v"
    number, result = 1, plain
    while result in taken:
        result, number = f"{plain}_{number}", number + 1
    taken.add(result)
    return result
