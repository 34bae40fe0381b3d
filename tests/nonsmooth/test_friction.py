"""Friction, clutches, brakes, stops: problems with known answers. Event times at rk4 1 ms to 1e-9 s unless said
otherwise, no event more or less; dopri5 agrees.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from nonsmooth.known import known, known_table, names, times
from nonsmooth.rubbing_machines import (
    Belt,
    Braked,
    Clearance,
    Clutches,
    DryGuide,
    DryPin,
    Oscillator,
    Rattle,
    Stacked,
)

from kompono import (
    Body,
    Event,
    Ground,
    Input,
    JointLaw,
    Mode,
    Output,
    Result,
    RunError,
    State,
    Subsystem,
    TranslationError,
    Unit,
    simulate,
    time,
)
from kompono.library import Contact, JointEffort, Prismatic, Reference, Resistor, VoltageSource

METHODS: dict[str, dict[str, Any]] = {"rk4": {"step": 1e-3}, "dopri5": {"method": "dopri5", "rtol": 1e-11}}
both = pytest.mark.parametrize("method", METHODS)


def run(model: Subsystem, until: float, method: str = "rk4") -> Result:
    result = simulate(model, until=until, **METHODS[method])
    assert result.status.ok
    return result


def close(got: Any, wanted: Any, tolerance: float = 1e-9) -> None:
    assert len(got) == len(wanted)
    assert np.abs(np.asarray(got) - np.asarray(wanted)).max(initial=0.0) < tolerance


@both
def test_n04_a_spring_brings_a_mass_to_rest(method: str) -> None:
    # half periods of pi / 5 s, each less by twice 0.07848 m; it stops where the spring is weaker than the friction
    result = run(Oscillator(2.0, 50.0, 3.924, x=0.5), 3.0, method)
    close(times(result), np.pi / 5 * np.arange(1, 4))
    assert names(result) == ["friction.slips", "friction.slips", "friction.sticks"]
    end = result["slide.displacement"][result.time > 1.9]
    assert np.abs(end + 0.02912).max() < 1e-11
    assert np.ptp(end) < 1e-16  # dopri5 interpolates


@pytest.mark.parametrize(("case", "x", "v", "until"), [("siconos", 12.0, 6.0, 30.0), ("other", 0.5, 0.0, 3.0)])
def test_n04_published(case: str, x: float, v: float, until: float) -> None:
    p = known("n04")[case]
    result = run(Oscillator(p["m"], p["k"], p["F"], x, v), until)
    close(times(result), [event["t"] for event in p["events"]])
    assert abs(result["slide.displacement"][-1] - p["stick_position"]) < 1e-11


@both
def test_n05_a_belt_with_more_static_friction(method: str) -> None:
    result = run(Belt(1.0, 20.0, 0.3, 0.4, 0.5), 10.0, method)
    found = times(result)
    wanted = 0.3924 + np.concatenate([[0.0], np.cumsum([1.2200709469658202615, 0.1962] * 6)])
    close(found, wanted)
    assert names(result) == ["friction.slips", "friction.sticks"] * 6 + ["friction.slips"]


@both
def test_n06_den_hartog(method: str) -> None:
    result = run(Oscillator(1.0, 100.0, 1.962, pull=5 * ca.cos(4 * time)), 9.5, method)
    close(times(result)[:2], [0.2600949057565951, 0.26130661957128826])
    events = known("n06")["a"]["events"]
    close(times(result), [event["t"] for event in events])
    kinds = {"stop": ".sticks", "release": ".slips", "turn": ".slips"}
    assert all(name.endswith(kinds[event["kind"]]) for name, event in zip(names(result), events, strict=True))


def test_n06_in_steps_of_10_ms() -> None:
    pull = 5 * ca.cos(4 * time)
    result = simulate(Oscillator(1.0, 100.0, 1.962, pull=pull), until=9.5, step=1e-2)
    close(times(result), [event["t"] for event in known("n06")["a"]["events"]], 1e-5)


@both
def test_n07_stacked_blocks(method: str) -> None:
    result = run(Stacked(2.0, 1.0, 0.2, 0.3, 10.0), 2.0, method)
    assert names(result) == ["floor.slips", "between.slips"]
    close(times(result), [0.5886, 1.4715])
    bottom = result["lower.displacement"][-1]
    close([bottom, bottom + result["upper.displacement"][-1]], [1.6029930975591667, 1.479979327455])


@both
def test_n15_a_mass_between_two_walls(method: str) -> None:
    result = run(Rattle(2.0, 1.0, 0.02, 0.7), 0.8, method)
    way = 0.01 + 0.02 * np.cumsum([0.0, *(0.7 ** -np.arange(1.0, 8.0))])
    close(times(result), way)
    assert names(result) == ["walls.upper.strikes", "walls.lower.strikes"] * 4
    close([result["mass.velocity.x"][-1], result["box.velocity.x"][-1]], [0.37176534, 0.31411733], 1e-12)


@pytest.mark.parametrize(("chosen", "tolerance"), [({"step": 2e-5}, 1e-9), ({"method": "dopri5", "rtol": 1e-11}, 1e-8)])
def test_n21_a_slider_with_play(chosen: dict[str, Any], tolerance: float) -> None:
    p = known("n21")
    result = simulate(Clearance(p["parameters"], p["start"]["v"], p["e"]), until=0.1, **chosen)
    close(times(result, "opens"), [event["t"] for event in p["lifts"]])
    close(times(result, "strikes"), [event["t"] for event in p["first_impacts"]])
    assert len(times(result)) == 17
    crank, rod = result["bearing.angle"][-1], result["pin.angle"][-1]
    close([crank, crank + rod], p["end"]["q"], tolerance)


@both
def test_n22_a_pendulum_on_a_dry_pin(method: str) -> None:
    result = run(DryPin(2.0, 0.5, 0.6, 0.02, 0.8, 1.2), 14.0, method)
    assert names(result) == ["friction.slips"] * 14 + ["friction.sticks"]
    close(times(result)[:2], [0.8455653595001191, 1.6776351253229955])
    assert abs(result["pin.angle"][-1] + 0.009323648719410745) < 1e-10
    close(times(result), [turn["t"] for turn in known("n22")["turns"]])


@pytest.mark.parametrize("chosen", [{"step": 2e-4}, {"method": "dopri5", "rtol": 1e-11}])
@pytest.mark.filterwarnings("ignore:assembly moved")
def test_n23_a_slider_crank_on_a_dry_guide(chosen: dict[str, Any]) -> None:
    p = known("n23")
    result = simulate(DryGuide(p), until=8.0, **chosen)
    close(times(result), [event["t"] for event in p["events"]])
    assert names(result) == ["friction.slips"] * 10 + ["friction.sticks"]
    assert abs(result["bearing.angle"][-1] - p["end"]["crank"]) < 1e-9


@both
def test_n25_three_clutches(method: str) -> None:
    result = run(Clutches(), 1.5, method)
    wanted = [
        (0.709621474693747, "clutches.1.sticks"),
        (0.7916623591548168, "clutches.0.sticks"),
        (0.8311085061376533, "clutches.0.slips"),
        (0.906850192797879, "clutches.0.sticks"),
        (1.0002958598946388, "clutches.0.slips"),
        (1.143967492473166, "clutches.2.sticks"),
    ]
    found = [event for event in result.statistics["events"] if event[1].startswith("clutches")]
    assert [name for _, name in found] == [name for _, name in wanted]
    close([at for at, _ in found], [at for at, _ in wanted])
    angles = [result[f"shafts.{k}.angle"][-1] for k in range(4)]
    close(angles, [7.486119099114312, 4.107137416329481, 2.7104644362313866, 1.1737438776005176])


def test_n25_published() -> None:
    table = np.genfromtxt(known_table("msl_CoupledClutches_published_dymola.csv"), delimiter=",", names=True)
    result = run(Clutches(), 1.5)
    rate = np.interp(table["time"], result.time, result["shafts.0.angle.rate"])
    assert np.abs(rate - table["J1w"]).max() < 2e-3


@both
def test_a_brake_stops_a_mass(method: str) -> None:
    result = run(Braked(), 2.0, method)
    assert names(result) == ["press", "brake.sticks"]
    close(times(result), [0.1, 1.1])
    assert abs(result["slide.displacement"][-1] - 0.6) < 1e-11


def test_msl_brake_published() -> None:
    table = np.genfromtxt(known_table("msl_Brake_published_dymola.csv"), delimiter=",", names=True)
    result = run(Braked(), 2.0)
    assert np.abs(np.interp(table["time"], result.time, result["slide.displacement"]) - table["mass1s"]).max() < 1e-4


class Halted(Subsystem):
    """A mass sticks to a belt whose speed an event changes at half a second."""

    def __init__(self, speed: float, law: type[JointLaw] | None = None) -> None:
        self.ground, self.mass, self.belt = Ground(), Body(mass=1.0, inertia=(0.1, 0.1, 0.1)), Mode(1.0)
        self.halt = Event(time - 0.5, {self.belt: speed})
        self.slide = Prismatic(self.ground, self.mass, axis="x", displacement_rate=1.0)
        self.rubs = (law or Rubs)(self.slide, self.belt)


class Rubs(JointLaw):
    def __init__(self, slide: Prismatic, belt: Any) -> None:
        super().__init__(slide)
        self.belt = belt

    def units(self) -> Unit:
        return Unit(slip=self.joints[0].displacement_rate - self.belt, limit=2.0)


@pytest.mark.parametrize(("speed", "options"), [(0.0, {}), (-1.0, {"closed": ["part"]}), (2.0, {"engine": "absolute"})])
def test_a_belt_that_stops_at_once_lets_go(speed: float, options: dict[str, Any]) -> None:
    """The mass took its new speed in no time, whatever friction there was."""
    whole = Subsystem()
    whole.add("part", Halted(speed))
    result = simulate(whole, until=0.6, **options)
    assert [name.removeprefix("part.") for name in names(result)] == ["halt", "rubs.slips"]
    assert abs(result["part.slide.displacement.rate"][-1] - (1.0 + 0.2 * np.sign(speed - 1.0))) < 1e-9


class Grips(Rubs):
    def units(self) -> Unit:
        return Unit(slip=self.joints[0].displacement_rate - 1.0, limit=2.0 + self.belt)


def test_what_shifts_has_a_loop_of_its_own() -> None:
    """It had that of a machine which differs in nothing but what its mode acts on, if that ran before."""
    simulate(Halted(0.0, Grips), until=0.6)
    assert names(simulate(Halted(0.0), until=0.6)) == ["halt", "rubs.slips"]


class Told(Subsystem):
    """The belt is as fast as something else: an output, the pin of a network, another joint, a place that moves."""

    def __init__(self, what: str) -> None:
        self.ground, self.masses = Ground(), [Body(mass=1.0, inertia=(0.1, 0.1, 0.1)) for _ in range(2)]
        self.slide, self.other = (Prismatic(self.ground, mass, axis="x") for mass in self.masses)
        self.push, self.told = JointEffort(self.other, 10.0), Output(10 * time)
        self.source, self.zero, self.load = VoltageSource(10 * time), Reference(), Resistor(1.0)
        self.connect(self.zero.pin, self.source.n, self.load.n)
        self.connect(self.source.p, self.load.p)
        speeds = {"the output told": self.told, "a quantity of the network at": self.load.p.v,
                  "a coordinate of other, a joint": self.other.displacement_rate}  # fmt: skip
        if what in speeds:
            self.rubs: Any = Rubs(self.slide, speeds[what])
        else:
            self.rubs = Contact(self.ground.at(0, 0, time - 1).plane(), self.masses[0].sphere(0.1))


@pytest.mark.parametrize(
    "what",
    ["the output told", "a quantity of the network at", "a coordinate of other, a joint", "time in a place on a body"],
)
def test_so_is_what_is_not_seen_through(what: str) -> None:
    with pytest.raises(TranslationError, match=f"^rubs: its gap or slip uses {what}"):
        simulate(Told(what), until=0.6)


class Led(Subsystem):
    """A mass on a belt whose speed is an input, be it over a wire, or a state."""

    def __init__(self, wired: bool = False, state: bool = False) -> None:
        self.ground, self.mass = Ground(), Body(mass=1.0, inertia=(0.1, 0.1, 0.1))
        self.belt = Input() if wired else State(0.0) if state else Input(0.0)
        if isinstance(self.belt, State):
            self.belt.rate = 10.0
        if wired:
            self.speed = Output(time)
            self.connect(self.speed, self.belt)
        self.slide = Prismatic(self.ground, self.mass, axis="x", displacement_rate=1.0)
        self.rubs = Rubs(self.slide, self.belt)


def test_slip_that_follows_what_nobody_knows_the_rate_of_is_refused() -> None:
    """It stuck to a belt that speeded up as fast as it liked, with the status ok."""
    with pytest.raises(RunError, match="rubs: its gap or slip follows the input belt"):
        simulate(Led(), until=0.6, inputs={"belt": ([0.0, 0.2, 0.3], [0.0, 0.0, 1.0])})
    with pytest.raises(TranslationError, match="rubs: its gap or slip uses the input belt, which is connected"):
        simulate(Led(True), until=0.6)
    with pytest.raises(TranslationError, match="rubs: its gap or slip uses the state belt"):
        simulate(Led(state=True), until=0.6)
    assert abs(simulate(Led(), until=0.6, inputs={"belt": 0.5})["slide.displacement.rate"][-1] - 0.5) < 1e-12
