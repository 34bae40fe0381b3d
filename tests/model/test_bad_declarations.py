"""A wrong declaration raises where it is written: what, where, why and what to do."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from kompono import Body, Ground, Input, ModelError, ModelWarning, Output, Subsystem, simulate, time
from kompono.library import (
    AppliedLoad,
    Bushing,
    Cylindrical,
    Distance,
    Drive,
    Gear,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    Screw,
    Spherical,
    Universal,
    solids,
)


class Machine(Subsystem):
    """An owner to assign to."""


@pytest.mark.parametrize("mass", [0.0, -1.0, nan, np.inf])
def test_a_mass_that_is_not_positive_is_refused_with_the_path(mass: float) -> None:
    with pytest.raises(ModelError, match=r"^Machine\.bob: mass .* kg is not positive.*Check mass") as caught:
        Machine().bob = Body(mass=mass, inertia=(1, 1, 1))
    assert caught.value.path == "Machine.bob"
    assert caught.value.fix


@pytest.mark.parametrize(
    ("inertia", "cause"),
    [
        ([[1, 0.2, 0], [0, 1, 0], [0, 0, 1]], "not symmetric"),
        ((1, 1, -0.1), "negative principal moment"),
        ((1, 1, 2.1), "triangle inequality"),
        ([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 0.1]], "triangle inequality"),
        ((1, nan, 1), "finite"),
        ((1, 1), "3x3"),
        (np.eye(2), "3x3"),
    ],
)
def test_an_inertia_no_body_can_have_is_refused(inertia: object, cause: str) -> None:
    with pytest.raises(ModelError, match=rf"Machine\.bob: .*{cause}"):
        Machine().bob = Body(mass=1.0, inertia=inertia)


def test_limits_of_the_triangle_inequality_are_allowed() -> None:
    machine = Machine()
    machine.plate = Body(mass=1.0, inertia=(1, 1, 2))  # flat
    machine.needle = Body(mass=1.0, inertia=(1, 1, 0))
    machine.point = Body(solids.point(mass=1.0))
    assert len(machine.members) == 3


def test_a_nested_body_is_named_by_its_whole_path() -> None:
    class Part(Subsystem):
        def __init__(self) -> None:
            self.frame = Body(mass=1.0, inertia=(1, 1, 1))

    machine = Machine()
    machine.part = Part()
    with pytest.raises(ModelError, match=r"^part\.bob: mass"):
        machine.part.bob = Body(mass=0.0, inertia=(1, 1, 1))


def test_a_body_needs_mass_and_inertia() -> None:
    with pytest.raises(ModelError, match=r"needs mass properties.*inertia="):
        Body(mass=1.0)


def joint(**keywords: object) -> Revolute:
    return Revolute(Ground(), Body(solids.sphere(mass=1, radius=1)), **keywords)  # type: ignore[arg-type]


def test_an_axis_of_another_length_is_normalized_and_said() -> None:
    with pytest.warns(ModelWarning, match=r"length 2; it was normalized"):
        pin = joint(axis=(0, 0, 2))
    assert pin.axis.tolist() == [0, 0, 1]


def test_an_axis_that_misses_unit_length_by_rounding_is_taken_silently(recwarn: pytest.WarningsRecorder) -> None:
    pin = joint(axis=(0.6000000001, 0.8, 0))
    assert np.linalg.norm(pin.axis) == pytest.approx(1, abs=1e-15)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("axis", "cause"), [((0, 0, 0), "no direction"), ("w", "not known"), ((0, 1), "three"), ((0, nan, 1), "finite")]
)
def test_an_axis_without_direction_is_refused(axis: object, cause: str) -> None:
    with pytest.raises(ModelError, match=cause):
        joint(axis=axis)


def test_axes_have_names_and_signs() -> None:
    assert joint(axis="-y").axis.tolist() == [0, -1, 0]


def test_a_quaternion_typed_with_few_digits_is_taken_and_one_of_another_length_is_refused() -> None:
    body = Body(solids.sphere(mass=1, radius=1), start_orientation=(0.7071, 0.7071, 0, 0))
    assert np.linalg.norm(body.start_orientation) == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(ModelError, match=r"^Body: .*length 2, not 1: it is no rotation.*rotation\("):
        Body(solids.sphere(mass=1, radius=1), start_orientation=(0, 2, 0, 0))
    with pytest.raises(ModelError, match=r"length 1\.01"):
        body.at(0, 0, 0, orientation=(1.01, 0, 0, 0))


@pytest.mark.parametrize("orientation", [(0, 0, 0, 0), (1, 0, 0), (nan, 0, 0, 1), np.diag([1, 1, -1]), np.eye(3) * 2])
def test_what_is_no_orientation_is_refused(orientation: object) -> None:
    with pytest.raises(ModelError, match=r"orientation|quaternion"):
        Ground().at(0, 0, 0, orientation=orientation)


@pytest.mark.parametrize("point", [(1, 2), (1, 2, nan), (1, 2, 3, 4)])
def test_a_point_has_three_finite_coordinates(point: tuple[float, ...]) -> None:
    with pytest.raises(ModelError, match=r"not a point.*body\.at"):
        Ground().at(*point)


def test_joints_and_forces_connect_frames_not_other_things() -> None:
    ground, body = Ground(), Body(solids.sphere(mass=1, radius=1))
    with pytest.raises(ModelError, match=r"Revolute connects two frames.*body\.at"):
        Revolute(ground, 3)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="Distance connects two frames"):
        Distance(ground, None, length=1)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="Bushing acts on frames"):
        Bushing("ground", body, k=np.ones(6))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="JointEffort acts on a joint"):
        JointEffort(body, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="not a joint"):
        Drive(body, time)  # type: ignore[arg-type]


def test_an_unknown_start_value_offers_the_nearest() -> None:
    with pytest.raises(ModelError, match=r"no start value 'angel'.*'angle'"):
        joint(angel=1.0)


def test_a_joint_with_several_coordinates_asks_which() -> None:
    slide = Cylindrical(Ground(), Body(solids.sphere(mass=1, radius=1)))
    for make in (
        lambda: JointEffort(slide, 1.0),
        lambda: Drive(slide, time),
        lambda: Gear(slide, slide, ratio=2),
        lambda: RotationalSpringDamper(slide, k=1.0),
    ):
        with pytest.raises(ModelError, match=r'displacement.*angle.*coordinate="angle"'):
            make()
    with pytest.raises(ModelError, match=r"no coordinate 'angel'.*'angle'"):
        Drive(slide, time, coordinate="angel")
    with pytest.raises(ModelError, match=r"no coordinate 'angel'.*'angle'"):
        JointEffort(slide, 1.0, coordinate="angel")


def test_library_elements_refuse_numbers_that_make_no_sense() -> None:
    ground, body = Ground(), Body(solids.sphere(mass=1, radius=1))
    with pytest.raises(ModelError, match="pitch"):
        Screw(ground, body, pitch=0.0)
    with pytest.raises(ModelError, match="length"):
        Distance(ground, body, length=-1.0)
    with pytest.raises(ModelError, match="perpendicular"):
        Universal(ground, body, first_axis="x", second_axis="x")
    with pytest.raises(ModelError, match="symmetric 6x6"):
        Bushing(ground, body, k=np.triu(np.ones((6, 6))))
    with pytest.raises(ModelError, match="six numbers"):
        Bushing(ground, body, k=(1, 2, 3))
    with pytest.raises(ModelError, match="three components"):
        Gravity((0, -9.81))
    with pytest.raises(ModelError, match=r"axes 'bodies'"):
        AppliedLoad(body, force=(1, 0, 0), axes="bodies")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="Bushing instead"):
        RotationalSpringDamper(Spherical(ground, body), k=1.0, coordinate="e0")


@pytest.mark.parametrize(
    "solid",
    [
        lambda: solids.box(mass=1, size=(1, 0, 1)),
        lambda: solids.cylinder(mass=1, length=-1, radius=1),
        lambda: solids.sphere(mass=1, radius=nan),
        lambda: solids.tube(mass=1, length=1, radius=0.1, wall=0.2),
        lambda: solids.ring(mass=1, radius=0),
        lambda: solids.rod(mass=1, length=0),
    ],
)
def test_solids_have_positive_sizes(solid: object) -> None:
    with pytest.raises(ModelError, match=r"not positive|thicker|not finite"):
        solid()  # type: ignore[operator]


def test_a_callable_input_needs_a_period() -> None:
    with pytest.raises(ModelError, match=r"^Machine\.u: .*sampling period.*period=0\.01"):
        Machine().u = Input(lambda t: t)
    with pytest.raises(ModelError, match="sampling period"):
        Machine().u = Input(lambda t: t, period=-0.1)


@pytest.mark.parametrize(
    "table", [([0, 1], [0]), ([0, 0], [1, 2]), ([1, 0], [1, 2]), ([], []), ([0, nan], [1, 2]), ([0, 1], [1, np.inf])]
)
def test_a_bad_table_is_refused(table: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ModelError, match=r"^Machine\.u: the table"):
        Machine().u = Input(table=table)


def test_a_constant_input_is_finite() -> None:
    with pytest.raises(ModelError, match=r"Machine\.u.*not finite"):
        Machine().u = Input(nan)


def test_an_output_is_one_scalar() -> None:
    machine = Machine()
    machine.bob = Body(solids.sphere(mass=1, radius=1))
    with pytest.raises(ModelError, match=r"Machine\.where: an output is one scalar"):
        machine.where = Output(machine.bob.position)


def test_a_model_without_bodies_says_so() -> None:
    with pytest.raises(ModelError, match=r"^Machine: the model has no bodies.*Assign a Body"):
        simulate(Machine(), until=1.0)


def test_what_is_not_a_model_is_refused() -> None:
    with pytest.raises(ModelError, match=r"not a Subsystem.*instance"):
        simulate(Machine, until=1.0)  # type: ignore[arg-type]


def test_start_velocities_and_positions_have_three_components() -> None:
    with pytest.raises(ModelError, match=r"position|three"):
        Body(solids.sphere(mass=1, radius=1), start_position=(1, 2))


def test_a_joint_that_defines_no_pose_says_so() -> None:
    from kompono import Joint

    class Empty(Joint):
        coordinates = ("s",)

    machine = Machine()
    machine.ground, machine.bob = Ground(), Body(solids.sphere(mass=1, radius=1))
    machine.odd = Empty(machine.ground, machine.bob)
    with pytest.raises(ModelError, match=r"Empty does not define pose"):
        simulate(machine, until=1.0)


def test_prismatic_slides_along_its_axis() -> None:
    slide = Prismatic(Ground(), Body(solids.sphere(mass=1, radius=1)), axis="z")
    assert slide.displacement.is_scalar()
    with pytest.raises(AttributeError, match="angle"):
        _ = slide.angle
