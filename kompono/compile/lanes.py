"""How many simulations one instruction works on, and how LLVM spells that.

Code for one lane works on `double`. Code for W lanes works on `<W x double>`: the same instructions, each on one number
of W simulations at once. In memory, element i of a vector of W simulations takes the places i W .. i W + W - 1. Time
and inputs are common to all lanes and stay single numbers, spread over the lanes where they are read; simulations that
are `apart` have their own times.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field


def constant(value: float) -> str:
    """The exact LLVM spelling of a double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


@dataclass(frozen=True)
class Lanes:
    """A number of lanes and the types that belong to it."""

    count: int = 1
    apart: bool = field(default=False, compare=False)

    @property
    def common(self) -> tuple[int, ...]:
        """Arguments of routines that are the same on all lanes: time and inputs."""
        return () if self.count == 1 else (2,) if self.apart else (0, 2)

    def _of(self, kind: str) -> str:
        return kind if self.count == 1 else f"<{self.count} x {kind}>"

    @property
    def real(self) -> str:
        """The type of numbers."""
        return self._of("double")

    @property
    def truth(self) -> str:
        """The type of truth values."""
        return self._of("i1")

    @property
    def integer(self) -> str:
        """The type of integers of the size of a number."""
        return self._of("i64")

    @property
    def suffix(self) -> str:
        """The end of the names of LLVM's mathematical functions."""
        return "f64" if self.count == 1 else f"v{self.count}f64"

    def all(self, kind: str, text: str) -> str:
        """A constant, the same in all lanes."""
        return text if self.count == 1 else f"splat ({kind} {text})"

    def constant(self, value: float) -> str:
        """A number, the same in all lanes."""
        return self.all("double", constant(value))

    @property
    def aligned(self) -> str:
        """What a load or store of numbers ends with: nothing is known of addresses but that they are of doubles."""
        return "" if self.count == 1 else ", align 8"

    @property
    def stack(self) -> str:
        """The attribute of functions that keeps wide values on the stack from lying across two cache lines."""
        return "" if self.count == 1 else f"alignstack({min(8 * self.count, 64)}) "

    def spread(self, name: str, source: str) -> list[str]:
        """Instructions that give `name` the single number `source` in all lanes."""
        if self.count == 1:
            return [f"{name} = fadd double {source}, -0.0"]
        kind = self.real
        return [
            f"{name}.one = insertelement {kind} poison, double {source}, i64 0",
            f"{name} = shufflevector {kind} {name}.one, {kind} poison, <{self.count} x i32> zeroinitializer",
        ]


ONE = Lanes()
