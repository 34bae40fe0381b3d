"""A recipe as Python: a file with a class for each component, to read and to go on from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kompono.files.machine import WORDS, Machine
from kompono.files.place import Place
from kompono.files.recipe import At, Make, Recipe, Ref, Start
from kompono.model.shape import Shape

CORE = ("Body", "Ground", "Input")
WIDTH = 118


def as_python(machine: Machine) -> str:
    """The source of a module whose last class is the machine."""
    recipes = list(dict.fromkeys(_all(machine.recipe)))
    names: dict[Recipe, str] = {}
    for recipe in recipes:
        name, number = recipe.name, 2
        while name in names.values() or name in WORDS:
            name, number = f"{recipe.name}{number}", number + 1
        names[recipe] = name
    bodies = [_class(recipe, names) for recipe in recipes]
    text = "\n\n\n".join(bodies)
    words = sorted(word for word in WORDS if f"{word}(" in text and word not in CORE)
    lines = [f'"""{machine.recipe.title} Written by `kompono import`."""', ""]
    lines += ["from kompono import " + ", ".join([*(w for w in CORE if f"{w}(" in text), "Subsystem"])]
    lines += ["from kompono.files import Place"] if "Place" in text else []
    lines += ["from kompono.library import " + ", ".join(words)] if words else []
    lines += ["from kompono.model.shape import Shape"] if "Shape(" in text else []
    return "\n".join(lines) + f"\n\n\n{text}\n"


def _all(recipe: Recipe) -> Iterator[Recipe]:
    """All components, inner ones first."""
    for make in recipe.members.values():
        if isinstance(make, Make) and isinstance(make.what, Recipe):
            yield from _all(make.what)
    yield recipe


def _class(recipe: Recipe, names: Mapping[Recipe, str]) -> str:
    head = "def __init__(self, *, place=Place()):" if recipe.placed else "def __init__(self):"
    lines = [f"class {names[recipe]}(Subsystem):", f'    """{recipe.title}"""', "", f"    {head}"]
    for name, make in recipe.members.items():
        if isinstance(make, Make):
            lines.append(f"        self.{name} = {_call(make, names, recipe)}")
        else:
            table = ", ".join(f'"{key}": {_call(each, names, recipe)}' for key, each in make.items())
            lines.append(f"        self.{name} = {{{table}}}")
    if recipe.exposes:
        lines.append(f"        self.expose({', '.join(f'self.{name}' for name in recipe.exposes)})")
    return "\n".join(lines)


def _call(make: Make, names: Mapping[Recipe, str], recipe: Recipe) -> str:
    what = names[make.what] if isinstance(make.what, Recipe) else make.what
    words = [_value(each, names, recipe) for each in make.arguments]
    for key, value in make.keywords.items():
        if isinstance(value, Start):
            words += _started(value, what == "Ground", recipe.placed)
        elif key == "shape":
            kept = [shape for shape in value if shape.kind != "given"]  # triangles would fill pages
            words += [f"shape=[{', '.join(_shape(shape) for shape in kept)}]"] if kept else []
        else:
            words.append(f"{key}={_value(value, names, recipe)}")
    return f"{what}({', '.join(words)})"


def _started(start: Start, ground: bool, placed: bool) -> list[str]:
    if not placed:
        return [f"start_position={start.position!r}", f"start_orientation={start.quaternion!r}"]
    if ground:
        return ["place.position.tolist()", "orientation=place.quaternion"]
    return [f"**place.start({start.position!r}, {start.quaternion!r})"]


def _shape(shape: Shape) -> str:
    return repr(shape)


def _value(value: Any, names: Mapping[Recipe, str], recipe: Recipe) -> str:
    if isinstance(value, Make):
        return _call(value, names, recipe)
    if isinstance(value, Ref):
        return f"self.{value.path}" + (f'["{value.key}"]' if value.key is not None else "")
    if isinstance(value, At):
        if value.orientation is None and not any(value.position):
            return f"self.{value.carrier}"
        turned = f", orientation={value.orientation!r}" if value.orientation is not None else ""
        return f"self.{value.carrier}.at({', '.join(map(repr, value.position))}{turned})"
    if isinstance(value, Place):
        own = f"Place.of({tuple(value.position.tolist())!r}, {value.quaternion!r})"
        return f"place @ {own}" if recipe.placed else own
    if isinstance(value, tuple) and any(isinstance(each, Ref | Make | At) for each in value):
        return f"({', '.join(_value(each, names, recipe) for each in value)})"
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    return repr(value)
