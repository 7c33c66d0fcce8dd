"""Chakra traces in protobuf: a small reader of the wire format, for the messages of et_def.proto.

A file is a GlobalMetadata followed by Nodes, each preceded by its length (varint). The field numbers below are
those of MLCommons' schema (https://github.com/mlcommons/chakra, schema/protobuf/et_def.proto). Nothing else of
the schema is needed.
"""

from __future__ import annotations

import struct
from typing import Any, Iterator

TYPES = ("INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE",
         "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE", "BATCH_NODE", "CHECKPOINT_NODE")
_NODE = {1: "id", 2: "name", 3: "type", 4: "ctrl_deps", 5: "data_deps", 6: "start_time_micros", 7: "duration_micros",
         8: "inputs", 9: "outputs", 10: "attr"}
_IO = {1: "values", 2: "shapes", 3: "types"}
# Wire forms of scalar attributes, by field number. The list form of an attribute has the next field number.
_SCALARS = {3: "double", 5: "float", 7: "int", 9: "int", 11: "uint", 13: "uint", 15: "sint", 17: "sint", 19: "fixed32",
            21: "fixed64", 23: "sfixed32", 25: "sfixed64", 27: "bool", 29: "text", 31: "bytes"}
_UNPACK = {"double": "<d", "float": "<f", "fixed32": "<I", "fixed64": "<Q", "sfixed32": "<i", "sfixed64": "<q"}


class WireError(ValueError):
    """The bytes are not protobuf; the message says where."""


def read(data: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns (metadata, nodes) of a trace; a node is a dict with the schema's names.

    Throws WireError.
    """
    messages = list(_delimited(data))
    if not messages:
        raise WireError("the file is empty")
    metadata = {"version": "", "attr": {}}
    for number, value in _fields(messages[0]):
        if number == 1:
            metadata["version"] = _text(value)
        elif number == 2:
            metadata["attr"].update([_attribute(value)])
    return metadata, [_node(message) for message in messages[1:]]


def _node(message: bytes) -> dict[str, Any]:
    node: dict[str, Any] = {"id": 0, "name": "", "type": "INVALID_NODE", "ctrl_deps": [], "data_deps": [],
                            "duration_micros": 0, "inputs": {}, "outputs": {}, "attr": {}}
    for number, value in _fields(message):
        key = _NODE.get(number)
        if key == "name":
            node[key] = _text(value)
        elif key == "type":
            if not isinstance(value, int) or value >= len(TYPES):
                raise WireError(f"node {node['id']}: its type is {value!r}, expected 0 to {len(TYPES) - 1}")
            node[key] = TYPES[value]
        elif key in ("ctrl_deps", "data_deps"):  # packed, or one per field
            node[key] += [value] if isinstance(value, int) else list(_varints(value))
        elif key in ("inputs", "outputs"):
            node[key] = {_IO[inner]: _text(text) for inner, text in _fields(value) if inner in _IO}
        elif key == "attr":
            node[key].update([_attribute(value)])
        elif key is not None:
            if not isinstance(value, int):
                raise WireError(f"node {node['id']}: {key} has bytes, expected a number")
            node[key] = value
    return node


def _attribute(message: bytes) -> tuple[str, Any]:
    name, value = "", None
    for number, raw in _fields(message):
        if number == 1:
            name = _text(raw)
        elif number in _SCALARS:
            value = _scalar(_SCALARS[number], raw)
        elif number - 1 in _SCALARS and number > 3:
            value = [item for inner, items in _fields(raw) if inner == 1
                     for item in _list(_SCALARS[number - 1], items)]
    return name, value


def _scalar(form: str, raw: Any) -> Any:
    if form in ("text", "bytes"):
        return _text(raw) if form == "text" else bytes(raw)
    if form in _UNPACK:
        size = struct.calcsize(_UNPACK[form])
        if isinstance(raw, int) or len(raw) != size:
            raise WireError(f"an attribute has {raw!r}, expected {size} bytes")
        return struct.unpack(_UNPACK[form], raw)[0]
    if not isinstance(raw, int):
        raise WireError("an attribute has bytes, expected a number")
    if form == "bool":
        return bool(raw)
    if form == "sint":
        return (raw >> 1) ^ -(raw & 1)
    return raw - (1 << 64) if form == "int" and raw >> 63 else raw


def _list(form: str, raw: Any) -> Iterator[Any]:
    if form in ("text", "bytes") or isinstance(raw, int):
        yield _scalar(form, raw)
    elif form in _UNPACK:
        size = struct.calcsize(_UNPACK[form])
        yield from (_scalar(form, raw[start:start + size]) for start in range(0, len(raw), size))
    else:
        yield from (_scalar(form, item) for item in _varints(raw))


def _delimited(data: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(data):
        length, start = _varint(data, position)
        if start + length > len(data):
            raise WireError(f"byte {position}: a message of {length} bytes, but {len(data) - start} are left")
        position = start + length
        yield data[start:position]


def _fields(message: Any) -> Iterator[tuple[int, Any]]:
    """Yields (number, value): an int for a varint, else the bytes."""
    if isinstance(message, int):
        raise WireError("a message was expected, got a number")
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        number, form = tag >> 3, tag & 7
        if form == 0:
            value, position = _varint(message, position)
            yield number, value
            continue
        if form == 2:
            length, position = _varint(message, position)
        elif form in (1, 5):
            length = 8 if form == 1 else 4
        else:
            raise WireError(f"a field of wire type {form}, expected 0, 1, 2 or 5")
        if number == 0 or position + length > len(message):
            raise WireError(f"a field {number} of {length} bytes, but {len(message) - position} are left")
        yield number, message[position:position + length]
        position += length


def _varints(data: bytes) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = _varint(data, position)
        yield value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Returns (value, position after it)."""
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise WireError(f"byte {position}: a number has no end")
        byte = data[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return value, position


def _text(raw: Any) -> str:
    if isinstance(raw, int):
        raise WireError("a text was expected, got a number")
    try:
        return bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise WireError(f"a text is not UTF-8: {error}") from None
