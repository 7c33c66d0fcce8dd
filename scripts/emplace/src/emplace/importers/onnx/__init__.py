"""ONNX models as emplace graphs: inference graphs in `.onnx` files; their weights are not read.

    from emplace.importers.onnx import import_onnx
    imported = import_onnx("model.onnx", dims={"batch": 8})
    imported.write("model.json.gz")

`model.py` reads a model and sets the sizes of its inputs. `shapes.py` finds the shapes of all tensors. `work.py` counts
the work and the bytes of each node. `convert.py` makes the graph.
"""

from __future__ import annotations

import argparse
import os
from typing import Any, Mapping, Sequence

from emplace.importers import Imported, ImportFailure, graph_name, require
from emplace.importers.graph_file import GraphBuilder

EPILOG = ("example: emplace import model.onnx --dim batch=8 -o model_b8.json.gz\n"
          "Files of external data (weights) may be missing.")


def add_arguments(parser: Any) -> None:
    """Adds the options of `emplace import --from onnx`."""
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE",
                        help="size of a named dimension of the inputs (repeatable)")
    parser.add_argument("--shape", action="append", default=[], metavar="TENSOR=SIZE,...",
                        help="whole shape of an input, or of another tensor whose shape cannot be inferred "
                             "(repeatable)")


def read(model: str, options: argparse.Namespace) -> Imported:
    """Imports an .onnx file. Throws ImportFailure."""
    dims = {name: _size(f"--dim {name}={text}", text) for name, text in _pairs("--dim", options.dim)}
    shapes = {name: [_size(f"--shape {name}={text}", size) for size in text.split(",") if size.strip()]
              for name, text in _pairs("--shape", options.shape)}
    return import_onnx(model, dims=dims, shapes=shapes)


def import_onnx(model: Any, dims: Mapping[str, int] | None = None,
                shapes: Mapping[str, Sequence[int]] | None = None) -> Imported:
    """Returns the graph of one inference run.

    model: path of a file, or an onnx.ModelProto. dims: sizes of the inputs' named dimensions. shapes: whole shapes by
    the names of inputs, or of tensors whose shape cannot be inferred.
    Throws ImportFailure: a file that is not a valid model, a missing size, a tensor without shape or size, a missing
    package `onnx`.
    """
    require(["onnx"], "onnx")
    import onnx
    from emplace.importers.onnx.convert import convert
    from emplace.importers.onnx.model import skeleton
    from emplace.importers.onnx.shapes import infer

    small = skeleton(model, dims, shapes)
    proto = small.proto
    producer = f"{proto.producer_name} {proto.producer_version}".strip()
    name = proto.graph.name if isinstance(model, onnx.ModelProto) else os.path.basename(os.fspath(model))
    source = {"framework": f"onnx {onnx.__version__}", "model": name, "producer": producer,
              "opset": {entry.domain or "ai.onnx": entry.version
                        for entry in sorted(proto.opset_import, key=lambda entry: entry.domain)},
              "dims": dict(sorted((dims or {}).items())),
              "shapes": {key: list(value) for key, value in sorted((shapes or {}).items())},
              "pass": "inference", "exporter": "emplace import --from onnx"}
    builder = GraphBuilder(graph_name(name).removesuffix(".onnx"),
                           {key: value for key, value in source.items() if value})
    dropped = convert(small, infer(small), builder)
    return Imported(builder.document(), dropped)


def _pairs(option: str, texts: Sequence[str] | Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns (name, value) of each "name=value"; Python callers may pass a mapping instead."""
    if isinstance(texts, Mapping):
        return [(name, ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
                for name, value in texts.items()]
    found = []
    for text in [texts] if isinstance(texts, str) else texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            raise ImportFailure(f"{option} {text}: expected NAME=VALUE")
        found.append((name, value))
    return found


def _size(where: str, text: str) -> int:
    if not text.strip().isdecimal():
        raise ImportFailure(f"{where}: {text!r} is not a size; expected whole numbers >= 0")
    return int(text)
