"""Native code that factors a dense matrix with row exchanges and solves with the factors, on one lane or several.

The matrix (n, n) is stored row by row, and so are its factors in its place; on the diagonal are the inverses of the
pivots. One that is singular gives results that are not finite. Which rows are exchanged differs from lane to lane: on
several they are exchanged by masks, and the number of the row is a number of each lane.
"""

from __future__ import annotations

from kompono.compile.emit import INT, REAL, Array, Code, Value, anywhere


def factor(code: Code, matrix: Array, pivots: Array, size: int) -> None:
    """Factor a matrix in its place; `pivots` (n, integers on one lane) are the rows that were exchanged."""
    with code.loop(size) as k:
        (_exchange if matrix.kind == REAL else _exchange_by_masks)(code, matrix, pivots, size, k)
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


def _exchange_by_masks(code: Code, matrix: Array, pivots: Array, size: int, k: Value) -> None:
    """The same lane by lane."""
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
    (_reorder if matrix.kind == REAL else _reorder_by_masks)(code, pivots, values, size)
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


def _reorder(code: Code, pivots: Array, values: Array, size: int) -> None:
    """Exchange values as rows were."""
    with code.loop(size) as k:
        other = pivots[k]
        here, there = values[k], values[other]
        values[k] = there
        values[other] = here


def _reorder_by_masks(code: Code, pivots: Array, values: Array, size: int) -> None:
    """The same lane by lane."""
    with code.loop(size) as k, code.loop(size - 1 - k) as i:
        row = k + 1 + i
        here = pivots[k].equals(row.real())
        left, right = values[k], values[row]
        values[k] = code.select(here, right, left)
        values[row] = code.select(here, left, right)
