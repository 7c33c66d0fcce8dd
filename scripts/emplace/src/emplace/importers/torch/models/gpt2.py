"""GPT-2: a pre-norm decoder with learned positions and a tied output embedding.

Radford et al., "Language Models are Unsupervised Multitask Learners", 2019. Attention is written as
separate ops (two batched products, mask, softmax), not as one fused kernel, so that each can be placed.
"""

from __future__ import annotations

import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn

from . import TrainingSetup

DROPOUT = 0.1


@dataclasses.dataclass(frozen=True)
class Size:
    """Size of the vocabulary, the longest text [tokens], and the decoder's dimensions."""

    vocabulary: int
    positions: int
    width: int
    heads: int
    layers: int


SMALL = Size(50257, 1024, 768, 12, 12)
MINI = Size(8192, 1024, 256, 4, 4)


class CausalSelfAttention(nn.Module):
    """[batch, seq, width] -> the same; a token sees itself and those before it."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.width, self.heads = size.width, size.heads
        self.qkv = nn.Linear(size.width, 3 * size.width)
        self.proj = nn.Linear(size.width, size.width)
        self.attention_dropout = nn.Dropout(DROPOUT)
        self.output_dropout = nn.Dropout(DROPOUT)
        future = torch.ones(size.positions, size.positions, dtype=torch.bool).triu(1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, seq, _ = x.shape
        # [batch, seq, width] -> [batch, heads, seq, width / heads]
        q, k, v = (part.view(batch, seq, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).split(self.width, dim=2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.width // self.heads)
        scores = scores.masked_fill(self.future[:seq, :seq], -math.inf)
        weights = self.attention_dropout(scores.softmax(-1))
        y = (weights @ v).transpose(1, 2).reshape(batch, seq, self.width)
        return self.output_dropout(self.proj(y))


class FeedForward(nn.Module):
    """[batch, seq, width] -> the same, through 4 * width."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.fc = nn.Linear(size.width, 4 * size.width)
        self.proj = nn.Linear(4 * size.width, size.width)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.proj(F.gelu(self.fc(x), approximate="tanh")))


class Block(nn.Module):
    """Attention and feed-forward, each with a norm before it and a residual connection around it."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(size.width)
        self.attn = CausalSelfAttention(size)
        self.ln_2 = nn.LayerNorm(size.width)
        self.mlp = FeedForward(size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt2(nn.Module):
    """Token ids [batch, seq] -> logits [batch, seq, vocabulary]."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.wte = nn.Embedding(size.vocabulary, size.width)
        self.wpe = nn.Embedding(size.positions, size.width)
        self.dropout = nn.Dropout(DROPOUT)
        self.h = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.ln_f = nn.LayerNorm(size.width)
        self.lm_head = nn.Linear(size.width, size.vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.wte(tokens) + self.wpe(positions))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def next_token_loss(logits: torch.Tensor, next_tokens: torch.Tensor) -> torch.Tensor:
    """Returns the mean cross-entropy; `next_tokens` [batch, seq] is the text shifted by one."""
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), next_tokens.view(-1))


def build_small(batch: int, seq: int) -> TrainingSetup:
    return _build(SMALL, batch, seq)


def build_mini(batch: int, seq: int) -> TrainingSetup:
    return _build(MINI, batch, seq)


def _build(size: Size, batch: int, seq: int) -> TrainingSetup:
    """Builds the set-up. Inputs: tokens [batch, seq]; targets: the next tokens; seq <= size.positions."""
    tokens, next_tokens = (torch.empty(batch, seq, dtype=torch.int64) for _ in range(2))
    return TrainingSetup(Gpt2(size), (tokens,), (next_tokens,), next_token_loss,
                         ("tokens",), ("next_tokens",))
