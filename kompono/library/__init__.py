"""The catalogue of joints, constraints, forces and solids, and a bench for parts. It uses only what a user may use."""

from kompono.library import shapes, solids
from kompono.library.actuators import Actuator, Damping
from kompono.library.bench import Bench
from kompono.library.chain import Chain, slide, turn
from kompono.library.clutches import Brake, Clutch, FreeWheel
from kompono.library.constraints import (
    AngleBetween,
    Distance,
    Drive,
    LineInPlane,
    LineOnLine,
    ParallelAxes,
    PlaneToPlane,
    PointAroundLine,
    PointInPlane,
    PointOnLine,
    PointOnPoint,
)
from kompono.library.contact import Contact
from kompono.library.couplings import Polynomial, Sum, tendon
from kompono.library.forces import AppliedLoad, Bushing, Gravity, JointEffort, RotationalSpringDamper, SpringDamper
from kompono.library.friction import DryFriction
from kompono.library.gears import Backlash, Gear
from kompono.library.joints import (
    Cylindrical,
    Free,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
    Weld,
)
from kompono.library.rods import Link, Strut
from kompono.library.rolling import Rolling
from kompono.library.rotors import Rotor
from kompono.library.stops import EndStops

__all__ = [
    "Actuator",
    "AngleBetween",
    "AppliedLoad",
    "Backlash",
    "Bench",
    "Brake",
    "Bushing",
    "Chain",
    "Clutch",
    "Contact",
    "Cylindrical",
    "Damping",
    "Distance",
    "Drive",
    "DryFriction",
    "EndStops",
    "Free",
    "FreeWheel",
    "Gear",
    "Gravity",
    "JointEffort",
    "LineInPlane",
    "LineOnLine",
    "Link",
    "ParallelAxes",
    "Planar",
    "PlaneToPlane",
    "PointAroundLine",
    "PointInPlane",
    "PointOnLine",
    "PointOnPoint",
    "Polynomial",
    "Prismatic",
    "Revolute",
    "Rolling",
    "RotationalSpringDamper",
    "Rotor",
    "Screw",
    "Spherical",
    "SpringDamper",
    "Strut",
    "Sum",
    "Universal",
    "Weld",
    "shapes",
    "slide",
    "solids",
    "tendon",
    "turn",
]
