"""Soft laws among the forces and efforts of a model."""

from __future__ import annotations

from typing import Any

from kompono.model.force import Effort, Force
from kompono.model.joint import Joint
from kompono.model.law import PairLaw
from kompono.spatial.pose import Motion, Wrench
from kompono.translate.laws.soft import SoftLaw
from kompono.translate.symbolic import Vector


class _OfLaw:
    """Loads have the place of their law."""

    soft: SoftLaw

    @property
    def _owner(self) -> Any:
        return self.soft.law._owner

    @property
    def _name(self) -> str:
        return self.soft.law._name


class SoftForce(_OfLaw, Force):  # type: ignore[misc]
    """The force of a law between two frames."""

    def __init__(self, soft: SoftLaw) -> None:
        assert isinstance(soft.law, PairLaw)
        self.soft = soft
        super().__init__(soft.law.first, soft.law.second)

    def wrench(self, motion: Motion) -> Wrench:
        """Forces of all rows."""
        rows = self.soft.rows_at(motion)
        load = rows.on.T @ self.soft.exerted(rows).forces  # type: ignore[union-attr]
        return Wrench(load[:3], load[3:])


class SoftEffort(_OfLaw, Effort):  # type: ignore[misc]
    """The effort of a law on one of its joints."""

    def __init__(self, soft: SoftLaw, joint: Joint) -> None:
        self.soft = soft
        super().__init__(joint)

    def effort(self, q: Vector, v: Vector) -> Vector:
        """Forces of all rows, in the symbols of the joints."""
        rows = self.soft.rows_now
        return rows.on[self.joint].T @ self.soft.exerted(rows).forces  # type: ignore[index]
