"""A viewer in the browser: a viser server with the machine, its motion, its curves and its components.

The server runs in threads of this process and listens on this machine unless told otherwise. Over ssh, forward its port
(`ssh -L 8080:localhost:8080 host`) and open the address it prints.
"""

from __future__ import annotations

import contextlib
import io
import threading
import time as clock
from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from kompono.edges.view import guarded
from kompono.edges.view.controls import ComponentPanel, CurvePanel
from kompono.edges.view.stage import ServedStage, between
from kompono.errors import RunError
from kompono.result import Result, extra
from kompono.scene import Scene, extent, poses, start_poses
from kompono.scene.frames import curve_channels, frame_rows

LOCAL = "127.0.0.1"
PORT = 8080
RATE = 30.0  # frames a second while time runs
SPEEDS = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10")


class Viewer:
    """A machine in the browser. `url` is where; `seek`, `play` and `pause` do what the buttons do; `stop` ends it."""

    def __init__(
        self,
        scene: Scene,
        result: Result | None = None,
        *,
        channels: str | Iterable[str] | None = None,
        host: str = LOCAL,
        port: int = PORT,
        speed: float = 1.0,
        shadows: bool = True,
        server: Any = None,
    ) -> None:
        self.scene, self.result = scene, result
        self.times, self.table = motion(scene, result)
        self.time, self.playing, self.speed, self.frames = float(self.times[0]), False, speed, 0
        self._stop = threading.Event()
        self.server = server or start_server(host, port, scene.model)
        self.stage = ServedStage(self.server, scene, extent(scene, self.table), shadows=shadows)
        self.clock = ClockPanel(self) if len(self.times) > 1 else None
        self.curves = self._fill(channels)
        self.stage.pose(self.table[0])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        return address(self.server)

    def seek(self, time: float) -> None:
        """Go to a time [s]."""
        self.time = float(np.clip(time, self.times[0], self.times[-1]))
        self.stage.pose(between(self.times, self.table, self.time))

    def play(self) -> None:
        """Let time run, from the start if it is at its end."""
        if self.time >= self.times[-1]:
            self.seek(float(self.times[0]))
        self.playing = len(self.times) > 1

    def pause(self) -> None:
        """Let time stand still."""
        self.playing = False

    def stop(self) -> None:
        """End the server."""
        self._stop.set()
        self._thread.join(timeout=2)
        stop_server(self.server)

    def wait(self) -> None:
        """Stay until interrupted (Ctrl-C)."""
        try:
            while not self._stop.wait(3600):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    def _fill(self, channels: str | Iterable[str] | None) -> CurvePanel | None:
        """What stands below the clock: words, curves, components."""
        gui, curves = self.server.gui, None
        gui.add_button("Fit view").on_click(self._fit)
        for line in notes(self.scene, self.result):
            gui.add_html(line)
        if self.result is not None and self.clock is not None:
            offered, drawn = curve_channels(self.result, channels)
            with gui.add_folder("curves"):
                curves = CurvePanel(self.server, self.result, offered, drawn)
        with gui.add_folder("machine"):
            self.components = ComponentPanel(self.server, self.scene, self.stage)
        return curves

    def _fit(self, event: Any) -> None:
        cameras = [event.client.camera] if event.client else [c.camera for c in self.server.get_clients().values()]
        for camera in cameras:
            look = self.stage.camera(camera.aspect)
            camera.position, camera.look_at, camera.up_direction = look["position"], look["look_at"], self.scene.up

    def _run(self) -> None:
        """Let time run while it shall: poses at the full rate, slider and curves ten times a second."""
        before, told, shown = clock.perf_counter(), 0.0, False
        while not self._stop.wait(max(0.0, before + 1 / RATE - clock.perf_counter())):
            now = clock.perf_counter()
            passed, before = now - before, now
            if self.clock is None:
                continue
            if self.playing:
                time = self.time + passed * self.speed
                if time >= self.times[-1]:
                    self.playing = self.clock.repeat.value
                    time = float(self.times[0]) if self.playing else float(self.times[-1])
                self.seek(time)
                self.frames += 1
            if (self.playing and now - told > 0.1) or shown != self.playing:
                told = now
                self.clock.tell()
                if self.curves is not None:
                    self.curves.at(self.time)
            shown = self.playing


class ClockPanel:
    """Play, pause, the slider of time, the speed."""

    def __init__(self, viewer: Viewer) -> None:
        gui, self.viewer = viewer.server.gui, viewer
        first, last = float(viewer.times[0]), float(viewer.times[-1])
        step = 10.0 ** np.floor(np.log10((last - first) / 500))
        self.button = gui.add_button("Play")
        self.slider = gui.add_slider("time [s]", first, last, float(step), first)
        speed = gui.add_dropdown(
            "speed", SPEEDS, initial_value=min(SPEEDS, key=lambda text: abs(float(text) - viewer.speed))
        )
        self.repeat = gui.add_checkbox("repeat", True)
        self.button.on_click(lambda _: viewer.pause() if viewer.playing else viewer.play())
        self.slider.on_update(self._scrubbed)
        speed.on_update(lambda _: setattr(viewer, "speed", float(speed.value)))

    def tell(self) -> None:
        """Show the present time and whether it runs."""
        self.button.label = "Pause" if self.viewer.playing else "Play"
        self.slider.value = self.viewer.time

    def _scrubbed(self, event: Any) -> None:
        if event.client is None:
            return  # set by the clock itself
        self.viewer.pause()
        self.viewer.seek(float(self.slider.value))
        if self.viewer.curves is not None:
            self.viewer.curves.at(self.viewer.time)


def motion(scene: Scene, result: Result | None) -> tuple[np.ndarray, np.ndarray]:
    """Instants (n,) [s] to show and the poses (n, carriers, 7) there; the start alone without a result."""
    if result is None or not len(result.time):
        return np.zeros(1), start_poses(scene)
    rows = frame_rows(result)
    return result.time[rows], np.nan_to_num(poses(scene, result, rows))


def address(server: Any) -> str:
    """Where a server can be found from this machine."""
    host = server.get_host()
    return f"http://{'localhost' if host in ('0.0.0.0', LOCAL) else host}:{server.get_port()}"


def start_server(host: str, port: int, title: str) -> Any:
    """A viser server with a title that prints nothing itself; a port in use makes it take the next free one."""
    viser = extra("viser", "view")
    try:
        server = guarded.start(viser, host, port, title)
    except OSError as cause:
        raise RunError(f"cannot listen on {host}:{port}: {cause}.", fix="Choose another --port.") from cause
    server.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()
    server.gui.set_panel_label(title)
    return server


def stop_server(server: Any) -> None:
    """End a server without its saying so."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def notes(scene: Scene, result: Result | None) -> list[str]:
    """What the viewer should say in words, as HTML; names and messages are text in it, whatever they contain."""
    found = []
    if result is not None and not result.status.ok:
        found.append(f"<b>{escape(result.ending.capitalize())}</b>: {escape(result.status.message)}")
    if scene.violated:
        worst = max(scene.violated, key=lambda path: scene.violated[path])
        found.append(f"{len(scene.violated)} joints not kept (red), {escape(worst)} by {scene.violated[worst]:.3g}")
    if scene.redundant:
        found.append(f"{len(scene.redundant)} joints with redundant conditions (violet)")
    return [f'<div style="font-size:13px;padding:0 12px 6px">{line}</div>' for line in found]
