"""Masses the user gives in place of those of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kompono.errors import FileError, suggest
from kompono.files.assembly import Assembly, Part
from kompono.given import number


def replaced(assembly: Assembly, masses: Mapping[str, float]) -> Assembly:
    """An assembly with other masses [kg] of parts, by name; inertias are scaled with them."""
    known: set[str] = set()
    found = _replaced(assembly, masses, known)
    for name in masses:
        if name not in known:
            raise FileError(f"there is no part {name!r}.", path=assembly.file, fix=suggest(name, sorted(known)))
    return found


def _replaced(assembly: Assembly, masses: Mapping[str, float], known: set[str]) -> Assembly:
    parts: dict[str, Part | Assembly] = {}
    for key, part in assembly.parts.items():
        if isinstance(part, Assembly):
            parts[key] = _replaced(part, masses, known)
            continue
        known.add(part.name)
        parts[key] = part
        if part.name in masses:
            mass = number(masses[part.name], f"the mass of {part.name}", positive=True, fix="Give it in kg.")
            factor = mass / part.mass if part.mass > 0 else 0.0
            parts[key] = replace(part, mass=mass, inertia=np.asarray(part.inertia) * factor, origin="you")
    return replace(assembly, parts=parts)
