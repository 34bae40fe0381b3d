"""A recipe as Python: a file with a class for each component, to read and to go on from.

Triangles would fill pages: they become STL files in a folder beside the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kompono.files.machine import WORDS, Machine
from kompono.files.place import Place
from kompono.files.recipe import At, Make, On, Recipe, Ref, Start
from kompono.model.shape import Shape

CORE = ("Body", "Ground", "Input")
WIDTH = 118
INDENT = " " * 8


def write_python(machine: Machine, out: Path) -> list[Path]:
    """Write a module whose last class is the machine, and its meshes beside it; gives the files that were written."""
    folder = out.parent / f"{out.stem}_shapes"
    writer = _Writer(machine.recipe, folder.name)
    text = writer.module(machine.recipe)
    written = [out]
    for name, shape in writer.meshes.items():
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(stl(shape.sizes["vertices"], shape.sizes["faces"]))
        written.append(folder / name)
    out.write_text(text, encoding="utf-8")
    return written


def as_python(machine: Machine) -> str:
    """The source of a module whose last class is the machine, without shapes of triangles."""
    return _Writer(machine.recipe, None).module(machine.recipe)


def stl(vertices: Any, faces: Any) -> bytes:
    """Triangles (n, 3) of vertices (m, 3) [m] as a binary STL file."""
    corners = np.asarray(vertices, dtype=float)[np.asarray(faces, dtype=int)]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    rows = np.zeros(len(corners), dtype=[("values", "<f4", (12,)), ("attribute", "<u2")])
    rows["values"] = np.concatenate([normals, corners.reshape(-1, 9)], axis=1)
    return b"kompono".ljust(80) + np.uint32(len(rows)).tobytes() + rows.tobytes()


class _Writer:
    """Names of classes by recipe, and the meshes that are referred to, by file."""

    def __init__(self, recipe: Recipe, folder: str | None) -> None:
        self.folder = folder
        self.meshes: dict[str, Shape] = {}
        self.names: dict[Recipe, str] = {}
        for each in dict.fromkeys(_all(recipe)):
            name, number = each.name, 2
            while name in self.names.values() or name in WORDS:
                name, number = f"{each.name}{number}", number + 1
            self.names[each] = name

    def module(self, recipe: Recipe) -> str:
        """All of it."""
        text = "\n\n\n".join(self.component(each) for each in self.names)
        words = sorted(word for word in WORDS if f"{word}(" in text and word not in CORE)
        words += ["shapes"] if self.meshes else []
        lines = [f'"""{recipe.title} Written by `kompono import`."""', ""]
        lines += ["from pathlib import Path", ""] if self.meshes else []
        lines += ["from kompono import " + ", ".join([*(w for w in CORE if f"{w}(" in text), "Subsystem"])]
        lines += ["from kompono.files import Place"] if "Place" in text else []
        lines += _imported(words) if words else []
        lines += ["from kompono.model.shape import Shape"] if "Shape(" in text else []
        lines += ["", f'SHAPES = Path(__file__).parent / "{self.folder}"'] if self.meshes else []
        return "\n".join(lines) + f"\n\n\n{text}\n"

    def component(self, recipe: Recipe) -> str:
        """One class."""
        head = "def __init__(self, *, place=Place()):" if recipe.placed else "def __init__(self):"
        lines = [f"class {self.names[recipe]}(Subsystem):", f'    """{recipe.title}"""', ""]
        lines += [] if recipe.placed else [f"    run_defaults = {Machine.run_defaults!r}", ""]
        lines += [f"    {head}"]
        for name, make in recipe.members.items():
            if isinstance(make, Make):
                lines += _wrapped(f"self.{name} = ", *self.call(make, recipe))
            else:
                each = [f'"{key}": {_joined(*self.call(one, recipe))}' for key, one in make.items()]
                lines += _wrapped(f"self.{name} = ", "", each, "{}")
        lines += [f"{INDENT}# {line}" for line in recipe.hints]
        if recipe.exposes:
            lines += _wrapped("", "self.expose", [f"self.{name}" for name in recipe.exposes])
        return "\n".join(lines)

    def call(self, make: Make, recipe: Recipe) -> tuple[str, list[str]]:
        """What is called, and its arguments."""
        what = self.names[make.what] if isinstance(make.what, Recipe) else make.what
        words = [self.value(each, recipe) for each in make.arguments]
        for key, value in make.keywords.items():
            if isinstance(value, Start):
                words += _started(value, what == "Ground", recipe.placed)
            elif key == "shape":
                kept = [text for shape in value if (text := self.shape(shape, recipe))]
                words += [f"shape=[{', '.join(kept)}]"] if kept else []
            else:
                words.append(f"{key}={self.value(value, recipe)}")
        return what, words

    def shape(self, shape: Shape, recipe: Recipe) -> str:
        """A shape; triangles by a file of their own."""
        if shape.kind != "given":
            return repr(shape)
        if self.folder is None:
            return ""
        same = next((name for name, one in self.meshes.items() if one.sizes is shape.sizes), None)
        name = same or f"{self.names[recipe].lower()}_{len(self.meshes) + 1}.stl"
        self.meshes[name] = shape
        text = f'shapes.mesh(SHAPES / "{name}")'
        if shape.colour:
            text += f'.coloured("{shape.colour}"' + (f", {shape.opacity!r})" if shape.opacity != 1 else ")")
        turned = "" if shape.orientation == (1.0, 0.0, 0.0, 0.0) else f", orientation={shape.orientation!r}"
        placed = any(shape.position) or turned
        return text + (f".at({', '.join(map(repr, shape.position))}{turned})" if placed else "")

    def value(self, value: Any, recipe: Recipe) -> str:
        """An argument."""
        if isinstance(value, Make):
            return _joined(*self.call(value, recipe))
        if isinstance(value, Ref):
            return f"self.{value.path}" + (f'["{value.key}"]' if value.key is not None else "")
        if isinstance(value, At):
            if value.orientation is None and not any(value.position):
                return f"self.{value.carrier}"
            turned = f", orientation={value.orientation!r}" if value.orientation is not None else ""
            return f"self.{value.carrier}.at({', '.join(map(repr, value.position))}{turned})"
        if isinstance(value, On):
            words = ", ".join(f"{key}={one!r}" for key, one in value.keywords.items())
            return f"{self.value(value.frame, recipe)}.{value.kind}({words})"
        if isinstance(value, Place):
            own = f"Place.of({tuple(value.position.tolist())!r}, {value.quaternion!r})"
            return f"place @ {own}" if recipe.placed else own
        if isinstance(value, tuple) and any(isinstance(each, Ref | Make | At) for each in value):
            return f"({', '.join(self.value(each, recipe) for each in value)})"
        if isinstance(value, np.ndarray):
            return repr(value.tolist())
        return repr(value)


def _all(recipe: Recipe) -> Iterator[Recipe]:
    """All components, inner ones first."""
    members: Mapping[str, Any] = recipe.members
    for make in members.values():
        if isinstance(make, Make) and isinstance(make.what, Recipe):
            yield from _all(make.what)
    yield recipe


def _started(start: Start, ground: bool, placed: bool) -> list[str]:
    if not placed:
        return [f"start_position={start.position!r}", f"start_orientation={start.quaternion!r}"]
    if ground:
        return ["place.position.tolist()", "orientation=place.quaternion"]
    return [f"**place.start({start.position!r}, {start.quaternion!r})"]


def _joined(what: str, words: list[str]) -> str:
    return f"{what}({', '.join(words)})"


def _wrapped(head: str, what: str, words: list[str], around: str = "()") -> list[str]:
    """A statement on one line, or with an argument on each line where it would be too long."""
    whole = f"{INDENT}{head}{what}{around[0]}{', '.join(words)}{around[1]}"
    if len(whole) <= WIDTH:
        return [whole]
    return [f"{INDENT}{head}{what}{around[0]}", *(f"{INDENT}    {word}," for word in words), f"{INDENT}{around[1]}"]


def _imported(words: list[str]) -> list[str]:
    line = "from kompono.library import " + ", ".join(words)
    return [line] if len(line) <= WIDTH else ["from kompono.library import (", *(f"    {w}," for w in words), ")"]
