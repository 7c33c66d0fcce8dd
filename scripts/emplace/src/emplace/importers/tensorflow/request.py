"""The importer's options, and the training step that they request."""

from __future__ import annotations

import argparse
import difflib
import pathlib
from typing import Any

from .. import ImportFailure, Dropped, Imported, graph_file, read_json, user_code
from . import load_tensorflow
from .kernels import CPU_ONLY, restrict
from .models import MODELS, Model

EPILOG = """
MODEL is one of

  a network, with its default options
    {models}

  FILE.py, or FILE.py:FUNCTION: your own model
    The function (default: build) builds the forward pass in TensorFlow 1 style (graph mode, fixed
    shapes, no tf.function, no loops) and returns the scalar loss. Its only argument is --batch:

        import tensorflow as tf
        tf1 = tf.compat.v1

        def build(batch):
            x = tf1.placeholder(tf.float32, [batch, 784], "images")
            labels = tf1.placeholder(tf.int32, [batch], "labels")
            w = tf1.get_variable("w", [784, 10])
            return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=tf.matmul(x, w)))

    Placeholders become graph inputs, trainable variables parameters. The importer adds gradients and the optimiser;
    ops in tf1.GraphKeys.UPDATE_OPS become part of the step. Models of Keras: --from keras.

  FILE.pb, FILE.pbtxt (text): a GraphDef of a whole TensorFlow 1 training step
    with --loss and --train-op naming its ops.

  FILE.json, FILE.json.gz: an emplace graph of TensorFlow, with --kernels and -o
    --kernels tf2016 keeps ops without a GPU kernel in TensorFlow r0.12 on the CPU. This does not need TensorFlow.

A network of more than 80,000 ops: emplace import --from tensorflow nmt --layers 8 --unroll 50
"""

# Options of a network and of the training step: name -> (type, metavar, help).
OPTIONS: dict[str, tuple[Any, str, str]] = {
    "batch": (int, "N", "examples in a step"),
    "layers": (int, "N", "LSTM layers (NMT: of the encoder, and of the decoder)"),
    "unroll": (int, "N", "time steps"),
    "hidden": (int, "N", "units of an LSTM layer"),
    "vocab": (int, "N", "words"),
    "dropout": (float, "RATE", "share of dropped units (RNNLM, NMT); 0: none"),
    "clip": (float, "NORM", "global norm to which gradients are clipped; 0: no clipping"),
}
CHOICES = {"optimizer": ("sgd", "momentum", "rmsprop", "adam"), "aggregation": ("add_n", "tree"),
           "variant": ("mobile", "large")}
CHOICE_HELP = {"optimizer": "the optimiser's update ops",
               "aggregation": "sum of gradients of a value read often: all at once, or one by one",
               "variant": "which NASNet-A"}
OWN_DEFAULTS = {"batch": 32, "optimizer": "momentum", "clip": None, "aggregation": "add_n"}


def epilog() -> str:
    """Returns the end of --help: the possible values of MODEL, including the networks."""
    lines: list[str] = []
    for model in MODELS:
        options = " ".join(f"--{key}" if value is True else f"--{key} {value}"
                           for key, value in model.defaults.items() if value is not None)
        lines += [f"{model.name:14}{model.sentence}", f"{'':14}{options}"]
    return EPILOG.format(models="\n    ".join(lines))


def add_arguments(parser: Any) -> None:
    for name, (kind, metavar, text) in OPTIONS.items():
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=text)
    for name, choices in CHOICES.items():
        parser.add_argument(f"--{name}", choices=choices, help=CHOICE_HELP[name])
    parser.add_argument("--aux", action=argparse.BooleanOptionalAction, default=None,
                        help="auxiliary head (Inception-V3)")
    parser.add_argument("--kernels", choices=tuple(CPU_ONLY), default="today",
                        help="ops with GPU kernels: those of TensorFlow today, or of 2016")
    parser.add_argument("--function", metavar="NAME", help="function of FILE.py (default: build)")
    parser.add_argument("--loss", metavar="NAME", help="with a GraphDef: the loss op")
    parser.add_argument("--train-op", metavar="NAME", help="with a GraphDef: the training op")


def is_graph_file(model: str) -> bool:
    return model.endswith((".json", ".json.gz"))


def find_model(name: str) -> Model:
    for model in MODELS:
        if model.name == name:
            return model
    names = [model.name for model in MODELS]
    close = difflib.get_close_matches(name.lower(), names, 1, 0.5)
    hint = f", did you mean {close[0]!r}?" if close else ""
    raise ImportFailure(f"unknown model {name!r}{hint} (the models are: {', '.join(names)}; a file is known by "
                        f"its ending: .py, .pb, .pbtxt, .json, .json.gz)")


def resolve_options(options: argparse.Namespace, name: str, defaults: dict[str, Any]) -> dict[str, Any]:
    """Returns the defaults, replaced by the user's options; refuses options that do not apply."""
    resolved = dict(defaults)
    for key in (*OPTIONS, *CHOICES, "aux"):
        value = getattr(options, key)
        if value is None:
            continue
        if key not in defaults:
            takes = ", ".join("--" + option for option in defaults) or "none of these options"
            raise ImportFailure(f"--{key} does not apply to {name}, which takes: {takes}")
        if key in ("dropout", "clip"):
            if not 0 <= value < (1 if key == "dropout" else float("inf")):
                raise ImportFailure(f"--{key} is {value}, expected a rate in [0, 1)"
                                    if key == "dropout" else f"--{key} is {value}, expected >= 0")
        elif key in OPTIONS and value < 1:
            raise ImportFailure(f"--{key} is {value}, expected a whole number >= 1")
        resolved[key] = None if key == "clip" and value == 0 else value
    return resolved


def build_step(model: str | None, options: argparse.Namespace) -> tuple[str, dict[str, Any], Any]:
    """Returns (name, provenance, TrainStep) of the requested step. Throws ImportFailure."""
    if not model:
        raise ImportFailure("name a MODEL: a network, FILE.py, FILE.pb or FILE.pbtxt (see --from tensorflow --help)")
    if model.endswith((".pb", ".pbtxt")):
        return _graph_def_step(model, options)
    if options.loss or options.train_op:
        raise ImportFailure(f"{model}: --loss and --train-op are for a GraphDef (FILE.pb or FILE.pbtxt)")
    path, function = user_code.split(model, options.function, "build")
    if path.endswith(".py"):
        name = pathlib.Path(path).stem
        settings = resolve_options(options, "a model of your own", OWN_DEFAULTS)
    else:
        chosen = find_model(model)
        if options.function:
            raise ImportFailure(f"--function {options.function}: is for FILE.py, not for the network {model!r}")
        name = chosen.name
        settings = resolve_options(options, name, dict(chosen.defaults))
    tf = load_tensorflow()
    from . import train_step
    graph = tf.Graph()
    with graph.as_default():
        tf.compat.v1.set_random_seed(0)
        tf.compat.v1.disable_resource_variables()
        if path.endswith(".py"):
            loss = user_code.call(path, user_code.load_function(path, function), settings["batch"])
        else:
            loss = chosen.build(settings)
        step = train_step.complete(graph, train_step.check_loss(loss), settings["optimizer"],
                                   settings["clip"], settings["aggregation"])
    return name, {"model": name, **settings}, step


def _graph_def_step(path: str, options: argparse.Namespace) -> tuple[str, dict[str, Any], Any]:
    if not (options.loss and options.train_op):
        raise ImportFailure(f"{path}: a GraphDef needs --loss NAME and --train-op NAME")
    resolve_options(options, "a GraphDef", {})
    try:
        data = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise ImportFailure(f"{path}: {error.strerror}") from None
    tf = load_tensorflow()
    from google.protobuf import message, text_format
    from . import train_step
    definition = tf.compat.v1.GraphDef()
    try:
        if path.endswith(".pbtxt"):
            text_format.Parse(data.decode(), definition)
        else:
            definition.ParseFromString(data)
    except (message.DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise ImportFailure(f"{path}: is not a GraphDef: {error}") from None
    graph = tf.Graph()
    try:
        with graph.as_default():
            tf.compat.v1.import_graph_def(definition, name="")
    except ValueError as error:
        raise ImportFailure(f"{path}: TensorFlow does not load this GraphDef: {error}") from None
    name = pathlib.Path(path).stem
    provenance = {"model": pathlib.Path(path).name, "loss": options.loss, "train_op": options.train_op}
    return name, provenance, train_step.from_graph_def(graph, options.loss, options.train_op)


def restricted(path: str, options: argparse.Namespace) -> Imported:
    """Applies another year's kernels to an existing graph; TensorFlow is not needed."""
    resolve_options(options, "an emplace graph", {})
    if options.kernels == "today" or getattr(options, "output", path) is None:
        raise ImportFailure(f"{path}: is an emplace graph; it needs --kernels of another year and -o FILE")
    document = read_json(path)
    for error in graph_file.check(document):
        raise ImportFailure(f"{path}: {error}")
    framework = str(document.get("source", {}).get("framework", ""))
    if not framework.startswith("tensorflow"):
        raise ImportFailure(f"{path}: made by {framework or 'no framework'}, expected a graph of tensorflow; "
                            "--kernels applies to the kinds of TensorFlow only")
    count = restrict(document, options.kernels)
    return Imported(document, [Dropped("ops that may run anywhere", count, f"no GPU kernel in {options.kernels}; they "
                                                                           "are kept on the CPU")] if count else [])
