"""The self-contained page in a real browser: it plays, scrubs, hides and highlights, and asks nobody for anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from view.support import Tab, changed, drawn

from kompono import Result
from kompono.edges.view import fragment, page
from kompono.scene import Scene

COMPONENT = {"car": "body", "engine": "cylinder2", "kuka": "axis3"}
CANVAS = "#view"


def opened(tab: Tab, name: str, text: str, folder: Path) -> Any:
    file = folder / f"{name}.html"
    file.write_text(text, encoding="utf-8")
    tab.open(file.as_uri())
    tab.page.wait_for_selector("body[data-ready=yes]")
    return tab.page


def test_it_plays_scrubs_and_hides(machine: tuple[str, Scene, Result], tab: Tab, tmp_path: Path) -> None:
    name, scene, result = machine
    text = page(scene, result)
    assert len(text) < 2e6
    browser = opened(tab, name, text, tmp_path)
    still(tab)
    start = tab.picture(CANVAS)
    assert drawn(start)

    browser.click("#play")
    tab.wait(lambda: browser.evaluate("kompono.state.time") > 0.2 * result.time[-1])
    assert browser.inner_text("#play") == "Pause"
    browser.click("#play")
    assert browser.inner_text("#play") == "Play"

    half = 0.5 * float(result.time[-1])
    browser.evaluate(
        "time => { const s = document.getElementById('slider'); s.value = time; s.dispatchEvent(new Event('input')); }",
        half,
    )
    assert browser.evaluate("kompono.state.time") == pytest.approx(half, abs=1e-6)
    assert browser.inner_text("#clock").startswith(f"{half:.3f} / ")
    still(tab)
    middle = tab.picture(CANVAS)
    assert changed(start, middle) > 1e-4

    part = COMPONENT[name]
    browser.locator(f"input[data-path='{part}']").uncheck()
    still(tab)
    assert changed(middle, tab.picture(CANVAS)) > 1e-3
    hidden = browser.evaluate("kompono.machine.meshes.filter(m => !m.visible).map(m => m.userData.part)")
    assert {scene.parts[i].path.split(".")[0] for i in hidden} == {part}
    browser.locator(f"input[data-path='{part}']").check()
    still(tab)
    assert changed(middle, tab.picture(CANVAS)) < 1e-4
    assert tab.complaints == []
    assert [address for address in tab.requests if not address.startswith(("file:", "blob:", "data:"))] == []


def still(tab: Tab) -> None:
    """Wait until the page has drawn the present state and rests."""
    tab.wait(lambda: tab.page.evaluate("performance.now() - kompono.machine.changed > 500 && !kompono.machine.stale"))
    tab.page.wait_for_timeout(100)


def test_poses_in_the_browser_are_those_of_the_run(
    machine: tuple[str, Scene, Result], tab: Tab, tmp_path: Path
) -> None:
    """Between two recorded instants positions are interpolated; the browser puts every body where the result says."""
    name, scene, result = machine
    browser = opened(tab, name, page(scene, result), tmp_path)
    row = len(result.time) // 3
    found = browser.evaluate(
        "time => { kompono.seek(time); return kompono.machine.carriers.map(c => c.position.toArray()); }",
        float(result.time[row]),
    )
    for carrier, place in zip(scene.carriers, found, strict=True):
        if carrier.kind == "body":
            expected = [result[f"{carrier.path}.position.{axis}"][row] for axis in "xyz"]
            assert place == pytest.approx(expected, abs=2e-4 if name == "engine" else 2e-5)


def test_highlight_curves_and_glass(tab: Tab, tmp_path: Path) -> None:
    from view.support import motion_of

    scene, result = motion_of("car")
    browser = opened(tab, "car", page(scene, result, channels=["body.position.*"]), tmp_path)
    tab.page.set_viewport_size({"width": 1200, "height": 600})
    assert browser.locator(".curve .channel").all_inner_texts() == [f"body.position.{axis}" for axis in "xyz"]
    browser.evaluate("kompono.seek(0.3)")
    shown = float(browser.locator(".curve .value").nth(2).inner_text())
    assert shown == pytest.approx(result.at(0.3)["body.position.z"], rel=1e-4)
    still(tab)
    plain = tab.picture(CANVAS)
    browser.locator(".name[data-path='body']").click()
    assert browser.inner_text("#picked") == "body (Body)"
    still(tab)
    assert changed(plain, tab.picture(CANVAS)) > 0.01
    browser.locator(".name[data-path='body']").click()
    browser.locator("input[data-kind='glass']").check()
    still(tab)
    assert changed(plain, tab.picture(CANVAS)) > 0.01
    assert tab.complaints == []


def test_a_page_inside_a_page(tab: Tab, tmp_path: Path) -> None:
    from view.support import motion_of

    scene, result = motion_of("car")
    text = f"<!doctype html><title>report</title><h1>Report</h1>{fragment(scene, result, height=400)}"
    file = tmp_path / "report.html"
    file.write_text(text, encoding="utf-8")
    tab.open(file.as_uri())
    inner = tab.page.frame_locator("iframe.kompono-scene")
    inner.locator("body[data-ready=yes]").wait_for()
    assert inner.locator("#name").inner_text() == "Car"
    assert tab.complaints == []
