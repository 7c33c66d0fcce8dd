"""`emplace tune CONFIG.yaml`: searches for the settings of an agent."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from typing import Sequence

from .config import HELP, read_config
from .study import BEST, LEAST_TRIALS, Tuned, choices_of, continue_study

_EPILOG = """\
Every trial draws settings and searches with each seed on each problem. Its value is the geometric mean, over the
problems, of the median step time over the bound. The folder holds the trials (optuna.journal, which optuna-dashboard
opens), their results (trials/NUMBER.h5, as `emplace run` writes them) and best.yaml, a run config. Ctrl-C keeps the
finished trials; the same command does the missing ones. The package optuna must be installed.

exit codes: 0 done; 1 stopped, or every trial failed; 2 wrong input"""


def main(arguments: Sequence[str], prog: str = "emplace tune") -> int:
    """Runs the command. Returns 0 on success; 1 if stopped, or if every trial failed; 2 if the input is wrong."""
    options = _parser(prog).parse_args(arguments)
    if options.help_config:
        print(HELP, end="")
        return 0
    if options.config is None:
        print(f"{prog}: CONFIG is missing: a YAML file (--help-config prints one)", file=sys.stderr)
        return 2
    folder = ""
    sys.path.insert(0, os.getcwd())  # for agents written in Python in this folder
    try:
        from .. import InputError, RunError

        try:
            config = read_config(options.config)
            folder, trials, jobs = choices_of(config, options.output, options.trials, options.jobs)
            tuned = continue_study(config, folder, trials, jobs, quiet=options.quiet)
        except InputError as error:
            print(f"{prog}: {error}", file=sys.stderr)
            return 2
        except (RunError, OSError) as error:
            print(f"{prog}: {error}", file=sys.stderr)
            return 1
    except ImportError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{prog}: stopped: the finished trials are in {folder}; the same command resumes",
              file=sys.stderr)
        return 1
    print(_json(tuned) if options.json else report(tuned), end="")
    return 0


def report(tuned: Tuned) -> str:
    """Returns the best settings, their importances, and the trials that were the best so far."""
    import yaml

    text = f"trials   {len(tuned.trials)}: " + ", ".join(
        f"{tuned.count(state)} {state}" for state in ("complete", "pruned", "failed", "running")
        if tuned.count(state)) + "\n"
    for failed in [trial for trial in tuned.trials if trial.error][:3]:
        text += f"failed   #{failed.number}: {failed.error}\n"
    if tuned.best is None:
        return text + f"best     none: no trial found a placement that fits\nresults  {tuned.folder}\n"
    times = ", ".join(_milliseconds(step_time) for step_time in tuned.step_times)
    text += f"best     #{tuned.best.number}: {tuned.best.value:.4f} x bound, step time {times} (medians over seeds)\n\n"
    text += yaml.safe_dump({"agents": [tuned.agent]}, sort_keys=False, default_flow_style=None, width=100)
    text += ("\nimportance of settings (PED-ANOVA: difference between the best tenth of the complete trials and all "
             "of them)\n")
    if tuned.importances:
        width = max(map(len, tuned.importances))
        text += "".join(f"  {key:{width}}  {share:6.1%}\n" for key, share in tuned.importances.items())
    else:
        text += f"  not stated: {tuned.count('complete')} complete trials, at least {LEAST_TRIALS} are needed\n"
    text += "\ntrials that were the best so far\n  trial  x bound  settings\n"
    least = float("inf")
    for trial in tuned.trials:
        if trial.state != "complete" or trial.value is None or trial.value >= least:
            continue
        least = trial.value
        settings = "  ".join(f"{key.split('.', 2)[-1]}={value}" for key, value in trial.settings.items())
        text += f"  {'#' + str(trial.number):>5}  {least:7.4f}  {settings}\n"
    return text + f"\nconfig   {tuned.folder}/{BEST}\nresults  {tuned.folder}\n"


def _milliseconds(step_time: float | None) -> str:
    return "does not fit" if step_time is None else f"{step_time / 1e6:.4g} ms"


def _json(tuned: Tuned) -> str:
    return json.dumps(dataclasses.asdict(tuned), indent=1) + "\n"


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EPILOG,
                                     description="Search for the best settings of an agent with Optuna.")
    parser.add_argument("config", nargs="?", metavar="CONFIG", help="YAML file; --help-config explains it")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder (default: results/<config name>)")
    parser.add_argument("--trials", type=int, metavar="N", help="total number of trials in the folder")
    parser.add_argument("--jobs", type=int, metavar="N", help="number of processes that do trials")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON, times in ns")
    parser.add_argument("--quiet", action="store_true", help="print no line per trial on stderr")
    parser.add_argument("--help-config", action="store_true", help="print a config with every key and exit")
    return parser
