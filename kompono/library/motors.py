"""Electric motors: the conversion itself, a motor with brushes, a synchronous machine in rotor coordinates."""

from __future__ import annotations

from typing import Any

from kompono.given import scalar
from kompono.library.constraints import chosen, speed_names
from kompono.library.electric import Inductor, Resistor
from kompono.library.forces import JointEffort
from kompono.library.pairs import source
from kompono.model.joint import Joint
from kompono.model.pin import Electrical, Rotational
from kompono.model.state import State
from kompono.model.subsystem import Subsystem


class EMF(Subsystem):
    """Turns current into torque and speed into voltage, without loss: v = k speed, torque = k i [V s/rad = N m/A]."""

    def __init__(self, k: Any) -> None:
        self.p, self.n, self.shaft = Electrical(), Electrical(), Rotational()
        self.expose(self.p, self.n, self.shaft)
        constant = scalar(k, "the constant k")
        self.require(self.p.i + self.n.i)
        self.require(self.p.v - self.n.v - constant * self.shaft.speed)
        self.require(self.shaft.torque + constant * self.p.i)


class DCMotor(Subsystem):
    """A motor with brushes: `resistance` [ohm], `inductance` [H] and constant `k` [V s/rad] in series, from p to n.

    Its rotor has no inertia here: put it on the shaft (`Inertia`), or on the joint it drives (`Rotor`).
    """

    def __init__(self, *, resistance: Any, inductance: Any, k: Any) -> None:
        self.winding, self.coil, self.emf = Resistor(resistance), Inductor(inductance), EMF(k)
        self.connect(self.winding.n, self.coil.p)
        self.connect(self.coil.n, self.emf.p)
        self.p, self.n, self.shaft = Electrical(), Electrical(), Rotational()
        self.connect(self.p, self.winding.p)
        self.connect(self.n, self.emf.n)
        self.connect(self.shaft, self.emf.shaft)
        self.expose(self.p, self.n, self.shaft)


class SynchronousMotor(Subsystem):
    """A three-phase machine with magnets, in coordinates of its rotor, on a joint that turns.

    States are the currents `direct` and `quadrature` [A]; `direct_voltage` and `quadrature_voltage` [V] are inputs, or
    as given. `flux` [V s] of the magnets, `poles` pairs of them. The torque is 3/2 poles (flux + (Ld - Lq) d) q, on the
    joint times `ratio`.
    """

    def __init__(
        self,
        joint: Joint,
        *,
        resistance: Any,
        direct_inductance: Any,
        quadrature_inductance: Any,
        flux: Any,
        poles: int,
        ratio: Any = 1.0,
        direct_voltage: Any = None,
        quadrature_voltage: Any = None,
        coordinate: str | None = None,
    ) -> None:
        self.direct, self.quadrature = State(0.0, unit="A"), State(0.0, unit="A")
        self.direct_voltage = source(direct_voltage, "the direct voltage", "V")
        self.quadrature_voltage = source(quadrature_voltage, "the quadrature voltage", "V")
        geared = scalar(ratio, "the ratio")
        pairs, place = scalar(poles, "the pairs of poles"), chosen(joint, speed_names(joint), coordinate)
        turning = pairs * geared * joint.v[place]
        r, magnets = scalar(resistance, "the resistance"), scalar(flux, "the flux")
        ld = scalar(direct_inductance, "the direct inductance")
        lq = scalar(quadrature_inductance, "the quadrature inductance")
        self.direct.rate = (self.direct_voltage - r * self.direct + turning * lq * self.quadrature) / ld
        across = self.quadrature_voltage - r * self.quadrature - turning * (ld * self.direct + magnets)
        self.quadrature.rate = across / lq
        torque = 1.5 * pairs * (magnets + (ld - lq) * self.direct) * self.quadrature
        self.torque = JointEffort(joint, geared * torque, coordinate=coordinate)
