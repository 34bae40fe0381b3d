"""Networks across the borders of closed and sealed parts: by what parts answer at their pins = as one whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kompono import (
    Body,
    Electrical,
    Ground,
    Hydraulic,
    Input,
    ModelError,
    Output,
    Parameter,
    Sealed,
    Subsystem,
    seal,
    simulate,
    simulate_many,
)
from kompono.compile import targets
from kompono.library import (
    Capacitor,
    CurrentSource,
    DCMotor,
    Diode,
    Drag,
    GearTrain,
    Gravity,
    Housing,
    Inductor,
    Inertia,
    Orifice,
    PressureSource,
    Reference,
    Resistor,
    Revolute,
    Shaft,
    Switch,
    Tank,
    Transformer,
    VoltageSource,
    Weld,
)
from kompono.sealed import keys

HERE = [str(targets.fitting(targets.TARGETS))]
SEEDS = range(20) if os.environ.get("KOMPONO_LAWS") else (0,)
ENGINES = ("relative", "absolute")


class Branch(Subsystem):
    """Something between two pins, with a resistor in series."""

    def __init__(self, rng: np.random.Generator) -> None:
        kind, size = rng.integers(7), float(rng.uniform(0.5, 2.0))
        self.r = Resistor(float(rng.uniform(0.5, 3.0)))
        self.p, self.n = Electrical(), Electrical()
        if kind == 0:
            self.inner: Any = Inductor(1e-3 * size, current=size)
        elif kind == 1:
            self.inner = Capacitor(1e-4 * size, voltage=size)
        elif kind == 2:
            self.inner = VoltageSource(size)
        elif kind == 3:
            self.inner = CurrentSource(size)
            self.beside = Resistor(2.0)
            self.connect(self.beside.p, self.inner.p)
            self.connect(self.beside.n, self.inner.n)
        elif kind == 4:
            self.inner = DCMotor(resistance=size, inductance=1e-3, k=0.1)
            self.rotor, self.drag, self.bed = Inertia(1e-4), Drag(1e-3), Housing()
            self.connect(self.inner.shaft, self.rotor.pin, self.drag.p)
            self.connect(self.drag.n, self.bed.pin)
        elif kind == 5:
            self.inner = DCMotor(resistance=size, inductance=1e-3, k=0.1)
            self.ground, self.link = Ground(), Body(mass=size, inertia=(0.01, 0.02, 0.02))
            self.pin = Revolute(self.ground, self.link.at(-0.1, 0, 0), axis="y")
            self.box, self.shaft = GearTrain(10.0), Shaft(self.pin)
            self.connect(self.inner.shaft, self.box.fast)
            self.connect(self.box.slow, self.shaft.flange)
        else:
            self.inner = Diode(on=0.1, off=0.01, knee=0.3)
        self.connect(self.p, self.r.p)
        self.connect(self.r.n, self.inner.p)
        self.connect(self.n, self.inner.n)
        self.expose(self.p, self.n)


class Group(Subsystem):
    """Branches between numbered nodes, some of them in groups of their own."""

    def __init__(self, rng: np.random.Generator, nodes: int, depth: int) -> None:
        self.parts = [self._part(rng, nodes, depth) for _ in range(2)]
        met: dict[int, list[Any]] = {}
        for part in self.parts:
            ends = part.ends if isinstance(part, Group) else {}
            ends = ends or dict(zip(rng.permutation(nodes), (part.p, part.n), strict=False))
            for node, pin in ends.items():
                met.setdefault(int(node), []).append(pin)
        self.pins = {f"at{node}": Electrical() for node in met}
        self.ends = {node: self.pins[f"at{node}"] for node in met}
        for node, pins in met.items():
            self.connect(self.ends[node], *pins)
        self.expose(*self.ends.values())

    def _part(self, rng: np.random.Generator, nodes: int, depth: int) -> Any:
        if depth and rng.random() < 0.6:
            return Group(rng, nodes, depth - 1)
        return Branch(rng)


class Whole(Subsystem):
    """Two groups on common nodes, each with a resistor to the reference."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.gravity, self.zero = Gravity(), Reference()
        self.ground, self.weight = Ground(), Body(mass=1.0, inertia=(1, 1, 1))  # a model has bodies
        self.held = Weld(self.ground, self.weight)
        self.groups = [Group(rng, 3, 2) for _ in range(2)]
        self.leaks = [Resistor(5.0 + k) for k in range(3)]
        met: dict[int, list[Any]] = {k: [leak.p] for k, leak in enumerate(self.leaks)}
        for group in self.groups:
            for node, pin in group.ends.items():
                met[node].append(pin)
        for pins in met.values():
            self.connect(*pins)
        self.connect(self.zero.pin, *[leak.n for leak in self.leaks])
        self.seen = Output(self.groups[0].ends[next(iter(self.groups[0].ends))].i, unit="A")


def closed_at_random(model: Subsystem, seed: int) -> list[str]:
    rng = np.random.default_rng([seed, 1])
    parts = [part.path for part in model.walk() if isinstance(part, Group | Branch | DCMotor | VoltageSource)]
    return [path for path in parts if rng.random() < 0.5] or parts[:1]


def worst(first: Any, second: Any) -> float:
    names = [name for name in first.names if name in second.names]
    assert len(names) > 10
    return max(np.abs(first[n] - second[n]).max() / (1 + np.abs(first[n]).max()) for n in names)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", SEEDS)
def test_networks_nested_at_random_are_the_same_closed_and_open(seed: int, engine: str) -> None:
    asked: dict[str, Any] = {"until": 5e-4, "step": 5e-5, "engine": engine}
    model = Whole(seed)
    whole = simulate(model, **asked)
    parts = simulate(model, closed=closed_at_random(model, seed), **asked)
    assert whole.status.ok
    assert parts.status.ok
    assert set(whole.names) == set(parts.names)
    assert worst(whole, parts) < 1e-11


class Lift(Subsystem):
    """A link on a motor, from a battery behind a lead; parts as they are made."""

    def __init__(self, battery: Any, lead: Any, drive: Any) -> None:
        self.battery, self.zero, self.lead, self.drive = battery, Reference(), lead, drive
        self.ground, self.gravity = Ground(), Gravity()
        self.hold = Weld(self.ground, self.drive.bed)
        self.connect(self.battery.p, self.lead.p)
        self.connect(self.lead.n, self.drive.p)
        self.connect(self.drive.n, self.drive.earth, self.battery.n, self.zero.pin)
        self.power = Output(self.drive.p.v * self.drive.p.i, unit="W")


class Drive(Subsystem):
    """A motor on a joint, with a switch; two of its pins are one node."""

    def __init__(self) -> None:
        self.bed, self.link = Body(mass=3.0, inertia=(0.1, 0.1, 0.1)), Body(mass=2.0, inertia=(1e-3, 0.03, 0.03))
        self.pin = Revolute(self.bed, self.link.at(-0.2, 0, 0), axis="-y")
        self.motor = DCMotor(resistance=1.0, inductance=5e-3, k=0.05)
        self.box, self.shaft, self.spark = GearTrain(50.0), Shaft(self.pin), Diode(on=0.1, off=0.02)
        self.gate = Switch(on=0.01, off=0.02)
        self.connect(self.motor.shaft, self.box.fast)
        self.connect(self.box.slow, self.shaft.flange)
        self.p, self.n, self.earth = Electrical(), Electrical(), Electrical()
        self.connect(self.p, self.gate.p)
        self.connect(self.gate.n, self.motor.p, self.spark.n)
        self.connect(self.n, self.earth, self.motor.n, self.spark.p)
        self.expose(self.bed, self.p, self.n, self.earth)


GATE = {"drive.gate.command": ([0.0, 4e-3, 4.05e-3, 1.0], [1.0, 1.0, 0.0, 0.0])}
RUN: dict[str, Any] = {"until": 8e-3, "step": 5e-5}


def gated(model: Subsystem, **options: Any) -> Any:
    result = simulate(model, inputs=GATE, **RUN, **options)
    assert result.status.ok
    return result


def when(result: Any) -> np.ndarray:
    return np.array([time for time, _ in result.statistics["events"]])


def open_lift() -> Lift:
    return Lift(VoltageSource(24.0), Resistor(0.2), Drive())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Sealed parts of the lift."""
    folder = tmp_path_factory.mktemp("parts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KOMPONO_CONFIG", str(folder / "config"))
        keys.make("Ada")
        yield _sealed(folder)


def _sealed(folder: Path) -> Path:
    seal(Drive, folder / "drive.part", public=["gate.command", "pin.angle"], targets=HERE)
    seal(VoltageSource(24.0), folder / "battery.part", public=["voltage"], targets=HERE)
    seal(Resistor(0.2), folder / "lead.part", targets=HERE)
    return folder


@pytest.mark.parametrize("engine", ENGINES)
def test_sealed_parts_with_pins_are_the_open_ones(files: Path, engine: str) -> None:
    whole = gated(open_lift(), engine=engine)
    parts = Lift(Sealed(files / "battery.part"), Sealed(files / "lead.part"), Sealed(files / "drive.part"))
    sealed = gated(parts, engine=engine)
    assert len(when(whole)) > 0  # the diode takes over when the switch opens
    assert np.abs(when(whole) - when(sealed)).max() < 1e-12
    assert worst(whole, sealed) < 1e-11
    assert "drive.motor.coil.current" not in sealed.names


def test_a_sealed_drive_behind_a_wall_is_the_open_one(files: Path) -> None:
    parts = Lift(VoltageSource(24.0), Resistor(0.2), Sealed(files / "drive.part", isolate=True))
    assert worst(gated(open_lift()), gated(parts)) < 1e-11


def test_inputs_of_sealed_sources_are_fed_by_the_owner(files: Path) -> None:
    def fed(battery: Any) -> Lift:
        model = Lift(battery, Resistor(0.2), Drive())
        model.volts = Input(3.0, unit="V")
        model.connect(2 * model.volts, model.battery.voltage)
        return model

    assert worst(gated(fed(VoltageSource())), gated(fed(Sealed(files / "battery.part")))) < 1e-11


def test_what_a_sealed_source_is_fed_with_cannot_follow_from_its_own_current(files: Path) -> None:
    model = Lift(Sealed(files / "battery.part"), Resistor(0.2), Drive())
    model.connect(24 + 0.1 * model.battery.p.i, model.battery.voltage)
    with pytest.raises(ModelError, match=r"depends on itself at once: .*battery.voltage"):
        simulate(model, until=1e-3)


def test_members_of_an_ensemble_with_closed_drives_are_single_runs() -> None:
    model, currents = open_lift(), "drive.motor.coil.current"
    model.charge = Parameter(1.0)
    model.extra = CurrentSource(model.charge)
    model.connect(model.extra.p, model.zero.pin)
    model.connect(model.extra.n, model.lead.n)
    found = simulate_many(model, parameters={"charge": [1.0, 2.0, 2.0]}, closed=["drive"], inputs=GATE, **RUN)
    alone = gated(model, closed=["drive"], parameters={"charge": 2.0})
    common = np.isin(alone.time, found.time)  # single runs have rows at events, too
    assert common.sum() > 100
    assert np.abs(found[currents][1][np.isin(found.time, alone.time)] - alone[currents][common]).max() < 1e-11
    assert np.array_equal(found[currents][1], found[currents][2])
    assert np.abs(found[currents][1] - found[currents][0]).max() > 1e-3


def test_a_transformer_alone_is_closed_by_what_it_can_answer() -> None:
    class Rig(Subsystem):
        def __init__(self) -> None:
            self.zero, self.source, self.load, self.coil = (
                Reference(),
                VoltageSource(10.0),
                Resistor(3.0),
                Inductor(0.1),
            )
            self.between = Transformer(2.0)
            self.connect(self.source.p, self.between.p1)
            self.connect(self.between.p2, self.coil.p)
            self.connect(self.coil.n, self.load.p)
            self.connect(self.zero.pin, self.source.n, self.between.n1, self.between.n2, self.load.n)

    whole, parts = (
        simulate(Rig(), until=0.01, step=1e-3),
        simulate(Rig(), until=0.01, step=1e-3, closed=["between", "source"]),
    )
    assert worst(whole, parts) < 1e-13


# -- what is refused


class Nozzle(Subsystem):
    def __init__(self) -> None:
        self.edge, self.a, self.b = Orifice(1e-6), Hydraulic(), Hydraulic()
        self.connect(self.a, self.edge.p)
        self.connect(self.b, self.edge.n)
        self.expose(self.a, self.b)


def test_an_orifice_between_pins_of_a_closed_part_is_refused_by_path() -> None:
    class Rig(Subsystem):
        def __init__(self) -> None:
            self.ground, self.weight = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
            self.held = Weld(self.ground, self.weight)
            self.supply, self.tank, self.nozzle = PressureSource(1e6), Tank(), Nozzle()
            self.connect(self.supply.pin, self.nozzle.a)
            self.connect(self.nozzle.b, self.tank.pin)

    assert simulate(Rig(), until=1e-3).status.ok
    with pytest.raises(
        ModelError, match=r"nozzle\.[ab].*not linear in what is given at its pins, so it cannot be closed"
    ):
        simulate(Rig(), until=1e-3, closed=["nozzle"])


def test_flows_that_only_a_closed_part_knows_are_refused_by_path() -> None:
    model = open_lift()
    model.drive.expose(model.drive.motor, model.drive.motor.p)
    model.inner = Output(model.drive.motor.p.i, unit="A")
    assert gated(model).status.ok
    with pytest.raises(ModelError, match=r"drive\.motor\.p: only drive knows what goes through it"):
        simulate(model, closed=["drive"], **RUN)


def test_equations_of_an_owner_with_pins_of_closed_parts_are_refused_by_path() -> None:
    class Meter(Subsystem):
        def __init__(self) -> None:
            self.zero, self.drive, self.pin = Reference(), Inductor(1.0), Electrical()
            self.require(self.pin.v - 2 * self.drive.p.v)
            self.load = Resistor(1.0)
            self.connect(self.load.p, self.pin)
            self.connect(self.load.n, self.drive.p)
            self.connect(self.drive.n, self.zero.pin)

    with pytest.raises(ModelError, match=r"it uses drive\.p, a pin of the closed part drive"):
        simulate(Meter(), until=1e-3, closed=["drive"])
