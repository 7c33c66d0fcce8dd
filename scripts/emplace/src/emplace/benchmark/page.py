"""The table of the benchmark as a page with pictures and data."""

from __future__ import annotations

import os
import pathlib
from typing import Iterable

import matplotlib

from .instances import Instance
from .pictures import MOST_AGENTS, excess_by_size, performance_profile, solved_over_time
from .results_file import Results, save, summary
from .scores import CAP, markdown_rows, score, text


def write_page(loaded: Results, chosen: Iterable[Instance], output: str | os.PathLike[str]) -> list[pathlib.Path]:
    """Writes FILE.md and, beside it, FILE_{profile,time,size}.svg, FILE_{scores,finals}.csv and FILE.h5.

    FILE.h5 is the summary of the results (results_file.py), of which the others are made: it gives the same page again.
    Returns their paths. Throws InputError as score(), and for a name without .md.
    """
    from .. import InputError

    page = pathlib.Path(output)
    if page.suffix != ".md":
        raise InputError(f"-o {page}: expected a name that ends in .md")
    loaded = summary(loaded)
    scores = score(loaded, chosen)

    def beside(ending: str) -> pathlib.Path:
        return page.with_name(f"{page.stem}_{ending}")

    drawn = {"profile": performance_profile(scores), "time": solved_over_time(loaded, scores), "size": excess_by_size(scores)}
    # The same results give the same files; text as text halves their size.
    with matplotlib.rc_context({"svg.hashsalt": "emplace", "svg.fonttype": "none"}):
        for name, figure in drawn.items():
            figure.savefig(beside(f"{name}.svg"), metadata={"Date": None})
    scores.table.to_csv(beside("scores.csv"), index=False)
    scores.finals.to_csv(beside("finals.csv"), index=False)
    results = save(loaded, page.with_suffix(".h5"))
    seeds = loaded.runs["seed"].nunique()
    more = f" The pictures have the first {MOST_AGENTS} agents." if len(scores.table) > MOST_AGENTS else ""
    searches = f"{len(loaded.runs)} searches with budgets of {', '.join(loaded.budgets)}"
    page.write_text(f"""# Scores of the benchmark

{searches} on {len(scores.known)} instances, {seeds} seed{'s' * (seeds > 1)}. In brackets: 95 %
intervals by bootstrap over instances. *Within 1 %*: share of the searches whose placement is at most 1 % above the best known
value. *Expected*: expected running time until then, if failing searches are restarted (COCO), and its ratio to that of the
fastest agent. *Gap* and *excess*: mean distances to the proven bound and to the best known value; a distance counts as
{100 * CAP:.0f} % at most, and a search without a placement that fits as {100 * CAP:.0f} %.{more}

{text(scores, markdown_rows)}
![Share of instances by distance to the best known value]({beside('profile.svg').name})

![Share of searches within 1 % of the best known value, over time]({beside('time.svg').name})

![Mean distance to the best known value by size of the instance]({beside('size.svg').name})

Data: [scores]({beside('scores.csv').name}), [values of each agent and instance]({beside('finals.csv').name}),
[all searches]({results.name}); `emplace benchmark page {results.name} MORE... -o {page.name}` adds more results.
""", encoding="utf-8")
    return [page, *(beside(f"{name}.svg") for name in drawn), beside("scores.csv"), beside("finals.csv"), results]
