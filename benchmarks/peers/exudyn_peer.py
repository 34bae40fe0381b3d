"""Exudyn: trees as one ObjectKinematicTree with its explicit RK44; loops as in exudyn_bodies.py.

The loop over time is native; torques are its symbolic user functions, so that Python is not entered.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any

import exudyn as exu
import numpy as np
from exudyn import itemInterface as items
from exudyn.utilities import CreateSymbolicUserFunction
from exudyn_bodies import Bodies
from exudyn_runner import NAME, Runner
from judge import Record, judged
from machines import Case
from parts import Law, Machine

__all__ = ["NAME", "runners", "version"]

LETTERS = "XYZ"
Output, esym = exu.OutputVariableType, exu.symbolic


def version() -> str:
    """Of the package."""
    return importlib.metadata.version("exudyn")


class Tree(Runner):
    """One kinematic tree in joint coordinates."""

    solver = exu.DynamicSolverType.RK44
    how = "ObjectKinematicTree, RK44"

    def build(self) -> None:
        links, (q, v) = self.machine.links, self.machine.start()
        turns, inertias, offsets, centres = (
            exu.Matrix3DList(), exu.Matrix3DList(), exu.Vector3DList(), exu.Vector3DList(),
        )  # fmt: skip
        kinds = []
        for link in links:
            turns.Append(link.place.rotation)
            offsets.Append(link.place.position)
            centres.Append(link.centre)
            inertias.Append(link.inertia)
            letter = LETTERS[int(np.flatnonzero(link.axis == 1)[0])]
            kinds.append(getattr(exu.JointType, f"{'Prismatic' if link.slides else 'Revolute'}{letter}"))
        self.node = self.mbs.AddNode(
            items.NodeGenericODE2(
                numberOfODE2Coordinates=len(links), referenceCoordinates=[0.0] * len(links),
                initialCoordinates=list(q), initialCoordinates_t=list(v),
            )
        )  # fmt: skip
        self.mbs.AddObject(
            items.ObjectKinematicTree(
                nodeNumber=self.node, jointTypes=kinds, linkParents=[link.parent for link in links],
                jointTransformations=turns, jointOffsets=offsets, linkInertiasCOM=inertias, linkCOMs=centres,
                linkMasses=[link.mass for link in links], gravity=list(self.machine.gravity),
            )
        )  # fmt: skip
        for law in self.machine.laws:
            marker = self.mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=self.node, coordinate=law.joint))
            number = self.mbs.AddLoad(items.LoadCoordinate(markerNumber=marker, load=0.0))
            torque = CreateSymbolicUserFunction(self.mbs, _torque(law), "loadUserFunction", number)
            self.mbs.SetLoadParameter(number, "loadUserFunction", torque)

    def record(self, count: int, every: int) -> Record:
        """The rows that are compared."""
        rows = [self.machine.start()]
        for k in range(0, count, every):
            self._advance(k, k + every, keep=True)
            rows.append(tuple(self.mbs.GetNodeOutput(self.node, o) for o in (Output.Coordinates, Output.Coordinates_t)))
        return judged(self.case, self.machine, *(np.array(x) for x in zip(*rows, strict=True)))


def _torque(law: Law) -> Any:
    """A torque over time in Exudyn's symbols."""
    size, omega = law.gain * law.cosine, law.omega

    def user_function(mbs: Any, t: Any, load: Any) -> Any:
        return size * esym.cos(omega * t)

    return user_function


def runners(case: Case, machine: Machine, step: float) -> list[Runner]:
    """One way for trees, one for loops."""
    if machine.gears:
        raise RuntimeError("no gears between the joints of a kinematic tree, and its controller would be Python")
    return [(Bodies if machine.loops else Tree)(case, machine, step)]
