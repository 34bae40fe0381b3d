"""Thermal networks: bodies that store heat, and what conducts it."""

from __future__ import annotations

from typing import Any

from kompono.given import scalar
from kompono.library.pairs import OnePin, TwoPins, source
from kompono.model.pin import Thermal
from kompono.model.state import State

ROOM = 293.15  # [K]


class HeatCapacity(OnePin):
    """Stores heat: `capacity` [J/K]; its `temperature` [K] is a state and starts as given."""

    kind = Thermal

    def __init__(self, capacity: Any, *, temperature: float = ROOM) -> None:
        super().__init__()
        self.temperature = State(temperature, unit="K")
        self.temperature.rate = self.pin.heat / scalar(capacity, "the capacity", positive=True)
        self.require(self.pin.temperature - self.temperature)


class Conductor(TwoPins):
    """Conducts heat: `conductance` [W/K] times the difference of temperatures."""

    kind = Thermal

    def __init__(self, conductance: Any) -> None:
        super().__init__()
        self.require(self.flow - scalar(conductance, "the conductance") * self.drop)


class Ambient(OnePin):
    """What keeps its `temperature` [K], whatever flows."""

    kind = Thermal

    def __init__(self, temperature: Any = ROOM) -> None:
        super().__init__()
        self.require(self.pin.temperature - scalar(temperature, "the temperature"))


class HeatSource(OnePin):
    """Gives `heat` [W] to what is connected: a number, an expression (losses), or left out: an input of that name."""

    kind = Thermal

    def __init__(self, heat: Any = None) -> None:
        super().__init__()
        self.heat = source(heat, "the heat", "W")
        self.require(self.pin.heat + self.heat)
