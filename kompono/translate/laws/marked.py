"""Where slip that is straight may be marked so (see `solve/laws/straight.py`): in models without components.

Marks need looks at a whole state, which nobody has of parts that are kept elsewhere; and a component shall move alike,
to rounding, whether it is open, closed, sealed or elsewhere.
"""

from __future__ import annotations

from kompono.model.subsystem import Subsystem
from kompono.translate.declared.elaborate import Elaborated


def is_whole(model: Elaborated) -> bool:
    """Whether a model neither is a component nor has any."""
    top = model.model
    return top.owner is None and not top.exposed and not any(isinstance(one, Subsystem) for one in top.walk())
