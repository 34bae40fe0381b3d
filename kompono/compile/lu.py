"""Native code that factors a dense matrix with row exchanges and solves with the factors.

The matrix (n, n) is stored row by row, and so are its factors in its place; on the diagonal are the inverses of the
pivots. One that is singular gives results that are not finite.
"""

from __future__ import annotations

from kompono.compile.emit import INT, REAL, Array, Code, Value


def factor(code: Code, matrix: Array, pivots: Array, size: int) -> None:
    """Factor a matrix in its place; `pivots` (n integers) are the rows that were exchanged."""
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
    """Bring the row with the largest entry of column k to row k."""
    largest = code.variable(REAL, code.math("fabs", matrix[k * size + k]))
    best = code.variable(INT, k)
    with code.loop(size - 1 - k) as i:
        row = k + 1 + i
        entry = code.math("fabs", matrix[row * size + k])
        larger = entry > largest.get()
        best.set(code.select(larger, row, best.get()))
        largest.set(code.select(larger, entry, largest.get()))
    chosen = best.get()
    pivots[k] = chosen
    with code.when(chosen > k):
        one, two = matrix.at(k * size), matrix.at(chosen * size)
        with code.loop(size) as j:
            left, right = one[j], two[j]
            one[j] = right
            two[j] = left


def solve(code: Code, matrix: Array, pivots: Array, values: Array, size: int) -> None:
    """values = matrix^-1 values, with the factors of the matrix."""
    with code.loop(size) as k:
        other = pivots[k]
        here, there = values[k], values[other]
        values[k] = there
        values[other] = here
    with code.loop(size) as i:
        row, total = matrix.at(i * size), code.variable(REAL, values[i])
        with code.loop(i) as j:
            total.set(total.get() - row[j] * values[j])
        values[i] = total.get()
    with code.loop(size) as back:
        i = size - 1 - back
        row, total = matrix.at(i * size), code.variable(REAL, values[i])
        with code.loop(back) as j:
            k = i + 1 + j
            total.set(total.get() - row[k] * values[k])
        values[i] = total.get() * row[i]
