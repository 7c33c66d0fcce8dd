"""A drawn architecture as a graph file: the training step, op by op, made by the TensorFlow importer."""

from __future__ import annotations

from typing import Any

from emplace.importers import graph_file
from emplace.importers.tensorflow import load_tensorflow
from families import Architecture, Family


def graph_document(family: Family, architecture: Architecture, name: str,
                   provenance: dict[str, Any]) -> dict[str, Any]:
    """Returns the graph `name` as plain data; the same for the same arguments. Needs TensorFlow.

    provenance: further entries of `source`, besides framework and architecture.
    Throws emplace.importers.ImportFailure if TensorFlow is missing.
    """
    tf = load_tensorflow()
    from emplace.importers.tensorflow import convert, train_step
    graph = tf.Graph()
    with graph.as_default():
        tf.compat.v1.set_random_seed(0)
        tf.compat.v1.disable_resource_variables()
        loss = train_step.check_loss(family.build(architecture))
        step = train_step.complete(graph, loss, **family.training_step)
    source = {"framework": f"tensorflow {tf.__version__}", **provenance, **architecture}
    builder = graph_file.GraphBuilder(name, source)
    unknown = convert.convert(step, builder)
    if unknown:
        raise RuntimeError(f"{name}: no FLOP formula for {', '.join(sorted(unknown))}")
    return builder.document()
