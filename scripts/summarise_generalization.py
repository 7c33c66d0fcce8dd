#!/usr/bin/env python3
"""Prints results files of `emplace generalize` as Markdown tables, one per family.

    python3 scripts/summarise_generalization.py results/placeto2019.h5 [--plot cdf.png]

Per method: quantiles over unseen graphs and seeds of the final and of the best step time over the best
known of the graph, and medians of evaluations and seconds. A placement that does not fit counts as
worse than all that do. Then the zero-shot method's final step time over those of training on the very
graph, graph by graph and seed by seed: median, and the share of pairs within 10 %.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

REQUIREMENTS = "scripts/requirements-results.txt"
QUANTILES = (0.1, 0.5, 0.9)
WITHIN = 0.1
ZERO_SHOT, SCRATCH = "placeto_zero_shot", "placeto_scratch"
COLUMNS = ("method", *(f"final {share:.0%}" for share in QUANTILES),
           *(f"best {share:.0%}" for share in QUANTILES), "evaluations", "seconds")


@dataclass(frozen=True)
class Method:
    """One method on the unseen graphs of a family, a row per graph and seed."""

    graph: np.ndarray  # [rows] index of the graph
    seed: np.ndarray  # [rows]
    final: np.ndarray  # [rows] step time of the last placement [ns]; infinite: does not fit
    best: np.ndarray  # [rows] of the best one
    known: np.ndarray  # [rows] best known of the graph
    evaluations: np.ndarray  # [rows]
    seconds: np.ndarray  # [rows]


@dataclass(frozen=True)
class Family:
    name: str
    methods: dict[str, Method]  # by label, those without a row left out
    num_graphs: int
    failures: list[str]


class ResultsError(Exception):
    """A file that is no results file of `emplace generalize`, or a method that it does not have."""


def read_families(path: str) -> list[Family]:
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return [read_family(name, group) for name, group in file["families"].items()]
    except (OSError, KeyError, ValueError) as error:
        raise ResultsError(f"{path}: expected a results file of `emplace generalize`: {error}") from error


def read_family(name: str, group: Any) -> Family:
    labels = texts(group["methods"])
    failures = texts(group["failures"]) if "failures" in group else []
    methods = {}
    if "tests" in group:  # not while policies are trained
        table = group["tests"][()]
        for index, label in enumerate(labels):
            rows = table[table["method"] == index]
            if len(rows) > 0:
                methods[label] = read_method(rows)
    return Family(name, methods, len(group["graphs"]), failures)


def read_method(rows: np.ndarray) -> Method:
    def times(column: str) -> np.ndarray:
        return np.nan_to_num(rows[column].astype(float), nan=np.inf)

    return Method(graph=rows["graph"], seed=rows["seed"], final=times("final_step_time_ns"),
                  best=times("best_step_time_ns"), known=rows["best_known_ns"].astype(float),
                  evaluations=rows["evaluations"], seconds=rows["seconds"])


def texts(dataset: Any) -> list[str]:
    return [value.decode() if isinstance(value, bytes) else str(value) for value in dataset[()]]


def quantile(values: np.ndarray, share: float) -> float:
    """Linear between the sorted values; infinite as soon as an infinite one has weight."""
    ordered = np.sort(values)
    low, part = divmod(share * (len(ordered) - 1), 1)
    here = float(ordered[int(low)])
    return here if part == 0 else (1 - part) * here + part * float(ordered[int(low) + 1])


def ratio(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "OOM"


def over_known(times: np.ndarray, known: np.ndarray) -> np.ndarray:
    """[rows] Infinite where no method found a placement that fits."""
    return np.where(np.isnan(known), np.inf, times / known)


def method_row(label: str, method: Method) -> list[str]:
    return [label,
            *(ratio(quantile(over_known(times, method.known), share))
              for times in (method.final, method.best) for share in QUANTILES),
            f"{np.median(method.evaluations):.0f}",
            f"{np.median(method.seconds):.2f}"]


def pair(ours: Method, theirs: Method, times: np.ndarray) -> np.ndarray:
    """Our final step times over `times`, rows of theirs, for the graphs and seeds that both have."""
    other = {key: time for key, time in zip(zip(theirs.graph, theirs.seed), times)}
    finals = zip(zip(ours.graph, ours.seed), ours.final)
    return np.array([time / other[key] for key, time in finals
                     if key in other and np.isfinite(other[key])])


def comparison(family: Family, zero_shot: str, scratch: str) -> str:
    ours, theirs = family.methods[zero_shot], family.methods[scratch]
    lines = []
    for what, times in (("final", theirs.final), ("best", theirs.best)):
        ratios = pair(ours, theirs, times)
        if len(ratios) == 0:
            lines.append(f"final of {zero_shot} over {what} of {scratch}: no graph that both have\n")
            continue
        lines.append(f"final of {zero_shot} over {what} of {scratch}: "
                     f"median {ratio(quantile(ratios, 0.5))}, "
                     f"within {WITHIN:.0%} on {np.mean(ratios <= 1 + WITHIN):.0%} of {len(ratios)}\n")
    return "\n" + "".join(f"- {line}" for line in lines)


def markdown(family: Family, zero_shot: str, scratch: str) -> str:
    align = ["---"] + ["---:"] * (len(COLUMNS) - 1)
    rows = [COLUMNS, align, *(method_row(*item) for item in family.methods.items())]
    text = f"**{family.name}** ({family.num_graphs} unseen graphs)\n\n"
    text += "".join(f"| {' | '.join(row)} |\n" for row in rows)
    if zero_shot in family.methods and scratch in family.methods:
        text += comparison(family, zero_shot, scratch)
    return text + "".join(f"\nfailed: {failure}\n" for failure in family.failures)


def require_method(path: str, families: Sequence[Family], label: str) -> None:
    known = dict.fromkeys(method for family in families for method in family.methods)
    if label not in known:
        raise ResultsError(f"{path}: unknown method \"{label}\"; choices: {', '.join(known)}")


def plot(families: Sequence[Family], path: str) -> None:
    """Per family the share of graphs and seeds whose final step time is at most so much over the best known."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    figure, axes = pyplot.subplots(1, len(families), figsize=(5 * len(families), 4), squeeze=False)
    for axis, family in zip(axes[0], families):
        for label, method in family.methods.items():
            values = np.sort(over_known(method.final, method.known))
            fits = values[np.isfinite(values)]
            shares = np.arange(len(fits) + 1) / len(values)
            axis.step(np.insert(fits, 0, 1.0), shares, where="post", label=label)
        axis.set(title=family.name, xlabel="final step time over best known", ylabel="share", ylim=(0, 1.02))
        axis.legend()
    figure.tight_layout()
    figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", metavar="FILE.h5")
    parser.add_argument("--zero-shot", metavar="METHOD",
                        help=f"compared on each graph ({ZERO_SHOT}, if it is there) ...")
    parser.add_argument("--scratch", metavar="METHOD",
                        help=f"... with this one, trained on it ({SCRATCH}, if it is there)")
    parser.add_argument("--plot", metavar="FILE.png", help="also draw a CDF per family (matplotlib)")
    options = parser.parse_args(arguments)
    try:
        files = [(path, read_families(path)) for path in options.results]
        for path, families in files:
            for label in filter(None, (options.zero_shot, options.scratch)):
                require_method(path, families, label)
        for path, families in files:
            for family in families:
                text = markdown(family, options.zero_shot or ZERO_SHOT, options.scratch or SCRATCH)
                print(f"{os.path.basename(path)}: {text}")
        if options.plot:
            plot([family for _, families in files for family in families if family.methods], options.plot)
    except ModuleNotFoundError as error:
        print(f"summarise_generalization: {error.name} is missing: pip install {package(error.name)}",
              file=sys.stderr)
        return 2
    except (ResultsError, OSError) as error:
        print(f"summarise_generalization: {error}", file=sys.stderr)
        return 2
    return 0


def package(module: str | None) -> str:
    return "matplotlib" if module == "matplotlib" else f"-r {REQUIREMENTS}"


if __name__ == "__main__":
    sys.exit(main())
