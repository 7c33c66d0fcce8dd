"""Simulated against measured step times, of `emplace validate` and `emplace verify`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

import pandas as pd

from .files import Path, ResultsError, as_paths, existing_files, open_results, plain, texts
from .runs import concat


@dataclass(frozen=True)
class Fidelity:
    """Placements executed on devices, each with its simulation. Times in nanoseconds [ns].

    placements  a row per executed placement: file, graph, label; simulated_ns, measured_ns (median
                of the rounds), low_ns and high_ns (its 95 % interval), error (simulated / measured
                - 1), noise (median absolute deviation of the rounds / median), searched_ns (the
                search's value; NaN without), interval_low_ns and interval_high_ns (of the simulated
                time; 0 and inf if too few placements were held out), covered (measured_ns is
                within it), to_fastest (ratio to the placement measured to be the
                fastest: median over the rounds of the ratio of two steps of the same round),
                to_fastest_low and to_fastest_high (its 95 % interval; 0 and inf with fewer than 6
                rounds), differs (that interval excludes 1), crossing_bytes, crossings, overlap (as
                simulated), proxy_share and cost_source_... (shares of the ops' time, by the source of their
                cost). Files of older versions have no to_fastest, or neither intervals nor traits
    graphs      a row per graph and file with all figures: verdict (a sentence), warnings (a list),
                resolved_difference (of simulated times, above which 95 % of pairs are in order),
                placements, mape, max_error, bias, kendall_tau, ... (missing for a single
                placement), machine and versions
    ablations   file, graph, name ("no host cost"), mape, kendall_tau, ...
    residuals   correlations of the errors: file, graph (None: all of the file together), trait ("crossing
                bytes", "crossings", "overlap", "step time"), pearson and spearman, pearson_above
                and spearman_above (share of the shuffles that correlate less), slope (measured -
                simulated, ns per unit of the trait), placements, shuffles
    """

    placements: pd.DataFrame
    graphs: pd.DataFrame
    ablations: pd.DataFrame
    residuals: pd.DataFrame


def load_fidelity(paths: Path | Sequence[Path]) -> Fidelity:
    """Loads fidelity results. @throws ResultsError naming the file that cannot be read or has no measurements"""
    placements: list[pd.DataFrame] = []
    graphs: list[dict[str, Any]] = []
    ablations: list[dict[str, Any]] = []
    residuals: list[dict[str, Any]] = []
    for source in as_paths(paths):
        measured = len(graphs)
        for path, _ in existing_files(source):
            with open_results(path) as file:
                for group in measurements(file):
                    where = {"file": path, "graph": plain(group.attrs["graph"])}
                    placements.append(read_placements(group, where))
                    graphs.append({**where, **{key: plain(value) for key, value in group.attrs.items()},
                                   "warnings": texts(group["warnings"]) if "warnings" in group else []})
                    ablations += [{**where, "name": name, **{key: plain(value) for key, value in
                                                             ablation.attrs.items()}}
                                  for name, ablation in group.get("ablations", {}).items()]
                    residuals += read_residuals(group, where)
                residuals += read_residuals(file, {"file": path, "graph": None})
        if len(graphs) == measured:
            raise ResultsError(f"{source}: expected results of `emplace validate -o`, or of a run "
                               "after `emplace verify`; found no measurements")
    return Fidelity(concat(placements, ["file", "graph"]), pd.DataFrame(graphs),
                    pd.DataFrame(ablations, columns=None if ablations else ["file", "graph", "name"]),
                    pd.DataFrame(residuals, columns=None if residuals else ["file", "graph", "trait"]))


def measurements(file: Any) -> list[Any]:
    groups = list(file["validation"].values()) if "validation" in file else []
    return groups + ([file["verification"]] if "verification" in file else [])


def read_placements(group: Any, where: dict[str, str]) -> pd.DataFrame:
    frame = pd.DataFrame(group["steps"][()])
    frame.insert(0, "file", where["file"])
    frame.insert(1, "graph", where["graph"])
    frame.insert(2, "label", texts(group["labels"]))
    frame["error"] = frame["simulated_ns"] / frame["measured_ns"] - 1
    frame["searched_ns"] = frame["searched_ns"].astype(float).where(frame["searched_ns"] >= 0)
    if "interval_low_ns" in frame:
        frame["covered"] = frame["measured_ns"].between(frame["interval_low_ns"], frame["interval_high_ns"])
    if "to_fastest" in frame:
        frame["differs"] = (frame["to_fastest_low"] > 1) | (frame["to_fastest_high"] < 1)
    return frame


def read_residuals(group: Any, where: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns a row per trait of a group, which may have none."""
    if "residuals" not in group:
        return []
    found = group["residuals"]
    counts = {key: plain(found.attrs[key]) for key in ("placements", "shuffles")}
    rows = pd.DataFrame(found["correlations"][()]).to_dict("records")
    return [{**where, "trait": trait, **row, **counts} for trait, row in zip(texts(found["traits"]), rows)]
