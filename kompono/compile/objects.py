"""Which native code goes into which object, and how it gets from the program through the cache into memory.

A routine is an object, and so is each loop around routines: a method's steps call `derivative`, `project` and what
events need, a map calls any one routine. Loops and routines are compiled apart and linked in memory, so that nothing is
compiled twice, and a loop is shared by all models of the same size. Only with very small routines does a loop bring its
own copy, so that LLVM can inline them. Objects are made on first use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kompono.compile import cache, jit, schedule, sweeps
from kompono.compile.block import loop_routines
from kompono.compile.emit import prelude
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.loop_adams import Adams
from kompono.compile.loop_dopri5 import dopri5_loop
from kompono.compile.loop_fixed import RungeKutta, Step, fixed_loop
from kompono.compile.loop_guarded import guarded_loop
from kompono.compile.loop_map import map_loop
from kompono.compile.machine import Machine
from kompono.compile.tableaux import CLASSIC, MIDPOINT
from kompono.translate.program import Program, Routine


def _fixed(machine: Machine, step: Step, name: str) -> str:
    return (guarded_loop if machine.guards else fixed_loop)(machine, step, name)


LOOPS: dict[str, Callable[[Machine, str], str]] = {
    "rk2": lambda machine, name: _fixed(machine, RungeKutta(MIDPOINT), name),
    "rk4": lambda machine, name: _fixed(machine, RungeKutta(CLASSIC), name),
    "adams": lambda machine, name: _fixed(machine, Adams(), name),
    "dopri5": dopri5_loop,
}
_INLINE = 100  # instructions up to which routines go into the object of their loop


class Objects:
    """The native functions of a program."""

    def __init__(self, program: Program, use_cache: bool) -> None:
        self._program = program
        self._use_cache = use_cache
        self._routine_object = functools.cache(self._make_routine_object)
        self.map_function = functools.cache(self._load_map)  # a routine's name, lanes -> a function over rows
        self.loop_function = functools.cache(self._load_loop)  # a method, lanes -> its step loop

    def _load_map(self, name: str, lanes: Lanes) -> Any:
        """The function that evaluates a routine over rows."""
        routine = self._program.routines[name]
        return self._load("map", [routine], lanes, lambda: map_loop(routine, "kompono.map"))

    def _load_loop(self, method: str, lanes: Lanes) -> Any:
        """The function that runs a method's step loop."""
        program = self._program
        return self._load(
            "loop", loop_routines(program), lanes, lambda: LOOPS[method](Machine(program, lanes), "kompono.loop"),
            method, program.state_size, len(program.inputs),
        )  # fmt: skip

    def worker_function(self, name: str) -> Any:
        """The function by which a thread helps with a table routine."""
        return jit.load([self._routine_object(name, ONE)], sweeps.worker(name))

    def _load(
        self, kind: str, routines: list[Routine], lanes: Lanes, loop: Callable[[], str], *settings: object
    ) -> Any:
        """Link a loop with the routines it calls."""
        inline = sum(schedule.instructions(self._program, routine) for routine in routines) <= _INLINE

        def text() -> str:
            whole = inline and schedule.define(self._program, routines, lanes)
            return (whole or "".join(map(schedule.declare, routines))) + loop()

        shapes = [(r.name, r.inputs, r.outputs, r.workspace) for r in routines]
        objects = [self._object(kind, routines if inline else [], lanes, (inline, settings, shapes), text)]
        if not inline:
            objects += [self._routine_object(routine.name, lanes) for routine in routines]
        return jit.load(objects, f"kompono.{kind}")

    def _make_routine_object(self, name: str, lanes: Lanes) -> bytes:
        routine = self._program.routines[name]
        return self._object(
            "routine", [routine], lanes, (), lambda: schedule.define(self._program, [routine], lanes)
        )  # fmt: skip

    def _object(
        self, kind: str, routines: list[Routine], lanes: Lanes, extra: object, text: Callable[[], str]
    ) -> bytes:
        def make() -> bytes:
            body = text()
            own = [sweeps.widest(routine) for routine in routines]  # large models have lanes inside
            widest = max([lanes, *own], key=lambda width: width.count)
            return jit.assemble(prelude(body, widest) + body, loops=kind != "routine")

        key = cache.key(kind, routines, (lanes, extra))
        return cache.fetch(key, make) if self._use_cache else make()
