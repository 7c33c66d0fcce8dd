"""Reports of `emplace report` in a real browser: what they show is what the HDF5 file says, and nothing is fetched.

Skipped where there is no Chromium, no h5py, or no program to test ($EMPLACE_PROGRAM, else build/release/emplace).
"""

from __future__ import annotations

import html.parser
import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("EMPLACE_PROGRAM", str(ROOT / "build/release/emplace"))
BROWSER = next(filter(None, map(shutil.which, ["chromium-headless-shell", "chromium", "chromium-browser",
                                               "google-chrome"])), None)
HAVE_H5PY = importlib.util.find_spec("h5py") is not None

GRAPH_OPS = 60
CLUSTER = """name: small
device_kinds: {c: {class: cpu}, g: {class: gpu}}
devices:
  - {name: "cpu:0", kind: c, memory: 8GiB}
  - {name: "gpu:0", kind: g, memory: 1GiB}
  - {name: "gpu:1", kind: g, memory: 1GiB}
all_to_all: {latency: 5us, bandwidth: 1GB/s, gap: 0us}
"""
RUN = """graph: graph.json
cluster: cluster.yaml
agents: [single_gpu, heft, hill_climb, random]
seeds: 0:3
budget: {evaluations: 80, seconds: none}
"""
SWEEP = """base: {cluster: cluster.yaml, agents: [heft, hill_climb], seeds: 0:2, budget: {evaluations: 400, seconds: none}}
grid: {graph: [graph.json, tight.json], semantics: [queue, stream]}
table:
  unit: us
  rows: [graph, semantics]
  columns: [{name: heft, agent: heft}, {name: climb, agent: hill_climb}]
  claims:
    - {text: search wins, confidence: ours, holds: climb < heft, in: some}
    - {text: search is twice as fast, confidence: R, holds: climb * 2 < heft, in: every}
"""


def write_graph(path: pathlib.Path, parameter_bytes: int) -> None:
    """Two chains that meet every five ops, the last third of it a backward pass."""
    tensors, ops = [], []
    for v in range(GRAPH_OPS):
        tensors.append({"id": v, "bytes": 1000 * (1 + v % 7), "role": "parameter" if v == 0 else "activation"})
        inputs = [u for u in ([v - 2] + ([v - 1] if v % 5 == 0 else [])) if u >= 0]
        cost = 1000 * (1 + v * v % 50)
        ops.append({"id": v, "name": f"net/block{v // 10}/op{v}", "kind": f"kind{v % 3}", "inputs": inputs,
                    "outputs": [v], "phase": "forward" if v < 2 * GRAPH_OPS / 3 else "backward",
                    "cost_ns": {"g": cost, "c": 4 * cost}})
    tensors[0]["bytes"] = parameter_bytes
    path.write_text(json.dumps({"format": "emplace-graph", "version": 1, "name": path.stem, "tensors": tensors,
                                "ops": ops}))


class Dom(html.parser.HTMLParser):
    """Every element with its attributes, and the text in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text_of: dict[int, str] = {}
        self._open: list[int] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        index = len(self.elements) - 1
        self.text_of[index] = ""
        if tag not in ("meta", "br", "link", "img", "input"):
            self._open.append(index)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.text_of[len(self.elements) - 1] = ""

    def handle_endtag(self, tag):
        while self._open and self.elements[self._open.pop()][0] != tag:
            pass

    def handle_data(self, data):
        for index in self._open:
            self.text_of[index] += data

    def find(self, key: str, value: str | None = None) -> list[dict[str, str | None]]:
        return [a for _, a in self.elements if key in a and (value is None or a[key] == value)]

    def text(self, identifier: str) -> str:
        return next(self.text_of[i] for i, (_, a) in enumerate(self.elements) if a.get("id") == identifier)


HEADLESS = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--virtual-time-budget=5000", "--dump-dom"]


def browse(page: pathlib.Path, fragment: str = "") -> tuple[Dom, list[str]]:
    """The page after its scripts have run, and every URL that the browser asked the network for."""
    log = page.with_suffix(".net.json")
    command = [*HEADLESS, "--disable-background-networking", "--disable-component-update",
               "--host-resolver-rules=MAP * ~NOTFOUND", f"--log-net-log={log}", "--net-log-capture-mode=Everything",
               "--window-size=1400,2000", f"--user-data-dir={page.parent / 'profile'}", page.as_uri() + fragment]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    text = log.read_text()
    try:
        events = json.loads(text)["events"]
    except json.JSONDecodeError:  # the browser ended before it had closed the list
        events = json.loads(text.rstrip().rstrip(",") + "]}")["events"]
    urls = [event["params"]["url"] for event in events if "url" in event.get("params", {})]
    return Dom(done.stdout), urls


@unittest.skipUnless(BROWSER, "needs Chromium (chromium-headless-shell)")
@unittest.skipUnless(HAVE_H5PY, "needs h5py (scripts/requirements-results.txt)")
@unittest.skipUnless(os.access(PROGRAM, os.X_OK), f"needs the program {PROGRAM}")
class ReportCase(unittest.TestCase):
    """A folder with the configs of a run and of a sweep, for commands."""

    run_config = RUN

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        write_graph(cls.path / "graph.json", 1000)
        write_graph(cls.path / "tight.json", 2 << 30)  # fits on the CPU only
        (cls.path / "cluster.yaml").write_text(CLUSTER)
        (cls.path / "run.yaml").write_text(cls.run_config)
        (cls.path / "sweep.yaml").write_text(SWEEP)
        cls.emplace("run", "run.yaml", "-o", "run.h5", "--quiet")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    @classmethod
    def emplace(cls, *arguments: str) -> None:
        done = subprocess.run([PROGRAM, *arguments], cwd=cls.path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr


class ReportInBrowser(ReportCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.emplace("stress", "run.h5", "--draws", "9", "--steps", "10", "--quiet")
        cls.emplace("report", "run.h5", "-o", "run.html", "--title", "A <run> & more")

    def check_sound(self, dom: Dom, urls: list[str]) -> None:
        self.assertIsNone(dom.elements[0][1].get("data-errors"))
        self.assertIn("data-shown", dom.elements[0][1])
        self.assertEqual([url for url in urls if not url.startswith(("file:", "data:"))], [])
        for tag, attributes in dom.elements:
            self.assertNotIn("src", attributes, tag)
            if "href" in attributes:
                self.assertEqual(attributes["href"][0], "#", tag)
            self.assertNotIn(tag, ("link", "iframe", "object", "embed", "img"))

    def test_a_plan_has_a_picture(self) -> None:
        self.assertEqual(browse(self.path / "run.html")[0].find("id", "plan")[0].get("hidden"), "")
        (self.path / "plan.yaml").write_text(RUN + "plan: {replicas: 2, micro_batches: 2}\n")
        self.emplace("run", "plan.yaml", "-o", "plan.h5", "--quiet")
        self.emplace("report", "plan.h5")
        dom, urls = browse(self.path / "plan.html")
        self.check_sound(dom, urls)
        self.assertNotIn("hidden", dom.find("id", "plan")[0])
        self.assertEqual(len(dom.find("class", "plan-picture")), 1)
        self.assertIn("replica 1", dom.text("plan"))

    def test_shows_what_the_file_says(self) -> None:
        import h5py

        dom, urls = browse(self.path / "run.html", "#level=2")
        self.check_sound(dom, urls)
        rows = {}
        agent = None
        for _, attributes in dom.elements:
            agent = attributes.get("data-agent", agent)
            if "data-median" in attributes:
                rows[agent] = {key: int(attributes["data-" + key]) for key in ("median", "min", "max")}
        with h5py.File(self.path / "run.h5") as file:
            table = dom.find("id", "agents")[0]
            problem, stress = file["problem"].attrs, file["stress"]
            self.assertEqual(int(table["data-bound"]), problem["bound_ns"])
            self.assertEqual(table["data-method"], problem["bound_method"])
            self.assertEqual(table["data-optimal"] == "true", problem["optimal"] == 1)
            shares = {a["data-scenario"]: None for a in dom.find("data-scenario")}
            self.assertEqual(set(shares), set(stress["scenarios"]))
            self.assertEqual([float(a["data-top-share"]) for a in dom.find("data-top-share")],
                             [stress["scenarios"][name].attrs["top_share"] for name in shares])
            self.assertEqual([(a["data-placement"], a["data-draws"]) for a in dom.find("data-placement")],
                             [(label.decode(), "9") for label in stress["labels"][:]])
            single = file["problem"].attrs["best_single_device_ns"]
            self.assertEqual(int(table["data-best-single-device"]), single)
            times: dict[str, list[int]] = {}
            for group in file["agents"].values():
                times.setdefault(group.attrs["label"], []).append(int(group["best/outcome"].attrs["step_time_ns"]))
            self.assertEqual(set(rows), set(times))
            for agent, values in times.items():
                self.assertEqual(rows[agent], {"median": statistics.median(values), "min": min(values),
                                               "max": max(values)}, agent)
            curves = {a["data-agent"]: float(a["data-last"]) for a in dom.find("class", "curve")}
            self.assertEqual(curves, {name: statistics.median(times[name]) for name in ("hill_climb", "random")})

            drawn = dom.find("id", "drawn")[0]
            best = file["agents"][drawn["data-label"]]["best"]
            self.assertEqual(int(drawn["data-step-time"]), min(map(min, times.values())))
            self.assertEqual(int(drawn["data-step-time"]), best["outcome"].attrs["step_time_ns"])
            placement = best["placement"][:]
            names = [name.decode() for name in file["problem/device_names"][:]]
            for d, name in enumerate(names):
                row = next(a for a in dom.find("data-peak") if a["data-device"] == name)
                self.assertEqual(int(row["data-ops"]), int((placement == d).sum()))
                self.assertEqual(int(row["data-peak"]), best["outcome/peak_bytes"][d])
        canvas = dom.find("id", "gantt")[0]
        self.assertEqual(int(canvas["data-bars"]), GRAPH_OPS)
        self.assertGreater(int(canvas["data-drawn"]), 0)
        # 60 groups, so that at the finest level every op is a node of its own, in the order of the ops.
        nodes = [a for a in dom.find("data-index") if a["class"] == "node"]
        self.assertEqual([names.index(node["data-device"]) for node in nodes], list(placement))
        self.assertIn("A <run> & more", "".join(dom.text_of.values()))

    def test_sweep(self) -> None:
        import h5py

        self.emplace("sweep", "sweep.yaml", "-o", "sweep", "--quiet", "--jobs", "1")
        self.emplace("report", "sweep", "-o", "sweep.html")
        titles, oom = [], 0
        cells: dict[tuple[str, ...], list[float]] = {}  # by graph and semantics: heft, hill_climb [us]
        for index in range(4):
            dom, urls = browse(self.path / "sweep.html", f"#problem={index}")
            self.check_sound(dom, urls)
            titles.append(dom.elements[0][1]["data-shown"])
            medians = [int(a["data-median"]) for a in dom.find("data-median")]
            times: dict[str, list[int]] = {"heft": [], "hill_climb": []}
            for path in sorted((self.path / "sweep/runs").iterdir()):
                with h5py.File(path) as file:
                    config = file["config"].attrs["yaml"]
                    graph, semantics = titles[-1].split(" on ")[0], titles[-1].split()[-1]
                    if f"graph: {graph}" in config and f"semantics: {semantics}" in config:
                        (group,) = file["agents"].values()
                        outcome = group["best/outcome"].attrs
                        if outcome["feasible"]:
                            times[group.attrs["label"]].append(int(outcome["step_time_ns"]))
            self.assertEqual(len(times["hill_climb"]), 2)
            fitting = [int(statistics.median(values)) for values in times.values() if values]
            self.assertEqual(medians, sorted(fitting))
            self.assertEqual(len(dom.find("data-oom")), 2 - len(fitting))
            oom += 2 - len(fitting)
            cells[f"{graph}.json", semantics] = [
                statistics.median(values) / 1000 if values else float("inf") for values in times.values()]
        self.check_table(dom, cells)
        self.assertGreater(oom, 0)  # heft knows nothing of memory
        self.assertEqual(sorted(titles), [f"{graph}.json on cluster.yaml, semantics {semantics}"
                                          for graph in ("graph", "tight") for semantics in ("queue", "stream")])
        self.assertIn("12 done", dom.text("source"))

    def check_table(self, dom: Dom, cells: dict[tuple[str, ...], list[float]]) -> None:
        shown = iter([index for index, (_, attributes) in enumerate(dom.elements) if "data-state" in attributes])
        for row in sorted(cells):
            for value in cells[row]:
                index = next(shown)
                if value == float("inf"):
                    self.assertEqual(dom.text_of[index], "OOM")
                else:
                    self.assertAlmostEqual(float(dom.elements[index][1]["data-value"]), value)
        self.assertIsNone(next(shown, None))
        held = [climb < heft for heft, climb in cells.values()]
        by_half = [2 * climb < heft for heft, climb in cells.values()]
        self.assertEqual([a["data-verdict"] for a in dom.find("data-verdict")],
                         ["holds" if any(held) else "does not hold", "holds" if all(by_half) else "does not hold"])
        text = dom.text("claims")
        self.assertIn(f"{sum(held)} of 4", text)
        self.assertIn(f"{sum(by_half)} of 4", text)

    def test_names_are_never_markup(self) -> None:
        mark = "document.documentElement.setAttribute('data-ran',1)"
        hostile = [f"<script>{mark}</script>", f"</script><script>{mark}</script>", f"<img src=x onerror=\"{mark}\">",
                   f"\"><svg onload={mark}>", f"'><b onclick='{mark}'>", f"javascript:{mark}", "<!--<script>",
                   "\u2028\u2029{{data}}", "]]>&lt;i&gt;"]
        graph = json.loads((self.path / "graph.json").read_text())
        graph["name"] = hostile[0]
        for op in graph["ops"]:
            op["name"] = f"{hostile[op['id'] % len(hostile)]}/{op['id']}"
            op["kind"] = hostile[op["id"] % 3]
        (self.path / "hostile.json").write_text(json.dumps(graph))
        (self.path / "hostile.cluster.yaml").write_text(
            CLUSTER.replace("name: small", f"name: {json.dumps(hostile[1])}"))
        agents = [{"name": "heft", "label": hostile[2].replace("/", "|")}, {"name": "random", "label": hostile[3]}]
        (self.path / "hostile.yaml").write_text(
            RUN.replace("graph.json", "hostile.json").replace("cluster.yaml", "hostile.cluster.yaml")
            .replace("[single_gpu, heft, hill_climb, random]", json.dumps(agents)))
        self.emplace("run", "hostile.yaml", "-o", "hostile.h5", "--quiet")
        self.emplace("report", "hostile.h5", "-o", "hostile.html", "--title", hostile[1])
        dom, urls = browse(self.path / "hostile.html")
        self.check_sound(dom, urls)
        self.assertNotIn("data-ran", dom.elements[0][1])
        for tag, attributes in dom.elements:
            self.assertFalse([key for key in attributes if key.startswith("on")], tag)
        plain = browse(self.path / "run.html")[0]
        scripts = [sum(tag == "script" for tag, _ in page.elements) for page in (dom, plain)]
        self.assertEqual(scripts[0], scripts[1])
        self.assertIn(hostile[3], "".join(dom.text_of.values()))
        # It would be seen if one of them ran.
        run = self.path / "ran.html"
        run.write_text((self.path / "hostile.html").read_text().replace("<main>", f"<main>{hostile[0]}", 1))
        self.assertIn("data-ran", browse(run)[0].elements[0][1])

    def test_errors_and_requests_would_be_seen(self) -> None:
        page = (self.path / "run.html").read_text()
        broken = self.path / "broken.html"
        broken.write_text(page.replace("showHead();\n", "noSuchFunction();\n", 1))
        self.assertIn("noSuchFunction", browse(broken)[0].elements[0][1]["data-errors"])
        fetching = self.path / "fetching.html"
        fetching.write_text("<html><img src='http://example.invalid/picture.png'></html>")
        self.assertTrue(any("example.invalid" in url for url in browse(fetching)[1]))
        # The report's own policy keeps even an injected picture from being fetched.
        injected = self.path / "injected.html"
        injected.write_text(page.replace("<main>", "<main><img src='http://example.invalid/picture.png'>", 1))
        dom, urls = browse(injected)
        self.assertFalse(any("example.invalid" in url for url in urls))


if __name__ == "__main__":
    unittest.main()
