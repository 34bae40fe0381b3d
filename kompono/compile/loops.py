"""Step loops by method: whoever writes one asks here; a loop from the cache needs none of the modules below."""

from __future__ import annotations

from collections.abc import Callable

from kompono.compile.block import guard_count
from kompono.compile.lane_steps import ExplicitLanes, LaneSteps, StiffLanes
from kompono.compile.lanes import Lanes
from kompono.compile.loop_adams import Adams
from kompono.compile.loop_adaptive import adaptive_loop
from kompono.compile.loop_adaptive_lanes import adaptive_lanes_loop
from kompono.compile.loop_adjoint import adjoint_loop
from kompono.compile.loop_discrete import Leapfrog
from kompono.compile.loop_dopri5 import DOPRI5
from kompono.compile.loop_fixed import RungeKutta, StepRule, fixed_loop
from kompono.compile.loop_guarded import guarded_loop
from kompono.compile.loop_lanes import LaneMachine, lanes_loop
from kompono.compile.loop_stiff import STIFF_STEPS
from kompono.compile.machine import Machine
from kompono.compile.pairs import Steps
from kompono.compile.tableaux import CLASSIC, DORMAND_PRINCE, MIDPOINT, Tableau
from kompono.translate.program import Program


def _fixed(machine: Machine, step: StepRule, name: str) -> str:
    if isinstance(machine, LaneMachine):
        return lanes_loop(machine, step, name)
    return (guarded_loop if machine.guards or machine.program.rates else fixed_loop)(machine, step, name)


def _chosen(machine: Machine, steps: Steps, wide: LaneSteps, name: str) -> str:
    return adaptive_lanes_loop(machine, wide, name) if machine.lanes.count > 1 else adaptive_loop(machine, steps, name)


LOOPS: dict[str, Callable[[Machine, str], str]] = {
    "rk2": lambda machine, name: _fixed(machine, RungeKutta(MIDPOINT), name),
    "rk4": lambda machine, name: _fixed(machine, RungeKutta(CLASSIC), name),
    "adams": lambda machine, name: _fixed(machine, Adams(), name),
    "leapfrog": lambda machine, name: _fixed(machine, Leapfrog(), name),
    "dopri5": lambda machine, name: _chosen(machine, DOPRI5, ExplicitLanes(), name),
    "esdirk4": lambda machine, name: _chosen(machine, STIFF_STEPS, StiffLanes(), name),
}
BACK: dict[str, Tableau] = {"back along rk4": CLASSIC, "back along dopri5": DORMAND_PRINCE}  # along stored steps


def loop_text(program: Program, method: str, lanes: Lanes, implicit: bool, waiting: bool) -> str:
    """LLVM text of a loop: see `Machine` for what it is made for."""
    machine = LaneMachine if lanes.count > 1 and guard_count(program) else Machine
    made = machine(program, lanes, implicit=implicit, waiting=waiting)
    if method in BACK:
        return adjoint_loop(made, BACK[method], "kompono.loop")
    return LOOPS[method](made, "kompono.loop")
