"""Blocks: control, filters, delays, limits, noise, tables, motion profiles and sensors, all of them native code.

Signals of a block are ports. An expression given for one feeds it, one left out is connected by an owner.
"""

from kompono.library.blocks.delays import Delay, Sample
from kompono.library.blocks.limits import Hysteresis, Quantizer, RateLimiter, Saturation
from kompono.library.blocks.linear import LowPass, StateSpace, TransferFunction
from kompono.library.blocks.noise import Noise
from kompono.library.blocks.pid import PID
from kompono.library.blocks.sensors import Encoder, Imu, Measured
from kompono.library.blocks.tables import Table, Table2

__all__ = [
    "PID",
    "Delay",
    "Encoder",
    "Hysteresis",
    "Imu",
    "LowPass",
    "Measured",
    "Noise",
    "Quantizer",
    "RateLimiter",
    "Sample",
    "Saturation",
    "StateSpace",
    "Table",
    "Table2",
    "TransferFunction",
]
