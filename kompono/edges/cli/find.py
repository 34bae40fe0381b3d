"""Which source a command means: a file, a module by its dotted name, or an example that comes with Kompono.

`examples/NAME.py` is the file of that name in the current folder; where there is none, it is the example in
`kompono.examples`, so that the commands of the documentation work in any folder.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

import kompono
from kompono.errors import KomponoError, nearest

EXAMPLES = Path(kompono.__file__).parent / "examples"


class LoadError(KomponoError):
    """A file or module that is not there, does not import, or holds no such model."""


@dataclass(frozen=True)
class ModelFile:
    """The file a model is written in; `module` is the name to import it by, empty for a file that is loaded as such."""

    file: Path
    module: str = ""


def split(target: str) -> tuple[str, str]:
    """`PLACE[:NAME]` in two; the colon of a drive (`C:\\car.py`) is no separator."""
    place, colon, name = ("", "", "") if target.endswith(".py") else target.rpartition(":")
    return (place, name) if colon else (target, "")


def find(place: str, *, quiet: bool = False) -> ModelFile:
    """The source called `place`; which example was taken instead of a file is told on stderr, unless `quiet`."""
    path = Path(place)
    if path.is_file():
        return ModelFile(path.resolve())
    if path.as_posix() in examples():
        shipped = EXAMPLES.joinpath(*path.parts[1:])
        if not quiet:
            print(f"kompono: {place} is not in this folder; taken from {shipped}", file=sys.stderr)
        return ModelFile(shipped, ".".join(("kompono", *path.with_suffix("").parts)))
    if path.suffix != ".py" and all(part.isidentifier() for part in place.split(".")):
        return _module(place)
    if path.is_dir():
        raise LoadError(f"{place!r} is a folder.", fix="Name a file in it.")
    raise LoadError(f"there is no file {place!r}.", fix=nearest(place, examples()))


def examples() -> list[str]:
    """The examples that come with Kompono, as a command names them: `examples/car.py`."""
    return sorted(f"examples/{file.relative_to(EXAMPLES).as_posix()}" for file in EXAMPLES.rglob("[!_]*.py"))


def _module(name: str) -> ModelFile:
    """A module that can be imported; the current folder counts as for `python -m`."""
    sys.path.insert(0, "")
    try:
        spec = _spec(name)
    finally:
        sys.path.remove("")
    if (spec is None or not spec.has_location) and Path(name).is_dir():
        raise LoadError(f"{name!r} is a folder.", fix="Name a file in it.")
    if spec is None or not spec.has_location:
        raise LoadError(f"there is no file and no module {name!r}.", fix=nearest(f"examples/{name}.py", examples()))
    return ModelFile(Path(str(spec.origin)).resolve(), name)


def _spec(name: str) -> ModuleSpec | None:
    """What is known of a module before it is imported, None if it or a package it is said to be in does not exist."""
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise LoadError(f"cannot load {name}: {error}") from error
    except Exception as error:
        raise LoadError(f"cannot load {name}: {type(error).__name__}: {error}") from error
