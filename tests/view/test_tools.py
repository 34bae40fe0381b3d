"""What one can do in the page: find, draw, choose, measure, cut, link, keep; on dark, small and crowded screens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from view.support import Tab, drawn, motion_of

from kompono import Body, Ground, Subsystem, simulate
from kompono.edges.view import page
from kompono.edges.view.columns import Columns
from kompono.edges.view.show import scene_of
from kompono.library import Prismatic, solids
from kompono.scene import Scene, SceneBody, SceneMember, ScenePiece


@pytest.fixture(scope="module")
def car(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("tools") / "car.html"
    file.write_text(page(*motion_of("car")), encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def shown(car: str, tab: Tab) -> Iterator[Any]:
    tab.page.set_viewport_size({"width": 1200, "height": 640})
    yield opened(tab, car)
    assert tab.complaints == []


def opened(tab: Tab, address: str) -> Any:
    tab.open(address)
    tab.page.wait_for_selector("body[data-ready=yes]")
    return tab.page


def test_columns_come_back_as_they_were(tab: Tab) -> None:
    """Packed and unpacked without loss, constants and equal columns once."""
    random = np.random.default_rng(3)
    columns, values = Columns(), [random.normal(size=50) * 10.0**k for k in range(-6, 6)]
    values[3][7] = np.nan
    numbers = [columns.add(one) for one in (*values, np.full(50, 2.5), values[2], np.full(50, np.nan))]
    assert numbers == [*range(12), -1, 2, -2]
    assert columns.constants == [2.5, None]
    tab.page.add_script_tag(path=str(Path(page.__code__.co_filename).parent / "assets" / "data.js"))
    found = tab.page.evaluate("bytes => [...unfold(Uint8Array.from(bytes), 50)]", columns.packed().tolist())
    expected = np.concatenate(values).astype("f4")
    back = np.array([np.nan if x is None else x for x in found], dtype="f4")
    assert np.array_equal(back, expected, equal_nan=True)


def test_all_channels_are_found_by_parts_of_their_names(shown: Any) -> None:
    _, result = motion_of("car")
    assert shown.get_attribute("#add", "placeholder") == f"find among {len(result.names)} channels"
    shown.fill("#add", "FORCE left z")
    names = shown.locator("#found li span").all_inner_texts()
    assert names == [n for n in result.names if all(part in n for part in ("force", "left", "z"))]
    shown.press("#add", "ArrowDown")
    shown.press("#add", "Enter")
    assert names[1] in shown.locator(".curve .channel").all_inner_texts()
    shown.fill("#add", "no such channel")
    assert "no channel" in shown.inner_text("#found")


def test_the_first_curves_are_coordinates_that_move(shown: Any) -> None:
    scene, result = motion_of("car")
    first = shown.locator(".curve .channel").all_inner_texts()
    joints = {part.path for part in scene.parts if part.kind == "joint"}
    assert first
    assert all(name.rpartition(".")[0] in joints and np.ptp(result[name]) > 1e-6 for name in first)


def test_curves_zoom_tell_and_are_kept(shown: Any, tmp_path: Path) -> None:
    _, result = motion_of("car")
    box = shown.locator(".panel canvas").first.bounding_box()
    shown.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    assert "t = " in shown.locator(".readout").first.inner_text()
    shown.mouse.wheel(0, -400)
    first, last = shown.evaluate("kompono.curves.span()")
    assert 0 < first < last < 0.6
    shown.locator(".panel canvas").first.dblclick()
    assert shown.evaluate("kompono.curves.span()") == [0, pytest.approx(0.6)]
    panels = shown.locator(".panel").count()
    shown.click("#each")
    assert shown.locator(".panel").count() == shown.locator(".curve").count() >= panels
    shown.click("#wide")
    assert shown.evaluate("getComputedStyle(document.getElementById('panels')).display") == "grid"
    with shown.expect_download() as kept:
        shown.click("#csv")
    kept.value.save_as(tmp_path / "car.csv")
    table = np.genfromtxt(tmp_path / "car.csv", delimiter=",", names=True)
    name = shown.locator(".curve .channel").first.inner_text()
    assert table["time"] == pytest.approx(result.time)
    assert table[table.dtype.names[1]] == pytest.approx(result[name], rel=1e-6, abs=1e-7)


def test_what_is_chosen_tells_of_itself(shown: Any) -> None:
    scene, result = motion_of("car")
    shown.evaluate("kompono.seek(0.3)")
    shown.locator(".name[data-path='body']").click()
    assert shown.inner_text("#picked") == "body (Body)"
    assert "mass 585 kg" in shown.inner_text("#facts")
    shown.click("#more summary")
    rows: dict[str, str] = {}
    for _ in range(100):  # until it is drawn
        names, values = (shown.locator(f".datum .{what}").all_inner_texts() for what in ("channel", "value"))
        rows = dict(zip(names, values, strict=True))
        if rows.get("position.z"):
            break
        shown.wait_for_timeout(50)
    assert float(rows["position.z"]) == pytest.approx(result.at(0.3)["body.position.z"], rel=1e-3)
    shown.get_by_role("button", name="Hide others").click()
    hidden = shown.evaluate("kompono.machine.meshes.filter(m => !m.visible).length")
    body = next(i for i, part in enumerate(scene.parts) if part.path == "body")
    assert hidden == sum(piece.part != body for piece in scene.pieces)
    shown.get_by_role("button", name="Show all").click()
    before = shown.locator(".curve").count()
    shown.get_by_role("button", name="Plot").click()
    assert shown.locator(".curve").count() > before
    shown.get_by_role("button", name="Trace").click()
    assert shown.evaluate("[...kompono.physics.traces.keys()]") == ["body"]
    shown.get_by_role("button", name="Follow").click()
    eye = shown.evaluate("kompono.machine.camera.position.toArray()")
    shown.evaluate("kompono.seek(0)")
    moved = np.subtract(shown.evaluate("kompono.machine.camera.position.toArray()"), eye)
    there = [result[f"body.position.{a}"][0] - result.at(0.3)[f"body.position.{a}"] for a in "xyz"]
    assert moved == pytest.approx(there, abs=1e-4)


def test_redundant_ones_can_be_clicked_and_joints_are_seen_through(shown: Any) -> None:
    scene, _ = motion_of("car")
    assert scene.redundant
    shown.locator("#legend button").first.click()
    assert shown.evaluate("kompono.tree.lit") == scene.redundant[0]
    assert "others imply" in shown.inner_text("#facts")
    above = shown.evaluate("kompono.machine.meshes.filter(m => !m.material.depthTest).map(m => m.userData.part)")
    assert above
    assert {scene.parts[i].path for i in above} == {scene.redundant[0]}


def test_forces_are_arrows_where_and_as_the_run_says(shown: Any) -> None:
    _, result = motion_of("car")
    shown.evaluate("kompono.seek(0.3); kompono.physics.show('forces', true)")
    arrows = shown.evaluate(
        """kompono.physics.vectors.filter(v => v.arrow?.visible).map(v => [kompono.data.parts[v.part].path,
        v.arrow.position.toArray(), v.arrow.children[1].position.y,
        new THREE.Vector3(0, 1, 0).applyQuaternion(v.arrow.quaternion).toArray()])"""
    )
    assert {path for path, *_ in arrows} >= {"left_wheel.tyre", "right_wheel.tyre"}
    row = result.at(0.3)
    for path, place, length, direction in arrows:
        force = np.array([row[f"{path}.force.{axis}"] for axis in "xyz"])
        assert direction == pytest.approx(force / np.linalg.norm(force), abs=1e-3)
        assert length > 0
        if path == "left_wheel.tyre":
            assert place == pytest.approx([row[f"left_wheel.ring.position.{axis}"] for axis in "xyz"], abs=1e-4)


def test_keys(shown: Any) -> None:
    shown.locator("#view").focus()
    for key, expected in (("End", 0.6), ("Home", 0.0), ("ArrowRight", 1 / 60)):
        shown.keyboard.press(key)
        assert shown.evaluate("kompono.state.time") == pytest.approx(expected, abs=1e-6)
    shown.keyboard.press(" ")
    assert shown.inner_text("#play") == "Pause"
    shown.keyboard.press(" ")
    shown.keyboard.press("6")
    away = shown.evaluate(
        "kompono.machine.camera.position.clone().sub(kompono.machine.controls.target).normalize().toArray()"
    )
    assert away == pytest.approx([0, 0, 1], abs=2e-3)
    shown.keyboard.press("o")
    assert shown.evaluate("kompono.machine.camera.isOrthographicCamera")
    shown.keyboard.press("?")
    assert "x-ray" in shown.inner_text("#help")
    shown.click("#done")
    shown.locator(".name[data-path='body']").click()
    shown.locator("#view").focus()
    shown.keyboard.press("Escape")
    assert shown.evaluate("kompono.tree.lit") is None


def test_a_link_shows_what_was_seen(shown: Any, car: str, browser: Any) -> None:
    shown.evaluate("kompono.seek(0.25); kompono.tree.light('left.beam'); kompono.machine.look(4)")
    shown.evaluate("kompono.curves.add(kompono.search.matches('energy.total')[0])")
    words, eye = shown.evaluate("[kompono.links.text(), kompono.machine.camera.position.toArray()]")
    other = Tab(browser.new_page())
    found = opened(other, car + words)
    assert found.evaluate("kompono.state.time") == pytest.approx(0.25)
    assert found.evaluate("kompono.tree.lit") == "left.beam"
    assert found.evaluate("kompono.machine.camera.position.toArray()") == pytest.approx(eye, rel=1e-3, abs=1e-3)
    assert "energy.total" in found.locator(".curve .channel").all_inner_texts()
    found.goto(f"{car}#t=x&sel=none&eye=1,2&curves=none,%3Cb%3E")  # words that mean nothing
    found.reload()
    found.wait_for_selector("body[data-ready=yes]")
    assert found.evaluate("kompono.tree.lit") is None
    assert other.complaints == []
    found.close()


def test_measuring_cutting_and_pictures(shown: Any) -> None:
    found = shown.evaluate(
        """() => { const { machine, measure } = kompono, box = machine.canvas.getBoundingClientRect();
        machine.look(2); machine.draw(performance.now(), 0); measure.turn(true);
        const hits = [];
        for (const share of [0.42, 0.58]) { const x = box.left + share * box.width, y = box.top + 0.35 * box.height;
          const hit = machine.hit(x, y); if (hit) hits.push(hit.point.toArray()); measure.click(x, y); }
        return [hits, document.getElementById("measured").textContent]; }"""
    )
    (a, b), text = found
    assert float(text.split()[0]) == pytest.approx(np.linalg.norm(np.subtract(a, b)), rel=1e-3)
    whole = shown.evaluate("kompono.machine.renderer.render(kompono.machine.world, kompono.machine.camera) ?? 0")
    assert whole == 0
    assert shown.evaluate("kompono.machine.section(2, 0.2) ?? kompono.machine.renderer.clippingPlanes.length") == 1
    assert shown.evaluate("kompono.machine.section(null) ?? kompono.machine.renderer.clippingPlanes.length") == 0
    with shown.expect_download() as kept:
        shown.evaluate("document.getElementById('picture').click()")
    assert kept.value.suggested_filename == "Car.png"


def test_dark_by_the_wish_of_the_system(car: str, browser: Any) -> None:
    tab = Tab(browser.new_page(color_scheme="dark", viewport={"width": 900, "height": 560}))
    opened(tab, car)
    assert tab.picture("#view")[5, 5].max() < 80
    assert tab.page.evaluate("getComputedStyle(document.body).color") == "rgb(227, 231, 236)"
    tab.page.close()


def test_a_small_screen_has_room(car: str, browser: Any) -> None:
    tab = Tab(browser.new_page(viewport={"width": 380, "height": 700}, has_touch=True))
    found = opened(tab, car)
    wide = "document.documentElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth"
    for button in ("#show-tree", "#show-plots", "#show-tree"):
        found.click(button)
        assert found.evaluate(wide)
        panels = found.evaluate("['tree', 'plots'].filter(id => document.getElementById(id).offsetHeight > 0)")
        assert len(panels) == 1  # one at a time
        foot, stage = (found.locator(name).bounding_box() for name in ("footer", "#stage"))
        assert stage["height"] > 150
        assert foot["y"] + foot["height"] <= 700.5
    tab.page.close()


AWAY = "() => kompono.machine.camera.position.distanceTo(kompono.machine.controls.target)"


def test_the_machine_fills_a_narrow_page_and_one_that_changes(car: str, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 760, "height": 560})
    page.goto(car)
    page.wait_for_selector("body[data-ready=yes]")
    for size in (None, {"width": 500, "height": 700}):
        if size:
            page.set_viewport_size(size)
        page.wait_for_timeout(200)
        found = page.evaluate(AWAY)
        page.evaluate("() => kompono.machine.fit()")
        assert page.evaluate(AWAY) == pytest.approx(found, rel=1e-6)
    page.close()


def test_a_machine_that_goes_far_is_followed(tab: Tab, tmp_path: Path) -> None:
    class Thrown(Subsystem):
        def __init__(self) -> None:
            self.ground, self.ball = Ground(), Body(solids.sphere(mass=1.0, radius=0.1))
            self.rail = Prismatic(self.ground, self.ball, axis="x", displacement_rate=30.0)

    file = tmp_path / "thrown.html"
    file.write_text(page(*scene_of(simulate(Thrown(), until=1.0, step=1e-2))), encoding="utf-8")
    shown = opened(tab, file.as_uri())
    shown.wait_for_timeout(200)
    assert shown.evaluate(AWAY) < 8.0  # all of the way: 50
    shown.evaluate("() => kompono.seek(0.8)")
    assert shown.evaluate("() => kompono.machine.controls.target.x") == pytest.approx(24.0, abs=0.2)


def test_everything_has_a_name_for_those_who_listen(shown: Any) -> None:
    nameless = shown.evaluate(
        """[...document.querySelectorAll("button, input, select, canvas, summary")].filter(e => e.offsetParent &&
        !(e.getAttribute("aria-label") || e.title || e.textContent.trim() || e.closest("label")))
        .map(e => e.outerHTML)"""
    )
    assert nameless == []


def test_thousands_of_bodies_are_drawn(tab: Tab, tmp_path: Path) -> None:
    """A crowd: a few calls for the graphics card, and single parts can still be hidden, lit and picked."""
    count = 5200
    rows = [(float(k % 80), float(k // 80), 0.3, 1.0, 0.0, 0.0, 0.0) for k in range(count)]
    carriers = tuple(SceneBody(f"crowd.{k}", "body", pose) for k, pose in enumerate(rows))
    parts = tuple(SceneMember(f"crowd.{k}", "body", "Body") for k in range(count))
    pieces = tuple(ScenePiece(k, "box", {"size": (0.6, 0.6, 0.6)}, k, colour="#4477aa") for k in range(count))
    file = tmp_path / "crowd.html"
    file.write_text(page(Scene("Crowd", carriers, parts, pieces)), encoding="utf-8")
    found = opened(tab, file.as_uri())
    tab.wait(lambda: found.evaluate("kompono.machine.drawn") > 0)
    assert found.evaluate("kompono.machine.renderer.info.render.calls") < 12
    assert drawn(tab.picture("#view"))
    spot = found.evaluate("kompono.machine.onScreen(kompono.machine.carriers[2640].position)")
    box = found.locator("#view").bounding_box()
    part = found.evaluate("([x, y]) => kompono.machine.pick(x, y)", [box["x"] + spot[0], box["y"] + spot[1]])
    assert part == 2640
    found.evaluate("kompono.tree.show('crowd.2640', false)")
    assert found.evaluate("([x, y]) => kompono.machine.pick(x, y)", [box["x"] + spot[0], box["y"] + spot[1]]) != 2640
    assert tab.complaints == []
