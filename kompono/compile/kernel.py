"""The product of compilation: a program as native functions, or interpreted by CasADi with the same face."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from kompono.compile.block import guard_count
from kompono.compile.evaluator import Evaluator
from kompono.compile.helpers import PAYS_FROM, Helpers, shared_work, spare_processors
from kompono.compile.interpreter import Here, routine_named, row_arrays
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.law_state import IDLE, TIED, LawStates, acts, look
from kompono.compile.law_ties import are_untold, level, note_here, tied_name, tied_rows
from kompono.compile.objects import CHOOSING, METHODS, SOLVING, Objects
from kompono.compile.run import Run, Settle, vector
from kompono.compile.run_fixed import FixedRun
from kompono.compile.tiers import Takeover
from kompono.compile.walls.places import Places
from kompono.errors import RunError, nearest
from kompono.translate.program import Program, TableRoutine

if TYPE_CHECKING:
    from kompono.compile.run_adaptive import AdaptiveRun
    from kompono.compile.run_adaptive_lanes import AdaptiveLanesRun
    from kompono.compile.run_back import BackRun


R = TypeVar("R", bound=Run)


class Kernel(Here):
    """A program as native code. Objects are compiled (or found in the cache) when they are first used."""

    def __init__(self, program: Program, *, cache: bool = True, threads: int | None = None) -> None:
        super().__init__(program)
        self.threads = threads  # of one run of a large model; None: as many as pay
        self._objects = Objects(program, cache)
        self._evaluators: dict[str, Evaluator] = {}
        self.settle: Settle | None = None  # chooses the modes of laws

    def prepare(
        self, routine: str = "", method: str = "", *, routines: Iterable[str] = (), lanes: int = 1, soon: bool = False
    ) -> None:  # fmt: skip
        """Compile now what would be compiled on first use: routines, and the step loop of a method. What shall be
        ready `soon` is walked until it is asked often (see `tiers`).
        """
        names = [routine_named(self.program, name).name for name in (*([routine] if routine else []), *routines)]
        apart = lanes > 1 and method in CHOOSING
        self._objects.make(names, _known(method) if method and not apart else "", Lanes(lanes), soon)
        for name in names:
            if lanes > 1:
                self._objects.map_function(routine_named(self.program, name).name, Lanes(lanes))
            else:
                self._evaluator(name)
        if method:
            width = Lanes(lanes, apart)
            self._objects.loop_function(self._objects.loop_named(method, width) if soon else method, width)

    def law_states(self) -> LawStates:
        """What laws do with states at events."""
        return LawStates(self)

    def has(self, routine: str) -> bool:
        """Whether a routine can be evaluated at once, without being compiled first."""
        return routine in self._evaluators

    def evaluate(
        self, routine: str, time: float, state: ArrayLike, inputs: ArrayLike = (), parameters: ArrayLike = ()
    ) -> tuple[np.ndarray, ...]:
        """One array per output of the routine."""
        if tied_name(self.program, routine) and self.level(time, state, inputs, parameters) == TIED:
            routine = tied_name(self.program, routine)
        evaluator = self._evaluators.get(routine) or self._evaluator(routine)
        return evaluator(time, state, inputs, parameters)

    def level(self, time: float, state: ArrayLike, inputs: ArrayLike, parameters: ArrayLike) -> int:
        """What laws do at a state."""
        given = np.asarray(inputs, dtype=float), np.asarray(parameters, dtype=float)
        return level(self.program, self.evaluate, time, np.asarray(state, dtype=float), *given)

    def map(
        self, routine: str, times: ArrayLike, states: ArrayLike, inputs: ArrayLike | None = None,
        parameters: ArrayLike = (), lanes: int = 1,
    ) -> np.ndarray:  # fmt: skip
        """The first output of a routine over rows: times (n), states (n, ny), inputs (n, nu) -> (n, m).

        Parameters (np) are common to all rows, or there is one row of them for each (n, np). With several lanes, a row
        of states is (ny, lanes), parameters are (np, lanes), and a row of results (m, lanes).
        """
        if not tied_name(self.program, routine):
            return self._map(routine, times, states, inputs, parameters, lanes)
        times, states, inputs = row_arrays(self.program, times, states, inputs, lanes)
        constants, found = np.asarray(parameters, dtype=float), []
        for lane in range(lanes):
            columns = [times, np.ascontiguousarray(states[:, lane::lanes]), inputs]
            found.append(self._map_tied(routine, columns, constants if lanes == 1 else constants.ravel()[lane::lanes]))
        return np.stack(found, axis=2).reshape(len(times), -1)

    def _map_tied(self, routine: str, columns: list[np.ndarray], parameters: ArrayLike) -> np.ndarray:
        """The same where laws may be tied at some rows."""
        constants = np.asarray(parameters, dtype=float)
        tied = tied_rows(self, columns, constants)
        result = np.empty((len(tied), routine_named(self.program, routine).outputs[0][1]))
        for name, rows in ((routine, ~tied), (tied_name(self.program, routine), tied)):
            if rows.any():
                given = constants if constants.ndim == 1 else constants[rows]
                times, states, inputs = (column[rows] for column in columns)
                result[rows] = self._map(name, times, states, inputs, given, 1)
        return result

    def _map(
        self, routine: str, times: ArrayLike, states: ArrayLike, inputs: ArrayLike | None, parameters: ArrayLike,
        lanes: int,
    ) -> np.ndarray:  # fmt: skip
        product = routine_named(self.program, routine)
        columns = row_arrays(self.program, times, states, inputs, lanes)
        function = self._objects.map_function(routine, Lanes(lanes), len(columns[0]))
        constants, each = np.ascontiguousarray(parameters, dtype=float), lanes * len(self.program.parameters)
        if constants.shape == (len(columns[0]), each) and lanes == 1:
            stride = each
        else:
            constants, stride = vector("parameters", parameters, each), 0
        result = np.empty((len(columns[0]), lanes * product.outputs[0][1]))
        spare = [np.empty(lanes * size) for _, size in product.outputs[1:]]
        work = np.zeros(lanes * max(product.workspace, 1))
        places = [(a.ctypes.data, a.strides[0] // 8) for a in columns] + [(constants.ctypes.data, stride)]
        places += [(result.ctypes.data, result.shape[1])] + [(array.ctypes.data, 0) for array in spare]
        block = np.array([len(result), *(n for place in places for n in place), work.ctypes.data], dtype=np.int64)
        self._objects.places.revive()
        function(block.ctypes.data)
        if self._objects.places.broken:  # what was computed before is worth another try
            self._objects.places.revive()
            function(block.ctypes.data)
        return result

    def fixed(
        self, method: str, time: float, state: ArrayLike, *, step: float, parameters: ArrayLike = (),
        inputs: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None, every: int = 1, capacity: int = 4096,
        project: bool = True, lanes: int = 1, filled: int | None = None, guard_checks: int = 1, each: bool = False,
    ) -> FixedRun:  # fmt: skip
        """A run of equal steps. See `Run.set_inputs` for `inputs`. It moves by `advance`.

        With several lanes, as many simulations run side by side: states are (ny, lanes), parameters (np, lanes). Of a
        model with events only the first `filled` lanes are looked at.
        """
        if _known(method) in CHOOSING:
            raise RunError(f"{method} chooses its own steps.", fix="Use `adaptive`.")
        if lanes > 1:
            from kompono.compile.run_lanes import LanesRun, one_lane

            if why := one_lane(self):
                raise RunError(f"{why} runs on one lane.", fix="Use lanes=1.")
        width = Lanes(lanes)
        name = self._objects.loop_named(method, width, self._cannot_wait(state))
        function = self._objects.loop_function(name, width)
        self._objects.places.revive()
        base = (self.program, function, time, state, parameters, inputs, capacity, project, width, self.helpers())
        steps = {"step": step, "every": every, "guard_checks": guard_checks, "each": each}
        if lanes > 1 and guard_count(self.program):
            alone = partial(self._alone, method, base, steps)
            return self._relying(LanesRun(*base, **steps, filled=lanes if filled is None else filled, alone=alone))
        made = FixedRun
        if getattr(self.settle, "steps", False):
            from kompono.compile.run_stepped import SteppedRun as made
        run = self._relying(made(*base, **steps))
        return self._going_on(run, method, name, width)

    def _alone(
        self, method: str, base: tuple[Any, ...], steps: dict[str, Any], state: np.ndarray, parameters: np.ndarray
    ) -> FixedRun:  # fmt: skip
        """One of several runs, for where it has to do something by itself."""
        from kompono.compile.run_lanes import ROOM_ALONE

        self._objects.make([], method, ONE, soon=False)
        function = self._objects.loop_function(method, ONE)
        rows = max(ROOM_ALONE // (1 + len(state)), 2)
        given = (self.program, function, base[2], state, parameters, base[5], rows, base[7], ONE, None)
        return self._relying(FixedRun(*given, **steps))

    def adaptive(
        self, time: float, state: ArrayLike, *, until: float, interval: float | None = None, rtol: ArrayLike = 1e-6,
        atol: ArrayLike = 1e-9, first_step: float | None = None, min_step: float = 0.0, max_step: float = math.inf,
        parameters: ArrayLike = (), inputs: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        capacity: int = 4096, project: bool = True, guard_checks: int = 1, method: str = CHOOSING[0],
        each: bool = False,
    ) -> AdaptiveRun:  # fmt: skip
        """A run with error control; `interval` None, or `each`, records every accepted step."""
        if _known(method) not in CHOOSING:
            raise RunError(f"{method} makes equal steps.", fix="Use `fixed`.")
        if getattr(self.settle, "steps", False):
            raise RunError(f"{method} chooses its steps, and contact='steps' makes equal ones.", fix="Use rk2 or rk4.")
        name = self._objects.loop_named(method, ONE, self._cannot_wait(state))
        function = self._objects.loop_function(name, ONE)
        self._objects.places.revive()
        base = (self.program, function, time, state, parameters, inputs, capacity, project, ONE, self.helpers())
        from kompono.compile.run_adaptive import AdaptiveRun, ImplicitRun

        made = ImplicitRun if method in SOLVING else AdaptiveRun
        run = made(
            *base, until=until, interval=interval, rtol=rtol, atol=atol, first_step=first_step, min_step=min_step,
            max_step=max_step, guard_checks=guard_checks, each=each,
        )  # fmt: skip
        return self._going_on(self._relying(run), method, name, ONE)

    def adaptive_on_lanes(
        self, time: float, state: ArrayLike, *, lanes: int, until: float, interval: float, rtol: ArrayLike,
        atol: ArrayLike, min_step: float = 0.0, max_step: float = math.inf, parameters: ArrayLike = (),
        inputs: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None, project: bool = True, method: str = CHOOSING[0],
    ) -> AdaptiveLanesRun:  # fmt: skip
        """Several runs with error control side by side: states are (ny, lanes), parameters (np, lanes)."""
        from kompono.compile.run_adaptive_lanes import AdaptiveLanesRun, no_own_times

        if why := no_own_times(self.program):
            raise RunError(f"{why} chooses its steps on one lane.", fix="Use lanes=1.")
        width = Lanes(lanes, True)
        function = self._objects.loop_function(method, width)
        return AdaptiveLanesRun(
            self.program, function, time, state, parameters, inputs, project, width, until=until, interval=interval,
            rtol=rtol, atol=atol, min_step=min_step, max_step=max_step, implicit=method in SOLVING,
        )  # fmt: skip

    def back(
        self, method: str, state: ArrayLike, *, parameters: ArrayLike, inputs: ArrayLike | tuple[ArrayLike, ArrayLike]
    ) -> BackRun:
        """A run back along stored steps of a method, of a program of `translate/adjoint`."""
        from kompono.compile.run_back import BackRun

        name = f"back along {method}"
        function = self._objects.loop_function(name, ONE)
        run = BackRun(self.program, function, 0.0, state, parameters, inputs, 1, True)
        run.takeover = self._objects.loop_takeover(name, ONE)
        return run

    def _going_on(self, run: R, method: str, name: str, lanes: Lanes) -> R:
        """A run that takes over native code when it is there, and the whole loop when the first gap closes, or laws are
        tied.
        """
        run.takeover = self._objects.loop_takeover(name, lanes)

        def whole(evaluations: int) -> tuple[Any, Takeover | None]:
            function = self._objects.loop_function(method, lanes)
            return function, self._objects.loop_takeover(method, lanes, evaluations)

        run.whole = whole if name != method else None
        return run

    def _relying(self, run: R) -> R:
        """A run that looks whether a part that runs elsewhere is lost."""
        run.elsewhere, run.losses, run.settle = self.places, self.places.losses, self.settle
        run.settler = self._objects.settler_beside(self.settle)
        if "tied_derivative" in self.program.routines:
            run.level = self.level
            if run._lanes == ONE:
                look(run)
        elif self.settle is not None and run._lanes == ONE and are_untold(self.program):
            run.note_untold = partial(note_here, run, self.evaluate)
            run.note_untold()
        return run

    @property
    def places(self) -> Places:
        """Where parts run that do not run here."""
        return self._objects.places

    def helpers(self) -> Helpers | None:
        """Threads that help a run, if the model has enough to share."""
        threads = self.threads if "kick" not in self.program.routines else 1
        if threads is None:
            work = shared_work(self.program.outline("derivative"), self.program.kernels)
            threads = spare_processors() if work >= PAYS_FROM else 1
        if threads < 2 or not isinstance(self.program.outline("derivative"), TableRoutine):
            return None
        return Helpers(self._objects.worker_function("derivative"), threads - 1)

    def _cannot_wait(self, state: ArrayLike) -> bool:
        """Whether the whole loop is needed from the start; where laws may be tied, a run asks for it if they are."""
        return "tied_derivative" not in self.program.routines and acts(self.program, np.asarray(state)) > IDLE

    def _evaluator(self, name: str) -> Evaluator:
        if name not in self._evaluators:
            self._evaluators[name] = Evaluator(self._objects, routine_named(self.program, name))
        return self._evaluators[name]


def _known(method: str) -> str:
    if method not in METHODS:
        from kompono.compile.loops import LOOPS

        if method not in LOOPS:
            raise RunError(f"unknown method {method!r}.", fix=nearest(method, LOOPS) or f"Known: {', '.join(LOOPS)}.")
    return method
