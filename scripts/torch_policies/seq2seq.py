"""agents/seq2seq in PyTorch, without the agent's additions to the paper."""

from __future__ import annotations

from typing import Callable

import torch
from torch import Tensor, nn

from torch_policies.learner import Learner, loss_of

BENCHMARK = "BM_Seq2SeqUpdate"
SPEED = "samples"
COLUMNS = ("T", "D", "F", "H", "A", "K")


class Policy(nn.Module):
    def __init__(self, shape: dict[str, int]):
        super().__init__()
        groups, hidden, attention = shape["T"], shape["H"], shape["A"]
        types, vector, devices = shape["type_vector"], shape["device_vector"], shape["D"]
        kinds = torch.arange(groups) % shape["kinds"]
        self.register_buffer("kinds", nn.functional.one_hot(kinds, shape["kinds"]).float())
        self.register_buffer("features", torch.rand(groups, shape["F"] - types))
        self.type_vectors = nn.Parameter(torch.rand(shape["kinds"], types))
        self.encoder = nn.LSTM(shape["F"], hidden)
        self.decoder = nn.LSTMCell(hidden + vector, hidden)
        self.device_vectors = nn.Embedding(devices + 1, vector, padding_idx=devices)
        self.query, self.keys = nn.Linear(hidden, attention), nn.Linear(hidden, attention)
        self.v = nn.Parameter(torch.rand(attention) / attention**0.5)
        self.output = nn.Linear(hidden, devices)
        self.step: Callable[..., tuple[Tensor, Tensor, Tensor]] = self.decode

    def decode(self, device: Tensor, hidden: Tensor, cell: Tensor, states: Tensor, keys: Tensor):
        scores = torch.tanh(self.query(hidden)[:, None, :] + keys) @ self.v
        context = torch.softmax(scores, dim=1) @ states
        decoder_input = torch.cat([self.device_vectors(device), context], dim=1)
        hidden, cell = self.decoder(decoder_input, (hidden, cell))
        return torch.log_softmax(self.output(hidden), dim=1), hidden, cell

    def forward(self, samples: int) -> tuple[Tensor, Tensor]:
        """Returns log-probabilities of `samples` placements, and their entropies: [samples] each."""
        states, (hidden, cell) = self.encoder(
            torch.cat([self.kinds @ self.type_vectors, self.features], dim=1))
        keys = self.keys(states)
        hidden, cell = hidden.expand(samples, -1), cell.expand(samples, -1)
        device = torch.full((samples,), self.device_vectors.padding_idx)
        steps, devices = [], []
        for _ in range(len(states)):
            log_probabilities, hidden, cell = self.step(device, hidden, cell, states, keys)
            with torch.no_grad():
                device = torch.multinomial(log_probabilities.exp(), 1)[:, 0]
            steps.append(log_probabilities)
            devices.append(device)
        everything = torch.stack(steps)
        picked = everything.gather(2, torch.stack(devices)[:, :, None])
        return picked.sum(dim=(0, 2)), -(everything.exp() * everything).sum(dim=(0, 2))


class Seq2SeqLearner(Learner):
    def __init__(self, shape: dict[str, int], threads: int, compiled: bool):
        torch.manual_seed(1)
        policy = Policy(shape)
        if compiled:
            policy.step = torch.compile(policy.decode, dynamic=False)
        super().__init__(policy, shape["K"], threads)
        self.advantages = torch.rand(shape["K"]) - 0.5

    def backward(self) -> None:
        log_probability, entropy = self.policy(self.count)
        loss_of(log_probability, entropy, self.advantages).backward()


def learners(shape: dict[str, int], threads: int, compiled: bool) -> dict[str, Learner]:
    return {"": Seq2SeqLearner(shape, threads, compiled)}
