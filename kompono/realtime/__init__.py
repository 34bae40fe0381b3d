"""Runs in step with the wall clock, driven and watched from outside while they go on."""

from kompono.realtime.clock import Clock, WallClock
from kompono.realtime.frame import Live, LiveFrame
from kompono.realtime.lockstep import Lockstep
from kompono.realtime.seal import key_from_file
from kompono.realtime.session import RealTime
from kompono.realtime.shared import SharedMemory, SharedMemoryClient
from kompono.realtime.udp import Udp, UdpClient

__all__ = [
    "Clock",
    "Live",
    "LiveFrame",
    "Lockstep",
    "RealTime",
    "SharedMemory",
    "SharedMemoryClient",
    "Udp",
    "UdpClient",
    "WallClock",
    "key_from_file",
]
