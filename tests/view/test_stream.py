"""Runs that are going on, in the page: rows come as they are made, and what is ordered there happens here."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.support import example
from view.support import Tab, motion_of

from kompono import Body, Ground, Input, LiveView, Mode, Parameter, RunError, Subsystem, simulate, view
from kompono.edges.cli import main
from kompono.edges.view.hand import Hand
from kompono.edges.view.played import Played
from kompono.edges.view.stream import ORDERS, ROWS, Stream
from kompono.library import AppliedLoad, Contact, Gravity, Revolute, surfaces

EXAMPLES = Path(__file__).parents[2] / "kompono" / "examples"


def opened(tab: Tab, url: str) -> Any:
    tab.open(url)
    tab.page.wait_for_selector("body[data-ready=yes]")
    return tab.page


# -- rows and orders


def test_who_is_behind_gets_the_newest() -> None:
    stream = Stream()
    for k in range(ROWS + 10):
        stream.send(0.1 * k, np.array([float(k)]))
    last, found = stream.after(0, 1.0)
    assert (last, len(found)) == (ROWS + 10, ROWS)
    assert json.loads(found[-1])["time"] == pytest.approx(0.1 * (ROWS + 9))
    assert stream.after(last, 0.01) == (last, [])
    assert stream.begin()[1] == found[-1:]  # a page that is loaded now begins there
    stream.tell(over=True)
    last += 1
    assert stream.begin() == (last, [])  # and is not told to load again what it has just loaded
    stream.end()
    assert stream.after(last, 60.0) == (last, [])  # nobody waits for an end that came


@pytest.mark.parametrize("order", [b"", b"x", b"[]", b"1", b'{"do": 1}', b'{"x": "play"}', b"\xff", b"[" * 100_000])
def test_what_is_no_order_is_not_heard(order: bytes) -> None:
    stream = Stream()
    assert not stream.order(order)
    assert stream.orders() == []


def test_orders_are_limited() -> None:
    stream = Stream()
    assert sum(stream.order(b'{"do": "play"}') for _ in range(ORDERS + 5)) == ORDERS
    assert len(stream.orders()) == ORDERS


# -- played with


class Swing(Subsystem):
    """A pendulum with a load, a parameter and a count that Python keeps."""

    run_defaults = {"until": 1.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self) -> None:
        self.gravity, self.ground = Gravity(), Ground()
        self.stretch = Parameter(0.5, unit="m")
        self.push = Input(0.0, unit="N")
        self.drive = Input(lambda t: 0.0, period=0.01, unit="N")  # no page could run this
        self.bob = Body(mass=1.0, inertia=(0.01, 0.01, 0.01))
        self.pin = Revolute(self.ground, self.bob.at(0, 0, self.stretch), axis="y", angle=0.1)
        self.load = AppliedLoad(self.bob, force=(self.push + self.drive, 0, 0))


@pytest.fixture
def swing() -> Iterator[Played]:
    shown = view(Swing(), live=True, port=0)
    assert isinstance(shown, Played)
    yield shown
    shown.stop()


def test_it_runs_here_and_is_steered_there(swing: Played, tab: Tab) -> None:
    page = opened(tab, swing.url)
    last = "kompono.run.last"
    tab.wait(lambda: page.evaluate(last) > 0.2)
    page.click("#play")
    tab.wait(lambda: swing.paused)
    page.wait_for_timeout(200)
    there = page.evaluate(last)
    page.wait_for_timeout(200)
    assert page.evaluate(last) == there
    page.click("#step")
    tab.wait(lambda: page.evaluate(last) == pytest.approx(there + 1e-3, abs=1e-6))

    field = page.get_by_label("push in N")
    field.fill("4")
    field.press("Enter")
    slider = page.get_by_label("gravity.strength in m/s^2")
    slider.fill("3.5")
    slider.press("Enter")
    tab.wait(lambda: swing.parameters[swing.places["gravity.strength"]] == 3.5)
    page.click("#reset")
    tab.wait(lambda: page.evaluate(last) < there)
    page.click("#play")
    tab.wait(lambda: page.evaluate(last) > 0.3)
    page.click("#play")
    options = {"inputs": {"push": 4.0}, "progress": False, "step": 1e-3}
    heavy = Swing()
    heavy.gravity = Gravity((0, 0, -3.5))
    wanted = simulate(heavy, until=0.5, **options)
    found = page.evaluate(
        """() => { const { run, data } = kompono, k = data.channels.findIndex(c => c.name === "pin.angle"), rows = [];
        for (let i = 0; i < run.count; i++) rows.push([run.timeAt(i), run.valueAt(k, i)]); return rows; }"""
    )
    compared = [(angle, np.interp(t, wanted.time, wanted["pin.angle"])) for t, angle in found if 0 <= t <= 0.5]
    assert len(compared) > 3
    assert all(angle == pytest.approx(other, abs=2e-6) for angle, other in compared)  # single precision, between rows
    assert tab.complaints == []


def test_a_body_is_pulled_here(swing: Played) -> None:
    body = "bob"
    swing.stream.order(b'{"do": "speed", "value": 20}')
    order = {"do": "grab", "body": body, "local": [0, 0, 0], "target": [2.0, 0, -0.3]}
    swing.stream.order(json.dumps(order).encode())
    column = [swing.simulation.program.channels[i].name for i in swing.columns].index("bob.position.x")
    place, seen = 0.0, 0
    for _ in range(400):
        seen, rows = swing.stream.after(seen, 1.0)
        numbers = [json.loads(row) for row in rows]
        for row in numbers:
            if "row" in row:
                place = np.frombuffer(base64.b64decode(row["row"]), dtype="<f4")[column]
        if place > 0.3:
            break
    assert place > 0.3  # far beyond the 0.05 m it swings by itself


def test_a_hand_is_a_damped_spring() -> None:
    hand = Hand("b", np.array([0.1, 0, 0]), np.array([1.1, 0, 2.0]), 3.0, list(range(7)), list(range(7, 13)))
    at_rest = hand.wrench(np.array([1.0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]))
    assert at_rest[:3] == pytest.approx([0, 0, 600.0])  # m omega^2 times 2 m
    assert at_rest[3:] == pytest.approx([0, -60.0, 0])
    hand.target = np.array([1.1, 0, 0])
    moving = hand.wrench(np.array([1.0, 0, 0, 1, 0, 0, 0, 0, 2.0, 0, 0, 0, 0]))
    assert moving[:3] == pytest.approx([0, -1.4 * 3.0 * 10 * 2.0, 0])


NONSENSE: list[dict[str, Any]] = [
    {"do": "parameter", "name": "gravity.strength", "value": "x"}, {"do": "parameter", "name": "none", "value": 1},
    {"do": "input", "name": "push", "value": None}, {"do": "input", "name": "drive", "value": 3.0},
    {"do": "grab", "body": "none"}, {"do": "grab", "body": "bob", "local": [0, 0], "target": "x"}, {"do": "move"},
    {"do": "speed", "value": -1}, {"do": "__init__"}, {"do": "drop"}, {"do": "_obey"}, {"do": "grab", "body": ["bob"]},
    {"do": "parameter", "name": ["x"], "value": 1.0}, {"do": "input", "name": {"a": 1}, "value": 1.0},
]  # fmt: skip


def test_orders_that_make_no_sense_do_nothing(swing: Played) -> None:
    before, seen = swing.parameters.copy(), 0
    for order in NONSENSE:
        assert swing.stream.order(json.dumps(order).encode())
    for _ in range(8):
        last, rows = swing.stream.after(seen, 30.0)
        assert last > seen  # it goes on
        assert not any("failure" in json.loads(row) for row in rows)
        seen = last
    assert np.array_equal(swing.parameters, before)
    assert swing.speed == 1.0


class Falling(Subsystem):
    """A ball that strikes the floor: contact by events, which no page has."""

    run_defaults = {"until": 1.0}  # noqa: RUF012

    def __init__(self) -> None:
        self.gravity, self.ground = Gravity(), Ground()
        self.ball = Body(mass=1.0, inertia=(0.01, 0.01, 0.01), start_position=(0, 0, 0.3))
        self.floor = Contact(self.ball.sphere(0.1), self.ground.plane("z"), restitution=0.5)
        self.hits = Mode(0.0)


def test_contact_runs_here_and_is_shown() -> None:
    assert surfaces is not None
    shown: Any = view(Falling(), live=True, port=0)
    try:
        assert isinstance(shown, Played)
        seen = 0
        for _ in range(5):
            last, _ = shown.stream.after(seen, 30.0)
            assert last > seen
            seen = last
    finally:
        shown.stop()


# -- watched


def is_over(page: Any) -> bool:
    """Whether the page shows a run that is over; while it loads that anew, nobody answers."""
    with suppress(Exception):
        return page.evaluate("window.kompono?.run.ends === true")
    return False


def test_a_live_view_follows_a_run_and_then_shows_all_of_it(tab: Tab) -> None:
    car = example("car").Car()
    live = LiveView(car, port=0)
    try:
        result = simulate(car, until=0.3, step=1e-4, progress=False, watcher=live)
        assert live.time == pytest.approx(0.3)
        assert live.frames >= 1
        page = opened(tab, live.url)
        assert page.evaluate("kompono.run.ends") is False
        assert page.is_hidden("#reset")
        with pytest.raises(RunError, match="3 poses for 9 bodies"):
            live.update(0.3, np.ones((3, 7)))
        live.update(0.31, [result[name][-1] for name in live.channels])
        tab.wait(lambda: page.evaluate("kompono.run.count") > 0)
        served = live.finish(result)
        assert served.url == live.url
        tab.wait(lambda: is_over(page))
        page.wait_for_selector("body[data-ready=yes]")
        page.evaluate("kompono.seek(0.3)")
        found = page.evaluate("kompono.machine.carriers.map(c => c.position.toArray())")
        expected = [result[f"body.position.{axis}"][-1] for axis in "xyz"]
        assert found[0] == pytest.approx(expected, abs=1e-5)
        assert tab.complaints == []
    finally:
        live.stop()


def test_the_live_view_gets_the_poses_of_the_run() -> None:
    """What a watcher is told are the channels it asked for, in its own order."""

    class Watcher:
        channels = ("right_wheel.ring.position.z", "body.position.z", "body.orientation.e0")

        def __init__(self) -> None:
            self.told: list[tuple[float, np.ndarray]] = []

        def update(self, time: float, values: np.ndarray, /) -> None:
            self.told.append((time, values))

    watcher = Watcher()
    result = simulate(example("car").Car(), until=0.3, step=1e-3, progress=False, watcher=watcher)
    assert watcher.told[0][0] == 0.0
    assert watcher.told[-1][0] == pytest.approx(0.3)
    for time, values in watcher.told:
        row = result.at(min(time, 0.3))
        assert values == pytest.approx([row[name] for name in Watcher.channels], abs=1e-12)


# -- commands


def test_the_command_writes_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = {name: tmp_path / f"{name}.html" for name in ("model", "run", "stored")}
    stored = tmp_path / "car.h5"
    car = str(EXAMPLES / "car.py")
    assert main(["view", car, "--html", str(pages["model"])]) == 0
    assert main(["view", car, "--until", "0.2", "--html", str(pages["run"])]) == 0
    assert main(["run", car, "--until", "0.2", "--hdf5", str(stored), "--quiet"]) == 0
    assert main(["view", str(stored), "--html", str(pages["stored"])]) == 0
    assert "MB" in capsys.readouterr().out
    for page in pages.values():
        assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
        assert page.stat().st_size < 1.5e6
    assert pages["model"].stat().st_size < pages["run"].stat().st_size


def test_what_cannot_be_viewed_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, result = motion_of("car")
    table = tmp_path / "car.csv"
    result.to_csv(table)
    page = tmp_path / "car.html"
    assert main(["view", str(table), "--html", str(page)]) == 1
    assert "--model FILE.py" in capsys.readouterr().err
    assert main(["view", str(table), "--model", str(EXAMPLES / "car.py"), "--html", str(page)]) == 0
    assert main(["view", str(tmp_path / "none.h5")]) == 1
    assert main(["view", str(EXAMPLES / "car.py"), "--here", "--html", str(page)]) == 1
    assert "--live --here" in capsys.readouterr().err
    with pytest.raises(RunError, match="cannot be viewed"):
        view(3.0)  # type: ignore[arg-type]
