"""The examples run from the command line and their physics is right."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from kompono import Result
from kompono.edges.cli import main

EXAMPLES = Path(__file__).parents[2] / "kompono" / "examples"


def run(target: str, folder: Path, *options: str) -> Result:
    file = folder / "out.csv"
    assert main(["run", str(EXAMPLES / target), "--csv", str(file), "--quiet", *options]) == 0
    return Result.load(file)


@pytest.mark.parametrize(
    "file", sorted(path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("[a-z]*.py")), ids=str
)
def test_every_example_runs(file: str, tmp_path: Path) -> None:
    result = run(file, tmp_path, "--until", "0.002", "--every", "1")
    assert len(result.time) >= 2
    assert np.all(np.isfinite(result.table))
    assert result["drift.position"].max() < 1e-9


def test_the_car_settles_near_its_equilibrium(tmp_path: Path) -> None:
    """MODELS.md 1.5 and 1.6; yaw is unstable and must stay at rounding over 1.5 s."""
    result = run("car.py", tmp_path)
    assert result.time[-1] == 1.5
    assert len(result.time) == 1501
    for time, body, wheel in (
        (0.1, 0.9392840638424, 0.3421377078926),
        (0.5, 0.9029537498756, 0.3416797686167),
        (1.0, 0.9072683706622, 0.3419150800941),
        (1.5, 0.9070362884285, 0.3418828421508),
    ):
        row = result.at(result.time[round(time * 1000)])
        assert row["body.position.z"] == pytest.approx(body, abs=5e-9)
        assert row["left_wheel.ring.position.z"] == pytest.approx(wheel, abs=5e-8)
        assert row["right_wheel.ring.position.z"] == pytest.approx(wheel, abs=5e-8)
    row = result.at(0.0)
    assert row["body.acceleration.z"] == pytest.approx(-0.1400911494021573, rel=1e-9)
    assert row["left_wheel.ring.acceleration.z"] == pytest.approx(-120.6042995697972, rel=1e-11)
    assert row["left_arm.angle.acceleration"] == pytest.approx(-120.4642084203950, rel=1e-11)
    assert abs(result["body.position.z"][-1] - 0.9070265790244222) < 1e-4
    assert np.abs(result["guide.angle"]).max() < 1e-9
    assert result["drift.position"].max() < 1e-12
    assert result["drift.velocity"].max() < 1e-12


def test_the_dampers_of_the_car_only_take_energy(tmp_path: Path) -> None:
    energy = run("car.py", tmp_path, "--until", "0.3", "--channels", "energy.*")["energy.total"]
    assert np.all(np.diff(energy) < 1e-9)
    assert energy[0] - energy[-1] > 10


def test_the_car_is_symmetric_and_has_six_freedoms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(EXAMPLES / "car.py")]) == 0
    text = capsys.readouterr().out
    assert "9 bodies, 11 joints, 6 degrees of freedom" in text
    assert "left.damper" in text or "damper: Damper" in text
    result = run("car.py", tmp_path, "--until", "0.1", "--channels", "*_arm.angle")
    assert np.abs(result["left_arm.angle"] + result["right_arm.angle"]).max() < 1e-12


def test_a_wheel_can_be_spun_from_the_command_line(tmp_path: Path) -> None:
    result = run("car.py", tmp_path, "--until", "0.01", "--initial", "left_axle.angle.rate=10")
    assert result["left_axle.angle.rate"][0] == 10.0
    assert result["left_axle.angle"][-1] == pytest.approx(0.1, rel=1e-3)


def test_one_damper_alone_with_free_ports(tmp_path: Path) -> None:
    alone = run("car.py:Damper", tmp_path, "--until", "0.1", "--set", "length=0.35")
    assert np.abs(alone["slide.displacement"] - 0.35).max() < 1e-9  # at rest length nothing moves it
    pressed = run("car.py:Damper", tmp_path, "--until", "0.1")
    assert pressed["slide.displacement"][-1] > 0.26


def test_one_damper_hangs_from_its_bench_and_carries_a_load(tmp_path: Path) -> None:
    bench = run("car.py:DamperBench", tmp_path, "--until", "1.0", "--every", "10")
    assert np.abs(bench["damper.piston.position.z"]).max() < 1.0  # it hangs and does not fall
    assert 1e-4 < np.abs(bench["damper.slide.displacement"] - 0.35).max() < 0.1
    stiff = run("car.py:DamperBench", tmp_path, "--until", "1.0", "--every", "10", "--set", "stiffness=5e5")
    sag, less = (np.abs(np.mean(r["damper.slide.displacement"][-50:]) - 0.35) for r in (bench, stiff))
    assert less < 0.5 * sag


def test_the_manipulator_moves_as_published(tmp_path: Path) -> None:
    """MODELS.md 2.4: adams at 0.1 ms over 2.5 s."""
    result = run("manipulator.py", tmp_path, "--until", "2.5", "--channels", "arm.*.bearing.*", "--every", "100")
    first, last = result.at(0.0), result.at(2.5)
    start = {"link1": (0.0, -19.97788343155), "link2": (2.5, 50.25576200032), "link3": (0.0, -148.31582756767)}
    end = {
        "link1": (0.001997779448, -18.95320565799),
        "link2": (2.441326356286, 49.84611851715),
        "link3": (-0.015743291058, -148.39648497433),
    }
    for row, expected in ((first, start), (last, end)):
        for link, (angle, second) in expected.items():
            assert row[f"arm.{link}.motor.bearing.angle"] == pytest.approx(angle, abs=1e-10)
            assert row[f"arm.{link}.motor.bearing.angle.acceleration"] == pytest.approx(second, abs=1e-8)


def test_energy_of_the_manipulator_is_the_work_of_its_motors(tmp_path: Path) -> None:
    result = run(
        "manipulator.py",
        tmp_path,
        "--until",
        "0.1",
        "--every",
        "1",
        "--channels",
        "energy.*",
        "--channels",
        "arm.*.angle.rate",
    )
    t = result.time
    power = sum(
        amplitude * np.cos(4 * np.pi * t) * result[f"arm.{link}.motor.bearing.angle.rate"]
        for link, amplitude in (("link1", -600), ("link2", 300), ("link3", -12))
    )
    work = np.concatenate([[0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(t))])
    gained = result["energy.total"] - result["energy.total"][0]
    assert np.abs(gained - work).max() < 1e-5 * np.abs(gained).max()


def test_parts_of_the_manipulator_run_alone(tmp_path: Path) -> None:
    motor = run("manipulator.py:Motor", tmp_path, "--until", "0.1", "--set", "amplitude=2")
    assert np.ptp(motor["bearing.angle"]) > 0
    spin = 0.002056 * motor["housing.angular_velocity.y"] + 0.003465 * motor["rotor.angular_velocity.y"]
    assert np.abs(spin).max() < 1e-10  # the torque is internal
    arm = run("manipulator.py:Arm", tmp_path, "--until", "0.01")
    assert "link1.motor.bearing.angle" in arm


def test_the_table_has_every_digit(tmp_path: Path) -> None:
    result = run("reference/simple_pendulum.py", tmp_path, "--until", "0.1")
    with (tmp_path / "out.csv").open() as file:
        header, *rows = list(csv.reader(line for line in file if not line.startswith("#")))
    assert header[0] == "time"
    assert all(float(cell) == value for cell, value in zip(rows[-1][1:], result.table[-1], strict=True))
