"""The rough problems in Drake: a brick on four small spheres in a discrete plant.

Its joints have no dry friction, and its discrete contacts do not bounce: the other problems are left out.
"""

from __future__ import annotations

import importlib.metadata
from time import process_time

import numpy as np
from pydrake.geometry import HalfSpace, Sphere
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, DiscreteContactApproximation
from pydrake.multibody.tree import SpatialInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder
from rough import MASS, SIZE, SLOPE, G, Slope

NAME = "Drake"
SMALL = 1e-3  # radius [m] of what touches


def version() -> str:
    """Of the package."""
    return importlib.metadata.version("drake")


def settings() -> dict[str, tuple[float, DiscreteContactApproximation]]:
    """Names and settings of what is run."""
    return {
        "1 ms, SAP": (1e-3, DiscreteContactApproximation.kSap),
        "1 ms, lagged": (1e-3, DiscreteContactApproximation.kLagged),
    }


def brick(setting: tuple[float, DiscreteContactApproximation], run: Slope) -> tuple[float, float]:
    """How far a box slides [m], seconds per second."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, setting[0])
    plant.set_discrete_contact_approximation(setting[1])
    plant.mutable_gravity_field().set_gravity_vector([G * np.sin(SLOPE), 0, -G * np.cos(SLOPE)])
    rough = CoulombFriction(run.mu, run.mu)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "floor", rough)
    body = plant.AddRigidBody("brick", SpatialInertia.SolidBoxWithMass(MASS, *SIZE))
    for k in range(4):
        corner = [(k % 2 - 0.5) * SIZE[0], (k // 2 - 0.5) * SIZE[1], SMALL - SIZE[2] / 2]
        plant.RegisterCollisionGeometry(body, RigidTransform(corner), Sphere(SMALL), f"corner{k}", rough)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetFreeBodyPose(context, body, RigidTransform([0, 0, SIZE[2] / 2]))
    plant.SetFreeBodySpatialVelocity(context, body, SpatialVelocity([0, 0, 0], [run.speed, 0, 0]))
    simulator.Initialize()
    begun = process_time()
    simulator.AdvanceTo(run.until)
    seconds = (process_time() - begun) / run.until
    return float(plant.EvalBodyPoseInWorld(context, body).translation()[0]), seconds
