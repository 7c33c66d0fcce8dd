"""Opening what emplace has written. Whatever is damaged, too new or not ours is refused by name."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Iterator, Sequence, Union

import h5py
import yaml

Path = Union[str, "os.PathLike[str]"]

FORMAT, VERSION = "emplace-results", 1
SWEEP_FORMAT = "emplace-sweep"
SIGNATURE = b"\x89HDF\r\n\x1a\n"


class ResultsError(Exception):
    """A file or folder that does not hold the results that were expected. Names it and says why."""


def as_paths(paths: Path | Sequence[Path]) -> list[str]:
    """One path or many, as texts; the same file twice counts once."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return list({os.path.realpath(path): os.fspath(path) for path in paths}.values())


@contextlib.contextmanager
def open_results(path: Path) -> Iterator[h5py.File]:
    """A results file, open for reading. Whatever then cannot be read in it is a ResultsError, too.

    A run that goes on replaces its file as a whole, so what was opened stays as it is.
    """
    path = os.fspath(path)
    with open_hdf5(path) as file:
        written = text(file.attrs.get("format", ""))
        if written != FORMAT:
            found = f"format \"{written}\"" if written else "no attribute \"format\""
            raise ResultsError(f"{path}: expected a results file of emplace (attribute \"format\" "
                               f"is \"{FORMAT}\"), found {found}")
        require_version(path, file.attrs.get("version"))
        try:
            yield file
        except (KeyError, IndexError, OSError, RuntimeError, TypeError, ValueError) as error:
            raise ResultsError(f"{path}: damaged or incomplete results file: {error}") from error


def open_hdf5(path: str) -> h5py.File:
    try:
        with open(path, "rb") as file:
            start = file.read(len(SIGNATURE))
    except OSError as error:
        raise ResultsError(f"{path}: expected a results file of emplace: {error.strerror}") from error
    if start != SIGNATURE:
        found = "it is empty" if not start else "it is no HDF5 file"
        raise ResultsError(f"{path}: expected a results file of emplace (HDF5), but {found}")
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise ResultsError(f"{path}: HDF5 cannot open it; cut short, damaged, or still being "
                           f"copied? ({error})") from error


def require_version(where: str, version: Any) -> None:
    try:
        number = int(version)
    except (TypeError, ValueError):
        raise ResultsError(f"{where}: expected a format version, found {version!r}") from None
    if number > VERSION:
        raise ResultsError(f"{where}: has format version {number}; this package reads up to "
                           f"{VERSION}: install the emplace_results of the emplace that wrote it")
    if number < 1:
        raise ResultsError(f"{where}: expected format version 1 to {VERSION}, found {number}")


def sweep_runs(folder: Path) -> list[tuple[str, str]]:
    """(file, title) of every run of a sweep's folder, written or not, from its sweep.yaml."""
    name = os.path.join(folder, "sweep.yaml")
    try:
        with open(name, encoding="utf-8") as file:
            frozen = file.read()
    except FileNotFoundError:
        raise ResultsError(f"{os.fspath(folder)}: expected the folder of `emplace sweep`, but "
                           "there is no sweep.yaml in it; name results files one by one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ResultsError(f"{name}: expected a frozen sweep: {error}") from error
    sweep = read_yaml(frozen, name)
    if not isinstance(sweep, dict) or sweep.get("format") != SWEEP_FORMAT:
        raise ResultsError(f"{name}: expected a frozen sweep (format: {SWEEP_FORMAT})")
    require_version(name, scalar(sweep.get("version")))
    try:
        return [(os.path.join(folder, run["file"]),
                 f"#{number} {run['agent']} with seed {run['seed']} in config {run['config']}")
                for number, run in sweep["runs"].items()]
    except (KeyError, TypeError, AttributeError):
        raise ResultsError(f"{name}: damaged: expected runs with file, config, agent and seed") from None


def text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def texts(dataset: Any) -> list[str]:
    return [text(value) for value in dataset[()]]


def plain(value: Any) -> Any:
    """An attribute as a Python value."""
    return text(value) if isinstance(value, (bytes, str)) else value.item()


def read_yaml(content: str, where: str) -> Any:
    """Maps, lists and texts: YAML 1.1 would take 1:5 for a number and 1e-3 for none."""
    try:
        return yaml.load(content, getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except yaml.YAMLError as error:
        raise ResultsError(f"{where}: damaged YAML: {error}") from error


def flat_config(content: str, where: str) -> dict[str, Any]:
    """Dotted keys and values of the YAML of a config or settings; a list is one text, as YAML."""
    flat: dict[str, Any] = {}

    def add(key: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                add(f"{key}.{name}" if key else name, inner)
        elif isinstance(value, list):
            flat[key] = yaml.safe_dump(value, default_flow_style=True, width=1000).strip()
        elif value:
            flat[key] = scalar(value)

    add("", read_yaml(content, where) or {})
    return flat


def scalar(value: Any) -> Any:
    """A text as the number or truth value that it is."""
    if value in ("true", "false"):
        return value == "true"
    for number in (int, float):
        with contextlib.suppress(ValueError, TypeError):
            return number(value)
    return value
