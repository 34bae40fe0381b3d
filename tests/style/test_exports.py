"""The door is narrow and documented: every public name exists and says what it is."""

from __future__ import annotations

import inspect

import pytest

import kompono

PUBLIC = list(kompono.__all__)


def test_names_are_exported_once() -> None:
    assert len(set(PUBLIC)) == len(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_exists_and_is_documented(name: str) -> None:
    value = getattr(kompono, name)
    if inspect.ismodule(value) or callable(value):
        assert inspect.getdoc(value)


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isclass(getattr(kompono, name, None))])
def test_its_public_methods_are_documented(name: str) -> None:
    for key, member in vars(getattr(kompono, name)).items():
        if not key.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
            assert inspect.getdoc(member), f"{name}.{key}"
