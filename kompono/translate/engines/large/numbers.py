"""Numbers of a cell: data of an instance, not of its type.

A cell is traced with symbols in the place of masses, inertias, lengths and the numbers of forces, as a whole model is
(see `translate/numbers.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kompono.model.element import Element
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.opening import Opening
from kompono.translate.lengths import named_grounds, named_lengths
from kompono.translate.numbers import OpenNumbers
from kompono.translate.open_pairs import OpenPairs, named_directions
from kompono.translate.structure.topology import Topology


def open_numbers_of(part: Elaborated, topology: Topology, opening: Opening) -> OpenNumbers:
    """Numbers of a cell, whose small model is `part`."""

    def laws(_: Mapping[Element, Any]) -> dict[str, tuple[Element, Any]]:
        found = {part.path(one): (one, opening.of(one)) for one in (*part.forces, *part.efforts, *part.fields)}
        return {path: (one, law) for path, (one, law) in found.items() if law is not None}

    numbers = OpenNumbers({part.path(body): body for body in part.bodies}, laws)
    numbers.frames = {}  # each by its body and its place
    numbers.lengths = named_lengths(part)
    numbers.directions, numbers.grounds = named_directions(part, topology), named_grounds(part)
    numbers.pairs = OpenPairs(replace(part, numbers=numbers), topology)
    return numbers
