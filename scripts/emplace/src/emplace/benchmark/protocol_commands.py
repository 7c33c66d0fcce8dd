"""The subcommands of `emplace benchmark` about runs and their results: run, score, compare, contribute, draw, page."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import Any, Callable, Sequence

from .instances import Instance, default_folder, instances

Does = Callable[[argparse.Namespace], int]
Chosen = Callable[[argparse.Namespace], list[Instance]]


def add_commands(add: Callable[..., argparse.ArgumentParser], chosen: Chosen, table: Callable[..., str]) -> None:
    """Adds the subcommands. add, chosen, table: of command.py."""
    paths = ("paths", "RESULTS", "results.h5, or folders of `emplace benchmark run`")

    def run(options: argparse.Namespace) -> int:
        from .protocol import RESULTS, run

        output = options.output or "results/benchmark"
        code = run([_agent(text) for text in options.agents], chosen(options), output, budget=options.budget,
                   seeds=options.seeds, first_seed=options.first_seed, jobs=options.jobs, threads=options.threads,
                   launcher=options.launcher, resume=options.resume, quiet=options.quiet)
        if code != 2:
            print(f"{output}/{RESULTS}; table: emplace benchmark score {output}")
        return code

    def score_(options: argparse.Namespace) -> int:
        from . import scores

        loaded = _restricted(options, chosen, options.paths)
        found = scores.score(loaded, instances(folder=options.folder))
        if options.json:
            print(json.dumps(scores.record(loaded, found), indent=1))
        elif options.csv:
            print(found.table.to_csv(index=False), end="")
            print("\n".join(found.notes + scores.better_text(found)), file=sys.stderr)
        else:
            print(scores.text(found, scores.markdown_rows if options.markdown else lambda rows: table(rows) + "\n"), end="")
        return 0

    def compare_(options: argparse.Namespace) -> int:
        from .comparison import compare
        from .scores import require_same_instances

        by_name = {one.name: one for one in instances(folder=options.folder)}
        if len(options.paths) > 2:
            raise _input_error(f"expected one or two results, got {len(options.paths)}")
        sides = [_restricted(options, chosen, [path]) for path in options.paths]
        for side in sides:
            require_same_instances(side.runs, by_name)
        found = compare(sides[0], options.a, sides[-1], options.b)
        if options.json:
            print(json.dumps({**dataclasses.asdict(found), "conclusion": found.conclusion()}, indent=1))
        else:
            print(f"{found.a} against {found.b} on {found.instances} instances: {found.wins} better, {found.ties} equal "
                  f"within 0.1 %, {found.losses} worse; sign test p = {found.sign:.3g}; {found.not_paired} instances not "
                  f"compared\n{found.conclusion()}")
        return 0

    def contribute_(options: argparse.Namespace) -> int:
        from .contributions import contribute

        offers = []
        for offer in contribute(options.paths, options.folder or default_folder(), by=options.by):
            print(offer.sentence(), flush=True)
            offers.append(offer)
        print(f"{sum(offer.taken for offer in offers)} of {len(offers)} placements taken")
        return 0 if all(offer.taken for offer in offers) else 1

    def draw_(options: argparse.Namespace) -> int:
        from .hidden_tier import draw

        for name in draw(options.output, options.seed, options.count):
            print(f"made {name}")
        return 0

    def page_(options: argparse.Namespace) -> int:
        from .page import write_page

        for path in write_page(_restricted(options, chosen, options.paths), instances(folder=options.folder), options.output):
            print(path)
        return 0

    command = add("run", _reading(run), "Search with agents on instances and write their results",
                  ("agents", "AGENT", 'names, "python:module.Class", or maps in YAML: "{name: hill_climb, batch: 32}"'))
    command.add_argument("--budget", default="10s", help="of each search: 10s, 2min, or evaluations: 10000e (default: 10s)")
    command.add_argument("--seeds", type=int, default=3, metavar="N", help="number of seeds (default: 3)")
    command.add_argument("--first-seed", type=int, default=0, metavar="N",
                         help="later ones add to the results of another folder (default: 0)")
    command.add_argument("--jobs", type=int, default=0, metavar="N", help="concurrent searches (default: one per core)")
    command.add_argument("--threads", type=int, default=1, metavar="N", help="of each search (default: 1)")
    command.add_argument("--launcher", default="", choices=("hyperqueue", "slurm"), help="as in `emplace sweep`")
    command.add_argument("-o", "--output", metavar="DIR", help="folder (default: results/benchmark)")
    command.add_argument("--resume", action="store_true", help="continue the runs in the folder")
    command.add_argument("--quiet", action="store_true", help="print no progress on stderr")
    command = add("score", _reading(score_), "Print a table of agents with intervals, and new best known placements", paths)
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print as JSON")
    form.add_argument("--csv", action="store_true", help="print as CSV, notes on stderr")
    form.add_argument("--markdown", action="store_true", help="print as Markdown")
    command = add("compare", _reading(compare_), "Test whether agent A is better than agent B, paired by instance", None)
    for name in ("a", "b"):
        command.add_argument(name, metavar=name.upper(), help="label of an agent")
    command.add_argument("paths", nargs="+", metavar="RESULTS", help="of both, or of A and of B")
    command.add_argument("--json", action="store_true", help="print as JSON")
    command = add("contribute", _reading(contribute_), "Take placements that are better than the best known ones",
                  ("paths", "FILE", "placement files, results.h5, or folders of `emplace benchmark run`"), ["folder"])
    command.add_argument("--by", default="", metavar="NAME", help="finder (default, for results: the agent)")
    command = add("draw", draw_, "Draw new instances of the same kinds: a hidden tier, for --folder", None, [])
    command.add_argument("--seed", type=int, required=True, metavar="N", help="of every draw")
    command.add_argument("--count", type=int, default=20, metavar="N", help="instances (default: 20)")
    command.add_argument("-o", "--output", required=True, metavar="DIR", help="new folder")
    command = add("page", _reading(page_), "Write the table with pictures and data as a page", paths)
    command.add_argument("-o", "--output", required=True, metavar="FILE.md", help="page; pictures and data lie beside it")


def _agent(text: str) -> Any:
    """Returns an agent as it stands in a config. Throws InputError."""
    import yaml

    if not text.startswith("{"):
        return text
    try:
        agent = yaml.safe_load(text)
    except yaml.YAMLError:
        agent = None
    if not isinstance(agent, dict) or not isinstance(agent.get("name"), str):
        raise _input_error(f"AGENT: got {text!r}, expected a map with the key `name`, as in {{name: hill_climb, batch: 32}}")
    return agent


def _reading(does: Does) -> Does:
    """Returns `does` with wrong results as InputError; needs the packages of emplace.results, or throws ImportError."""
    def wrapped(options: argparse.Namespace) -> int:
        from ..results import ResultsError

        try:
            return does(options)
        except ResultsError as error:
            raise _input_error(str(error)) from None
    return wrapped


def _restricted(options: argparse.Namespace, chosen: Chosen, paths: Sequence[str]) -> Any:
    """Returns the results of the chosen instances."""
    from .results_file import load

    loaded = load(paths)
    if options.tier is None and not options.names:
        return loaded
    runs = loaded.runs[loaded.runs["problem"].isin([one.name for one in chosen(options)])]
    if runs.empty:
        raise _input_error("no results for the chosen instances")
    return dataclasses.replace(loaded, runs=runs)


def _input_error(text: str) -> Exception:
    from .. import InputError

    error: Exception = InputError(text)
    return error
