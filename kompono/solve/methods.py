"""The methods of integration: one entry each, with all that the rest of the package asks about it.

To add one, write its entry here. A native method also needs its loop in `compile/loops.LOOPS` under the same name; a
method of SciPy is the class of that name in `scipy.integrate`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from kompono.errors import either


class Family(Enum):
    """Who makes the steps."""

    FIXED = "equal steps in native code"
    ADAPTIVE = "steps chosen in native code"
    SCIPY = "steps chosen by SciPy"


@dataclass(frozen=True)
class Method:
    """One method. `steps` is the routine of a program its steps are made of; engines say which one they offer."""

    name: str
    family: Family
    order: int | None  # None: it varies
    steps: str = "derivative"
    implicit: bool = False  # stiffness does not slow it down; it wants a Jacobian
    judged: bool = False  # its step can be too long without a word, so it is asked after the run
    warm: int = 1  # steps that are needed to see it at work
    guard_checks: bool = True  # looks at guards inside a step, if asked to

    @property
    def native(self) -> bool:
        """Whether it runs in native code; if so, with events and in real time."""
        return self.family is not Family.SCIPY

    @property
    def chooses_steps(self) -> bool:
        """Whether steps follow from tolerances; `step` is then the distance of records."""
        return self.family is not Family.FIXED

    def instead(self, fits: Callable[[Method], bool]) -> str:
        """Other methods for the same programs that fit, as advice."""
        names = [other.name for other in METHODS.values() if other.steps == self.steps and fits(other)]
        return f"Use {either(names)}."


_ALL = (
    Method("rk2", Family.FIXED, 2, judged=True),
    Method("rk4", Family.FIXED, 4, judged=True),
    Method("adams", Family.FIXED, 4, judged=True, warm=8),
    Method(
        "leapfrog", Family.FIXED, 2, steps="kick", guard_checks=False
    ),  # its steps are tiny, and it looks for itself
    Method("dopri5", Family.ADAPTIVE, 5),
    Method("esdirk4", Family.ADAPTIVE, 4, implicit=True),
    Method("RK23", Family.SCIPY, 3),
    Method("RK45", Family.SCIPY, 5),
    Method("DOP853", Family.SCIPY, 8),
    Method("Radau", Family.SCIPY, 5, implicit=True),
    Method("BDF", Family.SCIPY, None, implicit=True),
    Method("LSODA", Family.SCIPY, None, implicit=True),
)
METHODS: dict[str, Method] = {method.name: method for method in _ALL}
