"""Tests of emplace.results: loading and what is refused. Skipped where h5py and pandas are not installed."""

from __future__ import annotations

import os
import re
import shutil
import unittest

from results_support import (NAN, TestCase, add_stress, run, seal, sealed, write_families, write_run,
                             write_sure_validation, write_sweep, write_validation)

import h5py
import numpy as np

from emplace.results import ResultsError, load_fidelity, load_generalization, load_runs, load_stress
from emplace.results.files import flat_config


class Yaml(unittest.TestCase):

    def test_maps_lists_and_scalars(self) -> None:
        self.assertEqual(flat_config('graph: nmt\ncluster: "2x: k80"\nbudget:\n  evaluations: 50\n'
                                     '  seconds: 0.5\nsimulate_groups: true\ncoarsen:\n  - colocate\n'
                                     '  - scope:\n      depth: 2\nseeds: 1:3\nmoves: [a, b]\n'
                                     'deep:\n  er:\n    x: -1e-3\nempty:\nlast: none\n', "here"),
                         {"graph": "nmt", "cluster": "2x: k80", "budget.evaluations": 50,
                          "budget.seconds": 0.5, "simulate_groups": True,
                          "coarsen": "[colocate, {scope: {depth: '2'}}]", "seeds": "1:3",
                          "moves": "[a, b]", "deep.er.x": -0.001, "last": "none"})
        self.assertEqual(flat_config("", "here"), {})

    def test_damaged(self) -> None:
        with self.assertRaisesRegex(ResultsError, "(?s)x.h5: damaged YAML: .*line 1"):
            flat_config("a: [1", "x.h5")


class LoadRuns(TestCase):

    def test_interval_of_the_best(self) -> None:
        path = write_run(self.path("r.h5"), [{"agent": "climb", "best": [4.0, 2.0]}, {"agent": "never", "best": [NAN]}])
        self.assertTrue(load_runs(path).runs["interval_high_ns"].isna().all())
        with sealed(path) as file:
            file["problem"].attrs.update(interval_low_ratio=0.75, interval_high_ratio=1.5)
        runs = load_runs(path).runs
        np.testing.assert_allclose(runs["interval_low_ns"], 0.75 * runs["best_step_time_ns"])
        np.testing.assert_allclose(runs["interval_high_ns"], 1.5 * runs["best_step_time_ns"])
        self.assertEqual(int(runs["interval_high_ns"].isna().sum()), 1)

    def test_frames_of_one_file(self) -> None:
        path = write_run(self.path("r.h5"), [
            {"agent": "climb", "best": [NAN, 2.0], "updates": {"loss": [1.0, 0.5]}},
            {"agent": "never", "best": [NAN], "seed": 3, "settings": "width: 8\nppo:\n  clip: 0.2\n"},
            {"agent": "broke", "best": [], "status": "failed", "error": "no memory"}])
        loaded = load_runs(path)
        # Groups of HDF5 come in the order of their names.
        broke, climb, never = (row for _, row in loaded.runs.iterrows())
        self.assertEqual(list(loaded.runs["agent"]), ["broke", "climb", "never"])
        self.assertEqual((climb.best_step_time_ns, climb.feasible, climb.best_evaluation), (2e9, True, 1))
        self.assertTrue(np.isnan(never.best_step_time_ns))  # not the 7 of a step that cannot be made
        self.assertEqual((never.feasible, never.seed, never["deficit_bytes.gpu:0"]), (False, 3, 5))
        self.assertEqual((broke.status, broke.error, broke.evaluations), ("failed", "no memory", 0))
        self.assertTrue(np.isnan(broke["peak_bytes.gpu:0"]))
        self.assertEqual((climb["setting.depth"], never["setting.ppo.clip"]), (2, 0.2))
        self.assertEqual((climb["config.budget.evaluations"], climb["config.coarsen"], climb.problem,
                          climb.commit), (9, "[colocate, gradients]", "g on c", "abc"))
        self.assertFalse([key for key in loaded.runs if key.startswith("config.agents")])
        self.assertEqual(list(loaded.runs["ranks"]), [1, 1, 1])  # of a file that does not say it
        curve = loaded.evaluations[loaded.evaluations["run"] == climb.run]
        self.assertEqual(list(curve["evaluation"]), [0, 1])
        self.assertEqual(list(curve["feasible"]), [False, True])
        self.assertEqual(loaded.updates.to_dict("list"),
                         {"run": [climb.run] * 2, "update": [0, 1], "loss": [1.0, 0.5]})

    def test_improvements_alone(self) -> None:
        path = write_run(self.path("r.h5"), [{"agent": "a", "best": [NAN, 3.0, 3.0, 2.0]}, {"agent": "b", "best": [4.0, 4.0]}])
        some = load_runs(path, evaluations="improvements").evaluations
        self.assertEqual([list(some[c]) for c in ("run", "evaluation")], [[0, 0, 1], [1, 3, 0]])
        self.assertEqual(list(some["best_step_time_ns"]), [3e9, 2e9, 4e9])
        self.assertTrue(load_runs(path, evaluations="none").evaluations.empty)
        with self.assertRaisesRegex(ResultsError, 'unknown value "few"; choices: all, improvements, none'):
            load_runs(path, evaluations="few")

    def test_a_sweep_as_far_as_it_has_come(self) -> None:
        folder = write_sweep(self.path("s"), ["0000.h5", "0001.h5", "0002.h5"])
        for i in (0, 2):
            write_run(os.path.join(folder, "runs", f"000{i}.h5"),
                      [{"agent": "a", "best": [i + 1.0], "seed": i}], title=f"#{i} seed={i}")
        write_run(os.path.join(folder, "runs", "other.h5"), [{"agent": "no part of it", "best": [1.0]}])
        loaded = load_runs(folder)
        self.assertEqual(list(loaded.runs["title"]), ["#0 seed=0", "#2 seed=2"])
        self.assertEqual(list(loaded.runs["best_step_time_ns"]), [1e9, 3e9])
        self.assertEqual(loaded.not_run, ("#1 a with seed 1 in config 0",))
        self.assertEqual(set(loaded.runs["problem"]), {"g on c"})

    def test_runs_of_a_problem_share_the_largest_bound(self) -> None:
        search = [{"agent": "a", "best": [2.0]}, {"agent": "b", "best": [NAN]}]
        weak = write_run(self.path("weak.h5"), search, bound=1.0)
        strong = write_run(self.path("strong.h5"), [{"agent": "c", "best": [3.0, 2.5]}], bound=2.0,
                           method="branch_and_bound")
        far = write_run(self.path("far.h5"), search, cluster="d", bound=1.6)
        runs = load_runs([weak, strong, far]).runs
        self.assertEqual(list(runs["bound_ns"]), [2e9, 2e9, 2e9, 1.6e9, 1.6e9])
        self.assertEqual(list(runs["bound_method"]), ["branch_and_bound"] * 3 + ["work"] * 2)
        # 2 / 2 - 1, nothing fits, 2.5 / 2 - 1, 2 / 1.6 - 1, nothing fits.
        self.assertEqual(runs["gap"].fillna(9).tolist(), [0, 9, 0.25, 0.25, 9])
        self.assertEqual(runs["optimal"].tolist(), [True, False, False, False, False])
        self.assertEqual(load_runs(weak).runs["bound_ns"].tolist(), [1e9, 1e9])

    def test_speed_ups_are_over_the_best_single_device(self) -> None:
        search = [{"agent": "a", "best": [2.0]}, {"agent": "b", "best": [NAN]}]
        runs = load_runs([write_run(self.path("now.h5"), search, single=("gpu:2", 3.0)),
                          write_run(self.path("earlier.h5"), search)]).runs
        self.assertEqual(runs["best_single_device"].tolist(), ["gpu:2", "gpu:2", "", ""])
        self.assertEqual(runs["best_single_device_ns"].fillna(0).tolist(), [3e9, 3e9, 0, 0])
        self.assertEqual(runs["speed_up"].fillna(0).tolist(), [1.5, 0, 0, 0])  # 3 / 2; nothing fits; it does not say

    def test_nothing_of_a_sweep_is_there_yet(self) -> None:
        folder = write_sweep(self.path("s"), ["0000.h5"])
        with self.assertRaisesRegex(ResultsError, "s: there is no run yet"):
            load_runs(folder)

    def test_problems_are_told_apart(self) -> None:
        search = [{"agent": "a", "best": [1.0]}]
        one = write_run(self.path("1.h5"), search, budget=9)
        two = write_run(self.path("2.h5"), search, budget=10)  # the same agent and seed again
        far = write_run(self.path("3.h5"), search, cluster="d")
        self.assertEqual(list(load_runs([one, far]).runs["problem"]), ["g on c", "g on d"])
        self.assertEqual(list(load_runs([one, two]).runs["problem"]),
                         ["g on c, budget.evaluations=9", "g on c, budget.evaluations=10"])
        # Another agent with another budget is compared with the first.
        other = write_run(self.path("4.h5"), [{"agent": "b", "best": [1.0]}], budget=10)
        self.assertEqual(set(load_runs([one, other]).runs["problem"]), {"g on c"})
        again = shutil.copy(one, self.path("5.h5"))
        self.assertEqual(list(load_runs([one, again]).runs["problem"]),
                         [f"g on c, {one}", f"g on c, {again}"])

    def test_the_same_file_twice_counts_once(self) -> None:
        path = write_run(self.path("r.h5"), [{"agent": "a", "best": [1.0]}])
        self.assertEqual(len(load_runs([path, os.path.join(self.folder, ".", "r.h5")]).runs), 1)


class OtherCosts(TestCase):
    """Results of `emplace stress`."""

    def test_draws_and_what_became_of_the_winner(self) -> None:
        path = add_stress(write_run(self.path("r.h5"), [{"agent": "a", "best": [1.0]}]), ["a.seed0", "b, c"],
                          {"noise": [[100, 125], [-1, 80]], "slow_links": [[-1, -1]]}, epsilon=0.03)
        loaded = load_stress(path)
        self.assertEqual(loaded.draws[["scenario", "draw", "label", "step_time_ns", "regret"]].to_numpy().tolist(), [
            ["unchanged", 0, "a.seed0", 1000, 0], ["unchanged", 0, "b, c", 1001, 1001 / 1000 - 1],
            ["noise", 0, "a.seed0", 100, 0], ["noise", 0, "b, c", 125, 0.25],
            ["noise", 1, "a.seed0", np.inf, np.inf], ["noise", 1, "b, c", 80, 0],
            ["slow_links", 0, "a.seed0", np.inf, np.inf], ["slow_links", 0, "b, c", np.inf, np.inf]])
        self.assertEqual(list(loaded.scenarios["scenario"]), ["noise", "slow_links"])
        self.assertEqual(loaded.scenarios["top_share"].tolist(), [0.75, 0.75])
        self.assertEqual(loaded.adversary[["winner", "other", "epsilon"]].to_numpy().tolist(),
                         [["a.seed0", "b, c", 0.03]])

    def test_refused_without_any(self) -> None:
        path = write_run(self.path("r.h5"), [{"agent": "a", "best": [1.0]}])
        with self.assertRaisesRegex(ResultsError, "r.h5: expected results of a run after `emplace stress`; "
                                                  "found agents and config and problem"):
            load_stress(path)

    def test_on_the_command_line(self) -> None:
        search = [{"agent": "a", "best": [1.0]}]
        path = add_stress(write_run(self.path("r.h5"), search), ["a.seed0", "b"], {"noise": [[100, 125], [90, 80]]})
        alone = add_stress(write_run(self.path("alone.h5"), search), ["a.seed0"], {"noise": [[100]]})
        code, out, _ = run("export-csv", path, "--frame", "draws")
        self.assertEqual((code, len(out.splitlines())), (0, 1 + 2 + 4))
        code, out, _ = run("summarise", path, alone)
        self.assertEqual(code, 0)
        self.assertIn("r.h5: **g on c** with other costs", out)
        self.assertIn("| noise | 2 | 0.250 | 75.0% | 12.50% | OOM |", out)
        self.assertIn("b beats a.seed0 after no change found within 10%", out)
        self.assertIn("| noise | 1 | – | 75.0% | 12.50% | OOM |", out)
        code, out, _ = run("export-csv", alone, "--frame", "adversary")
        self.assertEqual((code, out), (0, "file,graph,cluster\n"))


class Refused(TestCase):

    def refused(self, path: str, message: str, load=load_runs) -> None:
        with self.assertRaises(ResultsError) as caught:
            load(path)
        self.assertTrue(str(caught.exception).startswith(path), caught.exception)
        self.assertIn(message, str(caught.exception))

    def test_no_file(self) -> None:
        self.refused(self.path("r.h5"), "No such file or directory")

    def test_no_hdf5(self) -> None:
        with open(self.path("r.h5"), "w", encoding="utf-8") as file:
            file.write("no HDF5, but long enough")
        self.refused(self.path("r.h5"), "expected a results file of emplace (HDF5), but it is not an HDF5 file")
        open(self.path("e.h5"), "w", encoding="utf-8").close()
        self.refused(self.path("e.h5"), "it is empty")

    def test_every_cut(self) -> None:
        whole = write_run(self.path("whole.h5"), [{"agent": "a", "best": [1.0]}])
        size = os.path.getsize(whole)
        for length in range(size // 8, size, size // 8):
            cut = shutil.copy(whole, self.path("cut.h5"))
            os.truncate(cut, length)
            self.refused(cut, "the checksum at its end is missing: damaged, still being copied, or written")

    def test_not_ours(self) -> None:
        with sealed(self.path("r.h5"), "w") as file:
            file["x"] = [1]
        self.refused(self.path("r.h5"), 'is "emplace-results"), found no attribute "format"')
        with sealed(self.path("r.h5")) as file:
            file.attrs["format"] = "keras"
        self.refused(self.path("r.h5"), 'found format "keras"')

    def test_other_versions(self) -> None:
        for load in (load_runs, load_generalization, load_fidelity):
            for version, message in (
                    (5, "has format version 5; this package reads up to 4: install"),
                    (3, "has format version 3, which an older version of emplace wrote; expected 4: run it again")):
                write_run(self.path("r.h5"), [], version=version)
                self.refused(self.path("r.h5"), message, load)
            with sealed(self.path("r.h5")) as file:
                del file.attrs["version"]
            self.refused(self.path("r.h5"), "expected a format version, found None", load)

    def test_damage(self) -> None:
        path = write_run(self.path("r.h5"), [{"agent": "a", "best": [1.0]}])
        self.assertEqual(len(load_runs(path).runs), 1)
        with open(path, "rb") as file:
            content = file.read()
        for place in (*range(8, len(content) - 32, 97), len(content) - 2):
            with open(path, "wb") as file:
                file.write(content[:place] + bytes([content[place] ^ 1]) + content[place + 1:])
            self.refused(path, "damaged: its checksum does not match its bytes")

    def test_written_to_by_another_program(self) -> None:
        path = write_run(self.path("r.h5"), [{"agent": "a", "best": [1.0]}])
        with h5py.File(path, "a") as file:
            file.attrs["note"] = "mine"
        self.refused(path, "the checksum at its end is missing: damaged, still being copied, or written to by another")
        self.assertEqual(len(load_runs(seal(path)).runs), 1)

    def test_something_is_missing_in_it(self) -> None:
        path = write_run(self.path("r.h5"), [{"agent": "a", "best": [1.0]}])
        with sealed(path) as file:
            del file["agents/a.seed0/evaluations"]
        self.refused(path, "damaged or incomplete results file: ")

    def test_results_of_another_kind(self) -> None:
        families = write_families(self.path("f.h5"), {"fam": []})
        self.refused(families, "expected results of `emplace run` or `emplace sweep`, found families")
        runs = write_run(self.path("r.h5"), [{"agent": "a", "best": [1.0]}])
        self.refused(runs, "`emplace generalize`, found agents and config and problem", load_generalization)
        self.refused(runs, "found no measurements", load_fidelity)
        self.refused(self.folder, "got a folder", load_generalization)

    def test_folders(self) -> None:
        self.refused(self.folder, "it has no sweep.yaml")
        folder = write_sweep(self.path("s"), ["0000.h5"])
        frozen = os.path.join(folder, "sweep.yaml")
        with open(frozen, encoding="utf-8") as file:
            text = file.read()
        for old, new, message in (
                ("version: 2", "version: 3", "has format version 3; this package reads up to 2"),
                ("emplace-sweep", "other", "expected a frozen sweep (format: emplace-sweep)"),
                ("{file", "{name", "damaged: expected runs with file, config, agent and seed"),
                *(("file: runs/0000.h5", f"file: {name}", "expected a file in the folder of the sweep, got")
                  for name in ("../x.h5", "/etc/x.h5", "runs/../../x.h5", "..", '""', '"runs/con\\0"'))):
            with open(frozen, "w", encoding="utf-8") as file:
                file.write(text.replace(old, new, 1))
            with self.assertRaisesRegex(ResultsError, re.escape(message)):
                load_runs(folder)

    def test_the_program_tells_in_a_line(self) -> None:
        code, out, err = run("summarise", self.path("no.h5"))
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(err, f"emplace.results: {self.path('no.h5')}: expected a results file of "
                              "emplace: No such file or directory\n")


class LoadGeneralization(TestCase):

    def test_tests_and_failures(self) -> None:
        path = write_families(self.path("f.h5"), {
            "fam": [(0, 0, 0, 110.0, 100.0, 100.0, 4, 1.0), (2, 1, 5, NAN, NAN, NAN, 6, 3.0)],
            "waits": []}, ["broke"])
        loaded = load_generalization(path)
        first, second = (row for _, row in loaded.tests.iterrows())
        self.assertEqual((first.graph, first.method, first.family, first.cluster), ("x", "zero", "fam", "c"))
        self.assertEqual((first.final_ratio, first.best_ratio), (1.1, 1.0))
        self.assertEqual((second.graph, second.method, second.seed, second.final_ratio),
                         ("z", "own", 5, np.inf))
        self.assertEqual(list(loaded.families["family"]), ["fam", "waits"])
        self.assertEqual(loaded.families["methods"][0], ("zero", "own"))
        self.assertEqual(list(loaded.failures["failure"]), ["broke", "broke"])

    def test_updates_of_trainings(self) -> None:
        path = write_families(self.path("f.h5"), {"fam": []})
        with sealed(path) as file:
            file["families/fam/training/gnn.seed0/updates"] = np.array(
                [(3.0,), (2.0,)], dtype=[("loss", "f8")])
        updates = load_generalization(path).updates
        self.assertEqual(updates[["family", "training", "update", "loss"]].values.tolist(),
                         [["fam", "gnn.seed0", 0, 3.0], ["fam", "gnn.seed0", 1, 2.0]])


class LoadFidelity(TestCase):

    def test_validations_and_verified_runs(self) -> None:
        path = write_validation(self.path("v.h5"), [(90, -1, 100.0, 95.0, 105.0, 0.02),
                                                    (220, 210, 200.0, 190.0, 210.0, 0.01)])
        verified = write_run(self.path("r.h5"), [{"agent": "a", "best": [1.0]}])
        with h5py.File(path) as source, sealed(verified) as target:
            source.copy("validation/g", target, "verification")
        loaded = load_fidelity([path, verified])
        self.assertEqual(list(loaded.placements["label"]), ["random 0", "random 1"] * 2)
        np.testing.assert_allclose(loaded.placements["error"], [-0.1, 0.1] * 2)
        self.assertTrue(np.isnan(loaded.placements["searched_ns"][0]))
        self.assertEqual(loaded.placements["searched_ns"][1], 210)
        self.assertEqual(list(loaded.graphs["mape"]), [0.25, 0.25])
        self.assertEqual(list(loaded.ablations["name"]), ["no host cost"] * 2)
        self.assertEqual(len(load_runs(verified).runs), 1)

    def test_intervals_and_residuals(self) -> None:
        path = write_sure_validation(self.path("v.h5"), [
            (90, -1, 100.0, 95.0, 105.0, 0.02, 80.0, 101.25, 1.0, 1.0, 1.0, 5, 2, 0.25),
            (220, 210, 200.0, 190.0, 210.0, 0.01, 195.6, 247.5, 2.0, 1.9, 2.1, 7, 3, 0.5),
            (220, 210, 250.0, 240.0, 260.0, 0.01, 195.6, 247.5, 2.5, 0.0, np.inf, 7, 3, 0.5)])
        loaded = load_fidelity(path)
        self.assertEqual(list(loaded.placements["differs"]), [False, True, False])
        self.assertEqual(loaded.graphs["verdict"][0], "errors 2.4 %: reliable for differences above 4 %")
        self.assertEqual(loaded.graphs["warnings"][0], ["the machine drifted"])
        self.assertEqual(list(loaded.placements["covered"]), [True, True, False])
        self.assertEqual(list(loaded.placements["crossing_bytes"]), [5, 7, 7])
        self.assertEqual(loaded.graphs["interval_high_ratio"][0], 1.125)
        frame = loaded.residuals
        self.assertEqual(len(frame), 8)
        self.assertEqual(list(frame["graph"].isna()), [False] * 4 + [True] * 4)
        self.assertEqual(list(frame["trait"])[:4], ["crossing bytes", "crossings", "overlap", "step time"])
        self.assertEqual(list(frame["pearson"][::4]), [0.25, 0.5])
        self.assertEqual(set(frame["placements"]), {3})
        self.assertTrue(np.isnan(frame["slope"][1]))

    def test_files_of_older_programs_have_none(self) -> None:
        loaded = load_fidelity(write_validation(self.path("v.h5"), [(90, -1, 100.0, 95.0, 105.0, 0.02)]))
        self.assertEqual(list(loaded.residuals.columns), ["file", "graph", "trait"])
        self.assertNotIn("covered", loaded.placements)
        self.assertNotIn("differs", loaded.placements)

    def test_a_sweep_whose_runs_were_verified(self) -> None:
        folder = write_sweep(self.path("s"), ["0000.h5", "0001.h5"])
        one = write_run(os.path.join(folder, "runs", "0000.h5"), [{"agent": "a", "best": [1.0]}])
        other = write_validation(self.path("v.h5"), [(90, -1, 100.0, 95.0, 105.0, 0.02)])
        with h5py.File(other) as source, sealed(one) as target:
            source.copy("validation/g", target, "verification")
        self.assertEqual(list(load_fidelity(folder).placements["simulated_ns"]), [90])


if __name__ == "__main__":
    unittest.main()
