"""Execution traces: `emplace import --from chakra FILE`.

    execution_trace   PyTorch's execution traces (JSON): operators and the tensors they used
    protobuf          MLCommons Chakra's traces (protobuf)
    nodes             Chakra's nodes as a graph
"""

from __future__ import annotations

import argparse
import gzip
import json
import pathlib
import zlib
from typing import Any

from .. import Dropped, Imported, ImportFailure, graph_file
from ..traces import calls, graph as trace_graph
from . import execution_trace, nodes, protobuf

EXPORTER = "emplace import --from chakra"
EPILOG = """
FILE is one of

  an execution trace of PyTorch (JSON, or compressed), as torch.profiler.ExecutionTraceObserver writes it
    The outermost operators become ops, except those that only call others (aten::linear).
    Dependencies are exact: by the memory that each call reads and writes. The trace has no times unless
    chakra_trace_link has added them; see also --from kineto --execution-trace.

  a trace of MLCommons Chakra (.et, protobuf; or the JSON that chakra_jsonizer makes of it)
    Every node becomes an op, data_deps become tensors, ctrl_deps plain dependencies.

--device-kind NAME names the kind of device on which the durations were measured; it is required if the trace has
durations.
"""
_WHOLE = tuple(sign + size for sign in ("int", "uint", "sint", "fixed", "sfixed") for size in ("32", "64"))
_JSON_KEYS = {"ctrlDeps": "ctrl_deps", "dataDeps": "data_deps", "durationMicros": "duration_micros"}


def add_arguments(parser: Any) -> None:
    parser.add_argument("--device-kind", metavar="NAME", help="on which the durations were measured, such as h100")
    parser.add_argument("--strict", action="store_true", help="refuse a trace of Chakra with edges to nodes that it "
                                                              "does not have, instead of leaving them out")


def read(model: str | None, options: argparse.Namespace) -> Imported:
    """Returns the graph of a trace. Throws ImportFailure."""
    if not model:
        raise ImportFailure("name a MODEL: an execution trace of PyTorch or of Chakra")
    try:
        data = pathlib.Path(model).read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ImportFailure(f"{model}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    name = pathlib.Path(model).name.split(".")[0]
    documents = _documents(data, model)
    if documents is None:
        try:
            metadata, found = protobuf.read(data)
        except protobuf.WireError as error:
            raise ImportFailure(f"{model}: is neither JSON nor a Chakra trace in protobuf: {error}") from None
        return _of_nodes(found, metadata["version"], name, options.device_kind, model, options.strict)
    if len(documents) == 1 and "nodes" in documents[0]:
        return import_chakra(documents[0], device_kind=options.device_kind, name=name, path=model)
    return _of_nodes([_json_node(each, model) for each in documents if "id" in each],
                     str(documents[0].get("version", "")), name, options.device_kind, model, options.strict)


def import_chakra(document: dict[str, Any], *, device_kind: str | None = None, name: str = "trace",
                  path: str = "trace") -> Imported:
    """Imports an execution trace of PyTorch, as json.load returns it. `path` appears in messages.

    Throws ImportFailure.
    """
    selection = calls.select(execution_trace.roots(document, path))
    return of_selection(selection, f"execution trace {document.get('schema', '')}", EXPORTER, name, device_kind, path)


def of_selection(selection: calls.Selection, framework: str, exporter: str, name: str, device_kind: str | None,
                 path: str, **source: Any) -> Imported:
    """Returns the graph of selected calls. device_kind is required if they have durations."""
    if not selection.calls:
        raise ImportFailure(f"{path}: holds no call of an operator (aten::...)")
    timed = any(call.duration is not None for call in selection.calls)
    if timed and not device_kind:
        raise ImportFailure(f"{path}: has durations, but does not name the device; give --device-kind NAME")
    settings = {"device_kind": device_kind} if timed else {}
    graph = graph_file.GraphBuilder(name, {"framework": framework, "exporter": exporter, "model": name, **settings,
                                           **source})
    told = trace_graph.build(selection, graph, device_kind)
    if not timed:
        told.append(Dropped("durations", len(selection.calls), "the trace has none; costs come from a model"))
    return Imported(graph.document(), told)


def _of_nodes(found: list[dict[str, Any]], version: str, name: str, device_kind: str | None, path: str,
              strict: bool) -> Imported:
    if nodes.has_durations(found) and not device_kind:
        raise ImportFailure(f"{path}: has durations, but does not name the device; give --device-kind NAME")
    timed = nodes.has_durations(found)
    settings = {"device_kind": device_kind} if timed else {}
    graph = graph_file.GraphBuilder(name, {"framework": f"chakra {version}".strip(), "exporter": EXPORTER,
                                           "model": name, **settings})
    told = nodes.build(found, graph, device_kind if timed else None, path, strict)
    return Imported(graph.document(), told)


def _documents(data: bytes, path: str) -> list[dict[str, Any]] | None:
    """Returns the JSON objects in `data`, which follow each other; None if the bytes do not begin with one.

    Throws ImportFailure.
    """
    if data.lstrip()[:1] != b"{":
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    decoder, position, found = json.JSONDecoder(), 0, []
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            if found or b"\0" not in data:  # a protobuf may begin with the same letter
                raise ImportFailure(f"{path}:{error.lineno}: is not JSON: {error.msg}") from None
            return None
        if not isinstance(value, dict):
            raise ImportFailure(f"{path}: holds a JSON {type(value).__name__}, expected objects")
        found.append(value)
    return found


def _json_node(record: dict[str, Any], path: str) -> dict[str, Any]:
    """Returns a node in protobuf's JSON form: 64-bit numbers as text, names in camel case."""
    record = {_JSON_KEYS.get(key, key): value for key, value in record.items()}
    try:
        for side in ("inputs", "outputs"):
            if not isinstance(record.get(side, {}), dict):
                raise TypeError(f"{side} is {record[side]!r}, expected an object")
        attributes = {}
        for item in record.get("attr", []):
            form, value = next(((key, value) for key, value in item.items() if key not in ("name", "doc_string",
                                                                                         "docString")), ("", None))
            number = form.lower().replace("_", "").removesuffix("val")
            attributes[item["name"]] = int(value) if number in _WHOLE else value
        return {"id": int(record["id"]), "name": str(record.get("name", "")),
                "type": str(record.get("type", "INVALID_NODE")), "attr": attributes,
                "ctrl_deps": [int(other) for other in record.get("ctrl_deps", [])],
                "data_deps": [int(other) for other in record.get("data_deps", [])],
                "duration_micros": int(record.get("duration_micros", 0)), "inputs": record.get("inputs", {}),
                "outputs": record.get("outputs", {})}
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ImportFailure(f"{path}: node {record.get('id')!r} {record.get('name', '')!r} cannot be read: "
                            f"{type(error).__name__}: {error}") from None
