"""`python3 -m emplace.published SOURCE DIR`: simulations beside published measurements."""

from __future__ import annotations

import argparse
import fnmatch
import json
import pathlib
from typing import Any, Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..importers.command import exit_code_with_compiled, require_folder
from ..importers.graph_file import write_bytes
from . import classes, models, neusight, neusight_plans, sailor, sailor_plans
from .figures import (DATA_SHEET, FASTEST, FITTED, OPS, OTHERS, RANGES, REPLAY, RING, Compared, choice_report, choices, report,
                      spelt)
from .tables import LeftOut, LinkCase, OpCase, PublishedFailure

_STEPS, _TRACES, _SAILOR = "neusight-steps", "traces", "sailor-ops"
_NEUSIGHT_PLANS, _SAILOR_PLANS = "neusight-plans", "sailor-plans"
_OPS: dict[str, Callable[[pathlib.Path], tuple[Sequence[OpCase | LinkCase], list[LeftOut]]]] = {
    "neusight-ops": neusight.ops, _SAILOR: sailor.ops}
_EPILOG = """\
SOURCE is
  neusight-ops    op times of NeuSight (dataset/FOLDER/linear.csv, bmm.csv, vec.csv), forward, f32
  neusight-steps  steps of NeuSight (label/GPU/MODEL-MODE-SEQ-BATCH.json, .csv); the graph has the one layer of
                  the table num_layer times; in training, backward ops follow. With --graphs FOLDER it is the file
                  FOLDER/MODEL-MODE-SEQ-BATCH.json.gz, and no table is read
  traces          traces of PyTorch's profiler; their last step, with the host as a device (emplace import --host)
  sailor-ops      op times of Sailor (GPU/profiled-data-fp32/*.csv) at tensor-parallel degree 1, collectives (prim_*)
                  and transfers over links (p2p_*) by size
  neusight-plans  executed plans of NeuSight (label/GPU/MODEL-train-SEQ-BATCH-PLAN.json; PLAN: dpN, tpN, ppN_M)
  sailor-plans    executed plans of Sailor (validation/MACHINE/**/plan_config_*.json) by the tables of sailor-ops. Two
                  plans of each machine with at least four are fitted and left out. `real` and `max_mem` of the others
                  are only compared, `red_grads` is not read. Also the memory: memory_measured, memory_simulated [B]

HOW a time is simulated:
  ops         by the published times of the step's own ops, less their launch (neusight-steps; its default without
              --graphs)
  replay      by the times of the step's own host and kernels (traces; its default)
  others      by its own kernels, and the host's time per call in the other traces of the same GPU (traces)
  fitted      ops: by a fit to other published ops of the same GPU, which never sees the op (the default of ops);
              collectives: likewise, by other sizes on as many GPUs; transfers: by a channel of a cluster, with latency
              and bandwidth fitted to the other sizes of the link; below the cases are those fitted to all sizes;
              steps: by the device kind and its fit to ops of several GPUs (the default with --graphs, for kinds
              that have a fit)
  ranges      transfers: by the ranges of a cost file, fitted to the other sizes of the link (sailor-ops)
  ring        collectives: by a ring over a channel for each pair of GPUs, which is fitted to all transfers within a
              node (p2p_intra_node; sailor-ops) and printed below the cases
  fastest     likewise, by the fastest algorithm, as a plan without measured collectives
  data-sheet  by the device kind without its fit
  predicted   plans: by the device kind, for a batch without published times and for tensor parallelism (no choice)

The device kind is that of `emplace list device-kinds` whose name is a part of the GPU's, or --kind.

A CASE is GPU/NAME; NAME is enough. A row of --json has case, measured and simulated [ns], error (simulated /
measured - 1), how, and gpu. MAPE is the mean absolute error, bias the median error.

Plans of a model with as many GPUs and the same global batch are peers. The last table has the one that the simulation
ranks first, the best measured one, and the share of time by which the former was measured slower. A row of --json with
peers also has their name, simulated_first, and above_best (measured / best measured of the peers - 1).

exit codes: 0 done; 1 the file could not be written; 2 wrong input"""


def main(arguments: Sequence[str] | None = None, prog: str = "python3 -m emplace.published") -> int:
    """Runs the command. Returns 0 on success; 1 if the file could not be written; 2 if the input is wrong."""
    options = _parser(prog).parse_args(arguments)
    return exit_code_with_compiled(prog, lambda: _run(options), PublishedFailure)


def compared(*arguments: str) -> tuple[list[Compared], list[LeftOut]]:
    """Returns the rows of a command line and the cases left out. Throws PublishedFailure, InputError."""
    options = _parser("emplace.published").parse_args(arguments)
    return _compared(options, _how(options))


def by_class(*arguments: str) -> dict[classes.Key, npt.NDArray[np.float64]]:
    """Returns classes.sums() of a command line with --graphs. Throws PublishedFailure, InputError."""
    options = _parser("emplace.published").parse_args(arguments)
    how = _how(options)
    return _by_class(options, how, {row.case for row in _compared(options, how)[0]})


def _how(options: argparse.Namespace) -> str:
    """Returns the source of the simulated times. Throws PublishedFailure if the options contradict each other."""
    choices: Sequence[str] = _CHOICES.get(options.source, (FITTED, DATA_SHEET))
    if options.graphs:
        if options.source != _STEPS:
            raise PublishedFailure(f"--graphs: is for {_STEPS}, not for {options.source}")
        choices = [choice for choice in choices if choice != OPS]
        options.graphs.mkdir(exist_ok=True)
    elif options.by_class:
        raise PublishedFailure("--by-class: needs --graphs")
    how = options.how.replace("-", " ") if options.how else choices[0]
    if how not in choices:
        raise PublishedFailure(f"--how {options.how}: {options.source} has no such times; choices: "
                               f"{', '.join(choices).replace(' s', '-s')}")
    if options.clock_from and how != OPS:
        raise PublishedFailure("--clock-from: needs the published times of a step's ops (neusight-steps, --how ops)")
    if options.kind:
        _require_kind(options.kind, how, options.source)
    return how


def _compared(options: argparse.Namespace, how: str) -> tuple[list[Compared], list[LeftOut]]:
    rows, left_out = _ROWS.get(options.source, _ops)(options, how)
    if not rows:
        raise PublishedFailure(f"{options.folder}: no case is left; {left_out[0].case}: {left_out[0].why}")
    return rows, left_out


def _run(options: argparse.Namespace) -> int:
    if options.json:
        require_folder(options.json)
    how = _how(options)
    rows, left_out = _compared(options, how)
    print(report(rows, left_out))
    if options.by_class:
        print("\n" + classes.report(_by_class(options, how, {row.case for row in rows})))
    if options.source == _SAILOR_PLANS and any(row.more for row in rows):
        print("\n" + sailor_plans.memory_report(rows))
    if choices(rows):
        print("\n" + choice_report(rows))
    if options.source == _SAILOR:
        print(_links(options, how, {(row.gpu, row.group) for row in rows}), end="")
    if options.json:
        write_bytes((json.dumps(_json(rows), indent=1) + "\n").encode(), options.json)
    return 0


def _json(rows: Sequence[Compared]) -> list[dict[str, Any]]:
    chosen = choices(rows)
    found = []
    for row in rows:
        choice = chosen.get((row.gpu, row.peers))
        found.append({**row.json(), **({"peers": row.peers, "simulated_first": choice.simulated is row, "above_best":
                                        row.measured / choice.measured.measured - 1} if choice else {})})
    return found


def _require_kind(kind: str, how: str, source: str) -> None:
    from ..arrays import menu_kinds

    if how != DATA_SHEET and not (source == _STEPS and how == FITTED):
        raise PublishedFailure("--kind: needs --how data-sheet, or fitted for steps")
    if kind not in menu_kinds():
        raise PublishedFailure(f"--kind {kind}: no such device kind; choices: {', '.join(sorted(menu_kinds()))}")


def _steps(options: argparse.Namespace, how: str) -> tuple[list[Compared], list[LeftOut]]:
    from . import simulate

    files = neusight.step_files(options.folder)
    chosen = _chosen(files, options)
    factor = 1.0
    done: list[Compared | LeftOut] = []
    if options.clock_from:
        gpus = sorted({file.gpu for file in chosen})
        if len(gpus) > 1:
            raise PublishedFailure(f"--clock-from: a factor is of one GPU; give --gpu (choices: {', '.join(gpus)})")
        first = [_named(name.strip(), [file for file in files if file.gpu == gpus[0]])
                 for name in options.clock_from.split(",")]
        factor = simulate.clock_factor(first)
        done += [LeftOut(step.case, f"the clock factor {factor:.3f} is from it") for step in first]
    known = {left.case for left in done}
    for step in (neusight.read_step(file, not options.graphs) for file in chosen if file.case not in known):
        if isinstance(step, LeftOut):
            done.append(step)
            continue
        simulated = simulate.step(step, how, factor, options.kind, options.graphs)
        if simulated == LeftOut(step.case, simulate.NO_FIT) and not options.how:
            simulated = simulate.step(step, DATA_SHEET, factor, options.kind, options.graphs)
        done.append(simulated)
    return ([row for row in done if isinstance(row, Compared)], [row for row in done if isinstance(row, LeftOut)])


def _by_class(options: argparse.Namespace, how: str,
              cases: set[str]) -> dict[classes.Key, npt.NDArray[np.float64]]:
    from . import simulate

    found = []
    for file in neusight.step_files(options.folder):
        step = neusight.read_step(file) if file.case in cases else None
        if isinstance(step, neusight.Step):
            graph = models.graph(file.case, step.num_layers, options.graphs)
            if not isinstance(graph, LeftOut):
                found.append((step, graph, simulate.op_costs(step, graph, how, options.kind)))
    return classes.sums(found)


def _traces(options: argparse.Namespace, how: str) -> tuple[list[Compared], list[LeftOut]]:
    from . import traces

    done = traces.steps(traces.files(options.folder), how)
    rows = [row for row in done if isinstance(row, Compared)]
    return _chosen(rows, options) if rows else [], [row for row in done if isinstance(row, LeftOut)]


def _ops(options: argparse.Namespace, how: str) -> tuple[list[Compared], list[LeftOut]]:
    from . import links, simulate

    cases, left_out = _OPS[options.source](options.folder)
    chosen = _chosen(cases, options)
    gpus = {case.gpu for case in chosen}
    here = [case for case in cases if case.gpu in gpus]
    ops = [case for case in here if isinstance(case, OpCase)]
    of_links = [case for case in here if isinstance(case, LinkCase)]
    names = {case.case for case in chosen}
    is_channel = how in (RING, FASTEST)
    over_links = [op for op in ops if is_channel and op.group_size > 1 and op.case in names]
    done = (simulate.ops([op for op in ops if not is_channel or op.group_size == 1], how, options.kind),
            links.collectives(over_links, of_links, how), links.transfers(of_links, how))
    return ([row for rows, _ in done for row in rows if row.case in names],
            [left for left in left_out if left.case.partition("/")[0] in gpus] + [
                left for _, missing in done for left in missing])


def _links(options: argparse.Namespace, how: str, chosen: set[tuple[str, str]]) -> str:
    from . import links

    if how in (RING, FASTEST):
        chosen = {(gpu, links.WITHIN_NODE) for gpu, _ in chosen}
    cases = [case for case in sailor.ops(options.folder)[0] if isinstance(case, LinkCase)]
    return links.described([case for case in cases if (case.gpu, case.group) in chosen], how)


def _plans(options: argparse.Namespace, how: str) -> tuple[list[Compared], list[LeftOut]]:
    source: Any = sailor_plans if options.source == _SAILOR_PLANS else neusight_plans
    found = source.read(options.folder)
    plans = [plan for plan in found if not isinstance(plan, LeftOut)]
    here = _of_gpu(plans, options) if plans else []  # a fit is of all plans of a machine
    rows, missing = source.compare(here, options.folder)
    left_out = [plan for plan in found if isinstance(plan, LeftOut)] + missing
    return _chosen(rows, options) if rows else [], left_out


_CHOICES = {_STEPS: (OPS, FITTED, DATA_SHEET), _TRACES: (REPLAY, OTHERS), _SAILOR: (FITTED, RANGES, RING, FASTEST, DATA_SHEET),
            _NEUSIGHT_PLANS: (OPS,), _SAILOR_PLANS: (FITTED,)}
_ROWS = {_STEPS: _steps, _TRACES: _traces, _NEUSIGHT_PLANS: _plans, _SAILOR_PLANS: _plans}


def _of_gpu(cases: Sequence[Any], options: argparse.Namespace) -> list[Any]:
    """Returns the cases of --gpu. Throws PublishedFailure, with the choices, if there is none."""
    gpus = sorted({case.gpu for case in cases})
    found = [case for case in cases if not options.gpu or f"_{spelt(options.gpu)}_" in f"_{spelt(case.gpu)}_"]
    if not found:
        raise PublishedFailure(f"--gpu {options.gpu}: no such GPU in {options.folder}; choices: {', '.join(gpus)}")
    return found


def _chosen(cases: Sequence[Any], options: argparse.Namespace) -> list[Any]:
    """Returns the cases of --gpu and --only. Throws PublishedFailure, with the choices, if there is none."""
    found = _of_gpu(cases, options)
    chosen = [case for case in found if not options.only or fnmatch.fnmatchcase(case.case, options.only)
              or fnmatch.fnmatchcase(case.case.partition("/")[2], options.only)]
    if not chosen:
        names = [case.case for case in found]
        more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
        raise PublishedFailure(f"--only {options.only}: no such case; choices: {', '.join(names[:20])}{more}")
    return chosen


def _named(name: str, files: Sequence[neusight.StepFile]) -> neusight.Step:
    read = [neusight.read_step(file) for file in files if name in (file.case, file.case.partition("/")[2])]
    if not read or isinstance(read[0], LeftOut):
        why = read[0].why if read and isinstance(read[0], LeftOut) else "no such case"
        raise PublishedFailure(f"--clock-from {name}: {why}; choices: {', '.join(file.case for file in files)}")
    return read[0]


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EPILOG,
                                     description="Simulate ops and steps that others measured on real GPUs, and report "
                                                 "the errors.")
    parser.add_argument("source", metavar="SOURCE", choices=(*_OPS, *_ROWS), help="see below")
    parser.add_argument("folder", metavar="DIR", type=pathlib.Path, help="folder with the files of the source")
    parser.add_argument("--gpu", metavar="NAME", help="only this GPU; a part of its name is enough, such as h100")
    parser.add_argument("--only", metavar="GLOB", help="only these cases, such as 'gpt2*-train-*'")
    parser.add_argument("--how", metavar="HOW", choices=(OPS, REPLAY, OTHERS, FITTED, RANGES, RING, FASTEST, "data-sheet"),
                        help="see below")
    parser.add_argument("--graphs", metavar="FOLDER", type=pathlib.Path,
                        help="graphs of steps without op times; one that is not there is made from the model's config "
                             f"by PyTorch and Transformers and kept (models: {', '.join(models.MODELS)})")
    parser.add_argument("--by-class", action="store_true",
                        help="also compare the ops of --graphs with those of the tables, by class")
    parser.add_argument("--kind", metavar="KIND", default="", help="device kind, such as v100_pcie")
    parser.add_argument("--clock-from", metavar="CASE,CASE",
                        help="multiply the times of ops up to 10 ms by one factor, with which the mean error of these "
                             "steps is 0; the steps are left out")
    parser.add_argument("--json", metavar="FILE", help="also write a row for each case")
    return parser
