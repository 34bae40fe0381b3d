"""URDF: merged links, composed joints, couplings, loops; accelerations against independent dynamics."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files.robots import ARM, FOUR_BAR, MACHINES, random_urdf

from kompono import Body, FileError, Ground, ModelWarning, Subsystem, evaluate, inspect, load, simulate
from kompono.files import Place
from kompono.library import Chain, Gravity, Revolute, Spherical, Weld

Write = Callable[..., Path]


def differences(file: Path, seed: int = 1, **options: Any) -> float:
    """Largest difference of joint accelerations at a random state from Pinocchio's, relative to the largest."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(file))
    data, rng = model.createData(), np.random.default_rng(seed)
    machine = load(file, limits=False, friction=False, **options)
    q, v, at, names = pin.neutral(model), rng.uniform(-1, 1, model.nv), {}, {}
    for k in range(1, model.njoints):
        joint, angle = model.joints[k], rng.uniform(-1, 1)
        q[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
        channel = machine.coordinates[model.names[k]]
        at |= {channel: angle, f"{channel}.rate": v[joint.idx_v]}
        names[f"{channel}.acceleration"] = joint.idx_v
    expected = pin.aba(model, data, q, v, -model.damping * v)
    found = evaluate(machine, at, channels=list(names))
    apart = [abs(found[name] - expected[place]) for name, place in names.items()]
    return max(apart) / np.abs(expected).max()


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_move_as_in_pinocchio(written: Write, seed: int) -> None:
    assert differences(written(random_urdf(seed))) < 1e-12


def test_merged_links_and_composed_joints_move_as_in_pinocchio(written: Write) -> None:
    assert differences(written(ARM)) < 1e-12


def test_inertia_of_massless_links_counts_on_the_body_they_are_fixed_to(written: Write) -> None:
    tensor = '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/>'
    light = f'<link name="plate"><inertial><mass value="0"/>{tensor}</inertial></link>'
    assert '<link name="plate"/>' in ARM
    assert differences(written(ARM.replace('<link name="plate"/>', light))) < 1e-12


def test_what_a_file_becomes(written: Write) -> None:
    arm = load(written(ARM))
    bodies = [name for name, each in arm.members.items() if isinstance(each, Body)]
    assert bodies == ["upper", "fore"]
    assert arm.upper.solid.mass == pytest.approx(2.0)
    assert isinstance(arm.reach, Chain)
    assert arm.reach.coordinates == ("yaw", "reach")
    assert arm.coordinates == {"shoulder": "shoulder.angle", "yaw": "reach.yaw", "reach": "reach.reach"}
    assert {line.name for line in arm.imported.of("merged")} == {"base", "plate", "weight", "tool0"}
    assert {line.name for line in arm.imported.of("composed")} == {"cross"}
    ignored = {line.name: line.told for line in arm.imported.of("ignored")}
    assert ignored["collision shapes"].startswith("1 of them")
    assert "not there" in ignored["looks"]
    assert "upper  " in str(arm.imported)
    assert arm.upper.shape is not None
    assert arm.upper.shape[0].colour == "#0000ff"
    assert inspect(arm).degrees_of_freedom == 3


def test_frames_of_the_file_are_where_it_says(written: Write) -> None:
    class Cell(Subsystem):
        def __init__(self) -> None:
            self.arm = load(written(ARM), limits=False)
            self.arm.expose(self.arm.fore)
            self.probe = Body(mass=1.0, inertia=(1, 1, 1))
            self.hold = Weld(self.arm.frame("tool0"), self.probe)

    angle, yaw, reach = 0.3, -0.4, 0.1
    here = evaluate(Cell(), {"arm.shoulder.angle": angle, "arm.reach.yaw": yaw, "arm.reach.reach": reach})

    def turn(axis: str, by: float) -> np.ndarray:
        c, s = np.cos(by), np.sin(by)
        return np.array({"y": [[c, 0, s], [0, 1, 0], [-s, 0, c]], "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]]}[axis])

    upper = turn("y", 0.2 + angle)
    plate = upper @ turn("z", 1.0 + yaw)
    point = np.array([0, 0, 0.1]) + upper @ [0, 0.1, 0.4] + plate @ [0, 0, 0.07]
    point = point + plate @ turn("y", 0.4) @ [reach + 0.2, 0, 0]
    assert np.allclose(here.vector("probe.position"), point, atol=1e-14)


def test_a_floating_base_falls(written: Write) -> None:
    arm = load(written(ARM), floating=True, gravity=(0, 0, -2.0), limits=False)
    assert inspect(arm).degrees_of_freedom == 9
    total = 4 + 2 + 0.8
    here = evaluate(arm)
    masses = {"base": 4.0, "upper": 2.0, "fore": 0.8}
    centre = sum(mass * here.vector(f"{name}.acceleration") for name, mass in masses.items()) / total
    assert np.allclose(centre, (0, 0, -2), atol=1e-12)


class FourBar(Subsystem):
    """The four-bar of the file by hand."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.crank = Body(mass=1, inertia=(0.001, 0.004, 0.004))
        self.rocker = Body(mass=1, inertia=(0.001, 0.008, 0.008))
        self.coupler = Body(mass=1, inertia=(0.001, 0.02, 0.02))
        self.drive = Revolute(self.ground, self.crank.at(-0.1, 0, 0), axis="y")
        self.swing = Revolute(self.ground.at(0.5, 0, 0), self.rocker.at(-0.15, 0, 0), axis="y", angle=-1.5)
        self.knee = Revolute(self.crank.at(0.1, 0, 0), self.coupler.at(-0.2, 0, 0), axis="y", angle=1.0)
        self.loop = Spherical(self.coupler.at(0.2, 0, 0), self.rocker.at(0.15, 0, 0))


def test_loops_by_argument_and_by_file(written: Write) -> None:
    pytest.importorskip("yaml")
    file = written(FOUR_BAR)
    written("closed_loop: [[end, tip]]\ntype: ['3d']\nname_mot: [drive]\n", "loops.yaml")
    start = {"drive.angle": 0.1, "drive.angle.rate": 2.0}
    by_file, by_argument = load(file, loops="loops.yaml"), load(file, loops=[("end", "tip", Spherical)])
    assert inspect(by_argument).degrees_of_freedom == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # loops move the other coordinates
        runs = [simulate(machine, until=0.5, step=1e-3, initial=start) for machine in (by_file, by_argument)]
        by_hand = simulate(FourBar(), until=0.5, step=1e-3, initial={"drive.angle": -1.1, "drive.angle.rate": 2.0})
    for run in runs:
        assert np.abs(run["coupler.position.z"] - by_hand["coupler.position.z"]).max() < 1e-9
        energy = run["energy.total"]
        assert np.abs(energy - energy[0]).max() < 1e-8
    assert "ctrl.drive" in by_file.ctrl["drive"].path


def test_joints_are_what_the_file_of_loops_says(written: Write) -> None:
    pytest.importorskip("yaml")
    file = written(ARM)
    text = "joint_name: [shoulder, yaw, reach]\njoint_type: [{}, {}, {}]\n"
    written(text.format("UJOINT_ZX", "FIXED", "SPHERICAL"), "other.yaml")
    arm = load(file, loops="other.yaml", friction=False)
    assert inspect(arm).degrees_of_freedom == 5
    assert {"shoulder_Z", "shoulder_X", "reach"} == set(arm.coordinates)
    assert {line.name for line in arm.imported.of("assumed")} >= {"shoulder", "yaw", "reach"}
    half = np.pi / 2  # about z, then about the turned x, which is y of the joint's frame
    here = evaluate(arm, {arm.coordinates["shoulder_Z"]: half, arm.coordinates["shoulder_X"]: 0.3})
    tilt = np.array([[np.cos(0.2), 0, np.sin(0.2)], [0, 1, 0], [-np.sin(0.2), 0, np.cos(0.2)]])  # rpy of its origin
    up = tilt @ np.array([np.sin(0.3), 0, np.cos(0.3)])  # where z of the link points
    frame = arm.frame("upper")
    turned = Place.of((0, 0, 0), [here[f"upper.orientation.e{k}"] for k in range(4)]).rotation
    assert np.allclose(turned @ np.asarray(frame.pose.rotation)[:, 2], up, atol=1e-12)
    for kinds, words in ((("UJOINT_XX", "FIXED", "FIXED"), "shall be UJOINT_XX"), (("FIXED", "FIXED"), "one entry")):
        written(f"joint_name: [shoulder, yaw, reach]\njoint_type: [{', '.join(kinds)}]\n", "other.yaml")
        with pytest.raises(FileError, match=words):
            load(file, loops="other.yaml")
    written("joint_name: [sholder]\njoint_type: [FIXED]\n", "other.yaml")
    with pytest.raises(FileError, match=r"'sholder', which shall be another one.*shoulder"):
        load(file, loops="other.yaml")


def test_mimic_and_transmission(written: Write) -> None:
    extra = (
        '<joint name="copy" type="continuous"><parent link="base"/><child link="twin"/><axis xyz="0 0 1"/>'
        '<mimic joint="shoulder" multiplier="-2" offset="0.5"/></joint>'
        '<link name="twin"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="0.1"/></inertial></link>'
        '<transmission name="t"><type>SimpleTransmission</type><joint name="shoulder"/><actuator name="motor">'
        "<mechanicalReduction>50</mechanicalReduction></actuator></transmission></robot>"
    )
    arm = load(written(ARM.replace("</robot>", extra)), limits=False)
    here = evaluate(arm, {"shoulder.angle": 0.3, "shoulder.angle.rate": 1.0})
    assert here["copy.angle"] == pytest.approx(-0.1, abs=1e-12)
    assert here["copy.angle.rate"] == pytest.approx(-2.0, abs=1e-12)
    pushed = evaluate(arm, {"shoulder.angle": 0.3}, inputs={"ctrl.motor": 0.1})
    assert pushed["motor_drive.torque.y"] == pytest.approx(5.0)


def test_joints_that_follow_start_where_their_leader_has_them(written: Write) -> None:
    text = ARM.replace('<limit lower="-2" upper="2"', '<limit lower="0.3" upper="2"')
    mimic = (
        '<mimic joint="shoulder" multiplier="2" offset="0.1"/><limit lower="0.6" upper="3" effort="1" velocity="1"/>'
    )
    text = text.replace('<joint name="yaw" type="continuous">', f'<joint name="yaw" type="revolute">{mimic}')
    arm = load(written(text), friction=False)
    result = simulate(arm, until=0.01)  # where a limit is broken at the start, it is refused
    assert result.status.ok
    assert result[arm.coordinates["yaw"]][0] == pytest.approx(2 * 0.3 + 0.1, abs=1e-12)


def test_impossible_inertia_is_refused_or_repaired(written: Write) -> None:
    file = written(ARM.replace('iyy="0.004" izz="0.004"', 'iyy="0.004" izz="0.02"'))
    with pytest.raises(FileError, match=r"robot\.urdf:\d+: fore: principal moments .* triangle.*repair=True"):
        load(file)
    with pytest.warns(ModelWarning, match="fore was repaired"):
        arm = load(file, repair=True)
    moments = np.linalg.eigvalsh(arm.fore.solid.inertia)
    assert moments[2] <= moments[0] + moments[1] + 1e-15


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('type="prismatic"', 'type="bent"', "reach: its type 'bent' is not known"),
        ('<parent link="plate"/><child link="cross"/>', '<parent link="plat"/><child link="cross"/>', "no link 'plat'"),
        ('<child link="upper"/>', '<child link="weight"/>', "child of two joints"),
        ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>', "no direction"),
        ('<mass value="0.8"/>', '<mass value="nan"/>', "not a number"),
        ('<mass value="0.8"/>', '<mass value="-1"/>', "negative"),
        ('<link name="cross"/>', "", "no link 'cross'"),
        ('<link name="cross"/>', '<link name="cross"/><link name="cross"/>', "two links 'cross'"),
        ('<link name="cross"/>', '<link name="cross"/><link name="lost"/>', "2 links have no parent"),
        ("</robot>", "", "no XML"),
        ("</robot>", '<drake:ball_constraint name="b"/></robot>', "loops written this way"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(written: Write, old: str, new: str, words: str) -> None:
    with pytest.raises(FileError, match=words) as error:
        load(written(ARM.replace(old, new)))
    assert "robot.urdf:" in str(error.value)
    assert error.value.fix


@pytest.mark.skipif(not MACHINES.is_dir(), reason="the machines are not beside this checkout")
@pytest.mark.parametrize(
    ("folder", "freedoms"),
    [("5bar_linkage", 3), ("5bar_linkage_iso3d", 2), ("5bar_linkage_iso6d", 2)]
    + ([("cassie_like", 7)] if "KOMPONO_LAWS" in os.environ else []),
)
def test_real_loops(folder: str, freedoms: int) -> None:
    robot = load(MACHINES / "closed_loop" / folder / "robot.urdf", loops="robot.yaml", gravity=(0, 0, -9.81))
    assert inspect(robot).degrees_of_freedom == freedoms


@pytest.mark.skipif(not MACHINES.is_dir(), reason="the machines are not beside this checkout")
@pytest.mark.parametrize("name", ["panda_description/panda", "ur_description/ur5_robot"])
def test_real_arms_move_as_in_pinocchio(name: str, tmp_path: Path) -> None:
    text = (MACHINES / "urdf" / f"{name}.urdf").read_text()
    file = tmp_path / "robot.urdf"  # without mimics, which Pinocchio does not close
    file.write_text(re.sub(r"<mimic[^>]*/>", "", text))
    assert differences(file) < 1e-12
