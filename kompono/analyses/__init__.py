"""Questions to a model besides simulation: at a state, at rest, about a state."""

from kompono.analyses.equilibrium import Equilibrium, equilibrium
from kompono.analyses.evaluation import Evaluation, evaluate
from kompono.analyses.fitting import Fit, identify, minimize
from kompono.analyses.inverse import inverse, reach
from kompono.analyses.linearize import LinearModel, linearize
from kompono.analyses.mechanics import Mechanics
from kompono.analyses.modes import Mode, Modes, modes
from kompono.analyses.sensitivities import sensitivities

__all__ = [
    "Equilibrium",
    "Evaluation",
    "Fit",
    "LinearModel",
    "Mechanics",
    "Mode",
    "Modes",
    "equilibrium",
    "evaluate",
    "identify",
    "inverse",
    "linearize",
    "minimize",
    "modes",
    "reach",
    "sensitivities",
]
