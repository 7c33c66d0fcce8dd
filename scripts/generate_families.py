#!/usr/bin/env python3
"""Generates the families of graphs for Placeto's generalisation experiment (NeurIPS 2019)."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time
from typing import Any, Sequence

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "emplace" / "src"))

from emplace.importers import ImportFailure, graph_file  # noqa: E402
from emplace.importers.tensorflow import load_tensorflow  # noqa: E402
from families import FAMILIES, GRAPHS, Architecture, Family, draw, files, graph_name

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "configs"
PROGRAM = ROOT / "build" / "release" / "emplace"
EXPORTER = "scripts/generate_families.py"
EPILOG = f"""
the families
  {{families}}

It writes, below the folder of --output,
  graphs/families/NAME/00.json.gz ..  training steps: forward, gradients, update, op by op
  graphs/families/SHA256SUMS          of the existing graphs
  families/NAME.yaml                  the split into training and test graphs
An existing graph that is valid and of the same draw is kept. A drawn network depends on
family, seed and number only, the bytes of its file on those and the version of TensorFlow.

examples
  .venv-tf/bin/python scripts/generate_families.py                      # {GRAPHS} of each family
  .venv-tf/bin/python scripts/generate_families.py --output ../again  # again, in another folder
  python3 scripts/generate_families.py --output ../again --check      # compare the bytes
  python3 scripts/generate_families.py --family ptb --only 3 --list     # print the draws

exit codes: 0 done; 1 a file could not be written, or --check found a difference; 2 the request is
wrong.
"""


class UsageError(Exception):
    """The request is wrong: exit code 2."""


def make_parser() -> argparse.ArgumentParser:
    families = "\n  ".join(f"{family.name:9}{family.sentence}" for family in FAMILIES.values())
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG.format(families=families),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=FAMILIES, action="append",
                        help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of every draw (0)")
    parser.add_argument("--count", type=int, default=GRAPHS, metavar="N",
                        help=f"number of graphs in a family ({GRAPHS})")
    parser.add_argument("--only", type=int, action="append", metavar="N",
                        help="only the graph of this number, from 0; may be repeated")
    parser.add_argument("--output", type=pathlib.Path, default=CONFIGS, metavar="FOLDER",
                        help="a configs folder (that of the source tree)")
    parser.add_argument("--force", action="store_true", help="make existing graphs again")
    parser.add_argument("--list", action="store_true", help="print the draws; make nothing")
    parser.add_argument("--check", action="store_true",
                        help="compare the graphs with configs/graphs/families/SHA256SUMS; make "
                             "nothing")
    parser.add_argument("--table", action="store_true",
                        help="simulate the graphs and write the table of "
                             "graphs/families/README.md; make no graph")
    parser.add_argument("--emplace", type=pathlib.Path, default=PROGRAM, metavar="PROGRAM",
                        help="with --table: the program (build/release/emplace)")
    return parser


def check_arguments(arguments: argparse.Namespace) -> tuple[list[Family], list[int]]:
    """Returns the families and the numbers of the requested graphs."""
    if arguments.count < 2:
        raise UsageError(f"--count is {arguments.count}, expected at least 2, one training graph and one test graph")
    for index in arguments.only or []:
        if not 0 <= index < arguments.count:
            raise UsageError(f"--only is {index}, expected a number from 0 to "
                             f"{arguments.count - 1} (--count {arguments.count})")
    if sum((arguments.list, arguments.check, arguments.table)) > 1:
        raise UsageError("give one of --list, --check and --table")
    families = [family for family in FAMILIES.values()
                if not arguments.family or family.name in arguments.family]
    return families, sorted(set(arguments.only or range(arguments.count)))


def drawn(arguments: argparse.Namespace, families: list[Family],
          indices: list[int]) -> list[tuple[Family, int, Architecture]]:
    """Yields the requested graphs: (family, number, architecture)."""
    return [(family, index, architecture) for family in families
            for index, architecture in enumerate(draw(family, arguments.seed, arguments.count))
            if index in indices]


def provenance(family: Family, seed: int, index: int) -> dict[str, Any]:
    return {"exporter": EXPORTER, "model": family.name, "seed": seed, "index": index,
            **{key: value for key, value in family.training_step.items() if value is not None}}


def is_there(path: pathlib.Path, expected: dict[str, Any], force: bool) -> bool:
    """Returns whether `path` holds a valid graph with `expected` in its source; otherwise it must be made.

    Throws UsageError if it holds a graph of another draw and `force` is not given.
    """
    if force or not path.exists():
        return False
    try:
        document = graph_file.read(path)
        valid = graph_file.check(document) == []
    except (OSError, EOFError, ValueError):
        valid = False
    if not valid:  # incomplete or damaged
        return False
    source = document.get("source", {})
    for key, value in expected.items():
        if source.get(key) != value:
            raise UsageError(f"{path} holds another network: {key} is {source.get(key)!r}, "
                             f"expected {value!r}; --force replaces it")
    return True


def generate(arguments: argparse.Namespace, families: list[Family], indices: list[int]) -> None:
    begin, made = time.monotonic(), 0
    wanted = drawn(arguments, families, indices)
    total = len(wanted)
    for number, (family, index, architecture) in enumerate(wanted, 1):
        path = files.graph_path(arguments.output, family, index)
        source = provenance(family, arguments.seed, index)
        state = "kept"
        if not is_there(path, {**source, **architecture}, arguments.force):
            load_tensorflow()  # a missing package is reported before folders are made
            from families.export import graph_document
            path.parent.mkdir(parents=True, exist_ok=True)
            document = graph_document(family, architecture, f"{family.name}_{graph_name(index)}",
                                      source)
            graph_file.write(document, path)
            made += 1
            state = f"{len(document['ops']):,} ops, {path.stat().st_size / 1e3:.0f} kB"
        print(f"[{number}/{total}] {path}: {state} ({time.monotonic() - begin:.0f} s)",
              file=sys.stderr, flush=True)
    for family in families:
        files.write_split(arguments.output, family, arguments.seed, arguments.count)
    files.write_checksums(arguments.output)
    print(f"{made} graphs made, {total - made} kept; {files.sums_file(arguments.output)}")


def show(arguments: argparse.Namespace, families: list[Family], indices: list[int]) -> None:
    for family, index, architecture in drawn(arguments, families, indices):
        print(f"{family.name}/{graph_name(index)} {json.dumps(architecture)}")


def check(arguments: argparse.Namespace, families: list[Family], indices: list[int]) -> bool:
    """Prints the differences; returns whether there are none."""
    sums = files.sums_file(CONFIGS)
    wanted = [f"{family.name}/{graph_name(index)}.json.gz"
              for family in families for index in indices]
    problems = files.differences(arguments.output, files.read_checksums(sums), wanted)
    for problem in problems:
        print(problem)
    print(f"{len(wanted) - len(problems)} of {len(wanted)} graphs below {arguments.output} are as "
          f"in {sums}")
    return not problems


def write_table(arguments: argparse.Namespace, families: list[Family], indices: list[int]) -> None:
    if len(families) * len(indices) != len(FAMILIES) * arguments.count:
        raise UsageError("--table applies to all graphs; leave out --family and --only")
    if not arguments.emplace.is_file():
        raise UsageError(f"--emplace: program {str(arguments.emplace)!r} does not exist; build it "
                         f"with: cmake --build build/release --target emplace")
    readme = arguments.output / files.GRAPHS_FOLDER / "README.md"
    text = readme.read_text()
    rows = []
    for family in families:
        for index in indices:
            rows.append(files.table_row(arguments.emplace, arguments.output, family,
                                        arguments.seed, arguments.count, index))
            print(rows[-1], end="", file=sys.stderr, flush=True)
    readme.write_text(files.replace_table(text, rows))


def main(argv: Sequence[str] | None = None) -> int:
    arguments = make_parser().parse_args(argv)
    try:
        families, indices = check_arguments(arguments)
        if arguments.list:
            show(arguments, families, indices)
        elif arguments.check:
            return 0 if check(arguments, families, indices) else 1
        elif arguments.table:
            write_table(arguments, families, indices)
        else:
            generate(arguments, families, indices)
    except (UsageError, ImportFailure, files.FileError) as error:
        print(f"generate_families: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"generate_families: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
