"""Algebra of rotations, poses, twists and wrenches, on numbers and CasADi symbols alike; knows no model.

What own joints, constraints and forces are written with:

poses        `Pose`, `Motion`, `Wrench`
axes         `unit_axis`, `across`
rotations    `about`, `rotation`, `euler`, `roll_pitch_yaw`, `skew`, `unskew`
quaternions  `rotation_of`, `quaternion_rate`, `matrix_quaternion`, `quaternion_product`
conditions   `aligned`, `on_axis`, `turn_about`
"""

from kompono.spatial.conditions import across, aligned, on_axis, turn_about
from kompono.spatial.pose import Motion, Pose, Wrench
from kompono.spatial.rotation import (
    Axis,
    about,
    matrix_quaternion,
    quaternion_matrix,
    quaternion_rate,
    rotation_of,
    skew,
    unit_axis,
    unit_quaternion,
    unskew,
)
from kompono.spatial.turns import euler, quaternion_product, roll_pitch_yaw, rotation

__all__ = [
    "Axis",
    "Motion",
    "Pose",
    "Wrench",
    "about",
    "across",
    "aligned",
    "euler",
    "matrix_quaternion",
    "on_axis",
    "quaternion_matrix",
    "quaternion_product",
    "quaternion_rate",
    "roll_pitch_yaw",
    "rotation",
    "rotation_of",
    "skew",
    "turn_about",
    "unit_axis",
    "unit_quaternion",
    "unskew",
]
