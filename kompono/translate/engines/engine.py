"""What every engine is to others: the state of the moving joints of a tree, its names, and routines that move it.

What else there is of an engine follows from how it works. A `PosedEngine` knows where the whole model is at a state, a
`TracedEngine` also how it moves from there, and a `SolvedEngine` holds conditions by multipliers and brings states back
on them. The engine of large models traces types of components instead, and the discrete one holds joints by springs:
each inherits what it is, and refuses nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca

from kompono.model.constraint import Constraint, Coupling
from kompono.model.joint import Joint
from kompono.spatial.pose import symbolic_pose
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.laws import ask_holds
from kompono.translate.declared.sampling import due_together, rates_of
from kompono.translate.elimination.plan import closing_elements
from kompono.translate.laws.rows import LawRows
from kompono.translate.motion.conditions import Closing, ToldConditions, group_sizes
from kompono.translate.program import Channel, Routine
from kompono.translate.structure.topology import Topology

if TYPE_CHECKING:
    from kompono.translate.declared.stored import KeptTranslation


class Engine(ABC):
    """The state is (q, v) of the moving joints of a topology, roots first, modes, and states of one's own."""

    shelved: KeptTranslation | None = None  # where the translation is kept
    whole = True  # whether routines on the whole model can be traced; too large a model is known by its types alone

    def __init__(self, model: Elaborated, topology: Topology, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        self.model, self.topology, self.kernels, self.shared = model, topology, kernels, shared
        self.joints = topology.tree_joints
        self.closing = closing_elements(model, topology)
        self.counted = self.counted_joints()
        self.nq = sum(len(joint.coordinates) for joint in (*self.joints, *self.counted))
        self.nv = sum(joint.freedoms for joint in self.joints)
        self.law_rows = LawRows(model)
        self.law_units = self.law_rows.units
        self.sample_rates = rates_of(model.modes)  # at which modes are sampled
        self.ticks = due_together(self.sample_rates)  # numbers of those that can be due together: routines `tick_k`

    # -- what an engine gives

    @abstractmethod
    def derivative(self) -> Routine:
        """state -> rate."""

    @abstractmethod
    def outputs(self, name: str = "outputs", columns: Sequence[int] | None = None) -> Routine:
        """All channels, or those in some columns."""

    @property
    @abstractmethod
    def channels(self) -> Sequence[Channel]:
        """All channels of the result."""

    @abstractmethod
    def routines(self) -> dict[str, Callable[[], Routine]]:
        """All routines by name, each traced when first asked for."""

    @property
    def strays(self) -> bool:
        """Whether stages of a step may leave conditions that are kept by projection."""
        return False

    @property
    def independence(self) -> tuple[int, int]:
        """How many conditions are independent, and how many others they imply wherever the machine can go; zeros where
        nobody has to know.
        """
        return 0, 0

    @cached_property
    def _hidden(self) -> ca.SX:
        """Parameters behind those of the model, for the engine's own use."""
        return ca.SX(0, 1)

    # -- names

    def coordinate_names(self) -> tuple[str, ...]:
        """Names of q: `<joint path>.<coordinate>`, `<body path>.free.x` ... of bodies that move freely."""
        joints = (*self.joints, *self.counted)
        return tuple(name for joint in joints for name in self._names(joint, joint.coordinates))

    def speed_names(self) -> tuple[str, ...]:
        """Names of v."""
        return tuple(name for joint in self.joints for name in self._names(joint, joint.speed_names()))

    def _names(self, joint: Joint, names: tuple[str, ...]) -> list[str]:
        path = self.model.path(joint) if joint.owner else f"{joint._name}.free"
        return [f"{path}.{name}" for name in names]

    def row_labels(self) -> tuple[str, ...]:
        """Path of the element each condition row belongs to, in the order of `conditions`."""
        return tuple(self.model.path(element) for element in self.row_owners)

    @cached_property
    def row_owners(self) -> tuple[Closing, ...]:
        """The element each condition row belongs to."""
        return tuple(element for element in self.closing for _ in range(sum(group_sizes(element))))

    def row_units(self) -> tuple[str, ...]:
        """Unit of each condition row: "m", "rad", or empty where it is not known."""
        return tuple(unit for element in self.closing for unit in condition_units(element))

    def hidden_names(self) -> tuple[str, ...]:
        """Names of the parameters the engine adds to those of the model."""
        return ()

    def hold_labels(self) -> tuple[str, ...]:
        """Path of the element each entry of `holds` belongs to."""
        return self._hold_labels

    @cached_property
    def _hold_labels(self) -> tuple[str, ...]:
        return tuple(self.model.path(e) for e in self._directed for _ in range(self._hold_count(e)))

    @cached_property
    def _directed(self) -> tuple[Joint | Constraint, ...]:
        """Closing elements that can tell whether they hold as they are meant."""
        pairs = (element for element in self.closing if not isinstance(element, Coupling))
        return tuple(element for element in pairs if self._hold_count(element))

    def _hold_count(self, element: Joint | Constraint) -> int:
        """How many entries tell so of an element; all engines of a model ask once."""
        known: dict[Closing, int] = self.model.worked_out.setdefault("holds", {})
        if element not in known:
            answer = ask_holds(element, symbolic_pose())
            known[element] = 0 if answer is None else ca.SX(answer).numel()
        return known[element]

    # -- which joints

    def counted_joints(self) -> tuple[Joint, ...]:
        """Joints outside the tree whose coordinates are used: their angles are integrated along, to count turns."""
        return ()

    @cached_property
    def measured_joints(self) -> tuple[Joint, ...]:
        """Joints outside the tree whose coordinates can be measured."""
        joints = (joint for joint in self.topology.closing if joint.coordinates)
        return tuple(joint for joint in joints if joint.measure(symbolic_pose()) is not None)


def condition_units(element: Closing) -> list[str]:
    """The unit of each condition of a closing element: "m" where it depends on positions, "rad" where on directions
    alone, that of the coordinates where it couples some.
    """
    pose = symbolic_pose()
    if isinstance(element, ToldConditions):
        return [""] * element.rows
    if isinstance(element, Coupling):
        groups = [ca.vec(ca.SX(group)) for group in element.conditions()]
        named = [pair for j in element.joints for pair in zip(ca.vertsplit(j.q), j.units, strict=False)]
        units = [{unit for symbol, unit in named if ca.depends_on(group, symbol)} for group in groups]
        return [u for group, one in zip(groups, units, strict=True) for u in [_only(one)] * group.numel()]
    groups = [ca.vec(ca.SX(group)) for group in element.conditions(pose) or []]
    return ["m" if ca.depends_on(group, pose.position) else "rad" for group in groups for _ in range(group.numel())]


def _only(units: set[str]) -> str:
    return next(iter(units)) if len(units) == 1 else ""
