"""Units as FMI wants them: powers of the seven base units and the radian, and a factor.

`N m`, `rad/s`, `kg m^2`, `N s/m` and `W/(m K)` are understood; a unit that is not (or is ambiguous, like `J/kg K`) is
handed on by its name alone, which FMI allows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
_KNOWN: dict[str, tuple[float, dict[str, int]]] = {
    **{name: (1.0, {name: 1}) for name in BASE},
    "g": (1e-3, {"kg": 1}), "N": (1.0, {"kg": 1, "m": 1, "s": -2}), "J": (1.0, {"kg": 1, "m": 2, "s": -2}),
    "W": (1.0, {"kg": 1, "m": 2, "s": -3}), "Pa": (1.0, {"kg": 1, "m": -1, "s": -2}), "Hz": (1.0, {"s": -1}),
    "C": (1.0, {"A": 1, "s": 1}), "V": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -1}),
    "Ohm": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -2}), "ohm": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -2}),
    "Ω": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -2}), "F": (1.0, {"kg": -1, "m": -2, "s": 4, "A": 2}),
    "H": (1.0, {"kg": 1, "m": 2, "s": -2, "A": -2}), "T": (1.0, {"kg": 1, "s": -2, "A": -1}),
    "Wb": (1.0, {"kg": 1, "m": 2, "s": -2, "A": -1}), "deg": (math.pi / 180, {"rad": 1}), "1": (1.0, {}),
    "min": (60.0, {"s": 1}), "h": (3600.0, {"s": 1}), "L": (1e-3, {"m": 3}), "bar": (1e5, {"kg": 1, "m": -1, "s": -2}),
}  # fmt: skip
_PREFIXES = {"G": 1e9, "M": 1e6, "k": 1e3, "d": 1e-1, "c": 1e-2, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9, "p": 1e-12}
_FACTOR = re.compile(r"([^\d\s^*·()/.-]+|1)(?:\^?(-?\d+))?")


def base_units(unit: str) -> tuple[float, Mapping[str, int]] | None:
    """Factor to the base units and their powers, None if the unit is not understood."""
    above, *below = unit.strip().split("/")
    found = _product(above, 1)
    for piece in below:
        piece = piece.strip()
        inside = piece[1:-1] if piece.startswith("(") and piece.endswith(")") else piece
        if inside is piece and len(_words(piece)) != 1:
            return None
        found = _times(found, _product(inside, -1))
    return found


def _words(text: str) -> list[str]:
    return re.split(r"[\s*·]+", text.strip())


def _product(text: str, sign: int) -> tuple[float, dict[str, int]] | None:
    found: tuple[float, dict[str, int]] | None = (1.0, {})
    for word in _words(text):
        match = _FACTOR.fullmatch(word)
        known = _named(match[1]) if match else None
        if match is None or known is None:
            return None
        power = sign * int(match[2] or 1)
        found = _times(found, (known[0] ** power, {name: power * count for name, count in known[1].items()}))
    return found


def _named(name: str) -> tuple[float, dict[str, int]] | None:
    if name in _KNOWN:
        return _KNOWN[name]
    factor, known = _PREFIXES.get(name[:1]), _KNOWN.get(name[1:])
    return (factor * known[0], known[1]) if factor is not None and known is not None else None


def _times(
    left: tuple[float, dict[str, int]] | None, right: tuple[float, dict[str, int]] | None
) -> tuple[float, dict[str, int]] | None:
    if left is None or right is None:
        return None
    names = [*left[1], *(name for name in right[1] if name not in left[1])]
    powers = {name: left[1].get(name, 0) + right[1].get(name, 0) for name in names}
    return left[0] * right[0], {name: power for name, power in powers.items() if power}
