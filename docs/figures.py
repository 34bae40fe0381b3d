"""Draws the pictures of the documentation into docs/images/.

python docs/figures.py              all but those of the robot, which take minutes
python docs/figures.py kuka         those of the robot

Pictures of the tutorial come from the code on its pages, those of the gallery from the examples.
"""

from __future__ import annotations

import importlib
import re
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from kompono import simulate
from kompono.edges.plot import COLOURS, STYLE

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
COPIED = {
    "car": ["car"],
    "manipulator": ["8-07-coordinates"],
    "engine": ["2-pressure-volume", "3-crank-speed", "4-drift-2s"],
    "kuka": ["kuka", "6-hierarchy"],
    "woodpecker": ["2-cycle", "4-two-cycles"],
    "drivetrain": ["1-speeds"],
    "walker": ["1-steps", "2-pace"],
    "kerb": ["1-flight", "3-wheel"],
    "servo": ["2-hunting"],
    "cascade": ["1-motion"],
    "hydraulic": ["1-lift"],
}


def main() -> None:
    """Draw what was asked for."""
    if sys.argv[1:] == ["kuka"]:
        return copy_figures("kuka")
    for name in [name for name in COPIED if name != "kuka"]:
        copy_figures(name)
    tutorial_pendulum()
    tutorial_car()
    bricard()
    tops()


def copy_figures(name: str) -> None:
    """Let an example draw its figures and take some of them."""
    runpy.run_module(f"kompono.examples.{name}", run_name="__main__")
    for figure in COPIED[name]:
        target = IMAGES / (f"{name}.png" if figure == name else f"{name}-{re.sub(r'^[0-9-]+', '', figure)}.png")
        shutil.copyfile(Path("results") / name / f"{figure}.png", target)


def page(name: str) -> dict[str, Any]:
    """What a page of the tutorial leaves behind when it is run."""
    space: dict[str, Any] = {"__name__": "__main__"}
    text = (DOCS / "tutorial" / name).read_text(encoding="utf-8")
    for code in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(code.replace('"pendulum.png"', repr(str(IMAGES / "tutorial-pendulum.png"))), space)
    return space


def tutorial_pendulum() -> None:
    """Step 1, as its page draws it."""
    page("1-pendulum.md")


def tutorial_car() -> None:
    """Step 6: road and wheels, seat, and what the study found."""
    space = page("6-car.md")
    result, damping, felt = space["result"], space["damping"], space["felt"]
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
        rows = (result.time > 0.4) & (result.time < 1.4)
        for corner, colour in (("front", COLOURS[0]), ("rear", COLOURS[1])):
            z = result[f"{corner}.wheel.position.z"]
            panels[0].plot(result.time[rows], 1e3 * z[rows], color=colour, label=f"{corner} wheel")
        panels[0].set(title="Wheels", xlabel="time [s]", ylabel="z [mm]")
        panels[0].legend()
        panels[1].plot(result.time[rows], result["seat"][rows], color=COLOURS[2])
        panels[1].set(title="Acceleration at the seat", xlabel="time [s]", ylabel="acceleration [m/s²]")
        panels[2].semilogx(damping, felt, color=COLOURS[3])
        panels[2].plot(damping[felt.argmin()], felt.min(), "o", color=COLOURS[3])
        panels[2].set(title="64 runs", xlabel="damping [N s/m]", ylabel="root mean square [m/s²]")
        panels[2].set_xticks([300, 1000, 3000], ["300", "1000", "3000"], minor=False)
        panels[2].minorticks_off()
        figure.savefig(IMAGES / "tutorial-car.png", dpi=110)
        plt.close(figure)


def model(name: str) -> Any:
    """The model of a reference example."""
    module = importlib.import_module(f"kompono.examples.reference.{name}")
    return getattr(module, "".join(word.capitalize() for word in name.split("_")))()


def bricard() -> None:
    """The angles of a linkage that counting says is locked."""
    machine = model("bricard")
    simulate(machine, **machine.run_defaults).plot("*.angle", out=IMAGES / "bricard.png")


def tops() -> None:
    """Paths of a spinning top and of Foucault's pendulum."""
    top, swing = model("heavy_top"), model("foucault")
    spun, swung = (simulate(machine, **machine.run_defaults) for machine in (top, swing))
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
        panels[0].plot(spun["top.position.x"], spun["top.position.y"], color=COLOURS[0])
        panels[0].set(title="Heavy top: path of its centre", xlabel="x [m]", ylabel="y [m]", aspect="equal")
        panels[1].plot(1e3 * swung["east"], -1e3 * swung["south"], color=COLOURS[1], linewidth=0.6)
        panels[1].set(title="Foucault's pendulum", xlabel="east [mm]", ylabel="north [mm]", aspect="equal")
        figure.savefig(IMAGES / "tops.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main()
