"""Sensors as they are bought: sampled, with bias, noise and a resolution."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import number, numbers, scalar, shown, tell_unused
from kompono.library.blocks.limits import resolution, rounded
from kompono.library.blocks.noise import Noise, seed_of
from kompono.library.blocks.ports import Block, limited, limits_of, period
from kompono.library.constraints import coordinate_of
from kompono.model.event import Mode
from kompono.model.joint import Joint
from kompono.model.sensor import Sensor
from kompono.model.signal import Output
from kompono.spatial.rotation import rotation_of


class Measured(Block):
    """`output` is `input` as a sensor tells it: every `every` [s], with `bias`, noise, a range and a resolution.

    Noise is normal with `deviation` for each sample, from `seed`; `drift` is that of the bias in one second, whose
    steps are random. `limits` cut off what is beyond the range, then it is rounded to multiples of `resolution`.
    """

    def __init__(
        self, input: Any = None, *, every: float, bias: Any = 0.0, deviation: float = 0.0, drift: float = 0.0,
        resolution: float | None = None, limits: Any = None, seed: int | None = None, unit: str = "",
    ) -> None:  # fmt: skip
        told = self._port("input", input, unit) + scalar(bias, "the bias")
        deviation, drift = number(deviation, "the deviation"), number(drift, "the drift")
        if deviation or drift:
            if seed is None:
                raise ModelError("noise without a seed.", fix="Give seed=, another one for each sensor.")
        elif seed is not None:
            raise ModelError("a seed, but no noise.", fix="Give deviation= or drift=.")
        if deviation:
            self.noise = Noise(seed=seed, every=every, deviation=deviation)  # type: ignore[arg-type]
            told += self.noise.output
        if drift:
            self.steps = Noise(seed=seed + 2**51, every=every, deviation=drift * period(every) ** 0.5)  # type: ignore[operator]
            self.wander = Mode(0.0, every=every)
            self.wander.next = self.wander + self.steps.output
            told += self.wander
        self._shows(_told(told, limits, resolution), every=period(every), unit=unit)


class Encoder(Block):
    """The angle or displacement of a joint in whole counts, every `every` [s].

    `counts` are those of one turn (of one metre on a slide). `angle` is the multiple of a count not above the
    coordinate (and its bias and noise), `rate` the difference from the sample before over the period. A joint with
    several freedoms needs `coordinate=`. Noise is normal with `deviation`, from `seed`: a jitter of the reading.
    """

    def __init__(
        self, joint: Joint, *, counts: int, every: float, bias: Any = 0.0, deviation: float = 0.0,
        seed: int | None = None, coordinate: str | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(joint, Joint):
            raise ModelError(f"an encoder sits on a joint, not on {shown(joint)}.", fix="Give a joint.")
        place, every = coordinate_of(joint, coordinate), period(every)
        name = joint.coordinates[0] if coordinate is None else coordinate
        turns = dict(zip(joint.coordinates, joint.units, strict=True))[name] == "rad"
        unit = "rad" if turns else "m"
        self.count = (2 * pi if turns else 1.0) / number(counts, "the counts", positive=True)
        told = place + scalar(bias, "the bias")
        if number(deviation, "the deviation"):
            if seed is None:
                raise ModelError("noise without a seed.", fix="Give seed=, another one for each sensor.")
            self.noise = Noise(seed=seed, every=every, deviation=deviation)
            told += self.noise.output
        elif seed is not None:
            tell_unused("a seed, but no noise", "Give deviation=, or leave the seed out.")
        self.held, self.begun = Mode(0.0, every=every, unit=unit), Mode(0, every=every)
        self.slope = Mode(0.0, every=every, unit=f"{unit}/s")
        self.held.next, self.begun.next = self.count * ca.floor(told / self.count), 1
        self.slope.next = ca.if_else(self.begun, (self.held.next - self.held) / every, 0)
        self.angle = Output(self.held.next, unit=unit)
        self.rate = Output(self.slope.next, unit=f"{unit}/s")


class Imu(Block):
    """Three gyros and three accelerometers where a sensor sits, in the axes of its frame, every `every` [s].

    `sensor` is the `Sensor(frame)` of an owner. `gyro_x`, ... [rad/s] are turning rates, `accelerometer_x`, ... [m/s^2]
    is acceleration less `gravity` (world axes): at rest it tells 9.81 upwards. `gyro` and `accelerometer` are
    dictionaries of what `Measured` takes: bias (one number or three), deviation, drift, resolution, limits. `seed` is
    the first of six. Accelerations are results, and sampled ones inside a closed part are refused.
    """

    def __init__(
        self, sensor: Sensor, *, every: float, gyro: dict[str, Any] | None = None,
        accelerometer: dict[str, Any] | None = None, seed: int | None = None,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
    ) -> None:  # fmt: skip
        if not isinstance(sensor, Sensor) or sensor.base is not None or sensor.axes is not None:
            raise ModelError(f"{shown(sensor)} is no sensor without base and axes.", fix="Give Sensor(frame).")
        if seed is not None and not (_noisy(gyro) or _noisy(accelerometer)):
            tell_unused("a seed, but no noise", 'Give e.g. gyro={"deviation": 0.01}, or leave it out.')
        first = None if seed is None else int(seed_of(seed))
        turned = rotation_of(sensor.orientation).T
        down = ca.DM(numbers(gravity, (3,), "gravity [m/s^2]"))
        self._cells("gyro", ca.mtimes(turned, sensor.angular_velocity), "rad/s", every, gyro, first)
        felt = ca.mtimes(turned, sensor.acceleration - down)
        self._cells("accelerometer", felt, "m/s^2", every, accelerometer, None if first is None else first + 3)

    def _cells(self, kind: str, signal: Any, unit: str, every: float, asked: Any, seed: int | None) -> None:
        if asked is not None and (not isinstance(asked, dict) or not all(isinstance(name, str) for name in asked)):
            fix = f"Use e.g. {kind}={{'bias': 0.1, 'deviation': 0.01}}."
            raise ModelError(f"{kind} = {shown(asked)} is no dictionary of what Measured takes.", fix=fix)
        given: dict[str, Any] = asked or {}
        noisy = _noisy(given)
        if noisy and seed is None:
            raise ModelError("noise without a seed.", fix="Give seed=.")
        for k, axis in enumerate("xyz"):
            bias = given.get("bias", 0.0)
            own = {**given, "bias": bias[k] if isinstance(bias, list | tuple) else bias}
            if noisy:
                own["seed"] = (seed or 0) + k
            cell = Measured(signal[k], every=every, unit=unit, **own)
            self.add(f"{kind}_{axis}_cell", cell)
            self.add(f"{kind}_{axis}", Output(cell.output, unit=unit))


def _noisy(asked: Any) -> bool:
    """Whether what a cell is asked for has noise."""
    return isinstance(asked, dict) and bool(asked.get("deviation") or asked.get("drift"))


def _told(value: Any, limits: Any, step: float | None) -> Any:
    value = limited(value, limits_of(limits))
    size = resolution(step)
    return value if size is None else rounded(value, size)
