"""Random mechanisms with random laws at fixed modes: accelerations equal those of an independent dense solve, in which
what holds is a condition and what slides a load, on both engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from laws.dense import Mark, Mechanism, Pair, Row, Solution, solve, speed_rows
from laws.mechanisms import SCALAR, SHELF, Case, Numbers, build, difference, loops, state_of, trees
from laws.test_accelerations import examples

from kompono.compile import compile_program
from kompono.model.body import Frame
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, PairLaw, Unit
from kompono.spatial.pose import Motion
from kompono.translate import translate

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
EXACT = 1e-10
OFF, HELD, SLIDES = range(3)


class Touch(PairLaw):
    """A point above a plane, with friction."""

    def __init__(self, first: Frame, second: Frame, mu: float, limit: float) -> None:
        super().__init__(first, second)
        self.mu, self.limit = mu, limit

    def units(self, motion: Motion) -> Unit:
        return Unit(gap=motion.position[2], slip=ca.SX(motion.velocity)[:2], mu=self.mu, limit=self.limit)


class Rub(JointLaw):
    """Friction along one coordinate, by a limit and the reaction of a joint."""

    def __init__(self, joint: Joint, index: int, mu: float, limit: float) -> None:
        super().__init__(joint)
        self.index, self.mu, self.limit = index, mu, limit

    def units(self) -> Unit:
        return Unit(slip=self.joints[0].v[self.index], mu=self.mu, limit=self.limit, reaction=self.joints[0])


@dataclass
class Contact:
    """A contact in plain words: its marks, whether it is closed, and whether it sticks there."""

    first: Mark
    second: Mark
    mode: int
    mu: float
    limit: float


@dataclass
class Friction:
    """Friction of a joint in plain words: number of the joint, of its coordinate, and whether it sticks."""

    joint: int
    index: int
    mode: int
    mu: float
    limit: float


class Dense:
    """The answer of a mechanism to laws at fixed modes: friction that slides is a load, repeated until it fits."""

    def __init__(self, m: Mechanism, contacts: list[Contact], frictions: list[Friction]) -> None:
        self.m, self.contacts, self.frictions = m, contacts, frictions
        self.held: list[Row] = []
        self.normals: dict[int, int] = {}  # by contact, the number of its held row
        for k, contact in enumerate(contacts):
            rows = self.rows(contact)
            if contact.mode != OFF:
                self.normals[k] = len(self.held)
                self.held.append(rows[2])
            if contact.mode == HELD:
                self.held += rows[:2]
        self.held += [self.row(f) for f in frictions if f.mode == HELD]

    def rows(self, contact: Contact) -> list[Row]:
        pair = Pair(self.m, contact.first, contact.second)
        return [pair.along(pair.e1[:, k]) for k in range(3)]

    def row(self, friction: Friction) -> Row:
        return speed_rows(self.m, self.m.joints[friction.joint])[friction.index]

    def rate(self, row: Row) -> float:
        return float(row.jacobian @ self.m.twists())

    def direction(self, contact: Contact) -> np.ndarray:
        slip = np.array([self.rate(row) for row in self.rows(contact)[:2]])
        return slip / np.linalg.norm(slip)

    def solved(self) -> Solution:
        load = np.zeros((len(self.m.carriers), 6))
        for _ in range(200):
            solution = solve(self.m, self.held, load)
            new = self.load(solution)
            if np.abs(new - load).max() < 1e-13 * (1 + np.abs(load).max()):
                return solve(self.m, self.held, new)
            load = new
        assume(False)
        raise AssertionError

    def load(self, solution: Solution) -> np.ndarray:
        """What sliding friction exerts (n, 6)."""
        total = np.zeros((len(self.m.carriers), 6))
        for k, contact in enumerate(self.contacts):
            if contact.mode == SLIDES:
                normal = solution.multipliers[solution.owners.index(("law", self.normals[k]))]
                size = contact.mu * normal + contact.limit  # with its sign: friction of what pulls is seen
                for part, row in zip(self.direction(contact), self.rows(contact), strict=False):
                    total -= size * part * row.jacobian.reshape(-1, 6)
        for friction in self.frictions:
            if friction.mode == SLIDES:
                joint, count = self.m.joints[friction.joint], len(self.m.carriers)
                force = solution.wrench_of(("joint", friction.joint), count)[joint.second.on, :3]
                size = friction.mu * float(np.linalg.norm(force)) + friction.limit
                row = self.row(friction)
                total -= np.sign(self.rate(row)) * size * row.jacobian.reshape(-1, 6)
        return total

    def modes(self) -> list[float]:
        """In the order of the laws: closed, slips, direction; slips with its sign."""
        found: list[float] = []
        for contact in self.contacts:
            way = self.direction(contact)
            found += [float(contact.mode != OFF), float(contact.mode == SLIDES), *way]
        for friction in self.frictions:
            found.append(np.sign(self.rate(self.row(friction))) if friction.mode == SLIDES else 0.0)
        return found


@st.composite
def with_laws(draw: Any, cases: Any) -> tuple[Case, Dense]:
    """A mechanism, and laws on it that leave it some freedom."""
    case: Case = draw(cases)
    m, n = case.m, Numbers(draw(st.integers(0, 2**32 - 1)))
    assume(not case.solution.redundant and len(m.carriers) > 1)

    def mark(on: int) -> Mark:
        return Mark(on, n.vector(0.4), n.rotation())

    contacts, frictions = [], []
    for _ in range(draw(st.integers(0, 2))):
        j = draw(st.sampled_from(m.bodies))
        i = draw(st.integers(0, len(m.carriers) - 1).filter(lambda k, j=j: k != j))
        given = draw(st.integers(OFF, SLIDES)), n.scalar(0.05, 0.3), n.scalar(0.0, 1.0)
        contacts.append(Contact(mark(i), mark(j), *given))
    scalar = [k for k, joint in enumerate(m.joints[: len(m.bodies)]) if joint.kind in SCALAR and joint.kind != "screw"]
    for k in draw(st.lists(st.sampled_from(scalar), max_size=2, unique=True)) if scalar else ():
        index = int(n.rng.choice(SCALAR[m.joints[k].kind]))
        frictions.append(Friction(k, index, draw(st.sampled_from((HELD, SLIDES))), n.scalar(0.01, 0.1), n.scalar(0, 1)))
    assume(contacts or frictions)
    dense = Dense(m, contacts, frictions)
    bare = solve(m, dense.held)
    assume(not bare.redundant and bare.clear_rank and np.abs(bare.acceleration).max() < 1e4)
    return case, dense


def accelerations(case: Case, dense: Dense, engine: str) -> np.ndarray:
    """(bodies, 6) by Kompono."""
    m, built = case.m, build(case.m)

    def frame(mark: Mark) -> Any:
        return built.carriers[mark.on].at(mark.position, orientation=mark.rotation)

    for k, c in enumerate(dense.contacts):
        built.model.add(f"contact{k}", Touch(frame(c.first), frame(c.second), c.mu, c.limit))
    for k, f in enumerate(dense.frictions):
        built.model.add(f"friction{k}", Rub(built.joints[f.joint], f.index, f.mu, f.limit))
    options: dict[str, Any] = {}
    if engine == "relative":  # laws are on joints of the tree
        options["cut"] = [f"joint{k}" for k in range(len(m.bodies), len(m.joints))]
    translation = translate(built.model, engine=engine, shelf=SHELF, **options)
    kernel = compile_program(translation.program, native=True, cache=SHELF is not None)
    state = state_of(translation, built, m, dense.modes())
    paths = [f"body{k}.{kind}" for k in m.bodies for kind in ("acceleration", "angular_acceleration")]
    names = [channel.name for channel in translation.program.channels]
    wanted = translation.select([names.index(f"{path}.{axis}") for path in paths for axis in "xyz"])
    return kernel.evaluate(wanted, m.time, state, (), ())[0].reshape(-1, 6)


def check(case: Case, dense: Dense) -> None:
    expected = dense.solved().acceleration[case.m.bodies]
    assume(np.abs(expected).max() < 1e4)
    for engine in ("relative", "absolute"):
        assert difference(accelerations(case, dense, engine), expected) < EXACT, engine


@pytest.mark.takes(30)
@examples(8, few=3)
@given(with_laws(trees(bodies=(1, 3))))
def test_trees(made: tuple[Case, Dense]) -> None:
    check(*made)


@pytest.mark.takes(30)
@examples(6, few=2)
@given(with_laws(loops(bodies=(2, 3), couplings=False)))
def test_loops(made: tuple[Case, Dense]) -> None:
    check(*made)
