"""Machines that run in pages of the site. A page asks for one where its text speaks of it:

    <!-- living: FourBar -->                          the class that blocks above declare, running: knobs, pull, restart
    <!-- living: kompono.examples.car:Car -->         the same of a module
    <!-- moving: kompono.examples.walker:Walker -->   a stored run, for what needs a solver no page has

`KOMPONO_DOCS_MACHINES=NAME,NAME` makes only some of them.
"""

from __future__ import annotations

import ast
import os
import posixpath
import re
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

ASKED = re.compile(r"^<!-- (living|moving): (?:([\w.]+):)?(\w+) -->$", re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FRAME = '<iframe class="living" src="{place}" loading="lazy" title="{title}"></iframe>'
STEP = 1e-3  # s, where a model does not say

_sources: dict[str, str] = {}  # by page of a module: how it asks for its machine
_asked: dict[str, tuple[str, type]] = {}  # by name of the page: how it is shown, and its class


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Note which modules are asked for: the pages of their text show them, too."""
    for file in files.documentation_pages():
        for match in ASKED.finditer(file.content_string):
            if match[2]:
                _sources[f"source/{match[2].replace('.', '/')}.py.md"] = match[0]
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put machines into frames."""
    src_uri = page.file.src_uri
    if src_uri in _sources:
        title, _, text = markdown.partition("\n")
        markdown = f"{title}\n\n{_sources[src_uri]}\n{text}"

    def frame(match: re.Match[str]) -> str:
        way, module, name = match.groups()
        page = f"{module.rpartition('.')[2] if module else Path(src_uri).stem}-{name}"
        found = getattr(import_module(module), name) if module else _declared(markdown[: match.start()], name)
        _asked[page] = (way, found)
        title = f"{name}, running" if way == "living" else f"{name}, a stored run"
        place = posixpath.relpath(f"living/{page}.html", posixpath.dirname(src_uri) or ".")
        return FRAME.format(place=place, title=title)

    return ASKED.sub(frame, markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Make the machines that were asked for."""
    folder = Path(config.site_dir) / "living"
    folder.mkdir(parents=True, exist_ok=True)
    only = os.environ.get("KOMPONO_DOCS_MACHINES")
    for page, (way, kind) in _asked.items():
        if only is None or page in only.split(","):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the text says what a reader must know
                _write(folder / f"{page}.html", way, kind())


def _write(file: Path, way: str, model: Any) -> None:
    from kompono import simulate, view
    from kompono.compile.web import METHODS

    asked = {"until": 2.0, "step": STEP, **model.run_defaults}
    if way == "moving":
        view(simulate(model, **asked, progress=False), html=file)
    else:
        view(
            model, html=file, live=True, options=asked if asked.get("method") in METHODS else asked | {"method": "rk4"}
        )


def _declared(text: str, name: str) -> Any:
    """The class of this name as the blocks of a page declare it; what they run is left out."""
    tree = ast.parse("\n".join(BLOCK.findall(text)))
    kept = [statement for statement in tree.body if _declares(statement)]
    space: dict[str, Any] = {"__name__": name}
    exec(compile(ast.Module(kept, []), "page", "exec"), space)
    return space[name]


def _declares(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        return not any(isinstance(part, ast.Call | ast.Name) for part in ast.walk(statement.value))  # a number
    return isinstance(statement, ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef)
