"""Graphs of published steps, from configs: small models with the arithmetic beside them, and published sizes."""

from __future__ import annotations

import pathlib
import unittest
from typing import Any
from unittest import mock

from support import Folder, graph_file, needs

from emplace.published import models
from emplace.published.tables import LeftOut, PublishedFailure

SIZES = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
         "max_position_embeddings": 8}
SMALL = {"gpt": models.Model("GPT2LMHeadModel", "GPT2LMHeadModel", {"model_type": "gpt2", "n_inner": 64, **SIZES}),
         "opt": models.Model("OPTForCausalLM", "OPTForCausalLM",
                             {"model_type": "opt", "ffn_dim": 64, "word_embed_proj_dim": 16, **SIZES})}


@needs("torch", "transformers")
class GraphTest(Folder):
    def graph(self, case: str, layers: int = 0) -> dict[str, Any]:
        with mock.patch.dict(models.MODELS, SMALL):
            document = models.graph(f"X1/{case}", layers, pathlib.Path(self.folder))
        assert isinstance(document, dict), document
        return document

    def test_a_step_by_hand(self) -> None:
        """2 sequences of 6 tokens: 12 rows through 16x48, 16x16 and twice 16x64 in each layer, and 16x40; attention has
        two products of 6x8 by 8x6 for 2 heads of 2 sequences. Backward has two products for each."""
        forward = 2 * (12 * (2 * (16 * 48 + 16 * 16 + 2 * 16 * 64) + 16 * 40) + 2 * 2 * 2 * 2 * 6 * 8 * 6)
        figures = graph_file.statistics(self.graph("gpt-inf-6-2"))
        self.assertEqual((figures["forward_flops"], figures["backward_flops"]), (forward, 0))
        document = self.graph("gpt-train-6-2", 2)
        self.assertEqual(graph_file.statistics(document)["backward_flops"], 2 * forward)
        self.assertEqual({op.get("phase", "forward") for op in document["ops"]}, {"forward", "backward"})
        self.assertEqual({key: document["source"][key] for key in ("loss", "optimizer", "capture", "dtype")},
                         {"loss": "none", "optimizer": "none", "capture": "eager", "dtype": "f32"})
        self.assertEqual(sum(op["kind"] == "aten._softmax" for op in document["ops"]), 2)

    def test_the_file_is_kept_and_read(self) -> None:
        document = self.graph("gpt-inf-6-2")
        path = pathlib.Path(self.folder, "gpt-inf-6-2.json.gz")
        self.assertEqual(graph_file.read(path)["ops"], document["ops"])
        document["source"]["mark"] = "mine"
        graph_file.write(document, path)
        self.assertEqual(self.graph("gpt-inf-6-2")["source"]["mark"], "mine")

    def test_more_tokens_than_positions(self) -> None:
        for seq, positions in ((12, 12), (4, 8)):
            document = self.graph(f"gpt-inf-{seq}-1")
            self.assertIn([positions, 16], [t["shape"] for t in document["tensors"] if t.get("role") == "parameter"])

    def test_attention_of_opt_has_the_ops_of_the_table(self) -> None:
        """Scores are limited by max(); queries, keys, values and the result are copied."""
        document = self.graph("opt-train-6-2")
        self.assertEqual(document["source"]["attention"], "eager, of Transformers 4.46")
        kinds = [op["kind"] for op in document["ops"] if op.get("attributes", {}).get("module", "").endswith("layers.1.self_attn")
                 and op.get("phase", "forward") == "forward"]
        self.assertEqual((kinds.count("aten.maximum"), kinds.count("aten.bmm"), kinds.count("aten.clone")), (1, 2, 4))

    def test_published_sizes(self) -> None:
        """The numbers of parameters with which these models are published."""
        for model, parameters in (("gpt2_large", 774_030_080), ("opt_13", 1_315_758_080)):
            document = self.graph(f"{model}-inf-16-1")
            self.assertEqual(graph_file.statistics(document)["parameters"], parameters)

    def test_refused(self) -> None:
        with mock.patch.dict(models.MODELS, SMALL):
            left = models.graph("X1/gpt-inf-6-2", 3, pathlib.Path(self.folder))
        self.assertEqual(left, LeftOut("X1/gpt-inf-6-2", "num_layer is 3, but the config of gpt has 2 layers"))
        wrong = models.Model("GPT2Model", "GPT3", SMALL["gpt"].config)
        with mock.patch.dict(models.MODELS, {"gpt": wrong}), self.assertRaisesRegex(
                PublishedFailure, "gpt-train-6-2.json.gz: is not there and cannot be made: .*no model class 'GPT3'"):
            models.graph("X1/gpt-train-6-2", 2, pathlib.Path(self.folder))


if __name__ == "__main__":
    unittest.main()
