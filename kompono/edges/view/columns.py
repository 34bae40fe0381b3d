"""Many numbers over time in few bytes: equal columns once, constants as one number, the rest packed without loss.

Channels of a machine are smooth, so the bits of a column are replaced by their second differences, small ones become
small whole numbers, and bytes of equal rank are put side by side: gzip then finds what repeats. The car's 324 channels
at 1501 instants (1.9 MB of single precision) become 108 columns and 119 kB. `assets/data.js` takes it back.
"""

from __future__ import annotations

import numpy as np


class Columns:
    """Columns of equal length (n,), each known by a number: 0, 1, ... vary, -1, -2, ... are constant."""

    def __init__(self) -> None:
        self._varying: list[np.ndarray] = []
        self._numbers: dict[bytes, int] = {}
        self.constants: list[float | None] = []  # None is not a number

    def add(self, values: np.ndarray) -> int:
        """The number of a column; values are kept in single precision."""
        column = np.ascontiguousarray(values, dtype="<f4")
        key = column.tobytes()
        if key not in self._numbers:
            if not len(column) or np.all(column == column[0]) or np.all(np.isnan(column)):
                value = float(values[0]) if len(column) else 0.0
                self.constants.append(value if np.isfinite(value) else None)
                self._numbers[key] = -len(self.constants)
            else:
                self._varying.append(column)
                self._numbers[key] = len(self._varying) - 1
        return self._numbers[key]

    def packed(self) -> np.ndarray:
        """All columns that vary, as bytes."""
        if not self._varying:
            return np.zeros(0, dtype="u1")
        bits = np.stack(self._varying).view("<u4")
        for _ in range(2):
            bits = np.diff(bits, axis=1, prepend=np.uint32(0)).astype("<u4")
        signed = bits.view("<i4")
        folded = ((signed << 1) ^ (signed >> 31)).astype("<i4")
        return np.ascontiguousarray(folded).view("u1").reshape(-1, 4).T.ravel()
