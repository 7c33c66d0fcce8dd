"""Results of `emplace generalize` as data frames."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np
import pandas as pd

from .files import Path, ResultsError, as_paths, open_results, plain, texts
from .runs import concat, table


@dataclass(frozen=True)
class Generalization:
    """Policies on graphs that they were not trained on. Step times in nanoseconds [ns].

    tests     a row per unseen graph, method and seed: file, family, cluster, graph, method, seed;
              final_step_time_ns (of the placement that the method returns: the last one of a policy that
              ends after a number of updates, else the best; NaN: it does not fit),
              best_step_time_ns (NaN: none fits), best_known_ns (of the graph, by any method);
              final_ratio and best_ratio: over the best known, infinite for a placement that does not fit;
              evaluations, seconds
    families  file, family, cluster, graphs and training_graphs (how many), methods (a tuple)
    updates   of the trainings: file, family, training (label), update, the trainer's numbers
    failures  file, family, failure (a sentence)
    """

    tests: pd.DataFrame
    families: pd.DataFrame
    updates: pd.DataFrame
    failures: pd.DataFrame


def load_generalization(paths: Path | Sequence[Path]) -> Generalization:
    """Loads results. @throws ResultsError naming the file that cannot be read or has no families"""
    tests: list[pd.DataFrame] = []
    updates: list[pd.DataFrame] = []
    families: list[dict[str, Any]] = []
    failures: list[dict[str, str]] = []
    for path in as_paths(paths):
        if os.path.isdir(path):
            raise ResultsError(f"{path}: expected a results file of `emplace generalize`, got a folder")
        with open_results(path) as file:
            if "families" not in file:
                raise ResultsError(f"{path}: expected a results file of `emplace generalize`, "
                                   f"found {' and '.join(sorted(file)) or 'nothing'}")
            for name, group in file["families"].items():
                where = {"file": path, "family": name}
                families.append({**where, "cluster": plain(group.attrs["cluster"]),
                                 "graphs": len(group["graphs"]),
                                 "training_graphs": len(group["training_graphs"]),
                                 "methods": tuple(texts(group["methods"]))})
                if "tests" in group:  # absent while policies are being trained
                    tests.append(read_tests(group, {**where, "cluster": families[-1]["cluster"]}))
                for label, training in group.get("training", {}).items():
                    if "updates" in training:
                        updates.append(table(training["updates"], {**where, "training": label}, "update"))
                if "failures" in group:
                    failures += [{**where, "failure": line} for line in texts(group["failures"])]
    return Generalization(concat(tests, ["file", "family", "method"]), pd.DataFrame(families),
                          concat(updates, ["file", "family", "training"]),
                          pd.DataFrame(failures, columns=["file", "family", "failure"]))


def read_tests(group: Any, where: dict[str, str]) -> pd.DataFrame:
    rows = group["tests"][()]
    frame = pd.DataFrame({
        **where,
        "graph": np.array(texts(group["graphs"]), dtype=object)[rows["graph"]],
        "method": np.array(texts(group["methods"]), dtype=object)[rows["method"]],
        **{column: rows[column] for column in (
            "seed", "final_step_time_ns", "best_step_time_ns", "best_known_ns", "evaluations",
            "seconds")}}, index=range(len(rows)))
    for what in ("final", "best"):
        ratio = frame[f"{what}_step_time_ns"] / frame["best_known_ns"]
        frame[f"{what}_ratio"] = ratio.fillna(np.inf)
    return frame
