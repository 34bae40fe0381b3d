"""The machine in the page, in a real browser from a file: it moves as native runs do, can be changed and pulled."""

from __future__ import annotations

from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from casadi import cos
from reference.support import example
from view.support import Tab

from kompono import (
    Body,
    Controller,
    Event,
    Ground,
    Input,
    Mode,
    ModelError,
    Parameter,
    Result,
    RunError,
    Subsystem,
    simulate,
    time,
)
from kompono.edges.cli import main
from kompono.edges.view.living import living
from kompono.edges.view.show import view
from kompono.edges.view.touchable import touchable
from kompono.library import AppliedLoad, Distance, Gravity, Revolute, Rotor, SpringDamper

CLOSE = 1e-9
TOLD = """parts => {
  const { engine } = kompono.run, { data } = kompono, rows = [];
  kompono.play(false);
  engine.reset();
  const steps = Math.round(1 / engine.facts.step / parts);
  for (let k = 0; k <= parts; k++) { rows.push([engine.time, ...engine.read()]); if (k < parts) engine.steps(steps); }
  const names = data.living.told.map(k => data.channels[k].name);
  return { rows, names, events: engine.events, status: engine.status };
}"""


class Knocker(Subsystem):
    """A pendulum on a spring, kicked and sampled, that counts how often it passes the middle; its ground shakes."""

    run_defaults = {"until": 1.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self) -> None:
        self.gravity = Gravity()
        self.stiffness = Parameter(30.0, unit="N/m")
        self.push = Input(0.0, unit="N")
        self.ground = Ground((0.05 * (1 - cos(6 * time)), 0, 0))
        self.bob = Body(mass=1.0, inertia=(0.01, 0.01, 0.01))
        self.pin = Revolute(self.ground, self.bob.at(0, 0, 0.4), axis="y", angle=-0.8)
        self.load = AppliedLoad(self.bob, force=(self.push, 0, 0))
        self.spring = SpringDamper(self.ground.at(1, 0, 0), self.bob, k=self.stiffness, c=0.5, rest=1.0)
        self.passed = Mode(0.0)
        self.middle = Event(self.pin.q[0], {self.passed: self.passed + 1})
        self.seen = Mode(0.0, every=0.0137, offset=0.005)
        self.seen.next = self.seen + self.pin.q[0]


class Limb(Subsystem):
    """Two bars on a spring, a part that may stay closed."""

    def __init__(self) -> None:
        self.upper, self.lower = (Body(mass=1.0, inertia=(0.1, 0.1, 0.01)) for _ in range(2))
        self.knee = Revolute(self.upper.at(0, 0, -0.5), self.lower.at(0, 0, 0.5), axis="y", angle=0.3)
        self.spring = SpringDamper(self.upper, self.lower, k=40.0, c=0.4, rest=0.8)
        self.expose(self.upper)


class Hanging(Subsystem):
    """A closed limb below a hinge with the rotor of a motor; gravity is loose in pages."""

    run_defaults = {"until": 1.0, "step": 1e-3, "method": "rk2"}  # noqa: RUF012

    def __init__(self) -> None:
        self.gravity, self.ground, self.limb = Gravity(), Ground(), Limb(closed=True)
        self.hip = Revolute(self.ground, self.limb.upper.at(0, 0, 0.5), axis="y", angle=0.6)
        self.rotor = Rotor(self.hip, inertia=1e-4, ratio=20.0)


class Chain(Subsystem):
    """Two bars whose end a rod holds: where they start depends on its length."""

    def __init__(self) -> None:
        self.gravity, self.ground, self.length = Gravity(), Ground(), Parameter(0.9, unit="m")
        self.first, self.second = (Body(mass=1.0, inertia=(0.1, 0.1, 0.01)) for _ in range(2))
        self.upper = Revolute(self.ground, self.first.at(0, 0, 0.5), axis="y", angle=0.4)
        self.lower = Revolute(self.first.at(0, 0, -0.5), self.second.at(0, 0, 0.5), axis="y")
        self.rod = Distance(self.second.at(0, 0, -0.5), self.ground.at(1, 0, -1), length=self.length)


def row_of_four_bars() -> Subsystem:
    return example("reference/n_four_bar").NFourBar(3)


MACHINES = {
    "car": lambda: example("car").Car(), "engine": lambda: example("engine").Engine(),
    "manipulator": lambda: example("manipulator").Manipulator(), "row": row_of_four_bars, "knocker": Knocker,
    "hanging": Hanging,
}  # fmt: skip


@cache
def written(name: str) -> tuple[str, Result]:
    """The living page of a machine, and a native run of it over a second."""
    from kompono.edges.view import page
    from kompono.scene import Scene

    model = MACHINES[name]()
    options = {**model.run_defaults, "until": 1.0, "every": 1, "progress": False}
    result = simulate(model, **options)
    assert result.scene is not None
    return page(Scene.from_data(result.scene), result, living=living(model, options)), result


def opened(tab: Tab, name: str, folder: Path) -> Any:
    file = folder / f"{name}.html"
    file.write_text(written(name)[0], encoding="utf-8")
    tab.open(f"{file.as_uri()}#wait")
    tab.page.wait_for_selector("body[data-ready=yes]")
    return tab.page


def assert_same(told: Any, result: Result) -> None:
    """All channels of a page are those of a run, relative to their largest value; quaternions up to their sign."""
    assert told["status"] == 0
    rows = np.array(told["rows"])
    numbers = np.searchsorted(result.time, rows[:, 0] - 1e-9)
    assert result.time[numbers] == pytest.approx(rows[:, 0], abs=1e-12)
    for k, name in enumerate(told["names"], 1):
        found, wanted = rows[:, k], result[name][numbers]
        scale = max(1.0, float(np.abs(result[name]).max()))
        off = np.abs(found - wanted)
        if ".orientation." in name:
            off = np.minimum(off, np.abs(found + wanted))
        elif result.units[name] == "rad":  # within a turn, or counted on
            off = np.abs((found - wanted + np.pi) % (2 * np.pi) - np.pi)
        assert off.max() <= CLOSE * scale, name


@pytest.mark.parametrize("name", MACHINES)
def test_it_moves_as_native_runs_do(name: str, tab: Tab, tmp_path: Path) -> None:
    page, result = opened(tab, name, tmp_path), written(name)[1]
    told = page.evaluate(TOLD, 10)
    assert_same(told, result)
    happened = list(result.statistics.get("events", ()))
    assert [what for _, what in told["events"]] == [what for _, what in happened]
    assert [when for when, _ in told["events"]] == pytest.approx([when for when, _ in happened], abs=CLOSE)
    assert bool(happened) == (name in ("engine", "knocker"))
    assert len(written(name)[0]) < 1.5e6
    assert tab.complaints == []
    assert [address for address in tab.requests if not address.startswith(("file:", "blob:", "data:"))] == []


def test_it_plays_waits_steps_and_begins_anew(tab: Tab, tmp_path: Path) -> None:
    page = opened(tab, "knocker", tmp_path)
    assert page.evaluate("kompono.run.time") == 0
    page.click("#play")
    tab.wait(lambda: page.evaluate("kompono.run.time") > 0.1)
    page.click("#play")
    there = page.evaluate("kompono.run.time")
    page.click("#step")
    assert page.evaluate("kompono.run.time") == pytest.approx(there + 1e-3)
    page.evaluate("kompono.seek(0.05)")  # it can be looked back at
    assert page.evaluate("kompono.run.time") == pytest.approx(0.05)
    page.click("#reset")
    assert page.evaluate("[kompono.run.time, kompono.run.engine.time]") == [0, 0]
    assert tab.complaints == []


def test_a_changed_parameter_acts_as_in_a_native_run(tab: Tab, tmp_path: Path) -> None:
    """Declared parameters, and numbers of springs that were literals in the model."""
    car = example("car")
    page = opened(tab, "car", tmp_path)
    number = "kompono.run.parameters.findIndex(one => one.name === name)"
    for name in ("left.damper.spring.k", "right.damper.spring.k"):
        page.evaluate(f"([name, value]) => kompono.run.setParameter({number}, value)", [name, 8e4])
    told = page.evaluate(TOLD, 4)

    def stiff() -> Any:
        return car.Damper(stiffness=8e4, length=0.6 * (sqrt(2) - 1))

    assert_same(told, simulate(car.Car(stiff), until=1.0, progress=False))


def test_sliders_reach_inputs_and_parameters(tab: Tab, tmp_path: Path) -> None:
    page = opened(tab, "knocker", tmp_path)
    names = set(page.locator(".knob .channel").all_inner_texts())
    assert {"push", "stiffness", "gravity.strength", "spring.c", "spring.rest"} == names
    field = page.get_by_label("stiffness in N/m")
    field.fill("55")
    field.press("Enter")
    told = page.evaluate(TOLD, 4)
    assert_same(told, simulate(Knocker(), until=1.0, parameters={"stiffness": 55.0}, progress=False))
    page.get_by_label("push in N").fill("3")
    page.get_by_label("push in N").press("Enter")
    told = page.evaluate(TOLD, 4)
    changed = {"parameters": {"stiffness": 55.0}, "inputs": {"push": 3.0}}
    assert_same(told, simulate(Knocker(), until=1.0, progress=False, **changed))


def test_keys_steer_an_input(tab: Tab, tmp_path: Path) -> None:
    page = opened(tab, "knocker", tmp_path)
    page.get_by_label("what steers push").select_option("a d")
    held = "[...kompono.run.engine.overrides.values()]"
    page.locator("#view").focus()
    page.keyboard.down("d")
    tab.wait(lambda: page.evaluate(held) == [1])
    page.keyboard.up("d")
    tab.wait(lambda: page.evaluate(held) == [0])
    page.keyboard.down("a")
    tab.wait(lambda: page.evaluate(held) == [-1])
    assert tab.complaints == []


PAD = """axes => {
  Object.defineProperty(navigator, "getGamepads", { value: () => [null, { axes }], configurable: true });
}"""


def test_a_stick_steers_an_input(tab: Tab, tmp_path: Path) -> None:
    page = opened(tab, "knocker", tmp_path)
    page.get_by_label("what steers push").select_option("axis 1")
    for tilt, wanted in ((0.5, 0.5), (-1.0, -1.0), (0.05, 0.0)):  # so little is no tilt
        page.evaluate(PAD, [0.9, tilt, 0.0, 0.0])
        tab.wait(lambda wanted=wanted: page.evaluate("[...kompono.run.engine.overrides.values()]") == [wanted])
    assert tab.complaints == []


def test_what_the_start_depends_on_is_not_offered() -> None:
    fixed = {one["name"]: one["fixed"] for one in living(Chain(), {"until": 1.0}).facts["parameters"]}
    assert fixed == {"length": True, "gravity.strength": False}


def test_a_body_that_is_pulled_moves(tab: Tab, tmp_path: Path) -> None:
    page = opened(tab, "manipulator", tmp_path)
    box = page.locator("#view").bounding_box()
    on = "() => { while (kompono.run.engine.time < 0.1) kompono.run.advance(0.002); return kompono.run.table; }"
    rest = page.evaluate(on)
    spot = page.evaluate(
        """() => { kompono.run.begin(); kompono.show(); kompono.machine.world.updateMatrixWorld();
        const k = kompono.data.carriers.findIndex(c => c.path === "arm.link2.beam");
        return [...kompono.machine.onScreen(kompono.machine.carriers[k].position), k]; }"""
    )
    page.keyboard.down("Alt")
    page.mouse.move(box["x"] + spot[0], box["y"] + spot[1])
    page.mouse.down()
    assert page.evaluate("kompono.run.hand !== null")
    page.mouse.move(box["x"] + spot[0] + 120, box["y"] + spot[1] - 60)
    pulled = page.evaluate(on)
    assert page.evaluate("kompono.run.hand.force.length()") > 1
    page.mouse.up()
    page.keyboard.up("Alt")
    assert page.evaluate("kompono.run.hand === null")
    beam = slice(7 * spot[3], 7 * spot[3] + 3)
    assert np.linalg.norm(np.subtract(pulled, rest)[beam]) > 0.005
    assert tab.complaints == []


class Steered(Subsystem):
    """A pendulum that Python steers."""

    def __init__(self, by: str) -> None:
        self.gravity, self.ground = Gravity(), Ground()
        self.bob = Body(mass=1.0, inertia=(0.01, 0.01, 0.01))
        self.pin = Revolute(self.ground, self.bob.at(0, 0, 0.4), axis="y", angle=0.8)
        self.torque = Input(0.0, unit="N m")
        self.load = AppliedLoad(self.bob, torque=(0, self.torque, 0))
        if by == "controller":
            self.controller = Controller(lambda t, x: 0.0, every=0.01, reads=[self.pin.q[0]], writes=self.torque)
        else:
            self.torque.value, self.torque.period = (lambda t: 0.0), 0.01


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (lambda: example("woodpecker").Woodpecker(), {}, "--contact soft"),
        (lambda: Steered("callable"), {}, "torque.*Python callable"),
        (lambda: Steered("controller"), {}, "asks a Python callable"),
        (Knocker, {"method": "dopri5"}, "equal steps"),
        (Knocker, {"method": "Radau"}, "equal steps"),
        (Chain, {"engine": "discrete"}, "no code for other processors"),
    ],
)
def test_what_cannot_run_in_a_page_is_refused_in_words(make: Any, options: dict, words: str) -> None:
    with pytest.raises((ModelError, RunError), match=words):
        living(make(), {"until": 1.0, **options})


def test_only_models_live() -> None:
    result = written("knocker")[1]
    with pytest.raises(RunError, match="only a model can live"):
        view(result, live=True, port=0)


def test_the_model_is_as_it_was_afterwards() -> None:
    model = Knocker()
    before = {e.path: dict(vars(e)) for e in model.walk()}
    with touchable(model) as touched:
        assert "spring.c" in touched.parameters
        assert touched.pulled == ["bob"]
        assert touched.is_hand("bob.pull.force.x")
        assert not touched.is_hand("bob.position.x")
    after = {e.path: dict(vars(e)) for e in model.walk()}
    assert before.keys() == after.keys()
    for path, attributes in before.items():
        assert attributes.keys() == after[path].keys()
        assert all(attributes[name] is after[path][name] for name in attributes)
    simulate(model, until=0.01, progress=False)
    with touchable(Hanging()) as touched:
        assert touched.pulled == ["limb.upper", "limb.lower"]  # no hand on the disc of the rotor


def test_the_command_writes_a_living_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "pendulum.html"
    file = tmp_path / "pendulum.py"
    file.write_text(
        "from kompono import Body, Ground, Subsystem\nfrom kompono.library import Gravity, Revolute\n\n\n"
        "class Pendulum(Subsystem):\n    def __init__(self):\n        self.gravity, self.ground = Gravity(), Ground()\n"
        "        self.bob = Body(mass=1, inertia=(0.01, 0.01, 0.01))\n"
        "        self.pin = Revolute(self.ground, self.bob.at(0, 0, 0.4), axis='y', angle=0.8)\n"
    )
    assert main(["view", str(file), "--live", "--html", str(target)]) == 0
    assert "MB" in capsys.readouterr().out
    text = target.read_text(encoding="utf-8")
    assert "'wasm-unsafe-eval'" in text
    assert main(["view", str(file), "--html", str(target)]) == 0
    assert "wasm-unsafe-eval" not in target.read_text(encoding="utf-8").split("</head>")[0]
    assert main(["view", str(file), "--live", "--method", "dopri5", "--html", str(target)]) == 1
    assert "equal steps" in capsys.readouterr().err
