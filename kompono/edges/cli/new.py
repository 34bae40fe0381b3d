"""`kompono new`: write a commented model to begin from."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from kompono.errors import RunError
from kompono.result.target import check_target

STARTER = '''"""{title}: a component, a machine made of it, and how to run it.

kompono run {file}                # simulate, print a summary
kompono run {file} --plot         # the same with curves
kompono view {file} --run         # in 3D, in the browser
kompono inspect {file}            # freedoms, loops, redundant conditions
"""

from kompono import Body, Ground, Parameter, Subsystem, simulate
from kompono.library import Gravity, Revolute, SpringDamper, Weld, solids


class Pendulum(Subsystem):
    """A component: a rod that hangs from a hub. SI units everywhere: m, kg, s, rad."""

    def __init__(self, *, length=1.0, angle=0.5):
        self.hub = Body(solids.sphere(mass=0.1, radius=0.05))
        self.rod = Body(solids.rod(mass=1.0, length=length, radius=0.02))
        # A joint connects points of two bodies; `angle` is where it starts.
        self.pin = Revolute(self.hub, self.rod.at(0, 0, length / 2), axis="y", angle=angle)
        # Only what is exposed can be touched from outside.
        self.expose(self.hub, self.rod)


class {name}(Subsystem):
    """The machine: two pendulums side by side, coupled by a spring."""

    run_defaults = {{"until": 10.0, "step": 2e-3}}  # what `kompono run` takes if it is told nothing else

    def __init__(self, *, distance=1.0):
        self.ground, self.gravity = Ground(), Gravity()
        self.left, self.right = Pendulum(), Pendulum(angle=0.0)
        self.left_mount = Weld(self.ground, self.left.hub)
        self.right_mount = Weld(self.ground.at(distance, 0, 0), self.right.hub)
        self.stiffness = Parameter(10.0, unit="N/m")  # can be changed without compiling: --set stiffness=20
        self.spring = SpringDamper(self.left.rod, self.right.rod, k=self.stiffness, rest=distance)


if __name__ == "__main__":
    result = simulate({name}(), until=10.0, step=2e-3)
    print(result.summary())
    print(f"the right one swings up to {{result['right.pin.angle'].max():.3f}} rad")
'''


def add_command(commands: Any) -> None:
    """Add `new` to the command line."""
    parser = commands.add_parser("new", help="write a model to begin from", description=__doc__)
    parser.set_defaults(command=command)
    parser.add_argument("file", metavar="FILE.py", help="the file to write; none that exists is overwritten")


def command(options: argparse.Namespace) -> int:
    """Write the file."""
    path = Path(options.file)
    if path.suffix != ".py":
        raise RunError(f"{options.file} is no Python file.", fix=f"kompono new {path.with_suffix('.py')}")
    if path.exists():
        raise RunError(f"{options.file} exists.", fix="Choose another name.")
    check_target(path)
    words = re.findall(r"[a-zA-Z0-9]+", path.stem)
    name = "".join(word[:1].upper() + word[1:] for word in words) or "Machine"
    name = name if name[0].isalpha() and name not in ("Pendulum", "Body", "Ground") else f"My{name}"
    path.write_text(STARTER.format(title=name, file=options.file, name=name), encoding="utf-8")
    print(f"{path}\n  next       kompono run {path} --plot")
    return 0
