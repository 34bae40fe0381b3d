"""Kompono: multibody dynamics from components that stay components while the whole is solved.

from kompono import Body, Ground, Subsystem, simulate
from kompono.library import Gravity, Revolute, solids
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kompono.errors import (
    AssemblyError,
    CompileError,
    FileError,
    KomponoError,
    ModelError,
    ModelWarning,
    RemoteError,
    RunError,
    RunWarning,
    SealedError,
    TranslationError,
)
from kompono.later import later

if TYPE_CHECKING:
    from kompono import spatial
    from kompono.analyses import (
        Equilibrium,
        Evaluation,
        Fit,
        LinearModel,
        Modes,
        equilibrium,
        evaluate,
        identify,
        inverse,
        linearize,
        minimize,
        modes,
        reach,
        sensitivities,
    )
    from kompono.costs import Cost, cost
    from kompono.edges.fmu import export_fmu
    from kompono.edges.view import LiveView, view
    from kompono.elsewhere.remote import Remote
    from kompono.files import load
    from kompono.foreign import Fmu
    from kompono.many import simulate_many
    from kompono.model.body import Body, Frame, Ground, MassProperties
    from kompono.model.constraint import Constraint, Coupling
    from kompono.model.controller import Controller
    from kompono.model.event import Event, Mode
    from kompono.model.force import Effort, Field, Force
    from kompono.model.joint import Joint
    from kompono.model.law import JointLaw, PairLaw, Unit
    from kompono.model.load_cell import LoadCell
    from kompono.model.pin import Electrical, Hydraulic, Pin, Rotational, Thermal, Translational
    from kompono.model.sensor import Sensor
    from kompono.model.signal import Input, Output, Parameter, time
    from kompono.model.state import State
    from kompono.model.subsystem import Subsystem
    from kompono.report import Report, inspect
    from kompono.result import Ensemble, Result
    from kompono.resuming import resume
    from kompono.sealed.element import Sealed
    from kompono.sealing import seal
    from kompono.simulation import Simulation
    from kompono.single import simulate
    from kompono.spatial.pose import Motion, Pose, Wrench
    from kompono.spatial.turns import euler, roll_pitch_yaw, rotation

__version__ = "0.1.0"

__all__ = [
    "AssemblyError",
    "Body",
    "CompileError",
    "Constraint",
    "Controller",
    "Cost",
    "Coupling",
    "Effort",
    "Electrical",
    "Ensemble",
    "Equilibrium",
    "Evaluation",
    "Event",
    "Field",
    "FileError",
    "Fit",
    "Fmu",
    "Force",
    "Frame",
    "Ground",
    "Hydraulic",
    "Input",
    "Joint",
    "JointLaw",
    "KomponoError",
    "LinearModel",
    "LiveView",
    "LoadCell",
    "MassProperties",
    "Mode",
    "ModelError",
    "ModelWarning",
    "Modes",
    "Motion",
    "Output",
    "PairLaw",
    "Parameter",
    "Pin",
    "Pose",
    "Remote",
    "RemoteError",
    "Report",
    "Result",
    "Rotational",
    "RunError",
    "RunWarning",
    "Sealed",
    "SealedError",
    "Sensor",
    "Simulation",
    "State",
    "Subsystem",
    "Thermal",
    "TranslationError",
    "Translational",
    "Unit",
    "Wrench",
    "cost",
    "equilibrium",
    "euler",
    "evaluate",
    "export_fmu",
    "identify",
    "inspect",
    "inverse",
    "linearize",
    "load",
    "minimize",
    "modes",
    "reach",
    "resume",
    "roll_pitch_yaw",
    "rotation",
    "seal",
    "sensitivities",
    "simulate",
    "simulate_many",
    "spatial",
    "time",
    "view",
]

_LATER = {  # where names are; what is used is imported then, so that a command needs no more than it does
    **dict.fromkeys(("Body", "Frame", "Ground", "MassProperties"), "model.body"),
    **dict.fromkeys(("Constraint", "Coupling"), "model.constraint"),
    "Controller": "model.controller",
    **dict.fromkeys(("Event", "Mode"), "model.event"),
    **dict.fromkeys(("Effort", "Field", "Force"), "model.force"),
    "Joint": "model.joint",
    **dict.fromkeys(("JointLaw", "PairLaw", "Unit"), "model.law"),
    "LoadCell": "model.load_cell",
    **dict.fromkeys(("Electrical", "Hydraulic", "Pin", "Rotational", "Thermal", "Translational"), "model.pin"),
    "Sensor": "model.sensor",
    **dict.fromkeys(("Input", "Output", "Parameter", "time"), "model.signal"),
    "State": "model.state",
    "Subsystem": "model.subsystem",
    **dict.fromkeys(("Motion", "Pose", "Wrench"), "spatial.pose"),
    **dict.fromkeys(("euler", "roll_pitch_yaw", "rotation"), "spatial.turns"),
    "Cost": "costs",
    "cost": "costs",
    **dict.fromkeys(("Equilibrium", "Evaluation", "Fit", "LinearModel", "Modes"), "analyses"),
    **dict.fromkeys(("equilibrium", "evaluate", "identify", "inverse", "linearize"), "analyses"),
    **dict.fromkeys(("minimize", "modes", "reach", "sensitivities"), "analyses"),
    "export_fmu": "edges.fmu",
    "load": "files",
    "Fmu": "foreign",
    "LiveView": "edges.view",
    "view": "edges.view",
    "simulate_many": "many",
    "Remote": "elsewhere.remote",
    "Report": "report",
    "inspect": "report",
    "Ensemble": "result",
    "Result": "result",
    "Sealed": "sealed.element",
    "seal": "sealing",
    "Simulation": "simulation",
    "resume": "resuming",
    "simulate": "single",
}


_FOLDERS = ("model", "spatial")  # that are there without being imported


_find = later(__name__, _LATER)


def __getattr__(name: str) -> Any:
    return import_module(f"kompono.{name}") if name in _FOLDERS else _find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
