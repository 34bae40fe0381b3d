"""What lies inside closed parts, which ports they have, and what cannot be closed.

Dividing a model leaves its owner with its own elements and, in the place of each closed part, the bodies that carry
its ports. Whatever else an element outside would touch is refused here, with the part's path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from kompono.errors import ModelError, nearest
from kompono.given import shown
from kompono.model.body import Body, Carrier, Frame, Ground
from kompono.model.element import Element
from kompono.model.event import Next
from kompono.model.law import PairLaw
from kompono.model.pin import Pin
from kompono.model.signal import Input, Output, Parameter
from kompono.model.subsystem import Subsystem
from kompono.sealed.element import Sealed, code_of
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.networks import Network

_KINDS = tuple(f.name for f in fields(Elaborated) if f.name not in ("model", "uses", "numbers", "worked_out"))


@dataclass(frozen=True)
class Enclosed:
    """A closed part: its elements alone, and its ports, one for each body that carries some. The motion of `grounds`
    others use is prescribed, so they are told it.
    """

    part: Subsystem
    model: Elaborated
    ports: tuple[Frame, ...]
    grounds: tuple[Ground, ...]
    path: str

    @property
    def stands(self) -> bool:
        """Whether joints or constraints inside connect a port with a ground of its own, or contact may, so that no port
        is a base.
        """
        if isinstance(self.part, Sealed):
            return code_of(self.part).manifest.shape.variants[0].base is None
        reached = set(self.model.grounds)
        laws = (*self.model.laws, *(soft.law for soft in self.model.soft))
        pairs = [law for law in laws if isinstance(law, PairLaw)]
        if any(frame.body in reached for law in pairs for frame in (law.first, law.second)):
            return True
        ends = [(e.first.body, e.second.body) for e in (*self.model.joints, *self.model.constraints)]
        while new := {end for pair in ends if reached & {*pair} for end in pair} - reached:
            reached |= new
        return not self.ports or any(port.body in reached for port in self.ports)


def closed_subsystems(model: Elaborated, patterns: Iterable[str]) -> list[Subsystem]:
    """The subsystems that shall be closed: those declared so and those whose path fits a pattern."""
    paths = {model.path(part): part for part in model.subsystems if part is not model.model}
    chosen = {part for path, part in paths.items() if _declared(part, path)}
    for pattern in patterns:
        found = [part for path, part in paths.items() if fnmatchcase(path, pattern)]
        if pattern not in paths:  # a pattern means those that can be closed
            found = [part for part in found if any(part.contains(body) for body in model.bodies)]
            found = [part for part in found if _outward(model, part) is None]
        if not found:
            fix = nearest(pattern, paths) or "Give paths or globs of components, e.g. closed=['left', '*.damper']."
            raise ModelError(f"there is no component {pattern!r} to close.", fix=fix)
        chosen |= set(found)
    return [part for part in model.subsystems if part in chosen]


def isolated_subsystems(model: Elaborated, closed: Sequence[Subsystem], patterns: Iterable[str]) -> list[Subsystem]:
    """Those of the closed parts that shall run in processes of their own: whose path fits a pattern."""
    paths = {model.path(part): part for part in closed}
    chosen: set[Subsystem] = set()
    for pattern in patterns:
        found = {path: part for path, part in paths.items() if fnmatchcase(path, pattern)}
        named = found.get(pattern)
        if isinstance(named, Sealed):
            fix = "Say so where it is declared: Sealed(FILE, isolate=True)."
            raise ModelError("a sealed part has the wall it was declared with.", path=pattern, fix=fix)
        found = {path: part for path, part in found.items() if not isinstance(part, Sealed)}
        if not found:
            known = [model.path(part) for part in model.subsystems]
            fix = f"Use closed=[{pattern!r}] as well." if pattern in known else nearest(pattern, paths)
            fix = fix or "Give paths or globs of closed components."
            raise ModelError(f"no closed component {pattern!r} is there to run in a process of its own.", fix=fix)
        chosen |= set(found.values())
    isolated = [part for part in closed if part in chosen]
    _check_nesting(model, closed, isolated)
    return isolated


def _check_nesting(model: Elaborated, closed: Sequence[Subsystem], isolated: Sequence[Subsystem]) -> None:
    """Nobody runs in two processes."""
    for part in closed:
        walled = isinstance(part, Sealed) and part._code is not None and bool(part._code.wall)
        for other in isolated:
            if part is not other and other.contains(part) and (walled or any(part is each for each in isolated)):
                raise ModelError(
                    f"it is inside {model.path(other)}, which runs in a process of its own.", path=model.path(part),
                    fix="Let one of the two run there.",
                )  # fmt: skip


def _declared(part: Subsystem, path: str) -> bool:
    """Whether a component says that it is closed; members may have that name."""
    if isinstance(part.closed, int | float | str) and not isinstance(part.closed, bool):
        fix = "Use closed=True or closed=False."
        raise ModelError(f"closed = {shown(part.closed)} is neither True nor False.", path=path, fix=fix)
    return part.closed is True


def divide(
    model: Elaborated, closed: Sequence[Subsystem], used: Sequence[Frame] = ()
) -> tuple[Elaborated, tuple[Enclosed, ...]]:
    """The model without the inside of its outermost closed parts (the bodies at their ports are left), and these; some
    ports are `used` by whoever owns the model.
    """
    from kompono.translate.declared.network_borders import divide_networks

    inside = [part for part in closed if part is not model.model and model.model.contains(part)]
    outermost = [part for part in inside if not any(other is not part and other.contains(part) for other in inside)]
    model, networks = divide_networks(model, outermost)
    parts = tuple(_enclose(model, part, used, networks[part]) for part in outermost)
    kept = {name: _outside(getattr(model, name), outermost) for name in _KINDS}
    ports = {port.body for part in parts for port in part.ports}
    grounds = {ground for part in parts for ground in part.grounds}
    kept["networks"] = model.networks
    kept["bodies"] = tuple(b for b in model.bodies if b in ports or any(b is own for own in kept["bodies"]))
    kept["grounds"] = tuple(g for g in model.grounds if g in grounds or any(g is own for own in kept["grounds"]))
    return replace(model, **kept), parts


def _outside(elements: Iterable[Any], parts: Sequence[Subsystem]) -> tuple[Any, ...]:
    return tuple(e for e in elements if not any(e is part or part.contains(e) for part in parts))


def _enclose(model: Elaborated, part: Subsystem, used: Sequence[Frame], networks: Sequence[Network]) -> Enclosed:
    def within(elements: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(e for e in elements if part.contains(e))

    inner = replace(model, model=part, **{name: within(getattr(model, name)) for name in _KINDS})
    inner = replace(inner, subsystems=(part, *inner.subsystems), networks=tuple(networks))
    path = model.path(part)
    _check_inside(model, part)
    shown = {port.body: port for port in _ports(part)}
    touched = _touched(model, part, path, used)
    for carrier in touched:
        shown.setdefault(carrier, carrier)
    ports = tuple(shown[body] for body in inner.bodies if body in shown)
    return Enclosed(part, inner, ports, tuple(c for c in touched if isinstance(c, Ground)), path)


def _outward(model: Elaborated, part: Subsystem) -> tuple[Element, str, Element] | None:
    """An element inside a part that connects to a body, or acts on a joint or mode, outside of it: who, how, and what;
    signals from outside may be used.
    """
    for element in _elements(model):
        if part.contains(element):
            reached = [*(("connects to", frame.body) for frame in _frames(element))]
            for how, other in [*reached, *(("acts on", other) for other in _acted_on(element))]:
                if not isinstance(other, Parameter | Input | Output) and not part.contains(other):
                    return element, how, other
    return None


def _check_inside(model: Elaborated, part: Subsystem) -> None:
    """Raise ModelError for what acts out of the part: a motor of it on a joint of its owner."""
    found = _outward(model, part)
    if found is not None:
        element, how, reached = found
        raise ModelError(
            f"it {how} {model.path(reached)}, which is outside the closed part {model.path(part)}.",
            path=model.path(element),
            fix=f"Declare it, or what it belongs to, beside {model.path(part)}, or leave that open.",
        )


def _ports(part: Subsystem) -> list[Frame]:
    """What a part shows, whoever uses it: bodies, and frames of others."""
    bodies: list[Frame] = [element for element in part.exposed if isinstance(element, Body)]
    known = {port.body for port in bodies}
    return [*bodies, *(frame for frame in part.exposed_frames.values() if frame.body not in known)]


def _touched(model: Elaborated, part: Subsystem, path: str, used: Sequence[Frame]) -> list[Carrier]:
    """Carriers inside that elements outside connect to or look at, in order of declaration."""
    found: set[Carrier] = {port.body for port in used if part.contains(port.body)}
    for element in _elements(model):
        if element is part or part.contains(element):
            continue
        for frame in _frames(element):
            if part.contains(frame.body):
                found.add(frame.body)
        for reached in (*_acted_on(element), *model.uses.get(element, ())):
            if isinstance(reached, Frame):
                if part.contains(reached.body):
                    found.add(reached.body)
                continue
            reached = reached.mode if isinstance(reached, Next) else reached
            if part.contains(reached) and not isinstance(reached, Parameter | Input | Output | Pin):
                raise ModelError(
                    f"it reaches {model.path(reached)} inside the closed part {path}, which shows its ports only.",
                    path=model.path(element),
                    fix=f"Move it into {type(part).__name__}, declare an Output there for what it reads, connect it "
                    f"to a port, or leave {path} open.",
                )
    return [carrier for carrier in (*model.bodies, *model.grounds) if carrier in found]


def _elements(model: Elaborated) -> Iterable[Element]:
    for name in _KINDS:
        if name not in ("subsystems", "soft"):
            yield from getattr(model, name)
    for soft in model.soft:
        yield soft.law


def _frames(element: Any) -> list[Frame]:
    frames = [getattr(element, "first", None), getattr(element, "second", None), *getattr(element, "frames", ())]
    return [frame for frame in frames if isinstance(frame, Frame)]


def _acted_on(element: Any) -> list[Element]:
    """Joints, modes and others an element acts on."""
    single = [getattr(element, name, None) for name in ("joint", "element")]
    several = [*getattr(element, "joints", ()), *(mode for mode, _ in getattr(element, "changes", ()))]
    return [used for used in (*single, *several) if isinstance(used, Element)]
