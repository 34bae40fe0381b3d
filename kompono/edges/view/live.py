"""A live view: the machine moves in the browser while its run is still going.

`simulate(model, ..., watcher=LiveView(model))` calls `update` about ten times a second; any other source of poses (a
controller in the loop, a measured machine) may call it as well, as often as it likes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from kompono.edges.view.controls import ComponentPanel
from kompono.edges.view.stage import ServedStage
from kompono.edges.view.viewer import LOCAL, PORT, RATE, Viewer, address, start_server, stop_server
from kompono.errors import RunError
from kompono.model.body import Ground
from kompono.model.subsystem import Subsystem
from kompono.result import Result
from kompono.scene import Scene, describe, extent
from kompono.scene.motion import POSE
from kompono.scene.values import SymbolValues
from kompono.spatial.numeric import quaternions


class LiveView:
    """Shows what it is told by `update`; `channels` are what it wants to know: seven for each body, in order.

    After the run `finish(result)` turns it into a `Viewer` of the whole motion, at the same address.
    """

    def __init__(self, model: Subsystem, *, host: str = LOCAL, port: int = PORT, shadows: bool = True) -> None:
        self.model, self.scene = model, describe(model)
        bodies = [carrier.path for carrier in self.scene.carriers if carrier.kind == "body"]
        self.channels = tuple(f"{path}.{name}" for path in bodies for name in POSE)
        self.time, self.frames, self.shadows = 0.0, 0, shadows
        self._bodies = len(bodies)
        self._grounds, self._values = _grounds(model, self.scene), SymbolValues(model)
        self._stage: ServedStage | None = None
        self._newest: tuple[float, np.ndarray] | None = None
        self.server = start_server(host, port, self.scene.model)
        self._clock = self.server.gui.add_markdown("waiting for the run")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        return address(self.server)

    def update(self, time: float, poses: Any) -> None:
        """Show `poses` (bodies, 7), or all their numbers in a row, at a `time` [s].

        A pose is x, y, z [m] and the quaternion e0..e3; bodies are in the order of `channels`. It is drawn by a thread
        of its own, the newest 30 times a second: the run does not wait.
        """
        rows = np.array(poses, dtype=float).reshape(-1, 7)
        if len(rows) != self._bodies:
            raise RunError(f"{len(rows)} poses for {self._bodies} bodies.", fix="Give those named in `channels`.")
        self.time, self._newest = float(time), (float(time), rows)

    def _run(self) -> None:
        while not self._stop.wait(1 / RATE):
            newest, self._newest = self._newest, None
            if newest is not None:
                self._draw(*newest)

    def _draw(self, time: float, rows: np.ndarray) -> None:
        table = np.vstack([rows, *self._ground_poses(time)])
        if not np.isfinite(table).all():
            return
        if self._stage is None:
            self._stage = ServedStage(self.server, self.scene, extent(self.scene, table[None]), shadows=self.shadows)
            ComponentPanel(self.server, self.scene, self._stage)
        self._stage.pose(table)
        self._clock.content = f"running, **t = {time:.3f} s**"
        self.frames += 1

    def finish(self, result: Result, channels: str | Iterable[str] | None = None) -> Viewer:
        """The whole motion on the same page, with clock and curves."""
        self._end()
        self.server.gui.reset()
        self.server.scene.reset()
        scene = self.scene if result.scene is None else Scene.from_data(result.scene)
        return Viewer(scene, result, channels=channels, shadows=self.shadows, server=self.server)

    def stop(self) -> None:
        """End the server."""
        self._end()
        stop_server(self.server)

    def _end(self) -> None:
        self._stop.set()
        self._thread.join(timeout=5)

    def _ground_poses(self, time: float) -> list[np.ndarray]:
        instant = np.array([time])
        moved = [self._values.motion(ground, instant) for ground in self._grounds]
        return [np.concatenate([position[-1], quaternions(turn[-1])]) for position, turn in moved]


def _grounds(model: Subsystem, scene: Scene) -> list[Ground]:
    """The grounds in the order of the scene's carriers."""
    found = [model.find(carrier.path) for carrier in scene.carriers if carrier.kind == "ground"]
    return [ground for ground in found if isinstance(ground, Ground)]
