"""`emplace benchmark`: the benchmark of device placement."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
from typing import Any, Callable, Sequence

from ..importers.command import exit_code_with_compiled
from .instances import TIERS, Instance, default_folder, instances
from .protocol_commands import add_commands

_EPILOG = """\
The instances are those of configs/benchmark/ (README.md there), or of --folder. `emplace benchmark COMMAND --help`
describes a command.

exit codes: 0 done; 1 a check failed, or stopped; 2 wrong input"""


_INSTANCES = ("names", "INSTANCE", "names or patterns (default: all)")


def main(arguments: Sequence[str], prog: str = "emplace benchmark") -> int:
    """Runs the command. Returns 0 on success; 1 if a check fails or the work is stopped; 2 if the input is wrong."""
    options = _parser(prog).parse_args(arguments)
    sys.path.insert(0, os.getcwd())  # for agents written in Python in this folder
    try:
        return exit_code_with_compiled(prog, lambda: options.does(options))
    except ImportError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{prog}: stopped; finished parts are kept", file=sys.stderr)
        return 1


def _chosen(options: argparse.Namespace) -> list[Instance]:
    """Returns the instances of --tier and of the patterns. Throws InputError if a pattern matches none."""
    from .. import InputError

    every = instances(options.tier, options.folder)
    if not options.names:
        return every
    for pattern in options.names:
        if not fnmatch.filter([one.name for one in every], pattern):
            raise InputError(f"{pattern}: matches no instance; `emplace benchmark list` shows them")
    return [one for one in every if any(fnmatch.fnmatchcase(one.name, pattern) for pattern in options.names)]


def _list(options: argparse.Namespace) -> int:
    chosen = _chosen(options)
    if options.json:
        print(json.dumps([_record(one) for one in chosen], indent=1))
        return 0
    rows = [["instance", "tier", "ops", "groups", "devices", "semantics", "best [ms]", "bound [ms]", "gap", "order",
             "by"]]
    for one in chosen:
        size = one.features
        rows.append([one.name, one.tier, str(size["num_ops"]), str(size["num_groups"]), str(size["num_devices"]),
                     one.semantics if one.objective == "step_time" else one.objective,
                     "-" if one.best is None else f"{one.best.value / 1e6:.6g}",
                     "-" if one.bound is None else f"{one.bound.value / 1e6:.6g}",
                     "-" if one.gap is None else f"{one.gap:.2%}",
                     "-" if one.order_gap is None else f"{one.order_gap:.2%}", "-" if one.best is None else one.best.by])
    print(table(rows, left=(0, 1, 5, 10)))
    return 0


def _record(one: Instance) -> dict[str, Any]:
    return {"name": one.name, "tier": one.tier, "about": one.about, "source": one.source, "machine": one.machine,
            "licence": one.licence, "file": str(one.path), "semantics": one.semantics, "objective": one.objective,
            "features": one.features,
            "best_ns": None if one.best is None else one.best.value, "found_by": None if one.best is None else one.best.by,
            "bound_ns": None if one.bound is None else one.bound.value,
            "proved_by": None if one.bound is None else one.bound.method, "gap": one.gap,
            "best_in_any_order_ns": None if one.best is None else one.best.any_order, "order_gap": one.order_gap}


def _check(options: argparse.Namespace) -> int:
    from .check import check

    failed, again, chosen = 0, 0, _chosen(options)
    for found in check(chosen, slow=options.slow):
        failed += bool(found.errors)
        again += found.proof == "proved again"
        print(f"{found.name}: {'FAILED' if found.errors else 'ok'}; bound {found.proof}", flush=True)
        for error in found.errors:
            print(f"  {error}")
    print(f"{len(chosen) - failed} of {len(chosen)} instances hold; {again} bounds proved again")
    return 1 if failed else 0


def _make(options: argparse.Namespace) -> int:
    from .recipes import make

    for name in make(options.folder or default_folder(), options.names):
        print(f"made {name}")
    return 0


def _improve(options: argparse.Namespace) -> int:
    from .improve import improve

    improve(options.folder or default_folder(), _chosen(options), seconds=options.seconds, proof=options.proof,
            agents=options.agent, rounds=options.rounds)
    return 0


def table(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Returns rows as aligned columns; those of `left` are flush left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) if i in left else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EPILOG,
                                     description="The benchmark of device placement: instances with best known placements "
                                                 "and proven bounds.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, does: Callable[[argparse.Namespace], int], sentence: str,
            arguments: tuple[str, str, str] | None = _INSTANCES, common: Sequence[str] = ("folder", "tier", "instances")
            ) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=sentence, description=sentence)
        command.set_defaults(does=does)
        if arguments is not None:
            dest, metavar, text = arguments
            command.add_argument(dest, nargs="*" if arguments is _INSTANCES else "+", metavar=metavar, help=text)
        if "folder" in common:
            command.add_argument("--folder", metavar="DIR", help="folder of the benchmark (default: configs/benchmark)")
        if "tier" in common:
            command.add_argument("--tier", choices=TIERS, help="only instances of this tier")
        if "instances" in common and arguments is not _INSTANCES:
            command.add_argument("--instances", dest="names", action="append", default=[], metavar="PATTERN",
                                 help="only instances whose names match; again for more")
        return command

    command = add("list", _list, "List the instances with best known values and bounds")
    command.add_argument("--json", action="store_true", help="print everything as JSON, times in ns")
    command = add("check", _check, "Check files, placements (by the plain reference simulator) and bounds")
    command.add_argument("--slow", action="store_true", help="also repeat proofs that take more than 10 s")
    add("make", _make, "Make the files of new instances in instances.yaml, or of those named")
    command = add("improve", _improve, "Search for better placements and prove better bounds")
    command.add_argument("--seconds", type=float, default=120, help="time of each search (default: 120) [s]")
    command.add_argument("--proof", type=float, default=300, help="time of each proof (default: 300) [s]")
    command.add_argument("--agent", action="append", default=[], metavar="NAME", help="instead of the three best ones")
    command.add_argument("--rounds", type=int, default=1, help="times through all instances (default: 1)")
    add_commands(add, _chosen, table)
    return parser
