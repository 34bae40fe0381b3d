"""Networks: against matrix exponentials and closed forms, inside machines, and what cannot be solved is refused."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from kompono import (
    Body,
    Electrical,
    Ground,
    Input,
    MassProperties,
    ModelError,
    Output,
    Parameter,
    Rotational,
    State,
    Subsystem,
    simulate,
    simulate_many,
    time,
)
from kompono.library import (
    Ambient,
    Bridge,
    Capacitor,
    Chamber,
    Conductor,
    CurrentSource,
    Cylinder,
    DCMotor,
    Diode,
    Drag,
    GearTrain,
    HeatCapacity,
    HeatSource,
    Housing,
    Inductor,
    Inertia,
    JointEffort,
    Orifice,
    PressureSource,
    Prismatic,
    Pump,
    RackAndPinion,
    Reference,
    Resistor,
    Revolute,
    Shaft,
    Switch,
    Tank,
    TorqueSource,
    Torsion,
    Transformer,
    TwoPins,
    Valve,
    VoltageSource,
    Weld,
    solids,
)


class Ladder(Subsystem):
    """Cells of a resistor, a coil and a capacitor, one after the other, into a load."""

    def __init__(self, cells=20, r=0.5, l=1e-3, c=1e-6, load=50.0):  # noqa: E741
        self.zero, self.source, self.load = Reference(), VoltageSource(1.0), Resistor(load)
        self.r = [Resistor(r) for _ in range(cells)]
        self.l = [Inductor(l) for _ in range(cells)]
        self.c = [Capacitor(c) for _ in range(cells)]
        self.connect(self.source.n, self.zero.pin, self.load.n, *[c.n for c in self.c])
        before = self.source.p
        for resistor, coil, capacitor in zip(self.r, self.l, self.c, strict=True):
            self.connect(before, resistor.p)
            self.connect(resistor.n, coil.p)
            self.connect(coil.n, capacitor.p)
            before = capacitor.p
        self.connect(before, self.load.p)


def ladder_exact(n, until, r=0.5, l=1e-3, c=1e-6, load=50.0):  # noqa: E741
    """Currents, then voltages."""
    a, b = np.zeros((2 * n, 2 * n)), np.zeros(2 * n)
    for k in range(n):
        a[k, k], a[k, n + k] = -r / l, -1 / l
        if k:
            a[k, n + k - 1] = 1 / l
        a[n + k, k] = 1 / c
        if k < n - 1:
            a[n + k, k + 1] = -1 / c
    b[0], a[-1, -1] = 1 / l, -1 / load / c
    return expm(np.block([[a, b[:, None]], [np.zeros((1, 2 * n + 1))]]) * until)[:-1, -1]


def test_a_ladder_of_twenty_cells_is_its_matrix_exponential():
    result = simulate(Ladder(), until=5e-4, method="dopri5", rtol=1e-12, atol=1e-13, step=1e-5)
    found = [result[f"l.{k}.current"][-1] for k in range(20)] + [result[f"c.{k}.voltage"][-1] for k in range(20)]
    assert result.status.ok
    assert np.abs(np.array(found) - ladder_exact(20, 5e-4)).max() < 1e-10
    assert result["load.p.i"][-1] == pytest.approx(result["c.19.voltage"][-1] / 50, abs=1e-15)


class Arm(Subsystem):
    """A link on a pin, with a motor behind a gearbox, fed by a bridge from a battery."""

    def __init__(self):
        self.ground = Ground()
        self.link = Body(MassProperties(mass=2.0, inertia=(1e-6, 0.0267, 0.0267)))
        self.pin = Revolute(self.ground, self.link.at(-0.2, 0, 0), axis="-y")
        self.drive = Drive(self.pin)


class Drive(Subsystem):
    def __init__(self, joint):
        self.battery, self.zero, self.bridge = VoltageSource(24.0), Reference(), Bridge()
        self.motor = DCMotor(resistance=1.0, inductance=0.5e-3, k=0.05)
        self.box, self.shaft = GearTrain(50.0), Shaft(joint)
        self.connect(self.battery.p, self.bridge.p)
        self.connect(self.bridge.n, self.battery.n, self.zero.pin, self.motor.n, self.bridge.b)
        self.connect(self.bridge.a, self.motor.p)
        self.connect(self.motor.shaft, self.box.fast)
        self.connect(self.box.slow, self.shaft.flange)
        self.duty = Input(unit="")
        self.connect(self.duty, self.bridge.duty)
        self.power = Output(-self.battery.p.v * self.battery.p.i, unit="W")
        self.expose(self.motor)


class ByHand(Subsystem):
    def __init__(self):
        self.ground = Ground()
        self.link = Body(MassProperties(mass=2.0, inertia=(1e-6, 0.0267, 0.0267)))
        self.pin = Revolute(self.ground, self.link.at(-0.2, 0, 0), axis="-y")
        self.current = State(0.0, unit="A")
        self.current.rate = (12 - self.current - 0.05 * 50 * self.pin.angle_rate) / 0.5e-3
        self.effort = JointEffort(self.pin, 50 * 0.05 * self.current)


@pytest.mark.parametrize(("engine", "step", "within"), [("relative", 1e-4, 1e-13), ("absolute", 1e-4, 1e-12)])
def test_a_motor_as_a_network_is_the_motor_by_hand(engine, step, within):
    by_hand = simulate(ByHand(), until=0.1, step=step)
    result = simulate(Arm(), until=0.1, step=step, engine=engine, inputs={"drive.duty": 0.5})
    assert result.status.ok
    assert np.abs(result["pin.angle"] - by_hand["pin.angle"]).max() < within
    assert np.abs(result["drive.motor.coil.current"] - by_hand["current"]).max() < 1e-9
    assert result["drive.power"] == pytest.approx(0.5 * 24 * by_hand["current"], abs=1e-8)
    # what flows into the terminals of the motor is what flows through its coil
    assert np.abs(result["drive.motor.p.i"] - by_hand["current"]).max() < 1e-9
    assert np.abs(result["drive.motor.shaft.torque"] + 0.05 * by_hand["current"]).max() < 1e-9


def test_sweeps_of_parameters_of_networks_run_on_lanes():
    class Decay(Subsystem):
        def __init__(self):
            self.zero, self.c, self.value = Reference(), Capacitor(1e-3, voltage=5.0), Parameter(10.0, unit="ohm")
            self.r = Resistor(self.value)
            self.connect(self.c.p, self.r.p)
            self.connect(self.c.n, self.r.n, self.zero.pin)

    ohms = np.array([5.0, 10.0, 20.0, 40.0, 80.0])
    runs = simulate_many(Decay(), until=0.02, step=1e-4, parameters={"value": ohms})
    assert np.array(runs["c.voltage"])[:, -1] == pytest.approx(5 * np.exp(-0.02 / ohms / 1e-3), rel=1e-7)


def test_a_component_with_a_network_inside_is_closed_like_any_other():
    class Joined(Subsystem):
        def __init__(self):
            self.ground, self.arm = Ground(), Geared()
            self.mount = Weld(self.ground, self.arm.base)

    class Geared(Subsystem):
        def __init__(self):
            self.base, self.link = (Body(solids.sphere(mass=1.0, radius=0.1)) for _ in range(2))
            self.pin = Revolute(self.base, self.link.at(-0.2, 0, 0), axis="-y")
            self.drive = Drive(self.pin)
            self.expose(self.base)

    wanted = simulate(Joined(), until=0.05, step=1e-4, inputs={"arm.drive.duty": 0.5})
    closed = simulate(Joined(), until=0.05, step=1e-4, inputs={"arm.drive.duty": 0.5}, closed=["arm"])
    assert np.abs(wanted["arm.drive.power"] - closed["arm.drive.power"]).max() < 1e-10
    with pytest.raises(ModelError, match=r"drive\.shaft\.drive: it acts on pin, which is outside the closed part"):
        simulate(Arm(), until=0.01, step=1e-4, closed=["drive"])


def test_a_diode_passes_half_waves():
    class Half(Subsystem):
        def __init__(self):
            self.zero, self.source = Reference(), VoltageSource(10 * ca.cos(100 * time))
            self.diode, self.load = Diode(on=1e-3, off=1e-9), Resistor(10.0)
            self.connect(self.source.p, self.diode.p)
            self.connect(self.diode.n, self.load.p)
            self.connect(self.load.n, self.source.n, self.zero.pin)
            self.charge = State(0.0, unit="C")
            self.charge.rate = self.load.p.i

    result = simulate(Half(), until=0.04 * np.pi, step=1e-4)
    assert result["charge"][-1] == pytest.approx(4 * 10 / 10.001 / 100, abs=1e-8)
    times = [at for at, name in result.statistics["events"] if name == "diode.blocks"]
    assert times == pytest.approx([np.pi / 200, np.pi / 200 + np.pi / 50], abs=1e-9)


def test_four_diodes_make_a_rectifier():
    class Rectifier(Subsystem):
        def __init__(self):
            self.zero, self.source = Reference(), VoltageSource(10 * ca.sin(100 * time))
            self.wire, self.load, self.store = Resistor(0.5), Resistor(20.0), Capacitor(1e-3)
            self.diodes = [Diode(on=1e-2, off=1e-7) for _ in range(4)]
            a, b, c, d = self.diodes
            self.connect(self.source.p, self.wire.p)
            self.connect(self.wire.n, a.p, b.n)
            self.connect(self.source.n, c.p, d.n)
            self.connect(a.n, c.n, self.load.p, self.store.p)
            self.connect(b.p, d.p, self.load.n, self.store.n, self.zero.pin)

    result = simulate(Rectifier(), until=0.15, step=5e-5)
    assert result.status.ok

    def rate(t, v):
        return (max(0.0, (abs(10 * np.sin(100 * t)) - v[0]) / 0.52) - v[0] / 20) / 1e-3

    times, places = np.unique(result.time, return_index=True)
    exact = solve_ivp(rate, (0, 0.15), [0.0], t_eval=times, rtol=1e-9, atol=1e-9, max_step=1e-4).y[0]
    assert np.abs(result["store.voltage"][places] - exact).max() < 1e-4  # what leaks through those that block
    passing = result["diodes.0.p.i"]
    assert passing.min() > -1e-5
    assert np.abs(passing - result["diodes.3.p.i"]).max() < 1e-5  # they conduct in pairs


def test_switches_transformers_and_current_sources():
    class Converter(Subsystem):
        def __init__(self):
            self.zero, self.source = Reference(), CurrentSource(ca.sin(50 * time))
            self.change, self.load = Transformer(4.0), Resistor(2.0)
            self.switch = Switch(ca.if_else(time < 0.02, 1, 0), on=1e-9, off=1e-12)
            self.connect(self.source.n, self.change.p1)
            self.connect(self.source.p, self.change.n1, self.change.n2, self.load.n, self.zero.pin)
            self.connect(self.change.p2, self.switch.p)
            self.connect(self.switch.n, self.load.p)
            self.carried = State(0.0)
            self.carried.rate = self.load.p.i

    result = simulate(Converter(), until=0.019, step=1e-4)
    assert result["load.p.i"] == pytest.approx(4 * np.sin(50 * result.time), abs=1e-6)
    assert result["source.p.v"] - result["source.n.v"] == pytest.approx(-4 * 2 * result["load.p.i"], abs=1e-5)


def test_shafts_swing_as_the_closed_form_says():
    class Shafts(Subsystem):
        def __init__(self):
            self.one, self.two = Inertia(0.02, speed=1.0), Inertia(0.03)
            self.shaft, self.box = Torsion(50.0), GearTrain(2.0)
            self.connect(self.one.pin, self.shaft.p)
            self.connect(self.shaft.n, self.box.fast)
            self.connect(self.box.slow, self.two.pin)

    result = simulate(Shafts(), until=0.5, step=2e-4)
    near, far = 0.02, 0.03 / 4  # as seen from the fast side
    omega, share = np.sqrt(50 * (near + far) / (near * far)), near / (near + far)
    exact = share + (1 - share) * np.cos(omega * result.time)
    assert np.abs(result["one.speed"] - exact).max() < 1e-6
    assert np.abs(0.02 * result["one.speed"] + 0.03 * result["two.speed"] / 2 - 0.02).max() < 1e-12  # momentum


def test_a_rack_pushes_a_slider():
    class Rack(Subsystem):
        def __init__(self):
            self.ground, self.cart = Ground(), Body(solids.sphere(mass=3.0, radius=0.1))
            self.rail = Prismatic(self.ground, self.cart, axis="x")
            self.pinion, self.shaft, self.drive = RackAndPinion(0.05), Shaft(self.rail), TorqueSource(0.6)
            self.drag, self.house = Drag(0.01), Housing()
            self.connect(self.pinion.rack, self.shaft.flange)
            self.connect(self.drive.pin, self.pinion.shaft, self.drag.p)
            self.connect(self.drag.n, self.house.pin)

    result = simulate(Rack(), until=1.0, step=1e-2)
    force, damping = 0.6 / 0.05, 0.01 / 0.05**2
    exact = force / damping * (1 - np.exp(-damping / 3.0 * result.time))
    assert np.abs(result["rail.displacement.rate"] - exact).max() < 1e-9


def test_a_pump_fills_a_volume_through_an_orifice():
    class Filling(Subsystem):
        def __init__(self):
            self.tank, self.source, self.edge, self.volume = Tank(), PressureSource(1e7), Orifice(1e-6), Chamber(1e-3)
            self.connect(self.source.pin, self.edge.p)
            self.connect(self.edge.n, self.volume.pin)
            self.turn, self.pump, self.leak = TorqueSource(), Pump(1e-6), Orifice(2e-7)
            self.rotor = Inertia(1e-4, speed=50.0)
            self.connect(self.rotor.pin, self.pump.shaft, self.turn.pin)
            self.connect(self.pump.n, self.tank.pin, self.leak.n)
            self.connect(self.pump.p, self.leak.p, self.volume.pin)

    result = simulate(Filling(), until=0.2, step=1e-4)
    p, w = result["volume.pressure"], result["rotor.speed"]
    drop = 1e7 - p
    flow = 0.7e-6 * np.sqrt(2 / 860) * drop / (drop**2 + 1e8) ** 0.25
    leak = 0.7 * 2e-7 * np.sqrt(2 / 860) * p / (p**2 + 1e8) ** 0.25
    assert np.abs(result["volume.pin.flow"] - (flow + 1e-6 * w - leak)).max() < 1e-12
    assert result["rotor.speed.rate"] == pytest.approx(-1e-6 * p / 1e-4, rel=1e-9)


class Boom(Subsystem):
    """A load on a cylinder, moved by a valve."""

    def __init__(self, spool):
        self.ground, self.load = Ground(), Body(solids.sphere(mass=200.0, radius=0.2))
        self.slide = Prismatic(self.ground, self.load, axis="z", displacement=0.1)
        self.cylinder = Cylinder(self.slide, area_a=2e-3, area_b=1e-3, stroke=0.5)
        self.supply, self.tank, self.valve = PressureSource(1e7), Tank(), Valve(2e-6, spool)
        self.connect(self.supply.pin, self.valve.p)
        self.connect(self.tank.pin, self.valve.t)
        self.connect(self.valve.a, self.cylinder.a)
        self.connect(self.valve.b, self.cylinder.b)


def test_a_cylinder_moves_as_fast_as_oil_comes_in():
    result = simulate(Boom(1.0), until=1.0, step=1e-4)
    v = result["slide.displacement.rate"][-1]
    # steady: big p_a = small p_b, flows big v and small v through equal edges
    assert result["cylinder.a.flow"][-1] == pytest.approx(2e-3 * v, rel=1e-3)
    k = 0.7 * 2e-6 * np.sqrt(2 / 860)
    # (1e7 - p_a) = (2e-3 v / k)^2, p_b = (1e-3 v / k)^2, 2 p_a = p_b
    assert v == pytest.approx(np.sqrt(1e7 / (4 + 0.5)) * k / 1e-3, rel=1e-3)
    assert simulate(Boom(-1.0), until=0.5, step=1e-4)["slide.displacement.rate"][-1] < 0


def test_what_is_warm_cools_down():
    class Cooling(Subsystem):
        def __init__(self):
            self.iron, self.air = HeatCapacity(500.0, temperature=400.0), Ambient(300.0)
            self.skin, self.loss = Conductor(5.0), HeatSource(100.0)
            self.connect(self.iron.pin, self.skin.p, self.loss.pin)
            self.connect(self.skin.n, self.air.pin)

    result = simulate(Cooling(), until=200.0, step=1.0)
    assert result["iron.temperature"] == pytest.approx(320 + 80 * np.exp(-result.time / 100), abs=1e-7)


# -- what is refused


def refused(build, *words, **run):
    class Wrong(Subsystem):
        def __init__(self):
            build(self)

    with pytest.raises(ModelError) as error:
        simulate(Wrong(), until=0.01, step=1e-3, **run)
    for word in words:
        assert word in str(error.value)


def test_networks_without_an_answer_are_refused_by_name():
    def floating(self):
        self.c, self.r = Capacitor(1.0), Resistor(1.0)
        self.connect(self.c.p, self.r.p)
        self.connect(self.c.n, self.r.n)

    def against(self):
        self.zero, self.one, self.two, self.c = Reference(), VoltageSource(1.0), VoltageSource(2.0), Capacitor(1.0)
        self.r = Resistor(1.0)
        self.connect(self.one.p, self.two.p, self.r.p)
        self.connect(self.r.n, self.c.p)
        self.connect(self.one.n, self.two.n, self.zero.pin, self.c.n)

    def in_series(self):
        self.zero, self.one, self.two, self.source = Reference(), Inductor(1.0), Inductor(2.0), VoltageSource(1.0)
        self.connect(self.source.p, self.one.p)
        self.connect(self.one.n, self.two.p)
        self.connect(self.two.n, self.source.n, self.zero.pin)

    def rigid(self):
        self.ground, self.wheel = Ground(), Body(solids.sphere(mass=1.0, radius=0.1))
        self.pin = Revolute(self.ground, self.wheel, axis="z")
        self.shaft, self.box, self.rotor = Shaft(self.pin), GearTrain(3.0), Inertia(0.1)
        self.connect(self.rotor.pin, self.box.fast)
        self.connect(self.box.slow, self.shaft.flange)

    refused(floating, "nothing says what is across", "c.p", "reference")
    refused(against, "one, two determine the same thing", "resistance between")
    refused(in_series, "one, two determine the same thing")
    refused(rigid, "rotor", "shaft", "Rotor(joint, ...)")


def test_wrong_equations_and_connections_are_refused_where_they_are():
    class Half(TwoPins):
        kind = Electrical

    def kinds(self):
        self.r, self.box = Resistor(1.0), GearTrain(2.0)
        self.connect(self.r.p, self.box.fast)

    def missing(self):
        self.zero, self.c, self.half = Reference(), Capacitor(1.0), Half()
        self.connect(self.c.p, self.half.p)
        self.connect(self.c.n, self.half.n, self.zero.pin)

    def alone(self):
        self.terminal, self.state = Rotational(), State(0.0)
        self.state.rate = self.terminal.speed

    def loop(self):
        self.zero, self.source, self.r, self.c = Reference(), VoltageSource(), Resistor(1.0), Capacitor(1.0)
        self.connect(self.source.p, self.r.p)
        self.connect(self.r.n, self.c.p)
        self.connect(self.c.n, self.source.n, self.zero.pin)
        self.connect(self.r.p.i * 2, self.source.voltage)

    def hidden(self):
        class Box(Subsystem):
            def __init__(self):
                self.r = Resistor(1.0)

        self.box, self.c = Box(), Capacitor(1.0)
        self.connect(self.box.r.p, self.c.p)

    refused(kinds, "is Rotational, and cannot be connected with what is Electrical")
    refused(missing, "half", "2 pins in this network, and 1 equations")
    refused(alone, "terminal", "nothing with an equation")
    refused(loop, "depends on itself", "source.voltage")
    refused(hidden, "box.r.p is not exposed by box")
