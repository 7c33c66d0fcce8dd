"""GPT-2 small: a pre-norm decoder with learned positions and a tied output embedding.

Radford et al., "Language Models are Unsupervised Multitask Learners", 2019. Attention is written
out (two batched products, mask, softmax), not as one fused kernel: each part can then be placed.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from . import TrainingSetup

VOCABULARY, POSITIONS = 50257, 1024
WIDTH, HEADS, LAYERS = 768, 12, 12
DROPOUT = 0.1


class CausalSelfAttention(nn.Module):
    """[batch, seq, WIDTH] -> the same; a token sees itself and those before it."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.attention_dropout = nn.Dropout(DROPOUT)
        self.output_dropout = nn.Dropout(DROPOUT)
        future = torch.ones(POSITIONS, POSITIONS, dtype=torch.bool).triu(1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, seq, _ = x.shape
        # [batch, seq, WIDTH] -> [batch, HEADS, seq, WIDTH / HEADS]
        q, k, v = (part.view(batch, seq, HEADS, -1).transpose(1, 2)
                   for part in self.qkv(x).split(WIDTH, dim=2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS)
        scores = scores.masked_fill(self.future[:seq, :seq], -math.inf)
        weights = self.attention_dropout(scores.softmax(-1))
        y = (weights @ v).transpose(1, 2).reshape(batch, seq, WIDTH)
        return self.output_dropout(self.proj(y))


class FeedForward(nn.Module):
    """[batch, seq, WIDTH] -> the same, through 4 * WIDTH."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(WIDTH, 4 * WIDTH)
        self.proj = nn.Linear(4 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.proj(F.gelu(self.fc(x), approximate="tanh")))


class Block(nn.Module):
    """Attention and feed-forward, each normalised before and added to what came in."""

    def __init__(self) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(WIDTH)
        self.attn = CausalSelfAttention()
        self.ln_2 = nn.LayerNorm(WIDTH)
        self.mlp = FeedForward()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt2(nn.Module):
    """Token ids [batch, seq] -> logits [batch, seq, VOCABULARY]."""

    def __init__(self) -> None:
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.wpe = nn.Embedding(POSITIONS, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.wte(tokens) + self.wpe(positions))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def next_token_loss(logits: torch.Tensor, next_tokens: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy; `next_tokens` [batch, seq] is the text shifted by one."""
    return F.cross_entropy(logits.view(-1, VOCABULARY), next_tokens.view(-1))


def build(batch: int, seq: int) -> TrainingSetup:
    """Inputs: tokens [batch, seq]; targets: the tokens that follow; seq <= POSITIONS."""
    tokens, next_tokens = (torch.empty(batch, seq, dtype=torch.int64) for _ in range(2))
    return TrainingSetup(Gpt2(), (tokens,), (next_tokens,), next_token_loss,
                         ("tokens",), ("next_tokens",))
