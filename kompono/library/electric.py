"""Electric networks: resistors, coils, capacitors, sources, transformers, switches, diodes.

Values may be numbers, parameters or any expressions. What stores energy has a state; so coils in series, or capacitors
side by side, without a resistor between them are refused by name: their states would depend on each other.
"""

from __future__ import annotations

from typing import Any

from casadi import fmin

from kompono.given import scalar
from kompono.library.pairs import OnePin, TwoPins, source
from kompono.model.event import Event, Mode
from kompono.model.pin import Electrical
from kompono.model.signal import time
from kompono.model.state import State
from kompono.model.subsystem import Subsystem

_BEGINNING = 1e12  # [1/s] guards of diodes are zero at the start of a run, so that a wrong start mode is left at once


class Reference(OnePin):
    """Where the voltage of a network is zero; each needs one."""

    kind = Electrical

    def __init__(self) -> None:
        super().__init__()
        self.require(self.pin.v)


class Resistor(TwoPins):
    """A `resistance` [ohm] between p and n."""

    kind = Electrical

    def __init__(self, resistance: Any) -> None:
        super().__init__()
        self.require(self.drop - scalar(resistance, "the resistance") * self.flow)


class Inductor(TwoPins):
    """A coil of some `inductance` [H]; its `current` [A] is a state and starts as given."""

    kind = Electrical

    def __init__(self, inductance: Any, *, current: float = 0.0) -> None:
        super().__init__()
        self.current = State(current, unit="A")
        self.current.rate = self.drop / scalar(inductance, "the inductance", positive=True)
        self.require(self.flow - self.current)


class Capacitor(TwoPins):
    """A `capacitance` [F]; its `voltage` [V] is a state and starts as given."""

    kind = Electrical

    def __init__(self, capacitance: Any, *, voltage: float = 0.0) -> None:
        super().__init__()
        self.voltage = State(voltage, unit="V")
        self.voltage.rate = self.flow / scalar(capacitance, "the capacitance", positive=True)
        self.require(self.drop - self.voltage)


class VoltageSource(TwoPins):
    """A `voltage` [V] of p above n: a number, an expression, or left out: an input of that name."""

    kind = Electrical

    def __init__(self, voltage: Any = None) -> None:
        super().__init__()
        self.voltage = source(voltage, "the voltage", "V")
        self.require(self.drop - self.voltage)


class CurrentSource(TwoPins):
    """A `current` [A] from p to n through it: a number, an expression, or left out: an input of that name."""

    kind = Electrical

    def __init__(self, current: Any = None) -> None:
        super().__init__()
        self.current = source(current, "the current", "A")
        self.require(self.flow - self.current)


class Transformer(Subsystem):
    """An ideal transformer: the voltage between p1 and n1 is `ratio` times that between p2 and n2."""

    def __init__(self, ratio: Any) -> None:
        self.p1, self.n1, self.p2, self.n2 = (Electrical() for _ in range(4))
        self.expose(self.p1, self.n1, self.p2, self.n2)
        turns = scalar(ratio, "the ratio")
        self.require(self.p1.i + self.n1.i)
        self.require(self.p2.i + self.n2.i)
        self.require(self.p1.v - self.n1.v - turns * (self.p2.v - self.n2.v))
        self.require(turns * self.p1.i + self.p2.i)


class Switch(TwoPins):
    """Closed where `command` is 1, open where it is 0 (a mode, an input, an expression; left out: an input).

    It has `on` [ohm] when closed and `off` [S] when open: what is ideal would leave coils nowhere to go.
    """

    kind = Electrical

    def __init__(self, command: Any = None, *, on: Any = 1e-5, off: Any = 1e-5) -> None:
        super().__init__()
        self.command = source(command, "the command", "")
        shut = self.command * (self.drop - scalar(on, "on") * self.flow)
        self.require(shut + (1 - self.command) * (self.flow - scalar(off, "off") * self.drop))


class Diode(TwoPins):
    """Lets current pass from p to n: it conducts from `knee` [V] on, with `on` [ohm], and blocks with `off` [S].

    `conducts` is its mode; a start that does not fit is left at once.
    """

    kind = Electrical

    def __init__(self, *, on: float = 1e-5, off: float = 1e-5, knee: float = 0.0) -> None:
        super().__init__()
        self.conducts = Mode(0)
        on, off, knee = scalar(on, "on"), scalar(off, "off"), scalar(knee, "the knee")
        passes = self.drop - knee - on * (self.flow - off * knee)
        self.require(self.conducts * passes + (1 - self.conducts) * (self.flow - off * self.drop))
        begun = _BEGINNING * time
        self.opens = Event(fmin(begun, (1 - self.conducts) * (self.drop - knee)), {self.conducts: 1})
        self.blocks = Event(fmin(begun, self.conducts * (off * knee - self.flow)), {self.conducts: 0})


class Bridge(Subsystem):
    """An H-bridge, averaged over its switching: between a and b it gives `duty` (-1 to 1) times its supply.

    What it takes from the supply `p`, `n` is `duty` times the current it gives. Left out, `duty` is an input. To see
    the switching itself, build it of four `Switch`es.
    """

    def __init__(self, duty: Any = None) -> None:
        self.p, self.n, self.a, self.b = (Electrical() for _ in range(4))
        self.expose(self.p, self.n, self.a, self.b)
        self.duty = source(duty, "the duty", "")
        self.require(self.p.i + self.n.i)
        self.require(self.a.i + self.b.i)
        self.require(self.a.v - self.b.v - self.duty * (self.p.v - self.n.v))
        self.require(self.p.i + self.duty * self.a.i)
