"""Graphs of published steps from the configs of their models, by `emplace import --from torch`.

The tables of NeuSight show the sizes: hidden size and tokens in the shapes of layer norm, heads in those of the
products of attention, the inner size and the vocabulary in those of the linear layers, positions in the causal mask.
Layers are num_layer. Dropout and activations are the defaults of the classes; the tables have the same ops.
The programs ran without a compiler, so that each op is one that PyTorch launches (`--capture eager`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import pathlib
import re
import tempfile
from typing import Any, Iterator, Mapping
from unittest import mock

from ..importers import Imported, ImportFailure, graph_file, read, require
from .tables import LeftOut, PublishedFailure

_CASE = re.compile(r"(?:.+/)?(?P<model>.+)-(?P<mode>inf|train)-(?P<seq>\d+)-(?P<batch>\d+)")


@dataclasses.dataclass(frozen=True)
class Model:
    """A model of Transformers.

    inference, training: its classes. config: keys of its config.json. inputs: other inputs than tokens.
    """

    inference: str
    training: str
    config: Mapping[str, Any]
    inputs: tuple[str, ...] = ()


def _gpt2(hidden: int, layers: int, heads: int, positions: int) -> Model:
    return Model("GPT2LMHeadModel", "GPT2LMHeadModel",
                 {"model_type": "gpt2", "vocab_size": 50257, "hidden_size": hidden, "num_hidden_layers": layers,
                  "num_attention_heads": heads, "n_inner": 4 * hidden, "max_position_embeddings": positions})


MODELS = {
    "bert_large": Model("BertForSequenceClassification", "BertForPreTraining",
                        {"model_type": "bert", "vocab_size": 30522, "hidden_size": 1024, "num_hidden_layers": 24,
                         "num_attention_heads": 16, "intermediate_size": 4096, "max_position_embeddings": 512},
                        ("attention_mask",)),
    "gpt2_large": _gpt2(1280, 36, 20, 1024),
    "gpt3_xl": _gpt2(3072, 24, 24, 2048),
    "gpt3_27": _gpt2(2560, 32, 32, 2048),
    "opt_13": Model("OPTForCausalLM", "OPTForCausalLM",
                    {"model_type": "opt", "vocab_size": 50272, "hidden_size": 2048, "word_embed_proj_dim": 2048,
                     "num_hidden_layers": 24, "num_attention_heads": 32, "ffn_dim": 8192,
                     "max_position_embeddings": 2048}),
}


def graph(case: str, num_layers: int, folder: pathlib.Path) -> dict[str, Any] | LeftOut:
    """Returns the graph of a step: the file FOLDER/MODEL-MODE-SEQ-BATCH.json.gz, which is made if it is not there.

    num_layers: the published number of layers; 0: not published.
    Throws PublishedFailure for a damaged file, and if a package is missing.
    """
    name = case.rpartition("/")[2]
    path = folder / f"{name}.json.gz"
    if path.exists():
        return _read(path)
    parts = _CASE.fullmatch(case)
    model = MODELS.get(parts["model"]) if parts else None
    if parts is None or model is None:
        return LeftOut(case, f"no graph file in {folder} and no config of the model (configs: {', '.join(MODELS)})")
    layers = model.config["num_hidden_layers"]
    if num_layers not in (0, layers):
        return LeftOut(case, f"num_layer is {num_layers}, but the config of {parts['model']} has {layers} layers")
    try:
        require(("torch", "transformers"), "torch")
        imported = _imported(model, parts["mode"] == "train", int(parts["seq"]), int(parts["batch"]))
    except ImportFailure as failure:
        raise PublishedFailure(f"{path}: is not there and cannot be made: {failure}") from None
    imported.write(path)
    return imported.document


def _read(path: pathlib.Path) -> dict[str, Any]:
    try:
        document = graph_file.read(path)
        errors = graph_file.check(document)
    except (OSError, EOFError, ValueError) as error:
        raise PublishedFailure(f"{path}: cannot be read: {error}") from None
    if errors:
        raise PublishedFailure(f"{path}: {errors[0]}")
    return document


def _imported(model: Model, training: bool, seq: int, batch: int) -> Imported:
    positions = max(seq, model.config["max_position_embeddings"])
    mode: dict[str, Any] = {"optimizer": "none", "loss": "none"} if training else {"inference": True}
    with tempfile.TemporaryDirectory(prefix="emplace_published_") as folder:
        config = pathlib.Path(folder, "config.json")
        config.write_text(json.dumps({**model.config, "max_position_embeddings": positions}), encoding="utf-8")
        with _measured_attention():
            imported = read(str(config), "torch", model_class=model.training if training else model.inference,
                            input=list(model.inputs), attention="eager", capture="eager", dtype="f32", seq=seq,
                            batch=batch, **mode)
    if model.config["model_type"] == "opt":
        imported.document["source"]["attention"] = "eager, of Transformers 4.46"
    return imported


@contextlib.contextmanager
def _measured_attention() -> Iterator[None]:
    """Gives OPT the attention of Transformers 4.46, as in the tables.

    It copies queries, keys and values, and limits scores by torch.max(), whose backward pass takes 9 % of a step.
    """
    torch: Any = importlib.import_module("torch")
    modeling: Any = importlib.import_module("transformers.models.opt.modeling_opt")

    def attention(module: Any, query: Any, key: Any, value: Any, mask: Any, dropout: float = 0.0, **_: Any) -> Any:
        query, key, value = query.contiguous(), key.contiguous(), value.contiguous()
        scores = torch.matmul(query, key.transpose(-1, -2)) + mask  # OPT multiplies queries by the scale before
        scores = torch.max(scores, torch.tensor(torch.finfo(scores.dtype).min, device=scores.device))
        weights = torch.nn.functional.dropout(torch.softmax(scores, dim=-1), dropout, module.training)
        return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights

    with mock.patch.object(modeling, "eager_attention_forward", attention):
        yield
