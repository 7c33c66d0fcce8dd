"""`emplace benchmark` list, make, improve and check: on a small folder of its own, and the committed small tier."""

from __future__ import annotations

import gzip
import json
import pathlib
import subprocess
import sys
from typing import Any

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import emplace  # noqa: E402
import numpy as np  # noqa: E402
import yaml  # noqa: E402
from emplace import benchmark  # noqa: E402
from emplace.benchmark.check import check  # noqa: E402
from emplace.benchmark.command import main  # noqa: E402
from emplace.importers.graph_file import GraphBuilder  # noqa: E402
from support import called  # noqa: E402
from wheel_support import TestCase  # noqa: E402

MACHINE = """\
name: two
device_kinds: {fast: {class: gpu}, slow: {class: gpu}}
devices: [{name: a, kind: fast, memory: 1kB}, {name: b, kind: slow, memory: 1kB}]
all_to_all: {latency: 3ns, bandwidth: 1GB/s}
"""


class Case(TestCase):
    def setUp(self) -> None:
        super().setUp()
        builder = GraphBuilder("pair", {})
        value = builder.tensor("v", (), "f32", num_bytes=2)
        builder.op("first", "op", [], [value], cost_ns={"fast": 10, "slow": 20})
        builder.op("second", "op", [value], [], cost_ns={"fast": 10, "slow": 20})
        builder.op("alone", "op", [], [], cost_ns={"fast": 9, "slow": 19})
        self.write("pair.json", json.dumps(builder.document()))
        self.write("two.yaml", MACHINE)
        self.recipes({"pair": {"tier": "small", "about": "by hand", "graph": "./pair.json", "cluster": "./two.yaml",
                               "semantics": "stream"}})

    def write(self, name: str, text: str) -> None:
        pathlib.Path(self.path(name)).write_text(text, encoding="utf-8")

    def recipes(self, recipes: dict[str, Any], **origin: Any) -> None:
        self.write("instances.yaml", yaml.safe_dump({**origin, "instances": recipes}, sort_keys=False))

    def run_command(self, *arguments: str, code: int = 0) -> str:
        got, out, err = called(main, arguments[0], *arguments[1:], "--folder", self.folder)
        self.assertEqual(got, code, out + err)
        return out + err

    def known(self) -> dict[str, Any]:
        return yaml.safe_load(pathlib.Path(self.path("known.yaml")).read_text(encoding="utf-8"))["instances"]


class Instances(Case):
    def test_an_instance_holds_the_whole_problem(self) -> None:
        """All on a: 29 ns. `alone` on b: max(20, 19) = 20 ns, the optimum. An edge of 2 B takes 3 + 2 ns, so that `second`
        on b takes 15..35 there, before `alone`: 54 ns."""
        self.assertEqual(self.run_command("make"), "made pair\n")
        pathlib.Path(self.path("pair.json")).unlink()
        pathlib.Path(self.path("two.yaml")).unlink()
        one = benchmark.instance("pair", self.folder)
        self.assertEqual((one.tier, one.semantics, one.objective, one.best, one.gap), ("small", "stream", "step_time",
                                                                                      None, None))
        self.assertEqual({key: one.features[key] for key in ("num_ops", "num_groups", "num_devices", "edges",
                                                             "communication", "equal_devices", "one_device_fits")},
                         {"num_ops": 3, "num_groups": 3, "num_devices": 2, "edges": 0.33,
                          "communication": round(5 / (15 + 15 + 14), 3), "equal_devices": False,
                          "one_device_fits": True})
        problem = one.problem()
        placements = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1]], np.uint8)
        self.assertEqual(problem.evaluate(placements).step_time.tolist(), [29, 20, 54])
        self.assertEqual(problem.costs.tolist(), [[10, 20], [10, 20], [9, 19]])
        # In another order `alone` runs first on b: 39 ns of work there, after which nothing is left.
        self.assertEqual([problem.placement_bound(placement) for placement in placements], [29, 20, 39])

        self.run_command("improve", "--seconds", "0.1", "--proof", "1", "--agent", "branch_and_bound")
        one = benchmark.instance("pair", self.folder)
        assert one.best is not None and one.bound is not None
        self.assertEqual((one.best.value, one.best.by, one.bound.value, one.gap), (20, "branch_and_bound", 20, 0.0))
        self.assertEqual((one.best.any_order, one.order_gap), (20, 0.0))
        self.assertEqual(one.best_placement(problem).tolist(), [0, 0, 1])
        self.assertEqual(self.run_command("check"), "pair: ok; bound proved again\n"
                                                    "1 of 1 instances hold; 1 bounds proved again\n")
        before = self.known()
        self.run_command("improve", "--seconds", "0.1", "--proof", "1")  # solved: nothing is left to do
        self.assertEqual(self.known(), before)
        self.assertIn("pair      small    3       3        2  stream         2e-05       2e-05  0.00%  0.00%  branch_and_bound",
                      self.run_command("list"))
        self.assertEqual(json.loads(self.run_command("list", "--json"))[0]["best_ns"], 20)

    def test_a_contracted_graph_and_groups_are_frozen(self) -> None:
        recipe = {"tier": "small", "about": "x", "graph": "./pair.json", "cluster": "./two.yaml",
                  "coarsen": ["single_consumer"]}
        self.recipes({"groups": recipe, "contracted": {**recipe, "simulate_groups": True}})
        self.run_command("make")
        groups = benchmark.instance("groups", self.folder).problem()
        contracted = benchmark.instance("contracted", self.folder).problem()
        self.assertEqual((groups.num_ops, groups.num_groups), (3, 2))
        self.assertEqual((contracted.num_ops, contracted.num_groups), (2, 2))
        self.assertEqual(groups.group_of_op.tolist(), [0, 0, 1])
        self.assertEqual(contracted.costs.tolist(), [[20, 40], [9, 19]])

    def test_sources_and_licences(self) -> None:
        """The first pattern holds; an instance may have its own source and licence; without a pattern nothing is stated."""
        recipe = {"tier": "small", "about": "x", "graph": "./pair.json", "cluster": "./two.yaml"}
        self.recipes({"pair": recipe, "own": {**recipe, "source": "a paper", "licence": "MIT"}}, licence="Apache-2.0",
                     sources={"graphs": {"p*": "by hand", "pair": "not this"}, "machines": {"three": "not this"}})
        self.run_command("make")
        self.assertEqual([(one["source"], one["machine"], one["licence"]) for one in json.loads(self.run_command("list", "--json"))],
                         [("by hand", "", "Apache-2.0"), ("a paper", "", "MIT")])

    def test_the_same_recipe_gives_the_same_file(self) -> None:
        self.run_command("make")
        first = pathlib.Path(self.path("small/pair.json.gz")).read_bytes()
        self.run_command("improve", "--seconds", "0.1", "--proof", "0", "--agent", "branch_and_bound")
        self.assertEqual(self.run_command("make"), "")
        self.run_command("make", "pair")
        self.assertEqual(pathlib.Path(self.path("small/pair.json.gz")).read_bytes(), first)
        self.assertEqual(self.known()["pair"]["best"]["value"], 20)  # kept with the same content


class Known(Case):
    def test_processes_that_write_together_lose_nothing(self) -> None:
        script = ("import pathlib, sys; from emplace.benchmark.instances import store\n"
                  "for i in range(10):\n"
                  "    store(pathlib.Path(sys.argv[1]), f'{sys.argv[2]}{i}', lambda entry: {**entry, 'rounds': i})\n"
                  "    store(pathlib.Path(sys.argv[1]), 'all', lambda entry: {'rounds': entry.get('rounds', 0) + i})")
        writers = [subprocess.Popen([sys.executable, "-c", script, self.folder, name]) for name in "abc"]
        self.assertEqual([writer.wait() for writer in writers], [0, 0, 0])
        self.assertEqual(self.known(), {f"{name}{i}": {"rounds": i} for name in "abc" for i in range(10)} |
                         {"all": {"rounds": 3 * sum(range(10))}})


class Broken(Case):
    def test_check_tells_what_does_not_hold(self) -> None:
        self.run_command("make")
        self.run_command("improve", "--seconds", "0.1", "--proof", "1", "--agent", "branch_and_bound")
        entry = self.known()["pair"]
        for key, value, message in (
                ("best", {**entry["best"], "value": 19}, "pair.placement.json.gz: takes 20 ns; known.yaml says 19 ns"),
                ("best", {**entry["best"], "any_order": 21}, "takes at least 20 ns in any order; known.yaml says 21 ns"),
                ("bound", {**entry["bound"], "value": 21}, "pair: the bound 21 ns is above the best placement's 20 ns"),
                ("sha256", "0", "has another content than when its best placement and bound were found")):
            self.write("known.yaml", yaml.safe_dump({"instances": {"pair": {**entry, key: value}}}))
            out = self.run_command("check", code=1)
            self.assertIn(message, out)
            self.assertIn("0 of 1 instances hold", out)
        self.write("known.yaml", yaml.safe_dump({"instances": {"pair": {**entry, "bound": {**entry["bound"],
                                                                                          "seconds": 60}}}}))
        placement = pathlib.Path(self.path("small/pair.placement.json.gz"))
        text = gzip.decompress(placement.read_bytes()).decode()
        for old, new, message in (('"first":"a"', '"first":"z"', "op 'first': got device 'z'; choices: a, b"),
                                  ('"devices"', '"device"', 'is no placement file: it has no map "devices"')):
            placement.write_bytes(gzip.compress(text.replace(old, new).encode()))
            self.assertIn(message, self.run_command("check", code=2))
        placement.unlink()
        self.assertIn("no such placement file", self.run_command("check", code=2))

    def test_wrong_recipes_and_names(self) -> None:
        good = {"tier": "small", "about": "x", "graph": "./pair.json", "cluster": "./two.yaml"}
        for recipe, message in (({**good, "tier": "tiny"}, "instances.yaml: bad: tier: got 'tiny'; choices: small, papers, large"),
                                ({**good, "objektive": 1}, "bad: unknown key 'objektive'; did you mean 'objective'?"),
                                ({**good, "graph": "./none.json"}, "instances.yaml: bad: "),
                                ({**good, "semantics": "fast"}, "instances.yaml: bad: ")):
            self.recipes({"bad": recipe})
            self.assertIn(message, self.run_command("make", code=2))
        self.recipes({"pair": good})
        self.run_command("make")
        self.assertIn("nothing*: matches no instance", self.run_command("list", "nothing*", code=2))
        self.assertIn("unknown instance 'pear'; did you mean 'pair'?", self.run_command("make", "pear", code=2))
        with self.assertRaisesRegex(emplace.InputError, "unknown tier 'tiny'"):
            benchmark.instances("tiny", self.folder)
        pathlib.Path(self.path("small/pair.json.gz")).unlink()
        with self.assertRaisesRegex(emplace.InputError, "a wheel holds the instances of tier small only"):
            benchmark.instance("pair", self.folder).problem()


class Committed(TestCase):
    def test_the_small_tier_holds(self) -> None:
        small = benchmark.instances("small")
        self.assertGreaterEqual(len(small), 10)
        for found in check(small):
            self.assertEqual(found.errors, [], found.name)
        proven = [one for one in small if one.gap == 0]
        self.assertGreaterEqual(len(proven), 10)

    def test_every_instance_says_its_source_and_licence(self) -> None:
        for one in benchmark.instances():
            self.assertTrue(one.source and one.machine and one.licence, one.name)
        newer = {one.name: one for one in benchmark.instances("papers")}["placeto2019_nmt_280_2gpu"]
        self.assertIn("Bahdanau", newer.source)
        self.assertIn("Placeto", newer.machine)

    def test_the_other_tiers_hold(self) -> None:
        """Their files are in the source tree only. Proofs of more than 10 s are not repeated here."""
        folder = pathlib.Path(__file__).resolve().parents[4] / "configs/benchmark"
        for tier, count in (("papers", 37), ("large", 16)):
            found = list(check(benchmark.instances(tier, folder)))
            self.assertEqual([one.errors for one in found], [[]] * count)
