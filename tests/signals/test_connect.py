"""Signals as ports: outputs in expressions, inputs fed by owners, open, closed and sealed; what is refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from signals.support import HERE

from kompono import (
    Body,
    Event,
    Ground,
    Input,
    Mode,
    ModelError,
    Output,
    Parameter,
    RunError,
    Sealed,
    State,
    Subsystem,
    TranslationError,
    seal,
    simulate,
    time,
)
from kompono.library import JointEffort, Prismatic, Weld, solids
from kompono.sealed import keys


class Cart(Subsystem):
    """A cart on a rail, pushed by a force, that shows where it is."""

    def __init__(self):
        self.base, self.cart = (Body(solids.sphere(mass=1.0, radius=0.1)) for _ in range(2))
        self.rail = Prismatic(self.base, self.cart, axis="x")
        self.push = Input(unit="N")
        self.position = Output(self.rail.displacement, unit="m")
        self.speed = Output(self.rail.displacement_rate, unit="m/s")
        self.felt = Output(self.rail.force[2], unit="N")
        self.drive = JointEffort(self.rail, self.push - 0.1 * self.speed)
        self.expose(self.base)


class Controller(Subsystem):
    """Position control, in signals alone."""

    def __init__(self, *, stiffness=4.0, damping=0.5):
        self.position, self.speed = Input(unit="m"), Input(unit="m/s")
        self.stiffness = Parameter(stiffness)
        self.error = Output(1.0 - self.position, unit="m")
        self.force = Output(self.stiffness * self.error - damping * self.speed, unit="N")


class Loop(Subsystem):
    def __init__(self, cart=None):
        self.ground, self.plant, self.control = Ground(), cart or Cart(), Controller()
        self.mount = Weld(self.ground, self.plant.base)
        self.connect(self.plant.position, self.control.position)
        self.connect(self.plant.speed, self.control.speed)
        self.connect(self.control.force, self.plant.push)


class Flat(Subsystem):
    """The same by hand."""

    def __init__(self):
        self.ground = Ground()
        self.cart = Body(solids.sphere(mass=1.0, radius=0.1))
        self.rail = Prismatic(self.ground, self.cart, axis="x")
        x, v = self.rail.displacement, self.rail.displacement_rate
        self.drive = JointEffort(self.rail, 4.0 * (1.0 - x) - 0.5 * v - 0.1 * v)


RUN = {"until": 2.0, "step": 1e-2}


@pytest.fixture(scope="module")
def expected():
    return simulate(Flat(), **RUN)["rail.displacement"]


@pytest.mark.parametrize(
    "options",
    [{}, {"engine": "absolute"}, {"method": "Radau", "rtol": 1e-10, "atol": 1e-12}, {"closed": ["plant"]},
     {"closed": ["plant"], "engine": "absolute"}, {"closed": ["plant"], "isolate": ["plant"]}],
)  # fmt: skip
def test_a_loop_of_signals_is_the_model_written_by_hand(options, expected):
    result = simulate(Loop(), **RUN, **options)
    assert result["plant.position"] == pytest.approx(expected, abs=1e-8 if "method" in options else 1e-12)
    assert result["plant.push"] == pytest.approx(result["control.force"], abs=1e-12)
    assert result["control.force"] == pytest.approx(
        4 * (1 - result["plant.position"]) - 0.5 * result["plant.speed"], abs=1e-12
    )
    assert result.units["plant.push"] == "N"


def test_the_discrete_engine_has_signals(expected):
    result = simulate(Loop(), until=2.0, step=1e-4, engine="discrete")
    assert result["plant.position"][::100] == pytest.approx(expected, abs=1e-4)
    assert not result["plant.cart.position.z"].any()  # nothing acts there


def test_a_sealed_part_has_its_signals_as_ports(tmp_path, monkeypatch, expected):
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / "config"))
    keys.make("Ada")
    public = ["push", "position", "speed", "felt"]
    seal(Cart, tmp_path / "cart.part", public=public, targets=HERE)
    result = simulate(Loop(Sealed(tmp_path / "cart.part")), **RUN)
    assert result["plant.position"] == pytest.approx(expected, abs=1e-12)
    assert set(public) <= {name.removeprefix("plant.") for name in result if name.startswith("plant.")}

    class Through(Subsystem):
        """An output that follows an input at once, fed back to it."""

        def __init__(self, part):
            self.ground, self.part = Ground(), part
            self.mount = Weld(self.ground, self.part.base)
            self.connect(self.part.doubled, self.part.push)

    class Doubling(Cart):
        def __init__(self):
            super().__init__()
            self.doubled = Output(2 * self.push)

    seal(Doubling, tmp_path / "double.part", public=["push", "doubled"], targets=HERE)
    for part in (Doubling(), Sealed(tmp_path / "double.part")):
        with pytest.raises(ModelError, match=r"part\.push -> part\.doubled|part\.doubled -> part\.push"):
            simulate(Through(part), **RUN)


def test_modes_states_parameters_and_expressions_are_sources():
    class Sources(Subsystem):
        def __init__(self):
            self.body = Body(mass=1.0, inertia=(1, 1, 1))
            self.part, self.gain = Part(), Parameter(3.0)
            self.passed = Input(0.0)
            self.seen = [Input() for _ in range(6)]
            self.connect(self.part.stage, self.seen[0])
            self.connect(self.part.level, self.seen[1])
            self.connect(self.gain, self.seen[2])
            self.connect(2 * time + self.part.out, self.seen[3])
            self.connect(self.passed, self.seen[4])
            self.connect(7.0, self.seen[5])

    class Part(Subsystem):
        def __init__(self):
            self.stage, self.level = Mode(0), State(1.0)
            self.level.rate = -self.level
            self.out = Output(self.level + 1)
            self.up = Event(time - 0.5, {self.stage: 5})
            self.expose(self.stage, self.level)

    result = simulate(Sources(), until=1.0, step=0.1, inputs={"passed": 2.5})
    seen = [result[f"seen.{k}"] for k in range(6)]
    assert seen[0][-1] == 5
    assert seen[1] == pytest.approx(result["part.level"])
    assert np.all(seen[2] == 3)
    assert seen[3] == pytest.approx(2 * result.time + result["part.level"] + 1)
    assert np.all(seen[4] == 2.5)
    assert np.all(seen[5] == 7)


def built(declare, **parts):
    class Model(Subsystem):
        def __init__(self):
            self.body = Body(mass=1.0, inertia=(1, 1, 1))
            for name, part in parts.items():
                setattr(self, name, part)
            declare(self)

    return Model()


class Gain(Subsystem):
    def __init__(self, factor=2.0):
        self.u = Input(unit="V")
        self.y = Output(factor * self.u, unit="V")


def test_loops_are_refused_with_the_whole_way():
    def ring(model):
        model.connect(model.a.y, model.b.u)
        model.connect(model.b.y, model.c.u)
        model.connect(model.c.y, model.a.u)

    with pytest.raises(ModelError) as caught:
        simulate(built(ring, a=Gain(), b=Gain(), c=Gain()), until=0.1)
    text = str(caught.value)
    around = ["a.u", "a.y", "b.u", "b.y", "c.u", "c.y"]
    assert all(name in text for name in around)
    order = text[text.index("at once: ") + 9 : text.index(". Filter")].split(" -> ")
    assert order[0] == order[-1]
    assert len(order) == 7
    for source, target in pairwise(order):
        assert around[(around.index(source) + 1) % 6] == target
    assert "State" in text
    assert "Mode" in text


def test_a_state_breaks_a_loop():
    def ring(model):
        model.lag = State(0.0)
        model.lag.rate = (model.a.y - model.lag) / 0.1
        model.connect(1.0 - model.lag, model.a.u)

    result = simulate(built(ring, a=Gain()), until=1.0, step=1e-3)
    assert result["lag"][-1] == pytest.approx(2 / 3, abs=1e-9)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda m: [m.connect(m.a.y, m.b.u), m.connect(m.a.y, m.b.u)], "fed already"),
        (lambda m: m.connect(m.force.out, m.a.u), r"a\.u: .*in N, and this input in V"),
        (lambda m: m.connect(m.a.y), "at least two"),
        (lambda m: m.connect(m.a.y, m.b.y), "nothing to connect|is no input"),
        (lambda m: m.connect(m.a.u, m.a.u), "feed itself"),
        (lambda m: m.connect(m.a.y, m.given), r"given: it has a source of its own"),
        (lambda m: m.connect(m.a.y, Input()), "is no input of"),
        (lambda m: m.connect(m.hidden.mode, m.a.u), r"hidden\.mode is not exposed by hidden"),
        (lambda m: setattr(m.a, "u", 3 * time), r"self\.connect\(source, self\.a\.u\)"),
    ],
)
def test_what_is_wrong_is_said(declare, message):
    class Pushing(Subsystem):
        def __init__(self):
            self.out = Output(time, unit="N")

    class Hidden(Subsystem):
        def __init__(self):
            self.mode = Mode(0)

    parts = {"a": Gain(), "b": Gain(), "force": Pushing(), "given": Input(3.0), "hidden": Hidden()}
    with pytest.raises(ModelError, match=message):
        simulate(built(declare, **parts), until=0.1)


def test_a_connected_input_is_not_given_to_a_run_as_well():
    with pytest.raises(RunError, match=r"plant\.push: it is fed by connect\(control\.force, plant\.push\)"):
        simulate(Loop(), **RUN, inputs={"plant.push": 1.0})


def test_a_part_of_a_connected_machine_runs_alone():
    machine = Loop()
    alone = machine.control

    class Bench(Subsystem):
        def __init__(self):
            self.body, self.control = Body(mass=1.0, inertia=(1, 1, 1)), Controller()

    result = simulate(Bench(), until=0.1, inputs={"control.position": 0.25})
    assert np.all(result["control.force"] == 3.0)
    assert alone.position.feed is not None


def test_results_are_signals_where_they_are_well_defined():
    class Load(Subsystem):
        """Reactions as signals, lagged before they act."""

        def __init__(self, direct=False):
            self.ground, self.plant = Ground(), Cart()
            self.mount = Weld(self.ground, self.plant.base)
            self.lag = State(0.0)
            self.lag.rate = (self.plant.felt - self.lag) / 0.01
            self.heavy = Mode(0)
            self.alarm = Event(self.plant.felt - 0.5, {self.heavy: self.plant.felt})
            self.connect(self.plant.felt if direct else self.lag, self.plant.push)

    assert simulate(Load(), until=0.1, step=1e-3).status.ok
    with pytest.raises(TranslationError) as caught:
        simulate(Load(direct=True), until=0.1)
    text = str(caught.value)
    assert "the force of plant.rail -> plant.felt -> plant.push -> plant.drive" in text
    assert "State" in text
