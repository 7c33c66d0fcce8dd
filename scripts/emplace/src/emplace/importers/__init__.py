"""Models of other frameworks as emplace graphs: the command `emplace import`, and its Python interface.

    from emplace import importers
    imported = importers.read("model.onnx")              # the file name decides the format
    imported.write("model.json.gz")
    print(imported.report())                             # contents of the graph, and the dropped parts

Each format is a module of this package and one line of `FORMATS`. The module has two functions:

    add_arguments(parser)              adds the options of the format to the options common to all formats
    read(model, options) -> Imported   `model`: the user's MODEL argument; `options`: parsed arguments

A module may also have a function `import_<format>(...)`, which takes objects of the framework. A module
imports its framework only when it is called. If a model cannot be imported, `ImportFailure` is thrown; its
message says where, why, and how to proceed. Parts that the graph does not need are left out and listed in
`Imported.dropped`.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import os
import sys
import zlib
from typing import TYPE_CHECKING, Any, Iterable, Sequence

from . import graph_file

if TYPE_CHECKING:
    from .. import Graph


class ImportFailure(Exception):
    """A model that cannot be imported; the message says where, why, and how to proceed."""


@dataclasses.dataclass(frozen=True)
class Dropped:
    """A part of the model that is missing or less exact in the graph."""

    what: str   # such as "Dropout", "op kind aten.foo"; a term of the model's framework
    count: int  # number of occurrences
    why: str    # such as "no FLOP formula: only its bytes have a cost"

    def __str__(self) -> str:
        return f"{self.what} x {self.count:,}: {self.why}"


@dataclasses.dataclass
class Imported:
    """An imported model: the document of a graph file (framework/graph/FORMAT.md), and the dropped parts.

    notes: sentences of the report; warnings: doubts about the graph, which are printed in any case.
    """

    document: dict[str, Any]
    dropped: list[Dropped] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Checks the graph and writes its file completely or not at all; the graph is named after the file.

        Throws graph_file.GraphError if a rule of the format is broken, OSError if the file cannot be written.
        """
        self.document["name"] = graph_name(path)
        graph_file.write(self.document, path)

    def graph(self) -> Graph:
        """Returns the graph as emplace.Graph, without a file. Throws InputError. Needs the compiled module."""
        from .. import _compiled

        graph: Graph = _compiled().Graph.parse(json.dumps(self.document), self.document["name"])
        return graph

    def report(self) -> str:
        """Returns a few lines of text for people: the contents of the graph, and the dropped parts."""
        lines = [graph_file.summary(self.document), *self.notes]
        if self.dropped:
            lines += ["dropped or less exact:", *(f"  {dropped}" for dropped in self.dropped)]
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Format:
    """A format that can be imported: its name, its description, and how its files are recognised."""

    name: str                      # value of --from; name of the module of this package
    sentence: str                  # describes the values of MODEL
    endings: tuple[str, ...] = ()  # endings of its file names
    keys: tuple[str, ...] = ()     # keys of the outermost object of its JSON files; a file must have all of them
    packages: tuple[str, ...] = ()  # Python packages needed to read it

    def module(self) -> Any:
        return importlib.import_module(f"{__name__}.{self.name}")


FORMATS: tuple[Format, ...] = (
    Format("chakra", "an execution trace of PyTorch (JSON), or one of MLCommons Chakra (.et)", endings=(".et",),
           keys=("schema", "nodes", "start_ts")),
    Format("jax", "FILE.py:FUNCTION, which returns a JAX training step and its arguments", packages=("jax",)),
    Format("keras", "a saved model of Keras 3, FILE.py:FUNCTION, or a network of keras.applications",
           endings=(".keras",), packages=("tensorflow", "keras")),
    Format("kineto", "a trace of PyTorch's profiler (JSON), best with --execution-trace",
           endings=(".pt.trace.json", ".pt.trace.json.gz"), keys=("traceEvents", "schemaVersion")),
    Format("onnx", "an .onnx file; weights in external files may be missing", endings=(".onnx",), packages=("onnx",)),
    Format("pipedream", "a profile of PipeDream (graph.txt), with --device-kind", endings=("graph.txt",)),
    Format("tensorflow", "a network of the menu, FILE.py:FUNCTION (TensorFlow 1 style), a GraphDef",
           endings=(".pb", ".pbtxt"), packages=("tensorflow",)),
    Format("torch", "PyTorch: a name of the menu, FILE.py, PACKAGE.MODULE:FUNCTION, or a CONFIG.json of Transformers",
           endings=(".py",), keys=("model_type",), packages=("torch",)),
)


def format_of(model: str, formats: Iterable[Format] = FORMATS) -> Format:
    """Returns the format of MODEL, found by its ending or by its contents.

    Throws ImportFailure, with the choices, if no format or several fit.
    """
    formats = tuple(formats)
    name = os.path.basename(model).lower()
    fitting = [format for format in formats if name.endswith(format.endings or ("\0",))]
    if not fitting and name.endswith((".json", ".json.gz")) and os.path.isfile(model):
        fitting = _formats_of_json(model, formats)
    if len(fitting) == 1:
        return fitting[0]
    choices = ", ".join(format.name for format in (fitting or formats))
    why = "fits several formats" if fitting else "has no name of a known format"
    raise ImportFailure(f"{model}: {why}; give --from FORMAT (choices: {choices})")


def read(model: str, format: str | None = None, **options: Any) -> Imported:
    """Imports `model`; `options` are those of `emplace import`, with underscores.

    Throws ImportFailure; TypeError for an option that the format does not have, ValueError for a value of one with
    choices that is none of them.
    """
    chosen = find(format) if format else format_of(model)
    parser = argparse.ArgumentParser(add_help=False)
    chosen.module().add_arguments(parser)
    actions = {action.dest: action for action in parser._actions}
    parsed = argparse.Namespace(**{name: action.default for name, action in actions.items()})
    for name, value in options.items():
        if name not in actions:
            raise TypeError(f"{chosen.name} has no option {name!r}; choices: {', '.join(actions)}")
        choices = actions[name].choices
        if choices is not None and value is not None and value not in choices:
            raise ValueError(f"{name} is {value!r}; choices: {', '.join(map(str, choices))}")
        setattr(parsed, name, value)
    imported: Imported = chosen.module().read(model, parsed)
    return imported


def find(name: str) -> Format:
    """Returns the format of this name. Throws ImportFailure with the choices if there is none."""
    for format in FORMATS:
        if format.name == name:
            return format
    raise ImportFailure(f"--from {name}: no such format; choices: {', '.join(f.name for f in FORMATS)}")


def graph_name(path: str | os.PathLike[str]) -> str:
    """Returns the name of the file: two sizes of one network are two graphs."""
    return os.path.basename(os.fspath(path)).removesuffix(".gz").removesuffix(".json")


def read_json(path: str) -> dict[str, Any]:
    """Returns the object in a `.json` or `.json.gz` file. Throws ImportFailure if there is none."""
    try:
        document = graph_file.read(path)
    except json.JSONDecodeError as error:
        raise ImportFailure(f"{path}:{error.lineno}: is not JSON: {error.msg}") from None
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise ImportFailure(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(document, dict):
        raise ImportFailure(f"{path}: holds a JSON {type(document).__name__}, expected an object")
    return document


def require(packages: Sequence[str], extra: str) -> None:
    """Imports packages. Throws ImportFailure with the first missing package and how to install it.

    extra: of our distribution, see pyproject.toml.
    """
    for package in packages:
        try:
            importlib.import_module(package)
        except ModuleNotFoundError as error:
            raise ImportFailure(f"the Python package {error.name!r} is missing; install it with: "
                                f"{sys.executable} -m pip install 'emplace-placement[{extra}]'") from error
        except ImportError as error:
            raise ImportFailure(f"the Python package {package!r} is installed but does not load ({error}); install it "
                                f"with its dependencies by: {sys.executable} -m pip install "
                                f"'emplace-placement[{extra}]'") from error


def _formats_of_json(path: str, formats: Sequence[Format]) -> list[Format]:
    """Returns the formats all of whose keys a JSON file has."""
    document = read_json(path)
    return [format for format in formats if format.keys and all(key in document for key in format.keys)]
