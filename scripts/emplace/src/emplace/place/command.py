"""`emplace place MODEL --cluster C --for TARGET`: from a model to a map in one command."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Sequence

from ..importers import FORMATS, Format, find, format_of, graph_file, graph_name, read_json
from ..importers.command import exit_code_with_compiled, require_folder
from . import plan_hint, targets
from .decide import decide
from .grain import PlaceFailure
from .report import as_json, table
from .target import Request, Target


def main(arguments: Sequence[str], prog: str = "emplace place") -> int:
    """Runs the command. Returns 0 on success; 1 if a file is not written; 2 if the input is wrong or nothing fits."""
    return exit_code_with_compiled(prog, lambda: _run(list(arguments), prog), PlaceFailure)


def _run(arguments: list[str], prog: str) -> int:
    common = _common(prog)
    wants_help = any(argument in ("-h", "--help") for argument in arguments)
    known, _ = common.parse_known_args([argument for argument in arguments if argument not in ("-h", "--help")])
    if known.model is None:
        _general(common, prog).print_help(sys.stdout if wants_help else sys.stderr)
        return 0 if wants_help else 2
    format = _format(known)
    parser = argparse.ArgumentParser(prog=prog, parents=[common], description=_DESCRIPTION,
                                     formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_epilog())
    if format is not None:
        format.module().add_arguments(parser.add_argument_group(f"options of the format {format.name}"))
    options = parser.parse_args(arguments)  # exits here if help is requested
    for name in ("cluster", "target"):
        if getattr(options, name) is None:
            raise PlaceFailure(f"{'--cluster' if name == 'cluster' else '--for'} is missing")
    kind = targets.find(options.target)
    objective = options.objective or kind.objectives[0]
    if objective not in kind.objectives:
        raise PlaceFailure(f"--objective {objective}: {kind.name} runs one step after another, so its only objective "
                           f"is {' or '.join(kind.objectives)}")
    stem = options.output or _stem(options.model)
    require_folder(stem)
    return _place(options, format, kind, objective, stem)


def _place(options: argparse.Namespace, format: Format | None, kind: type[Target], objective: str, stem: str) -> int:
    import emplace

    cluster = emplace.Cluster(options.cluster)
    document, told, module = _document(options, format, kind)
    _tell(options, told)
    target = kind(Request(document, options.model, cluster, options.costs, objective, options.memory_only,
                          options.seconds, options.seed, module))
    try:
        _tell(options, [_costs(options.costs, document, cluster), *target.notes])
        told_before = len(target.notes)
        decision = decide(target, stem)
        _tell(options, target.notes[told_before:])
        hint = plan_hint.find(target.request, cluster, decision.chosen.told.time)
        if isinstance(hint, str):
            _tell(options, [hint] if hint else [])
        if options.json:
            told_plan = hint.json() if isinstance(hint, plan_hint.Hint) else None
            print(json.dumps({**as_json(target, decision), "plan": told_plan}, indent=1))
        else:
            print(table(target, decision))
            if isinstance(hint, plan_hint.Hint):
                print(hint.sentence(options.cluster))
    finally:
        target.close()
    return 0


def _document(options: argparse.Namespace, format: Format | None, kind: type[Target]) -> tuple[Any, list[str], Any]:
    """Returns the graph's document, notes on its import, and a function that makes the PyTorch module."""
    if format is None:
        document = graph_file.read(options.model)
        errors = graph_file.check(document)
        if errors:
            raise PlaceFailure(f"{options.model}: {errors[0]}")
        return document, [graph_file.summary(document)], None
    told = []
    forward = getattr(options, "inference", None) is False and not (options.optimizer or options.loss)
    if kind.inference_first and forward:
        options.inference = True
        told.append(f"only the forward pass, because {kind.name} is for inference (--optimizer NAME: a training step)")
    imported = format.module().read(options.model, options)
    imported.document["name"] = graph_name(_stem(options.model))
    errors = graph_file.check(imported.document)
    if errors:
        raise PlaceFailure(f"{options.model}: {errors[0]}")
    module = None
    if format.name == "torch":
        from . import torch_module

        module = torch_module.maker(options.model, options)
    return imported.document, [*told, graph_file.summary(imported.document)], module


def _costs(table: str | None, document: dict[str, Any], cluster: Any) -> str:
    """Returns the source of the costs."""
    if table:
        return f"costs: measured, {table}; the model gives those that it does not have"
    kinds = set(cluster.device_kinds)
    measured = sum(bool(kinds & set(op.get("cost_ns", ()))) for op in document["ops"])
    if measured:
        return f"costs: measured in the graph for {measured} of {len(document['ops'])} ops, else modelled"
    return "costs: modelled (roofline), because no measured table is given (--costs TABLE)"


def _tell(options: argparse.Namespace, lines: Sequence[str]) -> None:
    if not options.quiet:
        for line in lines:
            print(line, file=sys.stderr)


def _format(known: argparse.Namespace) -> Format | None:
    """Returns the format; None: MODEL is a graph file of emplace. Throws ImportFailure."""
    if known.format:
        return find(known.format)
    if known.model.endswith((".json", ".json.gz")) and os.path.isfile(known.model):
        if read_json(known.model).get("format") == graph_file.FORMAT:
            return None
    return format_of(known.model, FORMATS)


def _common(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, add_help=False)
    parser.add_argument("model", nargs="?", metavar="MODEL",
                        help="a MODEL of `emplace import`, or a graph file that it wrote")
    parser.add_argument("--cluster", metavar="C", help="a name of `emplace list clusters`, or a file")
    parser.add_argument("--for", dest="target", metavar="TARGET", help="runtime of the model, see below")
    parser.add_argument("--from", dest="format", metavar="FORMAT", help="format of MODEL (default: by its name)")
    parser.add_argument("--costs", metavar="TABLE", help="measured costs: a name of `emplace list costs`, or a file")
    parser.add_argument("--objective", choices=("step_time", "period"),
                        help="one step, or the time between steps of a pipeline (default: the target's first)")
    parser.add_argument("--memory-only", action="store_true", help="write any placement that fits, whatever its time")
    parser.add_argument("--seconds", type=float, default=10.0, metavar="S", help="time of the search (default: 10)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the search (default: 0)")
    parser.add_argument("-o", "--output", metavar="STEM", help="names of the files without their endings (default: "
                                                               "MODEL's)")
    parser.add_argument("--json", action="store_true", help="print the table as JSON, times in ns and memory in bytes")
    parser.add_argument("--quiet", action="store_true", help="print only errors on stderr")
    return parser


def _general(common: argparse.ArgumentParser, prog: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=prog, parents=[common], description=_DESCRIPTION, epilog=_epilog(),
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


_DESCRIPTION = """\
Place a model on a cluster at the grain that a target can express, and write it for the target. For a training step on
several GPUs, a sentence says when a plan (`emplace plan`) would do more samples a second."""


def _epilog() -> str:
    width = max(map(len, targets.TARGETS))
    lines = "\n".join(f"  {name:{width}}  {targets.find(name).sentence}" for name in targets.TARGETS)
    return (f"targets:\n{lines}\n\nexit codes: 0 done, even if no placement is better than a default; 1 a file"
            " could not be written;\n2 wrong input, a package is missing, or nothing fits into memory")


def _stem(model: str) -> str:
    name = os.path.basename(model.rstrip("/").split(":")[-1])
    return graph_name(name).split(".")[0] or "model"
