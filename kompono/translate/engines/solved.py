"""Engines that hold conditions by multipliers, and bring states back on them after a step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kompono.model.joint import Joint
from kompono.translate.engines.traced import TracedEngine
from kompono.translate.laws.rows import MOST_FEET
from kompono.translate.motion.conditions import Closing, group_sizes, trace_violation
from kompono.translate.program import Routine
from kompono.translate.symbolic import Scalar, Vector

if TYPE_CHECKING:
    from kompono.translate.tracer import Tracer

UNIT = 4e-16  # of the numbers of a quaternion: it has unit length


class SolvedEngine(TracedEngine):
    """A new engine also says how to `project`."""

    allowed_gap = 1e-4  # how far the second stage of a step may be off the conditions, in their units

    @abstractmethod
    def _projection(self, name: str, *, held: bool) -> Routine:
        """state -> state on the conditions, and on what laws hold if `held`."""

    @property
    def projects(self) -> bool:
        """Whether there are conditions or quaternions to keep."""
        return bool(self.law_rows.size) or self.projects_open

    @property
    def projects_open(self) -> bool:
        """The same while all gaps are open."""
        return bool(self.closing) or any(type(joint).normalize is not Joint.normalize for joint in self.joints)

    @property
    def loosens(self) -> bool:
        """Whether there is nothing of laws to bring back while they hold nothing."""
        return bool(self.law_rows.size)

    def _told_off(self) -> list[tuple[str, Vector]]:
        """Where laws alone are held, few enough to be looked at for next to nothing, and all have friction: what else
        is brought back after a step is the length of quaternions.
        """
        placed = self.law_rows.placed
        rubs = len(placed) <= MOST_FEET and all(unit.one_sided >= 0 and unit.dry >= 0 for unit in placed)
        if self.closing or not (self.projects and rubs):
            return []
        from kompono.translate.laws.answer import trace_off

        now, acting = self.moving, self.moving.acting
        assert acting is not None
        turned, q = self._normalized(now.tracer, now.kinematics.q), now.kinematics.q
        lengths = [ca.fabs(turned[j] - q[j]) - UNIT for j in self.joints if turned[j] is not q[j]]
        return [("off", ca.vertcat(*trace_off(self.law_rows, now.tracer, acting), *lengths))]

    @property
    def straying(self) -> tuple[Closing, ...]:
        """Elements whose conditions the stages of a step may leave."""
        return self.closing

    @property
    def strays(self) -> bool:
        return self.projects and any(group_sizes(element) for element in self.straying)

    def routines(self) -> dict[str, Callable[[], Routine]]:
        made = super().routines()
        if self.projects:
            made["project"] = self.project
        if self.loosens and self.projects and self.projects_open:
            made["open_project"] = self.open_project
        return made

    def open_project(self) -> Routine:
        """state -> state on the conditions while laws hold nothing."""
        return self._projection("open_project", held=False)

    def project(self) -> Routine:
        """state -> state on the conditions, and on what laws hold."""
        return self._projection("project", held=True)

    def gap(self) -> Routine:
        """The largest violation of a condition, in units of what a stage may have: above 1 all stages of a step are
        projected before they are evaluated.
        """
        tracer, start = self._start()
        kinematics, worst = self._moving(tracer, start.q, start.v), ca.SX(0)
        for element in self.straying:
            gap = trace_violation(kinematics, element, self.laws, "residual")
            worst = tracer.call(lambda w, g: ca.fmax(w, ca.mmax(ca.fabs(ca.densify(g)))), worst, gap)
        allowed = self._allowed_gap()
        return tracer.routine("gap", [("gap", tracer.call(lambda w: w / allowed, worst))])

    def _allowed_gap(self) -> Scalar | float:
        numbers = self.model.numbers
        return self.allowed_gap if numbers is None else numbers.found("allowed gap", np.array([self.allowed_gap]))

    def _state(self, tracer: Tracer, q: dict[Joint, Vector], v: dict[Joint, Vector]) -> Vector:
        """The state of these coordinates and speeds; counted angles are measured anew."""
        counted = []
        if self.counted:
            kinematics = self._rebind(tracer, q, v)
            counted = [kinematics.joint_state(joint)[0] for joint in self.counted]
        memory = tracer.values["state"][self.nq + self.nv :]
        return ca.vertcat(*[q[j] for j in self.joints], *counted, *[v[j] for j in self.joints], memory)
