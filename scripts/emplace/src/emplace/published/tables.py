"""Reads published tables. A refusal names file, line, column, value and the expected form."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import pathlib
import re
from typing import Any, Mapping, Sequence

Shape = tuple[int, ...]
MOST = 1e12  # a larger time or size is damaged


class PublishedFailure(Exception):
    """A file, or a choice of cases, that cannot be used; the message names it and the expected form or the choices."""


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """A case that is not compared, and the reason."""

    case: str
    why: str


@dataclasses.dataclass(frozen=True)
class OpCase:
    """A measured op. group: its published name; inputs, output: shapes in f32; measured [ns]; fold: see simulate.py.

    totals: groups of groups that it belongs to; group_size: GPUs of a collective, 1 for other ops.
    """

    case: str
    gpu: str
    group: str
    kind: str
    inputs: tuple[Shape, ...]
    output: Shape
    flops: float
    measured: float
    fold: int
    totals: tuple[str, ...] = ("all ops",)
    group_size: int = 1


@dataclasses.dataclass(frozen=True)
class LinkCase:
    """A measured transfer over a link. group: the link; totals: see OpCase; num_bytes [B]; measured [ns]."""

    case: str
    gpu: str
    group: str
    num_bytes: int
    measured: float
    totals: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Row:
    path: pathlib.Path
    line: int
    cells: Mapping[str, str]

    def failure(self, column: str, expected: str) -> PublishedFailure:
        return PublishedFailure(f"{self.path}:{self.line}: {column} is {self.cells[column]!r}, expected {expected}")

    def number(self, column: str) -> float:
        """Returns a time or size. Throws PublishedFailure if it is negative or larger than MOST."""
        try:
            value = float(self.cells[column])
        except ValueError:
            value = math.nan
        if not 0 <= value <= MOST:
            raise self.failure(column, f"a number from 0 to {MOST:g}")
        return value

    def time(self, column: str) -> float:
        """Returns a measured time. Throws PublishedFailure if it is not above 0."""
        value = self.number(column)
        if value <= 0:
            raise self.failure(column, "a time above 0")
        return value

    def count(self, column: str) -> int:
        if not re.fullmatch(r"[1-9]\d{0,11}", self.cells[column]):
            raise self.failure(column, "a whole number > 0")
        return int(self.cells[column])

    def choice(self, column: str, choices: Sequence[str]) -> str:
        if self.cells[column] not in choices:
            raise self.failure(column, f"one of {', '.join(choices)}")
        return self.cells[column]

    def shape(self, column: str) -> Shape:
        """Returns (4, 1024) of the text "(4, 1024)"."""
        if not re.fullmatch(r"\((\d{1,12}(, ?\d{1,12})*,?)?\)", self.cells[column]):
            raise self.failure(column, "a shape such as (4, 1024)")
        return tuple(map(int, re.findall(r"\d+", self.cells[column])))

    def shapes(self, column: str) -> list[Shape]:
        """Returns the shapes of the text "[[4, 1024], [1]]"."""
        if not re.fullmatch(r"\[(\[[\d, ]*\](, ?)?)*\]", self.cells[column]):
            raise self.failure(column, "a list of shapes such as [[4, 1024], [1]]")
        return [tuple(map(int, re.findall(r"\d+", shape)))
                for shape in re.findall(r"\[([\d, ]*)\]", self.cells[column][1:-1])]

    def names(self, column: str) -> list[str]:
        """Returns the keys of the text "{a: None, b: None}"."""
        if not re.fullmatch(r"\{(\w+: None(, )?)*\}", self.cells[column]):
            raise self.failure(column, "names such as {a: None, b: None}")
        return re.findall(r"(\w+): None", self.cells[column])


def read(path: pathlib.Path, columns: Sequence[str] = ()) -> list[Row]:
    """Returns the rows of a CSV file. Throws PublishedFailure if it lacks a column or a cell, or has no row.

    columns: (): all of the first line; then a column twice and a cell without column are refused, too.
    """
    rows = []
    csv.field_size_limit(1 << 20)
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [column for column in columns if column not in (reader.fieldnames or ())]
            if missing:
                raise PublishedFailure(f"{path}:1: has no column {', '.join(missing)}; expected the columns "
                                       f"{', '.join(columns)}")
            exact = not columns
            columns = columns or list(reader.fieldnames or ())
            if len(set(columns)) < len(columns):
                raise PublishedFailure(f"{path}:1: has a column twice: {', '.join(columns)}")
            for cells in reader:
                if exact and None in cells:
                    raise PublishedFailure(f"{path}:{reader.line_num}: has more cells than the {len(columns)} columns")
                for column in columns:
                    if cells[column] is None:
                        raise PublishedFailure(f"{path}:{reader.line_num}: ends before the column {column}")
                rows.append(Row(path, reader.line_num, {column: cells[column] for column in columns}))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PublishedFailure(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not rows:
        raise PublishedFailure(f"{path}: has no row")
    return rows


def read_numbers(path: pathlib.Path, keys: Sequence[str]) -> list[float]:
    """Returns numbers of the object in a JSON file. Throws PublishedFailure."""
    try:
        document: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise PublishedFailure(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(document, dict):
        raise PublishedFailure(f"{path}: holds a JSON {type(document).__name__}, expected an object")
    for key in keys:
        value = document.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MOST:
            raise PublishedFailure(f"{path}: {key} is {json.dumps(value)}, expected a number from 0 to {MOST:g}")
    return [float(document[key]) for key in keys]


def files(folder: pathlib.Path, pattern: str) -> list[pathlib.Path]:
    """Returns the files below a folder. Throws PublishedFailure if there is none."""
    if not folder.is_dir():
        raise PublishedFailure(f"{folder}: is not a folder")
    found = sorted(folder.rglob(pattern))
    if not found:
        raise PublishedFailure(f"{folder}: holds no file {pattern}")
    return found
