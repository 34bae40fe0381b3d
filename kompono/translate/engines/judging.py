"""What is known of a model in joint coordinates before anything moves: which of its conditions can be violated at all,
which are implied by others, which are linear, and which freedoms the loops lock (see `rank`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kompono.model.constraint import Coupling
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.posed import PosedEngine
from kompono.translate.engines.solved import SolvedEngine
from kompono.translate.motion.conditions import (
    Closing,
    Closures,
    ToldConditions,
    check_coupled,
    path_joints,
    trace_closure,
    trace_violation,
    velocity_rows,
)
from kompono.translate.structure.topology import Topology
from kompono.translate.symbolic import Vector, number_places

if TYPE_CHECKING:
    from kompono.translate.elimination.blocks import PivotReference
    from kompono.translate.elimination.linear import Form, LinearSet, SolvedLoop
    from kompono.translate.motion.kinematics import Kinematics
    from kompono.translate.numbers import OpenNumbers
    from kompono.translate.rank.probe import Probe
    from kompono.translate.rank.rank import LiveRows
    from kompono.translate.structure.axes import ChosenAxes
    from kompono.translate.tracer import Tracer

Close = Callable[[PosedEngine], np.ndarray | None]  # the state of an engine at the start with all loops closed, if any


@dataclass(frozen=True)
class Judged:
    """Conditions that can be violated, by element, and what pivots of their live rows are compared with."""

    live: dict[Element, LiveRows]
    references: dict[Element, PivotReference]


class JudgingEngine(SolvedEngine):
    """An engine in joint coordinates; `close` finds a state at the start where all loops are closed."""

    locks = _places = True  # whether freedoms that loops lock are left out while it moves; its own motion is traced

    def __init__(
        self,
        model: Elaborated,
        topology: Topology,
        kernels: dict[str, ca.Function],
        *,
        shared: bool,
        close: Close | None = None,
    ) -> None:
        super().__init__(model, topology, kernels, shared=shared)
        self._close = close
        if model.numbers is not None:
            model.numbers.find = self._find_numbers

    @cached_property
    def probe(self) -> Probe:
        """An inlined trace of all closing conditions."""
        from kompono.translate.rank.probe import Probe

        if self._opens:
            return self._numeric.probe
        tracer, kinematics = self._start(shared=False)
        closures: Closures = {element: trace_closure(kinematics, element, self.laws) for element in self.closing}
        return Probe(tracer, kinematics, closures, self.nq - sum(len(joint.coordinates) for joint in self.joints))

    @property
    def _opens(self) -> bool:
        """Whether lengths are put in after tracing: what is found from them is not what is traced."""
        return self.model.numbers is not None and self.model.numbers.frames is not None

    @cached_property
    def _numeric(self) -> JudgingEngine:
        """The same engine with all numbers as they are: what is decided by numbers is found by that."""
        from kompono.translate.kernels import Kernels

        return type(self)(replace(self.model, numbers=None), self.topology, Kernels(), shared=False)

    @cached_property
    def _inlined(self) -> tuple[Tracer, Kinematics]:
        """A tracer of whole routines, and the motion at the state."""
        return self._start(shared=False) if self._opens else (self.probe.tracer, self.probe.kinematics)

    @cached_property
    def _found(self) -> dict[Element, LiveRows]:
        return self._numeric._found if self._opens else self.probe.find_live(unit=False)

    @cached_property
    def live(self) -> dict[Element, LiveRows]:
        """The conditions that can be violated at all, by element; those that others imply have slips. Conditions
        that are substituted imply others, not the other way round.
        """
        return self._with_slips(self._found)

    @property
    def independence(self) -> tuple[int, int]:
        slips = sum(one.slip.shape[1] for one in self.live.values() if one.slip is not None)
        return sum(len(one.size) for one in self.live.values()) - slips, slips

    def find_live(self, *, unit: bool) -> dict[Element, LiveRows]:
        """The same for `unit` weights of all bodies."""
        return self._with_slips(self.probe.find_live(unit=unit))

    def _with_slips(self, found: dict[Element, LiveRows]) -> dict[Element, LiveRows]:
        if not any(len(live.size) for live in found.values()):
            return found
        if self._closed_start is None:
            return found
        return self.probe.add_slips(found, self._elimination_order(), self._closed_start)

    @cached_property
    def _closed_start(self) -> np.ndarray | None:
        return self._close(self._numeric if self._opens else self) if self._close is not None else None

    # -- freedoms that loops lock

    @cached_property
    def locked(self) -> dict[Joint, tuple[int, ...]]:
        """Freedoms whose coordinates the loops keep at zero, by joint: they are numbers while the model moves. None
        where somebody may read all multipliers meanwhile.
        """
        from kompono.translate.motion.signals import states_with_results
        from kompono.translate.rank.locked import find_locked

        read = self.law_rows.size or states_with_results(self.model)
        if not self.locks or self.shared or read or not self.loops or self._closed_start is None:
            return {}
        substituted = {joint for linear in self.sets for joint in linear.joints}
        return find_locked(self.probe, self.loops, substituted, self._closed_start)

    @property
    def locked_places(self) -> tuple[int, ...]:
        """Where coordinates and speeds of locked freedoms are in the state."""
        if not self.locked:
            return ()
        return tuple(sorted(place for q, v in self.probe.places(self.locked) for place in (q, self.nq + v)))

    def _locked_in(self, q: dict[Joint, Vector]) -> dict[Joint, tuple[int, ...]]:
        """Locked freedoms whose coordinates are numbers: somebody left them out. What a drive holds at zero is a number
        once it was put right, too, but not left out.
        """
        known: dict[Joint, tuple[int, ...]] = self.__dict__.get("locked", {})  # nobody left out what was not looked for
        return {joint: places for joint, places in known.items() if joint in q and places == number_places(q[joint])}

    def _without_locked(
        self, q: dict[Joint, Vector], v: dict[Joint, Vector]
    ) -> tuple[dict[Joint, Vector], dict[Joint, Vector]]:
        """Coordinates and speeds with zeros for locked freedoms."""
        q, v = dict(q), dict(v)
        for joint, places in self.locked.items():
            q[joint], v[joint] = ca.SX(q[joint]), ca.SX(v[joint])
            for place in places:
                q[joint][place] = v[joint][place] = 0
        return q, v

    # -- axes in which it moves

    @cached_property
    def axes(self) -> ChosenAxes | None:
        """Axes in which joints are along coordinate axes, if those declared are not: for what nobody sees while the
        model moves.
        """
        from kompono.translate.motion.signals import states_with_results
        from kompono.translate.structure.axes import choose_axes

        read = self.law_rows.of_joints or states_with_results(self.model)
        if not self.locks or read or any(isinstance(element, ToldConditions) for element in self.closing):
            return None
        rolling = [one for one in self.closing if not isinstance(one, Coupling) and velocity_rows(one)]
        return choose_axes(self.topology, self.closing, (*rolling, *self.forms))

    def _moving(self, tracer: Tracer, q: dict[Joint, Vector], v: dict[Joint, Vector]) -> Kinematics:
        """The motion at these coordinates and speeds, in the axes in which it is computed."""
        kinematics = self._rebind(tracer, q, v)
        if self.axes is not None:
            from kompono.translate.motion.signals import bind_signals

            kinematics = kinematics.turned(self.axes)
            bind_signals(tracer, kinematics)
        return kinematics

    @property
    def _narrows(self) -> bool:
        """Whether there is less to compute while the model moves than for who looks at it."""
        return bool(self.locked) or self.axes is not None

    @property
    def _prefix(self) -> str:
        """What numbers begin with that are found so. One engine of a model may lock freedoms and another not."""
        return "narrow " if self.locked else "turned loops "

    @cached_property
    def _narrow_probe(self) -> Probe:
        """The conditions in chosen axes."""
        from kompono.translate.rank.probe import Probe

        probe = self.probe
        if self.axes is None:
            return probe
        kinematics, laws = probe.kinematics.turned(self.axes), self._numeric.laws if self._opens else self.laws
        closures: Closures = {one: trace_closure(kinematics, one, laws) for one in self.closing}
        return Probe(probe.tracer, kinematics, closures, probe.nq - probe.moved)

    @cached_property
    def _narrow(self) -> Judged:
        """Conditions judged in chosen axes and without the freedoms they lock: many are none any more."""
        probe = self._narrow_probe
        live = probe.find_live(unit=False, locked=self.locked)
        if any(len(one.size) for one in self.live.values()) and self._closed_start is not None:
            known = self.probe.positions  # with closed loops, found for all rows as declared
            live = probe.add_slips(live, self._elimination_order(), self._closed_start, self.locked, known)
        return Judged(live, self._compared(live, self._prefix))

    def judged(self, kinematics: Kinematics) -> Judged:
        """What is known of the conditions with the freedoms and in the axes that a motion has."""
        if kinematics.locked or kinematics.axes is not None:
            return replace(self._narrow, live=self._opened_rows(self._narrow.live, self._prefix))
        return Judged(self._opened_rows(self.live), self._references)

    def _opened_rows(self, live: dict[Element, LiveRows], name: str = "") -> dict[Element, LiveRows]:
        if not self._opens:
            return live
        return {key: one.opened(f"{name}{self.model.path(key)}", self.model.numbers) for key, one in live.items()}

    # -- loops that are solved for joints of their own

    @cached_property
    def solved(self) -> tuple[SolvedLoop, ...]:
        """Loops whose conditions are substituted while the model moves. None where somebody may read all multipliers
        meanwhile.
        """
        from kompono.translate.elimination.linear import SolvedLoop
        from kompono.translate.motion.signals import states_with_results
        from kompono.translate.rank.solvable import solvable

        start, read = self._closed_start, self.law_rows.size or states_with_results(self.model)
        if not self.locks or self.shared or read or start is None:
            return ()
        live, probe = (self._narrow if self._narrows else Judged(self.live, {})).live, self._narrow_probe
        paths = {element: path_joints(self.topology, element) for element in (*self.loops, *self.sets)}
        found = []
        for element in self.loops:
            kept = {joint for other, joints in paths.items() if other is not element for joint in joints}
            joints = solvable(probe, element, live[element], self.locked, start, kept)
            if joints is not None:
                found.append(SolvedLoop(element, paths[element], joints, self.model))
        return tuple(found)

    @property
    def _multiplied(self) -> tuple[Closing, ...]:
        """Elements held by multipliers while the model moves."""
        solved = {loop.element for loop in self.solved}
        return tuple(element for element in self.loops if element not in solved)

    def _elimination_order(self) -> list[Closing]:
        """Closing elements, those with linear conditions first."""
        return sorted(self.closing, key=lambda element: element not in self.forms)

    @cached_property
    def _references(self) -> dict[Element, PivotReference]:
        """What pivots of live rows are compared with, by element."""
        return self._compared(self.live)

    def _compared(self, live: dict[Element, LiveRows], name: str = "") -> dict[Element, PivotReference]:
        from kompono.translate.elimination.blocks import PivotReference

        return {
            key: PivotReference.of(one.reference, one.slip, self.model.numbers, f"{name}{self.model.path(key)}")
            for key, one in live.items()
        }

    def _find_numbers(self) -> None:
        """Have all numbers that follow from masses, and go into the equations, among those of the model."""
        numbers = self.model.numbers
        assert numbers is not None
        if self._references:
            self._allowed_gap()
        if self._narrows:
            numbers.decided(f"{self._prefix}locked", (self.locked_places, len(self._narrow.references)))
        if self.axes is not None:
            from kompono.translate.motion.loads import inertia_pattern

            moving = self.probe.kinematics.turned(self.axes)
            numbers.decided("axes", [inertia_pattern(moving, body).tolist() for body in self.model.bodies])
        if self._opens:
            self._find_lengths(numbers)
        if self.law_rows.of_joints:
            from kompono.translate.laws.stress import redundancy_of

            redundancy_of(self.model, self.topology, self.live)

    def _find_lengths(self, numbers: OpenNumbers) -> None:
        """Have where frames are among the numbers, too, and note what else was decided by lengths."""
        from kompono.translate.engines.decided import decided_by_lengths, find_places, find_ratios

        for name, what in decided_by_lengths(self).items():
            numbers.decided(name, what)
        still = [self._inlined[1]] if self._places else []
        for motion in still if self.axes is None else [*still, still[0].turned(self.axes)]:
            find_places(motion, self.closing)
        find_ratios(self.model, self.topology, self.sets)
        for rows, name in ((self._found, ""), (self._narrow.live, self._prefix) if self._narrows else (self.live, "")):
            self._opened_rows(rows, name)

    # -- conditions that are linear in the coordinates

    @cached_property
    def forms(self) -> dict[Element, Form]:
        """Closing elements with linear conditions."""
        return self._forms_of(self.probe.closures)

    def _forms_of(self, keys: Iterable[Element]) -> dict[Element, Form]:
        from kompono.translate.elimination.linear import find_forms

        for element in self.closing:
            if isinstance(element, Coupling):
                check_coupled(self.topology, element)
        tracer, closures = self.probe.tracer, {key: self.probe.closures[key] for key in keys}
        implied = [key for key, live in self._found.items() if key in closures and not len(live.reference)]
        return find_forms(closures.values(), implied, tracer.symbols, self.probe.samples(6))

    @cached_property
    def _divided(self) -> tuple[tuple[Closing, ...], tuple[LinearSet, ...]]:
        """Elements that are not linear, or cannot be solved for coordinates no other loop uses, and sets of others."""
        from kompono.translate.elimination.linear import make_sets

        forms = dict(self.forms)
        while True:
            loops = tuple(element for element in self.closing if element not in forms)
            used = {joint for element in loops for joint in path_joints(self.topology, element)}
            sets, failed = make_sets(forms, self.model, self.topology, used)
            if not failed:
                return loops, sets
            forms = {key: form for key, form in forms.items() if key not in failed}

    @property
    def loops(self) -> tuple[Closing, ...]:
        """Elements whose conditions are not linear, or cannot be substituted as such."""
        return self._divided[0]

    @property
    def sets(self) -> tuple[LinearSet, ...]:
        """Linear conditions that are substituted."""
        return self._divided[1]

    @cached_property
    def linear(self) -> bool:
        """Whether all conditions are linear in coordinates and time, such as gears: methods keep those by themselves,
        except for rounding.
        """
        kinematics = self.probe.kinematics
        settled = (ca.SX(self._level(kinematics, linear, "bias")).nnz() == 0 for linear in self.sets)
        return bool(self.closing) and not self.loops and all(settled)

    @cached_property
    def allowed_gap(self) -> float:  # type: ignore[override]
        """How far off the conditions a stage may be: pivots of rows that are implied on them, and have no slips, are
        about its square, and must stay below the tolerance.
        """
        left = [live for live in self.live.values() if len(live.size) and not live.judged]
        shares = [float((live.reference / live.size).min()) for live in left]
        return float(np.clip(1e-3 * np.sqrt(min(shares, default=1.0)), 1e-7, 1e-4))

    @property
    def straying(self) -> tuple[Closing, ...]:
        return () if self.linear else self.closing

    def _level(self, kinematics: Kinematics, linear: LinearSet, level: str) -> Vector:
        from kompono.translate.elimination.linear import trace_level

        slopes = [ca.SX(0)] * len(linear.forms)
        if level == "residual":
            slopes = [self._slope(kinematics, form) if form.measured else ca.SX(0) for form in linear.forms]
        return trace_level(kinematics, linear, level, slopes, self.laws)

    def _slope(self, kinematics: Kinematics, form: Form) -> Vector:
        """How fast each condition of an element changes with its form."""
        from kompono.translate.elimination.linear import trial_speeds

        still = {key: ca.SX(value.numel(), 1) for key, value in kinematics.v.items()}
        trial = kinematics.with_speeds(still | trial_speeds(kinematics.model, form))
        return trace_violation(trial, form.element, self.laws, "rate")
