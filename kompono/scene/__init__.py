"""What a model looks like, as plain data: shapes on bodies, signs for joints and forces, poses over time."""

from kompono.scene.describe import describe
from kompono.scene.extent import Extent, extent
from kompono.scene.meshes import Mesh, mesh_of
from kompono.scene.motion import POSE_CHANNELS, matrices, poses, start_poses
from kompono.scene.scene import Scene, SceneBody, SceneMember, ScenePiece

__all__ = [
    "POSE_CHANNELS",
    "Extent",
    "Mesh",
    "Scene",
    "SceneBody",
    "SceneMember",
    "ScenePiece",
    "describe",
    "extent",
    "matrices",
    "mesh_of",
    "poses",
    "start_poses",
]
