#!/usr/bin/env python3
"""Write a TensorFlow training step (forward, gradients, update; op by op) as an emplace graph."""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import os
import pathlib
import sys
from typing import Any, Sequence

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "emplace", "src"))

from emplace.importers import graph_file  # noqa: E402
from emplace.importers.tensorflow import ModelError
from emplace.importers.tensorflow.kernels import CPU_ONLY, restrict
from emplace.importers.tensorflow.models import MODELS, Model

REQUIREMENTS = "scripts/requirements-tensorflow.txt"
EPILOG = """
the networks (--list shows their default options)
  {models}

your own model
  A Python file with a function that builds the forward pass in TensorFlow 1 style (graph mode,
  fixed shapes, no tf.function, no loops) and returns the scalar loss. Its only argument is --batch:

      # my_model.py
      import tensorflow as tf
      tf1 = tf.compat.v1

      def build(batch):
          x = tf1.placeholder(tf.float32, [batch, 784], "images")
          labels = tf1.placeholder(tf.int32, [batch], "labels")
          w = tf1.get_variable("w", [784, 10])
          return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
              labels=labels, logits=tf.matmul(x, w)))

      python3 scripts/export_tensorflow.py --module my_model.py --function build --batch 64

  Placeholders become graph inputs, trainable variables parameters. Gradients and the optimiser are
  added here; what the function puts into tf1.GraphKeys.UPDATE_OPS becomes part of the step.

a step that exists already
  --graphdef takes a GraphDef of a whole TensorFlow 1 training graph (binary, or text if it ends in
  .pbtxt) with --loss and --train-op naming its ops.

the kernels of another year
  --kernels tf2016 keeps what had no GPU kernel in TensorFlow r0.12 on the CPU (emplace.importers.tensorflow.kernels).
  With --graph it does so to a graph that was exported before:

      python3 scripts/export_tensorflow.py --graph nmt.json.gz --kernels tf2016 -o nmt_tf2016.json.gz

a network of more than 80,000 ops
  python3 scripts/export_tensorflow.py nmt --layers 8 --unroll 50 -o nmt8.json.gz

exit codes: 0 written; 1 the file could not be written; 2 the request is wrong.
"""

# Options of a network and of the training step: name -> (type, metavar, help).
OPTIONS: dict[str, tuple[Any, str, str]] = {
    "batch": (int, "N", "examples in a step"),
    "layers": (int, "N", "LSTM layers (NMT: of the encoder, and of the decoder)"),
    "unroll": (int, "N", "time steps"),
    "hidden": (int, "N", "units of an LSTM layer"),
    "vocab": (int, "N", "words"),
    "dropout": (float, "RATE", "share of units dropped (RNNLM, NMT), 0 for none"),
    "clip": (float, "NORM", "global norm to clip gradients to, 0 for none"),
}
CHOICES = {"optimizer": ("sgd", "momentum", "rmsprop", "adam"), "aggregation": ("add_n", "tree"),
           "variant": ("mobile", "large")}
CHOICE_HELP = {"optimizer": "the optimiser's update ops",
               "aggregation": "sum of gradients of a value read often: all at once, or one by one",
               "variant": "which NASNet-A"}
OWN_DEFAULTS = {"batch": 32, "optimizer": "momentum", "clip": None, "aggregation": "add_n"}


class UsageError(Exception):
    """The request is wrong: exit code 2."""


def make_parser() -> argparse.ArgumentParser:
    models = "\n  ".join(f"{model.name:14}{model.sentence}" for model in MODELS)
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG.format(models=models),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", metavar="MODEL", help="one of the networks below")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="default: ./NAME.json.gz; the graph is named after its file")
    parser.add_argument("--list", action="store_true", help="show the networks and their options")
    for name, (kind, metavar, text) in OPTIONS.items():
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=text)
    for name, choices in CHOICES.items():
        parser.add_argument(f"--{name}", choices=choices, help=CHOICE_HELP[name])
    parser.add_argument("--aux", action=argparse.BooleanOptionalAction, default=None,
                        help="auxiliary head (Inception-V3)")
    parser.add_argument("--kernels", choices=tuple(CPU_ONLY), default="today",
                        help="which ops have GPU kernels: those of TensorFlow today, or of 2016")
    parser.add_argument("--graph", metavar="FILE", help="an exported graph, with --kernels and -o")
    parser.add_argument("--module", metavar="FILE.py", help="Python file with a model of yours")
    parser.add_argument("--function", metavar="NAME", default="build", help="its function (build)")
    parser.add_argument("--graphdef", metavar="FILE", help="a training graph of yours")
    parser.add_argument("--loss", metavar="NAME", help="with --graphdef: the loss op")
    parser.add_argument("--train-op", metavar="NAME", help="with --graphdef: the training op")
    return parser


def find_model(name: str) -> Model:
    for model in MODELS:
        if model.name == name:
            return model
    names = [model.name for model in MODELS]
    close = difflib.get_close_matches(name.lower(), names, 1, 0.5)
    hint = f", did you mean {close[0]!r}?" if close else ""
    raise UsageError(f"unknown model {name!r}{hint} (the models are: {', '.join(names)})")


def resolve_options(arguments: argparse.Namespace, name: str,
                    defaults: dict[str, Any]) -> dict[str, Any]:
    """The defaults with what the command line gave; refuses options that do not apply."""
    options = dict(defaults)
    for key in (*OPTIONS, *CHOICES, "aux"):
        value = getattr(arguments, key)
        if value is None:
            continue
        if key not in defaults:
            raise UsageError(f"--{key} does not apply to {name}, which takes: "
                             f"{', '.join('--' + option for option in defaults)}")
        if key in ("dropout", "clip"):
            if not 0 <= value < (1 if key == "dropout" else float("inf")):
                raise UsageError(f"--{key} is {value}, expected a rate in [0, 1)"
                                 if key == "dropout" else f"--{key} is {value}, expected >= 0")
        elif key in OPTIONS and value < 1:
            raise UsageError(f"--{key} is {value}, expected a whole number >= 1")
        options[key] = None if key == "clip" and value == 0 else value
    return options


def import_tensorflow() -> Any:
    """TensorFlow, quiet and on the CPU: graphs are built here, never run."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        import tensorflow
    except ModuleNotFoundError as error:
        raise UsageError(f"the package {error.name!r} is missing; install it with: python3 -m venv "
                         f".venv && .venv/bin/pip install -r {REQUIREMENTS}, then run this with "
                         f".venv/bin/python") from None
    tensorflow.get_logger().setLevel("ERROR")
    return tensorflow


def load_function(path: str, name: str) -> Any:
    """The user's function `name` from the Python file `path`."""
    if not os.path.isfile(path):
        raise UsageError(f"--module: there is no file {path!r}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("user_model", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"--module: {path!r} is not a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, name, None)):
        raise UsageError(f"--function: {path!r} has no function {name!r}")
    return getattr(module, name)


def build_step(arguments: argparse.Namespace) -> tuple[str, dict[str, Any], Any]:
    """Returns (name, provenance, TrainStep) of what the command line asks for."""
    given = [value for value in (arguments.model, arguments.module, arguments.graphdef) if value]
    if len(given) != 1:
        raise UsageError("give one of MODEL, --module FILE.py and --graphdef FILE (see --help)")
    if arguments.graphdef:
        return graph_def_step(arguments)
    if arguments.module:
        name = pathlib.Path(arguments.module).stem
        options = resolve_options(arguments, "a model of your own", OWN_DEFAULTS)
    else:
        model = find_model(arguments.model)
        name = model.name
        options = resolve_options(arguments, name, dict(model.defaults))
    tf = import_tensorflow()
    from emplace.importers.tensorflow import train_step
    graph = tf.Graph()
    with graph.as_default():
        tf.compat.v1.set_random_seed(0)
        tf.compat.v1.disable_resource_variables()
        if arguments.module:
            loss = load_function(arguments.module, arguments.function)(options["batch"])
        else:
            loss = model.build(options)
        step = train_step.complete(graph, train_step.check_loss(loss), options["optimizer"],
                                   options["clip"], options["aggregation"])
    return name, {"model": name, **options}, step


def graph_def_step(arguments: argparse.Namespace) -> tuple[str, dict[str, Any], Any]:
    if not (arguments.loss and arguments.train_op):
        raise UsageError("--graphdef needs --loss NAME and --train-op NAME")
    resolve_options(arguments, "--graphdef", {})
    try:
        data = pathlib.Path(arguments.graphdef).read_bytes()
    except OSError as error:
        raise UsageError(f"--graphdef: {error}") from None
    tf = import_tensorflow()
    from google.protobuf import message, text_format
    from emplace.importers.tensorflow import train_step
    definition = tf.compat.v1.GraphDef()
    try:
        if arguments.graphdef.endswith(".pbtxt"):
            text_format.Parse(data.decode(), definition)
        else:
            definition.ParseFromString(data)
    except (message.DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise UsageError(f"--graphdef: {arguments.graphdef!r} is no GraphDef: {error}") from None
    graph = tf.Graph()
    with graph.as_default():
        tf.compat.v1.import_graph_def(definition, name="")
    name = pathlib.Path(arguments.graphdef).stem
    provenance = {"model": pathlib.Path(arguments.graphdef).name, "loss": arguments.loss,
                  "train_op": arguments.train_op}
    return name, provenance, train_step.from_graph_def(graph, arguments.loss, arguments.train_op)


def graph_name(path: str) -> str:
    """The graph is called as its file is: two sizes of one network are two graphs."""
    return os.path.basename(path).removesuffix(".gz").removesuffix(".json")


def write(document: dict[str, Any], output: str) -> None:
    """Writes a graph, checked, and says what is in it."""
    graph_file.write(document, output)
    print(f"{output} ({os.path.getsize(output) / 1e6:.2f} MB)\n{graph_file.summary(document)}")


def restrict_graph(arguments: argparse.Namespace) -> None:
    """Another year's kernels for a graph that was exported before; TensorFlow is not needed."""
    if arguments.model or arguments.module or arguments.graphdef:
        raise UsageError("--graph takes a graph that is exported already, and no model beside it")
    if arguments.kernels == "today" or not arguments.output:
        raise UsageError("--graph needs --kernels of another year and -o FILE")
    try:
        document = graph_file.read(arguments.graph)
    except (OSError, EOFError, ValueError) as error:
        raise UsageError(f"--graph: {arguments.graph}: {error}") from None
    for error in graph_file.check(document):
        raise UsageError(f"--graph: {arguments.graph}: {error}")
    document["name"] = graph_name(arguments.output)
    restricted = restrict(document, arguments.kernels)
    write(document, arguments.output)
    print(f"{restricted} ops without a GPU kernel", file=sys.stderr)


def export(arguments: argparse.Namespace) -> None:
    """Builds, converts, checks and writes what the command line asks for, and reports on it."""
    folder = os.path.dirname(os.path.abspath(arguments.output or "x"))
    if not os.path.isdir(folder):  # said before minutes of work, not after
        raise FileNotFoundError(f"there is no folder {folder!r}")
    if arguments.graph:
        restrict_graph(arguments)
        return
    name, provenance, step = build_step(arguments)
    tf = import_tensorflow()
    from emplace.importers.tensorflow import convert
    source = {"framework": f"tensorflow {tf.__version__}",
              "exporter": "scripts/export_tensorflow.py", **provenance}
    output = arguments.output or f"{name}.json.gz"
    builder = graph_file.GraphBuilder(graph_name(output) or name, source)
    unknown = convert.convert(step, builder)
    document = builder.document()
    if arguments.kernels != "today":
        restrict(document, arguments.kernels)
    write(document, output)
    for kind, (count, moved) in sorted(unknown.items()):
        print(f"no FLOP formula: {kind} x {count:,}, {moved / 1e6:,.3f} MB; counted by bytes only",
              file=sys.stderr)
    if not unknown:
        print("every op has a FLOP formula", file=sys.stderr)


def show_models() -> None:
    for model in MODELS:
        print(f"{model.name:14}{model.sentence}")
        print(" " * 14 + " ".join(f"--{key}" if value is True else f"--{key} {value}"
                                  for key, value in model.defaults.items() if value is not None))


def main(argv: Sequence[str] | None = None) -> int:
    arguments = make_parser().parse_args(argv)
    if arguments.list:
        show_models()
        return 0
    try:
        export(arguments)
    except (UsageError, ModelError) as error:
        print(f"export_tensorflow: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"export_tensorflow: cannot write: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
