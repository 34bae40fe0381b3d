"""The catalogue of joints, constraints, forces and solids, and a bench for parts. It uses only what a user may use."""

from kompono.library import shapes, solids
from kompono.library.bench import Bench
from kompono.library.constraints import Distance, Drive, Gear, ParallelAxes, PlaneToPlane, PointInPlane, PointOnLine
from kompono.library.contact import Contact
from kompono.library.forces import AppliedLoad, Bushing, Gravity, JointEffort, RotationalSpringDamper, SpringDamper
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

__all__ = [
    "AppliedLoad",
    "Bench",
    "Bushing",
    "Contact",
    "Cylindrical",
    "Distance",
    "Drive",
    "Free",
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
