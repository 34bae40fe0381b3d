"""The declared start of a model with its loops closed, for decisions of the translator about redundant conditions."""

from __future__ import annotations

import numpy as np

from kompono.compile import Interpreter
from kompono.errors import KomponoError
from kompono.solve.assemble import assemble
from kompono.translate import placing_program
from kompono.translate.engine import Engine
from kompono.translate.probe import first_values
from kompono.translate.start import start_state


def closed_start(engine: Engine) -> np.ndarray | None:
    """The state of an engine in joint coordinates at the start, if it can be assembled; whoever runs the model will
    hear why not.
    """
    parameters = np.array([parameter.value for parameter in engine.model.parameters], dtype=float)
    try:
        start = start_state(engine, {})
        return assemble(Interpreter(placing_program(engine)), 0.0, start, first_values(engine.model), parameters).state
    except KomponoError:
        return None
