"""What the tests of the viewer share: machines in motion, a page of the browser, and how pictures differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np
from reference.support import example

from kompono import Result, simulate
from kompono.scene import Scene


@cache
def motion_of(name: str) -> tuple[Scene, Result]:
    """A machine by name: its scene and a short run of it."""
    if name == "kuka":
        wanted = ("*.position.?", "*.orientation.e?", "axis?.reference", "drift.*")
        result = simulate(example("kuka").Kuka(), until=1.0, every=50, channels=wanted, progress=False)
    elif name == "car":
        result = simulate(example("car").Car(), until=0.6, step=2e-3, progress=False)
    else:
        result = simulate(example("engine").Engine(), until=0.6, step=2e-3, method="rk2", progress=False)
    assert result.scene is not None
    return Scene.from_data(result.scene), result


@dataclass
class Tab:
    """A page of the browser, what it complained about and what it asked the network for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, address: str) -> None:
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.set_default_timeout(60_000)
        self.page.goto(address)

    def picture(self, canvas: str) -> np.ndarray:
        """The canvas as it is on the screen, (height, width, 3)."""
        from PIL import Image

        box = self.page.locator(canvas).first.bounding_box()
        return np.asarray(Image.open(BytesIO(self.page.screenshot(clip=box))).convert("RGB")).astype(int)

    def wait(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Let the page go on until something holds."""
        for _ in range(int(seconds * 20)):
            if condition():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"it did not happen within {seconds} s")


def changed(first: np.ndarray, second: np.ndarray) -> float:
    """Share of the pixels that differ clearly between two pictures."""
    return float((np.abs(first - second).max(axis=-1) > 12).mean())


def drawn(picture: np.ndarray) -> bool:
    """Whether there is more than a background: many colours, over a good part of the picture."""
    return len(np.unique(picture.reshape(-1, 3) // 16, axis=0)) > 20 and picture.std() > 8
