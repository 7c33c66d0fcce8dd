"""The interface of a target: the form of its placements, its grain, and its own default placements."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Callable

from .simulation import Outcome

if TYPE_CHECKING:
    from .._emplace import Cluster


@dataclasses.dataclass(frozen=True)
class Request:
    """The user's request.

    document: of the model's graph. model: as named by the user. module: makes the torch.nn.Module of the model; None if
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
        """Returns whether it is only a forward pass."""
        return all(op.get("phase", "forward") == "forward" for op in self.document["ops"])


@dataclasses.dataclass(frozen=True)
class Row:
    """A placement of the table.

    label: describes it. outcome: None if there is none; note then gives the reason. payload: argument of Target.write.
    device_of_op: [num_ops]. default: whether it is the target's own choice.
    """

    label: str
    outcome: Outcome | None
    payload: Any = None
    device_of_op: tuple[int, ...] = ()
    default: bool = False
    note: str = ""

    @property
    def told(self) -> Outcome:
        """Returns the outcome of a row that has one."""
        if self.outcome is None:
            raise ValueError(f"{self.label}: {self.note}")
        return self.outcome


class Target:
    """A target for one request. Subclasses define the placements they can express; decide.py chooses."""

    name = ""
    sentence = ""
    text_only = False  # whether the target cannot be loaded here, so that its files are not tried out
    objectives: tuple[str, ...] = ("step_time",)  # the default first
    inference_first = False  # whether a PyTorch model means inference by default

    def __init__(self, request: Request) -> None:
        self.request = request
        self.notes: list[str] = []  # for the user: assumptions and unknowns

    def close(self) -> None:
        """Removes files that the simulation needed."""

    def alternatives(self) -> list[Row]:
        """Returns single-device placements and the target's own placement, simulated."""
        raise NotImplementedError

    def search(self) -> Row:
        """Returns the best placement found that the target can express, simulated at the grain."""
        raise NotImplementedError

    def write(self, payload: Any, stem: str) -> list[str]:
        """Writes the target's files; returns their paths."""
        raise NotImplementedError

    def read(self, paths: list[str]) -> tuple[int, ...]:
        """Returns [num_ops] the devices that the target derives from these files by its own rule."""
        raise NotImplementedError

    def try_out(self, paths: list[str]) -> str:
        """Lets the target itself, if it is installed, load the files; returns a sentence on the result, or "".

        Throws PlaceFailure if the target refuses them.
        """
        return ""

    def simulated_document(self) -> dict[str, Any]:
        """Returns the simulated document, to whose ops `device_of_op` refers."""
        raise NotImplementedError

    def counted(self, found: Outcome | None, device_of_op: tuple[int, ...]) -> Outcome:
        """Returns the time that a search saw (None: the simulated one) with the exact memory, op by op.

        A search counts views of another unit's tensors once too often.
        """
        exact = self.simulate(device_of_op)
        return exact if found is None else dataclasses.replace(exact, time=found.time)

    def simulate(self, device_of_op: tuple[int, ...]) -> Outcome:
        """Returns the outcome of ops on devices, for a placement from any source."""
        raise NotImplementedError
