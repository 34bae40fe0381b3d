"""Hanging chains of any length, with revolute joints whose axes alternate: what a simulation costs as models grow.

kompono run benchmarks/chains.py:Chain --set n=32
python benchmarks/chains.py                       operations of one derivative by number of links
"""

from __future__ import annotations

from kompono import Body, Ground, Subsystem, inspect
from kompono.library import Gravity, Revolute, solids


class Chain(Subsystem):
    """`n` rods of 0.2 m, each hanging from the one before by a revolute joint, about x and y in turn."""

    run_defaults = {"until": 1.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self, n: int = 6) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.rods = [Body(solids.rod(mass=1.0, length=0.2, radius=0.02)) for _ in range(n)]
        above = [self.ground, *(rod.at(0, 0, -0.1) for rod in self.rods)]
        self.pins = [
            Revolute(frame, rod.at(0, 0, 0.1), axis="xy"[k % 2], angle=0.3)
            for k, (frame, rod) in enumerate(zip(above, self.rods, strict=False))
        ]


def main() -> None:
    """One line per length."""
    from tables import show

    rows = []
    for n in (2, 4, 8, 16):
        report = inspect(Chain(n))
        count = report.operations["derivative"]
        rows.append((n, f"{count:,}", f"{count / n:.0f}", report.kernels, f"{report.calls:,}"))
    show(
        "Operations of one derivative of a chain, and what sharing would leave of them",
        ("links", "operations", "per link", "shared kernels", "calls of them"),
        rows,
    )


if __name__ == "__main__":
    main()
