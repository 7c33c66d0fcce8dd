"""Tests of the targets' own rules, and of the search over splits."""

import unittest

from place_support import transformer

from emplace.place import layers, local_search, ort_rules
from emplace.place.grain import PlaceFailure
from emplace.place.llama_cpp_target import LlamaCppTarget
from emplace.place.pipeline_targets import DeepSpeedTarget, VllmTarget
from emplace.place.targets import TARGETS, find


class OnnxRuntimeRules(unittest.TestCase):
    def test_annotations(self) -> None:
        rules = ort_rules.parse("gpu(enc, =head); cpu(=encoder_0, emb)")
        self.assertEqual(rules[1], ort_rules.Rule("gpu", "head", True))
        self.assertEqual(ort_rules.device_by_annotation("encoder_0", rules), "gpu")  # a prefix before a whole
        self.assertEqual(ort_rules.device_by_annotation("head", rules), "gpu")
        self.assertIsNone(ort_rules.device_by_annotation("head_1", rules))
        self.assertEqual(ort_rules.device_by_annotation("embedding", rules), "cpu")

    def test_names_by_the_longest_pattern(self) -> None:
        rules = ort_rules.parse("gpu(layers.1); cpu(layers.1/up, norm)")
        names = ("m/layers.1/up/MatMul", "m/layers.10/up/MatMul", "m/norm", "x")
        self.assertEqual([ort_rules.device_by_name(name, rules) for name in names], ["cpu", "gpu", "cpu", None])

    def test_what_is_refused(self) -> None:
        for text, message in [("gpu enc", r"expected DEVICE\(PATTERN"), ("(a)", r"expected DEVICE"),
                              ("gpu(a); cpu(a)", "'a' is used twice")]:
            with self.assertRaisesRegex(PlaceFailure, message):
                ort_rules.parse(text)
        with self.assertRaisesRegex(PlaceFailure, "does not know '='"):
            ort_rules.device_by_name("a", ort_rules.parse("gpu(=a)"))
        self.assertEqual([ort_rules.can_be_pattern(name) for name in ("/a/b", "", "=a", "a,b", "a(1)", " a")],
                         [True, False, False, False, False, False])


class Layers(unittest.TestCase):
    def test_parts(self) -> None:
        document, parts, count = layers.split(transformer(3))
        self.assertEqual(count, 3)
        by_name = dict(zip([op["name"] for op in document["ops"]], parts))
        self.assertEqual([by_name[name] for name in ("embed.weight", "embed/mm", "layers.0.up.weight", "layers.2/add",
                                                     "norm.weight", "head/mm")], [0, 0, 1, 3, 4, 4])

    def test_tied_weights_are_at_both_ends(self) -> None:
        document, parts, _ = layers.split(transformer(2, tied=True))
        by_name = dict(zip([op["name"] for op in document["ops"]], parts))
        self.assertEqual(sorted(by_name[name] for name in by_name if name.startswith("embed.weight")), [0, 3])
        self.assertEqual(layers.as_grain(document, parts, 2).names[-1], "behind the layers")

    def test_no_row_of_layers(self) -> None:
        with self.assertRaisesRegex(PlaceFailure, "no sequence of layers"):
            layers.split(transformer(1))


class LlamaCpp(unittest.TestCase):
    def target(self, count: int) -> LlamaCppTarget:
        target = LlamaCppTarget.__new__(LlamaCppTarget)
        target.layers, target.gpus = count, [1, 2]
        target.places = lambda: [0, 1, 2]
        return target

    def test_its_rule(self) -> None:
        """8 layers and the output, 9 in all. Shares 3 : 1 of 9: i / 9 < 0.75 for i up to 6, so 7 and 2."""
        self.assertEqual(self.target(8)._by_rule(9, [3.0, 1.0]), (0, 7, 2))
        self.assertEqual(self.target(8)._by_rule(4, [1.0, 1.0]), (5, 2, 2))
        self.assertEqual(self.target(8)._by_rule(0, [1.0, 1.0]), (9, 0, 0))
        self.assertEqual(self.target(8)._by_rule(99, [0.0, 1.0]), (0, 0, 9))

    def test_counts_as_shares_give_the_counts(self) -> None:
        target = self.target(12)
        for on_cpu in range(14):
            for first in range(14 - on_cpu):
                counts = (on_cpu, first, 13 - on_cpu - first)
                self.assertEqual(target._by_rule(13 - on_cpu, counts[1:]), counts)

    def test_overrides(self) -> None:
        target = self.target(4)
        self.assertEqual(target._overrides((1, 2, 2)), [r"blk\.(0)\.=CPU", r"blk\.(1|2)\.=CUDA0", r"blk\.(3)\.=CUDA1",
                                                        "^output=CUDA1"])
        self.assertEqual(target._by_overrides(",".join(target._overrides((1, 2, 2)))), [0, 1, 1, 2, 2])


class Pipelines(unittest.TestCase):
    def test_equal_layers(self) -> None:
        """14 layers in 4 stages: 3 each; vLLM gives the 2 left to the stages before the last one."""
        vllm, deepspeed = VllmTarget.__new__(VllmTarget), DeepSpeedTarget.__new__(DeepSpeedTarget)
        for target in (vllm, deepspeed):
            target.gpus, target.layers = [1, 2, 3, 4], 14
            target.places = lambda: [1, 2, 3, 4]
        self.assertEqual(vllm.defaults()[0][1], (3, 4, 4, 3))
        self.assertEqual(deepspeed.defaults()[0][1], (4, 4, 4, 4))  # of 16: with both ends
        self.assertEqual(vllm.devices((8, 6, 0, 0)), [1] + [1] * 8 + [2] * 6 + [2])
        with self.assertRaisesRegex(PlaceFailure, "got stages of 9, 6; expected at most 4 of 14"):
            vllm.of_stages([9, 6])

    def test_all_splits(self) -> None:
        """5 items on up to 3 stages: 1 + 4 + 6."""
        target = VllmTarget.__new__(VllmTarget)
        self.assertEqual(len(set(target._all_splits(5, 3))), 11)


class LocalSearch(unittest.TestCase):
    def test_climbs_to_the_best(self) -> None:
        goal = (2, 0, 1, 2)
        found, value = local_search.climb(
            lambda many: [sum(a != b for a, b in zip(goal, one)) for one in many], [(0, 0, 0, 0)],
            [lambda here: local_search.single_changes(here, range(3))], seconds=60)
        self.assertEqual((found, value), (goal, 0))

    def test_later_neighbourhoods_help_where_earlier_ones_end(self) -> None:
        """A sum of 2 is wanted at all cost: no single change keeps it, a swap does."""
        def evaluate(many: list[tuple[int, ...]]) -> list[tuple[int, int]]:
            return [(abs(sum(one) - 2), sum(place * choice for place, choice in enumerate(one))) for one in many]

        singles = [lambda here: local_search.single_changes(here, range(3))]
        start = [(0, 0, 0, 1, 1)]
        self.assertEqual(local_search.climb(evaluate, start, singles, seconds=60)[0], (0, 0, 0, 1, 1))
        self.assertEqual(local_search.climb(evaluate, start, [*singles, local_search.swaps], seconds=60)[0],
                         (1, 1, 0, 0, 0))

    def test_swaps(self) -> None:
        self.assertEqual(local_search.swaps((0, 1, 1)), [(1, 0, 1), (1, 1, 0)])
        self.assertEqual(local_search.swaps((0, 1, 1), 1), [(1, 0, 1)])


class Menu(unittest.TestCase):
    def test_every_target(self) -> None:
        for name in TARGETS:
            self.assertEqual(find(name).name, name)
            self.assertTrue(find(name).sentence)
        with self.assertRaisesRegex(PlaceFailure, "--for tensorrt: no such target; choices: transformers, pytorch"):
            find("tensorrt")


if __name__ == "__main__":
    unittest.main()
