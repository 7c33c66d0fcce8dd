"""What a target is: where placements go, at which grain, and what happens there without one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Callable

from .simulation import Outcome

if TYPE_CHECKING:
    from .._emplace import Cluster


@dataclasses.dataclass(frozen=True)
class Request:
    """What the user asked for.

    document: of the model's graph. model: what was named. module: makes the torch.nn.Module of the model, None where
    there is none. seconds: of the search [s].
    """

    document: dict[str, Any]
    model: str
    cluster: Cluster
    costs: str | None = None
    objective: str = "step_time"
    memory_only: bool = False
    seconds: float = 10.0
    seed: int = 0
    module: Callable[[], Any] | None = None

    @property
    def inference(self) -> bool:
        """Is it a forward pass alone?"""
        return all(op.get("phase", "forward") == "forward" for op in self.document["ops"])


@dataclasses.dataclass(frozen=True)
class Row:
    """A placement of the table.

    label: what it is. outcome: None where there is none, note says why. payload: what Target.write takes.
    device_of_op: [num_ops]. default: is it what the target does by itself?
    """

    label: str
    outcome: Outcome | None
    payload: Any = None
    device_of_op: tuple[int, ...] = ()
    default: bool = False
    note: str = ""

    @property
    def told(self) -> Outcome:
        """The outcome of a row that has one."""
        if self.outcome is None:
            raise ValueError(f"{self.label}: {self.note}")
        return self.outcome


class Target:
    """A target for one request. Subclasses say what they can express; decide.py chooses."""

    name = ""
    sentence = ""
    text_only = False  # cannot be loaded here: what is written is not tried out
    objectives: tuple[str, ...] = ("step_time",)  # the default first
    inference_first = False  # does a model of PyTorch mean inference if nothing else is said?

    def __init__(self, request: Request) -> None:
        self.request = request
        self.notes: list[str] = []  # for the user: what is assumed, what cannot be told

    def close(self) -> None:
        """Removes files that the simulation needed."""

    def alternatives(self) -> list[Row]:
        """One device each, and what the target does by itself; simulated."""
        raise NotImplementedError

    def search(self) -> Row:
        """The best placement found that the target can express, simulated at the grain."""
        raise NotImplementedError

    def write(self, payload: Any, stem: str) -> list[str]:
        """Writes the target's files; returns their paths."""
        raise NotImplementedError

    def read(self, paths: list[str]) -> tuple[int, ...]:
        """[num_ops] what the target makes of these files, by its own rule."""
        raise NotImplementedError

    def try_out(self, paths: list[str]) -> str:
        """Has the target itself load the files where it is installed; a sentence on what was seen, or "".

        Throws PlaceFailure if it refuses them.
        """
        return ""

    def simulated_document(self) -> dict[str, Any]:
        """The document that is simulated, whose ops `device_of_op` is of."""
        raise NotImplementedError

    def counted(self, found: Outcome | None, device_of_op: tuple[int, ...]) -> Outcome:
        """The time that a search saw (None: the simulated one) with the memory as it is op by op: a search counts views
        of what another unit made once more than they take."""
        exact = self.simulate(device_of_op)
        return exact if found is None else dataclasses.replace(exact, time=found.time)

    def simulate(self, device_of_op: tuple[int, ...]) -> Outcome:
        """The outcome of ops on devices, whatever wrote them down."""
        raise NotImplementedError
