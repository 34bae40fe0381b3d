"""Contact of files: pairs and friction as MuJoCo has them, shapes that come to rest where they must, what is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kompono import Body, Ground, RunError, Subsystem, load, simulate
from kompono.files.load import read
from kompono.library import Contact, Gravity

mujoco = pytest.importorskip("mujoco")
FLOOR = '<geom name="floor" type="plane" size="5 5 .1" friction="0.6 0.005 0.0001"/>'


def write(folder: Path, world: str, rest: str = "") -> Path:
    file = folder / "machine.xml"
    file.write_text(f'<mujoco model="m"><worldbody>{FLOOR}{world}</worldbody>{rest}</mujoco>')
    return file


def body(name: str, z: float, geom: str, x: float = 0.0) -> str:
    return f'<body name="{name}" pos="{x} 0 {z}"><freejoint/><geom name="{name}" {geom}/></body>'


def test_pairs_and_friction_are_those_of_mujoco(tmp_path: Path) -> None:
    """All geoms lie in one another, so that MuJoCo finds every pair it lets touch."""
    random = np.random.default_rng(3)

    def ball(name: str, inner: str = "", joint: bool = True) -> str:
        bits = f'contype="{random.integers(0, 4)}" conaffinity="{random.integers(0, 4)}"'
        kind = f'condim="{random.choice([1, 3])}" priority="{random.integers(0, 2)}"'
        rub = f'friction="{random.uniform(0.2, 1):.3f} 0.01 0.001"'
        held = f'<joint name="j{name}"/>' if joint else ""
        shape = f'<geom name="{name}" type="sphere" size="0.1" {bits} {kind} {rub}/>'
        return f'<body name="b{name}">{held}{shape}{inner}</body>'

    world = "".join(ball(f"r{k}", ball(f"s{k}", ball(f"t{k}"), joint=k % 2 == 0)) for k in range(4))
    rest = '<contact><exclude body1="br0" body2="bs1"/><pair geom1="t0" geom2="s0" friction="0.3 0.3 1 1 1"/></contact>'
    file = write(tmp_path, world, rest)
    spoken = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(spoken)
    mujoco.mj_forward(spoken, data)
    names = [spoken.geom(k).name for k in range(spoken.ngeom)]
    expected = {
        frozenset(names[int(k)] for k in one.geom): float(one.friction[0]) if one.dim > 1 else 0.0
        for one in data.contact
    }
    found = {frozenset(each.name.split("_on_")): each.friction for each in read(file, contact="all").touching}
    assert len(expected) > 20
    assert found.keys() == expected.keys()
    assert all(found[pair] == pytest.approx(expected[pair], abs=1e-12) for pair in expected)


SHAPES = {
    'type="sphere" size="0.1"': 0.1,
    'type="box" size="0.1 0.2 0.05"': 0.05,
    'type="capsule" size="0.05 0.1" euler="0 90 0"': 0.05,
    'type="cylinder" size="0.05 0.1"': 0.1,
}


def test_shapes_come_to_rest_on_their_faces(tmp_path: Path) -> None:
    bodies = [body(f"b{k}", height + 0.001, geom, x=k) for k, (geom, height) in enumerate(SHAPES.items())]
    result = simulate(load(write(tmp_path, "".join(bodies)), contact="ground"), until=0.1)
    assert result.status.ok
    for k, height in enumerate(SHAPES.values()):
        assert abs(result[f"b{k}.position.z"][-1] - height) < 1e-12


class Written(Subsystem):
    """The same ball by hand: it slides, then rolls."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        mass = 1000 * 4 / 3 * np.pi * 1e-3
        start = {"start_position": (0, 0, 0.1), "start_velocity": (1.0, 0.2, 0.0)}
        self.ball = Body(mass=mass, inertia=0.4 * mass * 0.01 * np.eye(3), **start)
        self.contact = Contact(self.ground.plane(), self.ball.sphere(radius=0.1), mu=1.0)


def test_a_ball_slides_and_rolls_as_one_written_by_hand(tmp_path: Path) -> None:
    file = write(tmp_path, body("ball", 0.1, 'type="sphere" size="0.1"'))
    thrown = {"ball.velocity.x": 1.0, "ball.velocity.y": 0.2}
    one = simulate(load(file, contact="ground"), until=0.2, initial=thrown)
    other = simulate(Written(), until=0.2)
    assert max(abs(one[f"ball.position.{k}"] - other[f"ball.position.{k}"]).max() for k in "xyz") < 1e-12
    assert other["ball.velocity.x"][-1] == pytest.approx(5 / 7, abs=1e-9)


def test_contact_is_told_and_asked_for(tmp_path: Path) -> None:
    egg = body("egg", 1.0, 'type="ellipsoid" size="0.1 0.1 0.2"') + body("ball", 1.0, 'type="sphere" size="0.1"', x=1)
    file = write(tmp_path, egg)
    silent = load(file)
    assert "contact of geoms" in str(silent.imported)
    assert 'contact="ground"' in str(silent.imported)
    machine = load(file, contact="ground", ignore=["ball_on_floor"])
    told = str(machine.imported)
    assert "contact of ellipsoid on plane" in told
    assert not [each for each in machine.members.values() if isinstance(each, Contact)]
    with pytest.raises(RunError, match='"ground"'):
        load(file, contact="floor")


def test_links_of_a_urdf_stand_on_the_ground(tmp_path: Path) -> None:
    file = tmp_path / "crate.urdf"
    file.write_text(
        '<robot name="crate"><link name="crate"><inertial><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/>'
        '</inertial><collision><origin xyz="0 0 0.1"/><geometry><box size="0.2 0.2 0.2"/></geometry></collision>'
        '<collision><geometry><mesh filename="crate.stl"/></geometry></collision>'
        '<contact><lateral_friction value="0.3"/></contact></link></robot>'
    )
    crate = load(file, floating=True, contact="ground")
    assert "of the kind mesh" in str(crate.imported)
    result = simulate(crate, until=0.2, initial={"crate.velocity.x": 0.3})
    assert result.status.ok
    assert abs(result["crate.position.x"][-1] - 0.3**2 / (2 * 0.3 * 9.81)) < 1e-9
    assert abs(result["crate.position.z"][-1]) < 1e-12
    with pytest.raises(RunError, match="contact"):
        load(file, contact="all")
