"""Hooks of the documentation site (mkdocs): pages of the Python and C++ interfaces, and links out of the pages."""

import ast
import os
import pathlib
import re

from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(os.environ["EMPLACE_ROOT"])
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#]+)(#[^)]*)?\)")


def api_page() -> str:
    """Returns the page of the Python API: every public name of the package, by the docstrings."""
    package = ROOT / "scripts/emplace/src/emplace/__init__.py"
    values = {node.targets[0].id: node.value for node in ast.parse(package.read_text(encoding="utf-8")).body
              if isinstance(node, ast.Assign)}
    names, module = ast.literal_eval(values["__all__"]), ast.literal_eval(values["_PYTHON"])
    module["import_model"] = "importers"
    paths = [f"emplace.{module.get(name, '_emplace')}.{'read' if name == 'import_model' else name}" for name in names]
    return "# Python API\n\n" + "\n\n".join(f"::: {path}" for path in paths) + "\n"


HEADERS = """# C++ headers

<a href="cpp/files.html">All headers</a> and <a href="cpp/annotated.html">all classes</a>, made by Doxygen from the
comments of the headers. Each header describes its contract, units and errors.
"""


def on_files(files: Files, config) -> Files:
    files.append(File.generated(config, "python_api.md", content=api_page()))
    files.append(File.generated(config, "cpp_headers.md", content=HEADERS))
    return files


def on_page_markdown(markdown: str, page, files: Files, **_) -> str:
    """Returns the page with links to folders as links to their README.md, and links to sources by their names."""
    folder = pathlib.PurePosixPath(page.file.src_uri).parent

    def replaced(link: re.Match) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        if re.match(r"\w+:", target):
            return link[0]
        path = os.path.normpath(folder / target)
        if files.get_file_from_path(path):
            return link[0]
        if files.get_file_from_path(path + "/README.md"):
            return f"[{text}]({target.rstrip('/')}/README.md{anchor})"
        return text if (ROOT / path).exists() else link[0]  # a source: the name alone

    return LINK.sub(replaced, markdown)
