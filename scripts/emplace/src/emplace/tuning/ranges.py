"""Values to draw from: {int: [1, 64], log: true}, {float: [0.9, 0.999]}, {choice: [a, b]}."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .messages import refuse, refuse_unknown

KINDS = ("int", "float", "choice")


@dataclass(frozen=True)
class Range:
    """int and float: from low to high, both included; log: uniform in the logarithm. choice: one of `choices`."""

    kind: str
    low: float = 0
    high: float = 0
    log: bool = False
    choices: tuple[Any, ...] = ()

    def draw(self, trial: Any, key: str) -> Any:
        """Draws a value for an Optuna trial."""
        if self.kind == "int":
            return trial.suggest_int(key, int(self.low), int(self.high), log=self.log)
        if self.kind == "float":
            return trial.suggest_float(key, self.low, self.high, log=self.log)
        return json.loads(trial.suggest_categorical(key, [json.dumps(choice) for choice in self.choices]))

    def value(self, param: Any) -> Any:
        """Returns the value that Optuna's storage holds as `param`."""
        return json.loads(param) if self.kind == "choice" else param

    def extremes(self) -> list[Any]:
        """Returns values that an agent must accept before the first trial."""
        if self.kind == "choice":
            return list(self.choices)
        return [int(self.low), int(self.high)] if self.kind == "int" else [self.low, self.high]


def read_range(given: Any, where: str) -> Range:
    """Returns a range. @param where  file and key, for messages   @throws InputError"""
    kinds = [kind for kind in KINDS if isinstance(given, dict) and kind in given]
    if len(kinds) != 1:
        refuse(where, given, "{int: [LOW, HIGH]}, {float: [LOW, HIGH]} or {choice: [VALUE, ...]}")
    kind = kinds[0]
    values = given[kind]
    for key in given:
        if key != kind and (key != "log" or kind == "choice"):
            refuse_unknown(where, "key", str(key), (kind,) if kind == "choice" else (kind, "log"))
    if kind == "choice":
        if not isinstance(values, list) or not values:
            refuse(f"{where}: choice", values, "a list of at least one value")
        return Range(kind, choices=tuple(values))
    log = given.get("log", False)
    if not isinstance(log, bool):
        refuse(f"{where}: log", log, "true or false")
    if not isinstance(values, list) or len(values) != 2:
        refuse(f"{where}: {kind}", values, "[LOW, HIGH]")
    low, high = (_number(value, kind, f"{where}: {kind}") for value in values)
    if low > high:
        refuse(f"{where}: {kind}", values, "a low end that is at most the high one")
    if log and low <= 0:
        refuse(f"{where}: {kind}", values, "a low end above 0, because log is true")
    return Range(kind, low, high, log)


def _number(value: Any, kind: str, where: str) -> float:
    """Returns a number of YAML, which reads 1e-3 as a text."""
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(value)
        if kind == "int" and number != int(number):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        refuse(where, value, "a whole number" if kind == "int" else "a number")
    return number
