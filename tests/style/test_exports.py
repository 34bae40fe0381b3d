"""The door is narrow and documented: every public name exists and says what it is."""

from __future__ import annotations

import inspect
import subprocess
import sys

import kompono

PUBLIC = list(kompono.__all__)


def test_names_are_exported_once() -> None:
    assert len(set(PUBLIC)) == len(PUBLIC)


def test_public_names_exist_and_are_documented() -> None:
    values = {name: getattr(kompono, name) for name in PUBLIC}
    telling = {name: value for name, value in values.items() if inspect.ismodule(value) or callable(value)}
    assert len(telling) > 20
    assert not [name for name, value in telling.items() if not inspect.getdoc(value)]


def test_public_methods_are_documented() -> None:
    members = {
        f"{name}.{key}": member
        for name in PUBLIC
        if inspect.isclass(kind := getattr(kompono, name))
        for key, member in vars(kind).items()
        if not key.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
    }
    assert len(members) > 50
    assert not [name for name, member in members.items() if not inspect.getdoc(member)]


def test_what_few_runs_need_is_not_imported_by_all() -> None:
    code = "import sys; from kompono import load, simulate; print([m for m in sys.modules if m.startswith('scipy.')])"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "optimize" not in shown
    assert "integrate" not in shown
