"""Back out: a model as URDF and MJCF moves as itself when it is read again; what is not said is listed or refused. A
run as glTF and MCAP holds the poses of the result.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files.drawings import four_bar
from files.robots import ARM

from kompono import Body, Ground, Input, RunError, Subsystem, evaluate, load, rotation, simulate
from kompono.edges.cli import main
from kompono.edges.machines import loops_text, mjcf_text, taken, urdf_text, write_gltf, write_mcap
from kompono.edges.machines.urdf import roll_pitch_yaw
from kompono.files.urdf_origin import roll_pitch_yaw as matrix_of
from kompono.library import (
    Actuator,
    Cylindrical,
    DryFriction,
    Gear,
    Gravity,
    JointEffort,
    PointInPlane,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    Rotor,
    Spherical,
    SpringDamper,
    Universal,
    solids,
)

Write = Callable[..., Path]
quiet = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


class Machine(Subsystem):
    """Joints of all kinds, one of them the other way round, a loop, a gear, a rotor and what acts."""

    def __init__(self, *, ball: bool = True) -> None:
        self.ground, self.gravity = Ground((0.1, 0, 0.2)), Gravity((0.3, 0, -9.0))
        self.post, self.arm, self.sled, self.fork, self.crank, self.rod, self.rocker = (
            Body(solids.box(mass=1.0 + 0.1 * k, size=(0.3, 0.1, 0.05))) for k in range(7)
        )
        self.turn = Revolute(
            self.ground.at(0, 0, 0.1, orientation=rotation("x", 0.3)), self.post.at(0.1, 0, 0), axis="y", angle=0.2,
            limits=(-1.5, 2.0),
        )  # fmt: skip
        self.back = Revolute(self.arm.at(-0.1, 0.02, 0), self.post.at(-0.1, 0, 0.1), axis=(0.6, 0, 0.8), angle=-0.4)
        self.slide = Cylindrical(self.arm.at(0.15, 0, 0), self.sled.at(0, 0, -0.1), axis="x", angle=0.3)
        self.cross = Universal(self.sled.at(0, 0.1, 0), self.fork.at(0, 0, 0.1), angle1=0.2)
        if ball:
            self.bob = Body(solids.sphere(mass=0.3, radius=0.05))
            self.ball = Spherical(self.fork.at(0, 0, -0.1), self.bob.at(0, 0, 0.2))
        self.drive = Revolute(self.ground, self.crank.at(-0.1, 0, 0), axis="y", angle=-1.2)
        self.knee = Revolute(self.crank.at(0.1, 0, 0), self.rod.at(-0.2, 0, 0), axis="y", angle=1.0)
        self.swing = Revolute(self.ground.at(0.5, 0, 0), self.rocker.at(-0.15, 0, 0), axis="y", angle=-1.5)
        self.last = Revolute(self.rod.at(0.2, 0, 0), self.rocker.at(0.15, 0, 0), axis="y")
        self.gear = Gear(self.turn, self.back, ratio=-2.0)
        self.rotor = Rotor(self.turn, inertia=1e-3, ratio=5.0)
        self.spring = RotationalSpringDamper(self.slide, k=3.0, c=0.2, rest=0.1, coordinate="angle")
        self.rub = DryFriction(self.turn, preload=0.05)
        self.push, self.servo = Input(0.0), Input(0.0)
        self.motor = JointEffort(self.drive, 4.0 * self.push)
        self.holds = Actuator(self.cross, self.servo, gear=2.0, gain=5.0, bias=(0.1, -3.0, -0.2), coordinate="angle2",
                              force_limits=(-9, 9))  # fmt: skip


AT = {
    "turn.angle": 0.2, "slide.displacement": 0.05, "slide.angle": 0.3, "cross.angle1": 0.2, "cross.angle2": -0.1,
    "drive.angle": -1.2, "turn.angle.rate": 0.5, "slide.displacement.rate": 0.4, "cross.angle2.rate": 1.0,
    "drive.angle.rate": 0.7,
}  # fmt: skip
INPUTS = {"push": 0.5, "servo": 0.3}


def accelerations(model: Subsystem, at: dict[str, float], inputs: dict[str, float]) -> dict[str, Any]:
    here = evaluate(model, at, inputs=inputs)
    names = ("post", "arm", "sled", "fork", "crank", "rod", "rocker")
    return {name: here.vector(f"{name}.acceleration") for name in names}


def renamed(machine: Any) -> dict[str, float]:
    """The state by the coordinates of a machine that was read again."""
    found = {}
    for name, value in AT.items():
        joint, coordinate, *rate = name.split(".")
        known = machine.coordinates.get(f"{joint}_{coordinate}", machine.coordinates.get(joint))
        found[".".join([known, *rate])] = value
    return found


@quiet
def test_mjcf_is_the_same_machine(written: Write) -> None:
    pytest.importorskip("mujoco")
    text, lost = mjcf_text(taken(Machine()))
    assert not lost
    again = load(written(text, "again.xml"), limits=False)
    here = accelerations(Machine(), AT, INPUTS)
    there = accelerations(again, renamed(again), {f"ctrl.{key}": value for key, value in INPUTS.items()})
    assert max(np.abs(here[name] - there[name]).max() for name in here) < 1e-9
    assert again.turn.limits is None
    assert load(written(text, "again.xml")).turn.limits == pytest.approx((-1.5, 2.0))


@quiet
def test_urdf_is_the_same_machine_less_what_is_listed(written: Write) -> None:
    pytest.importorskip("yaml")
    found = taken(Machine(ball=False))
    text, lost = urdf_text(found)
    told = {(line.name, line.told.split(",")[0]) for line in lost}
    assert {("slide_angle", "a spring"), ("turn", "inertia on the coordinate")} <= told
    assert {"gravity", "turn", "drive", "servo"} <= {line.name for line in lost}
    written(loops_text(found), "again.yaml")
    again = load(written(text, "again.urdf"), loops="again.yaml", gravity=(0.3, 0, -9.0), limits=False)
    bare = Machine(ball=False)
    for name in ("rotor", "spring", "holds"):
        delattr(bare, name)
    here = accelerations(bare, AT, {"push": 0.5})
    there = accelerations(again, renamed(again), {"ctrl.push": 0.5})
    assert max(np.abs(here[name] - there[name]).max() for name in here) < 1e-9


@quiet
def test_a_file_read_and_written_is_the_same(written: Write) -> None:
    for text, name in ((ARM, "arm.urdf"), (four_bar(), "bars.xml")):
        machine = load(written(text, name))
        found = taken(machine)
        written(loops_text(found) or "x: 1", "again.yaml")
        loops = "again.yaml" if found.loops else None
        again = load(written(urdf_text(found)[0], "again.urdf"), loops=loops)
        one, other = evaluate(machine), evaluate(again)
        for body in (name for name, member in again.members.items() if isinstance(member, Body)):
            assert np.allclose(one.vector(f"{body}.acceleration"), other.vector(f"{body}.acceleration"), atol=1e-9)


def test_what_cannot_be_said_is_refused_by_path() -> None:
    class Held(Machine):
        def __init__(self) -> None:
            super().__init__()
            self.spring2 = SpringDamper(self.ground, self.bob, k=1.0)
            self.plane = PointInPlane(self.ground, self.bob)

    with pytest.raises(RunError, match="plane: PointInPlane has no counterpart"):
        taken(Held())
    with pytest.raises(RunError, match="ball: URDF has no ball"):
        urdf_text(taken(Machine()))

    class Slid(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.one, self.two = (Body(mass=1, inertia=(1, 1, 1)) for _ in range(2))
            self.a, self.b = Prismatic(self.ground, self.one, axis="x"), Prismatic(self.one, self.two, axis="x")
            self.c = Prismatic(self.ground, self.two, axis="x")

    with pytest.raises(RunError, match="a Prismatic that closes a loop"):
        taken(Slid())


@pytest.mark.parametrize("angles", [(0.3, -0.4, 2.0), (0.5, np.pi / 2, 0.0), (-1.0, -np.pi / 2, 0.7), (3.0, 1e-10, -3)])
def test_angles_of_a_rotation_are_those_of_its_matrix(angles: tuple[float, float, float]) -> None:
    turned = matrix_of(*angles)
    assert np.abs(matrix_of(*roll_pitch_yaw(turned)) - turned).max() < 1e-9


@pytest.fixture(scope="module")
def run() -> Any:
    class Swing(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground(), Gravity()
            self.bar = Body(solids.box(mass=1.0, size=(0.1, 0.1, 0.4)))
            self.pin = Revolute(self.ground, self.bar.at(0, 0, 0.2), axis="y", angle=1.0)

    return simulate(Swing(), until=1.0, step=1e-2)


def test_gltf_moves_as_the_run(run: Any, tmp_path: Path) -> None:
    out = tmp_path / "swing.glb"
    assert write_gltf(run, out, rate=20) == 21
    raw = out.read_bytes()
    assert raw[:4] == b"glTF"
    assert int.from_bytes(raw[8:12], "little") == len(raw)
    size = int.from_bytes(raw[12:16], "little")
    data, body = json.loads(raw[20 : 20 + size]), raw[28 + size :]
    node = next(k for k, each in enumerate(data["nodes"]) if each.get("name") == "bar")
    (animation,) = data["animations"]
    channels = {each["target"]["path"]: each for each in animation["channels"] if each["target"]["node"] == node}

    def numbers(accessor: int) -> np.ndarray:
        one = data["accessors"][accessor]
        view = data["bufferViews"][one["bufferView"]]
        values = np.frombuffer(body[view["byteOffset"] : view["byteOffset"] + view["byteLength"]], dtype="<f4")
        return values.reshape(one["count"], -1)

    sampler = animation["samplers"][channels["translation"]["sampler"]]
    times, places = numbers(sampler["input"]).ravel(), numbers(sampler["output"])
    assert np.allclose(places[:, 0], np.interp(times, run.time, run["bar.position.x"]), atol=1e-6)
    turned = numbers(animation["samplers"][channels["rotation"]["sampler"]]["output"])
    assert np.allclose(np.abs(turned[:, 3]), np.abs(np.interp(times, run.time, run["bar.orientation.e0"])), atol=1e-5)
    trimesh = pytest.importorskip("trimesh")
    loaded = trimesh.load(out)
    assert len(loaded.geometry) >= 1


def test_mcap_tells_what_the_run_does(run: Any, tmp_path: Path) -> None:
    reader = pytest.importorskip("mcap.reader")
    out = tmp_path / "swing.mcap"
    count = write_mcap(run, out, rate=10)
    with out.open("rb") as file:
        found = [(channel.topic, message.log_time, json.loads(message.data))
                 for _, channel, message in reader.make_reader(file).iter_messages()]  # fmt: skip
    places = [(time, each) for topic, time, data in found if topic == "/tf" for each in data["transforms"]]
    bar = [(time * 1e-9, each["translation"]["x"]) for time, each in places if each["child_frame_id"] == "bar"]
    assert len(bar) == count
    assert np.allclose([x for _, x in bar], np.interp([t for t, _ in bar], run.time, run["bar.position.x"]), atol=1e-9)
    scenes = [data for topic, _, data in found if topic == "/scene"]
    assert scenes[0]["entities"][0]["triangles"]
    values = [data for topic, _, data in found if topic == "/values"]
    assert values[-1]["pin.angle"] == pytest.approx(run["pin.angle"][-1])


@quiet
def test_the_command_line(written: Write, tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(written(ARM, "arm.urdf"))
    assert main(["export", "urdf", file, "--out", str(tmp_path / "again.urdf")]) == 0
    assert "lost: gravity" in capsys.readouterr().out
    assert main(["export", "mjcf", file, "--out", str(tmp_path / "again.xml")]) == 0
    pytest.importorskip("h5py")
    run.to_hdf5(tmp_path / "run.h5")
    assert main(["export", "glb", str(tmp_path / "run.h5"), "--out", str(tmp_path / "run.glb"), "--rate", "10"]) == 0
    assert "11 frames" in capsys.readouterr().out
