"""All trials of a config in Optuna's storage, and their outcome."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Mapping

from .config import PATHS, Config, Settings, read_config, whole
from .trial import STEP_TIMES, make_trial

if TYPE_CHECKING:
    import optuna

STORAGE = "optuna.journal"
NAME = "emplace"  # of the study
CONFIG = "config.json"
BEST = "best.yaml"
LEAST_TRIALS = 10  # complete trials; for importances, which compare a tenth with all trials, and for the median pruner


@dataclass(frozen=True)
class Trial:
    """A trial: "complete", "pruned", "failed" or "running". value: step time over bound; None: there is none."""

    number: int
    state: str
    value: float | None
    settings: Settings
    error: str


@dataclass(frozen=True)
class Tuned:
    """Outcome of a study.

    folder       optuna.journal, config.json, trials/NUMBER.h5 (as `emplace run` writes them), best.yaml
    best         the trial with the least value; None: no trial is complete, or nothing fits
    step_times   of the best trial, the median over seeds on each problem [ns]
    agent        entry for `agents:` with the best settings
    importances  setting -> its share in the difference between the best tenth of the complete trials and all of them
                 (PED-ANOVA), largest first; empty below 10 complete trials
    trials       all trials, by number
    """

    folder: str
    best: Trial | None
    step_times: list[float | None]
    agent: dict[str, Any]
    importances: dict[str, float]
    trials: list[Trial]

    @property
    def study(self) -> optuna.Study:
        """Returns Optuna's study, for Optuna's own pictures and tables."""
        return open_study(self.folder)

    def count(self, state: str) -> int:
        """Returns the number of trials in this state."""
        return sum(trial.state == state for trial in self.trials)


def tune(config: Mapping[str, Any] | str | os.PathLike[str], *, output: str | os.PathLike[str] | None = None,
         trials: int | None = None, jobs: int | None = None, quiet: bool = True) -> Tuned:
    """Searches for the settings of an agent with Optuna; `emplace tune --help-config` explains the config.

    config: a YAML file, or a map with the same content. output, trials, jobs: replace those of the config. A folder
    with trials of the same config is continued until it has `trials` of them; ctrl-C keeps the finished ones. Throws
    InputError; RunError if every trial failed; ImportError without the package optuna; KeyboardInterrupt.
    """
    read = read_config(config)
    return continue_study(read, *choices_of(read, output, trials, jobs), quiet=quiet)


def choices_of(config: Config, output: str | os.PathLike[str] | None, trials: int | None,
               jobs: int | None) -> tuple[str, int, int]:
    """Returns (folder, trials, jobs): the given values, else the config's. @throws InputError"""
    return (os.fspath(output) if output is not None else config.output,
            config.trials if trials is None else whole(trials, 1, "trials"),
            config.jobs if jobs is None else whole(jobs, 1, "jobs"))


def continue_study(config: Config, folder: str, trials: int, jobs: int, *, quiet: bool) -> Tuned:
    """Runs the missing trials."""
    from .. import RunError

    optuna = _optuna()
    os.makedirs(os.path.join(folder, "trials"), exist_ok=True)
    study = optuna.create_study(storage=_storage(folder), study_name=NAME, load_if_exists=True)
    earlier = study.user_attrs.get("config")
    if earlier is None:
        study.set_user_attr("config", config.identity())
    else:
        _require_same(config, earlier, folder)
    with open(os.path.join(folder, CONFIG), "w", encoding="utf-8") as file:
        json.dump(dataclasses.asdict(config), file, indent=1)
    done = _finished(study)
    missing = max(0, trials - done)
    if done and not quiet:
        print(f"resumed: {done} trials are done, {missing} are missing", file=sys.stderr)
    if jobs == 1:
        make_trials(config, folder, missing, 0, quiet)
    else:
        _make_in_processes(folder, missing, min(jobs, missing), quiet)
    tuned = outcome(config, folder)
    if tuned.best is not None:
        _write_best(config, tuned)
    if missing and tuned.count("complete") + tuned.count("pruned") == 0:
        raise RunError(f"{folder}: every trial failed; the first: {tuned.trials[0].error}")
    return tuned


def make_trials(config: Config, folder: str, count: int, job: int, quiet: bool) -> None:
    """Runs so many trials in this process.

    @param job  number of the process; makes its draws differ from those of other processes
    """
    from .. import InputError, RunError

    optuna = _optuna()
    study = open_study(folder)
    study.pruner = _pruner(config)
    for _ in range(count):
        study.sampler = _sampler(config, _finished(study), job)
        trial = study.ask()
        try:
            value = make_trial(config, trial, os.path.join(folder, "trials"))
        except optuna.TrialPruned:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        except (InputError, KeyboardInterrupt) as error:
            trial.set_user_attr("error", "stopped" if isinstance(error, KeyboardInterrupt) else str(error))
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            raise
        except RunError as error:
            trial.set_user_attr("error", str(error))
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, value)
        if not quiet:
            print(_line(config, study, trial.number), file=sys.stderr, flush=True)


def open_study(folder: str) -> optuna.Study:
    """Returns the study in a folder."""
    study: optuna.Study = _optuna().load_study(storage=_storage(folder), study_name=NAME)
    return study


def outcome(config: Config, folder: str) -> Tuned:
    """Returns a summary of the study in a folder."""
    study = open_study(folder)
    trials = [_trial(config, frozen) for frozen in study.trials]
    complete = [trial for trial in trials if trial.state == "complete" and trial.value is not None]
    best = min(complete, key=lambda trial: (trial.value, trial.number), default=None)
    step_times: list[float | None] = []
    agent: dict[str, Any] = {}
    if best is not None:
        step_times = study.trials[best.number].user_attrs[STEP_TIMES]
        agent = config.run_config(0, best.settings)["agents"][0]
    return Tuned(folder, best, step_times, agent, _importances(config, study, complete), trials)


def _trial(config: Config, frozen: Any) -> Trial:
    states = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}
    state = states.get(frozen.state.name, "running")
    value = frozen.value if state == "complete" and math.isfinite(frozen.value) else None
    settings = {key: config.ranges[key].value(param) for key, param in frozen.params.items()}
    return Trial(frozen.number, state, value, settings, frozen.user_attrs.get("error", ""))


def _importances(config: Config, study: Any, complete: list[Trial]) -> dict[str, float]:
    varied = [key for key in config.ranges if len({json.dumps(trial.settings[key]) for trial in complete}) > 1]
    if len(complete) < LEAST_TRIALS or not varied:
        return {}
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warns that it is experimental
        return dict(get_param_importances(study, evaluator=PedAnovaImportanceEvaluator(), params=varied))


def _finished(study: Any) -> int:
    return sum(trial.state.name in ("COMPLETE", "PRUNED") for trial in study.get_trials(deepcopy=False))


def _sampler(config: Config, finished: int, job: int) -> Any:
    """Returns a sampler for one trial.

    Its seed depends on the number of finished trials, so that a study that was stopped draws the same values.
    """
    import numpy as np

    optuna = _optuna()
    seed = int(np.random.SeedSequence([config.seed, job, finished]).generate_state(1)[0])
    if config.sampler == "random":
        return optuna.samplers.RandomSampler(seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warns that constant_liar is experimental
        return optuna.samplers.TPESampler(seed=seed, constant_liar=config.jobs > 1)


def _pruner(config: Config) -> Any:
    optuna = _optuna()
    searches = sum(config.searches)
    if config.pruner == "median":  # the beginning of a single search is not informative
        return optuna.pruners.MedianPruner(n_startup_trials=LEAST_TRIALS,
                                           n_warmup_steps=config.checkpoints - 1 if searches > 1 else 0)
    if config.pruner == "hyperband":
        return optuna.pruners.HyperbandPruner(max_resource=config.checkpoints * searches)
    return optuna.pruners.NopPruner()


def _require_same(config: Config, earlier: dict[str, Any], folder: str) -> None:
    from .. import InputError

    for key, value in json.loads(json.dumps(config.identity())).items():
        if value != earlier.get(key):
            raise InputError(f"{config.name}: {key}: got {json.dumps(value)}, and the trials in {folder} were made with "
                             f"{json.dumps(earlier.get(key))}; another folder (-o) begins a new study")


def _make_in_processes(folder: str, count: int, jobs: int, quiet: bool) -> None:
    """Distributes the trials. Ctrl-C is passed on; the processes end their trials and report it."""
    from .. import InputError, RunError

    workers = []
    for job in range(jobs):
        share = count // jobs + (job < count % jobs)
        workers.append(subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.worker", folder, str(share), str(job), str(int(quiet))],
            stderr=subprocess.PIPE if quiet else None, text=True, start_new_session=True))
    try:
        errors = [worker.communicate()[1] for worker in workers]
    except KeyboardInterrupt:
        for worker in workers:
            worker.send_signal(signal.SIGINT)
        for worker in workers:
            worker.wait()
        raise
    for worker, error in zip(workers, errors):
        if worker.returncode != 0:
            kind = InputError if worker.returncode == 2 else RunError
            raise kind(f"{folder}: a process that makes trials ended with {worker.returncode}: {(error or '').strip()}")


def _line(config: Config, study: Any, number: int) -> str:
    frozen = study.trials[number]
    said = frozen.state.name.lower()
    if said == "complete":
        said = f"{frozen.value:.4f} x bound" if math.isfinite(frozen.value) else "does not fit"
    elif said == "fail":
        said = "failed: " + frozen.user_attrs.get("error", "")
    settings = " ".join(f"{key.split('.', 2)[-1]}={config.ranges[key].value(param)}" for key, param in frozen.params.items())
    return f"#{number} {said}  {settings}"


def _write_best(config: Config, tuned: Tuned) -> None:
    """Writes the run config of the first problem with the best settings."""
    import yaml

    assert tuned.best is not None
    keys = config.run_config(0, tuned.best.settings)
    for key in PATHS:
        path = os.path.join(config.beside, str(keys.get(key, "")))
        if key in keys and os.path.isfile(path):
            keys[key] = os.path.abspath(path)
    with open(os.path.join(tuned.folder, BEST), "w", encoding="utf-8") as file:
        file.write(f"# The best of {len(tuned.trials)} trials by `emplace tune`: #{tuned.best.number}.\n")
        yaml.safe_dump(keys, file, sort_keys=False, default_flow_style=None, width=100)


def _storage(folder: str) -> Any:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    return JournalStorage(JournalFileBackend(os.path.join(folder, STORAGE)))


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ImportError(f"emplace tune needs the package optuna ({error}): pip install 'optuna>=4'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
