"""Keras 3 models: `emplace import --from keras MODEL`; a training step or an inference, op by op.

    network   the requested model, its inputs, and its training settings
    step      its step, traced on the TensorFlow backend, as a TrainStep of the TensorFlow importer
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from .. import Imported, ImportFailure, graph_file, require
from ..tensorflow import load_tensorflow, unknown_work

EXPORTER = "emplace import --from keras"
EXTRA = "tensorflow"
EPILOG = """
MODEL is one of

  FILE.keras
    A saved model. If it was saved compiled, its loss and optimiser are taken.

  FILE.py:FUNCTION (default: build)
    The function returns a keras.Model (functional, Sequential, or a class of your own), compiled or
    not; or (model, inputs), or (model, inputs, targets), where inputs and targets are arrays,
    tensors or tf.TensorSpec, nested as the model takes them. A first dimension None is the batch.
    A function that takes an argument is given --batch.

  the name of a network of keras.applications, such as ResNet50
    Without trained weights. The default loss is that of classes, the default optimiser adam.

Variables, casts and constants are those of Keras, before fusion by XLA.
"""


def load_keras() -> Any:
    """Loads Keras on its TensorFlow backend. Throws ImportFailure: missing, or loaded with another backend."""
    if "keras" not in sys.modules:
        os.environ["KERAS_BACKEND"] = "tensorflow"
    load_tensorflow()
    require(["keras"], EXTRA)
    import keras
    if not keras.__version__.startswith("3."):
        raise ImportFailure(f"keras {keras.__version__} is installed, expected keras 3; install it with: "
                            f"{sys.executable} -m pip install 'emplace-placement[{EXTRA}]'")
    if keras.backend.backend() != "tensorflow":
        raise ImportFailure(f"keras runs on the backend {keras.backend.backend()!r}, expected 'tensorflow'; set the "
                            f"environment variable KERAS_BACKEND=tensorflow before keras is imported")
    return keras


def add_arguments(parser: Any) -> None:
    parser.add_argument("--batch", type=int, default=32, metavar="N", help="examples in a step (default: 32)")
    parser.add_argument("--length", type=int, metavar="N", help="size of every dimension that the model leaves open")
    parser.add_argument("--inference", action="store_true", help="import only the forward pass, as in predict()")
    parser.add_argument("--loss", metavar="NAME", help="Keras's name of a loss (default: the compiled one)")
    parser.add_argument("--optimizer", metavar="NAME",
                        help="Keras's name of an optimiser (default: the compiled one)")
    parser.add_argument("--function", metavar="NAME", help="function of FILE.py (default: build)")


def read(model: str | None, options: argparse.Namespace) -> Imported:
    """Returns the step of the model named by `model` (see --help). Throws ImportFailure."""
    if not model:
        raise ImportFailure("name a MODEL: FILE.keras, FILE.py:FUNCTION or a network of keras.applications")
    for name in ("batch", "length"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise ImportFailure(f"--{name} is {getattr(options, name)}, expected a whole number >= 1")
    load_keras()
    from . import network
    found = network.find(model, options)
    return _imported(found, options.inference)


def import_keras(model: Any, *, inputs: Any = None, targets: Any = None, batch: int = 32, length: int | None = None,
                 inference: bool = False, loss: str | None = None, optimizer: str | None = None) -> Imported:
    """Imports a keras.Model; `inputs` and `targets` as a user's function returns them (see EPILOG).

    The model is not changed, except that it is compiled if a loss or an optimiser is given. Throws
    ImportFailure.
    """
    load_keras()
    from . import network
    options = argparse.Namespace(batch=batch, length=length, inference=inference, loss=loss, optimizer=optimizer)
    return _imported(network.complete(model, inputs, targets, model.name, options), inference)


def _imported(found: Any, inference: bool) -> Imported:
    import keras
    import tensorflow as tf
    from ..tensorflow import convert
    from . import step
    source: dict[str, Any] = {"framework": f"keras {keras.__version__} on tensorflow {tf.__version__}",
                              "exporter": EXPORTER, "model": found.name, "batch": found.batch}
    if inference:
        source["inference"] = True
    else:
        source |= {"loss": found.loss, "optimizer": found.model.optimizer.name}
    traced = step.trace(found, inference)
    builder = graph_file.GraphBuilder(found.name, source)
    unknown = convert.convert(traced.step, builder)
    return Imported(builder.document(), [*found.notes, *traced.notes, *unknown_work(unknown)])
