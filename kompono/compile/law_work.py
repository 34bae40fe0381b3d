"""What the native solver of laws works on: the columns of its call, and memory on the stack."""

from __future__ import annotations

from dataclasses import dataclass

from kompono.compile.emit import INT, Array, Code, Value, Variable, room
from kompono.compile.law_least import Equations, make_equations
from kompono.translate.laws.naming import FIELDS, Sizes

MOST = 128  # rows that may be held or slide at the same time; with more of them all z are NaN


@dataclass(frozen=True)
class Carried:
    """Rows of friction that others carry: how many, and of each row of the table the place of the gap that carries it
    (-1: none) and its share of the force there; what a gap carries begins with its `first` and goes on with the `next`
    of that.
    """

    count: Variable
    first: Array
    next: Array
    gaps: Array
    shares: Array


@dataclass(frozen=True)
class Work:
    """The columns of a call and the memory of the solver.

    Active rows are numbered with those that slide first: `which` is their place in the table. Friction that slides on
    a closed gap is no row of its own: it is `carried` by that of the gap, a share of its force (see `law_carried`);
    `kinds` are those of all other rows. `columns` has what the machine answers to one unit of each active row, `curves`
    the equations of sliding rows: coefficients of all active multipliers and the right side. `weights` say how held
    rows share what is redundant; `mobility` is the largest of each unit, by its first row.
    """

    code: Code
    sizes: Sizes
    most: int
    given: Array
    out: Array
    which: Array
    columns: Array
    curves: Array
    measured: Array
    sides: Array
    z: Array
    weights: Array
    mobility: Array
    sliding: Variable
    active: Variable
    carried: Carried
    kinds: Array
    held: Equations

    def law(self, i: Value | int, field: str) -> Value:
        """An entry of the table of laws, of a row by its place there."""
        return self.given[i + self.sizes.place(0, field)]

    def integer(self, i: Value, field: str) -> Value:
        """The same, as a whole number."""
        return self.code.let(INT, f"call i64 @llvm.fptosi.sat.i64.f64(double {self.law(i, field).name})")

    @property
    def n0(self) -> Array:
        """Measured reactions without multipliers."""
        return self.given.at(self.sizes.factor + len(FIELDS) * self.sizes.rows)

    def column(self, a: Value) -> Array:
        """What the machine answers to an active row: A z on rows, B z on measures."""
        return self.columns.at(a * (self.sizes.rows + self.sizes.measures))

    def curve(self, s: Value) -> Array:
        """The equation of a sliding row."""
        return self.curves.at(s * (self.most + 1))


def make_work(code: Code, known: Sizes) -> Work:
    """Memory of a solver of these sizes."""
    most = max(1, min(known.rows, MOST))
    which, sides, z, weights = room(code, max(1, known.rows)), *(room(code, most) for _ in range(3))
    return Work(
        code, known, most, Array(code, "%in"), Array(code, "%out"), Array(code, which.pointer, INT),
        room(code, most * max(1, known.rows + known.measures)), room(code, most * (most + 1)),
        room(code, max(1, known.measures)), sides, z, weights,
        room(code, max(1, known.rows)), code.variable(INT, 0), code.variable(INT, 0),
        _carried(code, known), room(code, max(1, known.rows)),
        make_equations(code, most),
    )  # fmt: skip


def _carried(code: Code, known: Sizes) -> Carried:
    first, after, gaps = (Array(code, room(code, max(1, known.rows)).pointer, INT) for _ in range(3))
    return Carried(code.variable(INT, 0), first, after, gaps, room(code, max(1, known.rows)))
