"""Whether numbers of a model are put in after tracing, and which these are (see `numbers`)."""

from __future__ import annotations

import functools
from dataclasses import replace

from kompono.foreign.element import Fmu
from kompono.model.element import Element
from kompono.sealed.element import Sealed
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.open_networks import decide_networks
from kompono.translate.declared.opening import opened_elements
from kompono.translate.engines.registry import EngineEntry
from kompono.translate.lengths import named_frames, named_lengths
from kompono.translate.numbers import OpenNumbers
from kompono.translate.open_pairs import open_elements
from kompono.translate.structure.topology import Topology


def has_files(model: Elaborated) -> bool:
    """Whether some components are files."""
    return any(isinstance(part, Sealed | Fmu) for part in model.subsystems)


def opens_numbers(model: Elaborated, entry: EngineEntry) -> bool:
    """Whether numbers are put in after tracing."""
    return entry.tables and not has_files(model) and not model.soft


def open_numbers(model: Elaborated, entry: EngineEntry, declared: Elaborated) -> OpenNumbers:
    """Numbers that are put in after tracing; `declared` is the model with all that was left out of it."""
    bodies = {model.path(body): body for body in model.bodies}
    coupled = frozenset[Element](declared.couplings) if entry.by_joints else frozenset[Element]()
    numbers = OpenNumbers(bodies, functools.partial(opened_elements, model, coupled))
    if model.networks:
        numbers.decide = functools.partial(decide_networks, replace(model, numbers=numbers), numbers)
    return numbers


def open_places(
    numbers: OpenNumbers, model: Elaborated, topology: Topology, entry: EngineEntry, declared: Elaborated
) -> None:
    """Have lengths and directions among them, too."""
    numbers.frames, numbers.placed = named_frames(model, topology), topology.placed
    numbers.lengths = named_lengths(model, joints=entry.by_joints)
    if entry.by_joints:
        open_elements(numbers, model, topology, declared)
