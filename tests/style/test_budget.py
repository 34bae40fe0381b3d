"""Small leaves: files, functions and classes of the package keep to a size that can be read at one sitting."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kompono.garbage import uncollected

PACKAGE = Path(__file__).parents[2] / "kompono"
FILES = sorted(PACKAGE.rglob("*.py"))
LINES_PER_FILE = 400
LINES_PER_FUNCTION = 60
METHODS_PER_CLASS = 15

# What may be larger, and why. Keys are `folder/file.py:name`, of a function or a class.
EXCUSED: dict[str, str] = {
    "single.py:simulate": "one line per option",
}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    with uncollected():
        return ast.parse(path.read_text(encoding="utf-8"))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all statements in it; a function stands nowhere else."""
    yield node
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()):
            yield from statements(child)


@cache
def oversized() -> dict[str, str]:
    """What is too large anywhere in the package: key and complaint."""
    found = {}
    for path in FILES:
        for node in statements(tree(path)):
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


def test_files_are_found() -> None:
    assert len(FILES) > 200


def test_files_are_short() -> None:
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert not {name: count for name, count in lines.items() if count > LINES_PER_FILE}


def test_functions_are_short_and_classes_narrow() -> None:
    assert not {key: problem for key, problem in oversized().items() if key not in EXCUSED}


def test_every_excuse_is_still_needed() -> None:
    assert set(EXCUSED) <= set(oversized()), "remove from EXCUSED what is small again"


def test_modules_say_what_they_are_for() -> None:
    assert not [name_of(path) for path in FILES if not ast.get_docstring(tree(path))]
