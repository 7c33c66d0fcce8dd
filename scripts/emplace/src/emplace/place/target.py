"""The interface of a target: the form of its placements, its grain, and its own default placements."""

from __future__ import annotations

import ast
import dataclasses
import json
import pathlib
from typing import TYPE_CHECKING, Any, Callable, Iterable

from .grain import PlaceFailure
from .simulation import Outcome, Simulation

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
    """A target for one request. Subclasses define the placements they can express; decide.py chooses.

    _simulation: of the document to whose ops `device_of_op` refers.
    """

    name = ""
    sentence = ""
    text_only = False  # whether the target cannot be loaded here, so that its files are not tried out
    objectives: tuple[str, ...] = ("step_time",)  # the default first
    inference_first = False  # whether a PyTorch model means inference by default

    _simulation: Simulation

    def __init__(self, request: Request) -> None:
        self.request = request
        self.notes: list[str] = []  # for the user: assumptions and unknowns

    def close(self) -> None:
        """Removes files that the simulation needed."""
        self._simulation.__exit__()

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
        return self._simulation.document

    def first_of_kinds(self, devices: Iterable[int]) -> list[int]:
        """Returns those of the devices that are the cluster's first of their kind."""
        kinds = self.request.cluster.device_kinds
        return [device for device in devices if kinds[device] not in kinds[:device]]

    def counted(self, found: Outcome | None, device_of_op: tuple[int, ...]) -> Outcome:
        """Returns the time that a search saw (None: the simulated one) with the exact memory, op by op.

        A search counts views of another unit's tensors once too often.
        """
        exact = self.simulate(device_of_op)
        return exact if found is None else dataclasses.replace(exact, time=found.time)

    def simulate(self, device_of_op: tuple[int, ...]) -> Outcome:
        """Returns the outcome of ops on devices, for a placement from any source."""
        return self._simulation.outcome(device_of_op)


def write_json(path: str, content: Any) -> None:
    pathlib.Path(path).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_json(path: str) -> Any:
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def read_constant(path: str, name: str) -> Any:
    """Returns the literal that a Python file assigns to a name. Throws PlaceFailure if there is none."""
    for statement in ast.parse(pathlib.Path(path).read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == name:
            return ast.literal_eval(statement.value)
    raise PlaceFailure(f"{path}: there is no {name}")
