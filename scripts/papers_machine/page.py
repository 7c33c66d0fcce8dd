"""The tables of configs/papers/machines.md, between their marks."""

from __future__ import annotations

import math
import pathlib
from typing import Mapping, Sequence

import yaml

from papers_machine.bench import Bench, Step, emplace
from papers_machine.cells import HELD_OUT, OOM, Cell, own_column
from papers_machine.fit import error, needed
from papers_machine.machine import FIGURES, MEMORY, Machine

NAMES = {"single_cpu": "CPU", "single_gpu": "one GPU", "expert": "expert", "scotch": "Scotch", "min_cut": "MinCut"}
EXPLAINED = math.log(1.25)  # of a ratio's logarithm: an expert's step beyond it counts as unexplained


def figures_table(figures: Mapping[str, float]) -> list[str]:
    """Returns the table of the fitted figures, their ranges, and the reasons."""
    lines = ["| figure | fitted | range | meaning | range's source |", "|---|---|---|---|---|"]
    for figure in (*FIGURES, MEMORY):
        value = figures[figure.name]
        unit = f" {figure.unit}" if figure.unit else ""
        bound = " (a bound)" if value in (figure.low, figure.high) else ""
        lines.append(f"| `{figure.name}` | {value:g}{unit}{bound} | {figure.low:g} to {figure.high:g}{unit} | "
                     f"{figure.meaning} | {figure.source} |")
    return lines


def steps_table(cells: Sequence[Cell], steps: Mapping[Cell, Mapping[str, Step]], learned: Mapping[str, float | str],
                fitted: bool) -> list[str]:
    """Returns published and our steps by cell; ratios are to one GPU, or to the CPU if that is out of memory."""
    lines = ["| row | step | is | published [s] | ours [s] | published ratio | our ratio | ours / published |",
             "|---|---|---|---|---|---|---|---|"]
    for cell in cells:
        base = steps[cell][cell.base].seconds
        for name, published in [*cell.published.items(), ("own", cell.own)]:
            if name == "own":
                ours, use = learned.get(cell.label, "not run"), "predicted"
            else:
                ours = OOM if steps[cell][name].seconds is None else steps[cell][name].seconds
                use = usage(cell, name, steps[cell][name].peak, fitted)
            theirs = cell.ratio(published)
            ratio = ours / base if isinstance(ours, float) and base and theirs is not None else None
            lines.append("| " + " | ".join([
                cell.label, NAMES.get(name, "the paper's method"), use, number(published), number(ours),
                number(theirs), number(ratio), number(ratio / theirs if ratio else None)]) + " |")
    return lines


def usage(cell: Cell, name: str, peak: float, fitted: bool) -> str:
    """Returns the use of a baseline's published step."""
    if OOM in (cell.published[name], cell.published[cell.base]):
        return f"memory: a GPU's peak is {peak:.2f} GiB"
    if name not in cell.ratios():
        return "base" if name == cell.base else "one GPU by its number"
    return "held out" if name in HELD_OUT and fitted else "fitted" if fitted else "predicted"


def number(value: float | str | None) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:.3g}"


def quality(cells: Sequence[Cell], steps: Mapping[Cell, Mapping[str, Step]], names: Sequence[str]) -> str:
    """Returns the error of the ratios, as a factor, and the number of those on the published side of 1."""
    pairs = [(cell, name) for cell in cells for name in cell.ratios()
             if name in names and steps[cell][name].seconds is not None and steps[cell][cell.base].seconds is not None]
    if not pairs:
        return "none"
    errors = [error(cell, name, steps[cell]) for cell, name in pairs]
    sides = sum((math.log(cell.ratios()[name]) + off) * math.log(cell.ratios()[name]) > 0
                for (cell, name), off in zip(pairs, errors))
    factor = math.exp(math.sqrt(sum(off ** 2 for off in errors) / len(errors)))
    return f"off by a factor of {factor:.2f} (root mean square), {sides} of {len(pairs)} on the published side of 1"


def unexplained(bench: Bench, cells: Sequence[Cell], steps: Mapping[Cell, Mapping[str, Step]],
                figures: Mapping[str, float]) -> list[str]:
    """Returns for each expert's step with a large error the figure that alone would give its ratio."""
    lines = []
    for cell in cells:
        if "expert" in cell.ratios() and steps[cell]["expert"].seconds is not None \
                and abs(error(cell, "expert", steps[cell])) > EXPLAINED:
            latency = needed(bench, cell, "expert", figures, "latency", 1, 1e6)
            bandwidth = needed(bench, cell, "expert", figures, "bandwidth", 0.01, 100)
            wanted = [f"a latency of {latency / 1000:.3g} ms a copy" if latency else "",
                      f"a bandwidth of {bandwidth:.3g} GB/s" if bandwidth else ""]
            text = " or ".join(filter(None, wanted)) or "neither a latency nor a bandwidth"
            lines.append(f"- {cell.label}: {text} alone would give the expert's published ratio.")
    return lines


def memory_lines(cells: Sequence[Cell], steps: Mapping[Cell, Mapping[str, Step]]) -> list[str]:
    """Returns the contradictions about memory, in both directions, for one GPU and the experts."""
    lines = []
    for cell in cells:
        for name in ("single_gpu", "expert"):
            ours = steps[cell][name]
            who = "one GPU" if name == "single_gpu" else "the expert"
            if (ours.seconds is None) != (cell.published[name] == OOM) and cell.agent(name) == name:
                here, there = ("does not fit", "did") if ours.seconds is None else ("fits", "did not")
                lines.append(f"- {cell.label}: what {who} needs, {ours.peak:.2f} GiB of a GPU, {here} here; in "
                             f"the paper it {there}.")
    return lines


def learned_steps(program: str, configs: pathlib.Path, results: pathlib.Path,
                  machine: Machine) -> dict[str, float | str]:
    """Returns our steps of the paper's method by row, from a sweep in `results` that ran on this machine."""
    folder = results / machine.sweep
    if not (folder / "sweep.yaml").exists():
        return {}
    plan = yaml.safe_load((folder / "sweep.yaml").read_text())
    clusters = {config["cluster"] for config in plan["configs"].values()}
    if not clusters & {machine.cluster(gpus) for gpus in machine.gpus}:
        return {}
    table = emplace(program, configs, "table", str(folder), "--format", "json")
    own = own_column(yaml.safe_load((configs / "papers" / f"{machine.sweep}.yaml").read_text())["table"])
    cells = {row["heads"][0]: row["cells"][own] for row in table["rows"]}
    return {label: cell["median"] if cell["state"] == "number" else cell["state"] for label, cell in cells.items()}


def section(bench: Bench, cells: Sequence[Cell], figures: Mapping[str, float],
            learned: Mapping[str, float | str]) -> str:
    """Returns the text between a machine's marks."""
    steps = {cell: bench.steps(cell, list(cell.published), figures) for cell in cells}
    fitted = bool(bench.machine.cpu)
    lines = [*figures_table(figures), ""] if fitted else []
    lines += [*steps_table(cells, steps, learned, fitted), ""]
    if contradicted := memory_lines(cells, steps):
        lines += [*contradicted, ""]
    if fitted:
        lines += [f"Fitted ratios: {quality(cells, steps, ('single_cpu', 'expert'))}.", "",
                  f"Held out: {quality(cells, steps, HELD_OUT)}.", "",
                  *unexplained(bench, cells, steps, figures)]
    else:
        lines.append(f"Predicted ratios: {quality(cells, steps, tuple(NAMES))}.")
    return "\n".join(lines).rstrip() + "\n"


def replace_section(page: str, name: str, text: str) -> str:
    """Returns the page with `text` between the marks of `name`. Throws ValueError without both marks."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"the page has no marks {begin.strip()} and {end.strip()}")
    head, rest = page.split(begin)
    return head + begin + text + end + rest.split(end)[1]
