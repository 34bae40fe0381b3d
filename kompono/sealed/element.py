"""A sealed part in a model: `self.damper = Sealed("damper.part", damping=5e3)`.

Its ports are bodies here that carry nothing but the port: what moves with them is known to the file alone, so the mass
they have is used by nobody. Public parameters and inputs are members under their public names. What is wrong with a
file or a keyword is said when the part has its name, for then the message can have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono.errors import KomponoError, ModelError, nearest
from kompono.given import number, shown
from kompono.model.body import Body
from kompono.model.event import Indicated, Mode
from kompono.model.pin import Electrical, Hydraulic, Pin, Rotational, Thermal, Translational
from kompono.model.signal import Input, Output, Parameter, time
from kompono.model.subsystem import Subsystem

if TYPE_CHECKING:
    from kompono.sealed.code import SealedCode
    from kompono.sealed.shape import NetworkShape, PinShape, Quantity


class NoSuchPort(ModelError, AttributeError):
    """A sealed part does not show what was asked for."""


class NamesBelow(dict[str, Any]):
    """Members below a name with dots, as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise NoSuchPort(f"there is no {name!r} here.", fix=nearest(name, self)) from None


class Sealed(Subsystem):
    """A part from a sealed file, with its ports as attributes.

    Keywords are its public parameters and inputs: numbers, `Parameter(...)`, `Input(...)`. Others keep the values the
    author gave them. `kompono inspect FILE` shows what there is. The author must be trusted (`kompono trust add FILE`),
    or a wall be around the code: `wall="process"` (or `isolate=True`) runs it in a process of its own, which on Linux
    can do nothing but compute; `wall="wasm"` as WebAssembly, on every system.
    """

    closed = True
    _code: SealedCode | None = None
    _problem: KomponoError | None = None
    _answers: tuple[ca.SX, ...] = ()  # by network: s and Y at its pins, which the file knows

    def __init__(self, file: str | Path, *, isolate: bool = False, wall: str | None = None, **values: Any) -> None:
        from kompono.sealed.code import load_sealed

        self._file = str(file)
        try:
            if not isinstance(file, str | Path):
                raise ModelError(f"file {shown(file)} is no name of a file.", fix='Use e.g. Sealed("damper.part").')
            self._code = load_sealed(file, _wall(isolate, wall))
            self._declare(self._code, values)
        except KomponoError as problem:
            self._problem = problem

    def _declare(self, code: SealedCode, values: dict[str, Any]) -> None:
        shape = code.manifest.shape
        known = {q.name: q for q in (*shape.parameters, *shape.inputs)}
        for name in values:
            if name not in known:
                offered = f"Public are: {', '.join(known)}." if known else f"{shape.name} has none."
                raise ModelError(f"it has no parameter or input {name!r}.", fix=nearest(name, known) or offered)
        members: dict[str, Any] = {}
        for port in shape.ports:
            _put(members, port.name, Body(mass=1.0, inertia=(1.0, 1.0, 1.0), shape=shape.pictures.get(port.name, ())))
        for quantity in shape.parameters:
            _put(members, quantity.name, _signal(Parameter, quantity, values.get(quantity.name)))
        for quantity in shape.inputs:
            _put(members, quantity.name, _signal(Input, quantity, values.get(quantity.name)))
        units = {channel.name: channel.unit for channel in shape.channels}
        for name in shape.outputs:
            _put(members, name, Output(0.0, unit=units[name]))  # what it is, the file knows
        variant = shape.variants[0]
        start = code.starts[0][variant.size - variant.modes :]
        modes = _modes(start.tolist(), shape.rates)
        for name, kept in (("modes", modes), ("events", [Indicated(time, dict(zip(modes, modes, strict=True)))
                                                         for _ in range(shape.events)])):  # fmt: skip
            if kept:
                _put(members, name, kept)
        pins = {name: kind_of(pin)() for pin in shape.pins for name in pin.names}
        for name, pin in pins.items():
            _put(members, name, pin)
        for name, member in members.items():
            if hasattr(type(self), name):
                raise ModelError(
                    f"its public name {name!r} cannot be an attribute.", fix="Ask its author to rename it."
                )
            setattr(self, name, member)
        self.expose(*[self._members[port.name] for port in shape.ports], *pins.values())
        object.__setattr__(self, "_answers", tuple(self._answer(network, pins) for network in shape.networks))
        object.__setattr__(self, "_signals", {f"network_{k}": column for k, column in enumerate(self._answers)})

    def _answer(self, network: NetworkShape, pins: Mapping[str, Pin]) -> ca.SX:
        """Equations of a network at the border, and the symbols in them that the file knows."""
        given, answers = [], []
        for shape in network.pins:
            if len(shape.names) > 1:
                self.connect(*[pins[name] for name in shape.names])
            pin = pins[shape.name]
            given.append(pin.through if shape.by_through else pin.across)
            answers.append(pin.across if shape.by_through else pin.through)
        symbols, size = ca.SX.sym("answer", len(given) + len(network.entries)), len(given)
        for k, answer in enumerate(answers):
            told = [symbols[size + n] * given[j] for n, (i, j) in enumerate(network.entries) if i == k]
            self.require(answer - symbols[k] - sum(told))
        return symbols

    # -- said when it has a name

    def _check(self, where: str) -> None:
        if self._problem is not None:
            raise self._said(where) from self._problem

    def _said(self, where: str) -> KomponoError:
        problem = self._problem
        assert problem is not None
        text = f"{problem.path}: {problem.message}" if problem.named else problem.message
        file = f"{self._file}: " if self._file not in text else ""
        return type(problem)(f"{file}{text}", path=where, fix=problem.fix)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._problem is not None:
            raise self._said(self.label)
        shape = code_of(self).manifest.shape
        ports = [*(port.name for port in shape.ports), *(name for pin in shape.pins for name in pin.names)]
        fix = nearest(name, ports) or f"Its ports are: {', '.join(ports)}."
        raise NoSuchPort(f"{self._file} shows no {name!r}.", path=self.label, fix=fix)


def _modes(starts: list[float], rates: Sequence[tuple[float, float]]) -> list[Mode]:
    """What a part remembers beside coordinates and speeds. The first ones say at which rates it samples: who is sampled
    at which, the file knows.
    """
    made = [Mode(start, every=every, offset=offset) for start, (every, offset) in zip(starts, rates, strict=False)]
    for mode in made:
        mode.next = ca.SX(mode)
    return [*made, *(Mode(start) for start in starts[len(made) :])]


def _wall(isolate: Any, wall: Any) -> str:
    """The wall two ways of asking for one mean."""
    from kompono.sealed.code import WALLS

    if not isinstance(isolate, bool):
        fix = "Use isolate=True or isolate=False."
        raise ModelError(f"isolate = {shown(isolate)} is neither True nor False.", fix=fix)
    if wall is not None and wall not in WALLS:
        raise ModelError(f"wall = {shown(wall)} is no wall.", fix=f"Use {' or '.join(map(repr, WALLS))}.")
    if isolate and wall not in (None, "process"):
        raise ModelError(f"isolate=True means wall='process', not {wall!r}.", fix="Leave one of them out.")
    return "process" if isolate else wall or ""


def code_of(part: Sealed) -> SealedCode:
    """What the file of a part holds."""
    assert part._code is not None
    return part._code


def signal_of(part: Sealed, name: str) -> ca.SX:
    """A public parameter or input as a symbol, or what is given at a pin."""
    member: Any = part._members[name]
    if isinstance(member, Pin):
        shape = next(pin for pin in code_of(part).manifest.shape.pins if pin.name == name)
        return ca.SX(member.through if shape.by_through else member.across)
    return ca.SX(member)


def kind_of(shape: PinShape) -> type[Pin]:
    """The kind of pin a shape tells of."""
    for kind in (Electrical, Rotational, Translational, Hydraulic, Thermal):
        if (kind.across_name, kind.across_unit) == shape.across and (
            kind.through_name,
            kind.through_unit,
        ) == shape.through:
            return kind
    (across, across_unit), (through, through_unit) = shape.across, shape.through
    names = {"across_name": across, "across_unit": across_unit, "through_name": through, "through_unit": through_unit}
    return type("Pin", (Pin,), names)


def _put(members: dict[str, Any], path: str, element: Any) -> None:
    """Place a member under a name that may have dots."""
    *above, name = path.split(".")
    for key in above:
        members = members.setdefault(key, NamesBelow())
        if not isinstance(members, Mapping):
            raise ModelError(f"its public name {path!r} is below another one.", fix="Ask its author to rename it.")
    if name in members:
        raise ModelError(f"its public name {path!r} is there twice.", fix="Ask its author to rename it.")
    members[name] = element


def _signal(kind: type[Parameter] | type[Input], quantity: Quantity, given: Any) -> Parameter | Input:
    """A public parameter or input: a number, or an element of its own that nobody else has."""
    name, word = quantity.name, kind.__name__
    article = "an" if kind is Input else "a"
    if isinstance(given, kind):
        if given.owner is not None:
            raise ModelError(
                f"{name} = {given.label} belongs to another component.",
                fix=f"Give a number, or one of its own: {name}={word}(...).",
            )
        return given
    fix = f"Give a number, or {name}={word}({quantity.default:g})."
    if isinstance(given, ca.SX) or callable(given):
        raise ModelError(f"{name} = {shown(given)} is neither a number nor {article} {word}.", fix=fix)
    value = quantity.default if given is None else number(given, name, fix=fix)
    made = kind(value, unit=quantity.unit)
    if isinstance(made, Input):
        made._has_source = given is not None  # what the author gave is not of the owner
    return made
