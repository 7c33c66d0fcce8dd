"""Eight models for `emplace import --from torch`: none was trained on or tuned with by an agent of emplace.

Each function returns (module, inputs, targets, loss) of one training step; README.md beside this file says more.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torchvision
import transformers
from torch import nn


def _classifier(module: nn.Module, batch: int, side: int = 224):
    images = torch.empty(batch, 3, side, side)
    return module, (images,), (torch.empty(batch, dtype=torch.int64),), F.cross_entropy


def densenet121(batch: int = 32):
    """G. Huang et al., Densely Connected Convolutional Networks, CVPR 2017; of torchvision."""
    return _classifier(torchvision.models.densenet121(weights=None), batch)


def mobilenet_v3(batch: int = 64):
    """A. Howard et al., Searching for MobileNetV3, ICCV 2019; the large one of torchvision."""
    return _classifier(torchvision.models.mobilenet_v3_large(weights=None), batch)


def efficientnet_b0(batch: int = 32):
    """M. Tan, Q. Le, EfficientNet, ICML 2019; of torchvision."""
    return _classifier(torchvision.models.efficientnet_b0(weights=None), batch)


class _UNet(nn.Module):
    def __init__(self, width: int = 32, depth: int = 4, classes: int = 2):
        super().__init__()

        def block(inputs: int, outputs: int) -> nn.Sequential:
            return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                                 nn.BatchNorm2d(outputs), nn.ReLU(),
                                 nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
                                 nn.BatchNorm2d(outputs), nn.ReLU())

        sizes = [width * 2**i for i in range(depth + 1)]
        self.down = nn.ModuleList(block(a, b) for a, b in zip([3] + sizes[:-1], sizes))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2)
                                for a, b in zip(sizes[:-1], sizes[1:]))
        self.merge = nn.ModuleList(block(2 * a, a) for a in sizes[:-1])
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skipped = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else F.max_pool2d(x, 2))
            skipped.append(x)
        for i in reversed(range(len(self.up))):
            x = self.merge[i](torch.cat([skipped[i], self.up[i](x)], 1))
        return self.last(x)


def unet(batch: int = 8):
    """O. Ronneberger et al., U-Net, MICCAI 2015: width 32, depth 4, 256x256, batch norm."""
    labels = torch.empty(batch, 256, 256, dtype=torch.int64)
    return _UNet(), (torch.empty(batch, 3, 256, 256),), (labels,), F.cross_entropy


class _T5(nn.Module):
    def __init__(self):
        super().__init__()
        config = transformers.T5Config(d_model=512, d_ff=1024, d_kv=64, num_layers=6, num_heads=6,
                                       feed_forward_proj="gated-gelu", vocab_size=32128,
                                       decoder_start_token_id=0, use_cache=False)
        self.model = transformers.T5ForConditionalGeneration(config)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=source, decoder_input_ids=target).logits.flatten(0, 1)


def t5(batch: int = 16, seq: int = 128):
    """C. Raffel et al., T5, JMLR 2020; T5 1.1 small of transformers."""
    source = torch.empty(batch, seq, dtype=torch.int64)
    target = torch.empty(batch, seq, dtype=torch.int64)
    labels = torch.empty(batch * seq, dtype=torch.int64)
    return _T5(), (source, target), (labels,), F.cross_entropy


class _Recommender(nn.Module):
    def __init__(self, tables: int = 26, rows: int = 200_000, width: int = 64):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width, _weight=torch.empty(rows, width))
                                    for _ in range(tables))
        self.bottom = self._mlp([13, 512, 256, width])
        pairs = (tables + 1) * tables // 2
        self.top = self._mlp([width + pairs, 1024, 1024, 512, 256, 1])
        self.register_buffer("pairs", torch.empty(pairs, dtype=torch.int64))

    @staticmethod
    def _mlp(sizes: list[int]) -> nn.Sequential:
        layers: list[nn.Module] = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    def forward(self, dense: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        rows = [x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)]
        t = torch.stack(rows, 1)
        products = torch.bmm(t, t.transpose(1, 2)).flatten(1)
        chosen = torch.index_select(products, 1, self.pairs)
        return self.top(torch.cat([x, chosen], 1)).squeeze(1)


def recommender(batch: int = 2048):
    """M. Naumov et al., DLRM, arXiv 1906.00091: 26 tables of 200,000 rows, width 64."""
    inputs = (torch.empty(batch, 13), torch.empty(batch, 26, dtype=torch.int64))
    return (_Recommender(), inputs, (torch.empty(batch),), F.binary_cross_entropy_with_logits)


class _WaveNet(nn.Module):
    def __init__(self, channels: int = 64, skip: int = 256, layers: int = 20, levels: int = 256):
        super().__init__()
        self.first = nn.Conv1d(1, channels, 1)
        dilations = [2 ** (i % 10) for i in range(layers)]
        self.gates = nn.ModuleList(nn.Conv1d(channels, channels, 2, dilation=d, padding=d)
                                   for d in dilations)
        self.filters = nn.ModuleList(nn.Conv1d(channels, channels, 2, dilation=d, padding=d)
                                     for d in dilations)
        self.residual = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in dilations)
        self.skip = nn.ModuleList(nn.Conv1d(channels, skip, 1) for _ in dilations)
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(),
                                  nn.Conv1d(skip, levels, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.shape[-1]
        x = self.first(x)
        total = None
        for gate, filter_, residual, skip in zip(self.gates, self.filters, self.residual,
                                                 self.skip):
            y = torch.sigmoid(gate(x)[..., :length]) * torch.tanh(filter_(x)[..., :length])
            total = skip(y) if total is None else total + skip(y)
            x = x + residual(y)
        return self.last(total)


def wavenet(batch: int = 8, seq: int = 8192):
    """A. van den Oord et al., WaveNet, arXiv 1609.03499: two stacks of ten dilated layers."""
    labels = torch.empty(batch, seq, dtype=torch.int64)
    return _WaveNet(), (torch.empty(batch, 1, seq),), (labels,), F.cross_entropy


class _Experts(nn.Module):
    def __init__(self, width: int, hidden: int, experts: int):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
            for _ in range(experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(self.gate(x), -1)
        return sum(weights[..., i:i + 1] * expert(x) for i, expert in enumerate(self.experts))


class _MixtureOfExperts(nn.Module):
    def __init__(self, words: int = 16384, width: int = 512, layers: int = 6, experts: int = 8):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.attention = nn.ModuleList(
            nn.ModuleDict({"norm": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width),
                           "out": nn.Linear(width, width)}) for _ in range(layers))
        self.experts = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), _Experts(width, 2 * width, experts))
            for _ in range(layers))
        self.last = nn.Linear(width, words)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embedding(x)
        for attention, experts in zip(self.attention, self.experts):
            batch, length, width = x.shape
            q, k, v = (t.view(batch, length, 8, width // 8).transpose(1, 2)
                       for t in attention["qkv"](attention["norm"](x)).chunk(3, -1))
            scores = torch.softmax(q @ k.transpose(-1, -2) * (width // 8) ** -0.5, -1)
            x = x + attention["out"]((scores @ v).transpose(1, 2).reshape(batch, length, width))
            x = x + experts(x)
        return self.last(x).flatten(0, 1)


def mixture_of_experts(batch: int = 16, seq: int = 128):
    """R. Jacobs et al., Adaptive Mixtures of Local Experts, 1991, in an encoder: every expert sees all words."""
    words = torch.empty(batch, seq, dtype=torch.int64)
    labels = torch.empty(batch * seq, dtype=torch.int64)
    return _MixtureOfExperts(), (words,), (labels,), F.cross_entropy
