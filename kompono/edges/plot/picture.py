"""Picture: something drawn, as a file, in a notebook or in a window.

It holds how to draw, not what was drawn, so that one and the same picture serves a vector file, a window and a report.
Nothing here touches the state of pyplot, except for windows. Needs the extra `plot` (matplotlib).
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kompono.edges.plot.style import STYLE, WIDTH
from kompono.errors import RunError
from kompono.result import extra
from kompono.result.beside import write_bytes
from kompono.result.target import check_target

SUFFIXES = (".png", ".svg", ".pdf")
DPI = 160


class Picture:
    """A picture of `size` (width, height) [inch] that `draw(figure)` fills, `figure` being matplotlib's, still empty.

    `name` is that of its file without suffix, `caption` what a report writes beneath it.
    """

    def __init__(
        self,
        draw: Callable[[Any], None],
        *,
        size: tuple[float, float] = (WIDTH, 3.2),
        name: str = "picture",
        caption: str = "",
    ) -> None:
        self.draw, self.size, self.name, self.caption = draw, size, name, caption

    def figure(self) -> Any:
        """The matplotlib figure, freshly drawn."""
        matplotlib, figures = extra("matplotlib", "plot"), extra("matplotlib.figure", "plot")
        with matplotlib.rc_context(STYLE):
            figure = figures.Figure(figsize=self.size, layout="constrained")
            extra("matplotlib.backends.backend_agg", "plot").FigureCanvasAgg(figure)
            self.draw(figure)
        return figure

    def save(self, path: str | Path, *, dpi: int = DPI) -> Path:
        """Write a png, svg or pdf and return its path."""
        path = check_path(path)
        extra("matplotlib", "plot")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, self._bytes(path.suffix.lower()[1:], dpi))
        return path

    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        return self._bytes("svg", DPI).decode()

    def png(self, dpi: int = DPI) -> bytes:
        """The picture as the bytes of a PNG file."""
        return self._bytes("png", dpi)

    def show(self) -> None:
        """Show it: beneath the cell of a notebook, else in a window that waits until it is closed."""
        if _in_notebook():
            extra("IPython.display", "plot").display(self)
            return
        matplotlib, pyplot = extra("matplotlib", "plot"), extra("matplotlib.pyplot", "plot")
        with matplotlib.rc_context(STYLE):
            figure = pyplot.figure(figsize=self.size, layout="constrained")
            try:
                if getattr(figure.canvas, "required_interactive_framework", None) is None:
                    raise RunError("no window can be opened here.", fix="Write a file instead: save, or --out FILE.")
                self.draw(figure)
                pyplot.show()
            finally:
                pyplot.close(figure)

    def _bytes(self, form: str, dpi: int) -> bytes:
        figure, file = self.figure(), io.BytesIO()
        dated = {} if form == "png" else {"metadata": {"Date" if form == "svg" else "CreationDate": None}}
        with extra("matplotlib", "plot").rc_context(STYLE):
            figure.savefig(file, format=form, dpi=dpi, **dated)
        return file.getvalue()

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        width, height = (round(100 * inches) for inches in self.size)
        return self._bytes("png", 200), {"width": width, "height": height}


def check_path(path: str | Path) -> Path:
    """The path of a picture, or an error if its suffix is not one we draw or nothing can be written there."""
    return check_target(path, SUFFIXES, "draw a picture")


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")
