"""A bench for one part: it is tested alone, closed, on the very machine code it has in any other owner."""

from __future__ import annotations

from typing import Any

from kompono.errors import ModelError, nearest
from kompono.given import number, shown
from kompono.library.forces import Gravity
from kompono.library.joints import Weld
from kompono.model.body import Body, Frame, Ground
from kompono.model.subsystem import Subsystem


class Bench(Subsystem):
    """A part alone: `part` is closed, the port named `hold` is held still, and gravity acts on it along -z.

    What a part answers at its ports does not depend on its owner, so the functions that are compiled here are those an
    owner uses whose tree enters through the same port. Without `hold` the part stands on grounds of its own or falls;
    `gravity` [m/s^2] is 0 for none.
    """

    def __init__(self, part: Subsystem, hold: str | None = None, gravity: float = 9.81) -> None:
        if not isinstance(part, Subsystem):
            raise ModelError(f"{shown(part)} is no component.", fix="Give one, e.g. Bench(Damper(), hold='cylinder').")
        part.closed = True
        object.__setattr__(self, "run_defaults", part.run_defaults)
        self.ground = Ground()
        self.part = part
        if hold is not None:
            self.held = Weld(self.ground, _port(part, hold))
        if number(gravity, "gravity", fix="Give it in m/s^2, 0 for none."):
            self.gravity = Gravity((0, 0, -gravity))


def _port(part: Subsystem, name: Any) -> Frame:
    ports: dict[str, Frame] = {body._name: body for body in part.exposed if isinstance(body, Body)}
    ports |= part.exposed_frames
    if not isinstance(name, str) or name not in ports:
        known = f"its ports are {', '.join(ports)}" if ports else "it exposes none"
        fix = (nearest(name, ports) if isinstance(name, str) else "") or "Give the name of a body or frame it exposes."
        raise ModelError(f"{type(part).__name__} has no port {shown(name)}; {known}.", fix=fix)
    return ports[name]
