"""Large models: kernels by type of component agree with the flat translation of the same model."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import pytest

from kompono import Body, Ground, Input, Output, Parameter, Subsystem, inspect, time
from kompono.compile import Interpreter, compile_program
from kompono.library import (
    AppliedLoad,
    Cylindrical,
    Gravity,
    JointEffort,
    Planar,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    Spherical,
    SpringDamper,
    Universal,
    Weld,
    solids,
)
from kompono.simulation import Simulation
from kompono.solve.integrate import Settings
from kompono.translate import translate
from kompono.translate.declared.elaborate import elaborate
from kompono.translate.engines.large import engine as large_engine
from kompono.translate.engines.large.cells import find_blocks
from kompono.translate.engines.large.engine import NestedEngine
from kompono.translate.engines.relative import RelativeEngine
from kompono.translate.program import Program
from kompono.translate.structure.topology import find_topology
from kompono.translate.translate import Translation

ROD = solids.rod(mass=1.0, length=0.2, radius=0.02)
BRICK = solids.box(mass=2.0, size=(0.1, 0.2, 0.3))
NEVER = 10**9


class Link(Subsystem):
    def __init__(self) -> None:
        self.rod = Body(ROD)
        self.first = self.last = self.rod
        self.expose(self.rod)


class Series(Subsystem):
    """`count` equal parts in a row, made by `make`."""

    def __init__(self, make, count: int, axes: str = "xy", spring: float = 0.0) -> None:
        self.parts = [make() for _ in range(count)]
        pairs = list(zip(self.parts, self.parts[1:], strict=False))
        self.pins = [
            Revolute(a.last.at(0, 0, -0.1), b.first.at(0, 0, 0.1), axis=axes[k % len(axes)], angle=0.3)
            for k, (a, b) in enumerate(pairs)
        ]
        if spring:
            self.springs = [
                SpringDamper(a.last.at(0.1, 0, 0), b.first.at(0.1, 0, 0), k=spring, c=1.0, rest=0.1) for a, b in pairs
            ]
        self.first, self.last = self.parts[0].first, self.parts[-1].last
        self.expose(self.first, self.last)


class Hung(Subsystem):
    def __init__(self, make) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.chain = make()
        self.pin = Revolute(self.ground, self.chain.first.at(0, 0, 0.1), axis="y", angle=0.3)


def ten() -> Subsystem:
    return Series(Link, 10)


def hundred() -> Subsystem:
    return Series(ten, 10, "y")


def nested(model: Subsystem) -> Translation:
    found = translate(model, nested_from=1)
    assert isinstance(found.engine, NestedEngine)
    return found


def start(translation: Translation, seed: int) -> np.ndarray:
    """A random state by name, quaternions of unit length."""
    program = translation.program
    values = np.random.default_rng(seed).uniform(-0.6, 0.6, program.state_size)
    for k, name in enumerate(program.coordinates):
        if name.endswith(".e0"):
            values[k : k + 4] /= np.linalg.norm(values[k : k + 4])
    return values


def same_state(other: Program, values: np.ndarray, one: Program) -> np.ndarray:
    """The state of `one` in the order of `other`."""
    known = dict(zip((*one.coordinates, *one.speeds), values, strict=True))
    return np.array([known[name] for name in (*other.coordinates, *other.speeds)])


def flat_program(model: Subsystem) -> Program:
    """The derivative of the same model, translated as a whole."""
    elaborated = elaborate(model)
    engine = RelativeEngine(elaborated, find_topology(elaborated), {}, shared=False)
    names = [tuple(elaborated.path(s) for s in kind) for kind in (elaborated.inputs, elaborated.parameters)]
    routines = {"derivative": engine.derivative()}
    return Program(engine.kernels, routines, engine.coordinate_names(), engine.speed_names(), *names)


def check_same_rates(
    model: Subsystem, seed: int = 1, inputs=(), parameters=(), tolerance: float = 1e-11
) -> Translation:
    one, flat = nested(model), flat_program(model)
    state = start(one, seed)
    rate = compile_program(one.program).evaluate("derivative", 0.7, state, inputs, parameters)[0]
    here = same_state(flat, state, one.program)
    expected = Interpreter(flat).evaluate("derivative", 0.7, here, inputs, parameters)[0]
    expected = same_state(one.program, expected, flat)
    np.testing.assert_allclose(rate, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    interpreted = Interpreter(one.program).evaluate("derivative", 0.7, state, inputs, parameters)[0]
    np.testing.assert_allclose(interpreted, rate, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    return one


def test_a_nested_chain_has_few_types_and_the_same_accelerations() -> None:
    found = check_same_rates(Hung(hundred))
    assert len(found.engine.cells) == 10
    assert len(found.engine.examples) == 3  # the first, the last, and those between


def test_a_flat_chain_is_cut_into_bodies() -> None:
    found = check_same_rates(Hung(lambda: Series(Link, 30)))
    assert len(found.engine.cells) == 30
    assert len(found.engine.examples) <= 5


def test_springs_between_cells_and_across_a_component() -> None:
    check_same_rates(Hung(lambda: Series(lambda: Series(Link, 5, spring=20.0), 4, spring=30.0)))


class Crossed(Subsystem):
    """A spring from the first to the last of twelve bodies: too many for one cell, if it were not for the spring."""

    def __init__(self) -> None:
        self.row = Series(Link, 12)
        self.spring = SpringDamper(self.row.first.at(0.1, 0, 0), self.row.last.at(0, 0.1, 0), k=50.0, rest=1.0)
        self.first, self.last = self.row.first, self.row.last
        self.expose(self.first, self.last)


def test_a_spring_makes_a_component_one_cell() -> None:
    found = check_same_rates(Hung(lambda: Series(Crossed, 3)))
    assert [len(cell.links) for cell in found.engine.cells] == [12, 12, 12]


JOINTS = [Revolute, Prismatic, Cylindrical, Spherical, Universal, Planar, Weld]


class Twig(Subsystem):
    """One to three bodies on joints of given kinds, with a spring, a torsion spring and a field of its own."""

    def __init__(self, kinds: tuple[int, ...], *, wind: bool) -> None:
        self.base = Body(BRICK)
        self.bodies = [Body(ROD if k % 2 else BRICK) for k in range(len(kinds))]
        above = [self.base, *self.bodies]
        self.joints = []
        for k, kind in enumerate(kinds):
            frames = (above[k // 2].at(0.1, 0.02 * k, -0.1), self.bodies[k].at(0, 0.05, 0.1))
            self.joints = [*self.joints, JOINTS[kind](*(frames if k % 2 else frames[::-1]))]
            self.add(f"joint{k}", self.joints[-1])
            if kind == 0:
                self.add(f"torsion{k}", RotationalSpringDamper(self.joints[-1], k=3.0, c=0.1, rest=0.2))
        self.spring = SpringDamper(self.base.at(0, 0.3, 0), self.bodies[-1], k=40.0, c=2.0, rest=0.1)
        self.push = AppliedLoad(self.bodies[0].at(0, 0, 0.1), force=(1, 2, 3 * time), axes="body")
        self.pull = AppliedLoad(self.bodies[0].at(0, 0, 0.1), force=(1, time, 3))
        if wind:
            self.wind = Gravity((1.0, 2.0, 0.5))
        self.expose(self.base, self.bodies[-1])


class Tree(Subsystem):
    """A random tree of twigs of a few kinds, nested two levels deep, on a moving ground and freely floating."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        kinds = [tuple(random.integers(0, len(JOINTS), random.integers(1, 3)).tolist()) for _ in range(3)]
        self.gravity = Gravity()
        self.still = Ground()
        self.moving = Ground((0.1 * time, 0, 0.2 * time**2))
        self.groups = [Group(kinds[k % 3], int(random.integers(1, 4)), bool(k % 2)) for k in range(5)]
        for k, group in enumerate(self.groups):
            if k == 4:
                continue  # the last one floats
            hung = [self.still, self.moving, self.groups[0].end, self.groups[1].end][k]
            self.add(f"link{k}", JOINTS[int(random.integers(0, 6))](hung.at(0, 0.1 * k, 0), group.begin.at(0, 0.2, 0)))


class Group(Subsystem):
    def __init__(self, kinds: tuple[int, ...], count: int, wind: bool) -> None:
        self.twigs = [Twig(kinds, wind=wind) for _ in range(count)]
        self.begin, self.end = self.twigs[0].base, self.twigs[-1].bodies[-1]
        self.links = [
            Revolute(
                self.twigs[k // 2].bodies[-1].at(0.1, 0, 0), self.twigs[k + 1].base.at(0, 0.1, 0.1), axis="xyz"[k % 3]
            )
            for k in range(count - 1)
        ]
        self.expose(self.begin, self.end)


@pytest.mark.parametrize("seed", range(4))
def test_random_trees(seed: int) -> None:
    check_same_rates(Tree(seed), seed)


class Driven(Subsystem):
    """A link whose torque is an input times a parameter, both its own, and whose mass is tunable."""

    def __init__(self) -> None:
        self.gain, self.mass = Parameter(2.0), Parameter(1.5)
        self.level = Input(0.5)
        self.rod = Body(mass=self.mass, inertia=(0.01, 0.02, 0.03))
        self.tip = Body(ROD)
        self.pin = Revolute(self.rod.at(0, 0, -0.1), self.tip.at(0, 0, 0.1), axis="x")
        self.motor = JointEffort(self.pin, self.gain * self.level * (1 + self.tip.velocity[2] + self.pin.angle))
        self.first, self.last = self.rod, self.tip
        self.expose(self.rod, self.tip)


def test_each_instance_reads_its_own_inputs_and_parameters() -> None:
    model = Hung(lambda: Series(Driven, 6))
    random = np.random.default_rng(3)
    found = check_same_rates(model, 2, random.uniform(-1, 1, 6), random.uniform(0.5, 2.0, 12))
    assert len(found.engine.examples) == 4  # axes alternate


def test_channels_are_those_of_the_flat_model() -> None:
    model = Tree(1)
    one, flat = nested(model), translate(model, nested_from=NEVER)
    channels = one.program.channels
    assert sorted(channel.name for channel in channels) == sorted(channel.name for channel in flat.program.channels)
    state = start(one, 5)
    routine = one.select(list(range(len(channels))))
    values = compile_program(one.program).evaluate(routine, 0.4, state)[0]
    expected = Interpreter(flat.program).evaluate("outputs", 0.4, same_state(flat.program, state, one.program))[0]
    known = dict(zip([channel.name for channel in flat.program.channels], expected, strict=True))
    for channel, value in zip(channels, values, strict=True):
        scale = 1 + abs(known[channel.name])
        assert value == pytest.approx(known[channel.name], abs=1e-8 * scale), channel.name


def test_a_few_channels_visit_few_cells() -> None:
    found = nested(Hung(hundred))
    columns = found.program.channels.matching("chain.parts.2.*.position.x")
    assert len(columns) == 10
    routine = found.program.routines[found.select(columns)]
    assert sum(routine.counts().values()) == 3  # motion of two cells, channels of the third


@lru_cache
def tree_simulation(nested_from: int) -> Simulation:
    return Simulation(Tree(2), nested_from=nested_from)


@pytest.mark.parametrize("method", ["rk2", "rk4", "adams", "dopri5"])
def test_runs_agree(method: str) -> None:
    settings = Settings(method, 0.02, 1e-3)
    one, flat = tree_simulation(1), tree_simulation(NEVER)
    wanted = ["energy.total", "drift.position", "groups.0.*.base.position.*", "groups.1.*.angle"]
    result, expected = one.run(settings, channels=wanted), flat.run(settings, channels=wanted)
    assert result.status.ok
    for name in result.names:
        np.testing.assert_allclose(result[name], expected[name], rtol=1e-8, atol=1e-9)


def test_start_values_and_plain_star() -> None:
    initial = {"chain.pins.3.angle": 0.7, "pin.angle.rate": 2.0}
    result = Simulation(Hung(ten), nested_from=1).run(Settings("rk4", 0.01, 1e-3), initial=initial)
    assert result["chain.pins.3.angle"][0] == 0.7
    assert result["pin.angle.rate"][0] == 2.0
    assert "energy.total" in result
    assert "chain.parts.0.rod.position.x" not in result


class Loop(Subsystem):
    def __init__(self) -> None:
        self.ground = Ground()
        self.rods = [Body(ROD) for _ in range(3)]
        above = [self.ground, *self.rods]
        self.pins = [Revolute(a.at(0.1, 0, 0), b.at(-0.1, 0, 0)) for a, b in zip(above, self.rods, strict=False)]
        self.last = Revolute(self.rods[-1].at(0.1, 0, 0), self.ground.at(0.3, 0.2, 0))


def test_models_with_loops_or_outputs_fall_back() -> None:
    assert not isinstance(translate(Loop(), nested_from=1).engine, NestedEngine)
    watched = Hung(ten)
    watched.height = Output(watched.chain.last.position[2])
    assert not isinstance(translate(watched, nested_from=1).engine, NestedEngine)


class Stem(Subsystem):
    def __init__(self, ways: int, levels: int) -> None:
        self.row = Series(Link, 3)
        self.first = self.row.first
        self.expose(self.first)
        if levels > 1:
            self.stems = [Stem(ways, levels - 1) for _ in range(ways)]
            self.pins = [
                Revolute(self.row.last.at(0, 0, -0.1), stem.first.at(0, 0, 0.1), axis="y", angle=0.2 * k)
                for k, stem in enumerate(self.stems)
            ]


def rates(model: Subsystem, lanes: int, threads: int | None = None) -> tuple[np.ndarray, NestedEngine]:
    """Derivative at a fixed state; with a number of threads the state after some steps of rk4."""
    elaborated = elaborate(model)
    engine = NestedEngine(elaborated, find_topology(elaborated), {}, lanes=lanes)
    routines = {"derivative": engine.derivative()}
    program = Program(engine.kernels, routines, engine.coordinate_names(), engine.speed_names(), (), ())
    kernel = compile_program(program, threads=threads)
    state = np.random.default_rng(8).uniform(-0.5, 0.5, program.state_size)
    if threads is None:
        return kernel.evaluate("derivative", 0.0, state)[0], engine
    run = kernel.fixed("rk4", 0.0, state, step=1e-4)
    for _ in range(5):
        run.advance(10)
    return run.state.copy(), engine


@pytest.mark.parametrize(("ways", "levels"), [(2, 6), (3, 4), (9, 3)])
def test_lanes_do_not_change_a_bit(ways: int, levels: int) -> None:
    expected, _ = rates(Hung(lambda: Stem(ways, levels)), 1)
    for lanes in (2, 8):
        values, engine = rates(Hung(lambda: Stem(ways, levels)), lanes)
        assert max(loop.lanes for loop in engine.derivative().loops) == lanes
        np.testing.assert_array_equal(values, expected)


def test_threads_do_not_change_a_bit() -> None:
    states = [rates(Hung(lambda: Stem(2, 8)), 2, threads)[0] for threads in (1, 2, 3)]
    np.testing.assert_array_equal(states[0], states[1])
    np.testing.assert_array_equal(states[0], states[2])


def test_teams_of_blocks_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one team leave their answers at the same places: less memory, the same numbers."""
    monkeypatch.setattr(large_engine, "find_blocks", partial(find_blocks, largest=25))

    def run(teams: int, threads: int) -> tuple[np.ndarray, int]:
        monkeypatch.setattr(large_engine, "_most_teams", lambda: teams)
        state, engine = rates(Hung(lambda: Stem(2, 7)), 8, threads)
        return state, engine.derivative().workspace

    expected, all_kept = run(0, 1)
    sizes = []
    for teams, threads in ((1, 1), (3, 2), (100, 2)):
        state, size = run(teams, threads)
        np.testing.assert_array_equal(state, expected)
        sizes.append(size)
    assert sizes[0] < sizes[1] < sizes[2] == all_kept


def articulated(axes: list[str], q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Joint accelerations of a chain of `ROD`s under gravity, by the articulated-body algorithm in plain NumPy.

    Independent of the package: link frames at the joints, centre of mass 0.1 m below, next joint 0.2 m below.
    """
    n, mass, moment = len(q), 1.0, np.asarray(ROD.inertia)

    def skew(a: np.ndarray) -> np.ndarray:
        return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])

    centre = skew(np.array([0, 0, -0.1]))
    inertia = np.block([[moment - mass * centre @ centre, mass * centre], [-mass * centre, mass * np.eye(3)]])
    shift = np.array([0, 0, -0.2])
    X, S, twist, c, articulated_inertia, p = [], [], [], [], [], []
    for k in range(n):
        axis = np.eye(3)["xyz".index(axes[k])]
        cross = skew(axis)
        turned = (np.eye(3) + np.sin(q[k]) * cross + (1 - np.cos(q[k])) * cross @ cross).T
        place = np.zeros(3) if k == 0 else shift
        X.append(np.block([[turned, np.zeros((3, 3))], [-turned @ skew(place), turned]]))
        S.append(np.concatenate([axis, np.zeros(3)]))
        joint = S[k] * v[k]
        twist.append(joint if k == 0 else X[k] @ twist[k - 1] + joint)
        w, u = skew(twist[k][:3]), skew(twist[k][3:])
        moving = np.block([[w, np.zeros((3, 3))], [u, w]])
        c.append(moving @ joint)
        articulated_inertia.append(inertia.copy())
        p.append(-moving.T @ inertia @ twist[k])
    for k in reversed(range(n)):
        U = articulated_inertia[k] @ S[k]
        d, u = S[k] @ U, -S[k] @ p[k]
        if k:
            rest = articulated_inertia[k] - np.outer(U, U) / d
            articulated_inertia[k - 1] += X[k].T @ rest @ X[k]
            p[k - 1] += X[k].T @ (p[k] + rest @ c[k] + U * u / d)
        S[k] = (S[k], U, d, u)
    acceleration = np.array([0, 0, 0, 0, 0, 9.81])
    result = np.zeros(n)
    for k in range(n):
        axis, U, d, u = S[k]
        acceleration = X[k] @ acceleration + c[k]
        result[k] = (u - U @ acceleration) / d
        acceleration = acceleration + axis * result[k]
    return result


def thousands(count: int) -> Subsystem:
    return Series(lambda: Series(ten, 10, "y"), count, "y")


@pytest.mark.parametrize(("bodies", "tolerance"), [(1000, 1e-11), (3000, 1e-9)])
def test_large_chains_agree_with_an_independent_recursion(bodies: int, tolerance: float) -> None:
    simulation = Simulation(Hung(lambda: thousands(bodies // 100)))
    program = simulation.program
    assert isinstance(simulation.translation.engine, NestedEngine)
    state = start(simulation.translation, 4)
    rate = simulation.kernel.evaluate("derivative", 0.0, state)[0]
    joints = simulation.translation.topology.tree_joints
    axes = ["xyz"[int(np.argmax(joint.axis))] for joint in joints]
    n = len(program.coordinates)
    expected = articulated(axes, state[:n], state[n:])
    np.testing.assert_allclose(rate[n:], expected, rtol=1e-9, atol=tolerance * np.abs(expected).max())


def test_a_large_model_can_be_inspected() -> None:
    report = inspect(Hung(lambda: thousands(10)))
    assert report.bodies == report.degrees_of_freedom == 1000
    assert sum(kind.instances for kind in report.types) == 100
