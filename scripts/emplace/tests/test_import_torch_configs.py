"""Tests of models from configs of Transformers and diffusers: what is built, what is counted, what is refused."""

from __future__ import annotations

import json
import unittest
from typing import Any

from support import graph_file, needs
from import_torch_support import Folder, needs_torch, run

TEXT = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
SMALL: dict[str, dict[str, Any]] = {
    "LlamaForCausalLM": {"model_type": "llama", **TEXT, "num_key_value_heads": 1},
    "GemmaForCausalLM": {"model_type": "gemma", **TEXT, "num_key_value_heads": 2, "head_dim": 8},
    "BertForMaskedLM": {"model_type": "bert", **TEXT},
    "BertForSequenceClassification": {"model_type": "bert", **TEXT, "num_labels": 3},
    "BertForQuestionAnswering": {"model_type": "bert", **TEXT},
    "DebertaV2ForTokenClassification": {"model_type": "deberta-v2", **TEXT},
    "T5ForConditionalGeneration": {"model_type": "t5", "vocab_size": 40, "d_model": 16, "d_kv": 8, "d_ff": 24,
                                   "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0},
    "BartForSequenceClassification": {"model_type": "bart", "vocab_size": 40, "d_model": 16, "encoder_layers": 1,
                                      "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
                                      "encoder_ffn_dim": 24, "decoder_ffn_dim": 24},
    "MambaForCausalLM": {"model_type": "mamba", "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1,
                         "state_size": 4},
    "ViTForImageClassification": {"model_type": "vit", **TEXT, "image_size": 32, "patch_size": 8},
    "SwinForImageClassification": {"model_type": "swin", "image_size": 32, "patch_size": 2, "embed_dim": 8,
                                   "depths": [2, 2], "num_heads": [1, 2], "window_size": 4},
    "SegformerForSemanticSegmentation": {"model_type": "segformer", "image_size": 64},
    "WhisperForConditionalGeneration": {"model_type": "whisper", "vocab_size": 40, "d_model": 16, "encoder_layers": 1,
                                        "decoder_layers": 1, "encoder_attention_heads": 2,
                                        "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24,
                                        "num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 10,
                                        "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
                                        "decoder_start_token_id": 3},
    "Wav2Vec2ForCTC": {"model_type": "wav2vec2", **TEXT, "conv_dim": [8] * 7, "num_conv_pos_embeddings": 4,
                       "num_conv_pos_embedding_groups": 2},
}


class ConfigFolder(Folder):
    def config(self, config: Any, name: str = "config.json") -> str:
        return self.write(name, json.dumps(config))

    def build(self, cls: str, config: dict[str, Any], *options: str) -> tuple[dict[str, Any], str]:
        """The checked graph and what the program says."""
        code, _, err = run(self.config(config), "--class", cls, "--batch", "2", "-o", self.path("g.json"), *options)
        self.assertEqual(code, 0, f"{cls}: {err}")
        return graph_file.read(self.path("g.json")), err


@needs("torch", "transformers")
class TransformersTest(ConfigFolder):
    def parameters(self, cls: str, config: dict[str, Any]) -> int:
        """As Transformers counts them on the device that has no memory."""
        import torch
        import transformers

        made = transformers.CONFIG_MAPPING[config["model_type"]].from_dict(dict(config))
        with torch.device("meta"):
            return sum(p.numel() for p in getattr(transformers, cls)._from_config(made).parameters())

    def test_small_ones_of_many_kinds(self) -> None:
        for cls, config in SMALL.items():
            for options in ((), ("--inference",)) if cls in ("LlamaForCausalLM", "T5ForConditionalGeneration",
                                                             "SwinForImageClassification") else ((),):
                with self.subTest(cls, options=options):
                    document, _ = self.build(cls, config, *options)
                    figures = graph_file.statistics(document)
                    self.assertEqual(figures["parameters"], self.parameters(cls, config))
                    self.assertGreater(figures["forward_flops"], 0)
                    self.assertEqual(figures["backward_flops"] > 1.5 * figures["forward_flops"], not options)
                    modules = {op.get("attributes", {}).get("module", "") for op in document["ops"]}
                    self.assertFalse([m for m in modules if m.startswith("model.model.")])  # their own paths

    def test_llama_by_hand(self) -> None:
        """2 sequences of 6 words: 12 rows through, per layer, q and o of 16x16, k and v of 16x8, three of 16x24, and
        the head 16x40; and attention's two products, each 2 heads of 6x8 by 8x6, for 2 sequences."""
        document, _ = self.build("LlamaForCausalLM", SMALL["LlamaForCausalLM"], "--seq", "6")
        products = 12 * (2 * (2 * 16 * 16 + 2 * 16 * 8 + 3 * 16 * 24) + 16 * 40)
        attention = 2 * 2 * 2 * 2 * 6 * 8 * 6  # layers, products, sequences, heads
        self.assertEqual(graph_file.statistics(document)["forward_flops"], 2 * (products + attention))
        self.assertEqual([t["shape"] for t in document["tensors"] if t.get("role") == "input"][:2], [[2, 6], [2, 6]])

    def test_work_as_pytorch_counts_it(self) -> None:
        """FlopCounterMode around a real step of the same model, with attention's products apart."""
        import torch
        import transformers
        from torch.utils.flop_counter import FlopCounterMode

        config = SMALL["LlamaForCausalLM"]
        document, _ = self.build("LlamaForCausalLM", config, "--seq", "6", "--attention", "eager")
        model = transformers.LlamaForCausalLM._from_config(
            transformers.LlamaConfig.from_dict(dict(config)), attn_implementation="eager")
        words = torch.zeros(2, 6, dtype=torch.int64)
        with FlopCounterMode(display=False) as counter:
            model(input_ids=words, labels=words).loss.backward()
        figures = graph_file.statistics(document)
        self.assertEqual(figures["forward_flops"] + figures["backward_flops"], counter.get_total_flops())

    def test_mixture_of_experts(self) -> None:
        """Grouped products have the work of the experts chosen, 2 of 4, whatever the load: 12 words x 2 experts
        through 16x48 (gate and up) and 24x16, in one layer."""
        config = {"model_type": "mixtral", **TEXT, "num_hidden_layers": 1, "num_local_experts": 4,
                  "num_experts_per_tok": 2, "num_key_value_heads": 2}
        document, err = self.build("MixtralForCausalLM", config, "--seq", "6")
        work = [op["flops"] for op in document["ops"]
                if op["kind"] == "aten._grouped_mm" and op.get("phase", "forward") == "forward"]
        self.assertEqual(work, [2 * 24 * 16 * 48, 2 * 24 * 24 * 16])
        backward = [op["flops"] for op in document["ops"]
                    if op["kind"] == "aten._grouped_mm" and op.get("phase") == "backward"]
        self.assertEqual(sorted(backward), sorted(2 * work))
        self.assertIn("load of the experts x 1", err)

    def test_what_depends_on_chance_or_labels_is_told(self) -> None:
        _, err = self.build("Wav2Vec2ForCTC", SMALL["Wav2Vec2ForCTC"])
        self.assertIn("layerdrop 0.1 x 1: layers that are randomly left out", err)
        self.assertRegex(err, r"choice by the value of input 'labels' x \d+: the value of the example was used at "
                              r"loss/loss_ctc.py:\d+")

    def test_issue_words_and_class_of_the_config(self) -> None:
        path = self.config({**SMALL["LlamaForCausalLM"], "architectures": ["LlamaForCausalLM"]})
        documents = []
        for arguments in (("--transformers", path, "--class", "LlamaForCausalLM", "--loss"), (path,)):
            documents.append(self.imported(*arguments))
        self.assertEqual(documents[0], documents[1])
        self.assertEqual(documents[0]["source"]["model"], "LlamaForCausalLM of config.json")
        self.assertEqual(documents[0]["source"]["loss"], "model")

    def test_class_without_a_loss(self) -> None:
        config = self.config(SMALL["BertForMaskedLM"])
        self.refused("BertModel computes no loss; give --loss mean", config, "--class", "BertModel")
        document, _ = self.build("BertModel", SMALL["BertForMaskedLM"], "--loss", "mean", "--input", "attention_mask")
        self.assertEqual(document["source"]["loss"], "mean")
        self.assertIn("attention_mask", [t["name"] for t in document["tensors"] if t.get("role") == "input"])

    def test_step_without_loss(self) -> None:
        """Two results: the words' [2, 6, 40] and the order of sentences [2, 2]; no labels, no update."""
        config = {**SMALL["BertForMaskedLM"]}
        document, _ = self.build("BertForPreTraining", config, "--seq", "6", "--loss", "none", "--optimizer", "none",
                                 "--attention", "eager", "--capture", "eager", "--input", "attention_mask")
        self.assertEqual([t["name"] for t in document["tensors"] if t.get("role") == "input"],
                         ["input_ids", "attention_mask"])
        ones = [document["tensors"][op["outputs"][0]]["shape"] for op in document["ops"]
                if op["kind"] == "aten.ones_like" and op.get("phase") == "backward"]
        self.assertEqual(ones, [[2, 6, 40], [2, 2]])
        self.assertFalse([op for op in document["ops"] if op.get("phase") == "update" or "loss" in op["kind"]])
        figures = graph_file.statistics(document)
        self.assertEqual(figures["backward_flops"], 2 * figures["forward_flops"])

    def test_refused(self) -> None:
        llama = SMALL["LlamaForCausalLM"]
        for config, options, expected in (
                (llama, (), "names no class under `architectures`; give --class NAME (choices for llama: LlamaFor"),
                (llama, ("--class", "LlamaForCausalLn"), "has no model class 'LlamaForCausalLn'"),
                (llama, ("--class", "BertModel"), "BertModel takes a BertConfig, but the config is a LlamaConfig"),
                ({"model_type": "lama"}, ("--class", "X"), "has no model_type 'lama'; close ones: "),
                ({**llama, "hidden_size": "wide"}, ("--class", "LlamaForCausalLM"), "LlamaConfig refuses it"),
                ({**TEXT, "model_type": "bert", "max_position_embeddings": 16},
                 ("--class", "BertForMaskedLM", "--seq", "17"), "has 16 positions, so --seq 17 is too long"),
                (SMALL["ViTForImageClassification"], ("--class", "ViTForImageClassification", "--seq", "3"),
                 "has no sequence"),
                (llama, ("--class", "LlamaForCausalLM", "--image", "3"), "has no image, so --image does not apply"),
                (llama, ("--class", "LlamaForCausalLM", "--input", "colour"), "has no such argument"),
                (llama, ("--class", "LlamaForCausalLM", "--inference", "--loss"), "--inference has no loss")):
            self.refused(expected, self.config(config), *options)

    def test_published_figures(self) -> None:
        """Parameters: GPT-2 small 124.4 M (Radford et al. 2019; 124,439,808 in its checkpoint); ViT-B/16 86.6 M and
        17.6 GMAC an image (torchvision's table of weights); Llama 2 7B 6.74 G (Touvron et al. 2023)."""
        gpt2, _ = self.build("GPT2LMHeadModel", {"model_type": "gpt2"}, "--seq", "8")
        self.assertEqual(graph_file.statistics(gpt2)["parameters"], 124_439_808)
        vit, _ = self.build("ViTForImageClassification", {"model_type": "vit", "num_labels": 1000}, "--inference")
        self.assertEqual(graph_file.statistics(vit)["parameters"], 86_567_656)
        self.assertAlmostEqual(graph_file.statistics(vit)["forward_flops"] / 2 / 2e9, 17.56, places=1)
        llama, _ = self.build("LlamaForCausalLM", {"model_type": "llama"}, "--seq", "8")  # its defaults are those of 7B
        figures = graph_file.statistics(llama)
        self.assertEqual(figures["parameters"], 6_738_415_616)
        # All parameters but the table of words (looked up) and the 65 norms multiply each of 16 words.
        weights = 6_738_415_616 - 32000 * 4096 - 65 * 4096
        self.assertEqual(figures["forward_flops"], 2 * 16 * weights + 32 * 2 * 2 * 2 * 8 * 8 * 4096)


@needs("torch", "diffusers")
class DiffusersTest(ConfigFolder):
    UNET = {"_class_name": "UNet2DConditionModel", "sample_size": 8, "block_out_channels": [32, 64],
            "layers_per_block": 1, "cross_attention_dim": 16, "attention_head_dim": 8, "norm_num_groups": 8,
            "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
            "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"]}

    def test_u_net(self) -> None:
        import diffusers
        import torch

        document = self.imported(self.config(self.UNET), "--batch", "2")
        with torch.device("meta"):
            model = diffusers.UNet2DConditionModel.from_config(dict(self.UNET))
        figures = graph_file.statistics(document)
        self.assertEqual(figures["parameters"], sum(p.numel() for p in model.parameters()))
        self.assertEqual([(t["name"], t["shape"]) for t in document["tensors"] if t.get("role") == "input"][:4],
                         [("sample", [2, 4, 8, 8]), ("timestep", [2]), ("encoder_hidden_states", [2, 77, 16]),
                          ("target", [2, 4, 8, 8])])
        self.assertIn("conv_in/convolution", [op["name"] for op in document["ops"]])

    def test_refused(self) -> None:
        self.refused("has no model class 'NoNet'", self.config({"_class_name": "NoNet"}))
        self.refused("--loss applies to a config of Transformers", self.config(self.UNET), "--loss", "mean")
        self.refused("--image PIXELS", self.config({**self.UNET, "sample_size": None}))


class BrokenConfigTest(ConfigFolder):
    @needs_torch
    def test_no_config(self) -> None:
        self.refused("neither `model_type` (Transformers) nor `_class_name`", self.config({"a": 1}))

    def test_broken_file(self) -> None:
        self.refused("no.json: cannot be read: No such file", self.path("no.json"))
        self.refused("broken.json:1: is not JSON: ", self.write("broken.json", '{"model_type": '))
        self.refused("holds a JSON list, expected an object", self.config([1]))


if __name__ == "__main__":
    unittest.main()
