"""What a change costs before anything moves: processor seconds from a model, or its file, to the first step.

Each figure is that of a new process, imports not counted, helper processes counted: `new` with an empty cache,
`edited` with the cache of that and another number in the model, `warm` for the same model again. Cassie and SoftFoot
are read from files beside this checkout, where they are; with friction and limits, and without.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tables import show

from kompono import Body, Ground, Subsystem, load, simulate
from kompono.examples.car import Car
from kompono.library import Gravity, Prismatic, Spherical, Universal, solids

MACHINES = Path(__file__).parents[2] / "shared" / "machines" / "mjcf"


class Stewart(Subsystem):
    """A plate on six legs, each a universal joint, a slide and a ball."""

    def __init__(self, mass: float = 10.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.plate = Body(solids.cylinder(mass=mass, length=0.05, radius=0.4), start_position=(0, 0, 1.0))
        for k in range(6):
            low, high = (np.pi / 3 * (k + shift) for shift in (0.15 * (-1) ** k, 0.35 * (-1) ** (k + 1)))
            foot, head = (r * np.array([np.cos(a), np.sin(a), 0.0]) for r, a in ((0.8, low), (0.4, high)))
            way = head + [0, 0, 1.0] - foot
            length, z = np.linalg.norm(way), way / np.linalg.norm(way)
            x = np.cross([0, 1.0, 0], z) / np.linalg.norm(np.cross([0, 1.0, 0], z))
            turn = np.column_stack([x, np.cross(z, x), z])
            sleeve, rod = (Body(solids.rod(mass=1.0, length=0.5, radius=0.02, axis="z")) for _ in range(2))
            base = Universal(self.ground.at(*foot, orientation=turn), sleeve.at(0, 0, -0.25))
            slide = Prismatic(sleeve, rod, axis="z", displacement=length - 0.5)
            top = Spherical(rod.at(0, 0, 0.25), self.plate.at(*head))
            for name, part in {"sleeve": sleeve, "rod": rod, "base": base, "slide": slide, "top": top}.items():
                setattr(self, f"{name}{k}", part)


def _read(file: Path, body: str, options: dict[str, bool]) -> Callable[[float], Subsystem]:
    return lambda mass: load(file, masses={body: mass}, **options)


def machines() -> dict[str, Callable[[float], Subsystem]]:
    """Models by name, each with a mass [kg] of one of their bodies."""
    found: dict[str, Callable[[float], Subsystem]] = {"car": _car, "Stewart": Stewart}
    for name, file, body in (
        ("Cassie", MACHINES / "agility_cassie" / "cassie.nomesh.xml", "cassie-pelvis"),
        ("SoftFoot", MACHINES / "iit_softfoot" / "softfoot.nomesh.xml", "heel"),
    ):
        if file.is_file():
            found[name] = _read(file, body, {})
            found[f"{name}, no laws"] = _read(file, body, {"limits": False, "friction": False})
    return found


def _car(mass: float) -> Car:
    """The car with a weight on a spring below it: its mass is the number."""
    car = Car()
    car.weight = Body(mass=mass, inertia=(1, 1, 1))
    car.hook = Spherical(car.body.at(0, 0, -0.3), car.weight.at(0, 0, 0.1))
    return car


def used() -> float:
    """Processor seconds of this process and those it waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def measure(name: str, mass: float) -> None:
    """In a process of its own: print seconds to the first step."""
    warnings.simplefilter("ignore")
    make, before = machines()[name], used()
    simulate(make(mass), until=1e-4, step=1e-4)
    print(json.dumps(used() - before))


def asked(name: str, mass: float, cache: str) -> float:
    """The same, asked from outside."""
    command = [sys.executable, __file__, name, str(mass)]
    environment = {**os.environ, "KOMPONO_CACHE": cache}
    answer: Any = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE)
    return json.loads(answer.stdout)


def main() -> None:
    """One line per machine."""
    rows = []
    for name in machines():
        with tempfile.TemporaryDirectory() as cache:
            new, edited, warm = asked(name, 10.0, cache), asked(name, 10.5, cache), asked(name, 10.5, cache)
        rows.append((name, f"{new:.2f}", f"{edited:.2f}", f"{warm:.2f}"))
        print(*rows[-1], flush=True)
    show(
        f"Processor seconds to the first step (load average {os.getloadavg()[0]:.1f})",
        ("machine", "new", "edited number", "warm"),
        rows,
    )


if __name__ == "__main__":
    measure(sys.argv[1], float(sys.argv[2])) if len(sys.argv) > 2 else main()
