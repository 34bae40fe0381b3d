"""Hydraulic networks: tanks, pumps, volumes, orifices, valves and cylinders on joints that slide.

Flow through an orifice is no linear function of pressure. Where the pressures on both its sides are known from
elsewhere (tanks, sources, volumes, cylinders), that costs nothing more; two orifices in a row are iterated.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import scalar
from kompono.library.blocks.ports import positive
from kompono.library.constraints import chosen, speed_names
from kompono.library.forces import JointEffort
from kompono.library.pairs import OnePin, TwoPins, source
from kompono.model.joint import Joint
from kompono.model.pin import Hydraulic, Rotational
from kompono.model.state import State
from kompono.model.subsystem import Subsystem

OIL_DENSITY = 860.0  # [kg/m^3]
OIL_STIFFNESS = 1.4e9  # [Pa] bulk modulus, with some air in it


def orifice_flow(drop: Any, area: Any, *, discharge: Any = 0.7, density: Any = OIL_DENSITY, laminar: Any = 1e4) -> Any:
    """Flow [m^3/s] through a sharp edge of some `area` [m^2] by the pressure `drop` [Pa], discharge A sqrt(2 drop /
    density); linear, and so without a corner, for drops far below `laminar` [Pa].
    """
    discharge, area = scalar(discharge, "the discharge"), scalar(area, "the area")
    density, laminar = positive(density, "the density"), ca.SX(positive(laminar, "laminar"))
    return discharge * area * ca.sqrt(2 / density) * drop / (drop**2 + laminar**2) ** 0.25


class Tank(OnePin):
    """A reservoir at some `pressure` [Pa], above that of the air."""

    kind = Hydraulic

    def __init__(self, pressure: Any = 0.0) -> None:
        super().__init__()
        self.require(self.pin.pressure - scalar(pressure, "the pressure"))


class PressureSource(OnePin):
    """A supply at some `pressure` [Pa]: a number, an expression, or left out: an input of that name."""

    kind = Hydraulic

    def __init__(self, pressure: Any = None) -> None:
        super().__init__()
        self.pressure = source(pressure, "the pressure", "Pa")
        self.require(self.pin.pressure - self.pressure)


class FlowSource(OnePin):
    """A supply of some `flow` [m^3/s]: a number, an expression, or left out: an input of that name."""

    kind = Hydraulic

    def __init__(self, flow: Any = None) -> None:
        super().__init__()
        self.flow = source(flow, "the flow", "m^3/s")
        self.require(self.pin.flow + self.flow)


class Pump(Subsystem):
    """An ideal pump or motor of some `displacement` [m^3/rad]: from `n` to `p` when the `shaft` turns forward."""

    def __init__(self, displacement: Any) -> None:
        self.p, self.n, self.shaft = Hydraulic(), Hydraulic(), Rotational()
        self.expose(self.p, self.n, self.shaft)
        size = scalar(displacement, "the displacement")
        self.require(self.p.flow + self.n.flow)
        self.require(self.n.flow - size * self.shaft.speed)
        self.require(self.shaft.torque - size * (self.p.pressure - self.n.pressure))


class Chamber(OnePin):
    """A `volume` [m^3] of oil of some `stiffness` [Pa] (bulk modulus); its `pressure` [Pa] is a state."""

    kind = Hydraulic

    def __init__(self, volume: Any, *, stiffness: Any = OIL_STIFFNESS, pressure: float = 0.0) -> None:
        super().__init__()
        self.pressure = State(pressure, unit="Pa")
        self.pressure.rate = scalar(stiffness, "the stiffness") * self.pin.flow / scalar(volume, "the volume")
        self.require(self.pin.pressure - self.pressure)


class Restrictor(TwoPins):
    """A laminar restriction: flow is `conductance` [m^3/(s Pa)] times the pressure drop."""

    kind = Hydraulic

    def __init__(self, conductance: Any) -> None:
        super().__init__()
        self.require(self.flow - scalar(conductance, "the conductance") * self.drop)


class Orifice(TwoPins):
    """A sharp edge of some `area` [m^2]: see `orifice_flow`."""

    kind = Hydraulic

    def __init__(self, area: Any, *, discharge: Any = 0.7, density: Any = OIL_DENSITY, laminar: Any = 1e4) -> None:
        super().__init__()
        given = scalar(area, "the area")
        flow = orifice_flow(self.drop, given, discharge=discharge, density=density, laminar=laminar)
        self.require(self.flow - flow)


class Valve(Subsystem):
    """A 4/3-way valve: `spool` (-1 to 1) opens supply `p` to `a` and `b` to tank `t`, or, negative, p to b and a to t.

    Edges of `area` [m^2] when fully open; closed at zero, without overlap. Left out, `spool` is an input.
    """

    def __init__(self, area: Any, spool: Any = None, **orifice: Any) -> None:
        self.p, self.t, self.a, self.b = (Hydraulic() for _ in range(4))
        self.expose(self.p, self.t, self.a, self.b)
        self.spool = source(spool, "the spool", "")
        full = scalar(area, "the area")
        ahead, back = full * ca.fmax(self.spool, 0), full * ca.fmax(-self.spool, 0)
        to_a = orifice_flow(self.p.pressure - self.a.pressure, ahead, **orifice)
        to_b = orifice_flow(self.p.pressure - self.b.pressure, back, **orifice)
        from_a = orifice_flow(self.a.pressure - self.t.pressure, back, **orifice)
        from_b = orifice_flow(self.b.pressure - self.t.pressure, ahead, **orifice)
        self.require(self.p.flow - to_a - to_b)
        self.require(self.t.flow + from_a + from_b)
        self.require(self.a.flow + to_a - from_a)
        self.require(self.b.flow + to_b - from_b)


class Cylinder(Subsystem):
    """A cylinder on a joint that slides: pressure at `a` pushes its displacement on, pressure at `b` back.

    Areas [m^2] of the piston at a and, less the rod, at b; `stroke` [m] is the displacement at which b would be empty,
    `start` that at which a is; `dead` [m^3] is left on both sides. Pressures [Pa] are states of compressible oil.
    """

    def __init__(
        self,
        joint: Joint,
        *,
        area_a: Any,
        area_b: Any,
        stroke: Any,
        start: Any = 0.0,
        dead: Any = 1e-4,
        stiffness: Any = OIL_STIFFNESS,
        pressure_a: float = 0.0,
        pressure_b: float = 0.0,
        coordinate: str | None = None,
    ) -> None:
        speed_names(joint)
        place = chosen(joint, joint.coordinates, coordinate)
        if joint.speeds is not None or (joint.units or ("",))[place] != "m":
            raise ModelError(f"{joint.label} does not slide there.", fix="Give a Prismatic or Cylindrical joint.")
        self.a, self.b = Hydraulic(), Hydraulic()
        self.expose(self.a, self.b)
        self.pressure_a, self.pressure_b = State(pressure_a, unit="Pa"), State(pressure_b, unit="Pa")
        big, small = scalar(area_a, "the area at a"), scalar(area_b, "the area at b")
        bulk, rest = scalar(stiffness, "the stiffness"), scalar(dead, "the dead volume")
        x, v = joint.q[place], joint.v[place]
        volume_a = rest + big * (x - scalar(start, "the start"))
        volume_b = rest + small * (scalar(stroke, "the stroke") - x)
        self.pressure_a.rate = bulk * (self.a.flow - big * v) / volume_a
        self.pressure_b.rate = bulk * (self.b.flow + small * v) / volume_b
        self.require(self.a.pressure - self.pressure_a)
        self.require(self.b.pressure - self.pressure_b)
        push = big * self.pressure_a - small * self.pressure_b
        self.force = JointEffort(joint, push, coordinate=coordinate)
