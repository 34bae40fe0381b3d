"""A live view: the machine moves in the page while its run is still going.

`simulate(model, ..., watcher=LiveView(model))` tells it all channels about ten times a second, in real time at every
frame; any other source of poses (a controller in the loop, a measured machine) may call `update`, as often as it likes.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kompono.edges.view.living import Living
from kompono.edges.view.page import page
from kompono.edges.view.serve import PageServer
from kompono.edges.view.stream import Stream
from kompono.errors import RunError
from kompono.model.body import Ground
from kompono.model.subsystem import Subsystem
from kompono.result import Result
from kompono.scene import Scene, describe
from kompono.scene.motion import POSE
from kompono.scene.values import SymbolValues

PICTURES = 60.0  # a second at most


class LiveView:
    """Shows what it is told by `update`; `channels` are what it wants to know first: seven for each body, in order.

    After the run `finish(result)` shows the whole motion at the same address.
    """

    def __init__(self, model: Subsystem, *, host: str = "127.0.0.1", port: int = 8080) -> None:
        self.model, self.scene = model, describe(model)
        bodies = [carrier.path for carrier in self.scene.carriers if carrier.kind == "body"]
        self.channels = tuple(f"{path}.{name}" for path in bodies for name in POSE)
        self.time, self.frames = 0.0, 0
        self._bodies, self._told = len(bodies), {name: "m" if ".position." in name else "" for name in self.channels}
        self._angles: list[str] = []
        self._grounds, self._values = _grounds(model, self.scene), SymbolValues(model)
        self._last, self._placed = -np.inf, False
        self.stream = Stream()
        self.server = PageServer(self._page(), host=host, port=port, stream=self.stream)

    @property
    def url(self) -> str:
        """The address of the page."""
        return self.server.url

    def open(self, channels: Sequence[Any]) -> None:
        """Told by a run before it begins: all channels of its rows, those of `channels` first."""
        self._told = {channel.name: channel.unit for channel in channels}
        self._angles = [channel.name for channel in channels if channel.angle]

    def _page(self) -> str:
        facts = {
            "step": 0.0, "parameters": [], "inputs": [], "pulls": [], "grounds": len(self._grounds), "watched": True,
        }  # fmt: skip
        paths = [carrier.path for carrier in self.scene.carriers if carrier.kind == "ground"]
        return page(self.scene, living=Living(None, self._told, self._angles, paths, facts, {}))

    def update(self, time: float, values: Any) -> None:
        """Show a row at a `time` [s]: poses (bodies, 7) or all their numbers in a row, or all channels of `open`.

        A pose is x, y, z [m] and the quaternion e0..e3; bodies are in the order of `channels`. Pages are told by
        threads of their own, sixty times a second at most: the run does not wait.
        """
        row = np.array(values, dtype=float).ravel()
        if len(row) not in (7 * self._bodies, len(self._told)):
            given = f"{len(row) / 7:g} poses" if len(row) % 7 == 0 else f"{len(row)} numbers"
            raise RunError(f"{given} for {self._bodies} bodies.", fix="Give those named in `channels`.")
        self.time = float(time)
        if clock.perf_counter() - self._last < 1 / PICTURES or not np.isfinite(row[: 7 * self._bodies]).all():
            return
        self._last = clock.perf_counter()
        if not self._placed:
            self._place(row[: 7 * self._bodies].reshape(-1, 7))
        missing = np.full(len(self._told) - len(row), np.nan)
        self.stream.send(time, np.concatenate([row, missing, *self._ground_motion(time)]))
        self.frames += 1

    def _place(self, poses: np.ndarray) -> None:
        """The first poses say how large the room is."""
        bodies = iter(poses.tolist())
        carriers = [
            replace(carrier, pose=tuple(next(bodies))) if carrier.kind == "body" else carrier
            for carrier in self.scene.carriers
        ]
        self.scene, self._placed = replace(self.scene, carriers=tuple(carriers)), True
        self.server.text = self._page()
        self.stream.tell(over=True)  # pages that are open load that

    def finish(self, result: Result, channels: str | Iterable[str] | None = None) -> PageServer:
        """The whole motion on the same page, with clock and curves."""
        scene = self.scene if result.scene is None else Scene.from_data(result.scene)
        self.server.text = page(scene, result, channels=channels)
        self.stream.tell(over=True)
        return self.server

    def stop(self) -> None:
        """End the server."""
        self.server.stop()

    def _ground_motion(self, time: float) -> list[np.ndarray]:
        instant = np.array([time])
        moved = [self._values.motion(ground, instant) for ground in self._grounds]
        return [np.concatenate([position[-1], turn[-1].T.ravel()]) for position, turn in moved]


def _grounds(model: Subsystem, scene: Scene) -> list[Ground]:
    """The grounds in the order of the scene's carriers."""
    found = [model.find(carrier.path) for carrier in scene.carriers if carrier.kind == "ground"]
    return [ground for ground in found if isinstance(ground, Ground)]
