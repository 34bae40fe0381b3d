"""Values that do not belong where they are put, of every kind a user may hand over by mistake."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from kompono import Body, Ground, Input, Mode, Output, Parameter, Pose, Subsystem, Wrench, time
from kompono.library import Gravity, Revolute, shapes, solids


class Odd:
    """An object that is nothing, and cannot even be shown."""

    def __repr__(self) -> str:
        raise ValueError("no words for it")


class Raising:
    """An object whose every use raises."""

    def __float__(self) -> float:
        raise RuntimeError("not now")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("not now")

    def __iter__(self) -> Any:
        raise RuntimeError("not now")

    def __len__(self) -> int:
        return 3


def ball() -> Body:
    """A good body."""
    return Body(solids.sphere(mass=1.0, radius=0.1))


def interpolated() -> ca.SX:
    """An expression that calls a function CasADi cannot open."""
    return ca.interpolant("curve", "linear", [[0.0, 1.0, 2.0]], [0.0, 1.0, 4.0])(time)


WRONG: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "text": lambda: "soft",
    "empty text": lambda: "",
    "axis text": lambda: "x",
    "bytes": lambda: b"x",
    "True": lambda: True,
    "np.True_": lambda: np.True_,
    "complex": lambda: 1j,
    "np.complex128": lambda: np.complex128(1 + 1j),
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "zero": lambda: 0,
    "negative": lambda: -1.5,
    "tiny": lambda: 5e-324,
    "large": lambda: 1e200,
    "huge": lambda: 10**400,
    "2**64": lambda: 2**64,
    "Fraction": lambda: Fraction(1, 3),
    "Decimal": lambda: Decimal("0.5"),
    "Decimal nan": lambda: Decimal("nan"),
    "Decimal snan": lambda: Decimal("snan"),
    "np.float32": lambda: np.float32(0.5),
    "np.int64": lambda: np.int64(2),
    "0-d array": lambda: np.array(0.5),
    "0-d integers": lambda: np.array(2),
    "0-d object": lambda: np.array(None, dtype=object),
    "array of one": lambda: np.array([0.5]),
    "np.datetime64": lambda: np.datetime64("2020-01-01"),
    "empty list": list,
    "empty tuple": tuple,
    "list": lambda: [1.0, 2.0],
    "three": lambda: (1.0, 0.0, 0.0),
    "three of nothing": lambda: (0.0, 0.0, 0.0),
    "four": lambda: [1.0, 0.0, 0.0, 0.0],
    "four, not of unit length": lambda: (1.0, 1.0, 0.0, 0.0),
    "three texts": lambda: ("1", "2", "3"),
    "ragged": lambda: [[1.0, 2.0], [3.0]],
    "nested": lambda: [[1.0], [2.0], [3.0]],
    "nested in nothing": lambda: [[], []],
    "matrix": lambda: np.eye(3),
    "matrix, no rotation": lambda: np.ones((3, 3)),
    "reflection": lambda: np.diag([1.0, 1.0, -1.0]),
    "matrix of two": lambda: np.eye(2),
    "six": lambda: np.ones(6),
    "six by six": lambda: np.triu(np.ones((6, 6))),
    "deep array": lambda: np.zeros((2, 3, 4)),
    "array of objects": lambda: np.array([None, "x", 1j], dtype=object),
    "array of symbols": lambda: np.array([time, 0, 1], dtype=object),
    "array of nan": lambda: np.full(3, math.nan),
    "empty array": lambda: np.zeros(0),
    "dict": dict,
    "dict of one": lambda: {"pin.angle": 1.0},
    "dict of numbers": lambda: {1: 2},
    "dict of symbols": lambda: {time: 1},
    "set": lambda: {1.0, 2.0, 3.0},
    "range": lambda: range(3),
    "generator": lambda: (x for x in (1.0, 2.0, 3.0)),
    "function": lambda: lambda t: t,
    "function of nothing": lambda: lambda: 1.0,
    "math.sin": lambda: math.sin,
    "class": lambda: Body,
    "module": lambda: math,
    "object": object,
    "odd object": Odd,
    "raising object": Raising,
    "path": lambda: Path("part.stl"),
    "slice": lambda: slice(3),
    "Ellipsis": lambda: Ellipsis,
    "time": lambda: time,
    "expression": lambda: ca.sin(time) + 2,
    "number of math": lambda: math.sin(time),  # pyright: ignore[reportArgumentType]
    "NaN inside": lambda: time * math.nan,
    "foreign symbol": lambda: ca.SX.sym("foreign"),
    "foreign symbols": lambda: ca.SX.sym("foreign", 3),
    "foreign matrix": lambda: ca.SX.sym("foreign", 3, 3),
    "empty symbols": lambda: ca.SX(0, 1),
    "empty matrix of symbols": lambda: ca.SX(0, 0),
    "sparse zeros": lambda: ca.SX(3, 1),
    "MX": lambda: ca.MX.sym("m"),
    "DM": lambda: ca.DM([1.0, 0.0, 0.0]),
    "constant SX": lambda: ca.SX(2),
    "ca.Function": lambda: ca.Function("f", [time], [time**2]),
    "interpolant": interpolated,
    "comparison": lambda: time > 1,
    "loose parameter": lambda: Parameter(1.0),
    "loose input": lambda: Input(1.0),
    "loose mode": lambda: Mode(0),
    "body": ball,
    "frame of another body": lambda: ball().at(0, 0, 1),
    "ground": Ground,
    "joint elsewhere": lambda: Revolute(Ground(), ball()),
    "gravity": Gravity,
    "subsystem": Subsystem,
    "output": lambda: Output(1.0),
    "pose": Pose,
    "wrench": Wrench,
    "solid": lambda: solids.point(mass=1.0),
    "shape": lambda: shapes.sphere(0.1),
}
