"""Results of the benchmark in one HDF5 file, small enough to be sent to others.

  /                 format "emplace-benchmark", version 2, run (JSON: run.json),
                    not_run (searches without results)
  /runs/COLUMN      [runs] a column of Results.runs each
  /improvements/COLUMN  [rows] the evaluations that found a better placement than all before
  /placements       uint8 [sum of ops] best placements as device indices of ops, one after another: that of a run begins
                    at its `placement` (-1: none that fits) and has as many bytes as the instance has ops
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from dataclasses import dataclass
from typing import Any, Iterable

import h5py
import numpy as np
import numpy.typing as npt
import pandas as pd

from ..results import load_runs
from ..results.files import open_results
from .protocol import RESULTS, RUN, SWEEP

FORMAT, VERSION = "emplace-benchmark", 2
TEXTS = ("problem", "sha256", "split", "agent", "settings", "status", "error", "version", "commit", "host", "cpu", "date")
NUMBERS = {"seed": np.int64, "evaluations": np.int64, "seconds": float, "best_step_time_ns": float, "bound_ns": np.int64,
           "placement": np.int64}
IMPROVEMENTS = {"run": np.int64, "evaluation": np.int64, "wall_seconds": float, "best_step_time_ns": float}
STEP = 1e-3  # improvements by less are left out of a summary


@dataclass(frozen=True)
class Results:
    """Searches on instances of the benchmark.

    runs          a row per search: run (its number), source (the file), problem (name of the instance), sha256 (of the
                  instance's file), split (its tier), agent (label), settings (YAML), seed, status and error as in
                  emplace.results.Runs, evaluations, seconds [s], best_step_time_ns (the objective; NaN: no placement
                  fits), bound_ns (proven by the search or before it), version, commit, host, cpu, date; placement (see
                  best_placement())
    improvements  run, evaluation (from 0), wall_seconds [s], best_step_time_ns
    machines      at each start: host, cores, evaluations_per_second (protocol.reference_speed()), date; at its end:
                  evaluations_per_second_at_end
    budgets       of the searches, as in "10s"
    not_run       number of searches without results
    placements    by source: bytes of /placements
    """

    runs: pd.DataFrame
    improvements: pd.DataFrame
    machines: list[dict[str, Any]]
    budgets: list[str]
    not_run: int
    placements: dict[str, npt.NDArray[np.uint8]]

    def best_placement(self, run: int, num_ops: int) -> npt.NDArray[np.uint8]:
        """Returns the device index of each op in the best placement of a run that has one, uint8 [num_ops]."""
        row = self.runs.loc[run]
        return self.placements[row["source"]][row["placement"]:row["placement"] + num_ops]


def pack(folder: str | os.PathLike[str]) -> pathlib.Path:
    """Writes results.h5 of a folder of `emplace benchmark run` from its sweep so far. Returns its path.

    Throws ResultsError if there is no run yet.
    """
    at = pathlib.Path(folder)
    loaded = load_runs(at / SWEEP, evaluations="improvements")
    record = json.loads((at / RUN).read_text())
    begins, parts = [], [np.zeros(0, np.uint8)]
    for row in loaded.runs.itertuples():
        begins.append(sum(map(len, parts)) if row.feasible else -1)
        if row.feasible:
            with open_results(row.file) as file:
                parts.append(file[f"agents/{row.search}/best/placement"][()].astype(np.uint8))
    settings = [column for column in loaded.runs if column.startswith("setting.")]
    runs = loaded.runs.assign(
        problem=loaded.runs["graph"], sha256=loaded.runs["graph"].map(record["instances"]), placement=begins,
        # Without the place in the config that the protocol wrote.
        error=loaded.runs["error"].str.replace(rf"^\S*{SWEEP}\.yaml:\d+:\d+: ", "", regex=True),
        settings=[json.dumps({key.removeprefix("setting."): value for key, value in row.items() if value == value})
                  for row in loaded.runs[settings].to_dict("records")])
    return write(at / RESULTS, runs, loaded.evaluations, np.concatenate(parts), record, len(loaded.not_run))


def write(path: pathlib.Path, runs: pd.DataFrame, improvements: pd.DataFrame, placements: npt.NDArray[np.uint8],
          record: dict[str, Any], not_run: int = 0) -> pathlib.Path:
    """Writes a file and renames it into place. record: the content of `run`. Returns path."""
    temporary = path.with_suffix(".tmp")
    with h5py.File(temporary, "w", libver="v110") as file:
        file.attrs.update(format=FORMAT, version=VERSION, run=json.dumps(record), not_run=not_run)
        for name in TEXTS:
            texts = [text.encode() for text in runs[name].astype(str)]
            length = max([1, *map(len, texts)])  # HDF5 compresses texts of one length only
            _compressed(file, f"runs/{name}", np.array(texts, h5py.string_dtype("utf-8", length)))
        for table, columns, frame in (("runs", NUMBERS, runs), ("improvements", IMPROVEMENTS, improvements)):
            for name, kind in columns.items():
                _compressed(file, f"{table}/{name}", frame[name].to_numpy(kind))
        _compressed(file, "placements", placements)
    os.replace(temporary, path)
    return path


def _compressed(file: h5py.File, name: str, values: npt.NDArray[Any]) -> None:
    # In one chunk, because equal texts are far apart: after each other come the agents, then the instances.
    how = {"compression": "gzip", "shuffle": True, "chunks": values.shape} if values.nbytes > 1000 else {}
    file.create_dataset(name, data=values, **how)


def summary(loaded: Results) -> Results:
    """Returns the results without placements, and without improvements by less than 0.1 % except the last of each run."""
    numbers = {run: number for number, run in enumerate(loaded.runs["run"])}
    rows = loaded.improvements[loaded.improvements["run"].isin(numbers)].sort_values(["run", "evaluation"])
    kept, least, of = [], np.inf, -1
    for run, value in zip(rows["run"], rows["best_step_time_ns"]):
        least = np.inf if run != of else least
        kept.append(value <= (1 - STEP) * least)
        least, of = value if kept[-1] else least, run
    rows = rows[np.array(kept, bool) | ~rows.duplicated("run", keep="last")]
    seconds = rows["wall_seconds"].astype(np.float32).astype(float)  # zeros at the end are compressed
    rows = rows.assign(run=rows["run"].map(numbers), wall_seconds=seconds)
    runs = loaded.runs.assign(run=range(len(numbers)), placement=-1)
    return dataclasses.replace(loaded, runs=runs.reset_index(drop=True), improvements=rows.reset_index(drop=True), placements={})


def save(loaded: Results, path: pathlib.Path) -> pathlib.Path:
    """Writes a summary as one file. Returns path."""
    record = {"budgets": loaded.budgets, "machines": loaded.machines,
              "instances": dict(zip(loaded.runs["problem"], loaded.runs["sha256"]))}
    return write(path, loaded.runs, loaded.improvements, np.zeros(0, np.uint8), record, loaded.not_run)


def load(paths: Iterable[str | os.PathLike[str]]) -> Results:
    """Loads files results.h5, or folders of `emplace benchmark run`.

    An agent with results for the same instance and seed in several files is labelled with its file: "tabu (DIR)". Throws
    InputError for another file.
    """
    runs, improvements, records, placements, not_run = [], [], [], {}, 0
    count = 0
    for given in dict.fromkeys(os.fspath(path) for path in paths):
        with _open(given) as file:
            runs.append(pd.DataFrame({
                "run": count + np.arange(len(file["runs/seed"])), "source": given,
                **{name: file[f"runs/{name}"].asstr()[()] for name in TEXTS},
                **{name: file[f"runs/{name}"][()] for name in NUMBERS}}))
            rows = pd.DataFrame({name: file[f"improvements/{name}"][()] for name in IMPROVEMENTS})
            improvements.append(rows.assign(run=rows["run"] + count))
            placements[given] = file["placements"][()]
            records.append(json.loads(file.attrs["run"]))
            not_run += int(file.attrs["not_run"])
            count += len(runs[-1])
    together = pd.concat(runs, ignore_index=True)
    for agent, rows in together.groupby("agent"):
        if rows.duplicated(["problem", "seed"]).any():
            together.loc[rows.index, "agent"] = f"{agent} (" + rows["source"] + ")"
    return Results(together, pd.concat(improvements, ignore_index=True),
                   [machine for record in records for machine in record["machines"]],
                   list(dict.fromkeys(text for record in records for text in record["budgets"])),
                   not_run, placements)


def _open(given: str) -> h5py.File:
    from .. import InputError

    path = os.path.join(given, RESULTS) if os.path.isdir(given) else given
    try:
        file = h5py.File(path)
    except OSError as error:
        reason = "no such file" if not os.path.exists(path) else f"no HDF5 file ({error})"
        raise InputError(f"{path}: {reason}; expected the results of `emplace benchmark run`") from None
    if (file.attrs.get("format"), file.attrs.get("version")) != (FORMAT, VERSION):
        found = f"{file.attrs.get('format', 'no format')!r}, version {file.attrs.get('version', 'none')}"
        older = file.attrs.get("format") == FORMAT and file.attrs["version"] < VERSION
        again = "; run the searches again" if older else ""
        raise InputError(f"{path}: expected format {FORMAT!r}, version {VERSION}, found {found}{again}")
    return file
