"""What is asked of every model: which of its parts are elsewhere, and what cannot be done with them.

Sessions are imported where there are any: most models have no such parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.errors import RunError
from kompono.translate.program import Program

if TYPE_CHECKING:
    from kompono.elsewhere.hosts import Host


def remote_hosts(model: Any) -> dict[str, Host]:
    """The hosts of parts that say themselves where they are, by path."""
    return {model.path(part): part._remote_host for part in model.subsystems if hasattr(type(part), "_remote_host")}


def refuse_elsewhere(program: Program, what: str, wanted: bool) -> None:
    """Raise RunError for what cannot be done with parts that are kept elsewhere, if it is wanted."""
    if wanted and program.opaque:
        names = ", ".join(name for name, _ in program.opaque)
        raise RunError(f"{what} does not go with parts that are elsewhere ({names}).", fix="Leave that out.")


def moved(program: Program, state: np.ndarray, factor: float, rate: np.ndarray) -> np.ndarray:
    """state + factor * rate; of parts elsewhere by their sessions."""
    result, own = state + factor * rate, program.state_size - len(program.opaque)
    for place in range(own, program.state_size):
        from kompono.elsewhere.session import session_of

        session, here = session_of(state[place]), slice(place, place + 1)
        result[here] = session.combine(state[here], factor, rate[here]) if session else 0.0
    return result
