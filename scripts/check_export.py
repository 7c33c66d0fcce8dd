#!/usr/bin/env python3
"""Loads an export of `emplace export` into its framework and checks it.

    emplace export r.h5 --to huggingface -o map.json
    python3 scripts/check_export.py map.json --graph configs/graphs/gpt2_mini_torch.json.gz

The model is built again from the graph's `source`. No GPU is needed.

Checks of a device_map (graph of PyTorch): it names only modules and parameters of the model, and covers everything
in its state_dict exactly once. Tied weights are on one device. The forward pass and the loss run with it; inputs are
moved to a module's device when the module is entered, like by accelerate's hooks. Fake tensors, which have a device but
no elements, replace GPUs, so that mixed devices fail as on real ones.

Checks of a map of ops (graph of TensorFlow): it names every op of the graph, and each op is in the model. Every op has
its device after the model is imported with the map, co-location included. With --run the step is executed with one
virtual CPU per device, and TensorFlow's placer must have put every op where the map says.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import sys
from typing import Any, Mapping, Sequence

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "emplace", "src"))

from emplace.importers import graph_file  # noqa: E402

MOST = 5  # names listed in a message


class ExportError(Exception):
    """The export does not fit the model, or cannot be checked; the message gives the reason."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="exit codes: 0 the export is right; 1 it is not; 2 it cannot be checked")
    parser.add_argument("export", metavar="EXPORT.json", help="file of `emplace export -o`")
    parser.add_argument("--graph", required=True, metavar="FILE", help="the graph that was placed")
    parser.add_argument("--module", metavar="FILE.py", help="Python file of your own model")
    parser.add_argument("--function", metavar="NAME", default="build", help="its function (build)")
    parser.add_argument("--graphdef", metavar="FILE", help="your own TensorFlow graph")
    parser.add_argument("--run", action="store_true",
                        help="TensorFlow: execute the step (for small models)")
    options = parser.parse_args(arguments)
    try:
        document, export = graph_file.read(options.graph), read_export(options.export)
        framework = str(document.get("source", {}).get("framework", ""))
        if not framework.startswith(("torch", "tensorflow")):
            raise OSError(f"{options.graph}: made by {framework or 'no framework'}, expected a "
                          "graph of `emplace import --from torch` or `--from tensorflow`")
        check = check_torch if framework.startswith("torch") else check_tensorflow
        lines = check(export, document, options)
    except ExportError as error:
        print(f"check_export.py: {options.export}: {error}", file=sys.stderr)
        return 1
    except (OSError, ValueError, ImportError) as error:
        print(f"check_export.py: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


def read_export(path: str) -> dict[str, str | int]:
    with open(path, encoding="utf-8") as file:
        export = json.load(file)
    if not isinstance(export, dict) or "format" in export or not export or \
            not all(isinstance(device, (str, int)) for device in export.values()):
        raise ValueError(f"{path}: not a map of names to devices; expected a file of `emplace export "
                         "--to tensorflow` or `--to huggingface`")
    return export


def some(names: Sequence[str]) -> str:
    rest = len(names) - MOST
    return ", ".join(map(repr, names[:MOST])) + (f" and {rest} more" if rest > 0 else "")


# --- PyTorch ----------------------------------------------------------------------------------


def check_torch(device_map: Mapping[str, str | int], document: Mapping[str, Any],
                options: argparse.Namespace) -> list[str]:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True):
        setup = torch_model(document["source"], options)
        check_cover(device_map, setup.module)
        where, main = dispatch(setup.module, device_map)
        run_step(setup, main)
    counts = collections.Counter(where.values())
    return [f"{len(device_map)} entries cover {len(where)} parameters and buffers, each once",
            *(f"  {device}: {count}" for device, count in sorted(counts.items())),
            "the forward pass runs with inputs moved at the entries only"]


def torch_model(source: Mapping[str, Any], options: argparse.Namespace) -> Any:
    from emplace.importers import ImportFailure
    from emplace.importers.torch import sources
    from emplace.importers.torch.models import MODELS

    given = {key: source[key] for key in ("batch", "seq") if key in source}
    try:
        if options.module is not None:
            return sources.build_own(options.module, options.function, given)
    except ImportFailure as error:
        raise OSError(error) from error
    for entry in MODELS.values():
        if entry.sentence == source.get("model"):
            return entry.build(**given)
    raise OSError(f"the graph was made of {source.get('model')!r}, which is not a model of "
                  "`emplace import --from torch --list`; name its file with --module")


def covers(key: str, name: str) -> bool:
    return not key or name == key or name.startswith(key + ".")


def check_cover(device_map: Mapping[str, str | int], module: Any) -> None:
    """Checks like accelerate's check_device_map, and also that keys do not overlap and each key names something."""
    names = list(module.state_dict())
    known = {path for path, _ in module.named_modules()}
    known.update(name for name, _ in [*module.named_parameters(), *module.named_buffers()])
    for wrong, what in (([key for key in device_map if key not in known],
                         "name neither a module nor a parameter of the model"),
                        ([name for name in names if not any(covers(k, name) for k in device_map)],
                         "are parameters that no entry covers")):
        if wrong:
            raise ExportError(f"{some(wrong)} {what}")
    for key in device_map:
        inside = [other for other in device_map if other != key and covers(key, other)]
        if inside:
            raise ExportError(f"{key!r} and {some(inside)} overlap")


def dispatch(module: Any, device_map: Mapping[str, str | int]) -> tuple[dict[str, str], str]:
    """Puts parameters and buffers on their devices and hooks on the entries' modules.

    Returns the device of each parameter and buffer by name (tied ones by each of their names), and
    the main device, which has the model's inputs and outputs: the first that is not a CPU.
    """
    stand_in = {device: f"cuda:{device}" if isinstance(device, int) else device
                for device in device_map.values()}
    modules = dict(module.named_modules())
    where: dict[str, str] = {}
    made: dict[Any, tuple[str, Any]] = {}  # tensor -> its name, the tensor on its device
    for path, owner in modules.items():
        for tensors in (owner._parameters, owner._buffers):
            for name, tensor in tensors.items():
                if tensor is None:
                    continue
                full = f"{path}.{name}" if path else name
                key = next((key for key in device_map if covers(key, full)), None)
                if key is None:
                    continue  # neither in the state_dict nor in an entry, so it stays on the device where it was made
                where[full] = device = stand_in[device_map[key]]
                first = made.setdefault(tensor, (full, move(tensor, device)))
                if where[first[0]] != device:
                    raise ExportError(f"{first[0]!r} on {where[first[0]]} and {full!r} on {device} "
                                      "are one tied weight")
                tensors[name] = first[1]
    for key, device in device_map.items():
        if key in modules:
            modules[key].register_forward_pre_hook(mover(stand_in[device]), with_kwargs=True)
    main = next((device for device in stand_in.values() if device != "cpu"), "cpu")
    module.register_forward_pre_hook(mover(main), with_kwargs=True, prepend=True)
    module.register_forward_hook(lambda _module, _args, output: moved(output, main))
    return where, main


def move(tensor: Any, device: str) -> Any:
    import torch

    there = torch.empty(tensor.shape, dtype=tensor.dtype, device=device)
    return (torch.nn.Parameter(there, tensor.requires_grad)
            if isinstance(tensor, torch.nn.Parameter) else there)


def moved(values: Any, device: str) -> Any:
    import torch
    from torch.utils import _pytree as pytree

    return pytree.tree_map(lambda v: v.to(device) if isinstance(v, torch.Tensor) else v, values)


def mover(device: str) -> Any:
    return lambda _module, args, kwargs: (moved(args, device), moved(kwargs, device))


def run_step(setup: Any, main: str) -> None:
    try:
        output = setup.module.train()(*setup.inputs)
        setup.loss_fn(output, *moved(tuple(setup.targets), main))
    except RuntimeError as error:
        first = str(error).strip().split("\n")[0]
        raise ExportError(f"the forward pass does not run with it: {first}") from error


# --- TensorFlow -------------------------------------------------------------------------------


def check_tensorflow(device_of: Mapping[str, str | int], document: Mapping[str, Any],
                     options: argparse.Namespace) -> list[str]:
    from emplace.importers import ImportFailure
    from emplace.importers.tensorflow import request

    try:
        asked = tensorflow_request(document["source"], options)
        _, _, step = request.build_step(asked.model, asked)
    except ImportFailure as error:
        raise OSError(error) from error
    names = [op["name"] for op in document["ops"]]
    built = {op.name for op in step.graph.get_operations()}
    for wrong, what in (([name for name in names if name not in device_of], "have no device"),
                        ([name for name in device_of if name not in built],
                         "are not ops of the model")):
        if wrong:
            raise ExportError(f"{some(wrong)} {what}")
    imported = import_with(step.graph.as_graph_def(), device_of)
    wrong = [name for name, device in device_of.items()
             if not same_device(imported.get_operation_by_name(name).device, str(device))]
    if wrong:
        raise ExportError(f"{some(wrong)} did not keep the device when imported")
    lines = [f"{len(device_of)} ops, each imported with its device"]
    if options.run:
        lines.append(run_tensorflow(step, device_of))
    return lines


def tensorflow_request(source: Mapping[str, Any], options: argparse.Namespace) -> Any:
    """Returns the arguments with which `emplace import --from tensorflow` makes the graph's step again."""
    from emplace.importers.tensorflow import request

    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    request.add_arguments(parser)
    parse = parser.parse_args
    if options.graphdef is not None:
        return parse([options.graphdef, "--loss", str(source.get("loss")),
                      "--train-op", str(source.get("train_op"))])
    what = [str(source.get("model"))]
    if options.module is not None:
        what = [options.module, "--function", options.function]
    for key in (*request.OPTIONS, *request.CHOICES):
        if key in source:
            what += [f"--{key}", str(0 if source[key] is None else source[key])]
    if "aux" in source:
        what.append("--aux" if source["aux"] else "--no-aux")
    return parse(what)


def import_with(definition: Any, device_of: Mapping[str, str | int]) -> Any:
    import tensorflow as tf

    for node in definition.node:
        if node.name in device_of:
            node.device = str(device_of[node.name])
    graph = tf.Graph()
    with graph.as_default():
        try:
            tf.compat.v1.import_graph_def(definition, name="")
        except ValueError as error:
            raise ExportError(f"TensorFlow does not import the model with it: {error}") from error
    return graph


def same_device(one: str, other: str) -> bool:
    """Returns whether `one` has all parts of `other` (a string may leave out job and task)."""
    return set(other.strip("/").split("/")) <= set(one.strip("/").split("/"))


def run_tensorflow(step: Any, device_of: Mapping[str, str | int]) -> str:
    """Executes the step on virtual CPUs, one for each device of the map."""
    import numpy as np
    import tensorflow as tf

    tf1 = tf.compat.v1
    devices = sorted(set(map(str, device_of.values())))
    prefix = "/job:localhost/replica:0/task:0/device:CPU:"
    virtual = {name: prefix + str(devices.index(str(device)))
               for name, device in device_of.items()}
    graph = import_with(step.graph.as_graph_def(), virtual)
    config = tf1.ConfigProto(allow_soft_placement=False, device_count={"CPU": len(devices)})
    config.graph_options.optimizer_options.opt_level = tf1.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    feeds = {op.outputs[0]: np.zeros(op.outputs[0].shape.as_list(),
                                     op.outputs[0].dtype.as_numpy_dtype)
             for op in graph.get_operations() if op.type == "Placeholder"}
    with step.graph.as_default():
        initializers = [variable.initializer.name for variable in tf1.global_variables()]
    record = tf1.RunMetadata()
    try:
        with tf1.Session(graph=graph, config=config) as session:
            session.run([graph.get_operation_by_name(name) for name in initializers])
            session.run([graph.get_operation_by_name(op.name) for op in step.fetches], feeds,
                        tf1.RunOptions(output_partition_graphs=True), record)
    except tf.errors.OpError as error:
        raise ExportError(f"the step does not run with it: {error.message}") from error
    ran = {node.name: node.device for part in record.partition_graphs for node in part.node
           if node.name in virtual}
    wrong = [name for name, device in ran.items() if device != virtual[name]]
    if wrong:
        raise ExportError(f"{some(wrong)} were run on another device")
    return f"{len(ran)} ops run on {len(devices)} virtual devices, each on its own"


if __name__ == "__main__":
    sys.exit(main())
