"""Running notebooks without Jupyter, for tests: cell by cell, each as its user sees it."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import unittest
from typing import Any


def check(test: unittest.TestCase, path: str) -> tuple[int, str]:
    """Runs a notebook from top to bottom; it must be committed without outputs.

    Returns how many pictures it shows, and what it prints.
    """
    from matplotlib.figure import Figure

    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    pictures = 0
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        test.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))
        with test.subTest(cell=number), contextlib.redirect_stdout(printed):
            value = execute("".join(cell["source"]), names)
            if isinstance(value, Figure):
                test.assertTrue(value._repr_png_().startswith(b"\x89PNG"))
                pictures += 1
            elif hasattr(value, "_repr_svg_"):
                test.assertRegex(value._repr_svg_(), "(?s)^<svg.*</svg>\n$")
                pictures += 1
            elif hasattr(value, "_repr_html_"):
                test.assertIn("<table", value._repr_html_())
    return pictures, printed.getvalue()


def execute(source: str, names: dict[str, Any]) -> Any:
    """Runs a cell. Returns its value, that of its last line if it is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
