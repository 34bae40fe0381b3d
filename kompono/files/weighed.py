"""Masses the user gives in place of those of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kompono.errors import FileError, suggest
from kompono.files.assembly import Assembly, Part
from kompono.given import number, shown


def replaced(assembly: Assembly, masses: Mapping[str, float]) -> Assembly:
    """An assembly with other masses [kg] of parts, by name; inertias are scaled with them."""
    known: set[str] = set()
    found = _replaced(assembly, masses, known)
    for name in masses:
        if name not in known:
            fix = suggest(str(name), sorted(known)) or f"There are {', '.join(sorted(known)[:8])}."
            raise FileError(f"there is no part {shown(name)}.", path=assembly.file, fix=fix)
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
            mass = number(
                masses[part.name], f"the mass of {part.name}", assembly.file, positive=True, fix="Give it in kg."
            )
            factor = mass / part.mass if part.mass > 0 else 0.0
            parts[key] = replace(part, mass=mass, inertia=np.asarray(part.inertia) * factor, origin="you")
    return replace(assembly, parts=parts)
