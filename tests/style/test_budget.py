"""Small leaves: files, functions and classes of the package keep to a size that can be read at one sitting."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "kompono"
FILES = sorted(PACKAGE.rglob("*.py"))
LINES_PER_FILE = 400
LINES_PER_FUNCTION = 60
METHODS_PER_CLASS = 15

# What may be larger, and why. Keys are `folder/file.py:name`, of a function or a class.
EXCUSED: dict[str, str] = {"translate/engine.py:Engine": "one method per routine of a program"}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def oversized(path: Path) -> dict[str, str]:
    """What is too large in a file: key and complaint."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size, limit, what = (node.end_lineno or 0) - node.lineno + 1, LINES_PER_FUNCTION, "lines"
        elif isinstance(node, ast.ClassDef):
            methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef) and item.name[0] != "_"}
            size, limit, what = len(methods), METHODS_PER_CLASS, "public methods"
        else:
            continue
        if size > limit:
            found[f"{name_of(path)}:{node.name}"] = f"{node.name} has {size} {what}, more than {limit}"
    return found


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES_PER_FILE


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_functions_are_short_and_classes_narrow(path: Path) -> None:
    large = [problem for key, problem in oversized(path).items() if key not in EXCUSED]
    assert not large


def test_every_excuse_is_still_needed() -> None:
    large = {key for path in FILES for key in oversized(path)}
    assert set(EXCUSED) <= large, "remove from EXCUSED what is small again"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
