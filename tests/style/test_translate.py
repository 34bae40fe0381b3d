"""Names and keys in the translator: one meaning for each class, tables keyed by elements and not by their addresses."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import kompono

ROOT = Path(kompono.__file__).parent / "translate"
TREES = {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}

# Where things are compared that need not be elements, nor hashable.
ADDRESSES = {
    "declared/words.py": "values of attributes, of any class",
    "declared/law_checks.py": "an element that holds more than numbers is like itself only",
    "engines/large/likeness.py": "an object of an unknown class is like itself only; solids of many bodies are one",
    "engines/large/tables.py": "code of a type of cells",
    "recipes.py": "a joint that a function knows is told apart by which one it is, and kept with its recipe",
}


def test_no_class_has_two_meanings() -> None:
    names = Counter(node.name for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert len(names) > 80
    assert not [name for name, count in names.items() if count > 1]


def test_addresses_of_objects_are_no_keys() -> None:
    found = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "id"
    }
    assert found == set(ADDRESSES)
