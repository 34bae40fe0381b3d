"""Where a number went wrong: ask the elements of a model one by one, then its derivative kernel by kernel, at the last
good state and along the step that failed, and name the first that gives no number, with the operation that does.

The way ahead is that of a step of second order, so that what depends on coordinates of a machine at rest is met, too.
What is kept elsewhere is not known; who depends on it is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kompono.translate.engines.traced import TracedEngine
from kompono.translate.looked import elements_alone, words_for
from kompono.translate.program import Call, Routine, TableRoutine
from kompono.translate.translate import Translation
from kompono.translate.undefined import Undefined, first_undefined

MOST = 10_000  # bodies: to ask each element of a larger model takes too long
SHARES = (0.0, 1e-6, 0.01, 0.1, 0.25, 0.5, 0.75, 1.0)  # of a step, at which elements are asked
HALVINGS = 30  # between a share where all are numbers and one where not all are


@dataclass(frozen=True)
class Wrong:
    """An element that gives no number: `what` of it, from which `time` [s] on, by which operation if that is known.
    One that `prescribes` is a condition, or moves by itself.
    """

    path: str
    what: str
    nan: bool
    time: float
    operation: Undefined | None = None
    prescribes: bool = False

    @property
    def undefined(self) -> bool:
        """Whether it is not defined there, whatever led there."""
        return self.operation is not None and self.operation.undefined

    def told(self) -> str:
        """All of it, in words."""
        kind = "not a number" if self.nan else "infinite"
        text = f"{self.path}: {self.what} is {kind} at t = {self.time:.7g} s"
        return text if self.operation is None else f"{text}: {self.operation.words}; {self.operation.advice}"


@dataclass(frozen=True)
class Way:
    """The way of a step [s] that failed, from a good `state` at a `time`: `inputs` (2, n) at its beginning and end, and
    the `rate` of the state at a time, state and inputs. It is that of the midpoint rule, or, `straight`, of Euler's,
    which goes on where a midpoint has no rate any more, as behind the end of a square root.
    """

    time: float
    state: np.ndarray
    inputs: np.ndarray
    step: float
    rate: Callable[[float, np.ndarray, np.ndarray], np.ndarray]
    straight: bool = False

    def at(self, share: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Time, state and inputs after a share of the step, as far as rates are numbers."""
        ahead, there, before = share * self.step, self.state, 0.0
        for part in ((1.0,) if self.straight else (0.5, 1.0)) if share else ():
            moved = self.rate(self.time + before * ahead, there, self._fed(before * share))
            if not np.all(np.isfinite(moved)):
                break
            there, before = self.state.copy(), part
            there[: len(moved)] += part * ahead * moved
        return self.time + ahead, there, self._fed(share)

    def _fed(self, share: float) -> np.ndarray:
        return self.inputs[0] + share * (self.inputs[1] - self.inputs[0])


def diagnose(translation: Translation, way: Way, parameters: np.ndarray) -> Wrong | None:
    """The element that first gives NaN or infinity at the last good state or on the way from there."""
    program = translation.program
    names = (*program.coordinates, *program.speeds, *program.modes, *program.states)
    given = [*zip(program.inputs, way.inputs[0], strict=True), *zip(names, way.state, strict=False)]
    for name, value in given:
        if not np.isfinite(value):
            return Wrong(name, "its value", bool(np.isnan(value)), way.time)
    if len(translation.model.bodies) > MOST:
        return None
    engine = translation.make_engine(True)
    asked = _Asked(translation, engine, parameters)
    routines: list[Routine] = []
    for routine in _routines(translation, engine):
        found = asked.on(way, routine)
        if found is not None:
            return found
        routines.append(routine)
    straight = replace(way, straight=True)
    return next((wrong for wrong in (asked.on(straight, routine) for routine in routines) if wrong), None)


def _routines(translation: Translation, engine: TracedEngine) -> Iterator[Routine]:
    """What is asked, each traced when it is its turn; what laws do is not to be had kernel by kernel."""
    program = translation.program
    yield elements_alone(engine)
    if not program.laws and not program.opaque and not isinstance(program.routines["derivative"], TableRoutine):
        yield engine.derivative()


class _Asked:
    """Elements of a model, asked one by one."""

    def __init__(self, translation: Translation, engine: TracedEngine, parameters: np.ndarray) -> None:
        model = translation.model
        self.kernels, self.parameters, self.model = translation.program.kernels, parameters, model
        self.limits = {model.path(law) for law in model.laws}  # numbers of laws may be infinite
        self.firm = {model.path(element) for element in (*engine.closing, *model.joints, *model.grounds)}
        self.size = engine.nq + engine.nv + len(model.memory)
        self.kept: Sequence[int] = getattr(translation.engine, "kept", range(self.size))  # here, not elsewhere

    def first_bad(
        self, calls: Sequence[Call], workspace: int, time: float, state: np.ndarray, inputs: np.ndarray
    ) -> tuple[Call, Wrong] | None:
        """The first call that gives no number."""
        work, known = np.zeros(workspace), np.ones(workspace, dtype=bool)
        behind = np.concatenate([inputs, self.parameters])
        work[0], work[1 + self.size : 1 + self.size + len(behind)] = time, behind
        known[1 : 1 + self.size] = False
        places = 1 + np.array(self.kept, dtype=int)
        work[places], known[places] = state[: len(places)], True
        for call in calls:
            given, told = list(call.inputs), list(call.outputs)
            known[told] = known[given].all()
            if not known[told].all():
                continue
            kernel, column = self.kernels[call.kernel], work[given]
            work[told] = values = kernel(column).full().ravel()
            nan = bool(np.isnan(values).any())
            if nan or (call.path not in self.limits and not np.isfinite(values).all()):
                path, by = call.path or "model", first_undefined(kernel, column)
                what = words_for(self.model).get(path, "its motion")
                return call, Wrong(path, what, nan, time, by, path in self.firm)
        return None

    def on(self, way: Way, routine: Routine) -> Wrong | None:
        """What first gives no number on a way."""
        good = 0.0
        for share in SHARES:
            found = self.first_bad(routine.calls, routine.workspace, *way.at(share))
            if found is not None:
                return self.earliest(routine, found, way, good, share)
            good = share
        return None

    def earliest(
        self, routine: Routine, found: tuple[Call, Wrong], way: Way, good: float, bad: float
    ) -> Wrong:  # fmt: skip
        """What gives no number, where it first does between two shares of the way."""
        for _ in range(HALVINGS if bad > 0 else 0):
            middle = (good + bad) / 2
            earlier = self.first_bad(_before(routine, found[0]), routine.workspace, *way.at(middle))
            good, bad, found = (middle, bad, found) if earlier is None else (good, middle, earlier)
        return found[1]


def _before(routine: Routine, last: Call) -> list[Call]:
    """A call, and those before it that it needs."""
    needed, kept = set(last.outputs), []
    for call in reversed(routine.calls):
        if needed.intersection(call.outputs):
            kept.append(call)
            needed.update(call.inputs)
    return kept[::-1]
