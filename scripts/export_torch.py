#!/usr/bin/env python3
"""Exports one training step of a PyTorch model as an emplace graph.

Forward, loss and backward are captured under fake tensors, which have shapes but no elements: no
accelerator, memory or data are needed. By default the aten ops are those of AOTAutograd's joint
graph; the optimiser's update follows. Views and state that is written alias what they share memory
with.

`python3 scripts/export_torch.py --help` describes the options and shows a model of one's own.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import inspect
import os
import sys
import traceback
from typing import Any, Callable, Sequence

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "emplace", "src"))

from emplace.importers import graph_file  # noqa: E402
from emplace.importers.torch.models import MODELS, TrainingSetup  # noqa: E402

OPTIMIZER_NAMES = ("sgd", "momentum", "adam", "adamw")
DTYPE_NAMES = ("f32", "bf16", "f16")
CAPTURE_NAMES = ("aot", "eager")  # the default first
REQUIREMENTS = "scripts/requirements-torch.txt"
EPILOG = """\
a model of your own:
  --module FILE --function NAME names a function that returns (module, inputs, targets, loss_fn);
  the step computes  loss_fn(module(*inputs), *targets),  which must be a scalar. Without targets,
  return (module, inputs, loss_fn). The function is called under fake tensors, so torch.empty does
  for data. It may take batch and seq, which --batch and --seq then set.

    # my_model.py
    import torch
    from torch import nn

    def build(batch=64):
        module = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
        images = torch.empty(batch, 784)
        labels = torch.empty(batch, dtype=torch.int64)
        return module, (images,), (labels,), nn.functional.cross_entropy

    export_torch.py --module my_model.py --function build --optimizer adamw -o my_model.json.gz

the two captures:
  aot        for the graph that compilers and partitioners start from: AOTAutograd's joint forward
             and backward graph, functional, without ops whose result nobody reads.
  eager      for what PyTorch launches without a compiler, op by op, and for what the joint graph
             cannot show: in-place ops stay in place (activations take less memory), checkpointed
             parts are computed again, and an LSTM or GRU keeps its own dropout between layers.

what is in the graph:
  kinds      the aten names (aten.convolution); an op written in place has its plain name
             (aten.relu, not aten.relu_) and an output that aliases its input; dropout is
             aten.native_dropout; the update is one op a parameter, optimizer.sgd and so on
  names      module path / op: Mixed_5b.branch1x1.conv/convolution, and for the backward pass
             Mixed_5b.branch1x1.conv/backward/convolution_backward; attributes.module has the path,
             attributes.forward_op of a backward op names the forward op it belongs to
  order      a control input where an op must wait for memory to be read or written
  co-located a parameter, its optimiser state and its update; running statistics and their writer
  flops      by torch.utils.flop_counter, 2 for a multiply-add; ops it does not know count 0 and are
             listed at the end

exit codes: 0 done; 1 the file could not be written; 2 wrong input, or a package is missing
"""


class UserError(Exception):
    """Something that the user can put right; the message says what and how."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    options = _parser().parse_args(arguments)
    if options.list:
        width = max(map(len, MODELS))
        print("\n".join(f"{name:{width}}  {MODELS[name].sentence}" for name in sorted(MODELS)))
        return 0
    try:
        name, build, settings, packages = _choose(options)
        _require(packages)
        path = options.output or f"{name}.json.gz"
        stem = os.path.basename(path).removesuffix(".gz").removesuffix(".json")
        document, unknown, unused = _export(stem or name, build, settings)
    except UserError as error:
        print(f"export_torch.py: {error}", file=sys.stderr)
        return 2
    try:
        graph_file.write(document, path)
    except OSError as error:
        print(f"export_torch.py: cannot write {path}: {error.strerror or error}", file=sys.stderr)
        return 1
    print(f"{path}: {os.path.getsize(path):,} bytes\n{graph_file.summary(document)}",
          file=sys.stderr)
    _report(unknown, unused)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="export_torch.py", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Export one training step of a PyTorch model as an emplace graph.")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a name that --list shows")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="graph file, .json or .json.gz (default: <name>.json.gz); the graph is "
                             "named after it")
    parser.add_argument("--batch", type=_positive, metavar="N", help="samples in a step")
    parser.add_argument("--seq", type=_positive, metavar="N", help="tokens in a sample")
    parser.add_argument("--optimizer", choices=OPTIMIZER_NAMES,
                        help="default: momentum for image models and your own, else adamw")
    parser.add_argument("--dtype", choices=DTYPE_NAMES,
                        help="of parameters and floating-point inputs (default: as the model "
                             "makes them; f32 for those of --list)")
    parser.add_argument("--capture", choices=CAPTURE_NAMES, default=CAPTURE_NAMES[0],
                        help="aot: AOTAutograd's joint graph; eager: the ops that eager PyTorch "
                             "launches (default: %(default)s)")
    parser.add_argument("--module", metavar="FILE", help="Python file with a model of your own")
    parser.add_argument("--function", metavar="NAME", default="build",
                        help="function in that file which makes it (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print the models and stop")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _choose(options: argparse.Namespace) -> tuple[str, Callable[[], TrainingSetup],
                                                  dict[str, Any], tuple[str, ...]]:
    """Graph name, function that builds the model, settings for `source`, packages needed."""
    given = {key: value for key, value in (("batch", options.batch), ("seq", options.seq))
             if value is not None}
    if options.module is not None:
        if options.model is not None:
            raise UserError(f"give either a model ({options.model}) or --module, not both")
        name = os.path.splitext(os.path.basename(options.module))[0]
        settings = {"model": f"{os.path.basename(options.module)}:{options.function}", **given,
                    "optimizer": options.optimizer or "momentum", "capture": options.capture}
        if options.dtype is not None:
            settings["dtype"] = options.dtype
        return (name, lambda: _build_own(options.module, options.function, given), settings,
                ("torch",))
    if options.model is None:
        raise UserError("which model? Give a name that --list shows, or --module FILE")
    if options.model not in MODELS:
        close = difflib.get_close_matches(options.model, MODELS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UserError(f"there is no model {options.model!r}{hint} "
                        f"(choices: {', '.join(sorted(MODELS))}; or --module FILE)")
    entry = MODELS[options.model]
    if entry.seq is None and options.seq is not None:
        raise UserError(f"{options.model} has no sequence, so --seq does not apply")
    if entry.max_seq is not None and (options.seq or 0) > entry.max_seq:
        raise UserError(f"{options.model} has {entry.max_seq} positions, so --seq {options.seq} is "
                        "too long")
    chosen = {"batch": entry.batch, **({"seq": entry.seq} if entry.seq else {}), **given}
    settings = {"model": entry.sentence, **chosen,
                "optimizer": options.optimizer or entry.optimizer,
                "dtype": options.dtype or "f32", "capture": options.capture}
    return f"{options.model}_torch", lambda: entry.build(**chosen), settings, entry.packages


def _require(packages: Sequence[str]) -> None:
    for package in packages:
        try:
            importlib.import_module(package)
        except ModuleNotFoundError as error:
            raise UserError(f"the Python package {error.name!r} is missing; install it with: "
                            f"{sys.executable} -m pip install -r {REQUIREMENTS}") from error
        except ImportError as error:
            raise UserError(f"the Python package {package!r} is there but does not load "
                            f"({error}); install it with what it needs by: "
                            f"{sys.executable} -m pip install -r {REQUIREMENTS}") from error


def _build_own(path: str, function: str, given: dict[str, int]) -> TrainingSetup:
    """Calls `function` of the file at `path` with those of batch and seq that were given."""
    spec = importlib.util.spec_from_file_location("emplace_user_model", path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise UserError(f"--module {path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    build = getattr(module, function, None)
    if not callable(build):
        close = difflib.get_close_matches(function, dir(module), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UserError(f"{path} has no function {function!r}{hint}")
    for key in given:
        if key not in inspect.signature(build).parameters:
            raise UserError(f"--{key}: {function}() in {path} takes no argument {key!r}")
    made = build(**given)
    if not isinstance(made, (tuple, list)) or len(made) not in (3, 4):
        raise UserError(f"{function}() in {path} must return (module, inputs, targets, loss_fn) "
                        f"or (module, inputs, loss_fn), got {type(made).__name__}")
    targets = _as_tuple(made[2]) if len(made) == 4 else ()
    return TrainingSetup(made[0], _as_tuple(made[1]), targets, made[-1])


def _as_tuple(tensors: Any) -> tuple[Any, ...]:
    return tuple(tensors) if isinstance(tensors, (tuple, list)) else (tensors,)


def _export(name: str, build: Callable[[], TrainingSetup], settings: dict[str, Any]
            ) -> tuple[dict[str, Any], list[tuple[str, int, int]], list[str]]:
    """The graph's document, the kinds without known FLOP, the parameters without gradient."""
    import torch
    from emplace.importers.torch import graph, notes, step

    version = torch.__version__.split("+")[0]
    source = {"framework": f"torch {version}", **settings, "exporter": "emplace export_torch.py"}
    taken = notes.StepNotes()
    try:
        unused = step.record(build, settings["capture"], settings["optimizer"],
                             settings.get("dtype"), taken)
    except UserError:
        raise
    except step.StepError as error:
        raise UserError(f"{name}: {error}") from error
    except Exception as error:  # whatever the model's code may throw
        raise UserError(_explain(name, error, taken.failed_in, settings["capture"])) from error
    document = graph.make_graph(name, source, taken).document()
    return document, graph.without_flops(taken), unused


def _explain(name: str, error: Exception, module: str | None, capture: str) -> str:
    """What failed, where in the model, and why an op graph cannot have it."""
    from torch._subclasses import fake_tensor

    where = _place(error)
    if module not in (None, "model"):
        where += " in the loss" if module == "loss" else f" in module {module!r}"
    first = str(error).strip().split("\n")[0]
    if isinstance(error, fake_tensor.DataDependentOutputException):
        return (f"{name}: data-dependent control flow{where}: {error.func} reads a tensor's value "
                "in Python (`if tensor`, `.item()`, `int(tensor)`), but a graph has the same ops "
                "for all data; use torch.where, or make it a constant")
    if isinstance(error, fake_tensor.DynamicOutputShapeException):
        return (f"{name}: data-dependent shape{where}: the size of what {error.func} returns "
                "depends on the data, but a graph has fixed shapes; use a mask or torch.where")
    if isinstance(error, fake_tensor.UnsupportedOperatorException):
        return (f"{name}: {first}{where}: PyTorch knows no shape rule (fake kernel) for this op; "
                "register one with torch.library.register_fake")
    hint = "" if where or capture == "eager" else "; --capture eager does without AOTAutograd"
    return f"{name}: {type(error).__name__}{where}: {first}{hint}"


def _place(error: Exception) -> str:
    """` at FILE:LINE (code)` of the last call outside PyTorch and this exporter, or nothing."""
    import torch

    here = os.path.abspath(__file__)
    skipped = (os.path.dirname(torch.__file__) + os.sep,
               os.path.dirname(graph_file.__file__) + os.sep, here, "<")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith(skipped)]
    if not frames:
        return ""
    line = f" ({frames[-1].line})" if frames[-1].line else ""
    return f" at {frames[-1].filename}:{frames[-1].lineno}{line}"


def _report(unknown: list[tuple[str, int, int]], unused: list[str]) -> None:
    if unused:
        print(f"no gradient, so no update ({len(unused)}): {', '.join(unused[:10])}"
              f"{', ...' if len(unused) > 10 else ''}", file=sys.stderr)
    if unknown:
        print("counted by bytes alone, 0 FLOP (kind, ops, bytes moved):", file=sys.stderr)
        for kind, count, moved in unknown:
            print(f"  {kind:44} {count:6,} {moved:18,}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
