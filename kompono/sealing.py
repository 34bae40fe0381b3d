"""Seal a part: from its functions to a file with machine code, without structure, names and readable numbers."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from kompono.compile import Interpreter, cache, lifted
from kompono.compile import targets as machines
from kompono.compile.lanes import Lanes
from kompono.compile.lower import check_shape
from kompono.compile.straight import zero_results
from kompono.errors import SealedError
from kompono.given import flag
from kompono.model.body import Body
from kompono.model.shape import Shape as Picture
from kompono.model.shape import shapes_of
from kompono.model.signal import Input, Parameter
from kompono.model.subsystem import Subsystem, relative_path
from kompono.notice import Notice
from kompono.request import EVENTS, SOFT
from kompono.sealed import keys
from kompono.sealed.manifest import spell
from kompono.sealed.read import SealedFile
from kompono.sealed.shape import PLACED, Described, Published, Quantity, Shape, Variant
from kompono.sealed.shape_data import from_data, to_data
from kompono.sealed.write import write_sealed
from kompono.solve.assemble import assemble
from kompono.starting import closed_start
from kompono.translate import placing_program
from kompono.translate.declared.sampling import rates_of
from kompono.translate.engines.engine import Engine
from kompono.translate.laws.softened import SEALED_STEP
from kompono.translate.parts.alone import Alone, alone
from kompono.translate.rank.probe import first_values
from kompono.translate.starts.start import placed_state, start_state


def seal_functions(
    functions: Sequence[Mapping[str, ca.Function]],
    shape: Shape,
    path: str | Path,
    *,
    author: keys.Identity | None = None,
    recipients: Iterable[keys.Card | str | Path] = (),
    targets: Iterable[str] | None = None,
) -> SealedFile:
    """Compile closed functions and write them to a sealed file.

    `functions` has one mapping for each variant of the shape, from names to CasADi SX functions of one dense column to
    one dense column, which may call others that are closed. The shape says what is public; numbers, lengths and zeros
    of its functions are filled in. It is signed by `author`, the user's own key if None. With `recipients` (cards, or
    files of cards) the numbers can be read by these only. `targets` are names of `compile.targets.TARGETS`, all if
    None.
    """
    wanted = machines.chosen(targets)
    signer = author or keys.needed()
    cards = [card if isinstance(card, keys.Card) else keys.read_card(card) for card in recipients]
    shape, native = _numbered(shape, functions)
    _check_shape(shape, str(path))
    code = lifted.lift(native)
    objects: dict[str, dict[int, bytes]] = {}
    with Notice("sealing") as notice:
        for target in wanted:
            notice.text = f"sealing, code for {target.name}"
            lanes = [w for w in target.lanes if w == 1 or not code.solves]
            objects[target.name] = {w: _made(code, target, w) for w in lanes}
    return write_sealed(
        path, shape, code.digest, objects, code.numbers, author=signer, version=_version(), recipients=cards
    )


def _made(code: lifted.Lifted, target: machines.Target, lanes: int) -> bytes:
    """Code for a target, which has no numbers in it and is compiled once per machine."""
    key = cache.key("sealed", [], (code.digest, lanes, target))
    found = cache.find(key)
    if found is None:
        found = machines.assemble(code.text(Lanes(lanes)), target, code.symbols(lanes))
        cache.keep(key, found)
    return found


def _refuse_stops(model: Any) -> None:
    for event in model.events:
        if event.stop:
            fix = "Let it change a mode that is public; the owner's own event may stop the run."
            raise SealedError("a sealed part cannot end the run of its owner.", path=model.path(event), fix=fix)


def _version() -> str:
    return importlib.import_module("kompono").__version__


def _check_shape(shape: Shape, path: str) -> None:
    """Refuse here what a reader would refuse."""
    fix = "Use names of letters and digits, finite numbers, and shapes without files."
    try:
        data = json.loads(spell(to_data(shape)))
    except (TypeError, ValueError) as error:
        raise SealedError(f"what shall be public cannot be written ({error}).", path=path, fix=fix) from error
    from_data(data, path, fix)


def _numbered(shape: Shape, functions: Sequence[Mapping[str, ca.Function]]) -> tuple[Shape, list[ca.Function]]:
    """The shape with what only the functions know, and these, equal ones once."""
    numbers: dict[str, int] = {}
    native: list[ca.Function] = []

    def described(known: Described, function: ca.Function) -> Described:
        sizes = {"arguments": function.nnz_in(), "results": function.nnz_out()}
        if not function.nnz_out():
            return replace(known, number=-1, zeros=(), **sizes)
        check_shape(shape.name, function)
        if function.name() not in numbers:
            numbers[function.name()] = len(native)
            native.append(function)
        return replace(known, number=numbers[function.name()], zeros=zero_results(function), **sizes)

    if len(functions) != len(shape.variants):
        raise SealedError(f"{len(shape.variants)} variants need as many sets of functions.", path=shape.name)
    variants: list[Variant] = []
    for variant, given in zip(shape.variants, functions, strict=True):
        if set(given) != set(variant.functions):
            raise SealedError("functions and their descriptions do not have the same names.", path=shape.name)
        if len(variant.start) != variant.size or not np.all(np.isfinite(variant.start)):
            raise SealedError(f"a start of x is {variant.size} finite numbers.", path=shape.name)
        made = {name: described(variant.functions[name], given[name]) for name in sorted(given)}
        variants.append(replace(variant, functions=made))
    return replace(shape, variants=tuple(variants)), native


def seal(
    part: Subsystem | type[Subsystem],
    path: str | Path,
    *,
    public: Iterable[str] = (),
    pictures: Mapping[str, Picture | Sequence[Picture]] | None = None,
    author: keys.Identity | None = None,
    recipients: Iterable[keys.Card | str | Path] = (),
    targets: Iterable[str] | None = None,
    contact: str = EVENTS,
    placed: bool = False,
) -> SealedFile:
    """Seal a component: `seal(Damper, "damper.part", public=["damping"])`.

    Its ports are what it exposes. `public` are names, or patterns of names, of its parameters, inputs, outputs and
    channels; nothing else inside has a name in the file, and other parameters are fixed at their values. Of a class,
    keywords of its constructor may be public as well: they become parameters with the value they have by default.
    `pictures` are shapes by port for viewers. With `contact="soft"` contact and friction inside are forces, for owners
    that run so; as stiff as their step allows. With `placed` the file also knows its bodies placed one by one, as the
    absolute engine has them: there it then moves as the closed part, to the last digits. The rest is as for
    `seal_functions`.
    """
    if contact not in (EVENTS, SOFT):
        raise SealedError(
            f"contact is {contact!r}.", path=str(path), fix=f"Give {EVENTS!r} or {SOFT!r}: owners choose steps."
        )  # fmt: skip
    placed, names = flag(placed, "placed =", str(path), error=SealedError), list(public)
    component = built(part, names) if isinstance(part, type) else part
    shown, entered = alone(component, names, closed_start, SEALED_STEP if contact == SOFT else None, placed)
    _refuse_stops(shown.model)
    channels, visible = entered[0].reported()
    shown.check(channel.name for channel in channels)
    shape = Shape(
        name=type(component).__name__,
        ports=shown.told_ports(),
        variants=tuple(_variant(one, entered[0]) for one in entered),
        parameters=tuple(Quantity(shown.model.path(p), p.unit, float(p.value)) for p in shown.parameters),
        inputs=tuple(Quantity(shown.model.path(i), i.unit, _value(i)) for i in shown.inputs),
        channels=tuple(Published(c.name, c.unit, c.angle) for c in visible),
        outputs=_outputs(entered[0], {channel.name for channel in visible}),
        events=len(shown.model.events),
        rates=rates_of(shown.model.modes),
        networks=entered[0].told_networks(),
        pictures=_pictures(pictures or {}),
    )
    functions = [{name: one.closed(name).function for name in one.names} for one in entered]
    return seal_functions(functions, shape, path, author=author, recipients=recipients, targets=targets)


def built(kind: type[Subsystem], names: Iterable[str], **arguments: Any) -> Subsystem:
    """A component whose constructor gets parameters for the keywords among `names`, but for those that it makes a
    parameter or input of that name of by itself.
    """
    component = kind(**arguments)
    own = {name for name, member in component.members.items() if isinstance(member, Parameter | Input)}
    known = {
        name: keyword.default
        for name, keyword in inspect.signature(kind).parameters.items()
        if keyword.kind in (keyword.KEYWORD_ONLY, keyword.POSITIONAL_OR_KEYWORD)
    }
    made: dict[str, Parameter] = {}
    for name in [name for name in names if name not in own]:
        value = arguments.get(name, known.get(name))
        if name in known and isinstance(value, int | float) and not isinstance(value, bool):
            made[name] = Parameter(float(value))
    component = kind(**{**arguments, **made}) if made else component
    for name, parameter in made.items():
        if parameter.owner is None:
            setattr(component, name, parameter)
    return component


def pictures_of(part: Subsystem) -> dict[str, tuple[Picture, ...]]:
    """The shapes of the bodies a component exposes, by port."""
    return {relative_path(port, part): port.shape or () for port in part.exposed if isinstance(port, Body)}


def _variant(part: Alone, first: Alone) -> Variant:
    """Of a part as it is entered; bodies that are placed one by one are where those of the `first` way are."""
    placed = part.base == PLACED
    engine: Engine = (first if placed else part).engine()
    parameters = np.array([parameter.value for parameter in part.model.parameters], dtype=float)
    kernel, inputs = Interpreter(placing_program(engine)), first_values(part.model)
    declared = start_state(engine, {})
    state = assemble(kernel, 0.0, declared, inputs, parameters).state
    firm = np.concatenate(
        [declared.given_coordinates, declared.given_speeds, np.zeros(len(part.model.memory), dtype=int)]
    )
    if placed:
        (values,) = kernel.evaluate("placement", 0.0, state, inputs, parameters)
        state = placed_state(part.inside.twin, values, engine, state)
        engine, firm = part.inside.twin, np.zeros(len(state), dtype=int)
    coordinates, speeds, counted = part.sizes
    return Variant(
        base=part.base,
        ports=part.port_names,
        size=part.inside.size,
        functions={name: Described(part.closed(name).groups, part.signals(name)) for name in part.names},
        start=tuple(part.pick(state, engine).tolist()),
        coordinates=coordinates,
        speeds=speeds,
        given=tuple(np.flatnonzero(part.pick(firm, engine)).tolist()),
        settles=part.inside.settles,
        laws=part.told_laws(),
        counted=counted,
        flying=part.flying,
    )


def _outputs(part: Alone, visible: Container[str]) -> tuple[str, ...]:
    """Names of public outputs, those that an owner can use as signals first."""
    first = [part.model.path(output) for output in part.shown]
    others = (part.model.path(output) for output in part.model.outputs)
    return (*first, *(name for name in others if name in visible and name not in first))


def _value(signal: Input) -> float:
    return 0.0 if callable(signal.value) else float(signal.value)


def _pictures(given: Mapping[str, Picture | Sequence[Picture]]) -> dict[str, tuple[Picture, ...]]:
    return {port: shapes_of(shapes, port) or () for port, shapes in given.items()}
