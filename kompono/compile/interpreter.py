"""The other way to evaluate a program: call by call in CasADi, without native code; and what both ways share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kompono.compile import schedule
from kompono.compile.walls.places import Places
from kompono.errors import RunError, SealedError, suggest
from kompono.sealed.code import complaints
from kompono.translate.program import Program, Routine, TableRoutine


def routine_named(program: Program, name: str) -> Routine:
    """A routine of a program; RunError if it has none of that name."""
    if name not in program.routines:
        raise RunError(f"the program has no routine {name!r}.", fix=suggest(name, program.routines))
    return program.routines[name]


def instructions(program: Program) -> Mapping[str, int]:
    """SX instructions executed by one evaluation of each routine."""
    return {name: schedule.instructions(program, routine) for name, routine in program.routines.items()}


def row_arrays(
    program: Program, times: ArrayLike, states: ArrayLike, inputs: ArrayLike | None, lanes: int = 1
) -> list[np.ndarray]:  # fmt: skip
    """Times, states and inputs as arrays whose rows are contiguous; no copy if they already are."""
    n = np.size(times)
    empty = np.zeros((n, 0))
    arrays = [np.asarray(times, dtype=float).reshape(n, 1), np.asarray(states, dtype=float)]
    arrays.append(empty if inputs is None else np.asarray(inputs, dtype=float))
    sizes = (lanes * program.state_size, len(program.inputs))
    for name, array, size in zip(("states", "inputs"), arrays[1:], sizes, strict=True):
        if array.shape != (n, size):
            raise RunError(f"{name} have shape {array.shape}, not {(n, size)}.", fix="Give one row for each time.")
    return [a if _rows_lie_well(a) else np.ascontiguousarray(a) for a in arrays]


class Here:
    """What both ways say of a program all of whose numbers are here."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.learned: dict[str, Any] = {}  # what solvers found out about the program, and need not find again

    @property
    def instructions(self) -> Mapping[str, int]:
        """SX instructions executed by one evaluation of each routine."""
        return instructions(self.program)

    @property
    def lasts(self) -> bool:
        """Whether a run can go on in another process: all it needs is here."""
        return True

    @contextmanager
    def begun(self, state: np.ndarray, lanes: int = 1) -> Iterator[np.ndarray]:
        """The state a run begins with, from one that was assembled: the same, if nothing is kept elsewhere."""
        yield state

    def evaluate(
        self, routine: str, time: float, state: ArrayLike, inputs: ArrayLike = (), parameters: ArrayLike = ()
    ) -> tuple[np.ndarray, ...]:  # fmt: skip
        """One array per output of a routine."""
        raise NotImplementedError

    def evaluate_many(
        self, routine: str, time: float, states: np.ndarray, inputs: np.ndarray, parameters: np.ndarray
    ) -> np.ndarray:  # fmt: skip
        """The first output (n, size) of a routine at some states (n, ...), nothing being compiled for that."""
        return np.array([self.evaluate(routine, time, state, inputs, parameters)[0] for state in states])

    def counts(self, state: np.ndarray) -> dict[str, Any]:
        """What else there is to say about a run after it; `state` is one of its states."""
        return {}


class Interpreter(Here):
    """A program evaluated call by call in CasADi: slow, and independent of everything else in this folder."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._results: dict[str, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = {}

    def has(self, routine: str) -> bool:
        """Whether a routine can be evaluated at once; nothing is compiled here."""
        return True

    @property
    def places(self) -> Places:
        """Nothing runs elsewhere."""
        return Places({})

    def evaluate(
        self, routine: str, time: float, state: ArrayLike, inputs: ArrayLike = (), parameters: ArrayLike = ()
    ) -> tuple[np.ndarray, ...]:
        """One array per output of the routine."""
        arrays = [np.asarray(x, dtype=float).reshape(1, -1) for x in (time, state, inputs, parameters)]
        return tuple(output[0] for output in self.evaluate_rows(routine, *arrays))

    def evaluate_many(
        self, routine: str, time: float, states: np.ndarray, inputs: np.ndarray, parameters: np.ndarray
    ) -> np.ndarray:  # fmt: skip
        common = (np.repeat(np.reshape(x, (1, -1)), len(states), axis=0) for x in (inputs, parameters))
        return self.evaluate_rows(routine, np.full((len(states), 1), time), states, *common)[0]

    def evaluate_rows(
        self, routine: str, times: np.ndarray, states: np.ndarray, inputs: np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """One array (n, size) per output of the routine, from times (n, 1), states, inputs and parameters (n, ...)."""
        product = routine_named(self.program, routine)
        if isinstance(product, TableRoutine):
            from kompono.compile import sweeps

            outputs = [np.full((len(times), size), np.nan) for _, size in product.outputs]
            for *arrays, output in zip(times, states, inputs, parameters, outputs[0], strict=True):
                work = np.full(product.workspace, np.nan)
                sweeps.interpret(self.program, product, [*arrays, output, work, product.numbers])
            return tuple(outputs)
        given = np.concatenate([times, states, inputs, parameters], axis=1).T
        work = np.full((max(product.workspace, len(given)), len(times)), np.nan)
        work[: len(given)] = given
        with complaints() as lost:
            for call in product.calls:
                result = self.program.kernels[call.kernel](work[list(call.inputs)])
                work[list(call.outputs)] = result.full()
        for stem, error in lost:
            raise SealedError(error.message, path=" and ".join(self.program.away.get(stem, ())))
        if routine not in self._results:
            self._results[routine] = [_constants_and_slots(slots) for slots in product.result]
        outputs = []
        for constants, places, slots in self._results[routine]:
            output = np.tile(constants, (len(times), 1))
            output[:, places] = work[slots].T
            outputs.append(output)
        return tuple(outputs)

    def map(
        self, routine: str, times: ArrayLike, states: ArrayLike, inputs: ArrayLike | None = None,
        parameters: ArrayLike = (),
    ) -> np.ndarray:  # fmt: skip
        """The first output of a routine over rows; parameters are common, or one row for each (n, np)."""
        t, y, u = row_arrays(self.program, times, states, inputs)
        values = np.broadcast_to(np.asarray(parameters, dtype=float), (len(t), len(self.program.parameters)))
        return self.evaluate_rows(routine, t, y, u, values)[0]


def _constants_and_slots(result: tuple[int | float, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An output with its constants in place, where its other entries belong, and the slots they are read from."""
    places = [k for k, slot in enumerate(result) if not isinstance(slot, float)]
    constants = np.array([slot if isinstance(slot, float) else 0.0 for slot in result])
    return constants, np.array(places, dtype=int), np.array([result[k] for k in places], dtype=int)


def _rows_lie_well(array: np.ndarray) -> bool:
    return array.strides[0] % 8 == 0 and (array.shape[1] <= 1 or array.strides[1] == 8)
