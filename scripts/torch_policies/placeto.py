"""agents/placeto in PyTorch: the same network and the same update from one episode.

States of a batch go through together, groups first: [T, S, width]. Messages are one product with a
dense matrix of neighbours, which is faster than a sparse one at this size. Features are drawn beforehand.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from torch_policies.learner import Learner, loss_of

BENCHMARK = "BM_PlacetoEpisode"
SPEED = "episodes"
COLUMNS = ("T", "D", "F", "rounds")


def parents_of(groups: int) -> Tensor:
    """Returns [T, T], 1 if the column's group feeds the row's: LinkedChains of placeto_bench.cc."""
    parents = torch.zeros(groups, groups)
    for v in range(groups):
        if v >= 4:
            parents[v, v - 4] = 1
        if v >= 7 and v % 3 == 0:
            parents[v, v - 7] = 1
    return parents


def mean_of(members: Tensor) -> Tensor:
    return members / members.sum(dim=1, keepdim=True).clamp(min=1)


def layers(*widths: int, relu: bool = False) -> nn.Sequential:
    """Returns linear layers with ReLU between them, and after the last if `relu`."""
    made = []
    for before, after in zip(widths, widths[1:]):
        made += [nn.Linear(before, after), nn.ReLU(inplace=True)]
    return nn.Sequential(*(made if relu else made[:-1]))


class Policy(nn.Module):
    def __init__(self, shape: dict[str, int]):
        super().__init__()
        groups, width, devices = shape["T"], shape["F"], shape["D"]
        parents = parents_of(groups)
        ancestors = torch.linalg.inv(torch.eye(groups).double() - parents.double()).round() > 0
        ancestors = ancestors.float() - torch.eye(groups)
        parallel = 1 - ancestors - ancestors.T - torch.eye(groups)
        pools = torch.stack([mean_of(ancestors), mean_of(ancestors.T), mean_of(parallel)])
        self.register_buffer("pools", pools)
        for name, neighbors in (("parents", parents), ("children", parents.T)):
            self.register_buffer("of_" + name, mean_of(neighbors))
            self.register_buffer("has_" + name, neighbors.any(dim=1).float()[:, None, None])
        self.rounds = shape["rounds"]
        self.embed = layers(width, width, width, width)
        self.before = nn.ModuleList(layers(width, width, width, relu=True) for _ in range(2))
        self.after = nn.ModuleList(layers(width, width, width, relu=True) for _ in range(2))
        wide = 2 * width
        self.pool_before = nn.ModuleList(layers(wide, wide, wide, relu=True) for _ in range(3))
        self.pool_after = nn.ModuleList(layers(wide, wide, wide, relu=True) for _ in range(3))
        self.head = layers(8 * width, 16 * width, 8 * width, devices)

    def messages(self, way: int, start: Tensor) -> Tensor:
        neighbors = (self.of_parents, self.of_children)[way]
        has = (self.has_parents, self.has_children)[way]
        state = start
        for _ in range(self.rounds):
            sent = self.before[way](state)
            heard = (neighbors @ sent.flatten(1)).view_as(sent)
            state = torch.addcmul(start, self.after[way](heard), has)
        return state

    def forward(self, features: Tensor, current: Tensor, stay: Tensor) -> Tensor:
        """Maps features [T, S, F], current [S], stay [S, D] to log-probabilities [S, D]."""
        start = self.embed(features)
        states = torch.cat([self.messages(0, start), self.messages(1, start)], dim=2)
        parts = []
        for pool in range(3):
            sent = self.pool_before[pool](states)
            members = self.pools[pool, current]
            summed = torch.bmm(members[:, None, :], sent.transpose(0, 1))[:, 0]
            parts.append(self.pool_after[pool](summed))
        parts.append(states[current, torch.arange(len(current))])
        return torch.log_softmax(self.head(torch.cat(parts, dim=1)) + stay, dim=1)


class PlacetoLearner(Learner):
    """With batch 0, one graph of the drawn steps is kept; else steps are drawn without gradients, then differentiated
    in batches of so many states."""

    def __init__(self, shape: dict[str, int], threads: int, compiled: bool, batch: int):
        torch.manual_seed(1)
        policy = Policy(shape)
        super().__init__(policy, 1, threads)
        self.network = torch.compile(policy, dynamic=False) if compiled else policy
        self.steps, self.batch = shape["T"], batch
        self.features = torch.rand(shape["T"], self.steps, shape["F"])
        self.order = torch.arange(self.steps)
        self.stay = torch.zeros(self.steps, shape["D"])
        self.advantages = torch.rand(self.steps) - 0.5

    def log_probabilities(self, begin: int, count: int) -> Tensor:
        part = slice(begin, begin + count)
        return self.network(self.features[:, part].contiguous(), self.order[part], self.stay[part])

    def backward(self) -> None:
        drawn, devices = [], []
        with torch.set_grad_enabled(self.batch == 0):
            for t in range(self.steps):
                drawn.append(self.log_probabilities(t, 1))
                devices.append(torch.multinomial(drawn[-1].detach().exp(), 1)[:, 0])
        chosen = torch.cat(devices)
        if self.batch == 0:
            self.part_of_loss(torch.cat(drawn), chosen, self.advantages).backward()
            return
        for begin in range(0, self.steps, self.batch):
            part = slice(begin, begin + self.batch)
            found = self.log_probabilities(begin, self.batch)
            self.part_of_loss(found, chosen[part], self.advantages[part]).backward()

    def part_of_loss(self, found: Tensor, chosen: Tensor, advantages: Tensor) -> Tensor:
        picked = found.gather(1, chosen[:, None])[:, 0]
        entropy = -(found.exp() * found).sum(dim=1)
        return loss_of(picked, entropy, advantages) * (len(found) / self.steps)


def learners(shape: dict[str, int], threads: int, compiled: bool) -> dict[str, Learner]:
    made = {f", batches of {batch}": PlacetoLearner(shape, threads, compiled, batch)
            for batch in (16, shape["T"])}
    made[", one graph"] = PlacetoLearner(shape, threads, compiled, 0)
    return made
