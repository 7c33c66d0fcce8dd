#!/usr/bin/env python3
"""Fits the free figures of the papers' machines to their published steps; writes machines and page.

A paper leaves a few figures of its machine open, each with a plausible range. They are chosen so that the ratios of
steps on the CPU and by the expert to one GPU (to the CPU if one GPU is out of memory) match the published ratios, in
least squares of the logarithms. Scotch and MinCut are held out. The result of the paper's own method is a prediction.
The memory of a GPU is chosen separately, between the peaks that fit and those that must not. No random numbers are
used.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import sys
from typing import Sequence

from papers_machine.bench import Bench
from papers_machine.cells import read_cells
from papers_machine.fit import fit
from papers_machine.machine import MACHINES, read_figures, write_files
from papers_machine.page import learned_steps, replace_section, section

ROOT = pathlib.Path(__file__).resolve().parents[1]
EPILOG = """
Without options the tables of configs/papers/machines.md are printed, for the machines as they are in
configs/. Published numbers are those of configs/papers/.

exit codes: 0 done; 1 emplace failed; 2 the request is wrong.
"""


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [machine.name for machine in MACHINES]
    parser.add_argument("machines", nargs="*", metavar="MACHINE", help=f"machine of {', '.join(names)} (default: all)")
    parser.add_argument("--fit", action="store_true",
                        help="search for the figures again (minutes), and write device_kinds/ and clusters/")
    parser.add_argument("--page", action="store_true", help="rewrite papers/machines.md instead of printing")
    parser.add_argument("--results", metavar="DIR", type=pathlib.Path, default=ROOT / "results",
                        help="folder of sweeps, for our steps of the papers' methods (results/)")
    parser.add_argument("--configs", metavar="DIR", type=pathlib.Path, default=ROOT / "configs",
                        help="the configs folder (configs/)")
    parser.add_argument("--program", metavar="FILE",
                        default=os.environ.get("EMPLACE_PROGRAM", str(ROOT / "build/release/emplace")),
                        help="emplace ($EMPLACE_PROGRAM, else build/release/emplace)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    parser = make_parser()
    arguments = parser.parse_args(argv)
    known = {machine.name: machine for machine in MACHINES}
    for name in arguments.machines:
        if name not in known:
            parser.error(f"unknown machine {name!r} (the machines are: {', '.join(known)})")
    if not os.access(arguments.program, os.X_OK):
        parser.error(f"--program: {arguments.program!r} does not exist; build the target emplace")
    configs, page = arguments.configs, arguments.configs / "papers/machines.md"
    try:
        for machine in [known[name] for name in arguments.machines] or MACHINES:
            cells = read_cells(configs, machine)
            learned = learned_steps(arguments.program, configs, arguments.results, machine)
            with contextlib.closing(Bench(arguments.program, configs, machine)) as bench:
                if arguments.fit and machine.cpu:
                    write_files(configs, configs, machine, fit(bench, cells))
                text = section(bench, cells, read_figures(configs, machine), learned)
            if arguments.page:
                page.write_text(replace_section(page.read_text(), machine.name, text))
            else:
                print(f"{machine.sentence}\n\n{text}")
    except (RuntimeError, OSError, ValueError) as error:
        print(f"fit_papers_machine: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
