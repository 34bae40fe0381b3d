"""A model in joint coordinates as plain numbers: its conditions and masses at any state, for decisions about rank."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property

import casadi as ca
import numpy as np

from kompono.model.body import Carrier
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.evaluated import on_arrays
from kompono.translate.motion.conditions import Closure, Closures
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import declared_inertia
from kompono.translate.rank.rank import LiveRows, RankSample, find_live
from kompono.translate.rank.redundant import NumericModel, Position, find_positions, slips
from kompono.translate.structure.independent import independent_sets
from kompono.translate.symbolic import Matrix, Vector
from kompono.translate.tracer import Tracer

SAMPLES = 5  # arbitrary states at which conditions are looked at

Freedoms = Mapping[Joint, tuple[int, ...]]  # some freedoms of joints whose coordinates are integrals of their speeds


class Probe:
    """An inlined trace of the kinematics of a model and of all conditions that close its loops. `weights` are motions
    with inertias in the place of some bodies (`borne`).
    """

    def __init__(
        self, tracer: Tracer, kinematics: Kinematics, closures: Closures, counted: int,
        weights: Sequence[tuple[Vector, Matrix]] = (), borne: Collection[Carrier] = (),
    ) -> None:  # fmt: skip
        self.weights, self.borne = weights, borne
        self.tracer, self.kinematics, self.closures = tracer, kinematics, closures
        self.model, self.joints = kinematics.model, kinematics.topology.tree_joints
        self.moved = sum(len(joint.coordinates) for joint in self.joints)
        self.nq, self.nv = self.moved + counted, sum(joint.freedoms for joint in self.joints)
        self.positions: Sequence[Position] = []  # where all loops are closed
        self._at_start = np.zeros(0)

    # -- states

    def samples(self, count: int, *, exact: bool = True) -> np.ndarray:
        """Arbitrary values of all inputs of a routine, quaternions of unit length; parameters as declared, if not
        `exact` nearly so.
        """
        random = np.random.default_rng(1)
        rows = random.uniform(0.2, 0.9, (count, self.tracer.symbols.numel()))
        around = 0.0 if exact else random.uniform(-0.05, 0.05, (count, len(self.parameters)))
        near = self.parameters + around * np.where(self.parameters == 0, 1.0, self.parameters)
        rows[:, rows.shape[1] - len(self.parameters) :] = near
        for row in rows:
            row[1 : 1 + self.moved] = self._normalized(row[1 : 1 + self.moved])
        return rows

    def wide_samples(self, count: int) -> np.ndarray:
        """The same with parameters nearly as declared and coordinates from -3 to 3."""
        rows, random = self.samples(count, exact=False), np.random.default_rng(2)
        for row in rows:
            row[1 : 1 + self.moved] = self._normalized(random.uniform(-3, 3, self.moved))
        return rows

    def rows_at(self, values: np.ndarray) -> dict[Element, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """G on all speeds, the size its rows would have if all joints were free, and g of each element."""
        found = [value.full() for value in self._rows.call([values])]
        gaps = [value.full().ravel() for value in self._gaps.call([values])]
        free = [size.ravel() for size in found[1::2]]
        return dict(zip(self.closures, zip(found[::2], free, gaps, strict=True), strict=True))

    @cached_property
    def _gaps(self) -> ca.Function:
        """All inputs -> g of each element."""
        residuals = [ca.densify(closure.residual) for closure in self.closures.values()]
        return ca.Function("gaps", [self.tracer.symbols], residuals)

    @property
    def parameters(self) -> np.ndarray:
        """Declared values."""
        return np.array([parameter.value for parameter in self.model.parameters], dtype=float)

    def _normalized(self, q: np.ndarray) -> np.ndarray:
        return self._normal(q)[0].ravel() if self.moved else q

    @cached_property
    def _normal(self) -> Callable[[np.ndarray], list[np.ndarray]]:
        """Coordinates with quaternions of unit length."""
        q = ca.SX.sym("q", self.moved)
        ends = np.cumsum([0, *(len(joint.coordinates) for joint in self.joints)]).tolist()
        parts = [(joint, a, b) for joint, a, b in zip(self.joints, ends[:-1], ends[1:], strict=True) if a < b]
        normal = [ca.SX(joint.normalize(q[a:b, :])) for joint, a, b in parts]
        return on_arrays(ca.Function("normal", [q], [ca.densify(ca.vertcat(ca.SX(0, 1), *normal))]))

    # -- at arbitrary states

    def find_live(self, *, unit: bool, locked: Freedoms | None = None) -> dict[Element, LiveRows]:
        """The conditions that can be violated at all, by element, with masses or with `unit` weights of bodies; without
        `locked` freedoms, whose coordinates are zero.
        """
        if not self.closures:
            return {}
        samples = []
        for values in self.samples(SAMPLES, exact=False):
            values[self._coordinates(locked)] = 0.0
            found = [value.full() for value in self._rows.call([values])]
            rows = dict(zip(self.closures, (self._without(rows, locked) for rows in found[::2]), strict=True))
            free = dict(zip(self.closures, (size.ravel() for size in found[1::2]), strict=True))
            samples.append(RankSample(rows, free, self._mass_matrix(values, unit)))
        return find_live(samples, {key: closure.groups for key, closure in self.closures.items()})

    def places(self, freedoms: Freedoms) -> list[tuple[int, int]]:
        """Numbers of freedoms among all coordinates, and among all speeds."""
        found = []
        i = k = 0
        for joint in self.joints:
            found += [(i + place, k + place) for place in freedoms.get(joint, ())]
            i, k = i + len(joint.coordinates), k + joint.freedoms
        return found

    def _coordinates(self, locked: Freedoms | None) -> list[int]:
        return [1 + place for place, _ in self.places(locked or {})]

    def _without(self, rows: np.ndarray, locked: Freedoms | None) -> np.ndarray:
        """G with zeros on the speeds of locked freedoms."""
        if locked:
            rows = rows.copy()
            rows[:, [place for _, place in self.places(locked)]] = 0.0
        return rows

    @cached_property
    def _rows(self) -> ca.Function:
        """All inputs -> G of each element on all speeds, and the largest entry its rows would have if all joints were
        free.
        """
        outputs = []
        for closure in self.closures.values():
            known = ca.horzcat(ca.SX(closure.size, 0), *closure.columns.values(), *closure.carried)
            outputs += [self.columns(closure), _largest(known)]
        return ca.Function("rows", [self.tracer.symbols], outputs)

    def columns(self, closure: Closure[Joint]) -> Matrix:
        """G of an element on all speeds."""
        columns = [closure.columns.get(joint, ca.SX(closure.size, joint.freedoms)) for joint in self.joints]
        return ca.densify(ca.horzcat(ca.SX(closure.size, 0), *columns))

    @cached_property
    def _twists(self) -> tuple[ca.Function, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """All inputs at some speeds -> twists of all bodies at each. At the first nothing moves, at the others one
        speed of each set that shares no body with others; the place of each speed among these; and the sets: of which
        twists (rows), and speeds.
        """
        bodies = [body for body in self.model.bodies if body not in self.borne]
        twists = [*[self.kinematics.absolute(body).twist for body in bodies], *[w for w, _ in self.weights]]
        function = ca.Function("twists", [self.tracer.symbols], [ca.densify(ca.vertcat(ca.SX(0, 1), *twists))])
        ends = np.cumsum([0, *(twist.numel() for twist in twists)])
        rows, columns = (np.array(places, dtype=int) for places in function.jac_sparsity(0, 0).get_triplet())
        columns = columns - 1 - self.nq
        ours = (columns >= 0) & (columns < self.nv)
        moves = np.zeros((len(twists), self.nv), dtype=bool)  # body by body, for inertias join all of a twist
        moves[np.searchsorted(ends, rows[ours], side="right") - 1, columns[ours]] = True
        place, sets = np.ones(self.nv, dtype=int), list[tuple[np.ndarray, np.ndarray]]()
        for moved, speeds in independent_sets(moves):
            place[speeds] = 1 + np.arange(len(speeds))
            sets.append((np.concatenate([np.zeros(0, int), *(np.arange(*ends[k : k + 2]) for k in moved)]), speeds))
        return function.map(int(place.max(initial=0)) + 1), place, sets

    @cached_property
    def _inertias(self) -> ca.Function:
        """All inputs -> inertias of all bodies, in the order of their twists."""
        bodies = [body for body in self.model.bodies if body not in self.borne]
        inertias = [*[declared_inertia(self.kinematics, body) for body in bodies], *[m for _, m in self.weights]]
        return ca.Function("inertias", [self.tracer.symbols], [ca.densify(inertia) for inertia in inertias])

    def _mass_matrix(self, values: np.ndarray, unit: bool = False) -> np.ndarray:
        """M (nv, nv) at a state, from the twists of all bodies at unit speeds."""
        function, place, sets = self._twists
        states = np.repeat(values[:, None], function.size2_in(0), axis=1)
        speeds = 1 + self.nq + np.arange(self.nv)
        states[speeds] = 0.0
        states[speeds, place] = 1.0
        twists = function(states).full()
        moved = twists[:, 1:] - twists[:, :1]
        weighed = moved if unit else self._times_inertias(states[:, 0], moved)
        found = np.zeros((self.nv, self.nv))
        for bodies, own in sets:
            columns = bodies[:, None], place[own] - 1
            found[own[:, None], own] = moved[columns].T @ weighed[columns]
        return found if unit or not self.model.lumps else found + np.diag(self._lumps(values).full().ravel())

    def _times_inertias(self, values: np.ndarray, twists: np.ndarray) -> np.ndarray:
        """Inertias times columns of twists, body by body."""
        result, place = np.zeros_like(twists), 0
        for inertia in self._inertias.call([values]):
            rows = slice(place, place + inertia.shape[0])
            for column, twist in zip(inertia.full().T, twists[rows], strict=True):
                result[rows] += np.outer(column, twist)
            place = rows.stop
        return result

    @cached_property
    def _lumps(self) -> ca.Function:
        """All inputs -> inertia on the speeds themselves."""
        total = [ca.SX(joint.freedoms, 1) for joint in self.joints]
        for lump in self.model.lumps:
            total[self.joints.index(lump.joint)][lump.place] += lump.inertia
        return ca.Function("lumps", [self.tracer.symbols], [ca.densify(ca.vertcat(ca.SX(0, 1), *total))])

    # -- at positions where the conditions hold

    def add_slips(
        self, live: dict[Element, LiveRows], order: Iterable[Element], start: np.ndarray,
        locked: Freedoms | None = None, known: Sequence[Position] = (),
    ) -> dict[Element, LiveRows]:  # fmt: skip
        """The same live rows with slips for those that others, before them in `order`, imply; from the declared `start`
        (state), and without `locked` freedoms. Positions with closed loops are found, if none are `known`.
        """
        ends = np.cumsum([0, *(len(live[key].size) for key in self.closures)])
        places = {key: np.arange(a, b) for key, a, b in zip(self.closures, ends[:-1], ends[1:], strict=True)}
        if not ends[-1]:
            return live
        fixed = {
            key: places[key]
            for key in order
            if len(places[key]) and not self.switched(self.columns(self.closures[key]))
        }
        sizes = np.sqrt(np.concatenate([live[key].size for key in self.closures]))
        machine = self._numeric(live, start)
        self.positions = known or self.positions or find_positions(machine)
        matrices = [position.matrix for position in self.positions]
        if locked or known:  # other rows are live then
            matrices = [self._without(machine.evaluate(p.time, p.q, p.parameters)[1], locked) for p in self.positions]
        found = slips([matrix / machine.scale for matrix in matrices], self.ways, fixed, sizes)
        return {key: one.with_slips(found.get(key)) for key, one in live.items()}

    @property
    def ways(self) -> list[int]:
        """For each position where conditions were looked at, the place of the one it was reached from."""
        return [position.before for position in self.positions]

    def held(self) -> list[np.ndarray]:
        """All inputs of a routine at the positions where conditions were looked at, with nothing moving; none before
        `add_slips`.
        """
        rows = []
        for position in self.positions:
            row = self._at_start.copy()
            row[1 + self.nq : 1 + self.nq + self.nv] = 0.0
            row[0], row[1 : 1 + self.moved] = position.time, position.q
            row[len(row) - len(position.parameters) :] = position.parameters
            rows.append(row)
        return rows

    def _numeric(self, live: dict[Element, LiveRows], start: np.ndarray) -> NumericModel:
        pairs = [(live[key], closure) for key, closure in self.closures.items()]
        gaps = ca.vertcat(*[one.rows(closure.residual, self.tracer) for one, closure in pairs])
        rows = ca.vertcat(*[one.rows(self.columns(closure), self.tracer) for one, closure in pairs])
        function = ca.Function("conditions", [self.tracer.symbols], [ca.densify(gaps), ca.densify(rows)])
        conditions = on_arrays(function)
        rates = ca.Function("rates", [self.tracer.symbols], [ca.densify(self._coordinate_rates())])
        values = np.zeros(self.tracer.symbols.numel())
        values[1 : 1 + len(start)] = start
        inputs = 1 + len(start)
        values[inputs : inputs + len(self.model.inputs)] = first_values(self.model)

        def evaluate(time: float, q: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            here = values.copy()
            here[0], here[1 : 1 + self.moved] = time, q
            here[len(here) - len(parameters) :] = parameters
            g, matrix = conditions(here)
            return g.ravel(), matrix

        def move(q: np.ndarray, change: np.ndarray) -> np.ndarray:
            here = values.copy()
            here[1 : 1 + self.moved], here[1 + self.nq : 1 + self.nq + self.nv] = q, change
            return self._normalized(q + rates(here).full().ravel())

        at_start = values.copy()
        at_start[len(values) - len(self.parameters) :] = self.parameters
        self._at_start = at_start
        square = np.diag(self._mass_matrix(at_start, unit=True))  # how far bodies move, whatever they weigh
        scale = np.sqrt(np.where(square > 0, square, 1.0))
        return NumericModel(evaluate, move, start[: self.moved], self.parameters, scale)

    def _coordinate_rates(self) -> Vector:
        links = [link for link in self.kinematics.topology.links if link.joint is not None and not link.crosses]
        return ca.vertcat(ca.SX(0, 1), *[self.kinematics.step(link).rate for link in links])

    def switched(self, columns: Matrix) -> bool:
        """Whether modes or inputs have a say in conditions, given their G."""
        outside = {ca.SX(signal).element_hash() for signal in (*self.model.modes, *self.model.inputs)}
        return any(symbol.element_hash() in outside for symbol in ca.symvar(ca.vec(columns)))


def first_values(model: Elaborated) -> np.ndarray:
    """The inputs at the start as declared; callables are not asked."""
    values = [
        float(np.interp(0.0, *signal.table)) if signal.table is not None
        else 0.0 if callable(signal.value) else float(signal.value)
        for signal in model.inputs
    ]  # fmt: skip
    return np.array(values, dtype=float)


def _largest(matrix: Matrix) -> Vector:
    """The largest entry of each row, by size."""
    largest = ca.SX(matrix.shape[0], 1)
    for k in range(matrix.shape[1]):
        largest = ca.fmax(largest, ca.fabs(matrix[:, k]))
    return ca.densify(largest)
