"""Everything public that is called with values, each with arguments that are right: the fuzzer replaces one."""

from __future__ import annotations

import atexit
import functools
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fuzz.signals import BARE, blocks, networks, signals

import kompono
from kompono import (
    Body,
    Frame,
    Ground,
    Input,
    Joint,
    Mode,
    Pose,
    Subsystem,
    library,
    realtime,
    spatial,
    time,
)
from kompono.library import JointEffort, Revolute, Strut, profiles, shapes, solids

AXIS = np.array([0.0, 0.0, 1.0])
REST = {"Subsystem", "Field"}  # that take no values
OTHERS = {  # public names that are no constructors of models, and are met elsewhere or not called by users
    "AssemblyError", "CompileError", "FileError", "KomponoError", "ModelError", "ModelWarning", "RemoteError",
    "RunError", "RunWarning", "Sealed", "SealedError", "TranslationError", "Cost", "Ensemble", "Evaluation",
    "LiveView", "Unit", "Remote", "Report", "Result", "Simulation", "cost", "equilibrium", "evaluate", "inspect",
    "linearize", "modes", "inverse", "reach", "identify", "minimize", "sensitivities", "Fit",
    "Equilibrium", "LinearModel", "Modes", "resume", "seal",
    "simulate", "simulate_many", "spatial", "time", "view", "shapes", "solids", "profiles",
}  # fmt: skip


class Things:
    """New components to connect, as many as are asked for."""

    @property
    def ground(self) -> Frame:
        return Ground().at(0, 0, 0)

    @property
    def body(self) -> Body:
        return Body(solids.sphere(mass=1.0, radius=0.1))

    @property
    def joint(self) -> Joint:
        return Revolute(Ground(), self.body)

    @property
    def frames(self) -> dict[str, Any]:
        return {"first": self.ground, "second": self.body}


@dataclass(frozen=True)
class Case:
    """Something to call and arguments that are right; those that are numbered go by position."""

    name: str
    make: Callable[..., Any]
    arguments: Callable[[], Mapping[str, Any]]

    def call(self, **replaced: Any) -> Any:
        """What comes of it with some arguments replaced, by name or number ("0")."""
        given = {**self.arguments(), **replaced}
        places = [given.pop(name) for name in sorted(given) if name.isdigit()]
        return self.make(*places, **given)


def _joints(things: Things) -> dict[str, Callable[[], Mapping[str, Any]]]:
    turning = {"axis": "y", "angle": 0.1, "angle_rate": 0.2}
    return {
        "Revolute": lambda: {**things.frames, **turning, "limits": (-1, 1), "restitution": 0.5},
        "Prismatic": lambda: {**things.frames, "axis": (1, 0, 0), "displacement": 0.1, "displacement_rate": None},
        "Cylindrical": lambda: {**things.frames, **turning, "displacement": 0.1},
        "Screw": lambda: {**things.frames, "pitch": 0.01, "axis": "z", "angle": 0.1},
        "Spherical": lambda: {**things.frames, "e0": 1.0, "e1": 0.0},
        "Universal": lambda: {**things.frames, "first_axis": "x", "second_axis": "y"},
        "Planar": lambda: {**things.frames, "normal": "z", "limits": {"x": (None, 1)}},
        "Free": lambda: {**things.frames, "x": 0.1},
        "Weld": lambda: {**things.frames, "start": None},
        "Link": lambda: {**things.frames, "length": 0.5, "axis": "z", "along": "x"},
        "Chain": lambda: {"0": things.ground, "1": things.body, "2": library.turn("yaw"), "limits": {"yaw": (-1, 1)}},
        "Rolling": lambda: {**things.frames, "radius": 0.3, "normal": "z", "axis": "y", "orientation": None},
    }


def _conditions(things: Things) -> dict[str, Callable[[], Mapping[str, Any]]]:
    planes = {"axis": "z", "opposed": False}
    return {
        "Distance": lambda: {**things.frames, "length": 0.5},
        "ParallelAxes": lambda: {**things.frames, **planes},
        "PlaneToPlane": lambda: {**things.frames, **planes},
        "PointInPlane": lambda: {**things.frames, "axis": "z"},
        "PointOnLine": lambda: {**things.frames, "axis": "z"},
        "PointOnPoint": lambda: things.frames,
        "LineOnLine": lambda: {**things.frames, **planes},
        "LineInPlane": lambda: {**things.frames, "normal": "z", "line": "x"},
        "PointAroundLine": lambda: {**things.frames, "radius": 0.1, "axis": "z"},
        "AngleBetween": lambda: {**things.frames, "angle": 1.0, "axis": "z"},
        "Polynomial": lambda: {
            "first": things.joint, "second": things.joint, "coefficients": (0.1, 2.0), "first_coordinate": "angle",
            "second_coordinate": None,
        },
        "Sum": lambda: {"0": (things.joint, 1.0), "1": (things.joint, -2.0, "angle"), "value": 0.5},
        "tendon": lambda: {"0": (things.joint, 1.0), "1": (things.joint, -2.0, "angle")},
        "turn": lambda: {"name": "yaw", "axis": "z", "at": (0, 0, 1), "orientation": None},
        "slide": lambda: {"name": "reach", "axis": "x", "at": (0, 0, 1), "orientation": (1, 0, 0, 0)},
        "Drive": lambda: {"joint": things.joint, "motion": 0.1 * time, "coordinate": "angle"},
        "Gear": lambda: {
            "first": things.joint, "second": things.joint, "ratio": 2.0, "offset": 0.1, "first_coordinate": "angle",
            "second_coordinate": "angle", "backlash": None, "restitution": 0.5,
        },
        "Backlash": lambda: {
            "first": things.joint, "second": things.joint, "ratio": 2.0, "offset": 0.1, "first_coordinate": "angle",
            "second_coordinate": "angle", "backlash": 0.1, "restitution": 0.5,
        },
    }  # fmt: skip


def _laws(things: Things) -> dict[str, Callable[[], Mapping[str, Any]]]:
    pair = {"first": things.joint, "second": things.joint}
    pressed = {"axis": "z", "normal": 2.0, "mu": 0.5, "mu_static": 0.6, "radius": 0.1, "faces": 2}
    return {
        "DryFriction": lambda: {
            "joint": things.joint, "mu": 0.1, "mu_static": 0.2, "radius": 0.05, "preload": 0.1, "preload_static": 0.2,
            "stribeck": 0.1, "coordinate": "angle",
        },
        "Clutch": lambda: {**pair, **pressed, "limit": None, "limit_static": None},
        "Brake": lambda: {**things.frames, **pressed, "limit": None, "limit_static": None, "coordinate": None},
        "FreeWheel": lambda: {"inner": things.joint, "outer": things.joint, "axis": "z"},
        "Contact": lambda: {
            "first": things.ground.plane(), "second": things.body.sphere(radius=0.1), "mu": 0.5, "mu_static": 0.6,
            "restitution": 0.2, "impact": "newton",
        },
        "EndStops": lambda: {
            "joint": things.joint, "lower": -1.0, "upper": 1.0, "restitution": 0.5, "coordinate": "angle"
        },
        "SumStops": lambda: {
            "0": (things.joint, 1.0), "1": (things.joint, -2.0, "angle"), "lower": -1.0, "upper": 1.0,
            "restitution": 0.5, "stiffness": 1e3,
        },
        "Tether": lambda: {
            **things.frames, "longest": 0.5, "shortest": 0.1, "restitution": 0.5, "stiffness": 1e3
        },
    }  # fmt: skip


def _loads(things: Things) -> dict[str, Callable[[], Mapping[str, Any]]]:
    spring = {"k": 10.0, "c": 0.1, "rest": 0.2}
    return {
        "AppliedLoad": lambda: {
            "frame": things.body, "force": (0, 0, 1), "torque": (0, 1, 0), "reaction": things.ground, "axes": "body"
        },
        "Bushing": lambda: {**things.frames, "k": (1.0,) * 6, "c": np.eye(6)},
        "Activation": lambda: {
            "control": time, "lag": 0.1, "limits": (-1, 1), "control_limits": (-2, 2), "start": 0.0
        },
        "Actuator": lambda: {
            "joint": things.joint, "control": time, "gear": 2.0, "gain": 3.0, "bias": (0, -1, 0),
            "control_limits": (-1, 1), "force_limits": (-9, 9), "tendon": None, "coordinate": "angle",
        },
        "Damping": lambda: {"joint": things.joint, "c": 0.1},
        "MediumDrag": lambda: {
            "frame": things.body, "linear": 0.1, "quadratic": (0.1, 0.2, 0.3), "angular": 0.1, "angular_quadratic": 0.1,
            "wind": (1, 0, 0),
        },
        "Rope": lambda: {
            "0": things.ground, "1": things.body.at(0, 0, 0), "2": things.ground, "k": 10.0, "c": 0.1,
            "rest": (0.1, 0.2), "factors": (1.0, 0.5),
        },
        "Thruster": lambda: {
            "frame": things.body, "control": time, "force": (0, 0, 1), "torque": (0, 0, 0.1), "gain": 3.0, "bias": 0.1,
            "control_limits": (-1, 1), "force_limits": (-9, 9),
        },
        "Winch": lambda: {
            "rope": library.Rope(things.ground, things.body.at(0, 0, 0)), "control": time, "gear": 2.0, "gain": -3.0,
            "bias": (0, -1, 0), "control_limits": (-1, 1), "force_limits": (-9, 9),
        },
        "Rotor": lambda: {"joint": things.joint, "inertia": 0.1, "ratio": 5.0, "coordinate": "angle"},
        "Gravity": lambda: {"acceleration": (0, 0, -9.81)},
        "JointEffort": lambda: {"joint": things.joint, "effort": 1.0, "coordinate": None},
        "RotationalSpringDamper": lambda: {"joint": things.joint, **spring, "coordinate": None},
        "SpringDamper": lambda: {**things.frames, **spring},
        "Bench": lambda: {"part": Strut(length=0.6, k=10.0), "hold": "tube", "gravity": 9.81},
        "Strut": lambda: {
            "length": 0.6, "k": 10.0, "c": 0.1, "rest": 0.5, "mass": 2.0, "radius": 0.03, "turns": True,
            "tube": solids.point(mass=1.0), "rod": solids.point(mass=1.0),
        },
    }  # fmt: skip


def _model(things: Things) -> dict[str, Callable[[], Mapping[str, Any]]]:
    return {
        "Body": lambda: {
            "mass": 1.0, "inertia": (1, 1, 1), "start_position": (0, 0, 1), "start_orientation": (1, 0, 0, 0),
            "start_velocity": (0, 0, 0), "start_angular_velocity": (0, 0, 1), "shape": shapes.sphere(0.1),
        },
        "Ground": lambda: {"position": (0, 0, 1), "orientation": (1, 0, 0, 0), "shape": shapes.sphere(0.1)},
        "Frame": lambda: {"body": things.body, "pose": Pose()},
        "MassProperties": lambda: {"mass": 1.0, "inertia": np.eye(3), "shape": ("sphere", {"radius": 0.1})},
        "Constraint": lambda: things.frames,
        "Coupling": lambda: {"0": things.joint, "1": things.joint},
        "Effort": lambda: {"joint": things.joint},
        "PairLaw": lambda: things.frames,
        "JointLaw": lambda: {"0": things.joint, "1": things.joint},
        "Force": lambda: things.frames,
        "Joint": lambda: {**things.frames, "start": None},
        "Event": lambda: {"guard": time - 1.0, "changes": {Mode(0): 1.0}},
        "Mode": lambda: {"start": 1.0},
        "Input": lambda: {"value": 1.0, "table": None, "period": None, "factory": None, "unit": "N"},
        "Output": lambda: {"expression": time, "unit": "s"},
        "Parameter": lambda: {"value": 1.0, "unit": "m"},
        "LoadCell": lambda: {"element": things.joint, "axes": things.ground, "at": None, "on": "first"},
        "Sensor": lambda: {"frame": things.body.at(0, 0, 1), "base": things.ground, "axes": None},
        "Motion": lambda: {"position": AXIS, "rotation": np.eye(3), "velocity": AXIS, "angular_velocity": AXIS},
        "Pose": lambda: {"position": (0, 0, 1), "rotation": np.eye(3)},
        "Wrench": lambda: {"force": (0, 0, 1), "torque": (0, 0, 1)},
        "euler": lambda: {"0": "zxz", "1": 0.1, "2": 0.2, "3": 0.3, "fixed": False},
        "roll_pitch_yaw": lambda: {"roll": 0.1, "pitch": 0.2, "yaw": 0.3},
        "rotation": lambda: {"axis": "z", "angle": 0.1},
    }  # fmt: skip


def _files() -> dict[str, Callable[[], Mapping[str, Any]]]:
    return {
        "load": lambda: {
            "file": str(Path(__file__).parent / "arm.urdf"), "ignore": (), "repair": False, "limits": True,
            "friction": True, "gravity": (0, 0, -9.81), "masses": {"arm": 2.0}, "floating": False, "loops": None,
            "packages": (),
        },
        "Fmu": lambda: {
            "file": _fmu(), "kind": "me", "every": None, "trust": True, "isolate": False, "values": {"push": 1.0}
        },
        "export_fmu": lambda: {
            "model": _Turning(), "path": Path(_folder()) / "again.fmu", "fmi": 2, "kind": "me", "channels": "pin.*",
            "step": 1e-3, "until": 1.0, "tolerance": 1e-6, "inputs": {"push": 1.0}, "parameters": None,
            "initial": {"pin.angle": 0.1}, "platforms": "x86_64-linux",
        },
    }  # fmt: skip


class _Turning(Subsystem):
    """A body on a pin that is pushed."""

    def __init__(self) -> None:
        self.ground, self.body = Ground(), Body(solids.sphere(mass=1.0, radius=0.1))
        self.push = Input(0.0)
        self.pin = Revolute(self.ground, self.body, axis="y")
        self.drive = JointEffort(self.pin, self.push)


@functools.cache
def _folder() -> str:
    """A folder that lasts as long as the tests."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return folder.name


@functools.cache
def _fmu() -> str:
    return str(
        kompono.export_fmu(_Turning(), Path(_folder()) / "turning.fmu", kind="me", platforms="x86_64-linux").path
    )


def _solids() -> dict[str, Callable[[], Mapping[str, Any]]]:
    return {
        "box": lambda: {"mass": 1.0, "size": (0.1, 0.2, 0.3)},
        "cylinder": lambda: {"mass": 1.0, "length": 0.5, "radius": 0.1, "axis": "z"},
        "given": lambda: {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)},
        "point": lambda: {"mass": 1.0},
        "ring": lambda: {"mass": 1.0, "radius": 0.1, "axis": "z"},
        "rod": lambda: {"mass": 1.0, "length": 0.5, "radius": 0.1, "axis": "z"},
        "sphere": lambda: {"mass": 1.0, "radius": 0.1},
        "tube": lambda: {"mass": 1.0, "length": 0.5, "radius": 0.1, "wall": 0.01, "axis": "z"},
    }


def _shapes() -> dict[str, Callable[[], Mapping[str, Any]]]:
    round_ = {"length": 0.5, "radius": 0.1, "axis": "z"}
    return {
        "bar": lambda: {"start": (0, 0, 0), "end": (0, 0, 1), "radius": 0.1},
        "box": lambda: {"size": (0.1, 0.2, 0.3)},
        "cone": lambda: {**round_, "top": 0.05},
        "cylinder": lambda: dict(round_),
        "ellipsoid": lambda: {"size": (0.1, 0.2, 0.3)},
        "mesh": lambda: {"file": "part.stl", "scale": 1.0},
        "plate": lambda: {"outline": [(0, 0), (1, 0), (0, 1)], "thickness": 0.1, "axis": "z"},
        "ring": lambda: {"radius": 0.1, "thickness": 0.01, "axis": "z"},
        "sphere": lambda: {"radius": 0.1},
        "tube": lambda: {**round_, "wall": 0.01},
    }


def _profiles() -> dict[str, Callable[[], Mapping[str, Any]]]:
    way = {"start": 0.0, "end": 1.0, "begin": 0.5}
    return {
        "minimum_jerk": lambda: {**way, "duration": 2.0},
        "trapezoidal": lambda: {**way, "speed": 1.0, "acceleration": 2.0},
        "s_curve": lambda: {**way, "speed": 1.0, "acceleration": 2.0, "jerk": 5.0},
        "through": lambda: {"instants": [0.0, 1.0, 2.0], "points": [0.0, 1.0, 0.5], "ends": "natural"},
    }


def _realtime() -> dict[str, Callable[[], Mapping[str, Any]]]:
    names = {"outputs": "*.angle", "inputs": ["torque"], "wait": 0.0}
    return {
        "RealTime": lambda: {
            "frame": 0.01, "speed": 1.0, "on_frame": (), "behind": "catch up", "keep": 1.0, "spin": 0.0005,
            "clock": None,
        },
        "Udp": lambda: {"port": 5005, **names, "host": "127.0.0.1", "peer": ("127.0.0.1", 5006), "checksum": True},
        "SharedMemory": lambda: {"name": "kompono-fuzz", **names},
    }  # fmt: skip


def cases() -> list[Case]:
    """All of them."""
    things = Things()
    folders: list[tuple[Any, str, Mapping[str, Callable[[], Mapping[str, Any]]]]] = [
        (kompono, "", {**_model(things), **_files(), **signals()}),
        (library, "", {**_joints(things), **_conditions(things), **_loads(things), **_laws(things)}),
        (library, "", {**networks(), **blocks()}),
        (solids, "solids.", _solids()),
        (shapes, "shapes.", _shapes()),
        (profiles, "profiles.", _profiles()),
        (realtime, "realtime.", _realtime()),
    ]
    found = [
        Case(prefix + name, getattr(module, name), arguments)
        for module, prefix, table in folders
        for name, arguments in table.items()
    ]
    body = lambda: things.body  # noqa: E731
    found += [
        Case("Body.at", lambda *place, **turned: body().at(*place, **turned), lambda: {"0": 0, "1": 0, "2": 1.0}),
        Case("Body.at", lambda **given: body().at(given["point"], orientation=given["orientation"]),
             lambda: {"point": (0, 0, 1), "orientation": (1, 0, 0, 0)}),
        Case("unit_axis", spatial.unit_axis, lambda: {"axis": (1, 0, 0)}),
        Case("unit_quaternion", spatial.unit_quaternion, lambda: {"quaternion": (1, 0, 0, 0)}),
        Case("Shape.at", shapes.sphere(0.1).at, lambda: {"x": 0, "y": 0, "z": 1, "orientation": None}),
        Case("Shape.coloured", shapes.sphere(0.1).coloured, lambda: {"colour": "#d55e00", "opacity": 0.5}),
    ]  # fmt: skip
    return found


def uncovered() -> set[str]:
    """Public names without a case."""
    known = {case.name for case in cases()} | REST | BARE | OTHERS
    return (set(kompono.__all__) | set(library.__all__)) - known
