"""`emplace import MODEL`: a model of another framework as a graph file."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from typing import Callable, Sequence

from . import FORMATS, ImportFailure, find, format_of, graph_file, graph_name


def main(arguments: Sequence[str], prog: str = "emplace import") -> int:
    """Runs the command. Returns 0 on success, 1 if the file could not be written, 2 if the input is wrong."""
    return exit_code(prog, lambda: _run(list(arguments), prog))


def exit_code(prog: str, run: Callable[[], int], *refusals: type[Exception]) -> int:
    """Returns the exit code of `run`. An error becomes one sentence: OSError gives 1, a refusal of the input 2."""
    try:
        return run()
    except (ImportFailure, graph_file.GraphError, *refusals) as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # of unless_unread()
        raise
    except OSError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 1


def exit_code_with_compiled(prog: str, run: Callable[[], int], *refusals: type[Exception]) -> int:
    """Returns exit_code() of a command that needs the compiled module; 2 without the module."""
    try:
        from .. import _compiled

        refused: type[Exception] = _compiled().InputError
    except ImportError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    return exit_code(prog, run, refused, *refusals)


def unless_unread(run: Callable[[], int]) -> int:
    """Returns the exit code of `run`; 0, without a message, if the reader of stdout has ended, as `| head` does."""
    try:
        try:
            return run()
        finally:  # also if argparse exits
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes again at its end
        return 0


def require_folder(output: str) -> None:
    """Throws ImportFailure if the folder of -o is missing: it is reported before minutes of work, not after."""
    folder = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(folder):
        raise ImportFailure(f"-o {output}: there is no folder {folder!r}")


def _run(arguments: list[str], prog: str) -> int:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("model", nargs="?", metavar="MODEL", help="model to import; see the formats")
    common.add_argument("--from", dest="format", metavar="FORMAT", help="format of MODEL (default: by its name)")
    common.add_argument("-o", "--output", metavar="FILE",
                        help="graph file, .json or .json.gz (default: <name of MODEL>.json.gz); the graph "
                             "is named after it")
    common.add_argument("--quiet", action="store_true", help="print only errors on stderr")
    wants_help = any(argument in ("-h", "--help") for argument in arguments)
    rest = [argument for argument in arguments if argument not in ("-h", "--help")]
    known, _ = common.parse_known_args(rest)
    if known.format is None and (wants_help or known.model is None):
        _general_parser(common, prog).print_help(sys.stdout if wants_help else sys.stderr)
        return 0 if wants_help else 2
    format = find(known.format) if known.format else format_of(known.model)
    parser = argparse.ArgumentParser(prog=f"{prog} --from {format.name}", parents=[common],
                                     description=f"MODEL: {format.sentence}",
                                     epilog=getattr(format.module(), "EPILOG", None),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    format.module().add_arguments(parser.add_argument_group(f"of {format.name}"))
    options = parser.parse_args(arguments)  # exits here if help is requested
    output = options.output or f"{_stem(options.model)}.json.gz"
    require_folder(output)
    begin = time.monotonic()
    imported = format.module().read(options.model, options)
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always")
        imported.write(output)
    for warning in [*imported.warnings, *(str(doubt.message) for doubt in doubts)]:
        print(f"{prog}: warning: {warning}", file=sys.stderr)
    if not options.quiet:
        print(f"{output}: {os.path.getsize(output):,} bytes, {time.monotonic() - begin:.1f} s\n"
              f"{imported.report()}", file=sys.stderr)
    return 0


def _general_parser(common: argparse.ArgumentParser, prog: str) -> argparse.ArgumentParser:
    width = max((len(format.name) for format in FORMATS), default=0)
    formats = "\n".join(f"  {format.name:{width}}  {format.sentence}" for format in FORMATS)
    return argparse.ArgumentParser(
        prog=prog, parents=[common], formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Import a model of another framework as a graph file.",
        epilog=f"formats:\n{formats}\n\n{prog} --from FORMAT --help shows the options of one.\n\n"
               "exit codes: 0 done; 1 the file could not be written; 2 wrong input, or a package is missing")


def _stem(model: str | None) -> str:
    """Returns the name of the graph file of a model that was named without one."""
    name = os.path.basename((model or "graph").rstrip("/").split(":")[-1])
    return graph_name(name).split(".")[0] or "graph"
