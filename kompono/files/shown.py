"""Solids of CAD parts: volume, centre, inertia and triangles, through the geometry kernel where it is installed.

Densities are asked for by part, or one for all; where a file has none and nobody gives one, steel is assumed and told.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kompono.errors import FileError
from kompono.files.assembly import Noted
from kompono.given import number
from kompono.model.shape import Shape

STEEL = 7850.0  # kg/m^3


@dataclass(frozen=True, eq=False)
class Solid:
    """Volume [m^3], centre (3) [m], inertia (3, 3) [m^5] about it at density 1, and shapes."""

    volume: float = 0.0
    centre: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    shapes: tuple[Shape, ...] = ()


class Shown:
    """Solids of the STEP files beside a file, and densities."""

    def __init__(self, file: Path, density: Any = None) -> None:
        self.folder, self.missing = file.resolve().parent, Counter[str]()
        what = "the density [kg/m^3]"
        self.own: dict[str, float] = {}
        self.all: float | None = None
        if isinstance(density, Mapping):
            self.own = {str(k): number(v, what, "load", positive=True) for k, v in density.items()}
        elif density is not None:
            self.all = number(density, what, "load", positive=True)

    def asked(self, name: str) -> bool:
        """Whether a density was given for a part."""
        return self.all is not None or name in self.own

    def density(self, name: str) -> tuple[float, str]:
        """The density of a part, and where it comes from."""
        if name in self.own:
            return self.own[name], f"geometry and your density {self.own[name]:g} kg/m^3"
        if self.all is not None:
            return self.all, f"geometry and your density {self.all:g} kg/m^3"
        return STEEL, f"geometry and the density of steel, {STEEL:g} kg/m^3, which is assumed"

    def solid(self, name: str, part: str, colour: str | None) -> Solid:
        """The solid of a STEP file beside the file; an empty one where there is none, or no kernel."""
        path = self._found(name)
        if path is None:
            self.missing["shapes whose files are not there"] += bool(name)
            return Solid()
        if importlib.util.find_spec("OCP") is None:
            self.missing["shapes: pip install 'kompono[cad]' shows them"] += 1
            return Solid()
        from kompono.files.geometry import step_solid

        try:
            return step_solid(path, colour)
        except FileError as error:
            self.missing[f"shapes that cannot be read ({error.message})"] += 1
            return Solid()

    def _found(self, name: str) -> Path | None:
        """The file of a shape in the folder, whatever its letters' case; names that lead elsewhere are not followed."""
        if not name or Path(name).name != name:
            return None
        known = {each.name.lower(): each for each in self.folder.iterdir() if each.is_file()}
        return known.get(name.lower())

    def notes(self) -> list[Noted]:
        """What could not be shown."""
        return [Noted("ignored", "looks", f"{count} {why}") for why, count in self.missing.items() if count]
