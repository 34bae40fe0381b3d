"""The viewer on its server in a real browser, and the live view: what is clicked happens, what moves is seen."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.support import example
from view.support import Tab, changed, drawn, motion_of

from kompono import LiveView, Result, RunError, simulate, view
from kompono.edges.cli import main
from kompono.edges.view import Viewer
from kompono.result import MissingExtra
from kompono.scene import Scene, poses

CANVAS = "canvas"
EXAMPLES = Path(__file__).parents[2] / "kompono" / "examples"
COMPONENT = {"car": "body", "engine": "crank", "kuka": "base"}


@pytest.fixture
def viewer(machine: tuple[str, Scene, Result]) -> Iterator[tuple[str, Viewer]]:
    pytest.importorskip("viser")
    name, scene, result = machine
    viewer = Viewer(scene, result, port=free_port(), shadows=False)  # the processor draws here
    yield name, viewer
    viewer.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_it_plays_scrubs_and_hides(viewer: tuple[str, Viewer], tab: Tab) -> None:
    name, shown = viewer
    end = float(shown.times[-1])
    page = opened(tab, shown)
    start = tab.picture(CANVAS)
    slider = page.get_by_role("slider").first
    assert float(slider.get_attribute("aria-valuenow")) == 0.0

    page.get_by_role("button", name="Play").click()
    tab.wait(lambda: shown.time > 0.2 * end)
    page.get_by_role("button", name="Pause").click()
    tab.wait(lambda: not shown.playing)
    tab.wait(lambda: abs(float(slider.get_attribute("aria-valuenow")) - shown.time) < 0.02 * end)
    assert shown.frames > 2

    slider.focus()
    page.keyboard.press("End")
    tab.wait(lambda: shown.time == pytest.approx(end))
    assert float(slider.get_attribute("aria-valuenow")) == pytest.approx(end, abs=0.01 * end)
    calm(tab)
    last = tab.picture(CANVAS)
    assert changed(start, last) > 1e-4
    assert handles_agree(shown)

    box = page.get_by_label(f"{COMPONENT[name]} (Body)", exact=True)
    if not box.is_visible():
        page.get_by_text("components", exact=True).click()
    box.click()
    part = next(i for i, part in enumerate(shown.scene.parts) if part.path == COMPONENT[name])
    tab.wait(lambda: not any(m.visible for m in meshes(shown, part)))
    assert all(mesh.visible for mesh in meshes(shown, part + 1))
    calm(tab)
    assert changed(last, tab.picture(CANVAS)) > 1e-3
    assert tab.complaints == []


def opened(tab: Tab, shown: Any) -> Any:
    """The page, once the machine is on it."""
    tab.page.set_viewport_size({"width": 760, "height": 420})
    tab.open(shown.url)
    tab.page.get_by_role("button", name="Fit view").wait_for()
    tab.page.evaluate("document.querySelectorAll('.mantine-Notification-root').forEach(n => n.remove())")
    tab.wait(lambda: drawn(tab.picture(CANVAS)))
    calm(tab)
    return tab.page


def calm(tab: Tab) -> None:
    """Wait until the picture does not change any more."""
    before = tab.picture(CANVAS)
    for _ in range(60):
        tab.page.wait_for_timeout(250)
        now = tab.picture(CANVAS)
        if changed(before, now) < 1e-5:
            return
        before = now


def meshes(shown: Viewer, part: int) -> list[Any]:
    return [m for piece, m in zip(shown.scene.pieces, shown.stage._meshes, strict=True) if piece.part == part]


def handles_agree(shown: Viewer) -> bool:
    """Whether the nodes on the server are where the run ends."""
    expected = poses(shown.scene, shown.result, slice(-1, None))[0]
    found = np.array([[*node.position, *node.wxyz] for node in shown.stage._carriers])
    return bool(np.allclose(found, expected, atol=1e-5))


def test_it_listens_on_this_machine_only_unless_told_otherwise() -> None:
    pytest.importorskip("viser")
    scene, result = motion_of("car")
    shown = Viewer(scene, result, port=free_port())
    assert shown.server.get_host() == "127.0.0.1"
    assert shown.url == f"http://localhost:{shown.server.get_port()}"
    shown.stop()


def test_a_live_view_follows_a_run_and_then_shows_all_of_it(tab: Tab) -> None:
    pytest.importorskip("viser")
    car = example("car").Car()
    live = LiveView(car, port=free_port(), shadows=False)
    result = simulate(car, until=0.5, step=1e-4, progress=False, watcher=live)
    assert live.time == pytest.approx(0.5)
    tab.wait(lambda: live.frames >= 1)
    with pytest.raises(RunError, match="3 poses for 9 bodies"):
        live.update(0.3, np.ones((3, 7)))
    shown = live.finish(result)
    assert shown.url == live.url
    opened(tab, shown)
    shown.seek(0.5)
    assert handles_agree(shown)
    assert tab.complaints == []
    shown.stop()


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
        assert page.stat().st_size < 2e6
    assert pages["model"].stat().st_size < pages["run"].stat().st_size


def test_without_the_extra_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    for words in (["view", "--viser"], ["run", "--view"]):
        assert main([*words, str(EXAMPLES / "car.py")]) == 1
        said = capsys.readouterr().err.strip()
        assert said == "kompono: viser is not installed. Try: pip install 'kompono[view]'"
    with pytest.raises(MissingExtra, match=r"kompono\[view\]"):
        motion_of("car")[1].view(viser=True)
    motion_of("car")[1].view(port=0).stop()  # the page needs nothing


def test_what_cannot_be_viewed_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, result = motion_of("car")
    table = tmp_path / "car.csv"
    result.to_csv(table)
    page = tmp_path / "car.html"
    assert main(["view", str(table), "--html", str(page)]) == 1
    assert "--model FILE.py" in capsys.readouterr().err
    assert main(["view", str(table), "--model", str(EXAMPLES / "car.py"), "--html", str(page)]) == 0
    assert main(["view", str(tmp_path / "none.h5")]) == 1
    with pytest.raises(RunError, match="cannot be viewed"):
        view(3.0)  # type: ignore[arg-type]
