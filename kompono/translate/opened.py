"""Whether numbers of a model are put in after tracing, which these are, and the model that is traced."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from kompono.model.element import Element
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.open_networks import decide_networks
from kompono.translate.declared.opening import opened_elements
from kompono.translate.lengths import named_frames, named_lengths
from kompono.translate.numbers import OpenNumbers
from kompono.translate.open_pairs import open_elements
from kompono.translate.structure.topology import Topology


def open_numbers(model: Elaborated, declared: Elaborated) -> OpenNumbers:
    """Numbers that are put in after tracing; `declared` is the model with all that was left out of it."""
    bodies = {model.path(body): body for body in model.bodies}
    coupled = frozenset[Element](declared.couplings)
    return OpenNumbers(bodies, functools.partial(opened_elements, model, coupled))


def open_places(
    numbers: OpenNumbers,
    model: Elaborated,
    topology: Topology,
    declared: Elaborated,
    pieces: Sequence[Elaborated] = (),
) -> None:
    """Have lengths and directions among them, and what is decided in networks; a model may be traced in `pieces`."""
    if model.networks:
        numbers.decide = functools.partial(decide_networks, pieces or [replace(model, numbers=numbers)])
    numbers.frames, numbers.placed = named_frames(model, topology), topology.placed
    numbers.lengths = named_lengths(model)
    open_elements(numbers, model, topology, declared)


def all_numbers(model: Elaborated, topology: Topology, declared: Elaborated) -> OpenNumbers:
    """The same, all of them."""
    numbers = open_numbers(model, declared)
    open_places(numbers, model, topology, declared)
    return numbers


def with_numbers(model: Elaborated, numbers: OpenNumbers) -> Elaborated:
    """The model as it is traced."""
    opened = replace(model, numbers=numbers)
    return replace(opened, soft=tuple(one.with_numbers(opened) for one in model.soft))
