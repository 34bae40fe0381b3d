"""Machines of elements that other surveys of edited numbers lack: ropes, drives, clutches, blocks, shafts, oil, wires.
No number is 0, 1/2, 1 or 2, and none are equal: those are structure.
"""

from __future__ import annotations

import casadi as ca

from kompono import Body, Ground, Output, Sensor, Subsystem, time
from kompono.library import (
    Activation,
    Actuator,
    AppliedLoad,
    Bridge,
    Bushing,
    Capacitor,
    Chamber,
    Clutch,
    CurrentSource,
    Cylinder,
    Damping,
    DCMotor,
    Delay,
    Diode,
    Drag,
    FlowSource,
    FreeWheel,
    GearTrain,
    Gravity,
    Housing,
    Imu,
    Inductor,
    Inertia,
    Measured,
    MediumDrag,
    Noise,
    Orifice,
    PressureSource,
    Prismatic,
    Pump,
    Quantizer,
    RackAndPinion,
    Reference,
    Resistor,
    Restrictor,
    Revolute,
    Rope,
    Sample,
    Shaft,
    Spherical,
    StateSpace,
    Strut,
    SumStops,
    SynchronousMotor,
    Table2,
    Tank,
    Thruster,
    TorqueSource,
    Torsion,
    Transformer,
    Valve,
    VoltageSource,
    Winch,
    tendon,
)

INERTIA = (0.011, 0.013, 0.017)


class Pulled(Subsystem):
    """What pulls, pushes and holds: an actuator with a lag on a tendon, a winch, a jet, wind, clutches, a strut."""

    def __init__(
        self, lag: float = 0.031, high: float = 0.91, gear: float = 2.3, gain: float = 5.1, stiff: float = -4.1,
        damp: float = -0.7, least: float = -9.1, share: float = -2.7, c: float = 0.23, k_rope: float = 13.0,
        rest: float = 0.21, wound: float = 3.3, push: float = 1.7, jet: float = 2.9, wind: float = 0.37,
        linear: float = 0.19, quadratic: float = 0.29, bush: float = 31.0, soft: float = 0.47, load: float = 0.53,
        strut: float = 0.83, k_strut: float = 41.0, low: float = -0.61, slip: float = 0.71, radius: float = 0.07,
        normal: float = 3.7,
    ) -> None:  # fmt: skip
        self.ground, self.gravity = Ground(), Gravity()
        self.a, self.b, self.ball, self.cart = (Body(mass=m, inertia=INERTIA) for m in (1.3, 0.7, 0.9, 1.1))
        self.pin = Revolute(self.ground, self.a.at(-0.31, 0, 0), axis="y", angle=0.3)
        self.second = Revolute(self.a.at(0.27, 0, 0), self.b.at(-0.13, 0, 0), axis="y", angle=0.2)
        self.socket = Spherical(self.ground.at(0, 0.6, 0), self.ball.at(0, 0, 0.21))
        self.rail = Prismatic(self.ground.at(0, -0.6, 0), self.cart, axis="x", displacement=0.1)
        self.muscle = Activation(0.7 * ca.sin(3.1 * time), lag=lag, limits=(-0.3, high))
        rope = tendon((self.pin, 1.3), (self.second, share))
        self.pull = Actuator(
            self.second, self.muscle.level, gear=gear, gain=gain, bias=(0.13, stiff, damp), force_limits=(least, 7.7),
            tendon=rope,
        )  # fmt: skip
        self.rub = Damping(self.socket, c)
        self.rope = Rope(self.ground.at(0.9, -0.6, 0.2), self.cart, self.ground.at(0.8, -0.5, 0), k=k_rope, rest=rest)
        self.winch = Winch(self.rope, 0.37, gear=-1.3, gain=wound)
        self.jet = Thruster(self.ball.at(0, 0, -0.1), ca.sin(jet * time), force=(push, 0, 0.3), gain=1.9)
        self.air = MediumDrag(self.ball, linear=linear, quadratic=quadratic, wind=(wind, 0, 0.11))
        self.bush = Bushing(
            self.b.at(0.1, 0, 0),
            self.ground.at(0.7, 0, 0.1),
            k=(bush, 17.0, 19.0, 0.3, 0.4, 0.6),
            c=(soft, 0.7, 0.8, 0.01, 0.02, 0.03),
        )
        self.load = AppliedLoad(self.b, force=(load, 0, 0.17 * time))
        self.strut = Strut(length=strut, k=k_strut, c=0.33, mass=0.41)
        self.low_end = Revolute(self.ground.at(0.2, 0.9, 0), self.strut.bottom, axis="y")
        self.stop = SumStops((self.pin, 1.7), (self.second, -0.9), lower=low)
        self.clutch = Clutch(self.pin, self.second, normal=normal, mu=slip, radius=radius, faces=3)


class Lines(Subsystem):
    """Oil and shafts: a valve and a cylinder, a pump on a train of shafts, a rack."""

    def __init__(
        self, supply: float = 1.1e7, back: float = 1.7e5, edge: float = 2.3e-6, discharge: float = 0.71,
        density: float = 850.0, area: float = 2.1e-3, other: float = 1.3e-3, stroke: float = 0.53,
        leak: float = 1.9e-12, volume: float = 1.1e-3, flow: float = 1.7e-6, displacement: float = 1.3e-6,
        torque: float = 0.61, inertia: float = 1.7e-4, twist: float = 51.0,
        damping: float = 0.0031, ratio: float = 2.3, drag: float = 0.013,
        pinion: float = 0.053, spool: float = 0.63,
    ) -> None:  # fmt: skip
        self.ground, self.load, self.cart = Ground(), Body(mass=20.0, inertia=INERTIA), Body(mass=3.1, inertia=INERTIA)
        self.slide = Prismatic(self.ground, self.load, axis="z", displacement=0.11)
        self.cylinder = Cylinder(self.slide, area_a=area, area_b=other, stroke=stroke)
        self.supply, self.tank = PressureSource(supply), Tank(back)
        self.valve = Valve(edge, spool, discharge=discharge, density=density)
        self.leak, self.volume, self.flow = Restrictor(leak), Chamber(volume), FlowSource(flow)
        self.edge = Orifice(1.3e-6)
        self.connect(self.supply.pin, self.valve.p, self.edge.p)
        self.connect(self.tank.pin, self.valve.t)
        self.connect(self.valve.a, self.cylinder.a, self.leak.p)
        self.connect(self.valve.b, self.cylinder.b, self.leak.n)
        self.turn, self.pump, self.rotor = TorqueSource(torque), Pump(displacement), Inertia(inertia, speed=3.3)
        self.shaft, self.box = Torsion(twist, damping), GearTrain(ratio)
        self.drag, self.house = Drag(drag), Housing()
        self.connect(self.edge.n, self.volume.pin, self.flow.pin, self.pump.p)
        self.connect(self.pump.n, self.tank.pin)
        self.connect(self.turn.pin, self.rotor.pin, self.pump.shaft, self.shaft.p)
        self.connect(self.shaft.n, self.box.fast)
        self.rail = Prismatic(self.ground.at(1, 0, 0), self.cart, axis="x")
        self.rack, self.end = RackAndPinion(pinion), Shaft(self.rail)
        self.connect(self.box.slow, self.rack.shaft, self.drag.p)
        self.connect(self.drag.n, self.house.pin)
        self.connect(self.rack.rack, self.end.flange)


class Wires(Subsystem):
    """A bridge and a motor, diodes, a transformer, coils and a synchronous motor."""

    def __init__(
        self, volts: float = 23.0, duty: float = 0.37, resistance: float = 1.3, inductance: float = 5.3e-4,
        k: float = 0.053, on: float = 0.013, off: float = 0.0017, change: float = 4.3, current: float = 1.7,
        capacitance: float = 1.3e-3, coil: float = 0.031, load: float = 2.7, phase: float = 0.43,
        direct: float = 0.0033, quadrature: float = 0.0041, flux: float = 0.061, wanted: float = 3.7,
    ) -> None:  # fmt: skip
        self.ground, self.arm, self.wheel = Ground(), Body(mass=1.3, inertia=INERTIA), Body(mass=0.7, inertia=INERTIA)
        self.hinge = Revolute(self.ground, self.arm.at(-0.31, 0, 0), axis="y", angle=0.3)
        self.axle = Revolute(self.ground.at(0, 1, 0), self.wheel, axis="y")
        self.battery, self.zero, self.bridge = VoltageSource(volts), Reference(), Bridge(duty * ca.sin(3.1 * time))
        self.motor, self.shaft = DCMotor(resistance=resistance, inductance=inductance, k=k), Shaft(self.hinge)
        self.connect(self.battery.p, self.bridge.p)
        self.connect(self.bridge.n, self.battery.n, self.zero.pin, self.motor.n, self.bridge.b)
        self.connect(self.bridge.a, self.motor.p)
        self.connect(self.motor.shaft, self.shaft.flange)
        self.change, self.source, self.spark = Transformer(change), CurrentSource(current * time), Diode(on=on, off=off)
        self.coil, self.store, self.load = Inductor(coil), Capacitor(capacitance), Resistor(load)
        self.damper = Resistor(11.0)
        self.connect(self.source.n, self.change.p1, self.damper.p)
        self.connect(
            self.source.p, self.change.n1, self.change.n2, self.load.n, self.store.n, self.damper.n, self.battery.n
        )
        self.connect(self.change.p2, self.coil.p)
        self.connect(self.coil.n, self.spark.p)
        self.connect(self.spark.n, self.load.p, self.store.p)
        self.servo = SynchronousMotor(
            self.axle, resistance=phase, direct_inductance=direct, quadrature_inductance=quadrature, flux=flux, poles=3,
            direct_voltage=0.3, quadrature_voltage=wanted,
        )  # fmt: skip


class Blocks(Subsystem):
    """Blocks on a swinging arm, and what samples it."""

    def __init__(
        self, after: float = 0.031, step: float = 0.013, every: float = 2.3e-3, first: float = -3.1,
        second: float = 0.73, out: float = 1.7, table: float = 0.77, bias: float = 0.017, deviation: float = 0.0031,
        mean: float = 0.13, spread: float = 0.19, high: float = 0.87, gyro: float = 0.0037, g: float = 9.71,
    ) -> None:  # fmt: skip
        self.ground, self.gravity = Ground(), Gravity()
        self.arm, self.ring = Body(mass=1.3, inertia=INERTIA), Body(mass=0.4, inertia=INERTIA)
        self.hinge = Revolute(self.ground, self.arm.at(-0.31, 0, 0), axis="y", angle=0.3)
        self.turn = Revolute(self.ground.at(0, 1, 0), self.ring.at(0.11, 0, 0), axis="y")
        self.wheel = FreeWheel(self.hinge, self.turn)
        self.late = Delay(self.hinge.angle, time=after, order=3)
        self.rough = Quantizer(self.late.output, step=step, every=every)
        self.kept = Sample(self.hinge.angle_rate, every=every)
        self.model = StateSpace(
            [[first, 0.3], [-0.7, -1.9]], [[second], [0.31]], [[out, 0.41]], inputs={"u": self.kept.output}
        )
        self.map = Table2([-1.1, 0.3, 1.3], [-0.9, 0.7], [[0.1, 0.4], [table, 0.37], [0.9, 1.4]])
        self.look = Output(self.map(self.hinge.angle, self.late.output))
        self.seen = Measured(self.hinge.angle, every=every, bias=bias, deviation=deviation, limits=high, seed=3)
        self.noise = Noise(seed=7, every=every, mean=mean, deviation=spread)
        self.sensor = Sensor(self.arm.at(0.2, 0, 0))
        self.imu = Imu(self.sensor, every=every, gyro={"bias": gyro}, gravity=(0, 0, -g), seed=5)
        self.sum = Output(self.noise.output + self.seen.output + self.rough.output)


MACHINES: dict[str, type[Subsystem]] = {"pulled": Pulled, "lines": Lines, "wires": Wires, "blocks": Blocks}
