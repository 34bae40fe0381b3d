"""Which rows act, in the native solver of laws, and friction that slides on a closed gap: a share of its force.

Where a contact slides, z of its friction is -d mu z of its gap, whatever else happens. So it need not be a row of its
own: the machine is asked once for the force of the gap and its friction together, W_n - mu d W_t, and four feet of a
box are four rows and not twelve. Friction with a limit beside mu, or by the force of something else, stays a row.
"""

from __future__ import annotations

from kompono.compile.emit import INT, Array, Value
from kompono.compile.law_work import Work
from kompono.translate.laws.naming import HELD, OFF, OWN, SLIDES

_NONE = -1  # the gap of a row that nothing carries


def list_rows(work: Work) -> None:
    """Count the rows that act and those of them that slide, and find friction that its gap carries, which is none of
    them: `kinds` are off for it. `which` are the places of acting rows in the table, in its order.
    """
    code, carried = work.code, work.carried
    one = Value(code, "1", INT)
    with code.loop(work.sizes.rows) as i:
        carried.first[i] = _NONE
    with code.loop(work.sizes.rows) as i:
        kind = work.law(i, "kind")
        work.kinds[i] = kind
        carried.gaps[i] = _NONE
        alone = work.law(i, "count").equals(OWN) & work.law(i, "limit").equals(0.0)
        with code.when(kind.equals(SLIDES) & alone):
            gap = work.integer(i, "unit")
            with code.when(work.law(gap, "kind").equals(HELD)):
                work.kinds[i] = OFF
                carried.shares[i] = 0.0 - work.law(i, "direction") * work.law(i, "mu")
                carried.gaps[i], carried.next[i] = gap, carried.first[gap]
                carried.first[gap] = i
                carried.count.set(carried.count.get() + 1)
        own = work.kinds[i]
        work.which[work.active.get()] = i
        work.active.set(work.active.get() + code.select(own.equals(OFF), Value(code, "0", INT), 1))
        work.sliding.set(work.sliding.get() + code.select(own.equals(SLIDES), one, 0))


def load_row(work: Work, forces: Array, row: Value, apart: int, on: bool) -> None:
    """Put one unit of force on a row, and on what it carries its share of that, or take all of it off again; forces lie
    so far `apart`.
    """
    code, carried = work.code, work.carried
    forces[row * apart] = float(on)
    k = code.variable(INT, carried.first[row])
    with code.forever():
        now = k.get()
        code.leave(now < 0)
        forces[now * apart] = carried.shares[now] if on else 0.0
        k.set(carried.next[now])


def write_carried(work: Work, out: Array) -> None:
    """Forces of what is carried, from those of its gaps."""
    code, carried = work.code, work.carried
    with code.when(carried.count.get() > 0), code.loop(work.sizes.rows) as i, code.when(carried.gaps[i] >= 0):
        out[i] = carried.shares[i] * out[carried.gaps[i]]
