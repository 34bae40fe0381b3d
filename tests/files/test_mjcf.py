"""MJCF through MuJoCo's compiler: accelerations against a rigid solution from MuJoCo's own matrices."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files.rigid import Rigid
from files.robots import MACHINES

from kompono import Body, FileError, evaluate, inspect, load, simulate
from kompono.files import read
from kompono.library import Chain

mujoco = pytest.importorskip("mujoco")
Write = Callable[..., Path]
LONG = "KOMPONO_LAWS" in os.environ
real = pytest.mark.skipif(not MACHINES.is_dir(), reason="the machines are not beside this checkout")

MACHINE = """<mujoco model="machine">
  <compiler angle="radian"/>
  <option gravity="0.5 0 -9"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="trunk" pos="0 0 1" quat="0.9 0.1 0.2 0.3"><freejoint/>
      <site name="eye"/><geom type="box" size="0.1 0.2 0.05" mass="3"/>
      <body name="thigh" pos="0.1 0 0" gravcomp="0.5">
        <joint name="hip x" axis="1 0 0" pos="0.01 0.02 0.03" damping="0.4" ref="0.2" armature="0.03"/>
        <joint name="hip y" axis="0 1 0" pos="0 0.05 0" stiffness="7" springref="0.3" range="-2 2" limited="true"/>
        <joint name="stretch" type="slide" axis="0 0.6 0.8" stiffness="30" damping="1"/>
        <geom type="capsule" fromto="0 0 0 0 0.02 -0.4" size="0.04" mass="1.5"/>
        <body name="shoe" pos="0 0 -0.4" quat="0.5 0.5 -0.5 0.5"><geom size="0.05" mass="0.3" pos="0.02 0 0"/></body>
        <body name="shin" pos="0 0 -0.4"><joint name="knee" axis="0 1 0" ref="-0.1"/>
          <geom type="cylinder" size="0.03 0.2" pos="0.02 0 -0.2" mass="1"/></body>
      </body>
      <body name="bob" pos="-0.1 0 0"><joint name="ball" type="ball" damping="0.02"/>
        <geom type="ellipsoid" size="0.1 0.05 0.07" pos="0 0.1 -0.2" mass="0.7"/></body>
    </body>
    <body name="crank" pos="1 0 1"><joint name="crank" axis="0 1 0"/><geom type="box" size="0.1 0.02 0.02" mass="1"/>
      <body name="rod" pos="0.1 0 0"><joint name="rod" axis="0 1 0" armature="0.02"/>
        <geom type="box" size="0.15 0.02 0.02" pos="0.15 0 0" mass="1"/></body></body>
    <body name="rocker" pos="1.4 0 0.7"><joint name="rocker" axis="0 1 0"/>
      <geom type="box" size="0.02 0.02 0.15" pos="0 0 0.15" mass="1"/></body>
    <body name="wheel" pos="2 0 1"><joint name="wheel" axis="0 0 1"/><geom type="cylinder" size="0.1 0.02" mass="2"/>
      <body name="twin" pos="0 0 0.3"><joint name="twin" axis="1 0 0"/><geom size="0.05" pos="0 0.1 0" mass="1"/></body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="belt"><joint joint="wheel" coef="0.5"/><joint joint="knee" coef="-0.3"/></fixed>
    <fixed name="rope" springlength="0.4" stiffness="5" damping="0.3"><joint joint="knee" coef="0.7"/>
      <joint joint="hip x" coef="0.2"/></fixed>
  </tendon>
  <equality>
    <connect name="pin" body1="rod" body2="rocker" anchor="0.3 0 0"/>
    <joint name="cam" joint1="twin" joint2="wheel" polycoef="0.1 0.5 0.2 0 0"/>
    <weld name="spare" body1="bob" body2="crank" active="false"/>
  </equality>
  <actuator>
    <motor name="knee motor" joint="knee" gear="20" ctrlrange="-1 1" ctrllimited="true"/>
    <position name="hip servo" joint="hip x" kp="30" kv="2" forcerange="-8 8" forcelimited="true"/>
    <general name="puller" tendon="belt" gainprm="4" biastype="affine" biasprm="1 -3 -0.2"/>
  </actuator>
  <keyframe>
    <key name="up" qpos="0 0 2 1 0 0 0  0.1 0.2 0.05 -0.3  1 0 0 0  0.2 0.1 0.3 0.4 0.2" ctrl="0.5 0.1 2"/>
  </keyframe>
  <sensor><gyro site="eye"/></sensor>
</mujoco>
"""


def apart(
    file: Path, *, seed: int, controls: dict[str, float] | None = None, spread: float = 0.2, **options: Any
) -> Any:
    """Largest difference of accelerations of bodies, relative to the largest; and the machine."""
    machine = load(file, limits=False, friction=False, **options)
    model = mujoco.MjSpec.from_file(str(file)).compile()
    model.dof_frictionloss[:] = 0
    start = model.key_qpos[0] if model.nkey else model.qpos0
    reference = Rigid(mujoco, model, seed=seed, start=start, spread=spread)
    if controls is not None:
        reference.d.ctrl[:] = list(controls.values())
        mujoco.mj_forward(model, reference.d)
        reference.accelerations = reference._solved()
    d = reference.d
    at: dict[str, float] = {}
    for joint in range(model.njnt):
        name = mujoco.mj_id2name(model, int(mujoco.mjtObj.mjOBJ_JOINT), joint)
        q, v = d.qpos[model.jnt_qposadr[joint] :], d.qvel[model.jnt_dofadr[joint] :]
        body = int(model.jnt_bodyid[joint])
        if model.jnt_type[joint] == 0:
            called = machine.frame(model.body(body).name).body.path
            turning = d.xmat[body].reshape(3, 3) @ v[3:6]
            centre = d.xipos[body] + here_centre(machine, model, d, body)
            velocity = v[:3] + np.cross(turning, centre - d.xpos[body])
            for k, axis in enumerate("xyz"):
                at[f"{called}.position.{axis}"] = centre[k]
                at[f"{called}.velocity.{axis}"] = velocity[k]
                at[f"{called}.angular_velocity.{axis}"] = turning[k]
            at |= {f"{called}.orientation.e{k}": d.qpos[model.jnt_qposadr[joint] + 3 + k] for k in range(4)}
        elif model.jnt_type[joint] == 1:
            channel = machine.coordinates[name]
            at |= {f"{channel}.e{k}": q[k] for k in range(4)} | {f"{channel}.w{x}": v[k] for k, x in enumerate("xyz")}
        else:
            channel = machine.coordinates[name]
            at |= {channel: q[0] - model.qpos0[model.jnt_qposadr[joint]], f"{channel}.rate": v[0]}
    inputs = {f"ctrl.{key.replace(' ', '_')}": value for key, value in (controls or {}).items()}
    bodies = {name: each for name, each in machine.members.items() if isinstance(each, Body)}
    names = [f"{name}.{kind}acceleration.*" for name in bodies for kind in ("", "angular_")]
    here = evaluate(machine, at, channels=names, inputs=inputs)
    worst = largest = 0.0
    for body in range(1, model.nbody):
        frame = machine.frame(model.body(body).name)
        if frame.body.path not in bodies or model.body(body).jntnum == 0:
            continue
        path = frame.body.path
        linear, angular = reference.body(body)
        turning = d.cvel[body, :3]
        arm = here_centre(machine, model, d, body)
        moved = linear + np.cross(angular, arm) + np.cross(turning, np.cross(turning, arm))
        worst = max(worst, np.abs(here.vector(f"{path}.acceleration") - moved).max())
        worst = max(worst, np.abs(here.vector(f"{path}.angular_acceleration") - angular).max())
        largest = max(largest, np.abs(moved).max(), np.abs(angular).max())
    return worst / largest, machine


def here_centre(machine: Any, model: Any, d: Any, body: int) -> np.ndarray:
    """From the centre of mass MuJoCo gives a body to that of all that is welded to it, in the world."""
    frame = machine.frame(model.body(body).name)  # the part's frame on the body of the model
    place = np.asarray(frame.pose.position).ravel(), np.asarray(frame.pose.rotation)
    turned = d.xmat[body].reshape(3, 3) @ place[1].T
    return d.xpos[body] - turned @ place[0] - d.xipos[body]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_machine_of_everything_moves_as_its_rigid_equations_say(written: Write, seed: int) -> None:
    controls = {"knee motor": 2.0, "hip servo": 0.4, "puller": 1.5}
    error, machine = apart(written(MACHINE, "machine.xml"), seed=seed, controls=controls)
    assert error < 1e-10
    assert isinstance(machine.stretch, Chain)


def test_what_a_file_becomes(written: Write) -> None:
    machine = load(written(MACHINE, "machine.xml"))
    ignored = {line.name: line.told for line in machine.imported.of("ignored")}
    assert "not active" in ignored["spare"]
    assert ignored["sensors"] == "1 of them"
    assert "contact of geoms" in ignored
    assert {line.name for line in machine.imported.of("merged")} >= {"shoe"}
    assert machine.coordinates["hip x"] == "stretch.hip_x"
    assert machine.keyframe("up")["knee.angle"] == pytest.approx(-0.2)
    assert machine.keyframe("up")["trunk.position.z"] == pytest.approx(2.0)
    assert machine.controls("up") == {"ctrl.knee_motor": 0.5, "ctrl.hip_servo": 0.1, "ctrl.puller": 2.0}
    assert machine.trunk.shape is not None
    assert inspect(machine).degrees_of_freedom == 18 - 3
    assert read(written(MACHINE, "machine.xml")).gravity == (0.5, 0.0, -9.0)


def test_a_keyframe_is_a_start(written: Write) -> None:
    machine = load(written(MACHINE, "machine.xml"))
    result = simulate(machine, until=0.01, step=1e-3, initial={"trunk.position.z": 2.0})
    assert result.status.ok


LAGGING = """<mujoco model="lag"><option gravity="0 0 0" timestep="1e-4" integrator="RK4"/>
  <worldbody><body name="wheel"><joint name="spin" axis="0 0 1" damping="0.1"/>
    <geom type="cylinder" size="0.1 0.02" mass="2" contype="0" conaffinity="0"/></body>
  <body name="cart" pos="0 1 0"><joint name="run" type="slide" axis="1 0 0" damping="1"/>
    <geom size="0.1" mass="1" contype="0" conaffinity="0"/></body></worldbody>
  <actuator>
    <general name="slow" joint="spin" dyntype="filter" dynprm="0.2" gainprm="3" ctrlrange="-1 1" ctrllimited="true"/>
    <intvelocity name="sum" joint="run" kp="40" actrange="-0.3 0.3"/>
  </actuator>
  <keyframe><key name="begun" act="0.5 0.1" ctrl="2 0.8"/></keyframe></mujoco>
"""


def test_activations_of_actuators_are_states_that_move_as_mujocos(written: Write) -> None:
    machine = load(written(LAGGING, "lag.xml"))
    assert machine.keyframe("begun")["slow_activation.level"] == 0.5
    start, controls = machine.keyframe("begun"), machine.controls("begun")
    result = simulate(machine, until=0.5, step=1e-3, initial=start, inputs=controls)
    model = mujoco.MjModel.from_xml_string(LAGGING)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for _ in range(5000):
        mujoco.mj_step(model, data)
    assert [result["spin.angle"][-1], result["run.displacement"][-1]] == pytest.approx(data.qpos, rel=1e-3)
    assert result["slow_activation.level"][-1] == pytest.approx(data.act[0], rel=1e-6)
    assert result["sum_activation.level"][-1] == pytest.approx(0.3, abs=2e-3)  # held at its limit


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        (
            '<option gravity="0.5 0 -9"/>',
            '<option density="1.2"/><default><geom fluidshape="ellipsoid"/></default>',
            "fluid",
        ),
        (
            '<general name="puller" tendon="belt" gainprm="4"',
            '<general name="puller" tendon="belt" gaintype="affine" gainprm="4 1 0"',
            "puller",
        ),
        ('<motor name="knee motor" joint="knee"', '<motor name="knee motor" site="eye" refsite="eye"', "knee motor"),
        ('<general name="puller"', '<general dyntype="user" name="puller"', "puller"),
        ('<fixed name="rope"', '<fixed name="rope" frictionloss="0.1"', "rope"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name_or_ignored(written: Write, old: str, new: str, name: str) -> None:
    file = written(MACHINE.replace(old, new), "machine.xml")
    with pytest.raises(FileError, match=f"machine.xml: {name}: .* is not read"):
        load(file)
    machine = load(file, ignore=[name])
    assert name in {line.name for line in machine.imported.of("ignored")}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (MACHINE.replace('name="crank" axis', 'name="rod" axis'), "MuJoCo cannot compile"),
        ('<mujoco><worldbody><replicate count="100000000"><body/></replicate></worldbody></mujoco>', "repeats"),
        ("<mujoco><worldbody>" + "<body/>" * 100_000 + "</worldbody></mujoco>", "bodies"),
        (MACHINE.replace('type="box" size="0.1 0.2 0.05"', 'type="mesh" mesh="gone"')
         .replace("<worldbody>", '<asset><mesh name="gone" file="gone.stl"/></asset><worldbody>', 1)
         .replace(' mass="3"', ""), "mass of trunk is that of the mesh gone"),
    ],
)  # fmt: skip
def test_bad_files(written: Write, content: str, words: str) -> None:
    with pytest.raises(FileError, match=words):
        load(written(content, "machine.xml"))


def test_steps_too_long_for_stiff_servos_and_stops_are_told(written: Write) -> None:
    links = ""
    for name, mass, length, at, most in (
        ("c", 0.02, 0.1, 0.2, 0.5),
        ("b", 0.05, 0.2, 0.3, 0.5),
        ("a", 0.5, 0.3, 0, 0.8),
    ):
        geom = f'<geom type="capsule" fromto="0 0 0 {length} 0 0" size="0.02" mass="{mass}"/>'
        joint = f'<joint name="{name}" axis="0 1 0" range="-{most} {most}" limited="true"/>'
        links = f'<body name="link {name}" pos="{at} 0 0">{joint}{geom}{links}</body>'
    servos = "".join(f'<position name="{name}" joint="{name}" kp="500"/>' for name in "abc")
    file = written(f"<mujoco><worldbody>{links}</worldbody><actuator>{servos}</actuator></mujoco>", "a.xml")
    given: dict[str, Any] = {"until": 0.05, "step": 1e-3, "inputs": {f"ctrl.{name}": 0.6 for name in "abc"}}
    rough = simulate(load(file), **given)
    assert not rough.status.ok
    assert "step" in rough.status.message
    assert simulate(load(file), method="dopri5", **given).status.ok


@real
@pytest.mark.parametrize(
    ("name", "freedoms", "most"),
    [("universal_robots_ur5e/ur5e", 6, 1e-12), ("robotiq_2f85/2f85", 3, 1e-9)]
    + ([("agility_cassie/cassie", 22, 1e-9), ("iit_softfoot/softfoot", 37, 1e-8)] if LONG else []),
)
def test_real_robots(name: str, freedoms: int, most: float) -> None:
    error, machine = apart(MACHINES / "mjcf" / f"{name}.nomesh.xml", seed=1, spread=0.05)
    assert error < most
    assert inspect(machine).degrees_of_freedom == freedoms


def test_numbers_that_are_none_are_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = '<mujoco><worldbody><body><joint/><geom size="0.1" {}/></body></worldbody></mujoco>'
    for given in ('mass="NaN"', 'mass="1" rgba="nan 1 1 1"'):
        (tmp_path / "a.xml").write_text(text.format(given), encoding="utf-8")
        with pytest.raises(FileError, match=r"a\.xml:1: .* is not a number"):
            load("a.xml")
    (tmp_path / "a.xml").write_text(text.format('mass="1" name="nan"'), encoding="utf-8")
    load("a.xml")
    assert [file.name for file in tmp_path.iterdir()] == ["a.xml"]  # MuJoCo writes its warnings there
