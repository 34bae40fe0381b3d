"""The rough problems in Exudyn: friction of a coordinate by a bristle, contact of two spheres by a stiff law."""

from __future__ import annotations

from time import process_time

import exudyn as exu
import numpy as np
from exudyn import itemInterface as items
from rough import FORCE, FREQUENCY, FRICTION, MASS, RESTITUTION, SLOPE, SPAN, STIFFNESS, G, Slope

NAME = "Exudyn"
STEEP = 1e5  # [N/m], of a bristle
DAMPED = 20.0  # [N s/m]; more slows what slides, less lets what sticks ring
ZONE = 1e-3  # [m/s], slip below which friction is proportional to it
Setting = tuple[float, bool]  # step [s], and whether friction is a bristle


def version() -> str:
    """That which runs."""
    return exu.__version__


def settings() -> dict[str, Setting]:
    """Names and settings of what is run."""
    return {"1 ms, bristle": (1e-3, True), "1 ms, regularized": (1e-3, False)}


def _mass(
    mass: float, speed: float, friction: float, stiffness: float, bristle: bool
) -> tuple[exu.MainSystem, int, int]:
    """A system with a mass on a line that rubs; its node and the marker of its coordinate."""
    mbs = exu.SystemContainer().AddSystem()
    node = mbs.AddNode(items.Node1D(referenceCoordinates=[0.0], initialVelocities=[speed]))
    mbs.AddObject(items.Mass1D(nodeNumber=node, physicsMass=mass))
    still = mbs.AddNode(items.NodePointGround())
    ends = [mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=n, coordinate=0)) for n in (still, node)]
    how = {"frictionProportionalZone": ZONE}
    if bristle:
        slip = mbs.AddNode(items.NodeGenericData(initialCoordinates=[0.0] * 3, numberOfDataCoordinates=3))
        how = {"nodeNumber": slip, "stickingStiffness": STEEP, "stickingDamping": DAMPED}
    law = items.CoordinateSpringDamperExt(markerNumbers=ends, stiffness=stiffness, dynamicFrictionForce=friction, **how)
    mbs.AddObject(law)
    return mbs, node, ends[1]


def _solved(mbs: exu.MainSystem, step: float, until: float) -> float:
    """Seconds per second."""
    chosen = exu.SimulationSettings()
    chosen.timeIntegration.numberOfSteps, chosen.timeIntegration.endTime = round(until / step), until
    chosen.timeIntegration.verboseMode, chosen.solution.file.write = 0, False
    chosen.solution.sensors.writePeriod, chosen.parallel.numberOfThreads = step, 1
    begun = process_time()
    if not mbs.SolveDynamic(chosen):
        raise RuntimeError("its solver did not converge")
    return (process_time() - begun) / until


def slider(setting: Setting, run: Slope) -> tuple[float, float]:
    """How far a mass slides [m], seconds per second."""
    mbs, node, marker = _mass(MASS, run.speed, run.mu * MASS * G * np.cos(SLOPE), 0.0, setting[1])
    mbs.AddLoad(items.LoadCoordinate(markerNumber=marker, load=MASS * G * np.sin(SLOPE)))
    mbs.Assemble()
    seconds = _solved(mbs, setting[0], run.until)
    return float(mbs.GetNodeOutput(node, exu.OutputVariableType.Coordinates)), seconds


def oscillator(setting: Setting) -> tuple[np.ndarray, np.ndarray, float]:
    """Times, positions, seconds per second."""
    mbs, node, marker = _mass(1.0, 0.0, FRICTION, STIFFNESS, setting[1])
    driven = {"load": 0.0, "loadUserFunction": lambda mbs, t, load: FORCE * np.cos(FREQUENCY * t)}
    mbs.AddLoad(items.LoadCoordinate(markerNumber=marker, **driven))
    kind = exu.OutputVariableType.Coordinates
    sensor = mbs.AddSensor(items.SensorNode(nodeNumber=node, storeInternal=True, outputVariableType=kind))
    mbs.Assemble()
    seconds = _solved(mbs, setting[0], SPAN)
    found = mbs.GetSensorStoredData(sensor)
    return found[:, 0], found[:, 1], seconds


def ball(setting: Setting) -> tuple[np.ndarray, float]:
    """Heights [m] at all steps of 3 s, seconds per second: Gonthier's law with 1e6 N/m."""
    mbs = exu.SystemContainer().AddSystem()
    node = mbs.AddNode(items.NodePoint(referenceCoordinates=[0, 0, 1.1]))
    body = mbs.AddObject(items.MassPoint(nodeNumber=node, physicsMass=1.0))
    mass = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
    mbs.AddLoad(items.LoadMassProportional(markerNumber=mass, loadVector=[0, 0, -G]))
    floor = mbs.CreateGround(referencePosition=[0, 0, -1.0])
    low = mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=floor))
    ends = [low, mbs.AddMarker(items.MarkerNodePosition(nodeNumber=node))]
    state = mbs.AddNode(items.NodeGenericData(initialCoordinates=[0.1, 0, 0, 0], numberOfDataCoordinates=4))
    mbs.AddObject(
        items.ObjectContactSphereSphere(
            markerNumbers=ends, nodeNumber=state, spheresRadii=[1.0, 0.1], contactStiffness=1e6,
            restitutionCoefficient=RESTITUTION, minimumImpactVelocity=1e-3, impactModel=2,
        )
    )  # fmt: skip
    kind = exu.OutputVariableType.Position
    sensor = mbs.AddSensor(items.SensorNode(nodeNumber=node, storeInternal=True, outputVariableType=kind))
    mbs.Assemble()
    seconds = _solved(mbs, setting[0], 3.0)
    return mbs.GetSensorStoredData(sensor)[:, 3] - 0.1, seconds
