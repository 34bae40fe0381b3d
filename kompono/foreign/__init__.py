"""Models of other tools inside ours: FMUs as components (FMI 2 and 3, model exchange and co-simulation)."""

from __future__ import annotations

from kompono.foreign.element import Fmu

__all__ = ["Fmu"]
