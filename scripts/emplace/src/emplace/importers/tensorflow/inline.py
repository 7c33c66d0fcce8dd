"""Replaces function calls and conditions of a GraphDef by the ops they run, so that each op stands alone."""

from __future__ import annotations

from typing import Any

_CONDITIONS = ("If", "StatelessIf", "Case", "StatelessCase")
INLINED = ("PartitionedCall", "StatefulPartitionedCall", *_CONDITIONS)
TAKEN = "{0}/result_{1}:0"  # the name of result {1} of the inlined node {0}


def inline_calls(definition: Any) -> tuple[Any, list[str]]:
    """Returns (a GraphDef without function calls and conditions, names of the conditions).

    definition: a GraphDef with its function library, which is not changed. The ops of a call `c` are named `c/OP`; its
    results are `Identity` ops. An op that waits for a call waits for all ops that the function must run. The first ops
    of the call wait for everything that the call waits for. A condition is replaced by its branch with the most ops,
    which also waits for the condition. Loops (`While`) stay.
    """
    import tensorflow as tf

    result = tf.compat.v1.GraphDef()
    result.versions.CopyFrom(definition.versions)
    result.library.CopyFrom(definition.library)
    functions = {function.signature.name: function for function in definition.library.function}
    renamed: dict[str, str] = {}  # "call:1" -> "call/result_1"; "^call" -> "^call/finished"
    conditions: list[str] = []
    with tf.Graph().as_default():  # has the functions that other functions call
        tf.compat.v1.import_graph_def(tf.compat.v1.GraphDef(library=definition.library), name="")
        for node in definition.node:
            _add(result, node, functions, renamed, conditions)
    for node in result.node:
        inputs = [_resolve(name, renamed) for name in node.input]
        del node.input[:]
        node.input.extend(inputs)
    return result, conditions


def _add(result: Any, node: Any, functions: dict[str, Any], renamed: dict[str, str],
         conditions: list[str]) -> None:
    """Appends the node, or the nodes of the function that it calls."""
    if node.op not in INLINED:
        result.node.add().CopyFrom(node)
        return
    from tensorflow.python.framework import function_def_to_graph

    function = functions[_function(node, functions)]
    body, flat = function_def_to_graph.function_def_to_graph_def(function)
    arguments = [name for name in node.input if not name.startswith("^")]
    waits = [name for name in node.input if name.startswith("^")]
    if node.op in _CONDITIONS:
        conditions.append(node.name)
        waits.append("^" + arguments.pop(0).split(":")[0])
    started, finished = f"{node.name}/started", f"{node.name}/finished"
    if waits:
        result.node.add(name=started, op="NoOp", input=waits)
    given = {}
    for argument, value in zip(function.signature.input_arg, arguments):
        given[argument.name] = value
        renamed[f"{node.name}/{argument.name}"] = value

    def inside(name: str) -> str:
        """Returns the name in the graph for a name in the function."""
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
                          or not name.startswith("^"))  # unless it is an argument, which needs no wait
        if waits and not any(name.split(":")[0] not in given for name in inner.input):
            copy.input.append("^" + started)
        for key in ("_class",):
            if key in copy.attr:
                names = [text.replace(b"loc:@", b"loc:@" + node.name.encode() + b"/") for text in copy.attr[key].list.s]
                del copy.attr[key].list.s[:]
                copy.attr[key].list.s.extend(names)
        _add(result, copy, functions, renamed, conditions)
    last = []
    for index, output in enumerate(function.signature.output_arg):
        taken = result.node.add(name=TAKEN.format(node.name, index).removesuffix(":0"), op="Identity",
                                input=[inside(flat[function.ret[output.name]])])
        taken.attr["T"].type = output.type
        renamed[f"{node.name}:{index}" if index else node.name] = taken.name
        last.append("^" + taken.name)
    last += ["^" + inside(name) for name in function.control_ret.values()]
    result.node.add(name=finished, op="NoOp", input=sorted(set(last)))
    renamed["^" + node.name] = "^" + finished


def _function(node: Any, functions: dict[str, Any]) -> str:
    """Returns the function that a node runs; for a condition the branch with the most ops."""
    def ops(name: str) -> int:
        return sum(1 + sum(ops(each.name) for value in inner.attr.values()
                           for each in (value.func, *value.list.func) if each.name in functions)
                   for inner in functions[name].node_def)

    if node.op in ("PartitionedCall", "StatefulPartitionedCall"):
        return node.attr["f"].func.name
    if node.op in ("If", "StatelessIf"):
        branches = [node.attr["then_branch"].func.name, node.attr["else_branch"].func.name]
    else:
        branches = [function.name for function in node.attr["branches"].list.func]
    return max(branches, key=ops)


def _resolve(name: str, renamed: dict[str, str]) -> str:
    """Returns the name of an input after all calls are gone."""
    name = name.removesuffix(":0")
    while name in renamed:
        name = renamed[name].removesuffix(":0")
    if name.startswith("^") and name[1:] in renamed:  # waits for a value that was passed to a call
        return "^" + _resolve(name[1:], renamed).split(":")[0]
    return name
