"""One picture of speed and accuracy against the peers, from results.json: docs/images/peers.png.

python benchmarks/chart.py

Bars are the time for one millisecond of motion, at a step of one millisecond, relative to Kompono in the same run; the
number behind a bar is the error there [m]. Simulators that could not run a machine are not shown for it.
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib.figure import Figure

from kompono.edges.plot import COLOURS, STYLE

HERE = Path(__file__).parent
MACHINES = {"car": "car", "inline-four": "four-cylinder engine", "four-bars, 10": "ten four-bars",
            "manipulator": "robot arm", "chain, 32": "chain of 32"}  # fmt: skip
ENGINES = ("Kompono", "MuJoCo", "Pinocchio", "Drake", "Exudyn")


def draw(target: Path) -> None:
    entries = json.loads((HERE / "results.json").read_text())["entries"]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.4, 4.6), layout="constrained")
        axis = figure.subplots()
        place, ticks, named, longest = 0.0, [], set(), 0.0
        for machine, title in MACHINES.items():
            found = {}
            for entry in (e for e in entries if e["machine"] == machine and e["finer"] == 1):
                engine = entry["engine"].partition(",")[0]  # of several ways of one simulator the fastest
                if engine not in found or entry["seconds"] < found[engine]["seconds"]:
                    found[engine] = entry
            own, first = found["Kompono"]["seconds"], place
            for number, engine in enumerate(ENGINES):
                if engine not in found:
                    continue
                ratio, error = found[engine]["seconds"] / own, found[engine]["error"]
                label = engine if engine not in named else None
                named.add(engine)
                longest = max(longest, ratio)
                axis.barh(place, ratio, 0.8, color=COLOURS[number], label=label)
                axis.text(ratio + 0.4, place, f"{error:.0e} m", va="center", fontsize=7)
                place += 1
            ticks.append(((first + place - 1) / 2, title))
            place += 0.8
        axis.set_yticks([y for y, _ in ticks], [title for _, title in ticks])
        axis.invert_yaxis()
        axis.set_xlim(0, 1.12 * longest)
        axis.set_xlabel("time for the same motion, Kompono = 1 (behind the bars: error after the run)")
        axis.legend(loc="lower right", fontsize=8)
        figure.savefig(target, dpi=130)


if __name__ == "__main__":
    draw(HERE.parent / "docs" / "images" / "peers.png")
