"""Random command lines: words that belong there beside words that do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

MODEL = '''
"""A pendulum."""
from kompono import Body, Ground, Parameter, Subsystem
from kompono.library import Gravity, Revolute, solids


class Swing(Subsystem):
    def __init__(self, length: float = 1.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.drag = Parameter(0.1)
        self.rod = Body(solids.rod(mass=1.0, length=length, radius=0.01))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, length / 2), axis="y", angle=0.3)
'''
FILES = {
    "swing.py": MODEL,
    "empty.py": "",
    "broken.py": "class A(:\n",
    "raising.py": "raise ValueError('no')\n",
    "leaving.py": "import sys\nsys.exit(7)\n",
    "wrong.py": MODEL.replace("length=length", "length=None"),
    "two.py": MODEL + "\n\nclass Other(Swing):\n    pass\n",
    "text.csv": "hello\n",
    "zero.h5": "",
    "result.csv": "time [s],pin.angle [rad]\n0,0.1\n1,0.2\n",
}
NUMBERS = ("0.002", "0", "-1", "nan", "inf", "1e999", "x", "", "1e-3", "٣", "1_0", "0x10", "1,5")
NAMES = ("pin.angle", "*", "", "[", "no.such", "pin.*", "\x00", "é", "=", "a=b", "pin.angle=0.1", "drag=x", "length=2")
WORDS = ("relative", "absolute", "discrete", "rk4", "dopri5", "Radau", "no", "", "none", "mass", "--", "-h")


class Writer:
    """Command lines that end soon and open neither windows nor sockets."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, np.random.default_rng(seed)

    def pick(self, choices: Any) -> str:
        """One of them."""
        return str(choices[int(self.random.integers(len(choices)))])

    def target(self) -> str:
        """A file, mostly a good one."""
        if self.random.random() < 0.4:
            return str(self.folder / "swing.py") + self.pick(("", "", ":Swing", ":No", ":", "::"))
        others = [*FILES, "no.py", "", ".", "folder", "no.such.module", "\x00", "examples/car.py:No"]
        return str(self.folder / self.pick(others)) if self.random.random() < 0.8 else self.pick(others)

    def options(self) -> list[str]:
        """Options of a run; it is a short one whatever they say."""
        kinds = [
            *(
                (name, NUMBERS)
                for name in ("--step", "--rtol", "--atol", "--every", "--guard-checks", "--max-steps", "--begin")
            ),
            *((name, WORDS) for name in ("--method", "--engine", "--projection", "--metric")),
            *((name, NAMES) for name in ("--channels", "--cut", "--set", "--initial", "--stiffness", "--damping")),
            *((name, ("",)) for name in ("--no-stabilize", "--quiet", "--nonsense", "--realtime")),
            *((name, NUMBERS) for name in ("--frame", "--keep")),
        ]
        chosen = [kinds[int(i)] for i in self.random.integers(len(kinds), size=int(self.random.integers(4)))]
        return [
            word for name, values in chosen for word in (name, self.pick(values)) if values != ("",) or word == name
        ]

    def out(self, *endings: str) -> str:
        """A file to write, or what is none."""
        return str(
            self.folder / self.pick([*(f"out{ending}" for ending in endings), "folder", "no/such/out.csv", "out"])
        )

    def line(self) -> list[str]:
        """A command line."""
        kind = self.pick(("run", "run", "run", "run", "inspect", "cost", "plot", "report", "view", "cache", "odd"))
        if kind == "run":
            written = ["--csv", self.out(".csv")] if self.random.random() < 0.3 else []
            until, options = self.pick(("0.002", "0.002", *NUMBERS[1:5])), self.options()
            if "--realtime" in options:  # then it could be without end
                until = "0.002"
            return ["run", self.target(), "--until", until, *options, *written]
        if kind in ("inspect", "cost"):
            return [kind, self.target(), *(["--set", self.pick(NAMES)] if self.random.random() < 0.3 else [])]
        if kind == "plot":
            files = [str(self.folder / self.pick([*FILES, "no.csv"])) for _ in range(int(self.random.integers(1, 3)))]
            return ["plot", *files, self.pick(NAMES), "--out", self.out(".png", ".svg", ".xyz")]
        if kind == "report":
            return ["report", self.target(), "--until", "0.002", "--out", self.out(".html"), "--quiet"]
        if kind == "view":
            return ["view", self.target(), "--html", self.out(".html")]
        if kind == "cache":
            return ["cache", *(["--nonsense"] if self.random.random() < 0.5 else [])]
        return [self.pick([*NAMES, *WORDS]) for _ in range(int(self.random.integers(3)))]
