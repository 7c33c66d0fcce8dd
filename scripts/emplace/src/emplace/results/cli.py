"""Tables and pictures from the shell: python3 -m emplace.results COMMAND INPUT... [-o FILE]"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Callable, Iterable, Sequence

import pandas as pd

from . import fidelity_figures, figures, robustness, summaries, targets
from .fidelity import load_fidelity
from .files import ResultsError, open_results
from .generalization import load_generalization
from .runs import Runs, load_runs
from .stress import load_stress

INPUTS = "results files of emplace run, or folders of emplace sweep"
FRAMES: dict[str, tuple[Callable, str]] = {
    "runs": (load_runs, "a row per agent and seed"),
    "evaluations": (load_runs, "learning curves"),
    "updates": (load_runs, "the learning agents' own numbers"),
    "tests": (load_generalization, "unseen graphs of emplace generalize"),
    "placements": (load_fidelity, "simulated and measured step times of emplace validate and verify"),
    "graphs": (load_fidelity, "the figures of each validation"),
    "ablations": (load_fidelity, "the same figures with a part of the model left out"),
    "residuals": (load_fidelity, "correlations of the errors of simulated step times"),
    "draws": (load_stress, "step times with other costs, of emplace stress"),
    "scenarios": (load_stress, "the winner's results in each scenario"),
    "adversary": (load_stress, "the smallest change of costs with which the second placement wins"),
}
PICTURES = (".png", ".svg", ".pdf")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns 0, or 2 for a mistake of the user, which is reported on stderr."""
    options = make_parser().parse_args(arguments)
    try:
        options.action(options)
    except BrokenPipeError:  # of unless_unread()
        raise
    except (ResultsError, OSError) as error:
        print(f"emplace.results: {error}", file=sys.stderr)
        return 2
    return 0


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="emplace.results", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, action: Callable, text: str, inputs: str = INPUTS) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(action=action)
        command.add_argument("inputs", nargs="+", metavar="INPUT", help=inputs)
        return command

    def add_picture(name: str, action: Callable, text: str,
                    inputs: str = INPUTS) -> argparse.ArgumentParser:
        command = add(name, action, text, inputs)
        command.add_argument("-o", "--output", required=True, type=picture_path,
                             metavar="FILE.png|svg|pdf")
        command.add_argument("--dpi", type=int, default=150, help="of a PNG (default: 150)")
        return command

    def add_agents(command: argparse.ArgumentParser) -> None:
        command.add_argument("--agents", type=names, metavar="A,B,...", help="draw only these agents, by label")

    command = add("summarise", summarise,
                  "Markdown tables of any results: agents, unseen graphs or simulated against measured",
                  "results files of emplace run, generalize and validate, or folders of emplace sweep")
    command.add_argument("-o", "--output", metavar="FILE.md", help="default: stdout")
    command.add_argument("--zero-shot", metavar="METHOD",
                         help=f"compared on each unseen graph ({summaries.ZERO_SHOT}, if there) ...")
    command.add_argument("--scratch", metavar="METHOD",
                         help=f"... with this one, trained on it ({summaries.SCRATCH}, if there)")

    command = add_picture("curves", curves, "Learning curves: median and band over the seeds")
    command.add_argument("--x", choices=("evaluations", "seconds"), default="evaluations")
    command.add_argument("--log-x", action="store_true")
    command.add_argument("--band", choices=("quantiles", "range", "none"), default="quantiles",
                         help="band: 10 to 90 %% of the seeds (default; with fewer than six, their range), least to "
                              "greatest, or none")
    command.add_argument("--top", type=above(1), metavar="FACTOR",
                         help="draw step times up to so many times the best one (default: so many that the end "
                              f"of the best searches is seen, at most {figures.TOP})")
    add_agents(command)

    command = add_picture("efficiency", efficiency, "Bars: evaluations until close to a target")
    command.add_argument("--target", metavar="AGENT|TIME|best",
                         help="median of this agent, a time with unit as in 650ms, or the best that "
                              "any run of the problem found; default: median of the best agent")
    command.add_argument("--within", type=above(0), default=summaries.WITHIN, metavar="SHARE",
                         help="largest relative distance from the target (default: 0.01)")
    add_agents(command)

    def add_split(command: argparse.ArgumentParser) -> None:
        command.add_argument("--split", type=split, action="append", default=[], metavar="NAME=PATTERN",
                             help="problems whose names fit the pattern (\"nmt on *\") belong together; again for "
                                  "more. Default: by the key split of the run configs")

    def add_targets(command: argparse.ArgumentParser) -> None:
        command.add_argument("--factors", type=factors, default=(targets.FACTOR,), metavar="F,F,...",
                             help="targets: so many times the best step time that any run of the problem found "
                                  f"(default: {targets.FACTOR}); several: the mean over them, as COCO does")
        add_split(command)
        add_agents(command)

    command = add_picture("ecdf", draw_ecdf, "Share of runs that have come close to the best known, over time; a "
                                             "panel per split")
    command.add_argument("--x", choices=tuple(targets.OVER), default="seconds")
    add_targets(command)

    command = add("targets", summarise_targets, "Markdown: share of runs that come close to the best known, and the "
                                                "expected effort (COCO's expected running time)")
    command.add_argument("-o", "--output", metavar="FILE.md", help="default: stdout")
    command.add_argument("--by-problem", action="store_true", help="a table per problem")
    add_targets(command)

    add_agents(add_picture("finals", finals, "Final step time of each run: boxes and dots"))

    command = add("robustness", summarise_robustness, "Markdown: each agent's median ratio to the best placement of "
                                                      "its problem, with unchanged costs and with noise",
                  "results files of emplace run or folders of emplace sweep, after emplace stress")
    command.add_argument("-o", "--output", metavar="FILE.md", help="default: stdout")
    command.add_argument("--by-problem", action="store_true", help="a table per problem")
    add_split(command)

    add_picture("regrets", regrets, "Regret of each placement under noise: boxes and dots",
                "results files of emplace run after emplace stress")

    command = add_picture("cdf", cdf, "Unseen graphs: share that a method places within a distance from the best "
                                      "known", "results files of emplace generalize")
    command.add_argument("--best", action="store_true",
                         help="use the best placement of each method instead of the last one")
    command.add_argument("--methods", type=names, metavar="A,B,...", help="draw only these methods, by label")
    command.add_argument("--log-x", action="store_true")

    command = add_picture("scatter", scatter, "Simulated against measured step times",
                          "results of emplace validate -o, or of runs after emplace verify")
    command.add_argument("--band", type=above(0), default=0.05, metavar="SHARE",
                         help="drawn around the diagonal (default: 0.05)")

    command = add_picture("errors", errors, "Errors of simulated step times over traits of the placements",
                          "results of emplace validate -o, or of runs after emplace verify")
    command.add_argument("--trait", choices=tuple(fidelity_figures.TRAITS), action="append", default=[],
                         help="again for more panels (default: crossing bytes and overlap)")

    command = add("export-csv", export_csv, "One frame as CSV, step times in nanoseconds",
                  "results that have the frame")
    command.add_argument("--frame", choices=FRAMES, default="runs", help="; ".join(
        f"{name}: {text}" for name, (_, text) in FRAMES.items()) + " (default: runs)")
    command.add_argument("-o", "--output", metavar="FILE.csv", help="default: stdout")
    return parser


def picture_path(path: str) -> str:
    if not path.lower().endswith(PICTURES):
        raise argparse.ArgumentTypeError(f"\"{path}\": expected a file name that ends in "
                                         f"{', '.join(PICTURES)}")
    return path


def above(least: float) -> Callable[[str], float]:
    def number(value: str) -> float:
        try:
            if float(value) > least:
                return float(value)
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"\"{value}\": expected a number above {least}")
    return number


def factors(value: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(number) for number in value.split(","))
        if all(1 <= number < float("inf") for number in numbers):
            return numbers
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"\"{value}\": expected numbers from 1 on, as in 1.05,1.01")


def split(value: str) -> tuple[str, str]:
    name, equals, pattern = value.partition("=")
    if not (name and equals and pattern):
        raise argparse.ArgumentTypeError(f"\"{value}\": expected NAME=PATTERN, as in \"unseen=nmt on *\"")
    return name, pattern


def names(value: str) -> list[str]:
    return [name.strip() for name in value.split(",")]


def load_chosen(options: argparse.Namespace) -> Runs:
    """Returns the runs, only those of --agents if given."""
    return choose(load_runs(options.inputs), options)


def require_known(option: str, thing: str, chosen: Sequence[str], known: Iterable[str]) -> None:
    """Throws ResultsError for a chosen name that is not known."""
    choices = sorted(set(known))
    for name in chosen:
        if name not in choices:
            raise ResultsError(f"{option}: unknown {thing} \"{name}\"; choices: {', '.join(choices)}")


def choose(loaded: Runs, options: argparse.Namespace) -> Runs:
    """Returns those of the runs that --agents selects."""
    if not options.agents:
        return loaded
    require_known("--agents", "agent", options.agents, loaded.runs["agent"])
    runs = loaded.runs[loaded.runs["agent"].isin(options.agents)]
    return Runs(runs, loaded.evaluations[loaded.evaluations["run"].isin(runs["run"])], loaded.updates)


def curves(options: argparse.Namespace) -> None:
    loaded = load_chosen(options)
    save(options, figures.learning_curves(loaded.runs, loaded.evaluations, x=options.x,
                                          log_x=options.log_x, band=options.band, top=options.top))


def efficiency(options: argparse.Namespace) -> None:
    loaded = load_runs(options.inputs)  # the target may be an agent that is not drawn
    targets, name = target_of(options.target, loaded.runs)
    chosen = load_chosen(options)
    save(options, figures.efficiency_bars(chosen.runs, chosen.evaluations, targets=targets,
                                          within=options.within, target_name=name))


def target_of(target: str | None, runs: pd.DataFrame) -> tuple[dict[str, float] | float, str]:
    if target is None:
        return summaries.best_median_of_problem(runs), "the best agent's median"
    if target == "best":
        return summaries.best_of_problem(runs), "the best found by any"
    for unit, scale in sorted(summaries.UNITS, key=lambda unit: -len(unit[0])):  # "ms" also ends in "s"
        number = target.removesuffix(unit)
        if number != target and number.strip().replace(".", "", 1).isdigit():
            return float(number) * scale, "the target"
    try:
        return summaries.median_of_agent(runs, target), f"the median of {target}"
    except ResultsError as error:
        raise ResultsError(f"--target: {error}; or best, or a time as in 650ms") from None


def chosen_with_targets(options: argparse.Namespace) -> tuple[Runs, dict[str, float]]:
    """Returns the runs of --agents with their splits, and the best known step time of each problem, by any agent."""
    every = load_runs(options.inputs, evaluations="improvements")  # loaded once, because a sweep may be running
    chosen = choose(every, options)
    splits = targets.split_of(every.runs, options.split)
    runs = chosen.runs.assign(split=splits[chosen.runs.index])
    return Runs(runs, chosen.evaluations, chosen.updates), summaries.best_of_problem(every.runs)


def draw_ecdf(options: argparse.Namespace) -> None:
    chosen, known = chosen_with_targets(options)
    save(options, figures.target_ecdfs(chosen.runs, chosen.evaluations, factors=options.factors, over=options.x,
                                       known=known))


def summarise_targets(options: argparse.Namespace) -> None:
    chosen, known = chosen_with_targets(options)
    reached = targets.reaches(chosen.runs, chosen.evaluations, factors=options.factors, known=known)
    write(options.output, targets.summarise_targets(reached, by_problem=options.by_problem))


def finals(options: argparse.Namespace) -> None:
    save(options, figures.final_step_times(load_chosen(options).runs))


def summarise_robustness(options: argparse.Namespace) -> None:
    runs, draws = load_runs(options.inputs, evaluations="none").runs, load_stress(options.inputs).draws
    frame = robustness.ratios(runs.assign(split=targets.split_of(runs, options.split)), draws)
    write(options.output, robustness.summarise_robustness(frame, by_problem=options.by_problem))


def regrets(options: argparse.Namespace) -> None:
    save(options, figures.noise_regrets(load_stress(options.inputs).draws))


def cdf(options: argparse.Namespace) -> None:
    tests = load_generalization(options.inputs).tests
    if options.methods:
        require_known("--methods", "method", options.methods, tests["method"])
        tests = tests[tests["method"].isin(options.methods)]
    save(options, figures.generalization_cdfs(tests, what="best" if options.best else "final",
                                              log_x=options.log_x))


def scatter(options: argparse.Namespace) -> None:
    loaded = load_fidelity(options.inputs)
    save(options, figures.fidelity_scatter(loaded.placements, loaded.graphs, band=options.band))


def errors(options: argparse.Namespace) -> None:
    loaded = load_fidelity(options.inputs)
    traits = {"traits": options.trait} if options.trait else {}
    save(options, figures.fidelity_errors(loaded.placements, loaded.residuals, **traits))


def save(options: argparse.Namespace, figure: figures.Figure) -> None:
    figure.savefig(options.output, dpi=options.dpi)
    print(options.output)


def summarise(options: argparse.Namespace) -> None:
    kinds: dict[str, list[str]] = {"families": [], "agents": [], "validation": [], "verification": [],
                                   "stress": []}
    for path in options.inputs:
        found = ["agents"]
        if not os.path.isdir(path):
            with open_results(path) as file:
                found = [kind for kind in kinds if kind in file]
        if not found:
            raise ResultsError(f"{path}: it has no results to summarise yet")
        for kind in found:
            kinds[kind].append(path)
    parts = []
    if kinds["agents"]:
        parts.append(summaries.summarise_runs(load_runs(kinds["agents"])))
    if kinds["families"]:
        parts.append(summaries.summarise_generalization(load_generalization(kinds["families"]),
                                                        options.zero_shot, options.scratch))
    if measured := kinds["validation"] + kinds["verification"]:
        parts.append(summaries.summarise_fidelity(load_fidelity(measured)))
    if kinds["stress"]:
        parts.append(summaries.summarise_stress(load_stress(kinds["stress"])))
    write(options.output, "\n".join(parts))


def export_csv(options: argparse.Namespace) -> None:
    load, _ = FRAMES[options.frame]
    write(options.output, getattr(load(options.inputs), options.frame).to_csv(index=False))


def write(path: str | None, text: str) -> None:
    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
