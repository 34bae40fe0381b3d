"""Frequency response of a linear model: magnitude and phase, one curve from each input to each output."""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.analyses import LinearModel
from kompono.edges.plot.picture import Picture
from kompono.edges.plot.style import WIDTH
from kompono.errors import RunError


def response(linear: LinearModel, frequencies: Any = None) -> Picture:
    """A picture of the frequency response, at given frequencies [Hz] or around those of the model."""
    if not (linear.inputs and linear.outputs):
        raise RunError(
            "a frequency response has inputs and outputs.", fix="linearize(..., inputs=[...], outputs=[...])"
        )
    shown = _around(linear) if frequencies is None else np.asarray(frequencies, dtype=float)
    values = linear.response(shown)
    units = {channel.name: channel.unit for channel in linear.point.simulation.program.channels}

    def draw(figure: Any) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True)
        for y, output in enumerate(linear.outputs):
            for u, entrance in enumerate(linear.inputs):
                label = f"{output} [{units[output]}] / {entrance}" if units[output] else f"{output} / {entrance}"
                upper.loglog(shown, np.abs(values[:, y, u]), label=label)
                lower.semilogx(shown, np.degrees(np.unwrap(np.angle(values[:, y, u]))))
        upper.set_ylabel("magnitude")
        lower.set_ylabel("phase [°]")
        lower.set_xlabel("frequency [Hz]")
        upper.legend(fontsize="small")
        upper.set_title(f"{linear.point.simulation.name}: frequency response")

    return Picture(draw, size=(WIDTH, 4.6), name="response", caption="Frequency response of the linear model.")


def _around(linear: LinearModel) -> np.ndarray:
    """Frequencies [Hz] from a decade below the slowest mode to a decade above the fastest."""
    sizes = np.abs(linear.eigenvalues)
    sizes = sizes[sizes > 1e-6 * max(1.0, sizes.max(initial=0.0))] / (2 * np.pi)
    low, high = (0.1 * sizes.min(), 10 * sizes.max()) if len(sizes) else (0.1, 10.0)
    return np.geomspace(low, high, 800)
