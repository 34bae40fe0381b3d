"""Machines for other programs: a model as URDF or MJCF, a run as animated glTF or as an MCAP log."""

from kompono.edges.machines.gltf import write_gltf
from kompono.edges.machines.log import write_mcap
from kompono.edges.machines.mjcf import mjcf_text
from kompono.edges.machines.taken import Taken, taken
from kompono.edges.machines.urdf import loops_text, urdf_text

__all__ = ["Taken", "loops_text", "mjcf_text", "taken", "urdf_text", "write_gltf", "write_mcap"]
