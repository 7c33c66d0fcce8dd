"""BERT-base with its masked-language-model head (tied decoder, no next-sentence part).

Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2019. Attention is written as
separate ops (two batched products, mask, softmax), not as one fused kernel, so that each can be placed.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from . import TrainingSetup

VOCABULARY, POSITIONS, SEGMENTS = 30522, 512, 2
WIDTH, HEADS, LAYERS = 768, 12, 12
DROPOUT, EPSILON = 0.1, 1e-12
IGNORED = -100  # label of the tokens that were not masked


class Embeddings(nn.Module):
    """Token ids, segment ids [batch, seq] -> [batch, seq, WIDTH]."""

    def __init__(self) -> None:
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Embedding(POSITIONS, WIDTH)
        self.segment = nn.Embedding(SEGMENTS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, tokens: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.word(tokens) + self.segment(segments) + self.position(positions)
        return self.dropout(self.norm(x))


class SelfAttention(nn.Module):
    """[batch, seq, WIDTH] -> the same; `bias` [batch, 1, 1, seq] hides the padding."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        batch, seq, _ = x.shape
        # [batch, seq, WIDTH] -> [batch, HEADS, seq, WIDTH / HEADS]
        q, k, v = (part(x).view(batch, seq, HEADS, -1).transpose(1, 2)
                   for part in (self.query, self.key, self.value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS) + bias
        weights = self.dropout(scores.softmax(-1))
        return (weights @ v).transpose(1, 2).reshape(batch, seq, WIDTH)


class AddNorm(nn.Module):
    """Linear layer, dropout, then the sum with `residual`, normalised."""

    def __init__(self, width_in: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width_in, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)
        self.norm = nn.LayerNorm(WIDTH, eps=EPSILON)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return self.norm(self.dropout(self.dense(x)) + residual)


class Layer(nn.Module):
    """Attention and feed-forward, each normalised after the sum."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = SelfAttention()
        self.attention_output = AddNorm(WIDTH)
        self.intermediate = nn.Linear(WIDTH, 4 * WIDTH)
        self.output = AddNorm(4 * WIDTH)

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        x = self.attention_output(self.attention(x, bias), x)
        return self.output(F.gelu(self.intermediate(x)), x)


class MaskedLanguageModelHead(nn.Module):
    """[batch, seq, WIDTH] -> logits [batch, seq, VOCABULARY], decoded with `embedding`."""

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__()
        self.dense = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.decoder = nn.Linear(WIDTH, VOCABULARY)
        self.decoder.weight = embedding.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.norm(F.gelu(self.dense(x))))


class Bert(nn.Module):
    """Tokens, segments, attention mask (1 = a token, 0 = padding), each [batch, seq] -> logits."""

    def __init__(self) -> None:
        super().__init__()
        self.embeddings = Embeddings()
        self.layer = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = MaskedLanguageModelHead(self.embeddings.word)

    def forward(self, tokens: torch.Tensor, segments: torch.Tensor,
                mask: torch.Tensor) -> torch.Tensor:
        x = self.embeddings(tokens, segments)
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layer:
            x = layer(x, bias)
        return self.head(x)


def masked_token_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Returns the mean cross-entropy over the masked tokens; `labels` [batch, seq]."""
    return F.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1), ignore_index=IGNORED)


def build(batch: int, seq: int) -> TrainingSetup:
    """Builds the set-up. Inputs: tokens, segments, mask [batch, seq]; targets: labels; seq <= POSITIONS."""
    tokens, segments, mask, labels = (torch.empty(batch, seq, dtype=torch.int64)
                                      for _ in range(4))
    return TrainingSetup(Bert(), (tokens, segments, mask), (labels,), masked_token_loss,
                         ("tokens", "segments", "mask"), ("labels",))
