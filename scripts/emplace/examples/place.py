"""Runs `emplace place` for each of its targets: from a model to a map, and to the target's own files.

    python3 place.py                     # all targets, into the folder "placed"
    python3 place.py transformers        # only this one
    python3 place.py --folder FOLDER --seconds 10 onnxruntime llama.cpp

It needs the package with `place` (pip install 'scripts/emplace[place]'). If onnxruntime is installed, it tries out its
files.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys

import emplace
from emplace import command_line

HERE = os.path.dirname(os.path.abspath(__file__))
LLAMA = os.path.join(HERE, "llama_small.json")  # 16 layers, 0.9 billion parameters, 1.9 GB in bf16
INFERENCE = ["--inference", "--seq", "256", "--dtype", "bf16"]
TRAINING = ["--seq", "256", "--dtype", "bf16", "--optimizer", "adamw"]


def two_gpus(path: str, gib: float) -> str:
    """Writes a cluster file: two A100 on PCI Express with so much memory each.

    The models above do not fit into one of them.
    """
    emplace.Cluster("2xa100_pcie").write(path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    room = emplace.Cluster("2xa100_pcie").memory[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(f"memory: {room}B", f"memory: {int(gib * 2**30)}B"))
    return path


def small_onnx(path: str) -> str:
    """Writes a small network of two towers; most users have their own file."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    nodes, weights = [], []
    for tower in ("left", "right"):
        source = "x"
        for layer in range(4):
            name = f"{tower}.{layer}"
            weights.append(numpy_helper.from_array(rng.normal(0, 0.02, (1024, 1024)).astype(np.float32), f"{name}.w"))
            nodes.append(helper.make_node("MatMul", [source, f"{name}.w"], [f"{name}.y"], name=f"{name}.matmul"))
            nodes.append(helper.make_node("Relu", [f"{name}.y"], [f"{name}.z"], name=f"{name}.relu"))
            source = f"{name}.z"
    nodes.append(helper.make_node("Add", ["left.3.z", "right.3.z"], ["out"], name="join"))
    graph = helper.make_graph(
        nodes, "towers", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8192, 1024])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [8192, 1024])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)
    return path


def commands(folder: str) -> dict[str, list[str]]:
    """Returns the command for each target, with its model and cluster."""
    tight, roomy = two_gpus(f"{folder}/two_gpus.yaml", 1.5), "2xa100_pcie"
    return {
        "transformers": [LLAMA, *INFERENCE, "--cluster", tight],
        "offload": [LLAMA, *INFERENCE, "--cluster", two_gpus(f"{folder}/two_small_gpus.yaml", 0.6)],
        "pytorch": [LLAMA, *TRAINING, "--cluster", two_gpus(f"{folder}/two_larger_gpus.yaml", 8)],
        "onnxruntime": ["MAKE_ONNX", "--cluster", roomy],
        "onnx": ["MAKE_ONNX", "--cluster", roomy],
        "tensorflow": [emplace.Graph("rnnlm").path, "--cluster", "2xk80"],
        "llama.cpp": [LLAMA, *INFERENCE, "--cluster", tight],
        "vllm": [LLAMA, *INFERENCE, "--cluster", roomy],
        "deepspeed": [LLAMA, *TRAINING, "--cluster", roomy],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument("--folder", default="placed", help="of what is written (default: placed)")
    parser.add_argument("--seconds", default="10", help="of each search (default: 10)")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    what = commands(options.folder)
    for target in options.targets or what:
        if target not in what:
            parser.error(f"no target {target!r}; choices: {', '.join(what)}")
        model, *rest = what[target]
        model = small_onnx(f"{options.folder}/towers.onnx") if model == "MAKE_ONNX" else model
        stem = f"{options.folder}/{target.replace('.', '_')}"
        command = ["place", model, "--for", target, *rest, "--seconds", options.seconds, "-o", stem]
        print("$ emplace", *map(shlex.quote, command), flush=True)
        code = command_line.main(command)  # in this process, which imports PyTorch once
        if code:
            return code
        print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
