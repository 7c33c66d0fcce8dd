"""Function calls of a GraphDef replaced by the bodies of the functions, so that each op stands alone."""

from __future__ import annotations

from typing import Any

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


def inline_calls(definition: Any) -> Any:
    """A GraphDef without function calls, computing the same; ops of a call `c` are named `c/OP`.

    definition: a GraphDef with its function library, which is not changed. What waits for a call
    waits for all that the function promises to run; what starts in it waits for what the call
    waits for. Other kinds with functions (`While`, `If`) stay.
    """
    import tensorflow as tf

    result = tf.compat.v1.GraphDef()
    result.versions.CopyFrom(definition.versions)
    result.library.CopyFrom(definition.library)
    functions = {function.signature.name: function for function in definition.library.function}
    renamed: dict[str, str] = {}  # "call:1" -> "call/op:0"; "^call" -> "^call/finished"
    for node in definition.node:
        _add(result, node, functions, renamed)
    for node in result.node:
        inputs = [_resolve(name, renamed) for name in node.input]
        del node.input[:]
        node.input.extend(inputs)
    return result


def _add(result: Any, node: Any, functions: dict[str, Any], renamed: dict[str, str]) -> None:
    """Appends the node, or the nodes of the function that it calls."""
    if node.op not in _CALLS:
        result.node.add().CopyFrom(node)
        return
    from tensorflow.python.framework import function_def_to_graph

    function = functions[node.attr["f"].func.name]
    body, flat = function_def_to_graph.function_def_to_graph_def(function)
    arguments = [name for name in node.input if not name.startswith("^")]
    waits = [name for name in node.input if name.startswith("^")]
    started, finished = f"{node.name}/started", f"{node.name}/finished"
    if waits:
        result.node.add(name=started, op="NoOp", input=waits)
    given = {}
    for argument, value in zip(function.signature.input_arg, arguments):
        given[argument.name] = value
        renamed[f"{node.name}/{argument.name}"] = value

    def inside(name: str) -> str:
        """A name of the function as one of the graph."""
        control = name.startswith("^")
        base, _, index = name.lstrip("^").partition(":")
        full = f"{node.name}/{base}" + (f":{index}" if index and index != "0" else "")
        return "^" + full if control else full

    for inner in body.node:
        if inner.name in given:
            continue
        copy = type(inner)()
        copy.CopyFrom(inner)
        copy.name = f"{node.name}/{inner.name}"
        del copy.input[:]
        copy.input.extend(inside(name) for name in inner.input if name.lstrip("^") not in given
                          or not name.startswith("^"))  # an argument is there already
        if waits and not any(name.split(":")[0] not in given for name in inner.input):
            copy.input.append("^" + started)
        for key in ("_class",):
            if key in copy.attr:
                names = [text.replace(b"loc:@", b"loc:@" + node.name.encode() + b"/") for text in copy.attr[key].list.s]
                del copy.attr[key].list.s[:]
                copy.attr[key].list.s.extend(names)
        _add(result, copy, functions, renamed)
    last = []
    for index, output in enumerate(function.signature.output_arg):
        target = inside(flat[function.ret[output.name]])
        renamed[f"{node.name}:{index}" if index else node.name] = target
        last.append("^" + target.split(":")[0])
    last += ["^" + inside(name) for name in function.control_ret.values()]
    result.node.add(name=finished, op="NoOp", input=sorted(set(last)))
    renamed["^" + node.name] = "^" + finished


def _resolve(name: str, renamed: dict[str, str]) -> str:
    """The name that an input has after all calls are gone."""
    name = name.removesuffix(":0")
    while name in renamed:
        name = renamed[name].removesuffix(":0")
    if name.startswith("^") and name[1:] in renamed:  # waits for a value that a call was given
        return "^" + _resolve(name[1:], renamed).split(":")[0]
    return name
