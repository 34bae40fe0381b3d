"""Native code that factors a dense matrix on several lanes, each with its own row exchanges; see `lu`.

Which rows are exchanged differs from lane to lane: rows are exchanged by masks, with the number of the row as a number
of each lane.
"""

from __future__ import annotations

from kompono.compile.emit import Array, Code, Value, anywhere


def factor(code: Code, matrix: Array, pivots: Array, size: int) -> None:
    """Factor a matrix (size, size), row by row, in its place; `pivots` (size) are rows that were exchanged."""
    with code.loop(size) as k:
        _exchange(code, matrix, pivots, size, k)
        top = matrix.at(k * size)
        inverse = 1.0 / top[k]
        top[k] = inverse
        with code.loop(size - 1 - k) as i:
            row = matrix.at((k + 1 + i) * size)
            share = row[k] * inverse
            row[k] = share
            rest, source = row.at(k + 1), top.at(k + 1)
            with code.loop(size - 1 - k) as j:
                rest[j] = rest[j] - share * source[j]


def _exchange(code: Code, matrix: Array, pivots: Array, size: int, k: Value) -> None:
    """Bring the row with the largest entry of column k to row k, lane by lane."""
    largest = code.variable(matrix.kind, code.math("fabs", matrix[k * size + k]))
    best = code.variable(matrix.kind, k.real())
    with code.loop(size - 1 - k) as i:
        row = k + 1 + i
        entry = code.math("fabs", matrix[row * size + k])
        larger = entry > largest.get()
        best.set(code.select(larger, row.real(), best.get()))
        largest.set(code.select(larger, entry, largest.get()))
    pivots[k] = best.get()
    with code.loop(size - 1 - k) as i:
        row = k + 1 + i
        here = best.get().equals(row.real())
        with code.when(anywhere(here)):
            one, two = matrix.at(k * size), matrix.at(row * size)
            with code.loop(size) as j:
                left, right = one[j], two[j]
                one[j] = code.select(here, right, left)
                two[j] = code.select(here, left, right)


def solve(code: Code, matrix: Array, pivots: Array, values: Array, size: int) -> None:
    """values = matrix^-1 values, with the factors of the matrix."""
    with code.loop(size) as k, code.loop(size - 1 - k) as i:
        row = k + 1 + i
        here = pivots[k].equals(row.real())
        left, right = values[k], values[row]
        values[k] = code.select(here, right, left)
        values[row] = code.select(here, left, right)
    with code.loop(size) as i:
        row, total = matrix.at(i * size), code.variable(matrix.kind, values[i])
        with code.loop(i) as j:
            total.set(total.get() - row[j] * values[j])
        values[i] = total.get()
    with code.loop(size) as back:
        i = size - 1 - back
        row, total = matrix.at(i * size), code.variable(matrix.kind, values[i])
        with code.loop(back) as j:
            k = i + 1 + j
            total.set(total.get() - row[k] * values[k])
        values[i] = total.get() * row[i]
