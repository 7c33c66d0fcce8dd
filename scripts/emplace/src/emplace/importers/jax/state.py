"""The arguments of a step that are parameters or other state, and the results that are their new values.

A declaration names an argument by its position or its name, and with dots a part of it: `0`, `params`,
`state.opt_state`. The longest declaration that fits a leaf counts. The new value of an argument, or of a declared part,
is the first free result with the same structure, shapes and types: a whole result or an element of one.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, Callable, Mapping, Sequence

from emplace.importers import ImportFailure
from emplace.importers.jax.values import aval_of

ROLES = {"parameters": "parameter", "optimizer_state": "optimizer_state", "buffers": "buffer"}


@dataclasses.dataclass(frozen=True)
class Leaf:
    """An array among the arguments or results: its path, names by role. type: must equal that of its new value."""

    path: tuple[str, ...]
    type: tuple[tuple[int, ...], str]
    role: str = "input"

    @property
    def name(self) -> str:
        return "/".join(self.path)


def leaves(tree: Any) -> list[Leaf]:
    """Returns the leaves in the order in which JAX flattens the tree."""
    import jax

    found = []
    for path, value in jax.tree_util.tree_flatten_with_path(tree)[0]:
        aval = aval_of(value)
        found.append(Leaf(tuple(map(_key, path)), (tuple(aval.shape), str(aval.dtype))))
    return found


def argument_names(step: Callable[..., Any], count: int) -> list[str]:
    """Returns the names of a function's first parameters; `arg0`, `arg1`, ... if it does not reveal them."""
    names = [f"arg{i}" for i in range(count)]
    try:
        parameters = list(inspect.signature(step).parameters.values())
    except (TypeError, ValueError):
        return names
    for i, parameter in enumerate(parameters[:count]):
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names[i] = parameter.name
    return names


def argument_leaves(arguments: Sequence[Any], names: Sequence[str],
                    declared: Mapping[str, Sequence[str]]) -> tuple[list[Leaf], list[tuple[str, ...]]]:
    """Returns leaves with their roles, and the paths of the declared parts. Paths begin with the argument's name.

    declared: the user's declarations for each key of ROLES. Throws ImportFailure for a declaration that fits nothing.
    """
    paths: dict[tuple[str, ...], str] = {}
    for key, texts in declared.items():
        for text in texts:
            first, *rest = str(text).split(".")
            if first.isdecimal() and int(first) < len(names):
                first = names[int(first)]
            path = (first, *rest)
            if paths.setdefault(path, ROLES[key]) != ROLES[key]:
                raise ImportFailure(f"{text!r} is declared twice, as {paths[path]} and as {ROLES[key]}")
    found, used = [], set()
    for leaf in leaves(tuple(arguments)):
        path = (names[int(leaf.path[0])], *leaf.path[1:])
        fitting = [prefix for prefix in paths if path[:len(prefix)] == prefix]
        used.update(fitting)
        role = paths[max(fitting, key=len)] if fitting else "input"
        found.append(dataclasses.replace(leaf, path=path, role=role))
    for path in paths:
        if path not in used:
            parts = sorted({".".join(leaf.path[:len(path)]) for leaf in found})
            raise ImportFailure(f"no argument {'.'.join(path)!r}; choices: {', '.join(parts[:20]) or 'none'}")
    return found, list(paths)


def new_values(arguments: Sequence[Leaf], parts: Sequence[tuple[str, ...]], results: Sequence[Leaf]) -> dict[int, int]:
    """Maps the place in `arguments` of each state leaf that changes to the place of its new value in `results`."""
    outer: list[tuple[str, ...]] = [()]
    outer += list(dict.fromkeys(leaf.path[:1] for leaf in results if leaf.path))
    free = [_under(results, path) for path in outer]
    taken: set[int] = set()
    found: dict[int, int] = {}
    whole = list(dict.fromkeys(leaf.path[:1] for leaf in arguments if leaf.role != "input"))
    for path in [*whole, *(part for part in parts if len(part) > 1)]:
        places = _under(arguments, path)
        if any(place in found for place in places):
            continue
        wanted = [(arguments[place].path[len(path):], arguments[place].type) for place in places]
        for prefix, candidates in zip(outer, free):
            offered = [(results[place].path[len(prefix):], results[place].type) for place in candidates]
            if offered == wanted and not taken.intersection(candidates):
                taken.update(candidates)
                found.update((place, new) for place, new in zip(places, candidates)
                             if arguments[place].role != "input")
                break
    return found


def _under(all_leaves: Sequence[Leaf], path: tuple[str, ...]) -> list[int]:
    return [place for place, leaf in enumerate(all_leaves) if leaf.path[:len(path)] == path]


def _key(key: Any) -> str:
    """Returns the text of one element of a path: an index, a key, an attribute."""
    for name in ("name", "key", "idx"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return str(key)
