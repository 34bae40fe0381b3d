"""Numbers in laws of forces and efforts are put in after tracing: another stiffness gives the program a new translation
would give, without tracing anything.
"""

from __future__ import annotations

import itertools
from typing import Any

import casadi as ca
import numpy as np
import pytest
from translate.test_numbers import Shelf, kernels, translated

from kompono import Body, Effort, Force, Ground, Motion, Parameter, Subsystem, Wrench, simulate
from kompono.library import Bushing, Gravity, Prismatic, Revolute, RotationalSpringDamper, SpringDamper
from kompono.translate import translate
from kompono.translate.declared.open_laws import open_law
from kompono.translate.tracer import InlineTracer

TURNING = {"derivative", "outputs"}


class Hardening(Force):
    """A spring of a user: k x + h x^3, as far as it is drawn."""

    def __init__(self, first: Any, second: Any, k: float, h: float) -> None:
        super().__init__(first, second)
        self.k, self.h = k, h

    def wrench(self, motion: Motion) -> Wrench:
        x = motion.position[0]
        return Wrench(ca.vertcat(-self.k * x - self.h * x**3, 0, 0), ca.SX.zeros(3))

    def potential(self, motion: Motion) -> Any:
        return self.k * motion.position[0] ** 2 / 2 + self.h * motion.position[0] ** 4 / 4


class Wheel(Effort):
    """An effort of a user that looks at the coordinate of its joint by itself."""

    def effort(self, q: Any, v: Any) -> Any:
        return 0.3 * self.joint.angle - 0.7 * q - 0.01 * v


class Sprung(Subsystem):
    """Every way to a stiffness."""

    def __init__(
        self, k: float = 40.0, c: float = 0.3, rest: float = 0.45, turn: float = 7.0, h: float = 3.0, soft: float = 1e4
    ) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.arm, self.sled, self.mount = (Body(mass=m, inertia=(0.1, 0.2, 0.3)) for m in (1.0, 1.5, 0.7))
        self.share = Parameter(0.8)
        self.hinge = Revolute(self.ground, self.arm.at(-0.4, 0, 0), axis="y", angle=0.3)
        self.rail = Prismatic(self.ground, self.sled, axis="x", displacement=0.1)
        self.spring = SpringDamper(self.ground.at(0, 0, 1), self.arm, k=k, c=c, rest=rest)
        self.tuned = SpringDamper(self.ground.at(0, 1, 0), self.sled, k=self.share * k, rest=0.9)
        self.torsion = RotationalSpringDamper(self.hinge, k=turn, c=c / 10)
        self.pad = Bushing(
            self.sled, self.mount, k=(soft, soft, 3 * soft, 80.0, 90.0, 70.0), c=(1, 1, 1, 0.3, 0.3, 0.3)
        )
        self.own = Hardening(self.ground, self.sled, k, h)
        self.wheel = Wheel(self.hinge)


@pytest.fixture(scope="module")
def shelf() -> Shelf:
    found = Shelf()
    kernels(translated(Sprung(), found))
    return found


OTHERS: list[dict[str, float]] = [
    {"k": 55.0}, {"turn": 11.0, "h": 2.5, "soft": 3e5}, {"k": -1e9, "c": 1e-9, "rest": 0.3},
]  # fmt: skip


@pytest.mark.parametrize("given", OTHERS, ids=str)
def test_kernels_from_the_shelf_are_those_of_a_new_translation(
    shelf: Shelf, given: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    new = kernels(translated(Sprung(**given), None))
    traced: set[str] = set()
    routine = InlineTracer.routine
    monkeypatch.setattr(
        InlineTracer, "routine", lambda self, name, *rest: traced.add(name) or routine(self, name, *rest)
    )
    kept = translated(Sprung(**given), Shelf(shelf))
    assert all(kept.program.routines[name] for name in TURNING)
    assert not traced & TURNING
    assert kernels(kept) == new


STRUCTURE: list[dict[str, float]] = [{"c": 0.0, "h": 0.0}, {"k": 1.0, "rest": 0.0}, {"k": 0.3, "c": 0.3, "turn": 1.0}]


@pytest.mark.parametrize("given", STRUCTURE, ids=str)
def test_zeros_ones_and_equal_numbers_are_structure(shelf: Shelf, given: dict[str, float]) -> None:
    assert kernels(translated(Sprung(**given), Shelf(shelf))) == kernels(translated(Sprung(**given), None))


def test_what_is_kept_for_one_number_does_not_follow_another(shelf: Shelf) -> None:
    own = Shelf(shelf)
    one, two = (kernels(translated(Sprung(k=k), own)) for k in (50.0, 51.0))
    assert one == kernels(translated(Sprung(k=50.0), own)) != two


def test_opened_laws_say_what_the_laws_say() -> None:
    model, random = Sprung(), np.random.default_rng(3)
    turn = ca.SX(np.linalg.qr(random.normal(size=(3, 3)))[0])
    motion = Motion(ca.SX(random.normal(size=3)), turn, *(ca.SX(random.normal(size=3)) for _ in range(2)))
    for force in (model.spring, model.tuned, model.pad, model.own):
        opened = open_law(force, {})
        assert opened is not None
        parts: list[Any] = [opened.wrench(motion).force, opened.wrench(motion).torque, opened.potential(motion)]
        parts += [value for value, _ in opened.readings(motion).values()]
        load = force.wrench(motion)
        told = [load.force, load.torque, force.potential(motion), *[x for x, _ in force.readings(motion).values()]]
        column = ca.substitute(ca.veccat(*parts), ca.vertcat(*opened.symbols), ca.DM(list(opened.values)))
        apart = ca.substitute(column - ca.veccat(*map(ca.SX, told)), model.share, 0.8)
        np.testing.assert_allclose(ca.evalf(apart).full(), 0.0, atol=1e-9)


def test_exponents_stay_and_numbers_of_one_law_are_found_once() -> None:
    model = Sprung()
    opened = open_law(model.own, {})
    assert opened is not None
    assert set(map(abs, opened.values)) <= {40.0, 3.0, 0.75, 20.0, 4.0}
    spring = open_law(model.spring, {})
    assert spring is not None
    assert sorted(map(abs, spring.values)) == [0.3, 0.45, 40.0]


class Drifting(Force):
    """A law that gives another number each time it is asked."""

    count = itertools.count()

    def wrench(self, motion: Motion) -> Wrench:
        return Wrench(-(3.0 + next(self.count)) * motion.position, ca.SX.zeros(3))


def test_a_law_that_gives_another_number_each_time_is_not_kept() -> None:
    model = Sprung()
    model.odd = Drifting(model.ground, model.arm)
    shelf = Shelf()
    assert translate(model, shelf=shelf).program.routines["derivative"]
    assert not shelf.kept


def test_a_run_with_another_stiffness_from_the_shelf_has_the_bits_of_a_new_one(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))

    def end(k: float, *, cache: bool = True) -> list[float]:
        return list(simulate(Sprung(k=k), until=0.02, step=1e-3, cache=cache).end.values.values())

    first = end(40.0)
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    edited = end(44.0)
    assert sorted(path.name for path in tmp_path.glob("*.o")) == objects
    assert edited == end(44.0) == end(44.0, cache=False) != first
