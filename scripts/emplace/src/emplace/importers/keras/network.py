"""The requested Keras model, its inputs, and its training settings."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import inspect
import os
import pathlib
from typing import Any

import keras
import tensorflow as tf

from .. import Dropped, ImportFailure, user_code


@dataclasses.dataclass
class Network:
    """A built model; inputs, targets: nested tf.TensorSpec with fixed shapes (targets of a training)."""

    model: Any
    name: str
    batch: int
    inputs: Any
    targets: Any = None
    loss: str | None = None
    notes: list[Dropped] = dataclasses.field(default_factory=list)


def find(model: str, options: argparse.Namespace) -> Network:
    """Returns the network named by `model`, ready to be traced. Throws ImportFailure."""
    keras.utils.clear_session()  # restarts Keras' name counters, so that names are the same each time
    keras.utils.set_random_seed(0)
    inputs = targets = None
    path, function = user_code.split(model, options.function, "build")
    if path.endswith(".py"):
        call = user_code.load_function(path, function)
        takes = [p for p in inspect.signature(call).parameters.values()
                 if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        made = user_code.call(path, call, *[options.batch for _ in takes[:1]])
        if isinstance(made, tuple) and made and isinstance(made[0], keras.Model):
            made, inputs, targets = (*made, None, None)[:3]
        name = pathlib.Path(path).stem
        if not isinstance(made, keras.Model):
            raise ImportFailure(f"{path}: {function}() returned {type(made).__name__}, expected a keras.Model, or "
                                f"(model, inputs), or (model, inputs, targets)")
    elif path.endswith(".keras"):
        made, name = _saved(path), pathlib.Path(path).stem
    else:
        made, name = _application(path), path
        options = argparse.Namespace(**{**vars(options), "loss": options.loss or "sparse_categorical_crossentropy",
                                        "optimizer": options.optimizer or "adam"})
    return complete(made, inputs, targets, name, options)


def complete(model: Any, inputs: Any, targets: Any, name: str, options: argparse.Namespace) -> Network:
    """Builds the model, fixes the shapes of its inputs, and checks that it can be trained."""
    batch = options.batch
    if inputs is None:
        if not model.built or not model.inputs:
            raise ImportFailure(f"{name}: the inputs of the model are not known; return (model, inputs) from the "
                                "function, where inputs are arrays or tf.TensorSpec")
        inputs = getattr(model, "_inputs_struct", None)  # nested as a functional model expects it
        if inputs is None:
            inputs = model.inputs[0] if len(model.inputs) == 1 else model.inputs
    other = tf.nest.map_structure(lambda value: _fixed(value, batch + 1, options.length, name), inputs)
    inputs = tf.nest.map_structure(lambda value: _fixed(value, batch, options.length, name), inputs)
    outputs = tf.nest.map_structure(
        lambda value: tf.TensorSpec([batch if axis == 0 and size == batch + 1 else size
                                     for axis, size in enumerate(value.shape)], tf.as_dtype(value.dtype)),
        _outputs(model, other, name))
    network = Network(model, name, batch, inputs)
    if options.inference:
        return network
    network.loss = _compile(model, name, options)
    if type(model).train_step is not keras.Model.train_step:
        network.notes.append(Dropped(f"train_step of {type(model).__name__}", 1, "the step is forward pass, "
                                                                                 "compute_loss, gradients and "
                                                                                 "optimiser; the model's own "
                                                                                 "train_step is not used"))
    if targets is None:
        network.targets = _targets(outputs, network.loss)
    else:
        network.targets = tf.nest.map_structure(lambda value: _fixed(value, batch, options.length, name), targets)
    return network


def _saved(path: str) -> Any:
    if not os.path.isfile(path):
        raise ImportFailure(f"there is no file {path!r}")
    try:
        return keras.saving.load_model(path)
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise ImportFailure(f"{path}: keras {keras.__version__} does not load it: {type(error).__name__}: {first}; "
                            "import a model with its own code by FILE.py:FUNCTION") from error


def _application(name: str) -> Any:
    names = sorted(key for key, value in vars(keras.applications).items() if inspect.isfunction(value))
    if name not in names:
        close = difflib.get_close_matches(name, names, 1, 0.5)
        hint = f", did you mean {close[0]!r}?" if close else ""
        raise ImportFailure(f"unknown model {name!r}{hint} (a file ends in .keras or .py; the networks of "
                            f"keras.applications: {', '.join(names)})")
    return getattr(keras.applications, name)(weights=None)


def _fixed(value: Any, batch: int, length: int | None, name: str) -> tf.TensorSpec:
    """Returns the spec of an input. None means the batch in the first dimension, --length in others."""
    shape = list(value.shape)
    dtype = tf.as_dtype(keras.backend.standardize_dtype(value.dtype) if not isinstance(value.dtype, tf.DType)
                        else value.dtype)
    label = getattr(value, "name", None)
    if None in shape[1:] and length is None:
        raise ImportFailure(f"{name}: input {label or ''} has the shape {tuple(shape)}; give --length N for the open "
                            "dimensions")
    return tf.TensorSpec([batch if size is None and axis == 0 else length if size is None else size
                          for axis, size in enumerate(shape)], dtype, label)


def _outputs(model: Any, inputs: Any, name: str) -> Any:
    """Builds the parts that are not built yet; returns the specs of the results.

    If the batch size is open, the model is called with another batch than the step's. The reason: a tf.function of
    the model that is traced while weights are created misses them, and is traced again only for another size.
    """
    symbolic = tf.nest.map_structure(
        lambda spec: keras.KerasTensor(tuple(spec.shape), spec.dtype.name, name=spec.name), inputs)
    try:
        return model(symbolic)
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise ImportFailure(f"{name}: the model cannot be called with "
                            f"{tf.nest.map_structure(lambda s: tuple(s.shape), inputs)}: "
                            f"{type(error).__name__}: {first}") from error


def _compile(model: Any, name: str, options: argparse.Namespace) -> str:
    """Compiles the model if it is not compiled, or if another loss or optimiser is requested.

    Returns the name of the loss.
    """
    compiled = getattr(model, "compiled", False)
    if not compiled and not (options.loss and options.optimizer):
        missing = " and ".join(f"--{key} NAME" for key in ("loss", "optimizer") if not getattr(options, key))
        raise ImportFailure(f"{name}: the model is not compiled, so it cannot be trained; compile it, give {missing} "
                            "(such as mse, sparse_categorical_crossentropy; adam, sgd), or --inference")
    loss = options.loss or model.loss
    if not compiled or options.loss or options.optimizer:
        try:
            model.compile(optimizer=options.optimizer or model.optimizer, loss=loss)
            keras.losses.get(loss)
        except ValueError as error:
            raise ImportFailure(f"{name}: --loss {options.loss}, --optimizer {options.optimizer}: "
                                f"{str(error).strip().splitlines()[0]}") from None
    if isinstance(loss, str) or loss is None:
        return loss or "losses of its layers"
    names = [value if isinstance(value, str) else getattr(value, "name", None) or getattr(value, "__name__", str(value))
             for value in tf.nest.flatten(loss)]
    return ", ".join(names)


def _targets(outputs: Any, loss: str) -> Any:
    """Returns the specs of the targets.

    They are labels [..., no classes] if the loss takes class numbers, else they have the specs of the model's results.
    """
    flat = tf.nest.flatten(outputs)
    losses = loss.split(", ")
    losses = losses * len(flat) if len(losses) == 1 else losses

    def target(output: Any, name: str) -> tf.TensorSpec:
        plain = name.lower().replace("_", "")
        if plain.startswith("sparsecategorical"):
            return tf.TensorSpec(output.shape[:-1], tf.int32)
        return tf.TensorSpec(output.shape, output.dtype)

    if len(losses) != len(flat):
        raise ImportFailure(f"{len(losses)} losses ({loss}) for {len(flat)} results; return (model, inputs, targets) "
                            f"from the function")
    return tf.nest.pack_sequence_as(outputs, [target(output, name) for output, name in zip(flat, losses)])
