"""The package's command `emplace`: the C++ program's commands, and in addition benchmark, costs, import, place and
tune."""

from __future__ import annotations

import os
import signal
import sys
from typing import Sequence

import emplace

from .importers import command as import_command
from .place import command as place_command
from .trace_costs import command as costs_command


def benchmark(arguments: Sequence[str]) -> int:
    """Runs `emplace benchmark`, which needs NumPy, as `emplace tune` does."""
    from .benchmark import command
    return command.main(arguments)


def tune(arguments: Sequence[str]) -> int:
    """Runs `emplace tune`."""
    from .tuning import command
    return command.main(arguments)


COMMANDS = {"benchmark": benchmark, "costs": costs_command.main, "import": import_command.main,
            "place": place_command.main, "tune": tune}  # the commands that the C++ program does not have
SENTENCES = {"benchmark": "List, check, run and score the benchmark of device placement",
             "costs": "Make measured costs of a graph from traces of your own steps (PyTorch's profiler, Nsight "
                      "Systems)",
             "import": "Import a model of another framework as a graph file (PyTorch, ONNX, JAX, Keras, traces)",
             "place": "Place a model and write a map for transformers, PyTorch, ONNX Runtime, TensorFlow, llama.cpp "
                      "and others",
             "tune": "Tune the settings of an agent, at random or by TPE with pruning (Optuna)"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line without the program's name; returns its exit code."""
    return import_command.unless_unread(lambda: _run(list(sys.argv[1:] if arguments is None else arguments)))


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["help"] and arguments[1:2] and arguments[1] in COMMANDS:
        arguments = [arguments[1], "--help"]
    if arguments and arguments[0] in COMMANDS:
        return COMMANDS[arguments[0]](arguments[1:])
    try:
        compiled = emplace._compiled()
    except ImportError as error:
        print(f"emplace: {error}", file=sys.stderr)
        return 2
    sys.path.insert(0, os.getcwd())  # for agents written in Python in this folder
    ignored = signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores
    try:
        code: int = compiled.run_program(["emplace", *arguments])
    finally:
        signal.signal(signal.SIGPIPE, ignored)
    if code == 0 and arguments in ([], ["-h"], ["--help"], ["help"]):
        print("\nOf the Python package:")
        for name, sentence in SENTENCES.items():
            print(f"  {name:28}{sentence}")
        print("$EMPLACE_LEVEL is the level of processors (x86-64, x86-64-v3, x86-64-v4) whose compiled module is loaded;\n"
              "default: the best of this one.")
    return code
