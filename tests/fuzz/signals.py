"""Arguments that are right for all that is called with values among signals, networks, blocks and FMUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kompono import Body, Ground, Input, Sensor, time
from kompono.library import Prismatic, Revolute, solids

Table = dict[str, Callable[[], Mapping[str, Any]]]
BARE = {"Electrical", "Hydraulic", "Housing", "OnePin", "Pin", "Reference", "Rotational", "Thermal", "Translational"}
BARE |= {"TwoPins"}  # that take no values


def _body() -> Body:
    return Body(solids.sphere(mass=1.0, radius=0.1))


def _turning() -> Revolute:
    return Revolute(Ground(), _body())


def signals() -> Table:
    """Of the model."""
    return {
        "State": lambda: {"start": 1.0, "unit": "A"},
        "Controller": lambda: {
            "function": lambda t, x: x, "reads": [time], "writes": [Input()], "every": 0.01, "offset": 0.0
        },
    }  # fmt: skip


def networks() -> Table:
    """Elements of networks."""
    sliding = {"joint": Prismatic(Ground(), _body()), "area_a": 1e-3, "area_b": 5e-4, "stroke": 0.5}
    return {
        "Ambient": lambda: {"temperature": 300.0},
        "Bridge": lambda: {"duty": 0.5},
        "Capacitor": lambda: {"capacitance": 1e-6, "voltage": 1.0},
        "Chamber": lambda: {"volume": 1e-3, "stiffness": 1e9, "pressure": 1e5},
        "Conductor": lambda: {"conductance": 2.0},
        "CurrentSource": lambda: {"current": 1.0},
        "Cylinder": lambda: {
            **sliding, "start": 0.0, "dead": 1e-4, "stiffness": 1e9, "pressure_a": 0.0, "pressure_b": 0.0,
            "coordinate": None,
        },
        "DCMotor": lambda: {"resistance": 1.0, "inductance": 1e-3, "k": 0.05},
        "Diode": lambda: {"on": 1e-3, "off": 1e-3, "knee": 0.6},
        "Drag": lambda: {"damping": 0.1},
        "EMF": lambda: {"k": 0.05},
        "FlowSource": lambda: {"flow": 1e-4},
        "GearTrain": lambda: {"ratio": 10.0},
        "HeatCapacity": lambda: {"capacity": 100.0, "temperature": 300.0},
        "HeatSource": lambda: {"heat": 10.0},
        "Inductor": lambda: {"inductance": 1e-3, "current": 0.0},
        "Inertia": lambda: {"inertia": 1e-3, "speed": 0.0},
        "Orifice": lambda: {"area": 1e-6, "discharge": 0.7, "density": 860.0, "laminar": 1e4},
        "PressureSource": lambda: {"pressure": 1e6},
        "Pump": lambda: {"displacement": 1e-6},
        "RackAndPinion": lambda: {"radius": 0.05},
        "Resistor": lambda: {"resistance": 1.0},
        "Restrictor": lambda: {"conductance": 1e-9},
        "Shaft": lambda: {"joint": _turning(), "coordinate": "angle"},
        "Switch": lambda: {"command": 1.0, "on": 1e-3, "off": 1e-3},
        "SynchronousMotor": lambda: {
            "joint": _turning(), "resistance": 1.0, "direct_inductance": 1e-3, "quadrature_inductance": 1e-3,
            "flux": 0.01, "poles": 4, "ratio": 1.0, "direct_voltage": 0.0, "quadrature_voltage": 1.0,
            "coordinate": "angle",
        },
        "Tank": lambda: {"pressure": 0.0},
        "TorqueSource": lambda: {"torque": 1.0},
        "Torsion": lambda: {"stiffness": 10.0, "damping": 0.1, "twist": 0.0},
        "Transformer": lambda: {"ratio": 2.0},
        "Valve": lambda: {"area": 1e-6, "spool": 0.5, "discharge": 0.7},
        "VoltageSource": lambda: {"voltage": 24.0},
    }  # fmt: skip


def blocks() -> Table:
    """Blocks of control, tables and sensors."""
    return {
        "Delay": lambda: {"input": time, "periods": 2, "every": 0.01, "start": 0.0, "unit": "V"},
        "Encoder": lambda: {
            "joint": _turning(), "counts": 1000, "every": 0.01, "bias": 0.0, "deviation": 0.1, "seed": 1,
            "coordinate": "angle",
        },
        "Hysteresis": lambda: {
            "input": time, "lower": -1.0, "upper": 1.0, "low": 0.0, "high": 1.0, "start": "low", "unit": ""
        },
        "Imu": lambda: {
            "sensor": Sensor(_body()), "every": 0.01, "gyro": {"deviation": 0.1}, "accelerometer": {"bias": 0.1},
            "seed": 1, "gravity": (0, 0, -9.81),
        },
        "LowPass": lambda: {"input": time, "time_constant": 0.1, "every": 0.01, "start": 0.0, "unit": ""},
        "Measured": lambda: {
            "input": time, "every": 0.01, "bias": 0.0, "deviation": 0.1, "drift": 0.0, "resolution": 0.1,
            "limits": (-1, 1), "seed": 1, "unit": "m",
        },
        "Noise": lambda: {
            "seed": 1, "every": 0.01, "deviation": 1.0, "mean": 0.0, "distribution": "normal", "offset": 0.0, "unit": ""
        },
        "PID": lambda: {
            "error": time, "rate": time, "kp": 1.0, "ki": 1.0, "kd": 1.0, "limits": (-1, 1), "filter": 0.01,
            "tracking": 0.1, "feedforward": 0.0, "every": None, "integral": 0.0, "unit": "V",
        },
        "Quantizer": lambda: {"input": time, "step": 0.1, "every": 0.01, "start": 0.0, "unit": ""},
        "RateLimiter": lambda: {"input": time, "rate": 1.0, "every": 0.01, "lag": None, "start": 0.0, "unit": ""},
        "Sample": lambda: {"input": time, "every": 0.01, "offset": 0.0, "start": 0.0, "unit": ""},
        "Saturation": lambda: {"input": time, "limits": (-1, 1), "unit": ""},
        "StateSpace": lambda: {
            "A": [[-1.0]], "B": [[1.0]], "C": [[1.0]], "D": [[0.0]], "every": None, "inputs": ["u"], "outputs": ["y"],
            "start": [0.0],
        },
        "Table": lambda: {
            "x": [0.0, 1.0, 2.0, 3.0], "y": [0.0, 1.0, 4.0, 9.0], "kind": "linear", "beyond": "constant",
            "ends": "not-a-knot",
        },
        "Table2": lambda: {
            "x": [0.0, 1.0], "y": [0.0, 1.0], "z": [[0.0, 1.0], [2.0, 3.0]], "kind": "linear", "beyond": "constant"
        },
        "TransferFunction": lambda: {"num": [1.0], "den": [1.0, 2.0], "input": time, "every": None},
    }  # fmt: skip
