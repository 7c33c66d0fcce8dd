"""Uses a report in a real browser: links, choices, sorting, saved files, small windows.

Skipped as test_report_browser.py is.
"""

from __future__ import annotations

import csv
import html
import io
import json
import os
import pathlib
import re
import statistics
import subprocess
import unittest
import xml.etree.ElementTree

from test_report_browser import HEADLESS, ReportCase

RUN = """graph: graph.json
cluster: cluster.yaml
agents: [single_gpu, heft, hill_climb, seq2seq]
seeds: 0:3
budget: {evaluations: 120, seconds: none}
"""


def probe(page: pathlib.Path, script: str, fragment: str = "", size: tuple[int, int] = (1400, 1000),
          dark: bool = False) -> object:
    """The value that `script`, the body of an asynchronous function, returns in the finished page."""
    changed = page.with_suffix(".probe.html")
    runs = ("<script>(async () => {const value = await (async () => {%s})(); const out = document.createElement('pre');"
            "out.id = 'probe'; out.textContent = JSON.stringify(value); document.body.append(out);})()</script>")
    changed.write_text(page.read_text().replace("</body>", runs % script + "</body>"))
    command = [*HEADLESS, f"--window-size={size[0]},{size[1]}", f"--user-data-dir={page.parent / 'profile'}",
               *(["--blink-settings=preferredColorScheme=0"] if dark else []), changed.as_uri() + fragment]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    errors = re.search(r'<html[^>]*data-errors="([^"]*)"', dom)
    assert errors is None, errors.group(1)
    found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.S)
    assert found is not None, "the script failed"
    return json.loads(html.unescape(found.group(1)))


class ReportView(ReportCase):
    run_config = RUN

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.emplace("report", "run.h5", "-o", "run.html")
        cls.emplace("sweep", "sweep.yaml", "-o", "sweep", "--quiet", "--jobs", "1")
        cls.emplace("report", "sweep", "-o", "sweep.html")
        cls.run_page, cls.sweep_page = cls.path / "run.html", cls.path / "sweep.html"

    def test_the_address_names_problem_section_and_choices(self) -> None:
        chosen = probe(self.sweep_page, """
            const choose = (select, value) => {select.value = value; select.dispatchEvent(new Event('change'));};
            choose(document.getElementById('problem'), 2);
            choose(document.querySelector('#curves select'), 'seconds');
            document.querySelector('#curves .legend button').click();
            document.querySelector('nav a[href="#curves"]').click();
            return {hash: location.hash, shown: document.documentElement.dataset.shown,
                    hidden: document.querySelector('#curves .legend button').textContent};""")
        again = probe(self.sweep_page, """
            const curves = document.getElementById('curves');
            return {shown: document.documentElement.dataset.shown, axis: curves.querySelector('select').value,
                    problem: document.getElementById('problem').value,
                    hidden: curves.querySelector('[aria-pressed=false]').textContent,
                    top: curves.querySelector('h2').getBoundingClientRect().top,
                    bar: document.getElementById('chooser').getBoundingClientRect().bottom, scrolled: scrollY};""",
                      chosen["hash"])
        self.assertEqual(again["shown"], chosen["shown"])
        self.assertEqual((again["axis"], again["problem"]), ("seconds", "2"))
        self.assertEqual(again["hidden"], chosen["hidden"])
        # The heading that was jumped to lies below the bar, not under it.
        self.assertGreater(again["scrolled"], 0)
        self.assertGreaterEqual(again["top"], again["bar"])
        self.assertLess(again["top"], 200)

    def test_no_two_palettes_share_a_colour_and_a_thing_keeps_its_own(self) -> None:
        for dark in (False, True):
            colours = probe(self.run_page, """
                const of = (list, get) => d3.range(list).map(get).map((colour) => d3.rgb(colour).toString());
                const devices = Object.values(DEVICE_COLOURS).flat();
                const style = (selector, name) => d3.rgb(
                    getComputedStyle(document.querySelector(selector))[name]).toString();
                return {theme: theme(), page: getComputedStyle(document.body).backgroundColor,
                        palettes: [of(devices.length, (i) => devices[i]), of(3, Colours.phase),
                                   of(Colours.numKinds, Colours.kind),
                                   of(AGENT_COLOURS.light.length, (i) => AGENT_COLOURS[theme()][i])],
                        climber: [style('path.curve[data-agent=hill_climb]', 'stroke'),
                                  style('#summary [data-agent=hill_climb] .dot', 'fill'),
                                  Colours.agent('hill_climb').colour],
                        learner: [style('#learners path.update', 'stroke'), Colours.agent('seq2seq').colour]};""",
                            dark=dark)
            self.assertEqual(colours["theme"], "dark" if dark else "light")
            every = [colour for palette in colours["palettes"] for colour in palette]
            self.assertEqual(len(every), len(set(every)))
            self.assertEqual(len(set(colours["climber"])), 1)
            self.assertEqual(len(set(colours["learner"])), 1)

    def test_an_agent_has_one_colour_in_all_problems(self) -> None:
        found = probe(self.sweep_page, """
            const all = [];
            for (const index of d3.range(4)) {
              chooseProblem(index);
              all.push(document.querySelector('path.curve[data-agent=hill_climb]').style.stroke);
            }
            for (const dot of document.querySelectorAll('#sweep [data-agent=hill_climb] .dot'))
              all.push(dot.style.fill);
            return all;""")
        self.assertGreater(len(found), 8)
        self.assertEqual(len(set(found)), 1)

    def test_a_head_sorts_its_column(self) -> None:
        sorted_by = probe(self.run_page, """
            const table = document.getElementById('agents'), result = [];
            const head = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === 'evaluations');
            for (const _ of [1, 2]) {
              table.tHead.rows[0].cells[head].querySelector('button').click();
              result.push({sort: table.tHead.rows[0].cells[head].getAttribute('aria-sort'),
                           values: [...table.tBodies[0].rows].map((row) => +row.cells[head].dataset.sort)});
            }
            return result;""")
        self.assertEqual([step["sort"] for step in sorted_by], ["ascending", "descending"])
        up, down = (step["values"] for step in sorted_by)
        self.assertEqual(up, sorted(up))
        self.assertEqual(down, up[::-1])
        self.assertGreater(len(set(up)), 1)
        # A claim and its numbers stay together; what did not fit comes last in both orders.
        rows = probe(self.sweep_page, """
            const press = (table, column) => table.tHead.rows[0].cells[column].querySelector('button').click();
            const claims = document.querySelector('#claims table'), cells = document.querySelector('#table table');
            press(claims, 0), press(claims, 0), press(cells, 3);
            const up = [...cells.tBodies[0].rows].map((row) => row.cells[3].dataset.state);
            press(cells, 3);
            return {claims: [...claims.tBodies[0].rows].map((row) => row.className), up,
                    down: [...cells.tBodies[0].rows].map((row) => row.cells[3].dataset.state)};""")
        self.assertEqual(rows["claims"], ["", "numbers"] * 2)
        self.assertIn("oom", rows["up"])
        for order in (rows["up"], rows["down"]):
            self.assertEqual(order, sorted(order))  # "number", then "oom"

    def test_seeds_are_dots(self) -> None:
        dots = probe(self.run_page, """
            return [...document.querySelectorAll('#summary [data-dots]')].map((series) => [
              series.dataset.agent, [...series.querySelectorAll('.dot')].map((dot) => +dot.dataset.value),
              +series.querySelector('.median').dataset.at]);""")
        times = self.step_times()
        self.assertEqual({agent: sorted(values) for agent, values, _ in dots}, times)
        for agent, _, median in dots:
            self.assertEqual(median, statistics.median(times[agent]))

    def step_times(self) -> dict[str, list[int]]:
        import h5py

        times: dict[str, list[int]] = {}
        with h5py.File(self.path / "run.h5") as file:
            for group in file["agents"].values():
                times.setdefault(group.attrs["label"], []).append(int(group["best/outcome"].attrs["step_time_ns"]))
        return {agent: sorted(values) for agent, values in times.items()}

    def test_learners_have_a_picture_of_each_number(self) -> None:
        import h5py

        shown = probe(self.run_page, """
            return {pictures: [...document.querySelectorAll('#learners .small')].map((figure) => [
                      figure.dataset.learner, figure.dataset.column, figure.querySelectorAll('path.update').length]),
                    text: document.getElementById('learners').textContent};""")
        with h5py.File(self.path / "run.h5") as file:
            tables = [group["updates"][:] for group in file["agents"].values() if "updates" in group]
        self.assertEqual(len(tables), 3)
        changing = {name for name in tables[0].dtype.names
                    if len({float(value) for table in tables for value in table[name]}) > 1}
        self.assertLessEqual({"loss", "entropy", "mean_cost"}, changing)
        self.assertEqual({tuple(picture) for picture in shown["pictures"]},
                         {("seq2seq", name, 3) for name in changing - {"evaluations"}})
        for name in set(tables[0].dtype.names) - changing:
            self.assertIn(f"{name} ", shown["text"])
        self.assertTrue(probe(self.sweep_page, "return document.getElementById('learners').hidden;"))  # none learns

    def test_curves_over_seconds_and_hours(self) -> None:
        import h5py

        ends = probe(self.run_page, """
            const ends = {};
            for (const axis of ['evaluations', 'seconds', 'hardware']) {
              const select = document.querySelector('#curves select');
              select.value = axis;
              select.dispatchEvent(new Event('change'));
              ends[axis] = +document.querySelector('path.curve[data-agent=hill_climb]').dataset.end;
            }
            return ends;""")
        with h5py.File(self.path / "run.h5") as file:
            climbs = [dict(group.attrs) for group in file["agents"].values() if group.attrs["label"] == "hill_climb"]
        self.assertEqual(ends["evaluations"], 120)
        self.assertAlmostEqual(ends["seconds"], max(climb["seconds"] for climb in climbs), places=5)
        self.assertAlmostEqual(ends["hardware"], max(climb["hardware_seconds"] for climb in climbs) / 3600, places=8)

    def test_tables_and_pictures_are_saved(self) -> None:
        saved = probe(self.run_page, """
            const texts = [], files = {};
            window.Blob = function(parts) {texts.push(parts.join(''));};  // a real one is read in real time
            URL.createObjectURL = () => 'blob:test';
            HTMLAnchorElement.prototype.click = function() {files[this.download] = texts[texts.length - 1];};
            for (const button of document.querySelectorAll('button.save')) button.click();
            return files;""")
        names = {"agents.csv", "seeds.csv", "seeds.svg", "curves-over-evaluations.csv", "curves-over-evaluations.svg",
                 "timeline.csv", "timeline.svg", "devices.csv", "graph.csv", "graph.svg", "seq2seq-updates.csv",
                 "seq2seq-entropy.svg"}
        self.assertLessEqual({"run_" + name for name in names}, set(saved))
        for name, text in saved.items():
            if name.endswith(".svg"):
                picture = xml.etree.ElementTree.fromstring(text)
                self.assertEqual(picture.tag, "{http://www.w3.org/2000/svg}svg", name)
                self.assertGreater(float(picture.get("width")), 100, name)
                self.assertGreater(sum(1 for _ in picture.iter()), 5, name)
        tables = {name: list(csv.DictReader(io.StringIO(text))) for name, text in saved.items() if name.endswith("csv")}
        times = self.step_times()
        self.assertEqual({row["agent"]: float(row["median_ns"]) for row in tables["run_agents.csv"]},
                         {agent: statistics.median(values) for agent, values in times.items()})
        self.assertEqual(sorted(int(row["step_time_ns"]) for row in tables["run_seeds.csv"]),
                         sorted(value for values in times.values() for value in values))
        self.assertEqual(len(tables["run_graph.csv"]), 60)
        self.assertEqual(sum(row["event"] == "op" for row in tables["run_timeline.csv"]), 60)
        # Memory is drawn against the capacity of each device, however little of it is used.
        timeline = saved["run_timeline.svg"]
        self.assertIn(" % of 8.000 GiB", timeline)
        self.assertEqual(timeline.count(" % of 1.000 GiB"), 2)
        capacity = probe(self.run_page, "return Colours.css('capacity');")
        self.assertEqual(timeline.count(f'fill="{capacity}"'), 3)

    def test_the_graph_fits_its_pane(self) -> None:
        for size in ((1400, 1000), (500, 900)):
            graph = probe(self.run_page, """
                const picture = document.getElementById('drawing'), pane = picture.getBoundingClientRect();
                const boxes = [...picture.querySelectorAll('.node')].map((node) => node.getBoundingClientRect());
                return {pane: [pane.left, pane.right, pane.top, pane.bottom], scale: +picture.dataset.scale,
                        ends: [d3.min(boxes, (b) => b.left), d3.max(boxes, (b) => b.right), d3.min(boxes, (b) => b.top),
                               d3.max(boxes, (b) => b.bottom)], nodes: boxes.length, window: innerHeight};""",
                          size=size)
            left, right, top, bottom = graph["pane"]
            self.assertLessEqual(bottom - top, graph["window"])
            self.assertGreaterEqual(graph["scale"], 0.85)
            self.assertGreaterEqual(graph["nodes"], 2)
            self.assertTrue(left <= graph["ends"][0] and graph["ends"][1] <= right, graph)
            self.assertTrue(top <= graph["ends"][2] and graph["ends"][3] <= bottom, graph)

    def test_a_click_opens_a_box(self) -> None:
        opened = probe(self.run_page, """
            const click = () => [...document.querySelectorAll('#drawing .node:not(.dim)')][0].dispatchEvent(
                new MouseEvent('click'));
            const levels = () => document.getElementById('drawing').dataset.level;
            const seen = [levels()];
            for (const _ of d3.range(3)) {
              if (document.getElementById('ops')) break;
              click();
              seen.push(levels());
            }
            return {seen, ops: document.querySelectorAll('#ops tbody tr').length,
                    first: document.querySelector('#ops td').textContent};""", "#level=0")
        self.assertEqual(opened["seen"], ["12 nodes", "25 nodes", "all 60 groups", "all 60 groups"])
        self.assertEqual(opened["ops"], 1)
        self.assertRegex(opened["first"], r"net/block\d/op\d+")

    def test_the_last_column_can_be_seen(self) -> None:
        for width in (1400, 500):
            for page in (self.run_page, self.sweep_page):
                tables = probe(page, """
                    return {page: document.documentElement.scrollWidth, window: innerWidth,
                            ends: [...document.querySelectorAll('.scroll')].map((box) => {
                              box.scrollLeft = 1e6;
                              const last = box.querySelector('th:last-child').getBoundingClientRect();
                              return [last.right, box.getBoundingClientRect().right, box.scrollLeft];
                            })};""", size=(width, 900))
                self.assertLessEqual(tables["page"], tables["window"])  # the page itself does not scroll sideways
                self.assertGreaterEqual(len(tables["ends"]), 2)
                for last, box, scrolled in tables["ends"]:
                    self.assertLessEqual(last, box + 1)
                    if width == 1400:
                        self.assertEqual(scrolled, 0)  # seen without scrolling


if __name__ == "__main__":
    unittest.main()
