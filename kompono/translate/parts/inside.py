"""The functions of a part: what it is to its owner, whatever its owner is.

    move         time, x                             motion of the other ports as seen from the base
    condense     time, base, fields, x               the block and the vector at its ports
    resolve      the same, a and tau                 rates of x
    violated_*   time, x                             block, vector of a violation inside, how near a lost rank
    corrected_*  the same, a and tau                 x with the violation undone
    normalize, gap, drift                            x with unit quaternions; how far x is off the conditions inside
    report       as resolve                          channels and energies of the inside
    guards, switch_k                                 values whose rise is an event; new values of modes
    law_guards                                       values whose rise makes a law settle, and their slopes
    law_*, moved                                     what is asked of laws at events (`law_events.py`)
    tick_k                                           x after an instant when some modes are sampled
    signal_k                                         outputs that are no results
    network_k                                        s and Y of `answer = Y given + s` at its pins
    kick, coast, follow                              steps among stiff links (`linked.py`)

and the signals from outside that laws inside use. x, the coordinates, speeds and modes inside, has no names here. The
functions are named by their content: equal parts share them, and nothing around a part changes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import casadi as ca

from kompono.model.body import Body, Carrier, Ground
from kompono.model.signal import Output, time
from kompono.model.subsystem import Subsystem
from kompono.translate.declared.network_borders import answer_at
from kompono.translate.declared.networks import Network
from kompono.translate.declared.open_networks import open_network
from kompono.translate.engines.discrete.links import Strengths
from kompono.translate.engines.judging import Close
from kompono.translate.laws.handed import HandedShape
from kompono.translate.laws.stacked import Stacked
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.signals import outputs_without_results
from kompono.translate.numbers import OpenNumbers, extracted
from kompono.translate.parts.border import FIELDS, MOTION, Border, pack_motion, port_in
from kompono.translate.parts.compartment import Compartment, within
from kompono.translate.parts.enclosed import Enclosed
from kompono.translate.parts.law_events import Lawless, look
from kompono.translate.parts.law_guards import law_guards
from kompono.translate.parts.linked import linked_functions, moment_of
from kompono.translate.parts.moment import Moment
from kompono.translate.parts.report import drift_of, report_inside
from kompono.translate.parts.ticks import sampled
from kompono.translate.parts.tying import TIED, as_tied
from kompono.translate.program import Channel
from kompono.translate.symbolic import Scalar, Vector
from kompono.translate.texts import written
from kompono.translate.tracer import InlineTracer

LEVELS = ("rate", "residual", "speed")
BY_FORCES = ("moved", "law_push", "law_respond", *(f"tied_{name}" for name in TIED))  # functions of forces on laws


class PartTracer(InlineTracer):
    """Symbols that nobody inside defines are signals from outside."""

    def lookup(self, symbol: ca.SX) -> Scalar:
        key = symbol.element_hash()
        return super().lookup(symbol) if key in self._known or key in self._providers else symbol


@dataclass(frozen=True)
class PartFunction:
    """One function of a part: the groups of its arguments, and the symbols outside whose values come behind them."""

    function: ca.Function
    groups: tuple[str, ...]
    signals: tuple[ca.SX, ...]
    numbers: ca.SX = field(default_factory=lambda: ca.SX(0, 1))  # what is made of numbers alone, behind these


class Part:
    """A closed part as its owner has it."""

    opens = True  # whether its inside can be looked at, for decisions
    elsewhere = False  # whether its state is
    unreported: Sequence[Body] = ()  # carriers of ports whose motion it does not report
    floating: frozenset[Carrier] = frozenset()  # carriers of ports that do not move with the base of a sealed part

    def __init__(
        self, enclosed: Enclosed, closed: Sequence[Subsystem], border: Border, cut: Iterable[str], close: Close | None,
        world: Ground, placed: bool, away: Sequence[Subsystem] = (),
        entered: Mapping[Subsystem, Carrier] | None = None, apart: bool = False, held: Strengths | None = None,
        flying: frozenset[Carrier] | None = None,
    ) -> None:  # fmt: skip
        self.part, self.path, self.border = enclosed.part, enclosed.path, border
        self.inside = Compartment(
            within(enclosed.model, enclosed.path), closed, border, cut=cut, close=close, world=world, placed=placed,
            away=away, entered=entered, apart=apart, held=held, flying=flying,
        )  # fmt: skip
        self._networks = [network for network in enclosed.model.networks if network.terminals]
        elsewhere = [k for k, part in enumerate(away) if part is enclosed.part]
        self._stem = f"away_{elsewhere[0]}" if elsewhere else "part"
        self._made: dict[str, PartFunction] = {}

    def has(self, carrier: Carrier) -> bool:
        """Whether a port is fixed on a carrier."""
        return any(port.body is carrier for port in self.border.ports)

    @property
    def handed(self) -> HandedShape:
        """Rows of laws that are handed on."""
        return self.inside.handed

    @property
    def laws(self) -> Stacked:
        """Units of laws inside, in the order in which they are told."""
        return self.inside.laws

    def place(self, carrier: Carrier) -> int:
        """The number of a carrier among those of the other ports."""
        return next(k for k, port in enumerate(self.border.others) if port.body is carrier)

    def ask(
        self, kinematics: Kinematics, name: str, x: Vector, *, base: Vector | None = None,
        fields: Vector | None = None, given: Vector | None = None, forces: Vector | None = None,
    ) -> Vector:  # fmt: skip
        """Call one of the functions at a state of the owner."""
        closed = self.closed(name)
        tracer = kinematics.tracer
        known = {
            "time": tracer.values["time"],
            "base": base,
            "fields": fields,
            "x": x,
            "given": given,
            "forces": forces,
        }
        values = [known[group] for group in closed.groups]
        values += [tracer.call(lambda s=symbol: s, path=self.path, free=True) for symbol in closed.signals]
        if tracer.numbers is not None and closed.numbers.numel():
            values.append(tracer.told(f"{self.path} {name}", closed.numbers))
        function = closed.function
        if not function.nnz_out():
            return ca.SX(0, 1)
        return tracer.call(
            lambda *v: function.call([ca.densify(ca.vertcat(*v))], False, True)[0], *values, path=self.path
        )

    def numbered(self, name: str) -> PartFunction:
        """One of the functions with its numbers in place, for who has no table of them: the same code with a call
        around it.
        """
        closed = self.closed(name)
        if not closed.numbers.numel():
            return closed
        numbers, inner = self.inside.model.numbers, closed.function
        values = numbers.worth(closed.numbers) if numbers is not None else None
        assert values is not None
        x = ca.SX.sym("x", inner.nnz_in() - values.numel())
        output = inner.call([ca.vertcat(x, ca.SX(values))], False, True)[0]
        told = f"{inner.name()} {values.full().tobytes().hex()}"
        digest = hashlib.sha256(told.encode()).hexdigest()[:24]
        outer = ca.Function(f"{self._stem}_{digest}", [x], [output], {"never_inline": True})
        return PartFunction(outer, closed.groups, closed.signals)

    def closed(self, name: str) -> PartFunction:
        """One of the functions, traced when first asked for."""
        if name not in self._made:
            self._made[name] = self._trace(name)
        return self._made[name]

    # -- tracing

    @cached_property
    def _functions(self) -> dict[str, Callable[..., Vector]]:
        made: dict[str, Callable[..., Vector]] = {
            "move": lambda now, _: self._move(now),
            "condense": lambda now, _: now.forces().packed(),
            "resolve": self._resolve,
            "normalize": lambda now, _: self.inside.pack(now.normalized()),
            "gap": lambda now, _: now.gap(),
            "drift": lambda now, _: ca.vertcat(*drift_of(now)),
            "report": self._report,
            "guards": lambda now, _: self._guards(now),
            "moved": lambda now, given, forces: Lawless(now).moved_rates(self._ports(given), forces),
        }
        if self.laws.size:
            made |= {
                "law_guards": self._law_guards,
                "law_look": lambda now, _: ca.vertcat(*look(now)),
                "law_condense": lambda now, _: now.forces(lawless=True).packed(),
                "law_push": lambda now, _, forces: Lawless(now).push(forces),
                "law_free": lambda now, given: ca.vertcat(*Lawless(now).free(self._ports(given))),
                "law_resolve": lambda now, given: Lawless(now).free_rates(self._ports(given)),
                "law_respond": lambda now, given, forces: ca.vertcat(*Lawless(now).moved(self._ports(given), forces)),
            }
        for k, event in enumerate(self.inside.whole.events):
            made[f"switch_{k}"] = lambda now, _, e=event: ca.vertcat(*[value for _, value in now.switched(e)])
        for k, numbers in enumerate(self.inside.ticks):
            due = [self.inside.sample_rates[number] for number in numbers]
            made[f"tick_{k}"] = lambda now, _, due=due: self.inside.pack(sampled(now, due))
        for k, output in enumerate(self.shown):
            made[f"signal_{k}"] = lambda now, _, o=output: now.tracer.call(lambda: ca.SX(o), free=True)
        for k, network in enumerate(self._networks):
            made[f"network_{k}"] = lambda now, _, n=network: self._answer(now, n)
        if self.inside.held is not None:
            return made | linked_functions(self.inside)
        for level in LEVELS:
            made[f"violated_{level}"] = lambda now, _, level=level: self._violated(now, level)
            made[f"corrected_{level}"] = lambda now, given, level=level: self._corrected(now, given, level)
        for name in TIED if self.laws.size else ():
            made[f"tied_{name}"] = lambda now, given, forces, f=made[name]: f(as_tied(now), self._told(given, forces))
        return made

    @cached_property
    def shown(self) -> list[Output]:
        """Outputs that an owner may use as signals: `signal_k` gives the k-th."""
        return outputs_without_results(self.inside.whole)

    @property
    def network_symbols(self) -> list[Vector]:
        """What stands for its answers at pins in the equations of its owner, by network."""
        return [network.border.symbols for network in self._networks]

    def _answer(self, now: Moment, network: Network) -> Vector:
        pieces = [open_network(self.inside.model, piece) for piece in self.inside.model.networks]
        return now.tracer.call(lambda: answer_at(network, pieces), free=True)

    def _trace(self, name: str) -> PartFunction:
        groups, now = moment_in(self.inside)
        given = (groups["given"], groups["forces"]) if name in BY_FORCES else (groups["given"],)
        output = ca.densify(ca.vec(ca.SX(self._functions[name](now, *given))))
        return _closed(output, groups, self._stem, self.inside.model.numbers)

    def _ports(self, given: Vector) -> Vector:
        """What is at the ports, of all that an owner gives."""
        return given[: self.border.size, :]

    def _told(self, given: Vector, forces: Vector) -> Vector:
        """The same, and forces of all rows of laws."""
        return ca.vertcat(self._ports(given), forces)

    def _move(self, now: Moment) -> Vector:
        kinematics, base = now.kinematics, self.border.base
        start = base.body if base is not None else kinematics.topology.world
        motions = [
            pack_motion(kinematics.relative(start, port.body), port_in(kinematics, port)) for port in self.border.others
        ]
        return ca.vertcat(ca.SX(0, 1), *motions)

    def _resolve(self, now: Moment, given: Vector) -> Vector:
        condensed = now.forces()
        return self.inside.pack(now.rates(condensed, condensed.resolve(given), given))

    def _report(self, now: Moment, given: Vector) -> Vector:
        channels, values, energies = report_inside(now, given)
        self._channels = channels
        return ca.vertcat(ca.SX(0, 1), *values, *energies)

    def channels(self) -> tuple[Channel, ...]:
        """What is reported of the inside, with paths from the owner."""
        self.closed("report")
        return tuple(replace(channel, name=f"{self.path}.{channel.name}") for channel in self._channels)

    def _guards(self, now: Moment) -> Vector:
        found = now.guards()
        return ca.vertcat(ca.SX(0, 1), *[found[event] for event in self.inside.whole.events])

    def _law_guards(self, now: Moment, given: Vector) -> Vector:
        condensed = now.forces()
        values, slopes = law_guards(condensed, condensed.resolve(given), given)
        return ca.vertcat(ca.SX(0, 1), *values, *slopes)

    def _violated(self, now: Moment, level: str) -> Vector:
        if level == "residual":
            now = now.at(now.normalized())
        condensed = now.violated(level)
        return ca.vertcat(condensed.packed(), condensed.near())

    def _corrected(self, now: Moment, given: Vector, level: str) -> Vector:
        if level == "residual":
            now = now.at(now.normalized())
        condensed = now.violated(level)
        return self.inside.pack(now.corrected(condensed, condensed.resolve(given), level))


def moment_in(inside: Compartment) -> tuple[dict[str, Vector], Moment]:
    """Symbols for the arguments of functions, and the compartment at these."""
    border = inside.border
    groups = {
        "time": ca.SX(time),
        "base": ca.SX.sym("base", MOTION if border is not None and border.based else 0),
        "fields": ca.SX.sym("fields", FIELDS),
        "x": inside.symbols,
        "given": ca.SX.sym("given", (border.size if border is not None else 0) + inside.handed.rows),
        "forces": ca.SX.sym("forces", inside.laws.size),
    }
    tracer = PartTracer(list(groups.items()), {})
    tracer.numbers = inside.model.numbers
    return groups, moment_of(inside, tracer, inside.unpack(groups["x"]), groups["base"], groups["fields"])


def _closed(output: Vector, groups: dict[str, Vector], stem: str, numbers: OpenNumbers | None) -> PartFunction:
    """A function of the groups its output depends on and of all other symbols in it, named by its content; the `stem`
    of its name tells where it runs. Numbers that are put in after tracing are arguments of it, and so is what is made
    of these alone: parts that differ in numbers have the same functions.
    """
    output, places, made = _without_numbers(ca.cse(output), numbers)
    found = ca.symvar(output)
    present = {symbol.element_hash() for symbol in found}
    own = {s.element_hash(): name for name, column in groups.items() for s in _entries(column)}
    used = {own[key] for key in present if key in own}
    kept = tuple(name for name in groups if name in used)
    own |= {s.element_hash(): "" for s in _entries(places)}
    signals = tuple(symbol for symbol in found if symbol.element_hash() not in own)
    column = ca.vertcat(ca.SX(0, 1), *[groups[name] for name in kept], *signals, places)
    x = ca.SX.sym("x", column.numel())
    plain = ca.Function("plain", [column], [output])(x)
    name = hashlib.sha256(written(ca.Function("plain", [x], [plain])).encode()).hexdigest()[:24]
    return PartFunction(ca.Function(f"{stem}_{name}", [x], [plain], {"never_inline": True}), kept, signals, made)


def _without_numbers(output: Vector, numbers: OpenNumbers | None) -> tuple[Vector, Vector, Vector]:
    """An output with symbols for all that is made of numbers, these symbols, and what they stand for."""
    known = [s for s in ca.symvar(output) if numbers is not None and numbers.among([s])]
    if not known:
        return output, ca.SX(0, 1), ca.SX(0, 1)
    rest, places, made = extracted(output, ca.vertcat(*known))
    left = {symbol.element_hash() for symbol in ca.symvar(rest)}
    pairs = [(s, s) for s in known if s.element_hash() in left]
    pairs += [(s, value) for s, value in zip(places, made, strict=True) if s.element_hash() in left]
    symbols, values = zip(*pairs, strict=True)
    return rest, ca.vertcat(*symbols), ca.vertcat(*values)


def _entries(column: Vector) -> list[Scalar]:
    return ca.vertsplit(column) if column.numel() else []
