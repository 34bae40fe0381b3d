"""Friction that slides on a closed gap, in the native solver of laws: a share of the force of that gap.

Where a contact slides, z of its friction is -d mu z of its gap, whatever else happens. So it need not be a row of its
own: the machine is asked once for the force of the gap and its friction together, W_n - mu d W_t, and four feet of a
box are four rows and not twelve. Friction with a limit beside mu, or by the force of something else, stays a row.
"""

from __future__ import annotations

from kompono.compile.emit import Array, Value
from kompono.compile.law_work import Work
from kompono.translate.laws.naming import HELD, OFF, OWN, SLIDES


def list_carried(work: Work) -> None:
    """Find the rows, by their places in the table, that are friction which its gap carries; `kinds` are those of all
    others, off for these.
    """
    code, carried = work.code, work.carried
    with code.loop(work.sizes.rows) as i:
        kind = work.law(i, "kind")
        work.kinds[i] = kind
        alone = work.law(i, "count").equals(OWN) & work.law(i, "limit").equals(0.0)
        with code.when(kind.equals(SLIDES) & alone):
            gap, k = work.integer(i, "unit"), carried.count.get()
            with code.when(work.law(gap, "kind").equals(HELD)):
                work.kinds[i] = OFF
                carried.rows[k], carried.gaps[k] = i, gap
                carried.shares[k] = 0.0 - work.law(i, "direction") * work.law(i, "mu")
                carried.count.set(k + 1)


def load_carried(work: Work, load: Array, row: Value, first: int, on: bool) -> None:
    """Put what a row carries on a load, the forces of which begin at `first`, or take it off again."""
    code, carried = work.code, work.carried
    with code.loop(carried.count.get()) as k, code.when(carried.gaps[k].equals(row)):
        load[carried.rows[k] + first] = carried.shares[k] if on else 0.0


def write_carried(work: Work, out: Array) -> None:
    """Forces of these rows, from those of their gaps."""
    code, carried = work.code, work.carried
    with code.loop(carried.count.get()) as k:
        out[carried.rows[k]] = carried.shares[k] * out[carried.gaps[k]]
