"""Machines from files: every reader makes an `Assembly`, one builder makes a model of it; a new format is one file.

load("arm.urdf", loops="arm.yaml")       URDF, with closed loops beside it
load("cassie.xml")                       MJCF (needs kompono[mjcf]) or Simscape Multibody XML, by what is in it
"""

from kompono.files.assembly import Assembly
from kompono.files.load import load, read
from kompono.files.machine import Machine
from kompono.files.place import Place
from kompono.files.table import Table

__all__ = ["Assembly", "Machine", "Place", "Table", "load", "read"]
