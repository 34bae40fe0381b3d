"""Linear systems with states: filters, transfer functions and state space, continuous or sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import number, numbers, shown, texts
from kompono.library.blocks.ports import Block, period, positive
from kompono.model.event import Mode
from kompono.model.signal import Output
from kompono.model.state import State


class LowPass(Block):
    """Follows `input` with a lag: time_constant [s] times the rate of `output` is what it lacks.

    Continuous; with `every` [s] sampled: at each sample it goes the part 1 - exp(-every / time_constant) of the way
    to the input of that instant. `start` is where it begins.
    """

    def __init__(
        self, input: Any = None, *, time_constant: Any, every: float | None = None, start: float = 0.0, unit: str = ""
    ) -> None:
        lag = positive(time_constant, "the time constant [s]")
        signal = self._port("input", input, unit)
        if every is None:
            self.level = State(start, unit=unit)
            self.level.rate = (signal - self.level) / lag
            self.output = Output(self.level, unit=unit)
        else:
            step = period(every)
            self.level = Mode(start, every=step, unit=unit)
            self.level.next = self.level + (1 - ca.exp(-step / ca.SX(lag))) * (signal - self.level)
            self.output = Output(self.level.next, unit=unit)


class StateSpace(Block):
    """rate of x = A x + B u, y = C x + D u; with `every` [s] the x of the next sample, and y is held.

    `StateSpace(A, B, C, D)` takes matrices, `StateSpace(system)` an object of python-control or scipy.signal, whose dt
    says whether it is sampled. Ports are `input` and `output`; of several, `input1`, `input2`, ... unless `inputs` and
    `outputs` name them. `inputs={"force": expression}` also feeds them. `start` is x at the start. A sampled system is
    one of the difference equation with its own matrices; a continuous one is not made into one here.
    """

    def __init__(
        self, A: Any, B: Any = None, C: Any = None, D: Any = None, *, every: float | None = None,
        inputs: Sequence[str] | Mapping[str, Any] | str | None = None, outputs: Sequence[str] | str | None = None,
        start: Sequence[float] | None = None,
    ) -> None:  # fmt: skip
        a, b, c, d, step = _of_system(A, every) if B is None else (*_matrices(A, B, C, D), every)
        names_in = _names(inputs, b.shape[1], "input")
        names_out = _names(outputs, c.shape[0], "output")
        fed = inputs if isinstance(inputs, Mapping) else {}
        self.matrices = tuple(np.array(m) for m in (a, b, c, d))
        u = ca.vertcat(*[self._port(name, fed.get(name)) for name in names_in])
        begin = np.zeros(len(a)) if start is None else numbers(start, (len(a),), "the start")
        step = None if step is None else period(step)
        self.states = [State(x) if step is None else Mode(x, every=step) for x in begin.tolist()]
        x = ca.vertcat(*self.states) if self.states else ca.SX(0, 1)
        moves, shows = times(a, x) + times(b, u), times(c, x) + times(d, u)
        for k, each in enumerate(self.states):
            setattr(each, "rate" if step is None else "next", moves[k])
        if step is not None:
            self.held = [Mode(0.0, every=step) for _ in names_out]
            for k, each in enumerate(self.held):
                each.next = shows[k]
        for k, name in enumerate(names_out):
            self.add(name, Output(shows[k] if step is None else self.held[k].next))


class TransferFunction(StateSpace):
    """`output` = num / den times `input`: polynomials in s, or with `every` [s] in z, highest power first.

    `TransferFunction(system)` takes an object of python-control or scipy.signal with one input and one output. The
    numerator may not be of higher degree: a derivative is no signal. States are scaled so that they are of like size.
    """

    def __init__(self, num: Any, den: Any = None, *, input: Any = None, every: float | None = None) -> None:
        fed = None if input is None else {"input": input}
        if den is None:
            a, b, c, d, step = _of_system(num, every)
            if b.shape[1] != 1 or c.shape[0] != 1:
                raise ModelError("the system has several inputs or outputs.", fix="Use StateSpace(system).")
            super().__init__(a, b, c, d, every=step, inputs=fed)
        else:
            super().__init__(*companion(num, den), every=every, inputs=fed)


def times(matrix: np.ndarray, column: ca.SX) -> ca.SX:
    """A product in which zeros are no operations: what does not depend on an input is not seen to."""
    return ca.mtimes(ca.SX(ca.sparsify(ca.DM(matrix))), column) if column.shape[0] else ca.SX(matrix.shape[0], 1)


def _matrices(A: Any, B: Any, C: Any, D: Any) -> tuple[np.ndarray, ...]:
    a, b, c = (_matrix(m, name) for m, name in ((A, "A"), (B, "B"), (C, "C")))
    n = len(a) if a.size else 0
    if n == 0:
        a, b, c = np.zeros((0, 0)), np.zeros((0, b.shape[1])), np.zeros((c.shape[0], 0))
    elif b.shape[0] != n and b.size == n:
        b = b.reshape(n, 1)
    d = np.zeros((c.shape[0], b.shape[1])) if D is None else _matrix(D, "D")
    if d.size == 1 and d.shape != (c.shape[0], b.shape[1]):
        d = np.full((c.shape[0], b.shape[1]), d.item())
    shapes = {"A": (a, (n, n)), "B": (b, (n, b.shape[1])), "C": (c, (c.shape[0], n)), "D": (d, (len(c), b.shape[1]))}
    for name, (matrix, shape) in shapes.items():
        if matrix.shape != shape or not np.isfinite(matrix).all():
            size, wanted = (" by ".join(map(str, s)) for s in (matrix.shape, shape))
            raise ModelError(f"{name} is {size}, or not finite.", fix=f"Give it as {wanted} numbers.")
    return a, b, c, d


def _matrix(given: Any, name: str) -> np.ndarray:
    try:
        found = np.atleast_2d(np.asarray(given, dtype=float))
    except Exception:
        found = np.zeros((0, 0, 0))
    if found.ndim != 2:
        raise ModelError(f"{name} = {shown(given)} is no matrix of numbers.", fix="Give rows of numbers.") from None
    return found


def companion(num: Any, den: Any) -> tuple[np.ndarray, ...]:
    """Balanced state space of a transfer function."""
    top, bottom = (numbers(p, (-1,), f"the {what}") for p, what in ((num, "numerator"), (den, "denominator")))
    top, bottom = np.trim_zeros(top, "f"), np.trim_zeros(bottom, "f")
    if not len(bottom) or len(top) > len(bottom):
        why = "the denominator is zero" if not len(bottom) else "the numerator is of higher degree"
        raise ModelError(
            f"{why}.", fix="Give num and den, highest power first, with a degree of num up to that of den."
        )
    top, bottom = top / bottom[0], bottom / bottom[0]
    n = len(bottom) - 1
    top = np.concatenate([np.zeros(n + 1 - len(top)), top])
    a = np.eye(n, k=-1)
    a[:1] = -bottom[1:]
    c, d = (top[1:] - bottom[1:] * top[0])[None], top[:1, None]
    scales = _scales(a)
    return a / scales[:, None] * scales, np.eye(n, 1) / scales[:, None], c * scales, d


def _scales(a: np.ndarray) -> np.ndarray:
    from scipy.linalg import matrix_balance

    return matrix_balance(a, permute=False, separate=True)[1][0] if a.size else np.ones(len(a))


def _of_system(system: Any, every: float | None) -> tuple[Any, ...]:
    """Matrices and period of an object of python-control or scipy.signal."""
    if hasattr(system, "num") and hasattr(system, "den"):
        theirs = hasattr(system, "ninputs")  # python-control's, with lists of lists
        if (system.ninputs, system.noutputs) != (1, 1) if theirs else np.ndim(system.num) != 1:
            raise ModelError("a transfer function with several ports.", fix="Convert it to state space first.")
        top, bottom = (p[0][0] if theirs else p for p in (system.num, system.den))
        return (*companion(np.ravel(top), np.ravel(bottom)), _step(system.dt, every))
    if hasattr(system, "zeros") and hasattr(system, "gain"):  # zeros, poles and gain of scipy.signal
        system = system.to_ss()
    if not all(hasattr(system, name) for name in "ABCD"):
        fix = "Give matrices A, B, C, D, or an object of python-control or scipy.signal."
        raise ModelError(f"{shown(system)} is no linear system.", fix=fix)
    return (*_matrices(system.A, system.B, system.C, system.D), _step(system.dt, every))


def _step(dt: Any, every: float | None) -> float | None:
    """The period of a system: None and 0 are continuous, True is sampled at a period still to be said."""
    if dt is True:
        if every is None:
            raise ModelError("the system is sampled, and does not say how often.", fix="Give every= [s].")
        return every
    own = None if dt is None or dt == 0 else number(dt, "dt [s]", positive=True)
    if every is not None and every != own:
        what = "is continuous" if own is None else f"has a period of {own} s"
        raise ModelError(f"the system {what}, and every = {every} s.", fix="Convert it first, e.g. system.to_discrete.")
    return own


def _names(given: Any, count: int, usual: str) -> list[str]:
    if given is None:
        return [usual] if count == 1 else [f"{usual}{k + 1}" for k in range(count)]
    names = list(given) if isinstance(given, Mapping) else list(texts(given, f"the names of {usual}s"))
    if (
        len(names) != count
        or len(set(names)) != count
        or not all(isinstance(name, str) and name.isidentifier() for name in names)
    ):
        raise ModelError(f"{shown(names)} do not name {count} {usual}s.", fix="Give one name for each.")
    for name in names:
        if name in ("states", "held", "matrices") or hasattr(Block, name):
            raise ModelError(f"the name {name!r} is taken.", fix="Use another name for the signal.")
    return names
