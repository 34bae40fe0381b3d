"""Laws are seen: channels, symbols in outputs and events, drift, inspect, summaries, plots, scenes."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import (
    Body,
    Event,
    Ground,
    LoadCell,
    Mode,
    ModelError,
    Output,
    Result,
    Subsystem,
    TranslationError,
    inspect,
    simulate,
    time,
)
from kompono.library import Free, Gravity, JointEffort, Prismatic, Revolute, solids
from kompono.model.law import JointLaw, PairLaw, Unit
from kompono.scene import Scene, matrices, poses
from kompono.spatial.pose import Motion

G = 9.81


class Stops(JointLaw):
    def units(self) -> list[Unit]:
        q = self.joints[0].q[0]
        return [Unit("low", gap=q + 0.1, restitution=0.0), Unit("high", gap=0.1 - q)]


class Dry(JointLaw):
    def __init__(self, joint: Any, limit: float, **more: Any) -> None:
        super().__init__(joint)
        self.limit, self.more = limit, more

    def units(self) -> Unit:
        return Unit(slip=self.joints[0].v[0], limit=self.limit, **self.more)


class Feet(PairLaw):
    """Four corners of a crate on the floor."""

    def __init__(self, first: Any, second: Any, mu: float) -> None:
        super().__init__(first, second)
        self.mu = mu

    def units(self, motion: Motion) -> list[Unit]:
        found = []
        for k, (x, y) in enumerate([(-1, -1), (1, -1), (1, 1), (-1, 1)]):
            arm = motion.rotation @ ca.DM([0.2 * x, 0.15 * y, -0.1])
            point = motion.position + arm
            slip = (motion.velocity + ca.cross(motion.angular_velocity, arm))[:2]
            found.append(Unit(str(k), gap=point[2], slip=slip, mu=self.mu, point=point))
        return found


class Crate(Subsystem):
    """Slides on the floor, or falls on it."""

    def __init__(self, vx: float = 2.0, z: float = 0.1) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.crate = Body(solids.box(mass=5.0, size=(0.4, 0.3, 0.2)))
        self.free = Free(self.ground, self.crate, x=0, y=0, z=z, vx=vx)
        self.feet = Feet(self.ground, self.crate, 0.3)
        self.cell = LoadCell(self.feet)
        self.carried = Output(ca.sum1(self.feet.normal), unit="N")


class Slider(Subsystem):
    """A block between stops, pushed to and fro; an event sees the force of a stop."""

    def __init__(self, guard: str = "normal") -> None:
        self.ground = Ground()
        self.block = Body(solids.box(mass=2.0, size=(0.1, 0.1, 0.1)))
        self.rail = Prismatic(self.ground, self.block, axis="x", displacement_rate=1.0)
        self.stops = Stops(self.rail)
        self.push = JointEffort(self.rail, 3 * ca.sin(4 * time))
        self.seen = Mode(0)
        loads = {"normal": self.stops.normal[1], "acceleration": -self.block.acceleration[0] + 100}
        self.pressed = Event(loads[guard] - 2.4, {self.seen: self.stops.normal[1] + self.seen})
        self.both = Output(self.stops.normal[0] - self.stops.normal[1], unit="N")


@pytest.fixture(scope="module")
def slider() -> Result:
    return simulate(Slider(), until=2.0, step=1e-3)


@pytest.fixture(scope="module")
def crate() -> Result:
    return simulate(Crate(), until=0.5, step=1e-3)


def test_channels_of_stops(slider: Result) -> None:
    names = [name for name in slider.names if name.startswith("stops.")]
    assert names == [f"stops.{side}.{kind}" for side in ("low", "high") for kind in ("gap", "normal", "mode")]
    assert [slider.units[name] for name in names[:3]] == ["m", "N", ""]
    closed = slider["stops.high.mode"] > 0
    assert 0.2 < closed.mean() < 0.5
    assert np.abs(slider["stops.high.gap"][closed]).max() < 1e-11
    assert slider["stops.high.normal"][~closed].max() == 0.0
    push = 3 * np.sin(4 * slider.time)
    assert np.abs(slider["stops.high.normal"] - push)[closed].max() < 1e-11
    assert slider["both"] == pytest.approx(slider["stops.low.normal"] - slider["stops.high.normal"], abs=1e-15)


def test_raw_modes_are_not_shown_twice(slider: Result, crate: Result) -> None:
    assert not [name for name in (*slider.names, *crate.names) if name.endswith((".closed", ".slips", ".direction.x"))]
    assert "seen" in slider


def test_events_see_forces_and_accelerations(slider: Result) -> None:
    happened = [when for when, name in slider.statistics["events"] if name == "pressed"]
    assert happened == pytest.approx([np.arcsin(0.8) / 4], abs=1e-9)  # 3 sin 4t = 2.4 while the stop is closed
    assert slider["seen"][-1] == pytest.approx(2.4, abs=1e-8)


def test_guards_may_use_accelerations() -> None:
    with pytest.warns(match="above zero"):
        assert simulate(Slider("acceleration"), until=0.1, step=1e-3).status.ok


class Housed(Subsystem):
    """A slider's base on a spring; the slider is a part."""

    def __init__(self, inside: bool) -> None:
        self.ground, self.part = Ground(), Inner(inside)
        self.slide = Prismatic(self.ground, self.part.base, axis="x")
        self.hold = JointEffort(self.slide, -100 * self.slide.displacement)
        self.seen = Mode(0)
        self.strong = Event(self.slide.force[2] * 0 + self.part.base.acceleration[0] - 1.0, {self.seen: 1})


class Inner(Subsystem):
    def __init__(self, inside: bool) -> None:
        self.base = Body(solids.box(mass=2.0, size=(0.1, 0.1, 0.1)))
        self.block = Body(solids.box(mass=2.0, size=(0.1, 0.1, 0.1)))
        self.expose(self.base)
        self.rail = Prismatic(self.base, self.block, axis="x", displacement_rate=1.0)
        self.stops = Stops(self.rail)
        if inside:
            self.mode = Mode(0)
            self.felt = Event(self.stops.normal[0] - 1.0, {self.mode: 1})


def test_results_in_events_of_the_owner_of_closed_parts() -> None:
    runs = [simulate(Housed(False), until=1.0, step=1e-3, closed=closed) for closed in ([], ["part"])]
    assert {name for _, name in runs[0].statistics["events"]} >= {"strong", "part.stops.high.strikes"}
    for (a, one), (b, other) in zip(*[run.statistics["events"] for run in runs], strict=True):
        assert one == other
        assert a == pytest.approx(b, abs=1e-11)
    for name in ("part.stops.high.normal", "part.stops.high.mode", "part.stops.low.gap"):
        assert runs[0][name] == pytest.approx(runs[1][name], abs=1e-9)
    assert runs[1]["drift.position"].max() < 1e-11


def test_results_in_events_inside_closed_parts_are_refused() -> None:
    assert simulate(Housed(True), until=0.1, step=1e-3).status.ok
    with pytest.raises(TranslationError, match=r"felt: it uses an acceleration or a load.*outside"):
        simulate(Housed(True), until=0.1, step=1e-3, closed=["part"])


def test_channels_of_a_pair(crate: Result) -> None:
    units = {"gap": "m", "normal": "N", "slip.x": "m/s", "friction.y": "N", "mode": "", "point.z": "m", "force.x": "N",
             "torque.z": "N m"}  # fmt: skip
    for kind, unit in units.items():
        assert crate.units[f"feet.2.{kind}"] == unit
    assert np.all(crate["feet.2.mode"] == 2)
    normal = sum(crate[f"feet.{k}.normal"] for k in range(4))
    assert normal == pytest.approx(5 * G, abs=1e-10)
    assert crate["carried"] == pytest.approx(normal, abs=1e-12)
    for k in range(4):
        assert crate[f"feet.{k}.friction.x"] == pytest.approx(-0.3 * crate[f"feet.{k}.normal"], abs=1e-10)
        assert crate[f"feet.{k}.force.z"] == pytest.approx(crate[f"feet.{k}.normal"], abs=1e-12)
    assert crate["feet.force.z"] == pytest.approx(5 * G, abs=1e-10)
    assert crate["feet.force.x"] == pytest.approx(-0.3 * 5 * G, abs=1e-10)
    assert crate["cell.force.x"] == pytest.approx(crate["feet.force.x"], abs=1e-12)
    assert crate["feet.torque.y"] == pytest.approx(0.0, abs=1e-10)  # the crate does not tip
    assert crate["feet.1.point.x"] == pytest.approx(crate["crate.position.x"] + 0.2, abs=1e-12)
    assert crate["feet.1.slip.x"] == pytest.approx(2.0 - 0.3 * G * crate.time, abs=1e-9)


def test_energy_and_power_agree(crate: Result) -> None:
    """What friction takes is what the crate loses."""
    power = np.sum([crate[f"feet.{k}.friction.x"] * crate[f"feet.{k}.slip.x"] for k in range(4)], axis=0)
    lost = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(crate.time))])
    assert crate["energy.total"] - crate["energy.total"][0] == pytest.approx(lost, abs=1e-8)


class Stuck(Subsystem):
    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.arm = Body(solids.rod(mass=1.0, length=1.0, radius=0.02))
        self.pin = Revolute(self.ground, self.arm.at(0, 0, 0.5), axis="y", angle=0.1)
        self.dry = Dry(self.pin, 2.0, limit_static=2.5)
        self.held = Output(self.dry.friction, unit="N m")


def test_friction_of_a_joint() -> None:
    result = simulate(Stuck(), until=0.1, step=1e-3)
    assert [name for name in result.names if name.startswith("dry.")] == ["dry.slip", "dry.friction", "dry.mode"]
    assert [result.units[f"dry.{kind}"] for kind in ("slip", "friction")] == ["rad/s", "N m"]
    assert np.all(result["dry.mode"] == 1)
    assert result["held"] == pytest.approx(G * 0.5 * np.sin(0.1), abs=1e-12)
    assert result["drift.velocity"].max() < 1e-15


def test_laws_may_not_use_results() -> None:
    model = Stuck()
    model.pin2 = JointEffort(model.pin, model.dry.friction)
    with pytest.raises(TranslationError, match="it uses the friction of dry, which is a result"):
        simulate(model, until=0.1)


def test_units_of_one_name_are_refused() -> None:
    class Twice(JointLaw):
        def units(self) -> list[Unit]:
            return [Unit(gap=self.joints[0].q[0]), Unit(gap=-self.joints[0].q[0])]

    model = Slider()
    model.twice = Twice(model.rail)
    with pytest.raises(ModelError, match="one name"):
        simulate(model, until=0.1)


def test_inspect_lists_laws() -> None:
    report = inspect(Crate())
    assert report.laws[0] == (
        "feet.0: gap [m] never negative, slip [m/s] in a plane, friction up to 0.3 x its normal force"
    )
    assert "Laws: 4 units" in str(report)
    assert inspect(Stuck()).laws == ("dry: slip [rad/s], friction up to 2 (at rest 2.5) N m",)


def test_summary_counts_events(slider: Result) -> None:
    lines = [line for line in slider.summary().splitlines() if line.startswith("  events")]
    assert any("1 x pressed" in line and "0.231823805 s" in line for line in lines)
    assert len(lines) == len({name for _, name in slider.statistics["events"]})


def test_plots_mark_events(slider: Result) -> None:
    pytest.importorskip("matplotlib")
    figure = slider.plot("stops.*.normal").figure()
    names = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert sorted(names) == sorted({name for _, name in slider.statistics["events"]})
    assert not slider.plot("stops.*.normal", events=False).figure().legends
    assert not slider.plot("stops.high.normal", x="rail.displacement").figure().legends
    assert not slider.plot("stops.*.normal", compare=[slider]).figure().axes[0].collections


def test_many_events_are_ticks(slider: Result) -> None:
    pytest.importorskip("matplotlib")
    busy = simulate(Slider(), until=2.0, step=1e-3)
    busy.statistics["events"] = [(0.1 * k, "tick") for k in range(15)]
    figure = busy.plot("stops.*.normal").figure()
    assert not figure.legends
    assert len(figure.axes[0].collections[0].get_segments()) == 15


def test_contacts_are_drawn_where_they_are_closed() -> None:
    result = simulate(Crate(vx=0.0, z=0.15), until=0.5, step=1e-3)
    assert result.scene is not None
    scene = Scene.from_data(result.scene)
    assert [part.path for part in scene.parts][-1] == "feet"
    tips = [k for k, carrier in enumerate(scene.carriers) if carrier.kind == "tip"]
    table = poses(scene, result)
    length = np.linalg.norm(table[:, tips, :3] - table[:, [k - 1 for k in tips], :3], axis=-1)
    closed = np.column_stack([result[f"feet.{k}.mode"] > 0 for k in range(4)])
    assert np.all((length > 0) == closed)
    assert length[-1] == pytest.approx(scene.carriers[tips[0]].reach, rel=1e-6)
    placed = matrices(scene, table[[0, -1]])
    arrows = [i for i, piece in enumerate(scene.pieces) if piece.kind == "arrow"]
    sizes = np.linalg.norm(placed[:, arrows, :3, :3], axis=-2)
    assert sizes[0].max() <= 1e-8
    assert np.ptp(sizes[1], axis=-1).max() < 1e-12  # grown alike in all directions


def test_contacts_that_were_not_recorded_are_not_drawn() -> None:
    result = simulate(Crate(), until=0.05, step=1e-3, channels=["*.position.*", "*.orientation.*"])
    assert result.scene is not None
    assert all(carrier.kind in ("body", "ground") for carrier in Scene.from_data(result.scene).carriers)
