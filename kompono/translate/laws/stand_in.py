"""What stands for the native solver of laws in expression graphs.

Its body calls `respond`, so that whoever collects closed functions finds both, and gives NaN: who evaluates the graph
without the native solver sees that at once.
"""

from __future__ import annotations

import math

import casadi as ca

from kompono.errors import CompileError
from kompono.translate.laws.naming import Sizes, rows_asked


def make_stand_in(
    respond: ca.Function, factor: int, rows: int, measures: int, purpose: str = "laws", columns: int = 0
) -> ca.Function:
    """A closed function [factor | table (rows x 8, field by field) | n0 (measures)] -> z (rows) of NaN.

    `respond`, closed as well, maps [factor | z (rows)] to [A z (rows) | B z (measures)]. What it is wanted
    for (`Sizes`) is in its name.
    """
    if (respond.nnz_in(), respond.nnz_out()) != (factor + rows, rows + measures):
        shape = f"{respond.nnz_in()} -> {respond.nnz_out()}, not {factor + rows} -> {rows + measures}"
        raise CompileError(f"{respond.name()} is a function of {shape} numbers.")
    if rows_asked(respond.name()) != rows:
        raise CompileError(f"the name {respond.name()} does not tell its {rows} rows.", fix="Use respond_name.")
    sizes = Sizes(factor, rows, measures, respond.name(), purpose, columns)
    given = ca.SX.sym("given", sizes.given)
    answer = respond(given[: factor + rows])
    body = ca.densify(math.nan * answer)
    if not sizes.transposed:
        body = ca.repmat(body[:rows], sizes.found // max(rows, 1), 1)
    return ca.Function(sizes.name, [given], [body], {"never_inline": True})
