"""`emplace costs TRACE... --graph GRAPH`: traces of the user's own steps as a cost file."""

from __future__ import annotations

import argparse
import json
import shlex
from typing import Sequence

from ..importers.command import exit_code_with_compiled, require_folder

_EPILOG = """\
TRACE is
  a trace of torch.profiler, .json or .json.gz, best of several steps and with shapes:
      schedule = torch.profiler.schedule(wait=1, warmup=2, active=10)
      with torch.profiler.profile(schedule=schedule, record_shapes=True) as profiler:
          for batch in batches:
              step(batch)
              profiler.step()
      profiler.export_chrome_trace("trace.json.gz")
  a database of Nsight Systems, nsys export --type sqlite, recorded with --trace=cuda,nvtx and the
      steps inside of torch.autograd.profiler.emit_nvtx(record_shapes=True)

GRAPH is of the same model with the same batch, shapes and dtype, as `emplace import` writes it.
An op's time is that of its kernels if the trace has any, else that of the operator on the CPU. Ops are matched by
kind, sizes and order; the report gives the matched share of the time and the unmatched calls.

exit codes: 0 done; 1 the file could not be written; 2 wrong input, or less than half of the traced time
is in ops of the graph"""


def main(arguments: Sequence[str], prog: str = "emplace costs") -> int:
    """Runs the command. Returns 0 on success; 1 if the file could not be written; 2 if the input is wrong."""
    options = _parser(prog).parse_args(arguments)
    return exit_code_with_compiled(prog, lambda: _run(options, f"{prog} {shlex.join(arguments)}"))


def _run(options: argparse.Namespace, command: str) -> int:
    from .build import costs_from_trace

    require_folder(options.output)
    costs = costs_from_trace(options.traces, options.graph, options.device_kind or (), command=command)
    costs.write(options.output)
    if options.json:
        print(json.dumps(costs.json(), indent=1))
    elif not options.quiet:
        print(costs.report())
    return 0


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EPILOG,
                                     description="Make costs of a graph's ops from traces of steps of the same model.")
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="see below")
    parser.add_argument("--graph", required=True, metavar="GRAPH", help="a name of `emplace list graphs`, or a file")
    parser.add_argument("--device-kind", action="append", metavar="NAME",
                        help="device kind of the traced device, once for all traces or once for each; required if the "
                             "trace has no GPU (default: the GPU's name in small letters)")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="cost file, .json or .json.gz")
    parser.add_argument("--json", action="store_true", help="print the report as JSON, times in ns")
    parser.add_argument("--quiet", action="store_true", help="no report")
    return parser
