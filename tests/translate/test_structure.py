"""The tree that is found, what closes its loops, how to override that, and what is said when no motion follows."""

from __future__ import annotations

import numpy as np
import pytest
from solve.machines import Pendulum, Swing

from kompono import Body, Ground, ModelError, Output, RunError, Subsystem, TranslationError, inspect, simulate
from kompono.library import Gear, Gravity, Prismatic, Revolute, Spherical, Weld, solids
from kompono.spatial.pose import Pose


class Bead(Subsystem):
    """A body without rotational inertia on a joint."""

    def __init__(self, kind: str) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.bead = Body(solids.point(mass=1.0))
        if kind == "pin through the centre":
            self.joint = Revolute(self.ground, self.bead, axis="y")
        elif kind == "ball":
            self.joint = Spherical(self.ground, self.bead.at(0, 0, 1))
        elif kind == "pin":
            self.joint = Revolute(self.ground, self.bead.at(0, 0, 1), axis="y")
        else:
            self.joint = Prismatic(self.ground, self.bead, axis="x")


@pytest.mark.parametrize("kind", ["pin through the centre", "ball"])
def test_a_joint_with_no_inertia_beyond_it_is_named(kind: str) -> None:
    with pytest.raises(TranslationError, match=r"^joint: no mass or inertia beyond this joint.*(inertia|weld)"):
        simulate(Bead(kind), until=0.1)


def test_a_free_point_mass_is_named() -> None:
    class Particle(Subsystem):
        def __init__(self) -> None:
            self.bead = Body(solids.point(mass=1.0))

    with pytest.raises(TranslationError, match=r"^bead: no mass or inertia"):
        simulate(Particle(), until=0.1)


@pytest.mark.parametrize("kind", ["pin", "slide"])
def test_a_point_mass_whose_turning_is_held_is_fine(kind: str) -> None:
    assert simulate(Bead(kind), until=0.1).status.ok


def test_a_massless_end_that_carries_a_real_body_is_fine() -> None:
    class Chain(Bead):
        def __init__(self) -> None:
            super().__init__("pin through the centre")
            self.rod = Body(solids.rod(mass=1, length=1, radius=0.1))
            self.glue = Weld(self.bead, self.rod.at(0, 0, 0.5))

    assert simulate(Chain(), until=0.1, initial={"joint.angle": 1.0}).status.ok


def test_a_tree_has_no_closing_joints() -> None:
    report = inspect(Pendulum())
    assert (report.bodies, report.joints, report.degrees_of_freedom, report.conditions) == (1, 1, 1, 0)
    assert report.loops == ()


def test_a_loop_is_closed_by_the_joint_that_has_no_start_value() -> None:
    report = inspect(Swing())
    assert report.degrees_of_freedom == 1
    assert report.loops[0].startswith("right_knot (revolute, 5 conditions)")
    assert report.redundant_count == 3  # a planar loop in space
    assert any("right_knot" in line for line in report.redundant)


@pytest.mark.filterwarnings("ignore:assembly moved")
def test_the_joint_that_closes_the_loop_can_be_chosen() -> None:
    report = inspect(Swing(), cut=["left_knot"])
    assert report.loops[0].startswith("left_knot")
    here, there = (simulate(Swing(), until=0.5, cut=cut) for cut in ([], ["left_knot"]))
    assert np.abs(here["board.position.z"] - there["board.position.z"]).max() < 1e-7


def test_a_body_can_be_made_a_root_of_the_tree() -> None:
    report = inspect(Swing(), independent=["board"])
    assert report.independent == ("board",)
    assert report.degrees_of_freedom == 1


def test_wrong_names_in_cut_and_independent_offer_the_nearest() -> None:
    with pytest.raises(ModelError, match=r"no joint 'left_not'.*'left_knot'"):
        simulate(Swing(), until=0.1, cut=["left_not"])
    with pytest.raises(ModelError, match=r"no body 'bored'.*'board'"):
        simulate(Swing(), until=0.1, independent=["bored"])


def test_every_joint_of_a_loop_has_channels_also_the_closing_one() -> None:
    result = simulate(Swing(), until=0.5)
    lean = result["right_hook.angle"] + result["right_knot.angle"]  # of the board, which stays level
    assert np.abs(lean).max() < 1e-9
    assert np.abs(result["right_knot.angle.rate"] + result["right_hook.angle.rate"]).max() < 1e-9
    assert np.abs(result["right_knot.angle.acceleration"] + result["right_hook.angle.acceleration"]).max() < 1e-8


def test_start_coordinates_of_a_closing_joint_that_cannot_be_measured_cannot_be_set() -> None:
    class Pin(Revolute):
        def measure(self, pose: Pose) -> None:
            return None

    class Blind(Swing):
        def __init__(self) -> None:
            super().__init__()
            knot = self.right_knot
            self.right_knot = Pin(knot.first, knot.second, axis="y")

    with pytest.raises(RunError, match=r"'right_knot\.angle'.*closes a loop"):
        simulate(Blind(), until=0.1, initial={"right_knot.angle": 0.1})


@pytest.mark.filterwarnings("ignore:assembly moved")
def test_a_gear_on_the_joint_that_closes_a_loop_puts_it_into_the_tree() -> None:
    class Geared(Swing):
        def __init__(self) -> None:
            super().__init__()
            self.mesh = Gear(self.right_hook, self.right_knot, ratio=-1.0)  # true anyway

    class Watched(Geared):
        def __init__(self) -> None:
            super().__init__()
            self.lean = Output(self.left_hook.angle + self.left_knot.angle)  # both as much used as the gear's

    for model in (Geared(), Watched()):
        result = simulate(model, until=0.3)
        assert np.abs(result["right_hook.angle"] + result["right_knot.angle"]).max() < 1e-10
    with pytest.raises(TranslationError, match=r"^mesh: the coordinates of right_knot are coupled.*cut"):
        simulate(Geared(), until=0.3, cut=["right_knot"])


def test_the_report_lists_components_with_their_ports() -> None:
    class Holder(Subsystem):
        def __init__(self) -> None:
            self.pendulum = Pendulum()
            self.pendulum.expose(self.pendulum.rod)

    text = str(inspect(Holder()))
    assert "pendulum: Pendulum" in text
    assert "rod: Body (exposed)" in text
    assert "1 degrees of freedom" in text


def test_equal_components_are_one_type() -> None:
    class Row(Subsystem):
        def __init__(self) -> None:
            self.items = [Pendulum() for _ in range(5)]

    report = inspect(Row())
    assert report.degrees_of_freedom == 5
    assert [t.instances for t in report.types if t.name == "Pendulum"] == [5]
    assert report.kernels < report.calls


def test_a_geared_hinge_may_be_welded_fast() -> None:
    class Locked(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground(), Gravity()
            self.arm, self.wheel = (Body(mass=1.0, inertia=(0.1, 0.1, 0.1)) for _ in range(2))
            self.hinge = Revolute(self.ground, self.arm.at(0.5, 0, 0), axis="y")
            self.shaft = Revolute(self.ground, self.wheel.at(0.1, 0, 0), axis="y")
            self.lock = Weld(self.ground.at(-0.5, 0, 0), self.arm)
            self.mesh = Gear(self.hinge, self.shaft, ratio=-2.0)

    result = simulate(Locked(), until=0.2)
    assert result.status.ok
    assert np.abs(result["shaft.angle"]).max() < 1e-12  # out of balance: by itself it would turn
