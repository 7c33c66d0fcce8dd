"""Opens files that emplace has written (framework/results/FORMAT.md).

Files that are damaged, too new, or not written by emplace are refused; the error names file and reason.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import zlib
from typing import Any, Iterator, Sequence, Union

import h5py
import yaml

Path = Union[str, "os.PathLike[str]"]

FORMAT, VERSION = "emplace-results", 4
SWEEP_FORMAT, SWEEP_VERSION = "emplace-sweep", 2
SIGNATURE = b"\x89HDF\r\n\x1a\n"
IMAGES = itertools.count()
CHECKSUM = re.compile(rb"\nemplace-results crc32 ([0-9a-f]{8})\n")  # the last 32 bytes


class ResultsError(Exception):
    """A file or folder does not hold the expected results. The message names it and the reason."""


def as_paths(paths: Path | Sequence[Path]) -> list[str]:
    """Returns one path or many as texts; the same file twice counts once."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return list({os.path.realpath(path): os.fspath(path) for path in paths}.values())


@contextlib.contextmanager
def open_results(path: Path) -> Iterator[h5py.File]:
    """Opens a results file for reading. Data in it that cannot be read within the `with` is also a ResultsError.

    The whole file is in memory: a run that continues replaces its file, but the opened content stays unchanged. Every
    damaged byte is found by the file's checksum.
    """
    path = os.fspath(path)
    content = read_whole(path)
    require_checksum(path, content)
    with open_hdf5(path, content) as file:
        written = text(file.attrs.get("format", ""))
        if written != FORMAT:
            found = f"format \"{written}\"" if written else "no attribute \"format\""
            raise ResultsError(f"{path}: expected a results file of emplace (attribute \"format\" "
                               f"is \"{FORMAT}\"), found {found}")
        require_version(path, file.attrs.get("version"), VERSION)
        try:
            yield file
        except (KeyError, IndexError, OSError, RuntimeError, TypeError, ValueError) as error:
            raise ResultsError(f"{path}: damaged or incomplete results file: {error}") from error


def read_whole(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise ResultsError(f"{path}: expected a results file of emplace: {error.strerror}") from error
    if not content.startswith(SIGNATURE):
        found = "it is not an HDF5 file" if content else "it is empty"
        raise ResultsError(f"{path}: expected a results file of emplace (HDF5), but {found}")
    return content


def require_checksum(path: str, content: bytes) -> None:
    """Checks the checksum. @throws ResultsError if it is missing or wrong"""
    line = CHECKSUM.fullmatch(content[-32:])
    if line is None:
        raise ResultsError(f"{path}: the checksum at its end is missing: damaged, still being copied, or written to by "
                           "another program or by a version of emplace before format 2; run it again")
    if int(line[1], 16) != zlib.crc32(memoryview(content)[:-32]):
        raise ResultsError(f"{path}: damaged: its checksum does not match its bytes")


def open_hdf5(path: str, content: bytes) -> h5py.File:
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_fapl_core(backing_store=False)
    access.set_file_image(content)
    name = f"{path}#{next(IMAGES)}"  # HDF5 would take two images with the same name for the same file
    try:
        return h5py.File(h5py.h5f.open(os.fsencode(name), h5py.h5f.ACC_RDONLY, access))
    except OSError as error:
        raise ResultsError(f"{path}: HDF5 cannot open it; cut short, damaged, or still being "
                           f"copied? ({error})") from error


def require_version(where: str, version: Any, newest: int) -> None:
    try:
        number = int(version)
    except (TypeError, ValueError):
        raise ResultsError(f"{where}: expected a format version, found {version!r}") from None
    if number > newest:
        raise ResultsError(f"{where}: has format version {number}; this package reads up to "
                           f"{newest}: install the package of the emplace that wrote it")
    if number < newest:
        raise ResultsError(f"{where}: has format version {number}, which an older version of emplace wrote; expected "
                           f"{newest}: run it again")


def sweep_runs(folder: Path) -> list[tuple[str, str]]:
    """Returns (file, title) of every run of a sweep's folder, written or not, from its sweep.yaml."""
    name = os.path.join(folder, "sweep.yaml")
    try:
        with open(name, encoding="utf-8") as file:
            frozen = file.read()
    except FileNotFoundError:
        raise ResultsError(f"{os.fspath(folder)}: expected the folder of `emplace sweep`, but it has no sweep.yaml; "
                           "name results files one by one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ResultsError(f"{name}: expected a frozen sweep: {error}") from error
    sweep = read_yaml(frozen, name)
    if not isinstance(sweep, dict) or sweep.get("format") != SWEEP_FORMAT:
        raise ResultsError(f"{name}: expected a frozen sweep (format: {SWEEP_FORMAT})")
    require_version(name, scalar(sweep.get("version")), SWEEP_VERSION)
    try:
        return [(_below(folder, run["file"], name),
                 f"#{number} {run['agent']} with seed {run['seed']} in config {run['config']}")
                for number, run in sweep["runs"].items()]
    except (KeyError, TypeError, AttributeError):
        raise ResultsError(f"{name}: damaged: expected runs with file, config, agent and seed") from None


def existing_files(source: str) -> Iterator[tuple[str, bool]]:
    """Yields (file, whether it is a run of a sweep's folder) of a results file, or of the runs of a sweep so far."""
    if os.path.isdir(source):
        yield from ((path, True) for path, _ in sweep_runs(source) if os.path.exists(path))
    else:
        yield source, False


def _below(folder: Path, file: str, where: str) -> str:
    """Returns the path of a file that a sweep names, which must be below the sweep's folder."""
    parts = file.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise ResultsError(f"{where}: expected a file in the folder of the sweep, got {file!r}")
    return os.path.join(folder, *parts)


def text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def texts(dataset: Any) -> list[str]:
    return [text(value) for value in dataset[()]]


def plain(value: Any) -> Any:
    """Returns an attribute as a Python value."""
    return text(value) if isinstance(value, (bytes, str)) else value.item()


def read_yaml(content: str, where: str) -> Any:
    """Returns YAML as maps, lists and texts; under the rules of YAML 1.1, 1:5 would be a number and 1e-3 none."""
    try:
        return yaml.load(content, getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except yaml.YAMLError as error:
        raise ResultsError(f"{where}: damaged YAML: {error}") from error


def flat_config(content: str, where: str) -> dict[str, Any]:
    """Returns dotted keys and values of the YAML of a config or settings; a list is one text, as YAML."""
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
    """Returns the number or truth value that a text represents, or the text itself."""
    if value in ("true", "false"):
        return value == "true"
    for number in (int, float):
        with contextlib.suppress(ValueError, TypeError):
            return number(value)
    return value


def require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ResultsError(f"{name}: unknown value \"{value}\"; choices: {', '.join(choices)}")
