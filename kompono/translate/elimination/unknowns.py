"""What is solved for: who each unknown belongs to, and the values found."""

from __future__ import annotations

from typing import NamedTuple

from kompono.model.body import Carrier, Frame
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.translate.symbolic import Vector


class Unknown(NamedTuple):
    """An unknown column of the equations: its kind and the element (or port) it belongs to. Wrenches between the
    joints of a body have a `stage` each.
    """

    kind: str
    owner: Element | Frame
    stage: int = 0

    @staticmethod
    def body(body: Carrier) -> Unknown:
        """The spatial acceleration (6) of a body, less the uniform field."""
        return Unknown("body", body)

    @staticmethod
    def joint(joint: Joint) -> Unknown:
        """The accelerations (freedoms) of a joint."""
        return Unknown("joint", joint)

    @staticmethod
    def rows(element: Element) -> Unknown:
        """The multipliers (rows) of what closes a loop."""
        return Unknown("rows", element)

    @staticmethod
    def wrench(body: Carrier, stage: int = 0) -> Unknown:
        """The wrench of conditions on a body, and what is left of it when the elements up to a stage have acted."""
        return Unknown("wrench", body, stage)

    @staticmethod
    def inner_wrench(carrier: Carrier) -> Unknown:
        """The wrench (6) on the port of a closed part, by the carrier of that port."""
        return Unknown("inner wrench", carrier)

    @staticmethod
    def outer_wrench(port: Frame) -> Unknown:
        """The wrench (6) from outside on a port of the border around everything here."""
        return Unknown("outer wrench", port)

    @staticmethod
    def pushed(part: Element) -> Unknown:
        """What forces of laws inside a closed part add to its answer, at all its ports."""
        return Unknown("pushed", part)

    @staticmethod
    def handed(part: Element) -> Unknown:
        """Forces of rows that a closed part hands on."""
        return Unknown("handed", part)


class Solution(dict[Unknown, Vector]):
    """Values of unknowns: accelerations and multipliers, or changes and shares of a correction."""

    def body(self, body: Carrier) -> Vector:
        """The spatial acceleration (6) of a body, less the uniform field."""
        return self[Unknown.body(body)]

    def joint(self, joint: Joint) -> Vector:
        """The accelerations (freedoms) of a joint."""
        return self[Unknown.joint(joint)]

    def rows(self, element: Element) -> Vector:
        """The multipliers (rows) of what closes a loop."""
        return self[Unknown.rows(element)]

    def inner_wrench(self, carrier: Carrier) -> Vector:
        """The wrench (6) on the port of a closed part."""
        return self[Unknown.inner_wrench(carrier)]
