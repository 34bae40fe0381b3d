"""The flyball governor in Exudyn: a kinematic tree with two spring-dampers, generalized alpha."""

from __future__ import annotations

import time as clock

import exudyn as exu
import numpy as np
from exudyn import itemInterface as items
from exudyn.utilities import RotationMatrixY

STEEP = np.pi / 6


def governor(step: float, until: float = 10.0) -> tuple[float, float]:
    """The height of the slider [m] at the end, and the processor time [s] of the run."""
    system = exu.SystemContainer()
    mbs = system.AddSystem()
    box = lambda m, x, y, z: np.diag([m / 12 * (y * y + z * z), m / 12 * (x * x + z * z), m / 12 * (x * x + y * y)])  # noqa: E731
    arm = box(0.3, 1.0, 0.01, 0.01)
    centre = (0.3 * 0.5 + 5.0 * 1.0) / 5.3  # of rod and ball, from the hinge
    about = arm + np.diag([0.0, 1.0, 1.0]) * (0.3 * (centre - 0.5) ** 2 + 5.0 * (1.0 - centre) ** 2)
    turns, inertias, offsets, centres = exu.Matrix3DList(), exu.Matrix3DList(), exu.Vector3DList(), exu.Vector3DList()
    half = RotationMatrixY(0.0), np.diag([-1.0, -1.0, 1.0])
    links = [
        (exu.JointType.RevoluteZ, -1, np.eye(3), [0, 0, 0], [0, 0, 0.5], 0.3, box(0.3, 0.01, 0.01, 1.0)),
        (exu.JointType.PrismaticZ, 0, np.eye(3), [0, 0, 0], [0, 0, 0], 3.0, box(3.0, 0.1, 0.1, 0.1)),
        (exu.JointType.RevoluteY, 0, half[0], [0.05, 0, 1.0], [centre, 0, 0], 5.3, about),
        (exu.JointType.RevoluteY, 0, half[1], [-0.05, 0, 1.0], [centre, 0, 0], 5.3, about),
    ]
    for _, _, turn, offset, place, _, inertia in links:
        turns.Append(turn)
        offsets.Append(offset)
        centres.Append(place)
        inertias.Append(inertia)
    node = mbs.AddNode(
        items.NodeGenericODE2(
            numberOfODE2Coordinates=4, referenceCoordinates=[0.0] * 4, initialCoordinates=[0.0, 0.5, STEEP, STEEP],
            initialCoordinates_t=[2 * np.pi, 0.0, 0.0, 0.0],
        )
    )  # fmt: skip
    tree = mbs.AddObject(
        items.ObjectKinematicTree(
            nodeNumber=node, jointTypes=[link[0] for link in links], linkParents=[link[1] for link in links],
            jointTransformations=turns, jointOffsets=offsets, linkInertiasCOM=inertias, linkCOMs=centres,
            linkMasses=[link[5] for link in links], gravity=[0, 0, -9.81],
        )
    )  # fmt: skip
    for link, across in ((2, 0.05), (3, -0.05)):
        ends = [
            mbs.AddMarker(items.MarkerKinematicTreeRigid(objectNumber=tree, linkNumber=which, localPosition=place))
            for which, place in ((link, [0.5, 0, 0]), (1, [across, 0, 0]))
        ]
        mbs.AddObject(
            items.ObjectConnectorSpringDamper(markerNumbers=ends, referenceLength=0.5, stiffness=8e5, damping=4e4)
        )
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(until / step)
    settings.timeIntegration.endTime = until
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.8
    settings.solutionSettings.writeSolutionToFile = False
    begun = clock.process_time()
    mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.GeneralizedAlpha, storeSolver=False)
    spent = clock.process_time() - begun
    return float(mbs.GetNodeOutput(node, exu.OutputVariableType.Coordinates)[1]), spent
