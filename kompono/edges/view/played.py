"""A machine that runs in this process and is played with in the page: `kompono view MODEL --live` for what no page can.

The run is that of `simulate` (any native method, contact, controllers in Python, sealed and remote parts). Its feed
meets the pages about sixty times a second: it keeps step with the clock, tells channels, and does what pages order: to
wait, step, begin anew, change speed, inputs and parameters, pull a body. Whoever begins anew assembles anew, so here
also parameters may change on which the start depends.
"""

from __future__ import annotations

import math
import threading
import time as clock
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from kompono.compile.listening import set_parameters
from kompono.edges.view.hand import Hand
from kompono.edges.view.living import Living, inputs_of, moves, pulls_of, sliders_of, told_columns
from kompono.edges.view.page import page
from kompono.edges.view.serve import PageServer
from kompono.edges.view.stream import Stream
from kompono.edges.view.touchable import touchable
from kompono.errors import KomponoError
from kompono.model.subsystem import Subsystem
from kompono.request import Request
from kompono.result import Result
from kompono.scene import Scene
from kompono.scene.values import SymbolValues
from kompono.simulation import Simulation
from kompono.solve.controllers import at_work
from kompono.solve.inputs import Feed
from kompono.solve.integrate import integrate
from kompono.solve.settings import settings_of

PICTURES = 60.0  # a second
PULLED = 2e-3  # s between looks of a hand where its body is
FOREVER, KEPT = 1e9, 1e-9  # s of a run without end, and what is kept of it: nothing
ENOUGH = 1 << 40  # steps between records


class Played:
    """Serves a page at `url` in which a model runs, until `stop`; the run itself is here."""

    def __init__(
        self,
        model: Subsystem,
        scene: Scene,
        options: Mapping[str, Any],
        *,
        result: Result | None = None,
        channels: str | Iterable[str] | None = None,
        host: str = "127.0.0.1",
        port: int = 8080,
        speed: float = 1.0,
    ) -> None:
        self._loose = ExitStack()
        touched = self._loose.enter_context(touchable(model))
        try:
            request = replace(Request.of(options), channels="*", until=FOREVER, every=ENOUGH, progress=False)
            self._request, self._settings = request, replace(settings_of(request), keep=KEPT)
            self.simulation = Simulation.of(model, request)
            self.parameters = self.simulation.parameters(request.parameters)
            self._feed = self.simulation.feed(request.inputs)
            self.columns = told_columns(self.simulation, touched)
            self.grounds = [ground for ground in self.simulation.translation.model.grounds if moves(ground)]
            self.routine = self.simulation.translation.select(self.columns)
            self.values = SymbolValues(model, request.parameters)
            shown = self._shown(touched)
            self.stream, self.speed, self.paused = Stream(), speed, False
            text = page(scene, result, channels=channels, speed=speed, living=shown)
            self.server = PageServer(text, host=host, port=port, stream=self.stream)
        except BaseException:
            self._loose.close()
            raise
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def _shown(self, touched: Any) -> Living:
        """What the page must know."""
        simulation, program = self.simulation, self.simulation.program
        start = simulation.assemble(self._request.initial, parameters=self.parameters, feed=self._feed).state
        sliders = sliders_of(simulation, self._request, self.parameters, self._feed, start)
        self.anew = {one["name"] for one in sliders if one["fixed"]}  # what the start depends on
        self.places = {one["name"]: one["place"] for one in sliders}
        self.inputs = {
            one["name"]: one["place"]
            for one in inputs_of(simulation, self._feed, touched)
            if not one["table"] and not self._feed.sources[one["place"]].is_callable
        }
        self.pulls = pulls_of(program, touched)
        told = [program.channels[i] for i in self.columns]
        model = simulation.translation.model
        facts = {
            "step": self._settings.step, "parameters": [{**one, "fixed": False} for one in sliders],
            "inputs": [one for one in inputs_of(simulation, self._feed, touched) if one["name"] in self.inputs],
            "pulls": list(self.pulls), "grounds": len(self.grounds), "watched": False,
        }  # fmt: skip
        channels = {channel.name: channel.unit for channel in told}
        paths = [model.path(ground) for ground in self.grounds]
        return Living(None, channels, [c.name for c in told if c.angle], paths, facts, {})

    @property
    def url(self) -> str:
        """The address of the page."""
        return self.server.url

    def wait(self) -> None:
        """Stay until interrupted (Ctrl-C)."""
        try:
            self.server.wait()
        finally:
            self.stop()

    def stop(self) -> None:
        """End the run and the server."""
        self.stream.end()
        if not self.server._ended.is_set():
            self.server.stop()
        self._thread.join(timeout=10)
        self._loose.close()

    def _play(self) -> None:
        """Run after run, each until somebody wants it to begin anew."""
        while not self.stream.ended:
            try:
                failure = self._run()
            except KomponoError as error:
                failure = str(error)
            if failure and not self.stream.ended:
                self.stream.tell(failure=failure)
                self._await_reset()

    def _run(self) -> str:
        """One run; why it ended, empty if that was wanted."""
        simulation, values = self.simulation, self.parameters.copy()
        assembly = simulation.assemble(self._request.initial, parameters=values, feed=self._feed)
        values = simulation.completed(values, assembly.state, self._feed, self._settings.step)
        started = simulation.started(assembly.state, values, self._feed, step=self._settings.step)
        simulation.prepare(self._settings.method, self.routine)
        self.stream.tell(begin=True)
        with at_work(self._feed.callables) as callables, simulation.kernel.begun(started) as state:
            feed = PlayedFeed(self._feed.fresh(callables), self, values)
            trajectory = integrate(simulation.problem(state, values, feed), self._settings, False)
        return "" if feed.wanted else trajectory.message or str(trajectory.ended)

    def _await_reset(self) -> None:
        while not self.stream.ended:
            for order in self.stream.orders(patience=0.5):
                if order["do"] == "parameter":
                    self.change(order)
                if order["do"] in ("reset", "parameter"):
                    return

    def change(self, order: Mapping[str, Any]) -> bool:
        """Another value of a parameter; whether it is one."""
        name, value = order.get("name"), order.get("value")
        if (
            not isinstance(name, str)
            or name not in self.places
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            return False
        self.parameters[self.places[name]] = value
        return True

    def row(self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """All channels the page wants, and positions and rotations of moving grounds."""
        (numbers,) = self.simulation.kernel.evaluate(self.routine, time, state, inputs, parameters)
        numbers = np.asarray(numbers)[self.columns] if self.routine == "outputs" else np.asarray(numbers)
        if not self.grounds:
            return numbers
        moved = [self.values.motion(ground, np.array([time])) for ground in self.grounds]
        return np.concatenate([numbers, *(np.concatenate([p[-1], turn[-1].T.ravel()]) for p, turn in moved)])


class PlayedFeed(Feed):
    """Inputs of a run that pages steer."""

    paced = True

    def __init__(self, feed: Feed, player: Played, parameters: np.ndarray) -> None:
        super().__init__(feed.sources, feed.controllers)
        self.followed = feed.followed
        self.player, self.parameters, self.wanted = player, parameters, False
        self.hand: Hand | None = None
        self._run: Any = None
        self._next, self._steps, self._last = 0.0, 0, 0.0
        self._origin: tuple[float, float] | None = None  # clock and simulated time when both last went together
        self._shown = -math.inf

    def attach(self, run: Any) -> None:
        """The run whose parameters may change."""
        self._run = run

    @property
    def next_due(self) -> float:
        """The next time a callable or a page is due [s]."""
        return min(super().next_due, self._next)

    def sample(self, time: float, read: Any) -> bool:
        """Meet the pages if it is time; whether an input changed."""
        before = self.held.copy()
        Feed.sample(self, time, read)
        if time >= self._next - 1e-12 and self.stop is None:
            self._meet(time, np.array(read.state))
            self.keep_followed(before)
        return not np.array_equal(before, self.held)

    def _meet(self, time: float, state: np.ndarray) -> None:
        player = self.player
        now = clock.perf_counter()
        due = now - self._shown >= 0.9 / PICTURES or self._steps > 0 or player.paused
        row = None
        if due or self.hand is not None:
            row = player.row(time, state, self.at(time), self.parameters)
        if due and row is not None:
            player.stream.send(time, row)
            self._shown = now
        self._obey(player.stream.orders())
        if player.paused and not due:  # where it stops is seen
            player.stream.send(time, player.row(time, state, self.at(time), self.parameters))
        if self._steps > 0:
            self._steps -= 1
        while player.paused and self._steps == 0 and self.stop is None and not player.stream.ended:
            self._obey(player.stream.orders(patience=0.5))
            self._origin = None
        if player.stream.ended:
            self.stop = self.stop or ""
            self.wanted = True
        self._keep_pace(time)
        if self.hand is not None and row is not None:
            self._pull(row)
        self._next = time + self._ahead()

    def _ahead(self) -> float:
        """Simulated time until the next meeting, whole steps."""
        step = self.player._settings.step
        if self.player.paused:
            return step
        wanted = min(PULLED, self.player.speed / PICTURES) if self.hand is not None else self.player.speed / PICTURES
        return step * max(1, round(wanted / step))

    def _keep_pace(self, time: float) -> None:
        """Wait until the clock is as far; who is late is not made to hurry."""
        now, player = clock.perf_counter(), self.player
        if self._origin is None:
            self._origin = now, time
            return
        due = self._origin[0] + (time - self._origin[1]) / player.speed
        if due > now:
            clock.sleep(min(due - now, 0.25))
        elif now - due > 0.1:
            player.stream.tell(
                rate=min(1.0, (time - self._origin[1]) / player.speed / max(now - self._origin[0], 1e-9))
            )
            self._origin = now, time

    def _obey(self, orders: list[dict[str, Any]]) -> None:
        for order in orders:
            getattr(self, f"_do_{order['do']}", lambda order: None)(order)

    def _do_pause(self, order: Mapping[str, Any]) -> None:
        self.player.paused = True

    def _do_play(self, order: Mapping[str, Any]) -> None:
        self.player.paused, self._origin = False, None

    def _do_step(self, order: Mapping[str, Any]) -> None:
        self.player.paused = True
        self._steps += 1

    def _do_reset(self, order: Mapping[str, Any]) -> None:
        self.stop, self.wanted = "", True

    def _do_speed(self, order: Mapping[str, Any]) -> None:
        value = order.get("value")
        if isinstance(value, int | float) and 1e-4 <= value <= 1e4:
            self.player.speed, self._origin = float(value), None

    def _do_input(self, order: Mapping[str, Any]) -> None:
        name, value = order.get("name"), order.get("value")
        if (
            isinstance(name, str)
            and name in self.player.inputs
            and isinstance(value, int | float)
            and math.isfinite(value)
        ):
            place = self.player.inputs[name]
            self.held[place] = value
            self.player._feed.held[place] = value  # of the next run, too
            sources = list(self.player._feed.sources)
            sources[place] = replace(sources[place], value=float(value))
            self.player._feed.sources = tuple(sources)

    def _do_parameter(self, order: Mapping[str, Any]) -> None:
        if not self.player.change(order):
            return
        if order["name"] in self.player.anew:
            self._do_reset(order)
            return
        place = self.player.places[order["name"]]
        self.parameters[place] = self.player.parameters[place]
        if self._run is not None:
            set_parameters(self._run, self.parameters)

    def _do_grab(self, order: Mapping[str, Any]) -> None:
        body = order.get("body")
        if isinstance(body, str) and body in self.player.pulls:
            self.hand = Hand.of(self.player.simulation, self.player.columns, order)

    def _do_move(self, order: Mapping[str, Any]) -> None:
        if self.hand is not None:
            self.hand.move(order)

    def _do_drop(self, order: Mapping[str, Any]) -> None:
        if self.hand is not None:
            first = self.player.pulls[self.hand.body]
            self.held[first : first + 6] = 0.0
        self.hand = None

    def _pull(self, row: np.ndarray) -> None:
        assert self.hand is not None
        first = self.player.pulls[self.hand.body]
        self.held[first : first + 6] = self.hand.wrench(row)
