"""TensorFlow graphs: `emplace import --from tensorflow MODEL`; a whole training step, op by op.

    request       the options, and the training step that they request
    train_step    completes a forward pass to a step, or finds the step in a GraphDef
    convert       the step as an emplace graph
    work          FLOPs and bytes of one op
    kernels       the kinds of ops without a GPU kernel
    models        the built-in networks
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from .. import Dropped, Imported, ImportFailure, graph_file, require

EXPORTER = "emplace import --from tensorflow"
EXTRA = "tensorflow"


class ModelError(ImportFailure):
    """The user's model cannot be imported; the message gives the reason and the remedy."""


def load_tensorflow() -> Any:
    """Returns TensorFlow, quiet and on the CPU: graphs are built here, never run.

    Throws ImportFailure.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    require(["tensorflow"], EXTRA)
    import tensorflow
    tensorflow.get_logger().setLevel("ERROR")
    return tensorflow


def add_arguments(parser: Any) -> None:
    from . import request
    request.add_arguments(parser)


def read(model: str | None, options: argparse.Namespace) -> Imported:
    """Returns the training step named by `model` (see --help). Throws ImportFailure."""
    from . import request
    if model is not None and request.is_graph_file(model):
        return request.restricted(model, options)
    name, provenance, step = request.build_step(model, options)
    return _imported(name, provenance, step, options.kernels)


def import_tensorflow(graph: Any, loss: str, train_op: str, *, name: str = "graph",
                      kernels: str = "today") -> Imported:
    """Imports a whole TensorFlow 1 training step in a `tf.Graph`; `loss`, `train_op`: names of its ops.

    Shapes must be fixed. Throws ImportFailure if the graph lacks these ops, or cannot be placed.
    """
    load_tensorflow()
    from . import train_step
    step = train_step.from_graph_def(graph, loss, train_op)
    return _imported(name, {"model": name, "loss": loss, "train_op": train_op}, step, kernels)


def unknown_work(unknown: dict[str, list[int]]) -> list[Dropped]:
    """Returns notes for people about the kinds for which `convert` has no FLOP formula."""
    return [Dropped(f"FLOPs of {kind}", count, f"no formula is known: only its {moved / 1e6:,.3f} MB have a cost")
            for kind, (count, moved) in sorted(unknown.items())]


def _imported(name: str, provenance: dict[str, Any], step: Any, kernels: str) -> Imported:
    tf = load_tensorflow()
    from . import convert
    from .kernels import restrict
    source = {"framework": f"tensorflow {tf.__version__}", "exporter": EXPORTER, **provenance}
    builder = graph_file.GraphBuilder(name, source)
    unknown = convert.convert(step, builder)
    document = builder.document()
    if kernels != "today":
        restrict(document, kernels)
    return Imported(document, unknown_work(unknown))


def __getattr__(name: str) -> Any:
    """Returns EPILOG, which lists the networks and is made on request."""
    if name == "EPILOG":
        from . import request
        return request.epilog()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
