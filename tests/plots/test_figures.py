"""Figures the machines of the papers declare: drawn where that is cheap, and true to the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.support import example

from kompono import simulate
from kompono.edges.figures import figures, write_figures


def words(picture: Any) -> list[str]:
    return [text.get_text() for text in picture.figure().findobj(lambda artist: hasattr(artist, "get_text"))]


def test_the_pressure_volume_diagram_does_the_work_of_a_cycle() -> None:
    """Figure 2. The area is the net work: mean gas torque 32.81 N m of four cylinders (MODELS 3.3, E4) over 4 pi."""
    axes = example("engine").cycle().figure().axes[0]
    strokes = {line.get_label(): line.get_data() for line in axes.get_lines() if line.get_label()[0] != "_"}
    assert list(strokes) == ["expansion", "exhaust", "intake", "compression"]
    work = sum(float(np.trapezoid(1e5 * bar, 1e-6 * volume)) for volume, bar in strokes.values())
    assert work == pytest.approx(32.81 * 4 * np.pi / 4, rel=0.01)


def test_the_crank_speed_ends_as_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figure 3 with four cylinders, rk2 at 2 ms; MODELS 3.4 expects errors of about 10 rpm."""
    engine = example("engine")
    monkeypatch.setattr(engine, "WORKING", {4: engine.WORKING[4]})  # two and one would be compiled anew
    axes = engine.speeds().figure().axes[0]
    (speed,) = [line.get_ydata() for line in axes.get_lines() if line.get_label() == "4 working"]
    assert speed[-1] == pytest.approx(1864.78, abs=10)


def test_the_hierarchy_of_the_robot_shows_all_bodies() -> None:
    """Figure 6: 43 bodies in 6 axes with a motor and a gear each."""
    kuka = example("kuka")
    shown = words(kuka.hierarchy(kuka.Kuka()))
    parts = ("housing", "rotor", "input", "disc", "output", "driven", "base")
    assert sum(text in parts for text in shown) == 43
    assert sum(text.startswith("axis") for text in shown) == 6


def test_the_joints_of_the_manipulator_have_a_panel_each() -> None:
    """Figures 8.7 to 8.9."""
    manipulator = example("manipulator")
    result = simulate(manipulator.Manipulator(), until=0.02, step=1e-3, channels="arm.*.bearing.*")
    pictures = list(manipulator.motion(result))
    assert [picture.caption.split("figure ")[1] for picture in pictures] == ["8.7).", "8.8).", "8.9)."]
    for picture, what in zip(pictures, ("angle", "angle.rate", "angle.acceleration"), strict=True):
        for link, axes in enumerate(picture.figure().axes, start=1):
            (line,) = axes.get_lines()
            np.testing.assert_array_equal(line.get_ydata(), result[f"arm.link{link}.motor.bearing.{what}"])


def test_figures_are_written_under_their_names(tmp_path: Path) -> None:
    from plots.machines import Pendulum

    written = write_figures(Pendulum(), tmp_path / "figures")
    assert [path.name for path in written] == ["angle.png", "phase.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


def test_a_model_without_figures_has_none() -> None:
    bench = example("car").DamperBench()
    assert list(figures(bench, simulate(bench, until=0.01, step=1e-3))) == []


def test_figures_do_not_change_what_a_model_is() -> None:
    """Drawing differently must not translate anew (decision 27), nor must a method no translation calls."""
    from plots.machines import Pendulum

    from kompono.library import solids
    from kompono.translate.declared.sameness import fingerprint

    class Other(Pendulum):
        pass

    names = {fingerprint(Other(), ())}
    for number, method in enumerate(("figures", "figures", "something")):
        setattr(Other, method, lambda self, number=number: number)
        names.add(fingerprint(Other(), ()))
    assert len(names) == 1
    heavy = Other()
    heavy.bar.solid = solids.box(mass=2.0, size=(0.1, 0.1, 1.0))
    assert fingerprint(heavy, ()) not in names
