"""Carts that feel a number which their laws read in some way, run as a program: a folder with `cfg.py` and one module
for each way, the number, and the names of those modules. Prints what each cart feels, as JSON; `test_kept_values.py`
changes the number between two processes.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

import casadi as ca

from kompono import (
    Body,
    Constraint,
    Coupling,
    Effort,
    Field,
    Force,
    Ground,
    Joint,
    Motion,
    Pose,
    Subsystem,
    Wrench,
    simulate,
    time,
)  # fmt: skip
from kompono.library import AppliedLoad, JointEffort, Prismatic, SpringDamper, solids
from kompono.model.body import MassProperties

UNTIL = 0.1  # s
FELT = 2 / UNTIL**2  # acceleration from the way a cart made
sys.path.insert(0, sys.argv[1])
cfg: Any = importlib.import_module("cfg")


class Cart(Subsystem):
    """A mass of 1 kg on a rail along x, pushed by whatever `push` gives."""

    def __init__(self, push: Callable[[Cart], Any], *, rail: Any = None, body: Any = Body) -> None:
        self.ground = Ground()
        self.cart = body(solids.sphere(mass=1.0, radius=0.1))
        self.rail = (rail or Prismatic)(self.ground, self.cart, **({} if rail else {"axis": "x"}))
        self.push = push(self)


class Motor(Effort):
    def effort(self, q: Any, v: Any) -> Any:
        return cfg.TABLE["size"]


class Wind(Field):
    def acceleration(self, position: Any) -> Any:
        return ca.vertcat(cfg.TABLE["size"], 0, 0)


class Stretched(Joint):
    coordinates = ("displacement",)
    units = ("m",)

    def pose(self, q: Any) -> Pose:
        return Pose(position=ca.vertcat(q[0] / cfg.TABLE["size"], 0, 0))


class Lead(Coupling):
    def conditions(self) -> list[Any]:
        return [self.joints[0].q[0] - cfg.TABLE["size"] * time**2 / 2]


class Held(Constraint):
    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position[0] - 1 - cfg.TABLE["size"] * time**2 / 2]


class Stored(Force):
    def wrench(self, motion: Motion) -> Wrench:
        return Wrench()

    def potential(self, motion: Motion) -> Any:
        return cfg.TABLE["size"]


class Shaken(Ground):
    @property
    def motion(self) -> Pose:  # type: ignore[override]
        return Pose(ca.vertcat(cfg.TABLE["size"] * time**2 / 2, 0, 0), ca.SX.eye(3))

    @motion.setter
    def motion(self, value: Any) -> None: ...


class Heavy(Body):
    @property
    def solid(self) -> MassProperties:  # type: ignore[override]
        return MassProperties(1 / cfg.TABLE["size"], ca.DM.eye(3))

    @solid.setter
    def solid(self, value: Any) -> None: ...


class Carried(Subsystem):
    def __init__(self) -> None:
        self.ground = Shaken()
        self.cart = Body(solids.sphere(mass=1.0, radius=0.1))
        self.rail = Prismatic(self.ground, self.cart, axis="y")


class OnDemand(Force):
    def __getattr__(self, name: str) -> Any:
        if name == "strength":
            return cfg.TABLE["size"]
        raise AttributeError(name)

    def wrench(self, motion: Motion) -> Wrench:
        return Wrench(ca.vertcat(self.strength, 0, 0))


class Patched(Force):
    pass


class Number(float):
    """A number of the user, in a class of its own; it counts by its value when it is given."""


def the_law(self: Any, motion: Motion) -> Wrench:
    return Wrench(ca.vertcat(cfg.TABLE["size"], 0, 0))


Patched.wrench = the_law  # type: ignore[method-assign]


def read(name: str) -> Subsystem:
    """A cart pushed by the force of the module of one way to read its size."""
    push = importlib.import_module(name).Push
    model = Cart(lambda cart: push(cart.ground, cart.cart))
    model.cart.tag = model.tag = getattr(importlib.import_module(name), "TAG", None)
    return model


def pulled(cart: Cart) -> Any:
    """A spring of the library 1000 km long, whose stiffness is an object of the user."""
    return SpringDamper(cart.ground.at(1e6, 0, 0), cart.cart, k=Number(cfg.TABLE["size"] * 1e-6), rest=0.0)


def library_object(cart: Cart) -> Any:
    spring = SpringDamper(cart.ground, cart.cart, k=1.0)
    spring.wrench = lambda motion: the_law(spring, motion)  # type: ignore[method-assign]
    return spring


def set_later() -> Subsystem:
    model = Cart(lambda cart: JointEffort(cart.rail, 0.0))
    model.push.value = ca.SX(cfg.TABLE["size"])
    return model


def on_cart(cart: Cart) -> Any:
    return AppliedLoad(cart.cart, force=(1, 0, 0))


OTHERS: dict[str, tuple[Callable[[], Subsystem], str, float]] = {
    "an_effort": (lambda: Cart(lambda cart: Motor(cart.rail)), "rail.displacement", FELT),
    "a_field": (lambda: Cart(lambda cart: Wind()), "rail.displacement", FELT),
    "a_pose": (lambda: Cart(on_cart, rail=Stretched), "rail.displacement", FELT),
    "a_coupling": (lambda: Cart(lambda cart: Lead(cart.rail)), "rail.displacement", FELT),
    "a_constraint": (lambda: Cart(lambda c: Held(c.ground.at(-1, 0, 0), c.cart)), "rail.displacement", FELT),
    "a_potential": (lambda: Cart(lambda cart: Stored(cart.ground, cart.cart)), "energy.potential", 1.0),
    "the_motion_of_a_ground": (Carried, "cart.position.x", FELT),
    "a_mass": (lambda: Cart(on_cart, body=Heavy), "rail.displacement", FELT),
    "an_attribute_made_on_demand": (lambda: Cart(lambda c: OnDemand(c.ground, c.cart)), "rail.displacement", FELT),
    "a_patched_class": (lambda: Cart(lambda c: Patched(c.ground, c.cart)), "rail.displacement", FELT),
    "a_patched_object": (lambda: Cart(library_object), "rail.displacement", FELT),
    "a_number_of_the_user": (lambda: Cart(pulled), "rail.displacement", FELT),
    "an_attribute_set_later": (set_later, "rail.displacement", FELT),
}


def run(model: Subsystem, channel: str = "rail.displacement", scale: float = FELT) -> float:
    return float(simulate(model, until=UNTIL, step=UNTIL, method="RK45", native=False)[channel][-1]) * scale


if __name__ == "__main__":
    felt = {name: run(read(name)) for name in sys.argv[3:]}
    felt |= {name: run(make(), channel, scale) for name, (make, channel, scale) in OTHERS.items()}
    SpringDamper.wrench = the_law  # type: ignore[method-assign]
    felt["a_patched_class_of_the_library"] = run(Cart(lambda cart: SpringDamper(cart.ground, cart.cart, k=1.0)))
    print(json.dumps(felt))
