"""Mates as constraints, kept as drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kompono.files.build import Level


def mated(level: Level) -> None:
    """Constraints of all mates of a component."""
