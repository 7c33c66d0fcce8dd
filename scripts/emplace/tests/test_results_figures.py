"""Tests of emplace.results: what the pictures show. Skipped where matplotlib is not installed."""

from __future__ import annotations

import os
import re
import unittest
from typing import Any

from results_support import (NAN, TestCase, add_stress, run, write_families, write_run, write_sure_validation,
                             write_validation)

import numpy as np
from matplotlib.colors import to_hex, to_rgb

from emplace.results import ResultsError, figures, load_fidelity, load_generalization, load_runs, load_stress
from emplace.results.figures import improvements
from emplace.results.layout import COLOURS, style_of
from emplace.results.summaries import best_so_far


def lines_of(axes: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def texts_of(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


class Steps(unittest.TestCase):

    def test_values_of_a_step_function(self) -> None:
        xs, best = np.array([1.0, 2.0, 3.0, 4.0]), np.array([np.inf, 5.0, 5.0, 2.0])
        np.testing.assert_equal(best_so_far(np.array([0.5, 1, 2.5, 4, 9]), [(xs, best)])[0],
                                [np.inf, np.inf, 5, 2, 2])
        np.testing.assert_equal(improvements(xs, best), [1, 2, 4])

    def test_steps_where_it_improves_are_all_of_it(self) -> None:
        chance = np.random.default_rng(2)
        for _ in range(50):
            xs = np.cumsum(chance.random(30))
            best = np.minimum.accumulate(chance.random(30).round(1))
            kept = improvements(xs, best)
            at_kept = best_so_far(kept, [(xs, best)])[0]
            np.testing.assert_equal(best_so_far(xs, [(xs, best)]), best_so_far(xs, [(kept, at_kept)]))


class Curves(TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.loaded = load_runs([
            write_run(self.path("r.h5"), [
                {"agent": "climb", "best": [4.0, 3.0, 3.0, 2.0], "seed": 0},
                {"agent": "climb", "best": [NAN, 5.0], "seed": 1},
                {"agent": "climb", "best": [6.0, 6.0, 6.0, 6.0], "seed": 2},
                {"agent": "once", "best": [3.0]}, {"agent": "never", "best": [NAN]}]),
            write_run(self.path("other.h5"), [{"agent": "once", "best": [2.5]}], cluster="d")])

    def test_medians_with_oom_as_infinite(self) -> None:
        figure = figures.learning_curves(self.loaded.runs, self.loaded.evaluations)
        first, second = figure.axes
        climb = lines_of(first)["climb"]
        # By evaluation 4, inf, 6; 3, 5, 6; (3, 5, 6); 2, 5, 6: the second search has ended.
        self.assertEqual(climb.get_xydata().tolist(), [[1, 6], [2, 5], [4, 5]])
        self.assertEqual(lines_of(first)["once"].get_xydata().tolist(), [[1, 3], [4, 3]])
        self.assertEqual(first.get_title("left"), "g on c")
        self.assertEqual((first.get_title("right"), second.get_title("right")), ("OOM: never", ""))
        self.assertEqual((first.get_xlabel(), first.get_ylabel()),
                         ("evaluations", "best step time so far [s]"))
        self.assertEqual(second.get_title("left"), "g on d")
        colours = {to_hex(lines_of(axes)["once"].get_color()) for axes in (first, second)}
        self.assertEqual(len(colours), 1)
        legend, = figure.legends
        self.assertEqual({text.get_text() for text in legend.get_texts()},
                         {"climb", "once", "bound", "range of fewer than 6 seeds"})

    def test_bands(self) -> None:
        def ends(band: str) -> list[float]:
            figure = figures.learning_curves(self.loaded.runs, self.loaded.evaluations, band=band)
            return [float(value) for band in figure.axes[0].collections
                    for value in (band.get_paths()[0].vertices[:, 1].min(),)]
        self.assertEqual(ends("range"), [2.0])
        self.assertEqual(ends("quantiles"), [2.0])  # of three seeds: their range
        self.assertEqual(ends("none"), [])

    def test_quantiles_from_six_seeds_on(self) -> None:
        loaded = load_runs(write_run(self.path("n.h5"), [
            {"agent": "climb", "best": [9.0, float(2 + seed)], "seed": seed} for seed in range(6)]))
        figure = figures.learning_curves(loaded.runs, loaded.evaluations)
        band = figure.axes[0].collections[0].get_paths()[0].vertices
        self.assertAlmostEqual(band[:, 1].min(), 2.5)  # of 2 to 7 at 0.1
        legend, = figure.legends
        self.assertIn("10 to 90 % of the seeds", {text.get_text() for text in legend.get_texts()})

    def test_the_end_is_seen(self) -> None:
        # Two searches drop from 20 s to 11 and 10.5 s at once and end at 10.2 and 10 s; others are far above.
        loaded = load_runs(write_run(self.path("n.h5"), [
            {"agent": "first", "best": [20.0, 11.0] + [10.5] * 17 + [10.2]},
            {"agent": "second", "best": [20.0, 10.5] + [10.4] * 17 + [10.0]},
            {"agent": "once", "best": [11.5]}, {"agent": "bad", "best": [24.0]}]))

        def picture(**options: float) -> tuple[float, str]:
            axes, = figures.learning_curves(loaded.runs, loaded.evaluations, **options).axes
            low, high = axes.get_ylim()
            return (10.2 - 10.0) / (high - low), axes.get_title("right")
        # After a tenth of 20 evaluations they are 1 and 0.5 s above the best end: 2 s are drawn, and room.
        apart, above = picture()
        self.assertGreater(apart, 0.08)
        self.assertEqual(above, "above: bad")
        self.assertLess(picture(top=2.5)[0], 0.02)

    def test_search_time_and_limits(self) -> None:
        figure = figures.learning_curves(self.loaded.runs, self.loaded.evaluations, x="seconds",
                                         log_x=True, top=2)
        axes = figure.axes[0]
        self.assertEqual((axes.get_xscale(), axes.get_xlabel()), ("log", "search time [s]"))
        self.assertEqual(lines_of(axes)["climb"].get_xdata().tolist(), [0.5, 1.0, 2.0])
        # From the bound, 1.5 s, to the worst end, 5 s, and 6 % of that more on both sides.
        np.testing.assert_allclose(axes.get_ylim(), [1.29, 5.21])

    def test_who_is_above(self) -> None:
        figure = figures.learning_curves(self.loaded.runs, self.loaded.evaluations, top=1.6)
        self.assertEqual(figure.axes[0].get_title("right"), "OOM: never; above: climb")  # 5 s, 1.6 x 3 s
        self.assertLess(figure.axes[0].get_ylim()[1], 5)
        with self.assertRaisesRegex(ResultsError, 'x: unknown value "hours"; choices: evaluations, seconds'):
            figures.learning_curves(self.loaded.runs, self.loaded.evaluations, x="hours")

    def test_failed_ones_and_a_single_evaluation(self) -> None:
        loaded = load_runs(write_run(self.path("n.h5"), [
            {"agent": "once", "best": [2.0]}, {"agent": "broke", "best": [], "status": "failed"}]))
        axes, = figures.learning_curves(loaded.runs, loaded.evaluations).axes
        self.assertEqual(axes.get_title("right"), "failed: broke")
        self.assertEqual((lines_of(axes)["once"].get_marker(), lines_of(axes)["once"].get_xydata().tolist()),
                         ("o", [[1, 2]]))

    def test_nothing_fits(self) -> None:
        loaded = load_runs(write_run(self.path("n.h5"), [{"agent": "never", "best": [NAN]}]))
        figure = figures.learning_curves(loaded.runs, loaded.evaluations)
        self.assertEqual(texts_of(figure.axes[0]), ["nothing fits"])


class Bars(TestCase):

    def test_medians_and_what_is_not_reached(self) -> None:
        loaded = load_runs(write_run(self.path("r.h5"), [
            {"agent": "fast", "best": [9.0, 2.0], "seed": 0},
            {"agent": "fast", "best": [9.0] * 5 + [2.0], "seed": 1},
            {"agent": "half", "best": [2.0], "seed": 0},
            {"agent": "half", "best": [3.0] * 7, "seed": 1},
            {"agent": "slow", "best": [2.5] * 8}]))
        figure = figures.efficiency_bars(loaded.runs, loaded.evaluations)
        axes, = figure.axes
        self.assertEqual([label.get_text() for label in axes.get_yticklabels()], ["fast", "half", "slow"])
        self.assertEqual(texts_of(axes), ["4", "reached by 1 of 2", "not reached"])
        ends = [bar.get_x() + bar.get_width() for bar in axes.patches]
        np.testing.assert_allclose(ends, [4, 4, 8])  # medians; of 1 and 7 evaluations; of 8
        self.assertEqual([bool(bar.get_hatch()) for bar in axes.patches], [False, True, True])
        self.assertIn("within 1% of the best agent's median\n(2 s)", axes.get_xlabel())

    def test_no_target(self) -> None:
        loaded = load_runs(write_run(self.path("r.h5"), [{"agent": "a", "best": [1.0]}]))
        with self.assertRaisesRegex(ResultsError, "no problem has a target"):
            figures.efficiency_bars(loaded.runs, loaded.evaluations, targets={"h on c": 1.0})


class Finals(TestCase):

    def test_dots_boxes_and_oom(self) -> None:
        loaded = load_runs(write_run(self.path("r.h5"), [
            *({"agent": "many", "best": [2.0 + i], "seed": i} for i in range(5)),
            {"agent": "some", "best": [9.0]}, {"agent": "some", "best": [NAN], "seed": 1},
            {"agent": "none", "best": [NAN]}]))
        figure = figures.final_step_times(loaded.runs)
        axes, = figure.axes
        self.assertEqual([label.get_text() for label in axes.get_yticklabels()], ["many", "none", "some"])
        self.assertEqual(texts_of(axes), ["OOM", "1 of 2 OOM", "bound"])
        dots = [sorted(line.get_xdata()) for line in axes.get_lines() if line.get_marker() == "o"]
        self.assertEqual(dots, [[2, 3, 4, 5, 6], [], [9]])


class Regrets(TestCase):

    def test_dots_and_what_does_not_fit(self) -> None:
        path = add_stress(write_run(self.path("r.h5"), [{"agent": "a", "best": [1.0]}]), ["a", "b"],
                          {"noise": [[100, 125], [90, 80], [-1, 80]], "slow_links": [[100, 90]]})
        figure = figures.noise_regrets(load_stress(path).draws)
        axes, = figure.axes
        self.assertEqual([label.get_text() for label in axes.get_yticklabels()], ["a", "b"])
        self.assertEqual(texts_of(axes), ["1 of 3 OOM"])
        dots = [line.get_xdata().tolist() for line in axes.get_lines() if line.get_marker() == "o"]
        self.assertEqual(dots, [[0, 12.5], [25, 0, 0]])
        code, _, err = run("regrets", path, "-o", self.path("r.svg"))
        self.assertEqual((code, err, os.path.exists(self.path("r.svg"))), (0, "", True))


class Cdfs(TestCase):

    def test_shares(self) -> None:
        rows = [(0, 0, 0, 110.0, 100.0, 100.0, 4, 1.0), (1, 0, 0, 300.0, 240.0, 200.0, 6, 3.0),
                (2, 0, 0, NAN, NAN, 100.0, 6, 3.0), (0, 1, 0, 100.0, 100.0, 100.0, 9, 5.0)]
        loaded = load_generalization(write_families(self.path("g.h5"), {"fam": rows}))
        axes, = figures.generalization_cdfs(loaded.tests).axes
        zero = lines_of(axes)["zero"]
        np.testing.assert_allclose(zero.get_xdata()[:-1], [1, 1.1, 1.5])
        np.testing.assert_allclose(zero.get_ydata(), [0, 1 / 3, 2 / 3, 2 / 3])
        self.assertEqual(texts_of(axes), ["33% OOM"])
        self.assertEqual(axes.get_xlabel(), "final step time / best known")
        best, = figures.generalization_cdfs(loaded.tests, what="best").axes
        np.testing.assert_allclose(lines_of(best)["zero"].get_xdata()[:-1], [1, 1, 1.2])
        training = load_generalization(write_families(self.path("e.h5"), {"f": []}))
        with self.assertRaisesRegex(ResultsError, "no unseen graph has been placed yet"):
            figures.generalization_cdfs(training.tests)

    def test_families_of_one_name(self) -> None:
        row = [(0, 0, 0, 110.0, 100.0, 100.0, 4, 1.0)]
        files = [write_families(self.path(name), {"fam": row}) for name in ("a.h5", "b.h5")]
        titles = [axes.get_title("left") for axes in
                  figures.generalization_cdfs(load_generalization(files).tests).axes]
        self.assertEqual(titles, ["fam [a.h5]", "fam [b.h5]"])


class Scatter(TestCase):

    def test_points_diagonal_and_band(self) -> None:
        loaded = load_fidelity(write_validation(self.path("v.h5"), [
            (90_000_000, -1, 100e6, 95e6, 106e6, 0.02), (220_000_000, -1, 200e6, 190e6, 210e6, 0.01)]))
        axes, = figures.fidelity_scatter(loaded.placements, loaded.graphs, band=0.1).axes
        points = next(line for line in axes.get_lines() if line.get_marker() == "o")
        self.assertEqual(points.get_xydata().tolist(), [[100, 90], [200, 220]])
        equal = lines_of(axes)["equal"]
        self.assertEqual(equal.get_xdata().tolist(), equal.get_ydata().tolist())
        self.assertEqual(axes.get_xlim(), axes.get_ylim())
        self.assertEqual(axes.get_xlabel(), "measured step time [ms]")
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        self.assertEqual(set(labels), {"equal", "± 10%", "g: mean error 25.0%, tau 1.00"})


class Errors(TestCase):

    ROWS = [(100_000_000, -1, 110e6, 1e6, 1e6, 0.0, 1e6, 1e9, 1.0, 1.0, 1.0, 1_000_000, 2, 0.25),
            (200_000_000, -1, 240e6, 1e6, 1e6, 0.0, 1e6, 1e9, 2.0, 1.9, 2.1, 3_000_000, 3, 0.25)]

    def test_points_lines_and_correlations(self) -> None:
        loaded = load_fidelity(write_sure_validation(self.path("v.h5"), self.ROWS))
        figure = figures.fidelity_errors(loaded.placements, loaded.residuals,
                                         traits=("crossing bytes", "overlap", "step time"))
        crossing, overlap, step = figure.axes
        points = next(line for line in crossing.get_lines() if line.get_marker() == "o")
        np.testing.assert_allclose(points.get_xydata(), [[1, 0.1], [3, 0.2]])
        straight = crossing.get_lines()[-1]
        np.testing.assert_allclose(straight.get_xydata(), [[1, 0.1], [3, 0.2]])
        self.assertEqual(crossing.get_title(loc="left"), "crossing bytes: r +0.50, above 88% of shuffles")
        self.assertEqual(overlap.get_title(loc="left"), "overlap")
        self.assertEqual(len(overlap.get_lines()), 2)  # zero and points: no line through one place
        self.assertEqual(step.get_xlabel(), "simulated step time [ms]")
        self.assertEqual(figures.fidelity_errors(loaded.placements).axes[0].get_title(loc="left"), "crossing bytes")

    def test_what_is_not_there(self) -> None:
        old = load_fidelity(write_validation(self.path("old.h5"), [(90, -1, 100.0, 95.0, 106.0, 0.02)]))
        new = write_sure_validation(self.path("new.h5"), self.ROWS)
        both = load_fidelity([new, self.path("old.h5")])
        for placements in (old.placements, both.placements):
            with self.assertRaisesRegex(ResultsError, "old.h5: has no crossing bytes of its placements"):
                figures.fidelity_errors(placements)
        with self.assertRaisesRegex(ResultsError, "colour.*crossing bytes, crossings, overlap, step time"):
            figures.fidelity_errors(both.placements, traits=("colour",))


class Palette(unittest.TestCase):

    def test_neighbours_differ_without_colour_vision(self) -> None:
        # Perceived brightness (Rec. 709) and blue tell them apart for who cannot see red from green.
        pairs = [(0.2126 * r + 0.7152 * g + 0.0722 * b, b) for r, g, b in map(to_rgb, COLOURS)]
        for i, one in enumerate(pairs):
            for other in pairs[i + 1:]:
                self.assertGreater(max(abs(one[0] - other[0]), abs(one[1] - other[1])), 0.08)

    def test_many_names_get_other_lines(self) -> None:
        styles = style_of([f"a{i}" for i in range(20)])
        self.assertEqual(len({tuple(style.values()) for style in styles.values()}), 20)


class Program(TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.runs = write_run(self.path("r.h5"), [{"agent": "a", "best": [3.0, 2.0]},
                                                  {"agent": "b", "best": [2.5]}])
        self.families = write_families(self.path("g.h5"), {
            "fam": [(0, 0, 0, 110.0, 100.0, 100.0, 4, 1.0)]})
        self.measured = write_validation(self.path("v.h5"), [(90, -1, 100.0, 95.0, 106.0, 0.02)])
        self.sure = write_sure_validation(self.path("s.h5"), Errors.ROWS)

    def draw(self, *arguments: str, suffix: str = ".png") -> bytes:
        target = self.path("p" + suffix)
        self.assertEqual(run(*arguments, "-o", target), (0, target + "\n", ""))
        with open(target, "rb") as file:
            return file.read()

    def test_every_picture(self) -> None:
        for arguments in (["curves", self.runs, "--x", "seconds", "--log-x", "--agents", "b"],
                          ["efficiency", self.runs, "--target", "b"],
                          ["efficiency", self.runs, "--target", "2.1s"],
                          ["efficiency", self.runs, "--target", "best"],
                          ["finals", self.runs], ["cdf", self.families, "--best", "--log-x"],
                          ["cdf", self.families, "--methods", "zero"],
                          ["scatter", self.measured, "--band", "0.1"],
                          ["errors", self.sure], ["errors", self.sure, "--trait", "crossings"]):
            with self.subTest(arguments=arguments):
                self.assertTrue(self.draw(*arguments).startswith(b"\x89PNG\r\n\x1a\n"))

    def test_every_format(self) -> None:
        self.assertIn(b"<svg ", self.draw("scatter", self.measured, suffix=".svg"))
        self.assertTrue(self.draw("scatter", self.measured, suffix=".pdf").startswith(b"%PDF"))

    def test_mistakes(self) -> None:
        for arguments, message in (
                (["curves", self.runs, "-o", "p.jpg"],
                 '"p.jpg": expected a file name that ends in .png, .svg, .pdf'),
                (["curves", self.runs], "the following arguments are required: -o/--output"),
                (["curves", self.runs, "--agents", "c", "-o", "p.png"],
                 '--agents: unknown agent "c"; choices: a, b'),
                (["efficiency", self.runs, "--target", "c", "-o", "p.png"],
                 '--target: unknown agent "c"; choices: a, b; or best, or a time as in 650ms'),
                (["curves", self.runs, "--top", "1", "-o", "p.png"], '"1": expected a number above 1'),
                (["cdf", self.families, "--methods", "zero,one", "-o", "p.png"],
                 '--methods: unknown method "one"; choices: zero'),
                (["cdf", self.runs, "-o", "p.png"], "expected a results file of `emplace generalize`"),
                (["scatter", self.runs, "-o", "p.png"], "found no measurements"),
                (["curves", self.runs, "-o", self.path("no/p.png")], "No such file or directory"),
                (["curve", self.runs], "invalid choice: 'curve'")):
            with self.subTest(arguments=arguments):
                code, out, err = run(*arguments)
                self.assertEqual((code, out), (2, ""))
                self.assertIn(message, re.sub(r"\s+", " ", err))
                self.assertFalse(os.path.exists("p.png"))


if __name__ == "__main__":
    unittest.main()
