"""Noise and sensors: statistics, the same bits everywhere, and what sensors tell of a pendulum."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy import stats

from kompono import Body, Ground, ModelError, Output, Sensor, Subsystem, resume, simulate, simulate_many, time
from kompono.library import Encoder, Gravity, Imu, JointEffort, Measured, Noise, Revolute, Table, solids
from kompono.solve import integrate, journal


class Sensed(Subsystem):
    """A pendulum with sensors, and a curve over time."""

    def __init__(self):
        self.ground, self.gravity = Ground(), Gravity()
        self.rod = Body(solids.rod(mass=1.0, length=1.0, radius=0.02))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y", angle=0.4)
        self.encoder = Encoder(self.pin, counts=4096, every=2e-3)
        self.probe = Sensor(self.rod.at(0, 0, -0.5))
        self.imu = Imu(
            self.probe, every=1e-2, gyro={"bias": (0.1, 0.2, 0.3)},
            accelerometer={"deviation": 1e-3, "resolution": 1e-4}, seed=70,
        )  # fmt: skip
        self.told = Measured(ca.sin(6 * time), every=1e-2, limits=0.5, drift=0.1, seed=9)
        self.curve = Output(Table([0.0, 0.5, 1.0], [0.0, 1.0, 0.0], kind="spline")(time))


class Noisy(Subsystem):
    """A pendulum that is pushed at random."""

    def __init__(self):
        self.ground = Ground()
        self.rod = Body(solids.rod(mass=1.0, length=1.0, radius=0.02))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y", angle=0.4)
        self.normal = Noise(seed=1, every=1e-3, deviation=2.0, mean=5.0)
        self.even = Noise(seed=1, every=1e-3, distribution="uniform")
        self.push = JointEffort(self.pin, 0.01 * self.even.output)


@pytest.fixture(scope="module")
def run():
    return simulate(Noisy(), until=10.0, step=1e-3)


def test_noise_is_as_stated(run):
    normal, even = (run["normal.output"][:10000] - 5) / 2, run["even.output"][:10000]
    for values, name in ((normal, "norm"), (even / np.sqrt(12) + 0.5, "uniform")):
        assert stats.kstest(values, name).pvalue > 1e-3
        for lag in (1, 2, 7):
            assert abs(np.corrcoef(values[lag:], values[:-lag])[0, 1]) < 4 / np.sqrt(len(values))
    power = np.abs(np.fft.rfft(normal)[1:-1]) ** 2 / len(normal)
    assert stats.kstest(power, "expon").pvalue > 1e-3  # white


def test_the_same_bits_twice_with_other_steps_and_in_ensembles(run):
    again = simulate(Noisy(), until=0.1, step=1e-3)
    for name in ("normal.output", "even.output", "pin.angle"):
        assert np.array_equal(again[name], run[name][: len(again.time)])
    other = simulate(Noisy(), until=0.1, step=2.5e-4, engine="absolute")
    assert np.array_equal(other["normal.output"][::4], again["normal.output"])
    many = simulate_many(Noisy(), parameters={"normal.seed": [1, 2, 1]}, until=0.1, step=1e-3)
    assert np.array_equal(many["normal.output"][0], again["normal.output"])
    assert np.array_equal(many["normal.output"][2], again["normal.output"])
    assert abs(np.corrcoef(many["normal.output"][0], many["normal.output"][1])[0, 1]) < 0.4


class Died(BaseException):
    """What a run dies of."""


def test_a_resumed_run_goes_on_with_the_same_samples(run, tmp_path, monkeypatch):
    for name, value in (("FIRST", 0.0), ("PERIOD", 0.0), ("SHARE", 0), ("PATIENCE", 0.0)):
        monkeypatch.setattr(journal, name, value)
    monkeypatch.setattr(integrate, "LARGEST_CHUNK", 170)
    write = journal.Journal.write

    def last(self, *arguments):
        write(self, *arguments)
        raise Died

    monkeypatch.setattr(journal.Journal, "write", last)
    with pytest.raises(Died):
        simulate(Noisy(), until=1.0, step=1e-3, hdf5=tmp_path / "run.h5")
    monkeypatch.setattr(journal.Journal, "write", write)
    resumed = resume(Noisy(), tmp_path / "run.h5")
    assert len(resumed.time) == 1001
    for name in ("normal.output", "pin.angle"):
        assert np.array_equal(resumed[name], run[name][:1001])


def test_sensors():
    run = simulate(Sensed(), until=5.0, step=1e-3)
    step = 2 * np.pi / 4096
    rows = np.arange(0, len(run.time) - 1, 2)
    counts = run["encoder.angle"][rows] / step
    assert counts == pytest.approx(np.round(counts), abs=1e-9)
    behind = run["pin.angle"][rows] - run["encoder.angle"][rows]
    assert behind.min() > -1e-12
    assert behind.max() < step + 1e-12
    assert np.abs(run["encoder.rate"][rows][1:] - np.diff(run["encoder.angle"][rows]) / 2e-3).max() < 1e-9
    rows = np.arange(0, len(run.time) - 1, 10)
    assert run["imu.gyro_y"][rows] == pytest.approx(run["pin.angle.rate"][rows] + 0.2, abs=1e-12)
    angle, rate, change = (run[f"pin.angle{more}"][rows] for more in ("", ".rate", ".acceleration"))
    along = 9.81 * np.cos(angle) + rate**2  # of a point 1 m below the pin, upwards along the rod
    across = -change - 9.81 * np.sin(angle)
    assert run["imu.accelerometer_z"][rows] == pytest.approx(along, abs=6e-3)
    assert run["imu.accelerometer_x"][rows] == pytest.approx(across, abs=6e-3)
    assert np.std(run["imu.accelerometer_z"][rows] - along) == pytest.approx(1e-3, rel=0.1)
    assert np.abs(run["told.output"]).max() == 0.5
    curve = Table([0.0, 0.5, 1.0], [0.0, 1.0, 0.0], kind="spline")
    assert run["curve"] == pytest.approx(curve(run.time), abs=1e-15)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Noise(seed=-1, every=0.1), "seed"),
        (lambda: Noise(seed=0.5, every=0.1), "seed"),
        (lambda: Measured(every=0.1, deviation=1.0), "without a seed"),
        (lambda: Measured(every=0.1, seed=1), "no noise"),
        (lambda: Imu(Ground(), every=0.1), "no sensor"),
    ],
)
def test_what_is_wrong_is_said(make, words):
    with pytest.raises(ModelError, match=words):
        make()
