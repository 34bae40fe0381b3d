"""The catalogue of joints, constraints, forces and solids, and a bench for parts. It uses only what a user may use."""

from kompono.library import profiles, shapes, solids
from kompono.library.actuators import Actuator, Damping
from kompono.library.bench import Bench
from kompono.library.blocks import Table, Table2
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
from kompono.library.electric import (
    Bridge,
    Capacitor,
    CurrentSource,
    Diode,
    Inductor,
    Reference,
    Resistor,
    Switch,
    Transformer,
    VoltageSource,
)
from kompono.library.forces import AppliedLoad, Bushing, Gravity, JointEffort, RotationalSpringDamper, SpringDamper
from kompono.library.friction import DryFriction
from kompono.library.gears import Backlash, Gear
from kompono.library.hydraulic import (
    Chamber,
    Cylinder,
    FlowSource,
    Orifice,
    PressureSource,
    Pump,
    Restrictor,
    Tank,
    Valve,
)
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
from kompono.library.motors import EMF, DCMotor, SynchronousMotor
from kompono.library.pairs import OnePin, TwoPins
from kompono.library.rods import Link, Strut
from kompono.library.rolling import Rolling
from kompono.library.rotors import Rotor
from kompono.library.shafts import Drag, GearTrain, Housing, Inertia, RackAndPinion, Shaft, TorqueSource, Torsion
from kompono.library.stops import EndStops
from kompono.library.thermal import Ambient, Conductor, HeatCapacity, HeatSource

__all__ = [
    "EMF",
    "Actuator",
    "Ambient",
    "AngleBetween",
    "AppliedLoad",
    "Backlash",
    "Bench",
    "Brake",
    "Bridge",
    "Bushing",
    "Capacitor",
    "Chain",
    "Chamber",
    "Clutch",
    "Conductor",
    "Contact",
    "CurrentSource",
    "Cylinder",
    "Cylindrical",
    "DCMotor",
    "Damping",
    "Diode",
    "Distance",
    "Drag",
    "Drive",
    "DryFriction",
    "EndStops",
    "FlowSource",
    "Free",
    "FreeWheel",
    "Gear",
    "GearTrain",
    "Gravity",
    "HeatCapacity",
    "HeatSource",
    "Housing",
    "Inductor",
    "Inertia",
    "JointEffort",
    "LineInPlane",
    "LineOnLine",
    "Link",
    "OnePin",
    "Orifice",
    "ParallelAxes",
    "Planar",
    "PlaneToPlane",
    "PointAroundLine",
    "PointInPlane",
    "PointOnLine",
    "PointOnPoint",
    "Polynomial",
    "PressureSource",
    "Prismatic",
    "Pump",
    "RackAndPinion",
    "Reference",
    "Resistor",
    "Restrictor",
    "Revolute",
    "Rolling",
    "RotationalSpringDamper",
    "Rotor",
    "Screw",
    "Shaft",
    "Spherical",
    "SpringDamper",
    "Strut",
    "Sum",
    "Switch",
    "SynchronousMotor",
    "Table",
    "Table2",
    "Tank",
    "TorqueSource",
    "Torsion",
    "Transformer",
    "TwoPins",
    "Universal",
    "Valve",
    "VoltageSource",
    "Weld",
    "profiles",
    "shapes",
    "slide",
    "solids",
    "tendon",
    "turn",
]
