"""Closed functions that routines call, by name: they are read only where their code has to be made."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import casadi as ca

from kompono.compile.lower import is_far
from kompono.translate.program import Coded, Program, Routine, TableRoutine


class Called:
    """A closed function that some kernel calls, which need not be read as long as its code is known."""

    def __init__(self, name: str, seen: Callable[[], ca.Function]) -> None:
        self._name, self.seen = name, seen

    def name(self) -> str:
        """Its name, by which it is called."""
        return self._name

    def class_name(self) -> str:
        """What CasADi calls such functions."""
        return "SXFunction"


def seen(function: ca.Function | Called) -> ca.Function:
    """The function itself."""
    return function.seen() if isinstance(function, Called) else function


def called(program: Program, routines: Iterable[Routine]) -> dict[str, ca.Function | Called]:
    """All closed functions that routines call, directly or through others, by name."""
    kernels = {call.kernel for r in routines if not isinstance(r, TableRoutine) for call in r.calls}
    found: dict[str, ca.Function | Called] = {}
    for kernel in sorted(kernels):
        coded = program.coded.get(kernel)
        if coded is None:
            found |= {f.name(): f for f in program.kernels[kernel].find_functions()}
        else:
            found |= {name: Called(name, lambda n=name, c=coded: _inside(c, n)) for name in coded.called}
    return {name: function for name, function in found.items() if not is_far(name)}


def _inside(coded: Coded, name: str) -> ca.Function:
    return next(function for function in coded.code().find_functions() if function.name() == name)
