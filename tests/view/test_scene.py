"""A scene is what it stands for: closed solids of the right size, signs that stay where their joints are."""

from __future__ import annotations

import json
from math import pi

import numpy as np
import pytest
from reference.support import example
from view.support import motion_of

from kompono import Body, Ground, ModelError, Parameter, Result, RunError, Subsystem, simulate, time
from kompono.edges.view.show import start_scene
from kompono.library import (
    Distance,
    Drive,
    Gravity,
    Prismatic,
    Revolute,
    Rotor,
    Spherical,
    SpringDamper,
    shapes,
    solids,
)
from kompono.scene import Scene, describe, matrices, mesh_of, poses
from kompono.scene.bodies import body_shapes
from kompono.scene.record import record
from kompono.scene.values import SymbolValues
from kompono.spatial.numeric import quaternions, rotations

L = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
SOLIDS = {
    "box": (shapes.box((1, 2, 3)), 6.0),
    "cylinder": (shapes.cylinder(length=2, radius=0.5), pi / 2),
    "tube": (shapes.tube(length=2, radius=0.5, wall=0.2), 2 * pi * (0.25 - 0.09)),
    "cone": (shapes.cone(length=3, radius=1), pi),
    "sphere": (shapes.sphere(0.5), pi / 6),
    "ellipsoid": (shapes.ellipsoid((1, 2, 3)), pi),
    "ring": (shapes.ring(radius=1, thickness=0.2), 2 * pi**2 * 0.04),
    "bar": (shapes.bar((0, 0, 0), (0, 0, 2), 0.5), pi / 2 + pi / 6),
    "plate": (shapes.plate(L, 0.5), 1.5),
    "plate, clockwise": (shapes.plate(L[::-1], 0.5), 1.5),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_a_solid_is_closed_and_has_its_volume(name: str) -> None:
    """Signed tetrahedra over outward triangles: right only if all faces are there and look outwards."""
    shape, volume = SOLIDS[name]
    mesh = mesh_of(shape.kind, shape.sizes)
    a, b, c = (mesh.vertices[mesh.faces[:, k]].astype(float) for k in range(3))
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 == pytest.approx(volume, rel=0.06)
    areas = np.cross(b - a, c - a) / 2
    assert np.abs(areas.sum(axis=0)).max() < 1e-5


def test_quaternions_and_rotations_are_inverse() -> None:
    e = np.random.default_rng(1).normal(size=(200, 4))
    e /= np.linalg.norm(e, axis=1, keepdims=True)
    assert rotations(quaternions(rotations(e))) == pytest.approx(rotations(e), abs=1e-12)


@pytest.mark.parametrize("moments", [(2.0, 3.0, 4.0), (0.5, 3.0, 3.0), (2.0, 2.0, 3.5)])
def test_a_body_without_a_shape_gets_one_of_its_inertia(moments: tuple[float, float, float]) -> None:
    body = Body(mass=6.0, inertia=moments)
    (shape,) = body_shapes(body, [], SymbolValues(Subsystem()))
    vertices = mesh_of(shape.kind, shape.sizes).vertices @ rotations(np.array(shape.orientation)).T
    x, y, z = np.ptp(vertices, axis=0)
    if shape.kind == "box":
        found = 6.0 / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
    else:
        again = solids.cylinder(mass=6.0, length=shape.sizes["length"], radius=shape.sizes["radius"])
        axis = rotations(np.array(shape.orientation))
        found = np.diag(axis @ again.inertia @ axis.T)
    assert found == pytest.approx(moments, rel=1e-5)


def test_bodies_are_tied_to_their_joint_points() -> None:
    """The bars of a body given by numbers alone reach all points where something is connected."""

    class Levers(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.lever = Body(mass=1.0, inertia=(1e-4, 1e-4, 1e-4))
            self.pin = Revolute(self.ground, self.lever.at(0.5, 0, 0), axis="y")
            self.spring = SpringDamper(self.ground.at(0, 0, 1), self.lever.at(0, 0.3, 0.4), k=1.0)

    scene = describe(Levers())
    bars = [piece for piece in scene.pieces if piece.kind == "capsule"]
    tips = [np.add(p.position, rotations(np.array(p.orientation))[:, 2] * p.sizes["length"] / 2) for p in bars]
    assert np.array(tips) == pytest.approx(np.array([[0.5, 0, 0], [0, 0.3, 0.4]]), abs=1e-9)


@pytest.mark.parametrize("name", ["car", "engine", "kuka"])
def test_the_two_halves_of_a_joint_stay_together(name: str) -> None:
    """Eye and pin of every revolute joint keep one centre and one axis through the whole motion."""
    scene, result = motion_of(name)
    world = matrices(scene, poses(scene, result))
    checked = 0
    for number, part in enumerate(scene.parts):
        if part.type != "Revolute":
            continue
        eye, pin = (i for i, piece in enumerate(scene.pieces) if piece.part == number)
        assert np.abs(world[:, eye, :3, 3] - world[:, pin, :3, 3]).max() < 1e-6
        assert np.abs(world[:, eye, :3, 2] - world[:, pin, :3, 2]).max() < 1e-6
        checked += 1
    assert checked == {"car": 8, "engine": 5, "kuka": 24}[name]


def test_a_spring_reaches_from_end_to_end() -> None:
    scene, result = motion_of("car")
    table = poses(scene, result)
    world = matrices(scene, table)
    coils = [i for i, piece in enumerate(scene.pieces) if piece.kind == "helix"]
    assert len(coils) == 4
    for i in coils:
        piece = scene.pieces[i]
        for carrier, point, top in ((piece.carrier, piece.position, 0.0), (piece.target, piece.end, 1.0)):
            end = table[:, carrier, :3] + rotations(table[:, carrier, 3:]) @ np.asarray(point)
            assert world[:, i, :3, 3] + top * world[:, i, :3, 2] == pytest.approx(end, abs=1e-12)


def test_the_robot_stands_where_its_model_says() -> None:
    """The stored run is of this model: all bodies start at the places the model declares."""
    scene, result = motion_of("kuka")
    robot = example("kuka").Kuka()
    start = poses(scene, result)[0]
    for carrier, pose in zip(scene.carriers, start, strict=True):
        if carrier.kind == "body":
            assert pose[:3] == pytest.approx(robot.find(carrier.path).start_position, abs=1e-9)
    assert len([c for c in scene.carriers if c.kind == "body"]) == 43


def test_a_scene_survives_as_text_and_in_files(tmp_path) -> None:
    scene, result = motion_of("car")
    assert Scene.from_data(json.loads(json.dumps(scene.to_data()))) == scene
    for kind in ("hdf5", "parquet"):
        file = tmp_path / f"car.{kind}"
        getattr(result, f"to_{kind}")(file)
        again = Scene.from_data(Result.load(file).scene)
        assert len(again.pieces) == len(scene.pieces)
        assert poses(again, Result.load(file)) == pytest.approx(poses(scene, result))


class Swing(Subsystem):
    """A pendulum on a support that moves, with a tunable length."""

    def __init__(self) -> None:
        self.length = Parameter(0.5)
        self.support = Ground((0.1 * time, 0, 2.0))
        self.gravity = Gravity((0, -9.81, 0))
        self.ball = Body(solids.sphere(mass=1, radius=0.1))
        self.joint = Spherical(self.support, self.ball.at(0, self.length, 0))


def test_moving_grounds_parameters_and_other_ups() -> None:
    result = simulate(Swing(), until=1.0, step=0.01, parameters={"length": 0.8}, progress=False)
    assert result.scene is not None
    scene = Scene.from_data(result.scene)
    assert scene.up == pytest.approx((0, 1, 0))
    ground = next(k for k, carrier in enumerate(scene.carriers) if carrier.path == "support")
    assert poses(scene, result)[:, ground, 0] == pytest.approx(0.1 * result.time)
    socket, ball = (i for i, p in enumerate(scene.pieces) if scene.parts[p.part].path == "joint")
    world = matrices(scene, poses(scene, result))
    assert np.linalg.norm(world[:, ball, :3, 3] - world[:, socket, :3, 3], axis=1) == pytest.approx(
        np.full(101, 0.35 * scene.pieces[ball].sizes["size"][0] / 1.8)
    )


def test_violated_joints_are_named_with_the_size_of_the_gap() -> None:
    """The conditions of the joints at the recorded poses: their largest value is the drift the run itself reports."""
    options = {"until": 0.6, "step": 2e-3, "method": "rk2", "engine": "absolute", "progress": False}
    loose = simulate(example("engine").Engine(), stabilize=False, **options)
    assert loose.scene is not None
    assert loose.scene["violated"]
    assert max(loose.scene["violated"].values()) == pytest.approx(loose["drift.position"].max(), rel=0.2)
    kept = motion_of("engine")[0]
    assert not kept.violated
    assert set(kept.redundant) == {f"cylinder{k}.pin" for k in (1, 2, 3, 4)}


def test_rotors_are_no_bodies_to_see() -> None:
    class Driven(Subsystem):
        def __init__(self) -> None:
            self.ground, self.arm = Ground(), Body(solids.rod(mass=1.0, length=0.5, radius=0.02))
            self.pin = Revolute(self.ground, self.arm.at(0, 0, 0.25), axis="y", angle=0.3)
            self.motor = Rotor(self.pin, inertia=1e-4, ratio=50.0)

    scene = start_scene(Driven())
    assert [carrier.path for carrier in scene.carriers] == ["arm", "ground"]
    assert not scene.violated


def test_every_joint_force_and_coupling_is_drawn() -> None:
    class All(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.a, self.b = Body(solids.box(mass=1, size=(0.1,) * 3)), Body(solids.box(mass=1, size=(0.1,) * 3))
            self.slide = Prismatic(self.ground, self.a, axis="x")
            self.rod = Distance(self.a, self.b, length=0.5)
            self.drive = Drive(self.slide, time)

    scene = describe(All())
    seen = {scene.parts[piece.part].path for piece in scene.pieces}
    assert seen == {"a", "b", "slide", "rod", "drive"}


def test_a_result_without_positions_says_what_to_record() -> None:
    _, result = motion_of("car")
    with pytest.raises(RunError, match=r"does not say where body.*position"):
        poses(motion_of("car")[0], result.select("energy.*"))


def test_wrong_shapes_are_refused_where_they_are_written(tmp_path) -> None:
    for wrong in (
        lambda: shapes.box((1, -1, 1)),
        lambda: shapes.box((1, 1, 1)).coloured("blue"),
        lambda: shapes.mesh("nothing.stl"),
        lambda: shapes.mesh(tmp_path / "drawing.dwg"),
        lambda: shapes.plate([(0, 0), (1, 1)], 0.1),
        lambda: Body(mass=1, inertia=(1, 1, 1), shape="box"),
    ):
        with pytest.raises(ModelError):
            wrong()


@pytest.mark.parametrize("kind", ["stl", "obj", "glb"])
def test_a_mesh_file_becomes_triangles_of_the_scene(kind: str, tmp_path) -> None:
    trimesh = pytest.importorskip("trimesh")
    file = tmp_path / f"brick.{kind}"
    trimesh.creation.box((100, 200, 300)).export(file)

    class Brick(Subsystem):
        def __init__(self) -> None:
            self.brick = Body(mass=1, inertia=(1, 1, 1), shape=shapes.mesh(file, scale=1e-3).at(0, 0, 1))

    describe(Brick())
    trimesh.creation.box((100, 200, 400)).export(file)  # another one of the same size in bytes
    scene = describe(Brick())
    file.unlink()  # a scene needs its files no more
    (piece,) = Scene.from_data(json.loads(json.dumps(scene.to_data()))).pieces
    assert np.ptp(mesh_of(piece.kind, piece.sizes).vertices, axis=0) == pytest.approx((0.1, 0.2, 0.4))
    assert piece.position == (0, 0, 1)


def test_shapes_do_not_change_the_motion_nor_its_cached_translation() -> None:
    from kompono.translate.declared.sameness import fingerprint

    class Ball(Subsystem):
        def __init__(self, **looks) -> None:
            self.gravity, self.ball = Gravity(), Body(solids.sphere(mass=1, radius=0.1), **looks)

    assert fingerprint(Ball(), ()) == fingerprint(Ball(shape=shapes.sphere(2.0)), ())


def test_a_record_knows_which_run_it_is_of() -> None:
    scene, result = motion_of("car")
    again = record(example("car").Car(), None, result)
    assert again.carriers[0].pose == pytest.approx((0, 0, 0.95, 1, 0, 0, 0))
    assert again.parts == scene.parts
