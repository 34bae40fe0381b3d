"""The catalogue of joints, constraints, forces and solids, and a bench for parts. It uses only what a user may use."""

from kompono.library import shapes, solids
from kompono.library.bench import Bench
from kompono.library.clutches import Brake, Clutch, FreeWheel
from kompono.library.constraints import Distance, Drive, ParallelAxes, PlaneToPlane, PointInPlane, PointOnLine
from kompono.library.contact import Contact
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
from kompono.library.stops import EndStops

__all__ = [
    "AppliedLoad",
    "Backlash",
    "Bench",
    "Brake",
    "Bushing",
    "Clutch",
    "Contact",
    "Cylindrical",
    "Distance",
    "Drive",
    "DryFriction",
    "EndStops",
    "Free",
    "FreeWheel",
    "Gear",
    "Gravity",
    "JointEffort",
    "Link",
    "ParallelAxes",
    "Planar",
    "PlaneToPlane",
    "PointInPlane",
    "PointOnLine",
    "Prismatic",
    "Revolute",
    "Rolling",
    "RotationalSpringDamper",
    "Screw",
    "Spherical",
    "SpringDamper",
    "Strut",
    "Universal",
    "Weld",
    "shapes",
    "solids",
]
