"""Feet that all touch, solved for within the routine that needs their forces.

What the solver is told of feet is on lanes anyway (see `packs`). So whether they touch, the small elimination and the
forces are instructions of the routine itself, and nothing is stored for somebody else to load; only where feet are
otherwise is the solver called, with all it is told. Bits are those of the solver, which has the same functions
(`law_feet`) for whoever walks through tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kompono.compile.emit import Code, Value
from kompono.compile.law_feet import Feet, lanes_of, row_of
from kompono.translate.laws.naming import Sizes

ZERO = "zeroinitializer"


class InLine(Code):
    """Code among the lines of another function."""

    def __init__(self, lines: list[str], prefix: str) -> None:
        super().__init__()
        self._lines, self._prefix = lines, prefix

    def fresh(self, stem: str = "") -> str:
        """A name nobody has, in that function either."""
        return super().fresh(f"{self._prefix}{stem}")


def solve_in_line(
    code: InLine, sizes: Sizes, wide: Callable[[str, int], str], answers: Callable[[int, int], str],
    ask: Callable[[], Sequence[str]],
) -> list[str]:  # fmt: skip
    """Forces of gaps, and of each slip, on lanes. `wide` names numbers of the table by field and row, `answers` what
    feet do to gaps; `ask` calls the solver and names what it gives.
    """
    lanes = lanes_of(sizes)
    real = lanes.real
    feet = Feet(
        code, sizes, lanes, lambda field, row: Value(code, wide(field, row), real),
        lambda i, k: Value(code, answers(i, k), "double"),
    )  # fmt: skip
    names = {name: code.fresh(name) for name in ("touching", "solved", "otherwise", "done", "off")}
    ends: list[tuple[str, list[str]]] = []

    def block(name: str) -> None:
        code.say(f"{names[name]}:")

    def go(name: str) -> None:
        code.say(f"br label %{names[name]}")

    def branch(condition: Value, yes: str, no: str) -> None:
        code.say(f"br i1 {condition.name}, label %{names[yes]}, label %{names[no]}")

    if feet.corrects:
        still = feet.touching() & feet.still()
        names["still"], names["matters"] = code.fresh("still"), code.fresh("matters")
        branch(still, "still", "matters")
        block("still")
        go("done")
        ends.append((names["still"], [ZERO] * (1 + sizes.slips)))
        block("matters")
    branch(feet.touching(), "touching", "otherwise")
    block("touching")
    elimination = feet.elimination()
    branch(elimination.is_clear, "solved", "otherwise")
    block("solved")
    forces = feet.forces(elimination.forces())
    go("done")
    ends.append((names["solved"], [one.name for one in forces]))
    block("otherwise")
    ends.append((names["otherwise"], _on_lanes(feet, ask())))
    go("done")
    block("done")
    found = []
    for row in range(1 + sizes.slips):
        ways = ", ".join(f"[{values[row]}, %{name}]" for name, values in ends)
        found.append(code.let(real, f"phi {real} {ways}").name)
    return found


def _on_lanes(feet: Feet, forces: Sequence[str]) -> list[str]:
    """Forces of all rows of the table, row by row of each foot."""
    sizes, real, found = feet.sizes, feet.lanes.real, []
    for row in range(1 + sizes.slips):
        text = "poison"
        for lane in range(feet.lanes.count):
            one = forces[row_of(sizes, min(lane, sizes.feet - 1), row)]
            text = feet.let(f"insertelement {real} {text}, double {one}, i64 {lane}").name
        found.append(text)
    return found
