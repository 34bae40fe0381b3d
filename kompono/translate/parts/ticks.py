"""What is sampled in a compartment and inside its parts."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import casadi as ca

from kompono.translate.declared.sampling import Rate
from kompono.translate.motion.signals import refuse_results
from kompono.translate.motion.states import sampled_values
from kompono.translate.parts.compartment import CompartmentState
from kompono.translate.symbolic import Vector

if TYPE_CHECKING:
    from kompono.translate.parts.inside import Part
    from kompono.translate.parts.moment import Moment


def sampled(now: Moment, due: Collection[Rate]) -> CompartmentState:
    """The state after an instant when some rates are due, here and in parts."""
    compartment, values = now.compartment, now.values
    if compartment.border is not None:
        refuse_results(compartment.model)
    changed = sampled_values(now.tracer, compartment.model, due)
    inner = {part: _inside(now, part, due) for part in compartment.parts}
    memory = ca.SX(values.memory)
    for mode, value in changed:
        place = next(i for i, known in enumerate(compartment.model.modes) if known is mode)
        memory[place] = value
    return CompartmentState(values.q, values.v, values.counted, memory, inner)


def _inside(now: Moment, part: Part, due: Collection[Rate]) -> Vector:
    numbers = tuple(k for k, rate in enumerate(part.inside.sample_rates) if rate in due)
    if not numbers:
        return now.values.inner[part]
    return now._ask(part, f"tick_{part.inside.ticks.index(numbers)}")
